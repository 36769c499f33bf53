//! A run as one packed record: 1 to 10 bytes a test instead of a row each.
//!
//! The first byte is the record's version. Both begin with wall time; fixture set-ups plus one, or 0; ending; the
//! number of tests and the tests of the order. Then come the results, one a test: in version 1 as test, outcome and
//! time, in version 2, for results that stand in the order's own sequence (almost all), as outcome and time. Versions 3
//! and 4 are 1 and 2 with peeks behind the results: their number, and for each its place, test, outcome, time, and what the
//! failure looked like (a phase or 0, then the signature; the text is not kept). All numbers are LEB128 varints, outcomes
//! their letters; times are microseconds. The last four bytes are the beginning of the BLAKE3 digest of
//! all before: an outcome that rots on the disk must not turn into another.

use std::time::Duration;

use std::sync::Arc;

use anyorder_core::model::{
    Ending, Excerpt, Failure, Outcome, Peek, Phase, RunRecord, Signature, TestIx, TestResult,
};

/// A record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackedError {
    /// It ends too early.
    #[error("the record of a run ends too early")]
    Short,
    /// It has a version that this program does not know.
    #[error("the record of a run has the unknown version {0}")]
    Version(u8),
    /// It holds something that no record can hold.
    #[error("the record of a run is damaged")]
    Damaged,
}

/// Results name their tests.
const NAMED: u8 = 1;
/// Results stand in the order's own sequence.
const IN_ORDER: u8 = 2;
/// Peeks follow; programs that knew of none refuse these.
const NAMED_PEEKED: u8 = 3;
const IN_ORDER_PEEKED: u8 = 4;

const PHASES: [Phase; 3] = [Phase::Setup, Phase::Call, Phase::Teardown];

/// What the record holds; the rest of a run stands in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unpacked {
    pub(crate) order: Vec<TestIx>,
    pub(crate) results: Vec<TestResult>,
    pub(crate) ending: Ending,
    pub(crate) wall: Duration,
    pub(crate) fixture_setups: Option<u32>,
    pub(crate) peeks: Vec<Peek>,
}

pub(crate) fn pack(run: &RunRecord) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(16 + run.results.len() * 8));
    let in_order = run.results.iter().map(|r| &r.test).eq(run.order.tests());
    out.0.push(match (in_order, run.peeks.is_empty()) {
        (false, true) => NAMED,
        (true, true) => IN_ORDER,
        (false, false) => NAMED_PEEKED,
        (true, false) => IN_ORDER_PEEKED,
    });
    out.duration(run.wall);
    out.number(run.fixture_setups.map_or(0, |n| u64::from(n) + 1));
    let culprit = |t: &Option<TestIx>| t.map_or(0, |t| u64::from(t.0) + 1);
    match &run.ending {
        Ending::Completed => out.number(0),
        Ending::Crashed { culprit: test, how } => {
            out.number(1);
            out.number(culprit(test));
            out.text(how);
        }
        Ending::TimedOut { culprit: test } => {
            out.number(2);
            out.number(culprit(test));
        }
        Ending::OutOfOrder { position } => {
            out.number(3);
            out.number(*position as u64);
        }
        Ending::Interrupted => out.number(4),
    }
    out.number(run.order.len() as u64);
    run.order.tests().iter().for_each(|t| out.number(u64::from(t.0)));
    if !in_order {
        out.number(run.results.len() as u64);
    }
    for result in &run.results {
        if !in_order {
            out.number(u64::from(result.test.0));
        }
        out.outcome(result);
    }
    if !run.peeks.is_empty() {
        out.number(run.peeks.len() as u64);
        run.peeks.iter().for_each(|peek| out.peek(peek));
    }
    let seal = seal(&out.0);
    out.0.extend_from_slice(&seal);
    out.0
}

fn seal(bytes: &[u8]) -> [u8; 4] {
    let mut seal = [0; 4];
    blake3::Hasher::new().update(bytes).finalize_xof().fill(&mut seal);
    seal
}

pub(crate) fn unpack(bytes: &[u8]) -> Result<Unpacked, PackedError> {
    let version = *bytes.first().ok_or(PackedError::Short)?;
    if !matches!(version, NAMED | IN_ORDER | NAMED_PEEKED | IN_ORDER_PEEKED) {
        return Err(PackedError::Version(version));
    }
    let (sealed, found) = bytes.split_last_chunk().ok_or(PackedError::Short)?;
    if seal(sealed) != *found {
        return Err(PackedError::Damaged);
    }
    unsealed(&sealed[1..], version)
}

