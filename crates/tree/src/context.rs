//! The interface through which a tree operation uses the transaction that runs it.
//!
//! The tree knows *when* the locking protocol wants a lock and when a change must be logged; the
//! transaction knows *how* both are done. This trait is the whole border between the two, so the
//! tree imports nothing from the transaction layer and can be tested with a double.
//!
//! Invariants
//! 1. Everything but `wait` and `reserve` may be called under page latches and therefore never
//!    waits for a lock or for log space. (A `log_*` call may wait for room in the log's buffer,
//!    which is made without locks, log space and page latches.)
//! 2. `wait` and `reserve` may block and are called with no latch held.
//! 3. Every `log_*` call but `log_image` is paid for by an earlier `reserve` of the same operation.

use clearway_base::{KeyName, Lsn, LsnSpan, Result, TreeId};
use clearway_lock::{LockId, Outcome, RangeMode};

/// The interface through which a tree operation uses the transaction that runs it.
pub trait Context {
    /// Tries to acquire a lock, without waiting. A granted lock is kept until the transaction
    /// ends, and its tag has been taken into account.
    fn request(&mut self, id: LockId, mode: RangeMode) -> Outcome;

    /// Hints that the lock will most likely be requested soon; called before the descent to its
    /// leaf.
    #[inline]
    fn expect(&self, _id: LockId) {}

    /// Checks whether `mode` is compatible with all that other owners hold or await; takes no lock.
    /// The tag is taken into account as for [`request`](Context::request). [`RangeMode::NN`] is
    /// compatible with everything: it requests no lock and takes the tag into account.
    fn check(&mut self, id: LockId, mode: RangeMode) -> Outcome;

    /// Acquires a lock, waiting as long as the transaction's limit allows. No latch is held.
    /// `name` says which key's lock it is: for errors and statistics.
    ///
    /// # Errors
    /// `Deadlock`, `LockTimeout`, `WouldBlock`.
    fn wait(&mut self, id: LockId, mode: RangeMode, name: &KeyName) -> Result<()>;

    /// Releases a lock obtained by [`wait`](Context::wait) that the protocol, after a new descent,
    /// no longer needs. The tree calls this only for locks of which the transaction held nothing
    /// before that wait, so that nothing it relies on is released.
    fn release(&mut self, id: LockId);

    /// Whether the transaction holds `id` in a mode that covers `mode`.
    fn holds(&self, id: LockId, mode: RangeMode) -> bool;

    /// Returns true if no transaction, this one included, holds or awaits the lock of a ghost
    /// record or of a fence. Called with the leaf exclusively latched, so that no operation can
    /// request it under the latch meanwhile. A recovery that undoes without locks returns `false`:
    /// the ghosts of other transactions may still be needed.
    fn ghost_is_free(&self, ghost: LockId) -> bool;

    /// Raises the tag of `to` to at least the tag of `from`, in the same latch hold in which the
    /// record of `from` is removed. Returns `false` and changes nothing if a transaction that
    /// already holds or awaits `to` would miss a tag that is not durable: then the record has to
    /// stay.
    fn inherit_tag(&mut self, from: LockId, to: LockId) -> bool;

    /// Raises the tag of `key`, which the transaction has locked and is about to insert, to at
    /// least that of `before`, the boundary whose gap the key splits. Under the leaf's latch.
    fn pass_tag(&mut self, before: LockId, key: LockId);

    /// Whether the transaction is being rolled back, as a whole or in part: it may use the pages
    /// that are kept for that.
    fn is_undoing(&self) -> bool;

    /// Makes sure that at least `bytes` of log space, beyond what is reserved for the undo of
    /// earlier operations, are reserved for the step about to start, its own undo included. Not
    /// cumulative: a second call without logging in between reserves nothing more. No latch is
    /// held.
    ///
    /// A context that rolls back must grant it from what it has kept for that purpose.
    ///
    /// # Errors
    /// `LogFull`, `DiskFull`, `Poisoned`.
    fn reserve(&mut self, bytes: usize) -> Result<()>;

    /// Logs a change of content made by the transaction, and remembers `body` in its undo list.
    fn log_user(&mut self, body: &[u8]) -> Result<LsnSpan>;

    /// Logs a whole system transaction: one record, no undo.
    fn log_system(&mut self, body: &[u8]) -> Result<LsnSpan>;

    /// Logs the compensation of a user operation that is being undone.
    fn log_compensation(&mut self, body: &[u8]) -> Result<LsnSpan>;

    /// Whether images of all changed pages are to be logged, for recovery to check its redo by.
    #[inline]
    fn checks_redo(&self) -> bool {
        false
    }

    /// Logs an image (its body in pieces) of a page as the record that ends at `lsn` left it. If
    /// the log has no room to spare, no image is logged: no space is reserved for it, and nothing
    /// relies on it.
    fn log_image(&mut self, _lsn: Lsn, _body: &[&[u8]]) {}

    /// Remembers that the overflow chain behind `reference` belongs to a value that the
    /// transaction has replaced or deleted. After the transaction has committed, and only then,
    /// the transaction layer calls [`Tree::free_value`](crate::Tree::free_value) for each
    /// remembered reference. If the operation is rolled back, its reference is forgotten. Called
    /// right after the operation's `log_user`, under its latch, so no I/O here. `reference` is
    /// opaque and 16 bytes long.
    fn defer_free(&mut self, tree: TreeId, reference: &[u8]);

    /// Remembers that the leaf of `key` has ghosts, is sparse or has a foster child: after the
    /// transaction has ended, one way or the other, a thread that does upkeep should call
    /// [`Tree::maintain`](crate::Tree::maintain) with this key, until
    /// [`Tree::survey`](crate::Tree::survey) finds no ghost there. Called at such events as the
    /// first ghost of a leaf, and not for each change, so it may allocate; often called under a
    /// latch, so no I/O. A report that is lost costs space, and time of scans.
    fn defer_maintenance(&mut self, tree: TreeId, key: &[u8]);
}
