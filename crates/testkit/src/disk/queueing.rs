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

use std::{os::fd::BorrowedFd, path::PathBuf, sync::Arc};

use clearway_base::Result;
use clearway_disk::{Disk, File, IoQueue, IoQueueOptions, OpenMode};

use io_queue::ServedQueue;
pub use measurement::ServerStats;
pub use servers::ReadServers;

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

    fn exists(&self, name: &str) -> Result<bool> {
        self.inner.exists(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn create_dir(&self, dir: &str) -> Result<()> {
        self.inner.create_dir(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        self.inner.sync_dir(dir)
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        self.inner.lock()
    }

    fn random(&self) -> Result<u64> {
        self.inner.random()
    }

    fn io_queue(&self, probe: &dyn File, options: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        let inner = self.inner.io_queue(probe, options)?;
        Ok(Box::new(ServedQueue::new(inner, self.servers.clone())))
    }

    fn path(&self) -> PathBuf {
        self.inner.path()
    }
}

struct QueueingFile {
    inner: Arc<dyn File>,
    servers: ReadServers,
}

impl File for QueueingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let wait = || self.servers.is_on().then(|| self.servers.wait_for_service());
        match io_queue::take_service().or_else(wait) {
            Some(service) => service.perform(|| self.inner.read_at(buf, offset)),
            None => self.inner.read_at(buf, offset),
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.inner.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.inner.write_durable_at(buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        self.inner.sync_data()
    }

    fn sync_all(&self) -> Result<()> {
        self.inner.sync_all()
    }

    fn len(&self) -> Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        self.inner.allocate(offset, len)
    }

    /// Used by the inner disk's queue only, for writes, and for reads while the delay is off.
    fn io_descriptor(&self, memory: *const [u8], offset: u64) -> Option<BorrowedFd<'_>> {
        self.inner.io_descriptor(memory, offset)
    }

    fn path(&self) -> PathBuf {
        self.inner.path()
    }
}

#[cfg(test)]
mod tests;
