//! What is kept of a failing run beside its record: the order that reproduces it, and its JUnit XML.

use anyhow::Context;
use anyorder_core::model::{Ending, RunRecord, Suite};
use anyorder_report::junit;
use anyorder_store::{Artefact, LockedStore, RunId};

/// Keeps the order and the JUnit XML of a run.
pub fn keep(store: &LockedStore<'_>, id: RunId, record: &RunRecord, suite: &Suite) -> anyhow::Result<()> {
    let ids = record.order.tests().iter().map(|t| suite.id(*t).clone());
    let order = anyorder_store::order_file(ids);
    let mut xml = Vec::new();
    junit::run(record, suite, &mut xml).context("could not write the JUnit XML of a run")?;
    store.write_artefact(id, Artefact::OrderFile, order.as_bytes()).map_err(|e| crate::stores::failed(&e))?;
    store.write_artefact(id, Artefact::JunitXml, &xml).map_err(|e| crate::stores::failed(&e))?;
    Ok(())
}

/// How a run ended, in words.
pub fn ending_words(ending: &Ending) -> String {
    match ending {
        Ending::Completed => "completed".to_owned(),
        Ending::Crashed { how, .. } => format!("crashed: {how}"),
        Ending::TimedOut { .. } => "took longer than allowed".to_owned(),
        Ending::OutOfOrder { position } => format!("left the order asked for at position {position}"),
        Ending::Interrupted => "interrupted".to_owned(),
    }
}
