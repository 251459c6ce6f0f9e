//! Which leaves have become sparse: a bounded queue from transactions to the maintenance thread.
//!
//! A delete leaves a ghost, which can go once the deleter's locks are free. The tree tells its
//! transaction when a leaf is worth a visit; the transaction queues those keys when it has ended.
//! If the queue is full, the thread that ends the transaction pays the visits itself: so a mass
//! deletion pays for its own tidying up, the queue stays bounded, and no leaf is forgotten.
//!
//! A visit does what it can without waiting: a ghost that a reader has locked stays, a neighbour
//! that is latched is not merged. So there is a second visit a little later, and more of them as
//! long as held ghosts are met. A visit may also find new work (a merge makes the next leaf
//! sparse), which is queued in turn.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, Result, TreeId};
use clearway_lock::{IntentMode, WaitLimit};
use clearway_sync::{
    Condvar, Mutex,
    atomic::{AtomicU64, Ordering},
};

use crate::{core::Core, finish, slot::Slot};

/// Hints that wait at most: 400 KiB with keys of 100 bytes, 4 MiB with the longest.
const QUEUE_MAX: usize = 4096;
/// How long after one visit the next one comes. All the same, so that the list stays in order.
const LATER: Duration = Duration::from_millis(200);
/// Visits that every hint gets.
const VISITS: u32 = 2;
/// Visits at most, if held ghosts are met: whoever holds a lock for longer than six seconds has
/// his ghosts left to the next delete.
const VISITS_MAX: u32 = 30;

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
    fresh: VecDeque<GhostHint>,
    /// Visited before, in the order in which they are due.
    later: VecDeque<Visit>,
    stopping: bool,
}

/// A visit that is due at some time.
struct Visit {
    hint: GhostHint,
    due: Instant,
    visits: u32,
}

impl GhostQueue {
    /// Takes hints as far as there is room; what is left is the caller's to do.
    pub(crate) fn push(&self, hints: &mut Vec<GhostHint>) {
        let mut queue = self.queue.lock();
        let room = QUEUE_MAX.saturating_sub(queue.fresh.len()).min(hints.len());
        queue.fresh.extend(hints.drain(..room));
        drop(queue);
        self.changed.notify_one();
    }

    /// Another visit for a hint that had `visits`.
    fn push_later(&self, hint: GhostHint, visits: u32) {
        let mut queue = self.queue.lock();
        if queue.later.len() < QUEUE_MAX {
            queue.later.push_back(Visit { hint, due: Instant::now() + LATER, visits });
        }
    }

    /// The next visit to make, waiting for it, and how many came before; `None` when the engine
    /// closes.
    fn pop(&self) -> Option<(GhostHint, u32)> {
        let mut queue = self.queue.lock();
        loop {
            if queue.stopping {
                return None;
            }
            let due = queue.later.front().map(|visit| visit.due);
            if due.is_some_and(|due| due <= Instant::now()) {
                return queue.later.pop_front().map(|visit| (visit.hint, visit.visits));
            }
            if let Some(hint) = queue.fresh.pop_front() {
                return Some((hint, 0));
            }
            match due {
                Some(due) => drop(self.changed.wait_until(&mut queue, due)),
                None => self.changed.wait(&mut queue),
            }
        }
    }

    /// All hints, those of later visits included.
    fn take_all(&self) -> Vec<GhostHint> {
        let mut queue = self.queue.lock();
        let later: Vec<_> = queue.later.drain(..).map(|visit| visit.hint).collect();
        later.into_iter().chain(queue.fresh.drain(..)).collect()
    }

    /// Ends the maintenance thread.
    pub(crate) fn stop(&self) {
        self.queue.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Visits made so far.
    pub(crate) fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }
}

/// The maintenance thread.
pub(crate) fn run(core: &Arc<Core>) {
    while let Some((hint, visits)) = core.ghosts.pop() {
        // Reclaiming is never necessary: what cannot be done (a full log) is left for whoever
        // deletes here next; a failed disk stops the engine by other ways.
        let met_held_ghost = reclaim(core, &hint).unwrap_or(false);
        let visits = visits + 1;
        if visits < VISITS || met_held_ghost && visits < VISITS_MAX {
            core.ghosts.push_later(hint, visits);
        }
    }
}

/// Makes one visit for each hint there is now, due or not.
pub(crate) fn visit_all(core: &Arc<Core>) -> Result<()> {
    let mut result = Ok(());
    for hint in core.ghosts.take_all() {
        result = result.and(reclaim(core, &hint).map(drop));
    }
    result
}

/// Reclaims ghosts at one key, as system transactions that belong to nobody. Answers whether some
/// had to stay because they are locked.
pub(crate) fn reclaim(core: &Arc<Core>, (tree, key): &GhostHint) -> Result<bool> {
    core.check_open()?;
    let Some(table) = core.tables.by_id(*tree) else { return Ok(false) };
    let mut slot = Slot::begin(core)?;
    slot.limit = WaitLimit::NoWait;
    slot.met_held_ghost.set(false);
    let result = slot
        .operate(&table, IntentMode::IX, |slot, _| table.tree().maintain(slot, key))
        .map(|()| slot.met_held_ghost.get());
    core.ghosts.passes.fetch_add(1, Ordering::Relaxed);
    core.ghosts.push(&mut slot.ghosts);
    slot.ghosts.clear();
    finish::leave(slot);
    match result {
        Err(Error::WouldBlock { .. }) => Ok(true),
        Err(Error::UnknownTable { .. }) => Ok(false),
        result => result,
    }
}
