//! The account of one run: events in, exactly one record for each planned test out (PROMISES I1, I2). No IO.

use std::sync::Arc;
use std::time::Duration;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, Outcome, Phase, RunRecord, Signature, TestIx, TestResult,
};

use crate::protocol::EndMark;

/// What a run has reported so far.
#[derive(Debug)]
pub(crate) struct Account {
    /// The tests that were sent, in the order sent; a test that the interpreter does not know is not among them.
    sent: Vec<TestIx>,
    /// Which places of `sent` have a record.
    done: Vec<bool>,
    results: Vec<TestResult>,
    running: Option<Running>,
    /// First place of the order at which something else was run.
    parted: Option<usize>,
    end: Option<EndMark>,
    internal: Option<Excerpt>,
    /// Why nothing ran.
    unimported: Option<String>,
    disturbed: Option<Disturbance>,
}

#[derive(Debug)]
struct Running {
    place: usize,
    test: TestIx,
    started: u64,
    phase: Phase,
}

/// Somebody else wrote into the record channel, while this test ran or just after.
#[derive(Debug)]
struct Disturbance {
    culprit: Option<TestIx>,
}

/// A line that makes no sense where it came; it is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Oddity {
    /// A test started while another one ran.
    #[error("a test started before the one before it had ended")]
    Overlap,
    /// A phase or an end without a start.
    #[error("a test ended that had not started")]
    NotStarted,
    /// A test that was not asked for, or was run already.
    #[error("a test ran that was not asked for, or ran twice")]
    NotAsked,
    /// Anything after the end marker.
    #[error("a record came after the end marker")]
    AfterEnd,
}

/// How the process of a run went away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// By itself; in words what is known of it.
    Gone(String),
    /// The engine ended it because something took too long.
    TimedOut,
    /// The engine ended it because the user asked to stop.
    Interrupted,
}

/// What is known of a run besides its tests.
pub(crate) struct Closing {
    pub(crate) order: Order,
    pub(crate) attempt: u32,
    pub(crate) executor: Executor,
    pub(crate) departure: Departure,
    pub(crate) wall: Duration,
    /// What the process wrote, for the record of the test that it died in.
    pub(crate) output: Excerpt,
}

/// The records of a run do not add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unaccounted {
    pub(crate) planned: usize,
    pub(crate) reported: usize,
}

impl Account {
    /// An account of `sent`, out of the `order` that was asked for.
    pub(crate) fn new(order: &Order, sent: Vec<TestIx>) -> Self {
        // Tests that could not be sent are missing: the first of them is where the orders part.
        let parted = (order.len() != sent.len())
            .then(|| order.tests().iter().zip(&sent).take_while(|(a, b)| a == b).count());
        let done = vec![false; sent.len()];
        let results = Vec::with_capacity(order.len());
        Self {
            sent,
            done,
            results,
            running: None,
            parted,
            end: None,
            internal: None,
            unimported: None,
            disturbed: None,
        }
    }

    /// A test starts. `test` is `None` for one that this suite does not know.
    pub(crate) fn start(&mut self, position: usize, test: Option<TestIx>, at: u64) -> Result<TestIx, Oddity> {
        self.open()?;
        if self.running.is_some() {
            return Err(Oddity::Overlap);
        }
        let due = self.results.len();
        let test = test.ok_or(Oddity::NotAsked)?;
        let place = match self.sent.get(due) {
            Some(&planned) if planned == test && position == due => due,
            _ => {
                self.parted.get_or_insert(due);
                self.sent.iter().position(|&t| t == test).ok_or(Oddity::NotAsked)?
            }
        };
        if self.done[place] {
            return Err(Oddity::NotAsked);
        }
        self.running = Some(Running { place, test, started: at, phase: Phase::Setup });
        Ok(test)
    }

    /// The running test enters its call or teardown.
    pub(crate) fn enter(&mut self, phase: Phase) -> Result<(), Oddity> {
        self.open()?;
        self.running.as_mut().ok_or(Oddity::NotStarted)?.phase = phase;
        Ok(())
    }

