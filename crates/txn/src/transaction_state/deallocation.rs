//! Deferred frees, done after the commit: each step in the log says which free it belongs to.

use clearway_base::{
    Lsn, LsnSpan, Result,
    failpoint::{self, Failpoint},
};
use clearway_log::Record;

use super::TransactionState;
use crate::{deferred::DeferredDeallocations, record};

/// The progress of a committed transaction's deferred frees.
#[derive(Clone, Copy)]
pub(super) struct Deallocation {
    /// Its commit record.
    pub(super) commit: Lsn,
    /// The number of the free in progress.
    pub(super) current: u64,
    /// The number of frees that have begun: a step of each is in the log, or there was nothing to
    /// do.
    pub(super) begun: u64,
}

impl TransactionState {
    /// Logs the deferred frees for which the commit record has no room. Returns the start of the
    /// last record, or zero if there is none.
    #[cold]
    pub(super) fn log_frees(&mut self) -> Result<Lsn> {
        let mut prev = Lsn::ZERO;
        for body in self.frees.full_bodies() {
            let record = Record { kind: record::FREES, txn: self.id, prev, body: &[body] };
            let span = self.core.log.insert(&record)?;
            self.reservation.spend(span.end.0 - span.start.0);
            prev = span.start;
        }
        Ok(prev)
    }

    /// Gives back the memory that the committed transaction needs no more while its deferred frees
    /// wait for another thread, which will end it. It keeps its log space: what was reserved for
    /// its undo pays for the steps of the frees, so that these make progress in a full log.
    #[cold]
    pub(crate) fn await_frees(&mut self) {
        self.undo.clear();
        self.entry().hand_over();
    }

    /// Frees what the committed transaction has deferred, from where it stopped, and logs its end.
    pub(crate) fn free_deferred(&mut self) -> Result<()> {
        self.prevent_conversion(); // OPTIMISTIC-RUN-1
        let frees = std::mem::take(&mut self.frees);
        let result = self.free_each(&frees);
        self.frees = frees;
        result?;
        self.log_end()?;
        self.freeing = None;
        self.entry().finish();
        Ok(())
    }

    fn free_each(&mut self, frees: &DeferredDeallocations) -> Result<()> {
        let done = self.freeing.map_or(0, |freeing| freeing.begun);
        for (number, (tree, reference)) in frees.iter().enumerate().skip(done as usize) {
            let number = number as u64;
            self.freeing.iter_mut().for_each(|freeing| freeing.current = number);
            self.tree_by_id(tree).free_value(self, reference)?;
            self.freeing.iter_mut().for_each(|freeing| freeing.begun = number + 1);
        }
        Ok(())
    }

    /// Takes over the deferred frees of a recovered transaction.
    pub(crate) fn resume_frees(&mut self, commit: Lsn, begun: u64, frees: DeferredDeallocations) {
        self.freeing = Some(Deallocation { commit, current: begun, begun });
        self.frees = frees;
        self.entry().set_deallocations(commit, begun);
    }

    /// Logs a step of a deferred free: the record says which one has begun, and so does the
    /// `TransactionEntry`, so that it is not begun again.
    #[cold]
    pub(super) fn log_free_step(
        &mut self,
        mut freeing: Deallocation,
        body: &[u8],
    ) -> Result<LsnSpan> {
        let entry = self.core.transactions.entry(self.owner.number());
        entry.busy();
        let number = freeing.current + 1;
        let record =
            Record { kind: record::SYSTEM, txn: self.id, prev: Lsn(number), body: &[body] };
        let inserted = self.core.log.insert(&record);
        if inserted.is_ok() {
            freeing.begun = number;
        }
        entry.set_deallocations(freeing.commit, freeing.begun);
        self.freeing = Some(freeing);
        let span = inserted?;
        failpoint::pass(Failpoint::FreeBegun);
        self.reservation.spend(span.end.0 - span.start.0);
        Ok(span)
    }
}
