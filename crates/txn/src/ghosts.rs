//! Which leaves have become sparse: a bounded queue from transactions to the maintenance thread.
//!
//! A delete leaves a ghost, which can go once the deleter's locks are free. The tree tells its
//! transaction when a leaf is worth a visit; the transaction queues those keys when it has ended.
//! If the queue is full, the thread that ends the transaction pays the visits itself: so a mass
//! deletion pays for its own tidying up, the queue stays bounded, and no leaf is forgotten.
//!
//! A visit may find new work (a merge makes the next leaf sparse); that is queued in turn, and
//! left if there is no room.

use std::{collections::VecDeque, sync::Arc};

use clearway_base::{Error, Result, TreeId};
use clearway_lock::{IntentMode, WaitLimit};
use clearway_sync::{
    Condvar, Mutex,
    atomic::{AtomicU64, Ordering},
};

use crate::{core::Core, finish, slot::Slot};

/// Hints that wait at most: 400 KiB with keys of 100 bytes, 4 MiB with the longest.
const QUEUE_MAX: usize = 4096;

/// A key near ghosts.
pub(crate) type GhostHint = (TreeId, Vec<u8>);

/// See the module.
#[derive(Default)]
pub(crate) struct GhostQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
    passes: AtomicU64,
}

#[derive(Default)]
struct Queue {
    hints: VecDeque<GhostHint>,
    stopping: bool,
}

impl GhostQueue {
    /// Takes hints as far as there is room; what is left is the caller's to do.
    pub(crate) fn push(&self, hints: &mut Vec<GhostHint>) {
        let mut queue = self.queue.lock();
        let room = QUEUE_MAX.saturating_sub(queue.hints.len()).min(hints.len());
        queue.hints.extend(hints.drain(..room));
        drop(queue);
        self.changed.notify_one();
    }

    /// The next hint, waiting for one; `None` when the engine closes.
    fn pop(&self) -> Option<GhostHint> {
        let mut queue = self.queue.lock();
        loop {
            if queue.stopping {
                return None;
            }
            if let Some(hint) = queue.hints.pop_front() {
                return Some(hint);
            }
            self.changed.wait(&mut queue);
        }
    }

    /// Ends the maintenance thread.
    pub(crate) fn stop(&self) {
        self.queue.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Passes made so far.
    pub(crate) fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }
}

/// The maintenance thread.
pub(crate) fn run(core: &Arc<Core>) {
    while let Some(hint) = core.ghosts.pop() {
        // Reclaiming is never necessary: what cannot be done now (a lock, a full log) is left for
        // whoever deletes here next; a failed disk stops the engine by other ways.
        let _ = reclaim(core, &hint);
    }
}

/// Reclaims ghosts at one key, as system transactions that belong to nobody.
pub(crate) fn reclaim(core: &Arc<Core>, (tree, key): &GhostHint) -> Result<()> {
    core.check_open()?;
    let Some(table) = core.tables.by_id(*tree) else { return Ok(()) };
    let mut slot = Slot::begin(core);
    slot.limit = WaitLimit::NoWait;
    let result = slot.operate(&table, IntentMode::IX, |slot, _| table.tree().maintain(slot, key));
    core.ghosts.passes.fetch_add(1, Ordering::Relaxed);
    core.ghosts.push(&mut slot.ghosts);
    slot.ghosts.clear();
    finish::rollback(slot)?;
    match result {
        Err(Error::WouldBlock | Error::UnknownTable { .. }) => Ok(()),
        result => result,
    }
}