    /// The running test ended.
    pub(crate) fn end(
        &mut self,
        test: Option<TestIx>,
        outcome: Outcome,
        at: u64,
        failure: Option<Failure>,
    ) -> Result<&TestResult, Oddity> {
        self.open()?;
        let running = self.running.take_if(|r| Some(r.test) == test).ok_or(Oddity::NotStarted)?;
        let duration = Duration::from_nanos(at.saturating_sub(running.started));
        Ok(self.record(running.place, TestResult { test: running.test, outcome, duration, failure }))
    }

    /// The end marker, from the process that runs the order.
    pub(crate) fn finish(&mut self, mark: EndMark) -> Result<(), Oddity> {
        self.open()?;
        self.end = Some(mark);
        Ok(())
    }

    /// pytest itself died.
    pub(crate) fn internal(&mut self, text: Excerpt) {
        self.internal.get_or_insert(text);
    }

    /// A module that was to be imported first could not be.
    pub(crate) fn import_failed(&mut self, module: &str, text: &Excerpt) {
        let whole = if text.tail.is_empty() { &text.head } else { &text.tail };
        let last = whole.trim_end().lines().next_back().unwrap_or_default();
        self.unimported.get_or_insert_with(|| format!("cannot import `{module}`: {last}"));
    }

    /// Somebody else wrote a line that was taken for a record: nothing of this run is clean.
    pub(crate) fn disturb(&mut self) {
        let last = self.results.last().map(|r| r.test);
        let culprit = self.running.as_ref().map(|r| r.test).or(last);
        self.disturbed.get_or_insert(Disturbance { culprit });
    }

    /// Whether the end marker has come.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Closes the account. Also gives the number of results that [`Account::end`] had given out already.
    pub(crate) fn close(mut self, closing: Closing) -> Result<(RunRecord, usize), Unaccounted> {
        let reported = self.results.len();
        let Closing { order, attempt, executor, departure, wall, output } = closing;
        let ending = self.ending(&departure);
        self.settle_running(&ending, output);
        if let Ending::Crashed { culprit: Some(culprit), how } = &ending
            && self.disturbed.is_some()
        {
            self.blame(*culprit, how);
        }
        for &test in order.tests() {
            if self.missing(test) {
                self.results.push(absent(test));
            }
        }
        let fixture_setups = self.end.as_ref().and_then(|e| e.fixtures);
        let record = RunRecord {
            order,
            attempt,
            executor,
            results: self.results,
            ending,
            wall,
            fixture_setups,
            peeks: Vec::new(),
        };
        if record.is_accounted() {
            return Ok((record, reported));
        }
        Err(Unaccounted { planned: record.order.len(), reported: record.results.len() })
    }

    fn open(&self) -> Result<(), Oddity> {
        if self.end.is_some() { Err(Oddity::AfterEnd) } else { Ok(()) }
    }

    fn record(&mut self, place: usize, result: TestResult) -> &TestResult {
        self.done[place] = true;
        let at = self.results.len();
        self.results.push(result);
        &self.results[at]
    }

    fn missing(&self, test: TestIx) -> bool {
        match self.sent.get(self.results.len()) {
            // The common case, a run cut short: the rest follows in its own order.
            Some(&due) if due == test && !self.done[self.results.len()] => true,
            _ => !self.results.iter().any(|r| r.test == test),
        }
    }

    fn ending(&self, departure: &Departure) -> Ending {
        let culprit = self.running.as_ref().map(|r| r.test);
        if let Some(disturbance) = &self.disturbed {
            let how = "something else than the agent wrote into its record channel".to_owned();
            return Ending::Crashed { culprit: disturbance.culprit, how };
        }
        if let Some(how) = &self.unimported {
            return Ending::Crashed { culprit: None, how: how.clone() };
        }
        if self.internal.is_some() {
            let last = self.results.last().map(|r| r.test);
            return Ending::Crashed {
                culprit: culprit.or(last),
                how: "pytest had an internal error".to_owned(),
            };
        }
        let Some(end) = &self.end else {
            return match departure {
                Departure::TimedOut => Ending::TimedOut { culprit },
                Departure::Interrupted => Ending::Interrupted,
                Departure::Gone(how) => Ending::Crashed { culprit, how: how.clone() },
            };
        };
        let ended = self.results.len();
        if self.running.is_some() || ended != self.sent.len() || end.count != ended {
            let how = format!("stopped after {ended} of {} tests", self.sent.len());
            return Ending::Crashed { culprit, how };
        }
        match self.parted {
            Some(position) => Ending::OutOfOrder { position },
            None => Ending::Completed,
        }
    }

