//! Measures for entries: finds the tests that are meant, and runs the plan unless the store has just this measurement.

use anyorder_core::ledger::Ledger;
use anyorder_core::model::{Suite, TestIx, Tree};
use anyorder_report::view::{LedgerCommand, LedgerView, MeasurementView};

use super::Shelf;
use crate::args::PlanArgs;
use crate::clock;
use crate::declared::wildcard;
use crate::exit_code::ExitCode;
use crate::hint::Failed;
use crate::measure::{self, Measured, Reuse};
use crate::project::Project;
use crate::settings::{PlanSettings, nearest};
use crate::stores;

/// A test that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its place in the suite.
    pub test: TestIx,
    /// Whether it was named by itself, and not by a pattern.
    pub named: bool,
}

/// A measurement, and the tests that are meant.
#[derive(Debug)]
pub struct Listing {
    /// What was measured.
    pub measured: Measured,
    /// The tests.
    pub chosen: Vec<Chosen>,
}

/// The tests that names and patterns mean, in default order. A name that is a test's id means that test, whatever
/// characters it has; otherwise `*` stands for anything.
pub fn chosen(suite: &Suite, names: &[String]) -> Result<Vec<Chosen>, Failed> {
    let ids: Vec<String> = suite.tests().iter().map(|t| t.id.to_string()).collect();
    // Whether each test is meant: by its own id (`true`), or by a pattern.
    let mut meant: Vec<Option<bool>> = vec![None; suite.len()];
    for name in names {
        if let Some(at) = ids.iter().position(|id| id == name) {
            meant[at] = Some(true);
            continue;
        }
        let mut any = false;
        for (at, _) in ids.iter().enumerate().filter(|(_, id)| name.contains('*') && wildcard(name, id)) {
            meant[at] = meant[at].or(Some(false));
            any = true;
        }
        if !any {
            let failed = Failed::usage(format!("`{name}` is no test of this suite"));
            return Err(match nearest(name, ids.iter().map(String::as_str)) {
                Some(near) => failed.hint(format!("did you mean `{near}`?")),
                None => failed.hint("`pytest --collect-only -q` lists all; `*` stands for anything"),
            });
        }
    }
    let tests = suite.indices().zip(meant);
    Ok(tests.filter_map(|(test, meant)| Some(Chosen { test, named: meant? })).collect())
}

/// Measures the working tree for entries. A first entry may be made from a complete stored sweep of this very tree,
/// environment and plan; where a test that is meant has an entry, everything is measured again.
pub fn measure(
    project: &Project,
    plan: &PlanArgs,
    names: &[String],
    ledger: &Ledger,
) -> anyhow::Result<Listing> {
    let plan = PlanSettings::resolve(plan, &project.config)?;
    let interpreter = project.interpreter()?;
    let mut store = stores::open(&project.store_dir())?;
    let mut store = store.lock().map_err(Failed::cannot_measure)?;
    let mut progress = project.progress();
    let tree = project.checkout.working(project.scratch.path()).map_err(Failed::cannot_measure)?;
    let config = project.session_config(&interpreter.path);
    let mut collected = measure::collect(project, Tree::Patched(None), tree.digest, config, &mut progress)?;
    collected.shown.clear();
    let suite = &collected.session.collection().suite;
    let chosen = chosen(suite, names)?;
    let renews = chosen.iter().any(|c| ledger.get(suite.id(c.test)).is_some());
    let reuse = if renews { Reuse::Nothing } else { Reuse::Complete };
    let measured = measure::measure(project, collected, &plan, reuse, &mut store, &mut progress)?;
    progress.finish();
    if let Some(code) = project.watch.exit_code() {
        let stopped = "stopped before the measurement was complete; the ledger is as it was";
        let stopped = Failed::new(code, stopped);
        let again = "the same command goes on from there";
        return Err(if renews { stopped } else { stopped.hint(again) }.into());
    }
    if measured.book.unfinished() > 0 {
        let missing = measured.book.unfinished();
        return Err(Failed::new(
            ExitCode::Incomplete,
            format!("{missing} orders could not be run to their end; the ledger is as it was"),
        )
        .into());
    }
    store.finish_sweep(measured.stored.id, clock::now_ms()).map_err(|e| stores::failed(&e))?;
    Ok(Listing { measured, chosen })
}

impl Listing {
    /// A report of a command that measured, with nothing done yet.
    pub fn view(&self, project: &Project, ledger: &Shelf, command: LedgerCommand) -> LedgerView {
        let orders = self.measured.book.columns().len();
        LedgerView {
            command,
            project: project.view(),
            file: ledger.shown(project),
            today: ledger.today,
            measured: Some(MeasurementView {
                sweep: self.measured.stored.id.to_string(),
                orders,
                stored: self.measured.reused == orders,
            }),
            entries: Vec::new(),
            refused: Vec::new(),
            passed_over: 0,
            exit_code: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(names: &[&str]) -> Result<Vec<(u32, bool)>, String> {
        let suite = Suite::from_raw_ids(["a.py::t[1]", "a.py::t[*]", "a.py::u", "b.py::t[1]", "a.py::u"]);
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let chosen = chosen(&suite, &names).map_err(|e| e.to_string())?;
        Ok(chosen.into_iter().map(|c| (c.test.0, c.named)).collect())
    }

    #[test]
    fn an_id_means_its_test_and_a_star_stands_for_anything() {
        assert_eq!(choose(&["a.py::u", "a.py::t[1]"]), Ok(vec![(0, true), (2, true)]));
        assert_eq!(choose(&["a.py::t[*]"]), Ok(vec![(1, true)]), "it is an id");
        assert_eq!(choose(&["a.py::t*"]), Ok(vec![(0, false), (1, false)]));
        assert_eq!(choose(&["*t[1]", "b.py::t[1]"]), Ok(vec![(0, false), (3, true)]));
        assert_eq!(choose(&["a.py::u (#2)"]), Ok(vec![(4, true)]));
    }

    #[test]
    fn what_means_no_test_is_refused_with_what_was_probably_meant() {
        let refused = choose(&["b.py::t[2]"]).unwrap_err();
        assert!(
            refused.contains("`b.py::t[2]` is no test") && refused.contains("did you mean `b.py::t[1]`?"),
            "{refused}"
        );
        assert!(choose(&["z*"]).unwrap_err().contains("`z*` is no test"));
    }
}
