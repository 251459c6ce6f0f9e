//! The clocks of contended locks, by which waits are divided; see `stalls`.

use clearway_sync::{
    CachePadded, SpinLatch,
    plain::{AtomicBool, Ordering},
};

use crate::wait_record::Target;

/// Groups of clocks, a power of two.
const GROUPS: usize = 64;

/// The clock of a contended lock: the time for which its holders were stalled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StallClock {
    pub(crate) target: Target,
    pub(crate) waiters: u32,
    /// The holder that the clock follows, if any is known.
    pub(crate) follows: Option<u32>,
    /// Its stall time when the clock began to follow it.
    pub(crate) base: u64,
    /// The clock's time until then.
    pub(crate) passed: u64,
}

impl StallClock {
    /// A clock for which no owner waits yet.
    pub(crate) fn new(target: Target) -> StallClock {
        StallClock { target, waiters: 0, follows: None, base: 0, passed: 0 }
    }
}

/// The clocks of all contended locks (STALL-1).
pub(crate) struct StallClocks {
    /// True once an owner has waited for a page (STALL-4). Not tracked by models: it orders
    /// nothing.
    is_on: AtomicBool,
    groups: Box<[CachePadded<SpinLatch<Vec<StallClock>>>]>,
}

impl StallClocks {
    pub(crate) fn new() -> StallClocks {
        let group = |_| CachePadded::new(SpinLatch::new(Vec::new()));
        StallClocks { is_on: AtomicBool::new(false), groups: (0..GROUPS).map(group).collect() }
    }

    /// Notes that an owner waits for a page.
    pub(crate) fn switch_on(&self) {
        // Relaxed: see `is_on`.
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Returns true once an owner has waited for a page (STALL-4).
    pub(crate) fn is_on(&self) -> bool {
        // Relaxed: waits that begin meanwhile may be left out.
        self.is_on.load(Ordering::Relaxed)
    }

    /// Returns true if no lock has a clock.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.lock().is_empty())
    }

    fn group(&self, target: Target) -> &SpinLatch<Vec<StallClock>> {
        let number = match target {
            Target::Range(id) => id.0 as usize,
            Target::Intent(entry) => entry as usize,
        };
        &self.groups[number % GROUPS]
    }

    /// Returns the clock of a lock, if there is one.
    pub(crate) fn get(&self, target: Target) -> Option<StallClock> {
        self.group(target).lock().iter().find(|clock| clock.target == target).copied()
    }

    /// Stores a clock, or removes it if no owner waits any more. The latch of its lock is held.
    pub(crate) fn put(&self, clock: StallClock) {
        let mut group = self.group(clock.target).lock();
        let at = group.iter().position(|other| other.target == clock.target);
        match at {
            Some(at) if clock.waiters == 0 => drop(group.swap_remove(at)),
            Some(at) => group[at] = clock,
            None => group.push(clock),
        }
    }
}
