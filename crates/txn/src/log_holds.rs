//! The log that backups still need.

use std::sync::Arc;

use clearway_base::Lsn;
use clearway_sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

/// The positions from which on backups that run need the log.
pub(crate) struct LogHolds {
    holds: Mutex<Holds>,
    /// Where the oldest of the holds begins, `u64::MAX` if there is none: written under the mutex,
    /// and read without it.
    oldest: AtomicU64,
}

#[derive(Default)]
struct Holds {
    /// By a number of their own.
    list: Vec<(u64, Lsn)>,
    next: u64,
}

impl Default for LogHolds {
    fn default() -> LogHolds {
        LogHolds { holds: Mutex::default(), oldest: AtomicU64::new(u64::MAX) }
    }
}

impl LogHolds {
    /// Keeps the log from `from` on until the result is dropped.
    pub(crate) fn add(self: &Arc<LogHolds>, from: Lsn) -> Hold {
        let mut holds = self.holds.lock();
        let number = holds.next;
        holds.next += 1;
        holds.list.push((number, from));
        self.publish(&holds);
        Hold { holds: self.clone(), number, from }
    }

    /// Returns where the oldest hold begins.
    pub(crate) fn oldest(&self) -> Option<Lsn> {
        // Relaxed: threads that reserve log space, and the checkpointer, may learn of a change a
        // little later.
        let oldest = self.oldest.load(Ordering::Relaxed);
        (oldest != u64::MAX).then_some(Lsn(oldest))
    }

    /// Publishes where the oldest hold begins. To be called after each change of the holds.
    fn publish(&self, holds: &Holds) {
        let oldest = holds.list.iter().map(|(_, from)| from.0).min();
        self.oldest.store(oldest.unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Keeps the log from `from` on until it is dropped.
pub(crate) struct Hold {
    holds: Arc<LogHolds>,
    number: u64,
    pub(crate) from: Lsn,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut holds = self.holds.holds.lock();
        holds.list.retain(|(number, _)| *number != self.number);
        self.holds.publish(&holds);
    }
}