    /// A test that started and did not end gets the outcome that the ending gives it.
    fn settle_running(&mut self, ending: &Ending, output: Excerpt) {
        let Some(running) = self.running.take() else { return };
        let (outcome, signature) = match ending {
            Ending::TimedOut { .. } => (Outcome::Timeout, "timeout".to_owned()),
            Ending::Interrupted => (Outcome::Absent, String::new()),
            Ending::Crashed { how, .. } => (Outcome::Crashed, how.clone()),
            Ending::Completed | Ending::OutOfOrder { .. } => (Outcome::Crashed, String::new()),
        };
        let text = self.internal.take().unwrap_or(output);
        let failure = (outcome != Outcome::Absent).then(|| Failure {
            phase: running.phase,
            signature: Signature(Arc::from(signature)),
            text,
        });
        let result = TestResult { test: running.test, outcome, duration: Duration::ZERO, failure };
        self.record(running.place, result);
    }

    /// A record that may be forged does not stand.
    fn blame(&mut self, culprit: TestIx, how: &str) {
        if let Some(result) = self.results.iter_mut().rfind(|r| r.test == culprit)
            && result.outcome != Outcome::Crashed
        {
            result.outcome = Outcome::Crashed;
            let signature = Signature(Arc::from(how));
            let failure = Failure { phase: Phase::Call, signature, text: Excerpt::default() };
            result.failure.get_or_insert(failure);
        }
    }
}

fn absent(test: TestIx) -> TestResult {
    TestResult { test, outcome: Outcome::Absent, duration: Duration::ZERO, failure: None }
}

#[cfg(test)]
mod tests {
    use anyorder_core::model::OrderLabel;

    use super::*;

    fn order(tests: &[u32]) -> Order {
        let tests = tests.iter().copied().map(TestIx).collect();
        Order::partial(OrderLabel::Default, tests, 100).unwrap()
    }

    fn account(tests: &[u32]) -> Account {
        let order = order(tests);
        let sent = order.tests().to_vec();
        Account::new(&order, sent)
    }

    fn pass(account: &mut Account, position: usize, test: u32) {
        account.start(position, Some(TestIx(test)), 10).unwrap();
        account.end(Some(TestIx(test)), Outcome::Passed, 25, None).unwrap();
    }

    fn mark(count: usize) -> EndMark {
        EndMark { pid: 1, count, fixtures: Some(2), foreign: Vec::new() }
    }

    fn close(account: Account, tests: &[u32], departure: Departure) -> RunRecord {
        let closing = Closing {
            order: order(tests),
            attempt: 0,
            executor: Executor::Fork,
            departure,
            wall: Duration::from_secs(1),
            output: Excerpt::default(),
        };
        account.close(closing).unwrap().0
    }

    fn gone() -> Departure {
        Departure::Gone("exited 0 before the end".to_owned())
    }

    fn letters(record: &RunRecord) -> String {
        record.results.iter().map(|r| r.outcome.letter()).collect()
    }

    #[test]
    fn a_run_is_complete_only_with_every_test_and_the_marker() {
        let mut whole = account(&[2, 0]);
        pass(&mut whole, 0, 2);
        pass(&mut whole, 1, 0);
        whole.finish(mark(2)).unwrap();
        assert_eq!(whole.start(2, Some(TestIx(5)), 0), Err(Oddity::AfterEnd));
        let record = close(whole, &[2, 0], gone());
        assert_eq!(record.ending, Ending::Completed);
        assert_eq!(record.results[0].duration, Duration::from_nanos(15));
        assert_eq!(record.fixture_setups, Some(2));

        let mut unmarked = account(&[2, 0]);
        pass(&mut unmarked, 0, 2);
        pass(&mut unmarked, 1, 0);
        let record = close(unmarked, &[2, 0], gone());
        assert_eq!(
            record.ending,
            Ending::Crashed { culprit: None, how: "exited 0 before the end".to_owned() }
        );

        let mut short = account(&[2, 0]);
        pass(&mut short, 0, 2);
        short.finish(mark(1)).unwrap();
        let record = close(short, &[2, 0], gone());
        assert!(matches!(record.ending, Ending::Crashed { .. }), "{:?}", record.ending);
        assert_eq!(letters(&record), "P-");
    }

