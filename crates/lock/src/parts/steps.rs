//! A blocking wait step by step on one thread, for tests of detectors.

use crate::{identity::LockId, mode::RangeMode, owner::LockOwner, shared::LockTable};

/// Requests a lock like a thread that is about to block, without a deadlock check. Returns true if
/// it is granted.
pub fn begin_wait(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> bool {
    let granted = table.start(owner, id, mode);
    if !granted {
        table.record(owner).mark_blocking_wait();
    }
    granted
}

/// Repeats a waiter's deadlock check. Returns true if it dies.
pub fn check(table: &LockTable, owner: &mut LockOwner) -> bool {
    table.check_deadlock(owner, false)
}
