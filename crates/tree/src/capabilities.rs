//! The interface through which a tree operation uses the transaction that runs it.
//!
//! The tree decides *when* a lock is requested and when a change is logged; the transaction decides
//! *how*. These traits, and [`Wait`](crate::Wait), through which the blocking driver meets needs,
//! are all that the tree uses of the transaction, so the tree imports nothing from the transaction
//! layer and can be tested with a double.
//!
//! Invariants
//! 1. *Nothing here waits for a lock or for log space*, and nothing reads or writes a page:
//!    everything may be called under page latches. (A `log_*` call may wait for room in the log's
//!    buffer, and may itself write the log to make it; that waits for no lock, log space or page
//!    latch.) What an operation would have to wait for, it reports as a [`Need`](crate::Need) to
//!    its driver.
//! 2. Every `log_*` call but `log_image` is paid for by an earlier successful `reserve` of the same
//!    operation.

use clearway_base::{Lsn, LsnSpan, Result, TreeId};
use clearway_lock::{LockId, Outcome, RangeMode};

/// Requests and checks locks on behalf of the transaction.
pub trait Locks {
    /// Tries to acquire a lock, without waiting. A granted lock is kept until the transaction ends
    /// or [`release`](Locks::release) is called, and its tag has been taken into account.
    fn request(&mut self, id: LockId, mode: RangeMode) -> Outcome;

    /// Hints that the lock will most likely be requested soon; called before the descent to its
    /// leaf.
    #[inline]
    fn expect(&self, _id: LockId) {}

    /// Checks whether `mode` is compatible with all that other owners hold or await; takes no lock.
    /// The tag is taken into account as for [`request`](Locks::request). [`RangeMode::NN`] is
    /// compatible with everything: it requests no lock and takes the tag into account.
    fn check(&mut self, id: LockId, mode: RangeMode) -> Outcome;

    /// Releases a lock that the operation needed ([`Need::Lock`](crate::Need::Lock)) and that the
    /// protocol, back at the leaf, no longer needs. The tree calls this only for locks of which the
    /// transaction held nothing before, so that nothing it relies on is released.
    fn release(&mut self, id: LockId);

    /// Returns true if the transaction holds `id` in a mode that covers `mode`.
    fn holds(&self, id: LockId, mode: RangeMode) -> bool;

    /// Raises the tag of `to` to at least the tag of `from`, in the same latch hold in which the
    /// record of `from` is removed. Returns `false` and changes nothing if another transaction that
    /// already holds or awaits `to` would miss a tag that is not durable: then the record has to
    /// stay.
    fn inherit_tag(&mut self, from: LockId, to: LockId) -> bool;

    /// Raises the tag of `key`, which the transaction has locked and is about to insert, to at
    /// least that of `before`, the boundary whose gap the key splits. Under the leaf's latch.
    fn pass_tag(&mut self, before: LockId, key: LockId);
}

/// Logs changes on behalf of the transaction.
pub trait Journal {
    /// Makes sure that at least `bytes` of log space are reserved for the step about to start, its
    /// own undo included, in addition to what the undo of earlier operations needs. Not cumulative:
    /// of several calls without logging in between, the largest counts. [`Outcome::Denied`] if the
    /// log has no room at once.
    ///
    /// For a transaction that rolls back, the space comes first from what was kept for that
    /// purpose.
    fn reserve(&mut self, bytes: usize) -> Outcome;

    /// Returns true if the transaction is being rolled back, as a whole or in part: it may use the
    /// pages that are kept for that.
    fn is_undoing(&self) -> bool;

    /// Logs a change of content made by the transaction, and remembers `body` in its undo list.
    ///
    /// # Errors
    /// `Poisoned`, `Closed`; nothing is logged then. The same holds for the next two.
    fn log_user(&mut self, body: &[u8]) -> Result<LsnSpan>;

    /// Logs a whole system transaction: one record, no undo.
    fn log_system(&mut self, body: &[u8]) -> Result<LsnSpan>;

    /// Logs the compensation of a user operation that is being undone.
    fn log_compensation(&mut self, body: &[u8]) -> Result<LsnSpan>;

    /// Returns true if images of all changed pages are to be logged, for recovery to check its redo
    /// by.
    #[inline]
    fn checks_redo(&self) -> bool {
        false
    }

    /// Logs an image (its body in pieces) of a page as the record that ends at `lsn` left it. If
    /// the log has no room to spare, no image is logged: no space is reserved for it, and nothing
    /// relies on it.
    fn log_image(&mut self, _lsn: Lsn, _body: &[&[u8]]) {}
}

/// Takes note of work that is to be done once the operation, or its transaction, has ended.
pub trait Upkeep {
    /// Returns true if no transaction, this one included, holds or awaits the lock of a ghost
    /// record or of a fence. Called with the leaf exclusively latched, so that no operation can
    /// request it under the latch meanwhile. Returns false also if the locks do not show it: to a
    /// transaction that has locked the whole table or the database exclusively, and to a recovery,
    /// which undoes without locks.
    fn ghost_is_free(&self, ghost: LockId) -> bool;

    /// Remembers that the overflow chain behind `reference` belongs to a value that the transaction
    /// has replaced or deleted. After the transaction has committed, and only then, the transaction
    /// layer calls [`Tree::free_value`](crate::Tree::free_value) for each remembered reference. If
    /// the operation is rolled back, its reference is forgotten. Called right after the operation's
    /// `log_user`, under its latch. `reference` is opaque and 16 bytes long.
    fn defer_free(&mut self, tree: TreeId, reference: &[u8]);

    /// Records that no record of a leaf refers to the overflow chain `chain`, given by its tree and
    /// its reference. This replaces the chain of an earlier call. A call with `None` clears it: a
    /// record refers to that chain now. If the operation ends while there is such a chain, whether
    /// it fails, is dropped or undoes a change, the transaction layer calls
    /// [`Tree::free_value`](crate::Tree::free_value) for it, unless the engine stops or is closed
    /// before.
    fn note_unlinked(&mut self, chain: Option<(TreeId, [u8; 16])>);

    /// Remembers that upkeep has work on the path to `key` (ghosts in its leaf, a sparse node or a
    /// foster child): after the transaction has ended, one way or the other, a thread that does
    /// upkeep should call [`Tree::maintain`](crate::Tree::maintain) with this key, until
    /// [`Tree::survey`](crate::Tree::survey) finds no ghost there. Called at such events as the
    /// first ghost of a leaf, and not for each change, so it may allocate. A report that is lost
    /// costs space, and time of scans.
    fn defer_maintenance(&mut self, tree: TreeId, key: &[u8]);
}

/// All three: what an operation that writes uses.
pub trait Environment: Locks + Journal + Upkeep {}

impl<T: Locks + Journal + Upkeep> Environment for T {}
