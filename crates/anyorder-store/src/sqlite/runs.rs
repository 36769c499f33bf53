//! Runs: durable before they are counted, never twice.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use anyorder_core::model::{
    Ending, Excerpt, Executor, Failure, Order, OrderLabel, Phase, RunRecord, Signature, TestIx, TestResult,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{StoreError, SweepId};
use crate::lock::LockedStore;
use crate::open::Store;
use crate::packed::{self, Unpacked};

/// Number of a run in its store, shown as `r17`; what `anyorder replay` takes. It is given once and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub(crate) i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

impl FromStr for RunId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = text.strip_prefix('r').ok_or(())?;
        if !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(());
        }
        number.parse().map(Self).map_err(|_| ())
    }
}

/// A run without its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Its number.
    pub id: RunId,
    /// The sweep it belongs to.
    pub sweep: SweepId,
    /// Its order.
    pub label: OrderLabel,
    /// 0 for the sweep's own run of the order.
    pub attempt: u32,
    /// How it got its interpreter.
    pub executor: Executor,
    /// Whether it went through to its end in the order asked for.
    pub complete: bool,
    /// When it was stored, in milliseconds since 1970.
    pub created_ms: i64,
}

impl LockedStore<'_> {
    /// Stores runs in one transaction. A run that is there already (same sweep, order and tests in it, attempt and
    /// executor) keeps its first record; its number is given. Half a run is refused.
    pub fn save_runs(
        &mut self,
        sweep: SweepId,
        records: &[RunRecord],
        now_ms: i64,
    ) -> Result<Vec<RunId>, StoreError> {
        records.iter().try_for_each(fit)?;
        self.write(|change| records.iter().map(|r| save(change, sweep, r, now_ms)).collect())
    }
}

fn fit(record: &RunRecord) -> Result<(), StoreError> {
    let unfit = |why| Err(StoreError::Unfit { label: record.order.label().to_string(), why });
    if record.ending == Ending::Interrupted {
        return unfit("it was interrupted");
    }
    if !record.is_accounted() {
        return unfit("not every planned test has exactly one record");
    }
    Ok(())
}