    #[test]
    fn the_test_that_was_running_is_the_culprit_and_the_rest_is_absent() {
        for (departure, letter) in [(gone(), 'C'), (Departure::TimedOut, 'T'), (Departure::Interrupted, '-')]
        {
            let mut account = account(&[3, 1, 2]);
            pass(&mut account, 0, 3);
            account.start(1, Some(TestIx(1)), 0).unwrap();
            account.enter(Phase::Teardown).unwrap();
            let record = close(account, &[3, 1, 2], departure);
            assert_eq!(letters(&record), format!("P{letter}-"));
            assert!(!record.ending.is_complete());
            if letter != '-' {
                assert_eq!(record.results[1].failure.as_ref().unwrap().phase, Phase::Teardown);
            }
        }
    }

    #[test]
    fn another_order_than_asked_for_is_never_complete() {
        let mut account = account(&[1, 2, 3]);
        pass(&mut account, 0, 1);
        pass(&mut account, 1, 3);
        pass(&mut account, 2, 2);
        account.finish(mark(3)).unwrap();
        let record = close(account, &[1, 2, 3], gone());
        assert_eq!(record.ending, Ending::OutOfOrder { position: 1 });
        let executed: Vec<u32> = record.results.iter().map(|r| r.test.0).collect();
        assert_eq!(executed, [1, 3, 2]);
    }

    #[test]
    fn a_test_unknown_to_the_interpreter_is_absent_and_the_order_not_the_one_asked_for() {
        let asked = order(&[1, 2, 3]);
        let mut account = Account::new(&asked, vec![TestIx(1), TestIx(3)]);
        pass(&mut account, 0, 1);
        pass(&mut account, 1, 3);
        account.finish(mark(2)).unwrap();
        let record = close(account, &[1, 2, 3], gone());
        assert_eq!(letters(&record), "PP-");
        assert_eq!(record.ending, Ending::OutOfOrder { position: 1 });
    }

    #[test]
    fn records_that_make_no_sense_are_refused() {
        let mut account = account(&[1, 2]);
        assert_eq!(account.end(Some(TestIx(1)), Outcome::Passed, 0, None).err(), Some(Oddity::NotStarted));
        assert_eq!(account.enter(Phase::Call), Err(Oddity::NotStarted));
        assert_eq!(account.start(0, Some(TestIx(9)), 0), Err(Oddity::NotAsked));
        assert_eq!(account.start(0, None, 0), Err(Oddity::NotAsked));
        account.start(0, Some(TestIx(1)), 0).unwrap();
        assert_eq!(account.start(1, Some(TestIx(2)), 0), Err(Oddity::Overlap));
        assert_eq!(account.end(Some(TestIx(2)), Outcome::Passed, 0, None).err(), Some(Oddity::NotStarted));
        account.end(Some(TestIx(1)), Outcome::Passed, 0, None).unwrap();
        assert_eq!(account.start(1, Some(TestIx(1)), 0), Err(Oddity::NotAsked));
    }

    #[test]
    fn a_disturbed_channel_taints_the_test_that_ran() {
        let mut account = account(&[1, 2]);
        pass(&mut account, 0, 1);
        account.disturb();
        pass(&mut account, 1, 2);
        account.finish(mark(2)).unwrap();
        let record = close(account, &[1, 2], gone());
        assert_eq!(letters(&record), "CP");
        assert!(matches!(record.ending, Ending::Crashed { culprit: Some(TestIx(1)), .. }));
    }
}
