//! A transaction's wait for a lock: it is published before, and counted and reported afterwards.
//!
//! For a lock that is granted at once nothing here runs: the tree first requests a lock under its
//! latch, and `enter_first` first tries one without waiting.

use clearway_base::{KeyName, Result};
use clearway_lock::{LockId, RangeMode, WaitLimit};

use super::{LackingIntent, TransactionState};
use crate::{
    contention::{PASSED_MAX, PassedWait, PublishedWaits, WaitEnd, Wanted, WantedMode},
    suspended,
};

impl TransactionState {
    /// Takes a lock that was denied under the latch.
    #[cold]
    pub(super) fn wait_for_key(
        &mut self,
        id: LockId,
        mode: RangeMode,
        name: &KeyName,
    ) -> Result<()> {
        let wanted = Wanted::Key(id, *name);
        self.publish_wait(wanted, WantedMode::Key(mode));
        self.owner.set_suspended(self.suspended_owners());
        let result = self.core.locks.acquire(&mut self.owner, id, mode, self.limit);
        self.owner.set_suspended(Vec::new());
        if matches!(result, Err(clearway_base::Error::Deadlock { .. })) {
            self.refused = Some((id, mode));
        }
        self.after_wait(result, wanted, WantedMode::Key(mode))
    }

    /// Takes a table's lock, or the database's, that was denied.
    #[cold]
    pub(super) fn wait_for_whole(&mut self, lacking: LackingIntent) -> Result<()> {
        let LackingIntent { wanted, resource, mode } = lacking;
        self.publish_wait(wanted, WantedMode::Table(mode));
        self.owner.set_suspended(self.suspended_owners());
        let locks = &self.core.locks;
        let result = locks.acquire_intent(&mut self.owner, resource, mode, self.limit);
        self.owner.set_suspended(Vec::new());
        self.after_wait(result, wanted, WantedMode::Table(mode))
    }

    /// Returns the owners that do nothing as long as this thread blocks, if this transaction may
    /// block it (SUSPENDED-2).
    fn suspended_owners(&self) -> Vec<u32> {
        match self.limit {
            WaitLimit::NoWait => Vec::new(),
            _ => suspended::owners(&self.core.transactions, self.opening, self.id),
        }
    }

    fn published(&self) -> &PublishedWaits {
        self.core.transactions.published(self.owner.number())
    }

    pub(super) fn publish_wait(&mut self, wanted: Wanted, mode: WantedMode) {
        if self.limit != WaitLimit::NoWait {
            self.has_waited = true;
            self.published().publish_wait(wanted, mode);
        }
    }

    /// Counts a wait, and explains its error.
    pub(super) fn after_wait(
        &mut self,
        result: Result<()>,
        wanted: Wanted,
        mode: WantedMode,
    ) -> Result<()> {
        let end = match &result {
            Err(clearway_base::Error::Deadlock { .. }) => WaitEnd::Deadlock,
            Err(clearway_base::Error::SelfWait { .. }) => WaitEnd::Withdrawn,
            Err(_) => WaitEnd::Timeout,
            Ok(()) => WaitEnd::Granted,
        };
        self.count_wait(wanted, end);
        let core = &self.core;
        result.map_err(|error| core.explain(error, &mut self.owner, &wanted, mode))
    }

    /// Notes the wait that has just ended, if there was one. Counts the noted waits once there are
    /// [`PASSED_MAX`] of them.
    pub(super) fn count_wait(&mut self, wanted: Wanted, end: WaitEnd) {
        let Some(length) = self.owner.take_wait() else { return };
        self.wait_totals.add_lock_wait(&length);
        self.passed_waits.push(PassedWait { wanted, length, end });
        if self.passed_waits.len() >= PASSED_MAX {
            self.core.contention.count(self.kind, &mut self.passed_waits);
        }
    }

    /// Notes the wait for a lock of the attempt before, which has just ended. It is not counted
    /// among the waits by table and type: it is no wait of a statement.
    pub(super) fn count_retry_wait(&mut self) {
        if let Some(length) = self.owner.take_wait() {
            self.wait_totals.add_lock_wait(&length);
        }
    }

    /// Notes that the transaction begins to wait for a page.
    #[cold]
    pub(super) fn begin_page_wait(&mut self) {
        self.absent_pages += 1;
        self.has_waited = true;
        self.owner.begin_read();
    }

    /// Notes that this wait has ended. The wait of a deferred deallocation or of a loser's undo is
    /// the engine's own, and no wait of the transaction.
    #[cold]
    pub(super) fn end_page_wait(&mut self) {
        let length = self.owner.end_read();
        if self.freeing.is_none() && !self.recovering {
            self.wait_totals.add_page_wait(length);
        }
    }

    /// Withdraws what the transaction has published, and counts its waits. Called after its locks
    /// were released (CONTENTION-3).
    #[cold]
    pub(super) fn end_waits(&mut self) {
        self.has_waited = false;
        self.absent_pages = 0;
        let waits = std::mem::take(&mut self.wait_totals);
        self.core.wait_counters.count(self.kind, waits);
        self.refused = None;
        self.published().withdraw();
        if !self.passed_waits.is_empty() {
            self.core.contention.count(self.kind, &mut self.passed_waits);
        }
    }
}
