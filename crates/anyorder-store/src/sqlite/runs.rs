//! Runs: durable before they are counted, never twice.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use anyorder_core::model::{
    Excerpt, Executor, Failure, Order, OrderLabel, Phase, RunRecord, Signature, TestIx,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{StoreError, SweepId};
use crate::lock::LockedStore;
use crate::open::Store;
use crate::packed;

/// Number of a run in its store, shown as `r17`; what `anyorder replay` takes.
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
    /// When it was stored, in milliseconds since 1970.
    pub created_ms: i64,
}

impl LockedStore<'_> {
    /// Stores runs in one transaction. A run that is there already (same sweep, order, attempt, executor and, for
    /// `alone`, test) keeps its first record; its number is given.
    pub fn save_runs(
        &mut self,
        sweep: SweepId,
        records: &[RunRecord],
        now_ms: i64,
    ) -> Result<Vec<RunId>, StoreError> {
        if !self.store.dir.join("anyorder.db").exists() {
            return Err(StoreError::Gone(self.store.dir.clone()));
        }
        let change = self.store.db.transaction()?;
        let ids = records.iter().map(|r| save(&change, sweep, r, now_ms)).collect::<Result<Vec<_>, _>>()?;
        change.commit()?;
        Ok(ids)
    }
}

fn save(db: &Connection, sweep: SweepId, record: &RunRecord, now_ms: i64) -> Result<RunId, StoreError> {
    let label = record.order.label();
    let alone = *label == OrderLabel::Alone;
    let subject = record.order.tests().last().filter(|_| alone).map_or(-1, |t| i64::from(t.0));
    let key = params![sweep.0, label.to_string(), record.attempt, record.executor.word(), subject];
    let known = db
        .prepare_cached(
            "SELECT id FROM runs WHERE sweep = ?1 AND label = ?2 AND attempt = ?3 AND executor = ?4 AND subject = ?5",
        )?
        .query_row(key, |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(RunId(id));
    }
    db.prepare_cached(
        "INSERT INTO runs (sweep, label, attempt, executor, subject, ending, created_ms, record)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        sweep.0,
        label.to_string(),
        record.attempt,
        record.executor.word(),
        subject,
        if record.ending.is_complete() { "completed" } else { "ended early" },
        now_ms,
        packed::pack(record)
    ])?;
    let id = RunId(db.last_insert_rowid());
    let mut insert = db.prepare_cached(
        "INSERT INTO failures (run, position, phase, signature, head, tail, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
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
            i64::try_from(failure.text.total_bytes).unwrap_or(i64::MAX)
        ])?;
    }
    Ok(id)
}

impl Store {
    /// The runs of a sweep, in the order in which they were stored.
    pub fn runs(&self, sweep: SweepId) -> Result<Vec<RunSummary>, StoreError> {
        let mut select = self
            .db
            .prepare("SELECT id, sweep, label, attempt, created_ms FROM runs WHERE sweep = ?1 ORDER BY id")?;
        let rows = select.query_map([sweep.0], summary)?;
        rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect()
    }

    /// A run without its results.
    pub fn run(&self, run: RunId) -> Result<RunSummary, StoreError> {
        self.db
            .query_row(
                "SELECT id, sweep, label, attempt, created_ms FROM runs WHERE id = ?1",
                [run.0],
                summary,
            )
            .optional()?
            .ok_or_else(|| StoreError::Missing(format!("run {run}")))?
    }

    /// A run with everything known of it.
    pub fn load_run(&self, run: RunId) -> Result<RunRecord, StoreError> {
        let row = |row: &Row<'_>| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, u32>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, Vec<u8>>(3)?,
                row.get::<_, i64>(4)?,
            ))
        };
        let (label, attempt, executor, record, tests) = self
            .db
            .query_row(
                "SELECT label, attempt, executor, record,
                   (SELECT count(*) FROM tests JOIN sweeps ON sweeps.suite = tests.suite WHERE sweeps.id = runs.sweep)
                 FROM runs WHERE id = ?1",
                [run.0],
                row,
            )
            .optional()?
            .ok_or_else(|| StoreError::Missing(format!("run {run}")))?;
        let mut unpacked = packed::unpack(&record).map_err(|source| StoreError::Packed { run, source })?;
        self.add_failures(run, &mut unpacked.results)?;
        let label = parse_label(&label)?;
        let tests = usize::try_from(tests).unwrap_or(0);
        let order = Order::partial(label, unpacked.order, tests)
            .map_err(|e| StoreError::Inconsistent(format!("run {run} cannot be read: {e}")))?;
        Ok(RunRecord {
            order,
            attempt,
            executor: if executor == Executor::Fork.word() { Executor::Fork } else { Executor::Fresh },
            results: unpacked.results,
            ending: unpacked.ending,
            wall: unpacked.wall,
            fixture_setups: unpacked.fixture_setups,
        })
    }

    fn add_failures(
        &self,
        run: RunId,
        results: &mut [anyorder_core::model::TestResult],
    ) -> Result<(), StoreError> {
        let mut select = self.db.prepare_cached(
            "SELECT position, phase, signature, head, tail, bytes FROM failures WHERE run = ?1",
        )?;
        let mut rows = select.query([run.0])?;
        let mut found = std::collections::HashMap::new();
        while let Some(row) = rows.next()? {
            let phase: String = row.get(1)?;
            let signature: String = row.get(2)?;
            let bytes: i64 = row.get(5)?;
            let failure = Failure {
                phase: Phase::from_word(&phase).unwrap_or(Phase::Call),
                signature: Signature(Arc::from(signature)),
                text: Excerpt {
                    head: row.get(3)?,
                    tail: row.get(4)?,
                    total_bytes: u64::try_from(bytes).unwrap_or(0),
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

fn summary(row: &Row<'_>) -> rusqlite::Result<Result<RunSummary, StoreError>> {
    let label: String = row.get(2)?;
    let (id, sweep, attempt, created_ms) = (row.get(0)?, row.get(1)?, row.get(3)?, row.get(4)?);
    Ok(parse_label(&label).map(|label| RunSummary {
        id: RunId(id),
        sweep: SweepId(sweep),
        label,
        attempt,
        created_ms,
    }))
}

fn parse_label(text: &str) -> Result<OrderLabel, StoreError> {
    text.parse().map_err(|e| StoreError::Inconsistent(format!("a stored run cannot be read: {e}")))
}