fn unsealed(bytes: &[u8], version: u8) -> Result<Unpacked, PackedError> {
    let mut input = Reader(bytes);
    let wall = input.duration()?;
    let fixture_setups = match input.number()? {
        0 => None,
        n => Some(u32::try_from(n - 1).map_err(|_| PackedError::Damaged)?),
    };
    let ending = match input.number()? {
        0 => Ending::Completed,
        1 => Ending::Crashed { culprit: input.culprit()?, how: input.text()? },
        2 => Ending::TimedOut { culprit: input.culprit()? },
        3 => Ending::OutOfOrder {
            position: usize::try_from(input.number()?).map_err(|_| PackedError::Damaged)?,
        },
        4 => Ending::Interrupted,
        _ => return Err(PackedError::Damaged),
    };
    let tests = input.count()?;
    let mut order = Vec::with_capacity(tests);
    for _ in 0..tests {
        order.push(input.test()?);
    }
    let mut results = Vec::with_capacity(tests);
    if matches!(version, IN_ORDER | IN_ORDER_PEEKED) {
        for &test in &order {
            results.push(input.result(test)?);
        }
    } else {
        for _ in 0..input.count()? {
            let test = input.test()?;
            results.push(input.result(test)?);
        }
    }
    let mut peeks = Vec::new();
    if matches!(version, NAMED_PEEKED | IN_ORDER_PEEKED) {
        for _ in 0..input.count()? {
            peeks.push(input.peek()?);
        }
    }
    if input.0.is_empty() {
        Ok(Unpacked { order, results, ending, wall, fixture_setups, peeks })
    } else {
        Err(PackedError::Damaged)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.0.push((n & 0x7f) as u8);
    }

    fn duration(&mut self, d: Duration) {
        self.number(u64::try_from(d.as_micros()).unwrap_or(u64::MAX));
    }

    fn outcome(&mut self, result: &TestResult) {
        self.0.push(u8::try_from(result.outcome.letter()).unwrap_or(b'-'));
        self.duration(result.duration);
    }

    fn peek(&mut self, peek: &Peek) {
        self.number(peek.after as u64);
        self.number(u64::from(peek.result.test.0));
        self.outcome(&peek.result);
        match &peek.result.failure {
            None => self.number(0),
            Some(failure) => {
                self.number((1..).zip(PHASES).find(|(_, p)| *p == failure.phase).map_or(0, |(n, _)| n));
                self.text(&failure.signature.0);
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, PackedError> {
        let (first, rest) = self.0.split_first().ok_or(PackedError::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u64, PackedError> {
        let mut n = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(PackedError::Damaged);
            }
            n |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(PackedError::Damaged)
    }

    fn duration(&mut self) -> Result<Duration, PackedError> {
        self.number().map(Duration::from_micros)
    }

    fn test(&mut self) -> Result<TestIx, PackedError> {
        u32::try_from(self.number()?).map(TestIx).map_err(|_| PackedError::Damaged)
    }

    /// How many of something follow, each at least a byte: never more than there are bytes.
    fn count(&mut self) -> Result<usize, PackedError> {
        let n = usize::try_from(self.number()?).map_err(|_| PackedError::Damaged)?;
        if n > self.0.len() { Err(PackedError::Short) } else { Ok(n) }
    }

    fn result(&mut self, test: TestIx) -> Result<TestResult, PackedError> {
        let outcome = Outcome::from_letter(char::from(self.byte()?)).ok_or(PackedError::Damaged)?;
        Ok(TestResult { test, outcome, duration: self.duration()?, failure: None })
    }

    fn peek(&mut self) -> Result<Peek, PackedError> {
        let after = usize::try_from(self.number()?).map_err(|_| PackedError::Damaged)?;
        let test = self.test()?;
        let mut result = self.result(test)?;
        let phase = self.number()?;
        if phase > 0 {
            let phase = usize::try_from(phase - 1).ok().and_then(|n| PHASES.get(n));
            result.failure = Some(Failure {
                phase: *phase.ok_or(PackedError::Damaged)?,
                signature: Signature(Arc::from(self.text()?)),
                text: Excerpt::default(),
            });
        }
        Ok(Peek { after, result })
    }

    fn culprit(&mut self) -> Result<Option<TestIx>, PackedError> {
        match self.number()? {
            0 => Ok(None),
            n => u32::try_from(n - 1).map(|n| Some(TestIx(n))).map_err(|_| PackedError::Damaged),
        }
    }

    fn text(&mut self) -> Result<String, PackedError> {
        let len = usize::try_from(self.number()?).map_err(|_| PackedError::Damaged)?;
        let (text, rest): (&'a [u8], _) = self.0.split_at_checked(len).ok_or(PackedError::Short)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| PackedError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyorder_core::model::{Executor, Order, OrderLabel};
    use proptest::prelude::*;

    fn ending() -> impl Strategy<Value = Ending> {
        let culprit = || proptest::option::of((0..2_000_u32).prop_map(TestIx));
        prop_oneof![
            Just(Ending::Completed),
            (culprit(), ".{0,20}").prop_map(|(culprit, how)| Ending::Crashed { culprit, how }),
            culprit().prop_map(|culprit| Ending::TimedOut { culprit }),
            (0..9_usize).prop_map(|position| Ending::OutOfOrder { position }),
            Just(Ending::Interrupted),
        ]
    }

    fn peek() -> impl Strategy<Value = Peek> {
        let failure = (0..3_usize, ".{0,20}").prop_map(|(phase, signature)| Failure {
            phase: PHASES[phase],
            signature: Signature(Arc::from(signature)),
            text: Excerpt::default(),
        });
        (0..400_usize, any::<u32>(), 0..9_usize, any::<u32>(), proptest::option::of(failure)).prop_map(
            |(after, test, outcome, micros, failure)| Peek {
                after,
                result: TestResult {
                    test: TestIx(test),
                    outcome: Outcome::ALL[outcome],
                    duration: Duration::from_micros(u64::from(micros)),
                    failure,
                },
            },
        )
    }

    proptest! {
        #[test]
        fn a_run_survives_packing(
            cells in proptest::collection::vec((0..9_usize, 0..u64::from(u32::MAX)), 0..300),
            ending in ending(),
            wall in 0..u64::MAX / 2,
            fixture_setups in proptest::option::of(any::<u32>()),
            shift in 0..3_usize,
            peeks in proptest::collection::vec(peek(), 0..5),
        ) {
            let tests: Vec<TestIx> = (0..u32::try_from(cells.len()).unwrap()).rev().map(TestIx).collect();
            // Executed in the order asked for, or otherwise.
            let executed = tests.iter().cycle().skip(shift).take(tests.len());
            let results: Vec<TestResult> = executed.zip(&cells).map(|(test, (outcome, micros))| TestResult {
                test: *test,
                outcome: Outcome::ALL[*outcome],
                duration: Duration::from_micros(*micros),
                failure: None,
            }).collect();
            let run = RunRecord {
                order: Order::partial(OrderLabel::Default, tests.clone(), tests.len()).unwrap(),
                attempt: 0,
                executor: Executor::Fork,
                results: results.clone(),
                ending: ending.clone(),
                wall: Duration::from_micros(wall),
                fixture_setups,
                peeks: peeks.clone(),
            };
            let back = unpack(&pack(&run)).unwrap();
            prop_assert_eq!(back, Unpacked { order: tests, results, ending, wall: Duration::from_micros(wall), fixture_setups, peeks });
        }

        #[test]
        fn no_bytes_make_it_panic(version in 1..=4_u8, mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack(&bytes);
            let _ = unsealed(&bytes, version);
            bytes.insert(0, version);
            bytes.extend_from_slice(&seal(&bytes));
            let _ = unpack(&bytes);
        }
    }

    fn short_run(peeks: Vec<Peek>) -> Vec<u8> {
        let order = Order::partial(OrderLabel::Default, vec![TestIx(0)], 1).unwrap();
        let result =
            TestResult { test: TestIx(0), outcome: Outcome::Passed, duration: Duration::ZERO, failure: None };
        let run = RunRecord {
            order,
            attempt: 0,
            executor: Executor::Fresh,
            results: vec![result],
            ending: Ending::Completed,
            wall: Duration::from_secs(3),
            fixture_setups: None,
            peeks,
        };
        pack(&run)
    }

    #[test]
    fn a_run_without_peeks_is_packed_as_it_always_was() {
        // Written by the first release: version, 3 s, no fixtures, completed, one test, test 0, passed, 0 µs, seal.
        let bytes = [2, 0xc0, 0x8d, 0xb7, 1, 0, 0, 1, 0, b'P', 0];
        assert_eq!(short_run(Vec::new())[..bytes.len()], bytes);
        let old = [&bytes[..], &seal(&bytes)].concat();
        assert_eq!(unpack(&old).unwrap().peeks, Vec::new());
    }

    #[test]
    fn a_changed_byte_is_an_error_and_no_other_run() {
        let result =
            TestResult { test: TestIx(3), outcome: Outcome::Failed, duration: Duration::ZERO, failure: None };
        let bytes = short_run(vec![Peek { after: 1, result }]);
        for at in 0..bytes.len() {
            for change in 1..=u8::MAX {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                assert!(unpack(&changed).is_err(), "{at} {change}");
            }
        }
    }

    #[test]
    fn a_cut_record_is_an_error_and_no_shorter_run() {
        let result =
            TestResult { test: TestIx(3), outcome: Outcome::Failed, duration: Duration::ZERO, failure: None };
        let bytes = short_run(vec![Peek { after: 1, result }]);
        for cut in 0..bytes.len() {
            assert!(unpack(&bytes[..cut]).is_err(), "{cut}");
        }
        assert_eq!(unpack(&[9]), Err(PackedError::Version(9)));
    }
}