fn save(db: &Connection, sweep: SweepId, record: &RunRecord, now_ms: i64) -> Result<RunId, StoreError> {
    let label = record.order.label().to_string();
    let sequence = sequence(record);
    let known = db
        .prepare_cached(
            "SELECT id FROM runs WHERE sweep = $1 AND label = $2 AND attempt = $3 AND executor = $4 AND sequence = $5",
        )?
        .query_row(params![sweep.0, label, record.attempt, record.executor.word(), sequence], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(RunId(id));
    }
    db.prepare_cached(
        "INSERT INTO runs (sweep, label, attempt, executor, sequence, complete, created_ms, record)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )?
    .execute(params![
        sweep.0,
        label,
        record.attempt,
        record.executor.word(),
        sequence,
        record.ending.is_complete(),
        now_ms,
        packed::pack(record)
    ])?;
    let id = RunId(db.last_insert_rowid());
    let mut insert = db.prepare_cached(
        "INSERT INTO failures (run, position, phase, signature, head, tail, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )?;
    for result in &record.results {
        let Some(failure) = &result.failure else { continue };
        insert.execute(params![
            id.0,
            result.test.0,
            failure.phase.word(),
            &*failure.signature.0,
            failure.text.head,
            failure.text.tail,
            failure.text.total_bytes.cast_signed()
        ])?;
    }
    Ok(id)
}

/// Digest of a sequence of tests and of the peeks in it: tells selections of one order apart.
fn sequence(record: &RunRecord) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for test in record.order.tests() {
        hasher.update(&test.0.to_le_bytes());
    }
    for peek in &record.peeks {
        hasher.update(b"peek");
        hasher.update(&(peek.after as u64).to_le_bytes());
        hasher.update(&peek.result.test.0.to_le_bytes());
    }
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

const SUMMARY: &str = "SELECT id, sweep, label, attempt, executor, complete, created_ms FROM runs";

impl Store {
    /// The runs of a sweep, in the order in which they were stored.
    pub fn runs(&self, sweep: SweepId) -> Result<Vec<RunSummary>, StoreError> {
        self.summaries("WHERE sweep = $1 ORDER BY id", sweep.0)
    }

    /// The runs stored last, the newest first, `limit` of them at most.
    pub fn recent_runs(&self, limit: u32) -> Result<Vec<RunSummary>, StoreError> {
        self.summaries("ORDER BY id DESC LIMIT $1", i64::from(limit))
    }

    /// A run without its results.
    pub fn run(&self, run: RunId) -> Result<RunSummary, StoreError> {
        let found = self.summaries("WHERE id = $1", run.0)?.pop();
        found.ok_or_else(|| StoreError::Missing(format!("run {run}")))
    }

    fn summaries(&self, which: &'static str, parameter: i64) -> Result<Vec<RunSummary>, StoreError> {
        let mut select = self.db.prepare_cached(&[SUMMARY, which].join(" "))?;
        let mut rows = select.query([parameter])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(RunSummary {
                id: RunId(row.get(0)?),
                sweep: SweepId(row.get(1)?),
                label: label_of(&row.get::<_, String>(2)?)?,
                attempt: row.get(3)?,
                executor: executor_of(&row.get::<_, String>(4)?)?,
                complete: row.get(5)?,
                created_ms: row.get(6)?,
            });
        }
        Ok(found)
    }

    /// A run with everything known of it, but for the texts of peeks' failures. Times are exact to the microsecond.
    pub fn load_run(&self, run: RunId) -> Result<RunRecord, StoreError> {
        let columns = |row: &Row<'_>| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, u32>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, Vec<u8>>(3)?,
                row.get::<_, u32>(4)? as usize,
            ))
        };
        let (label, attempt, executor, record, tests) = self
            .db
            .prepare_cached(
                "SELECT label, attempt, executor, record, suites.size FROM runs
                 JOIN sweeps ON sweeps.id = runs.sweep JOIN suites ON suites.id = sweeps.suite WHERE runs.id = $1",
            )?
            .query_row([run.0], columns)
            .optional()?
            .ok_or_else(|| StoreError::Missing(format!("run {run}")))?;
        let Unpacked { order, mut results, ending, wall, fixture_setups, peeks } =
            packed::unpack(&record).map_err(|source| StoreError::Packed { run, source })?;
        self.add_failures(run, &mut results)?;
        let broken =
            |why: &dyn fmt::Display| StoreError::Inconsistent(format!("run {run} cannot be read: {why}"));
        let order = Order::partial(label_of(&label)?, order, tests).map_err(|e| broken(&e))?;
        if let Ending::Crashed { culprit: Some(test), .. } | Ending::TimedOut { culprit: Some(test) } = ending
            && test.get() >= tests
        {
            return Err(broken(&format_args!("test {} is not in the suite", test.0)));
        }
        if peeks.iter().any(|p| p.after > order.len() || p.result.test.get() >= tests) {
            return Err(broken(&"it peeks at a test or a place that it does not have"));
        }
        let executor = executor_of(&executor)?;
        let record = RunRecord { order, attempt, executor, results, ending, wall, fixture_setups, peeks };
        if record.is_accounted() {
            Ok(record)
        } else {
            Err(broken(&"its results are not those of its order"))
        }
    }

    fn add_failures(&self, run: RunId, results: &mut [TestResult]) -> Result<(), StoreError> {
        let mut select = self.db.prepare_cached(
            "SELECT position, phase, signature, head, tail, bytes FROM failures WHERE run = $1",
        )?;
        let mut rows = select.query([run.0])?;
        let mut found = HashMap::new();
        while let Some(row) = rows.next()? {
            let phase: String = row.get(1)?;
            let phase = Phase::from_word(&phase).ok_or_else(|| {
                StoreError::Inconsistent(format!("run {run} has the unknown phase `{phase}`"))
            })?;
            let signature: String = row.get(2)?;
            let failure = Failure {
                phase,
                signature: Signature(Arc::from(signature)),
                text: Excerpt {
                    head: row.get(3)?,
                    tail: row.get(4)?,
                    total_bytes: row.get::<_, i64>(5)?.cast_unsigned(),
                },
            };
            found.insert(TestIx(row.get(0)?), failure);
        }
        for result in results {
            result.failure = found.remove(&result.test);
        }
        Ok(())
    }
}

/// A label as it stands in a column.
pub(super) fn label_of(text: &str) -> Result<OrderLabel, StoreError> {
    text.parse().map_err(|e| StoreError::Inconsistent(format!("a stored order cannot be read: {e}")))
}

fn executor_of(word: &str) -> Result<Executor, StoreError> {
    [Executor::Fresh, Executor::Fork]
        .into_iter()
        .find(|e| e.word() == word)
        .ok_or_else(|| StoreError::Inconsistent(format!("a stored run has the unknown executor `{word}`")))
}
