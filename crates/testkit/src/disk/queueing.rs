//! Any disk, whose reads of the data file wait for servers, like a device that can serve only a few
//! reads at the same time.
//!
//! ```text
//!   File::read_at ──────────┐
//!                           ├──► waiting reads ──► `servers` servers, `delay` each ──► inner disk
//!   IoQueue: foreground ────┘            ▲
//!            read-ahead ─── if no other read waits
//! ```
//!
//! In the terms of queueing theory the disk is a station with one queue, several servers and a
//! constant service time. The service time begins when a server becomes free for the read, so the
//! time that the kernel takes to wake a thread is a part of it.
//!
//! Invariants:
//! - QUEUEING-1. At most `servers` reads are in service, and each is for at least `delay`. No read
//!   waits while a server is free.
//! - QUEUEING-2. Services begin in the order of arrival, whether a thread waits in
//!   [`File::read_at`] or a request was submitted to an I/O queue; those of read-ahead after all
//!   others that wait.
//!
//! A request is one read with one delay, however many adjacent pages it covers. Writes, and all
//! operations on other files, are not delayed and need no server: those of an I/O queue go to the
//! queue of the inner disk. While the delay is off, reads do so as well. A queue takes all its
//! reads for reads of the data file, as the engine's are.

mod io_queue;
mod measurement;
mod servers;
mod thread_reads;

use std::{sync::Arc, time::Instant};

use clearway_base::Result;
use clearway_disk::{Disk, File, IoQueue, IoQueueOptions, OpenMode};

use crate::{forward_disk, forward_file};
use io_queue::ServedQueue;
pub use measurement::ServerStats;
pub use servers::ReadServers;
pub use thread_reads::ThreadReads;

/// The file whose reads are delayed.
const DATA_FILE: &str = "data";

/// A disk over another one, whose reads of the data file are served by [`ReadServers`].
pub struct QueueingDisk<D> {
    inner: D,
    servers: ReadServers,
}

impl<D: Disk> QueueingDisk<D> {
    /// A disk over `inner`.
    pub fn new(inner: D, servers: ReadServers) -> QueueingDisk<D> {
        QueueingDisk { inner, servers }
    }
}

impl<D: Disk> Disk for QueueingDisk<D> {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        let inner = self.inner.open(name, mode)?;
        if name != DATA_FILE {
            return Ok(inner);
        }
        Ok(Arc::new(QueueingFile { inner, servers: self.servers.clone() }))
    }

    fn io_queue(&self, probe: &dyn File, options: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        let inner = self.inner.io_queue(probe, options)?;
        Ok(Box::new(ServedQueue::new(inner, self.servers.clone())))
    }

    forward_disk!(inner);
}

struct QueueingFile {
    inner: Arc<dyn File>,
    servers: ReadServers,
}

impl File for QueueingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        if let Some(service) = io_queue::take_service() {
            return service.perform(|| self.inner.read_at(buf, offset));
        }
        if !self.servers.is_on() {
            return self.inner.read_at(buf, offset);
        }
        let arrived = Instant::now();
        let read = self.servers.wait_for_service().perform(|| self.inner.read_at(buf, offset));
        ThreadReads::add(arrived);
        read
    }

    // The queue of the inner disk uses the descriptor, and no other code: for writes, and for reads
    // while the delay is off.
    forward_file!(inner; io_descriptor);
    forward_file!(
        inner;
        write_at,
        write_durable_at,
        sync_data,
        sync_all,
        len,
        set_len,
        allocate,
        path
    );
}

#[cfg(test)]
mod tests;
