//! The interface through which a tree operation uses its transaction ([`Locks`], [`Journal`],
//! [`Upkeep`]), and through which the blocking driver meets its needs ([`Wait`]), implemented by
//! the transaction state. Of these, only `Wait` waits for a lock or for log space (TXN-2); a
//! `log_*` call may wait for room in the log's ring.

use std::time::Duration;

use clearway_base::{KeyName, Lsn, LsnSpan, Result, TreeId, TxnId};
use clearway_lock::{LockId, Outcome, RangeMode};
use clearway_log::{Record, record_bytes};
use clearway_sync::counted_reads;
use clearway_tree::{Journal, Locks, PAGE_LIMIT, Upkeep, Wait};

use super::TransactionState;
use crate::{record, upkeep_queue::Report};

impl Locks for TransactionState {
    #[inline]
    fn request(&mut self, id: LockId, mode: RangeMode) -> Outcome {
        let mode = self.taken(mode);
        if self.is_covered(mode) {
            return Outcome::Granted; // TXN-6
        }
        self.core.locks.try_acquire(&mut self.owner, id, mode)
    }

    #[inline]
    fn expect(&self, id: LockId) {
        if self.cover.is_none() {
            self.core.locks.prefetch(id);
        }
    }

    #[inline]
    fn check(&mut self, id: LockId, mode: RangeMode) -> Outcome {
        let mode = match self.range_modes {
            None => mode,
            Some(modes) => (modes.probed)(mode),
        };
        if self.is_covered(mode) {
            return Outcome::Granted; // TXN-6
        }
        self.core.locks.check(&mut self.owner, id, mode)
    }

    fn release(&mut self, id: LockId) {
        self.core.locks.release(&mut self.owner, id);
    }

    fn holds(&self, id: LockId, mode: RangeMode) -> bool {
        self.owner.holds(id, mode)
    }

    fn inherit_tag(&mut self, from: LockId, to: LockId) -> bool {
        let durable = self.core.log.durable();
        let is_met = self.core.locks.inherit_tag(&mut self.owner, from, to, durable);
        if !is_met {
            self.met_held_ghost.set(true);
        }
        is_met
    }

    #[inline]
    fn pass_tag(&mut self, before: LockId, key: LockId) {
        self.core.locks.pass_tag(before, key);
    }
}

impl Journal for TransactionState {
    #[inline]
    fn reserve(&mut self, bytes: usize) -> Outcome {
        let (core, bytes) = (&self.core, bytes as u64);
        // The reservation of a loser was lost when its process ended.
        let is_reserved = (!self.undoing || self.recovering)
            && self.reservation.try_reserve(&core.log_space, bytes)
            || self.undoing && self.reservation.try_reserve_undo(&core.log_space, bytes);
        if is_reserved { Outcome::Granted } else { Outcome::Denied }
    }

    fn is_undoing(&self) -> bool {
        self.undoing
    }

    #[inline]
    fn log_user(&mut self, body: &[u8]) -> Result<LsnSpan> {
        let span = self.log_change(record::USER, self.undo.head(), body, |span| span.start)?;
        self.undo.push(span.start, body);
        self.reservation.change_logged(body.len());
        Ok(span)
    }

    fn log_system(&mut self, body: &[u8]) -> Result<LsnSpan> {
        if let Some(freeing) = self.freeing {
            return self.log_free_step(freeing, body);
        }
        let record =
            Record { kind: record::SYSTEM, txn: TxnId::NONE, prev: Lsn::ZERO, body: &[body] };
        let span = self.core.log.insert(&record)?;
        self.reservation.spend(span.end.0 - span.start.0);
        Ok(span)
    }

    fn log_compensation(&mut self, body: &[u8]) -> Result<LsnSpan> {
        assert!(self.undoing, "a compensation outside of an undo (TXN-3)");
        let next = self.undo.next();
        let span = self.log_change(record::COMPENSATION, next, body, |_| next)?;
        let undone = self.undo.pop();
        self.reservation.change_undone(undone.unwrap_or(0));
        Ok(span)
    }

    #[inline]
    fn checks_redo(&self) -> bool {
        self.core.options.redo_check
    }

