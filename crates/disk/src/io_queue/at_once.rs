//! The queue of a disk without a wait: the thread that submits a request reads or writes.

use std::time::Instant;

use clearway_sync::{Counter, Process, step};

use super::{IoQueue, IoQueueKind, IoQueueStats, IoRequest};
use clearway_base::Error;

/// Performs each request when it is submitted.
pub(crate) struct IoAtOnce {
    reads: Counter,
    writes: Counter,
    /// IO-QUEUE-4.
    process: Process,
}

impl IoAtOnce {
    pub(crate) fn new() -> IoAtOnce {
        IoAtOnce {
            reads: Counter::default(),
            writes: Counter::default(),
            process: Process::current(),
        }
    }
}

impl IoQueue for IoAtOnce {
    fn submit(&self, mut requests: Vec<IoRequest>) {
        if !self.process.is_current() {
            return requests.into_iter().for_each(|request| request.fail(Error::Forked));
        }
        let writes = requests.iter().filter(|request| request.is_write()).count();
        self.writes.add(writes as u64);
        self.reads.add((requests.len() - writes) as u64);
        // Stable: in the order of submission within a kind (IO-QUEUE-2).
        requests.sort_by_key(IoRequest::is_read_ahead);
        // The disk is memory: what reads here may be the poll of a task, which must not block.
        let _may_block = step::Except::begin();
        requests.into_iter().for_each(IoRequest::perform);
    }

    fn wait_idle(&self, _: Option<Instant>) -> bool {
        true
    }

    fn kind(&self) -> IoQueueKind {
        IoQueueKind::AtOnce
    }

    fn stats(&self) -> IoQueueStats {
        let (reads, writes) = (self.reads.get(), self.writes.get());
        let reads_in_flight_max = usize::from(reads > 0);
        IoQueueStats { reads, reads_in_flight_max, writes, ..IoQueueStats::default() }
    }
}
