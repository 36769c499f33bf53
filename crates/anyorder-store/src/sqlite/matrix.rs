//! The matrix of a sweep, from its own runs.

use std::collections::HashMap;

use anyorder_core::model::{Matrix, OrderLabel, Outcome};

use super::runs::label_of;
use super::{RunId, StoreError, SweepId};
use crate::open::Store;
use crate::packed;

impl Store {
    /// What the sweep's own runs (attempt 0) came to: a column a planned order, `alone` one column of each test's own
    /// run. The run stored first counts where there are two. One run is held in memory at a time.
    pub fn matrix(&self, sweep: SweepId) -> Result<Matrix, StoreError> {
        let mut matrix = Matrix::new(self.suite_of(sweep)?);
        let mut columns = HashMap::new();
        for label in self.labels_of(sweep)? {
            let text = label.to_string();
            let alone = label == OrderLabel::Alone;
            columns.insert(text, (matrix.add_order(label), alone, false));
        }
        let mut select = self.db.prepare_cached(
            "SELECT id, label, record FROM runs WHERE sweep = $1 AND attempt = 0 ORDER BY id",
        )?;
        let mut rows = select.query([sweep.0])?;
        while let Some(row) = rows.next()? {
            let run = RunId(row.get(0)?);
            let Some((column, alone, filled)) = columns.get_mut(row.get_ref(1)?.as_str().unwrap_or(""))
            else {
                continue;
            };
            if *filled {
                continue;
            }
            let record = row.get_ref(2)?.as_blob().unwrap_or_default();
            let record = packed::unpack(record).map_err(|source| StoreError::Packed { run, source })?;
            if *alone {
                // The tests that it declares to need ran before it.
                let own = record.order.last().and_then(|t| record.results.iter().find(|r| r.test == *t));
                if let Some(own) = own.filter(|own| matrix.get(*column, own.test) == Outcome::Absent) {
                    matrix.set(*column, own.test, own.outcome);
                }
                continue;
            }
            *filled = true;
            record.results.iter().for_each(|r| matrix.set(*column, r.test, r.outcome));
        }
        Ok(matrix)
    }

    /// The planned orders of a sweep.
    pub fn labels_of(&self, sweep: SweepId) -> Result<Vec<OrderLabel>, StoreError> {
        let text: String = self.of_sweep(sweep, "SELECT labels FROM sweeps WHERE id = $1")?;
        let labels: Vec<String> = serde_json::from_str(&text)
            .map_err(|e| StoreError::Inconsistent(format!("sweep {sweep} cannot be read: {e}")))?;
        labels.iter().map(|l| label_of(l)).collect()
    }
}
