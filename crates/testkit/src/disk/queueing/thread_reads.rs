//! The delayed reads of each thread, by which a program assigns reads to what the thread did.

use std::{
    cell::Cell,
    ops::Sub,
    time::{Duration, Instant},
};

/// Reads of a thread from [`QueueingDisk`](super::QueueingDisk)s whose delay was on, in
/// [`File::read_at`](clearway_disk::File::read_at). Those of I/O queues are not included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadReads {
    /// Reads that have ended.
    pub count: u64,
    /// The time from their arrivals to their ends, summed over them.
    pub time: Duration,
}

thread_local! {
    static READS: Cell<ThreadReads> = const {
        Cell::new(ThreadReads { count: 0, time: Duration::ZERO })
    };
}

impl ThreadReads {
    /// Returns the reads of the calling thread since it began.
    pub fn now() -> ThreadReads {
        READS.get()
    }

    /// Counts a read of the calling thread that has just ended.
    pub(super) fn add(arrived: Instant) {
        let ThreadReads { count, time } = READS.get();
        READS.set(ThreadReads { count: count + 1, time: time + arrived.elapsed() });
    }
}

impl Sub for ThreadReads {
    type Output = ThreadReads;

    fn sub(self, earlier: ThreadReads) -> ThreadReads {
        ThreadReads { count: self.count - earlier.count, time: self.time - earlier.time }
    }
}