    fn log_image(&mut self, lsn: Lsn, body: &[&[u8]]) {
        let log = &self.core.log;
        let bytes = record_bytes(body.iter().map(|piece| piece.len()).sum());
        let record = Record { kind: record::IMAGE, txn: TxnId::NONE, prev: lsn, body };
        if log.reserve_optional_space(bytes) && log.insert(&record).is_err() {
            log.release_space(bytes);
        }
    }
}

impl Upkeep for TransactionState {
    fn ghost_is_free(&self, ghost: LockId) -> bool {
        // Under an absolute X the ghosts of this transaction have no range locks of their own
        // (TXN-6), so the lock table does not show that they are in use.
        let is_covered = self.cover.covers(RangeMode::XX);
        let is_free = !self.recovering && !is_covered && self.core.locks.is_idle(ghost);
        if !is_free {
            self.met_held_ghost.set(true);
        }
        is_free
    }

    fn defer_free(&mut self, tree: TreeId, reference: &[u8]) {
        // The change was logged just now: it is the newest of the undo list.
        self.frees.push(self.undo.len().saturating_sub(1), tree, reference);
        self.reservation.set_frees(self.frees.log_bytes());
    }

    fn note_unlinked(&mut self, chain: Option<(TreeId, [u8; 16])>) {
        self.unlinked = chain;
    }

    fn defer_maintenance(&mut self, tree: TreeId, key: &[u8]) {
        match self.reported.last_mut() {
            Some(last) if last.leaf.0 == tree && last.leaf.1 == key => last.again = true,
            _ => self.reported.push(Report { leaf: (tree, key.to_vec()), again: false }),
        }
    }
}

impl Wait for TransactionState {
    fn wait_for_lock(&mut self, id: LockId, mode: RangeMode, name: &KeyName) -> Result<()> {
        self.wait_for_key(id, self.taken(mode), name)
    }

    #[cold]
    fn wait_for_log_space(&mut self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        if self.freeing.is_some() {
            let (space, number) = (&self.core.log_space, self.owner.number());
            return self.reservation.reserve_free(space, number, bytes);
        }
        if !self.undoing {
            return self.reservation.reserve(&self.core.log_space, self.owner.number(), bytes);
        }
        // The reservation of a loser was lost when its process ended, so try to reserve the space
        // as for forward processing. If that fails, the missing bytes come from the engine's own
        // reserve and, when that is used up, from beyond the log's capacity (TXN-SPACE-3).
        if self.recovering
            && self.reservation.reserve(&self.core.log_space, self.owner.number(), bytes).is_ok()
        {
            return Ok(());
        }
        self.reservation.reserve_undo(&self.core.log_space, self.owner.number(), bytes)
    }

    #[cold]
    fn holds_locks(&self) -> bool {
        // A transaction that has locked a whole table or the database may hold no locks on keys
        // (TXN-6).
        self.owner.held() > 0 || self.holds_absolute_lock()
    }

    #[cold]
    fn check_page_wait(&mut self) -> Result<()> {
        self.convert_at_absent_page()
    }

    fn begin_page_wait(&mut self) {
        TransactionState::begin_page_wait(self);
        counted_reads::begin_counted();
    }

    fn end_page_wait(&mut self) {
        counted_reads::end_counted();
        TransactionState::end_page_wait(self);
    }

    #[cold]
    fn page_limit(&self) -> Duration {
        match self.core.locks.time_limit(self.limit) {
            None | Some(Duration::ZERO) => PAGE_LIMIT,
            Some(limit) => limit,
        }
    }
}

impl TransactionState {
    /// Returns true if the absolute locks imply `mode` on a key (TXN-6). Without such a lock, even
    /// `NN` is passed on to the lock table, where `check` takes the tag into account.
    #[inline]
    fn is_covered(&self, mode: RangeMode) -> bool {
        !self.cover.is_none() && self.cover.covers(mode)
    }

    /// Returns the mode to take if `mode` is requested: in the product, `mode` itself.
    #[inline]
    pub(super) fn taken(&self, mode: RangeMode) -> RangeMode {
        match self.range_modes {
            None => mode,
            Some(modes) => (modes.taken)(mode),
        }
    }
}
