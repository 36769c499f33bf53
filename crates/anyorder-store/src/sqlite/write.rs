//! The one way to write: a transaction on the very file that was opened.

use rusqlite::{Transaction, TransactionBehavior};

use super::StoreError;
use crate::identity::FileId;
use crate::lock::{self, LockedStore};
use crate::open::{self, log_of};

impl LockedStore<'_> {
    /// Runs `change` in a transaction. What it did survives the end of this process when this returns, and is undone
    /// where it fails.
    pub(super) fn write<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.still_ours()?;
        let transaction = self.store.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = change(&transaction)?;
        transaction.commit()?;
        // A test may have deleted the store meanwhile: SQLite goes on writing to files that have no name any more.
        self.still_ours()?;
        if self.store.wal && !log_of(&self.store.dir.join(open::FILE)).exists() {
            return Err(StoreError::Gone(self.store.dir.clone()));
        }
        Ok(value)
    }

    /// The same, and flushes it and everything committed before to the disk, so that it survives the machine as well.
    pub(super) fn write_through<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.store.db.pragma_update(None, "synchronous", "FULL")?;
        let written = self.write(change);
        if self.store.wal {
            self.store.db.pragma_update(None, "synchronous", "NORMAL")?;
        }
        written
    }

    /// Whether database and lock still stand where they were: with either deleted, another process could be writing.
    pub(crate) fn still_ours(&self) -> Result<(), StoreError> {
        let dir = &self.store.dir;
        let same = |name: &str, file: FileId| FileId::of(&dir.join(name)).is_ok_and(|now| now == Some(file));
        if same(open::FILE, self.store.file) && same(lock::FILE, self.lock.id) {
            Ok(())
        } else {
            Err(StoreError::Gone(dir.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{CheckRecord, Store, StoreError};

    fn check(document: String) -> CheckRecord {
        CheckRecord {
            created_ms: 1,
            verdict: "block".to_owned(),
            base: "main".to_owned(),
            patches: vec![],
            document,
        }
    }

    #[test]
    fn a_full_disk_loses_nothing_that_was_stored() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let pages: u32 = store.db.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        store.db.pragma_update(None, "max_page_count", pages + 8).unwrap();
        let mut locked = store.lock().unwrap();
        let small = locked.save_check(&check("small".to_owned())).unwrap();
        let error = locked.save_check(&check("x".repeat(1 << 20))).unwrap_err();
        assert!(matches!(error, StoreError::Full(_)), "{error:?}");
        assert!(error.to_string().contains("no space left"));
        assert_eq!(locked.check_document(small).unwrap(), "small");
        drop(store);
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.checks().unwrap().len(), 1);
    }

    #[test]
    fn a_database_that_another_program_holds_is_an_error_that_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        store.db.busy_timeout(Duration::from_millis(20)).unwrap();
        let other = rusqlite::Connection::open(dir.path().join("anyorder.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = store.lock().unwrap().save_check(&check(String::new())).unwrap_err();
        assert!(matches!(error, StoreError::Busy(_)), "{error:?}");
        other.execute_batch("ROLLBACK").unwrap();
        store.lock().unwrap().save_check(&check(String::new())).unwrap();
    }
}
