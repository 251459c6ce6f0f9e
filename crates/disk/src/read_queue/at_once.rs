//! The queue of a disk without a wait: each request is read by the thread that submits it.

use std::time::Instant;

use clearway_sync::{Counter, Process, step};

use super::{ReadPriority, ReadQueue, ReadQueueKind, ReadQueueStats, ReadRequest};
use clearway_base::Error;

/// Reads each request when it is submitted.
pub(crate) struct ReadsAtOnce {
    requests: Counter,
    /// READ-QUEUE-4.
    process: Process,
}

impl ReadsAtOnce {
    pub(crate) fn new() -> ReadsAtOnce {
        ReadsAtOnce { requests: Counter::default(), process: Process::current() }
    }
}

impl ReadQueue for ReadsAtOnce {
    fn submit(&self, mut requests: Vec<ReadRequest>) {
        if !self.process.is_current() {
            return requests.into_iter().for_each(|request| request.fail(Error::Forked));
        }
        self.requests.add(requests.len() as u64);
        // Stable: in the order of submission within a priority (READ-QUEUE-2).
        requests.sort_by_key(|request| request.priority() == ReadPriority::ReadAhead);
        // The disk is memory: what reads here may be the poll of a task, which must not block.
        let _may_block = step::Except::begin();
        requests.into_iter().for_each(ReadRequest::read);
    }

    fn wait_idle(&self, _: Option<Instant>) -> bool {
        true
    }

    fn kind(&self) -> ReadQueueKind {
        ReadQueueKind::AtOnce
    }

    fn stats(&self) -> ReadQueueStats {
        let requests = self.requests.get();
        ReadQueueStats { requests, in_flight: 0, in_flight_max: usize::from(requests > 0) }
    }
}
