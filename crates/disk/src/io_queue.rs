//! Reads and writes that no thread waits in: requests enter a queue, several are in flight at the
//! same time, and the completion of each is called with its result.
//!
//! ```text
//!   submit ──► backlog: foreground and writes, ──► at most `depth` in flight ──► completion
//!                       then read-ahead
//! ```
//!
//! | implementation | a request is in flight in | its completion is called by |
//! | --- | --- | --- |
//! | `uring` | a ring of the kernel (io_uring, Linux 5.6) | the ring's one thread |
//! | `threads` | a thread that reads and writes | that thread |
//! | `at_once` | the submitting thread, which reads or writes | the submitting thread |
//!
//! [`Disk::io_queue`] chooses: files of the operating system are read and written through a ring
//! if the kernel lets the process read through one, and by threads if it does not (it is too old,
//! a sandbox forbids it, the limit of locked memory is used up). A disk in memory does it at once.
//!
//! The memory of a request does not belong to it: the submitter owns it, and leaves it to the
//! request until the completion. So a request can outlive the thread or task that submitted it.
//!
//! Invariants:
//! - IO-QUEUE-1. The completion of a request is called exactly once, whatever happens, and under
//!   no latch of the queue. Neither the kernel nor a thread of the queue accesses the request's
//!   memory after that call has begun.
//! - IO-QUEUE-2. At most `depth` requests are in flight, and at most a quarter of them are writes.
//!   A request that waits in the backlog leaves it after those of its own kind that were submitted
//!   before. One of read-ahead also waits for all foreground requests, and for all writes that may
//!   be in flight; a write for a few foreground requests, while such requests wait.
//! - IO-QUEUE-3. The drop of a queue returns after the last completion has. One exception: if
//!   that completion itself drops the queue, it returns after the drop.
//! - IO-QUEUE-4. In a child of the process that opened the queue, nothing is read and no latch is
//!   taken: requests are refused, and a drop frees nothing.
//!
//! A queue serves requests of read-ahead only while no foreground request waits: it is meant for
//! pages that a thread or task is waiting for, and these are few at any time. Writes of pages make
//! the room into which pages are read, so they neither wait for all reads nor take all the depth.

mod at_once;
mod backlog;
mod in_flight;
mod latched;
mod threads;
mod uring;

use std::{
    fmt,
    ptr::NonNull,
    slice,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, Result};

use crate::File;
pub(crate) use at_once::IoAtOnce;
use backlog::Backlog;
pub use in_flight::ReadsInFlight;
use threads::IoThreads;
use uring::UringQueue;

/// Requests in flight at the same time. Devices serve more, but 64 reads of up to 128 KiB are 8 MiB
/// on their way, and no device needs more than that to be busy.
pub const IO_DEPTH: usize = 64;

/// The implementation that an I/O queue is opened with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum IoQueueChoice {
    /// The kernel, through io_uring, if a read through that succeeds; otherwise threads.
    #[default]
    Auto,
    /// Threads that read and write.
    Threads,
    /// The kernel, through io_uring, or an error.
    Uring,
}

/// The implementation of an I/O queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum IoQueueKind {
    /// The submitting thread reads and writes.
    #[default]
    AtOnce,
    /// Threads that read and write.
    Threads,
    /// The kernel, through io_uring.
    Uring,
}

/// The options of an I/O queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IoQueueOptions {
    /// The implementation. A disk whose files the operating system does not have ignores it.
    pub choice: IoQueueChoice,
    /// Upper bound on the requests in flight, 1 to 4096.
    pub depth: usize,
}

impl Default for IoQueueOptions {
    fn default() -> IoQueueOptions {
        IoQueueOptions { choice: IoQueueChoice::Auto, depth: IO_DEPTH }
    }
}

/// Counters of an I/O queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IoQueueStats {
    /// Reads submitted.
    pub reads: u64,
    /// Reads that are in flight now.
    pub reads_in_flight: usize,
    /// The largest number of reads that were in flight at the same time.
    pub reads_in_flight_max: usize,
    /// The integral of the number of reads in flight over time: the sum of the times for which they
    /// were in flight. Divided by a time, it is the mean number. Zero for a queue that reads at
    /// once.
    pub reads_in_flight_time: Duration,
    /// Writes submitted.
    pub writes: u64,
}

/// The order in which reads leave the backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoPriority {
    /// A thread or task waits for the page now.
    Foreground,
    /// The page will be needed soon.
    ReadAhead,
}

/// Called with the number of bytes read or written, or with the error. The number is less than
/// requested only for a read, and only at the end of the file. It must not wait for another request
/// of the queue.
pub type IoCompletion = Box<dyn FnOnce(Result<usize>) + Send>;

/// A queue of reads and writes.
pub trait IoQueue: Send + Sync {
    /// Accepts requests, and returns without waiting for any of them, unless the implementation
    /// does them at once.
    fn submit(&self, requests: Vec<IoRequest>);

    /// Waits until every request that was submitted before has completed, but no longer than until
    /// the given time, if there is one. Returns true if all have. Must not be called by a
    /// completion.
    fn wait_idle(&self, until: Option<Instant>) -> bool;

    /// Returns the implementation.
    fn kind(&self) -> IoQueueKind;

    /// Returns the counters.
    fn stats(&self) -> IoQueueStats;
}

/// The kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestKind {
    Read(IoPriority),
    Write,
}

/// The kind of a request of read-ahead.
const AHEAD: RequestKind = RequestKind::Read(IoPriority::ReadAhead);

/// A read or a write of one range of a file.
///
/// Invariants:
/// - IO-REQUEST-1. Until the completion is called, `start` points to `len` initialised bytes. For a
///   read, only this request accesses them, except by loads whose result is discarded; for a write,
///   nothing changes them (what [`IoRequest::read`] and [`IoRequest::write`] demand).
/// - IO-REQUEST-2. `completion` is `None` only once it is being called.
pub struct IoRequest {
    kind: RequestKind,
    file: Arc<dyn File>,
    offset: u64,
    start: NonNull<u8>,
    len: usize,
    completion: Option<IoCompletion>,
}

// SAFETY: by IO-REQUEST-1 the memory is the request's alone, whichever thread has the request;
// the other fields are `Send`.
unsafe impl Send for IoRequest {}

impl IoRequest {
    /// A request to fill `memory` from `offset` of the file on.
    ///
    /// # Safety
    /// From now until `completion` is called, `memory` is valid for reads and writes and
    /// initialised, and nothing else accesses it; optimistic readers that discard what they have
    /// read are no access in this sense.
    pub unsafe fn read(
        file: Arc<dyn File>,
        offset: u64,
        memory: NonNull<[u8]>,
        priority: IoPriority,
        completion: IoCompletion,
    ) -> IoRequest {
        let (start, len, completion) = (memory.cast(), memory.len(), Some(completion));
        IoRequest { kind: RequestKind::Read(priority), file, offset, start, len, completion }
    }

    /// A request to write `bytes` at `offset` of the file, like [`File::write_at`].
    ///
    /// # Safety
    /// From now until `completion` is called, `bytes` stay valid for reads, and nothing changes
    /// them.
    pub unsafe fn write(
        file: Arc<dyn File>,
        offset: u64,
        bytes: NonNull<[u8]>,
        completion: IoCompletion,
    ) -> IoRequest {
        let (start, len, completion) = (bytes.cast(), bytes.len(), Some(completion));
        IoRequest { kind: RequestKind::Write, file, offset, start, len, completion }
    }

    /// The offset in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns true if the request writes.
    pub fn is_write(&self) -> bool {
        self.kind == RequestKind::Write
    }

    /// Returns true if the request reads a page that no thread or task waits for yet.
    pub fn is_read_ahead(&self) -> bool {
        self.kind == AHEAD
    }

    /// The memory, as a place and a length.
    fn memory(&self) -> *const [u8] {
        NonNull::slice_from_raw_parts(self.start, self.len).as_ptr()
    }

    /// Reads or writes in the calling thread, and completes the request.
    pub fn perform(mut self) {
        let result = self.perform_rest(0);
        self.complete(result);
    }

    /// Completes the request without a read or write.
    pub fn fail(self, error: Error) {
        self.complete(Err(error));
    }

    /// Reads or writes what follows the first `done` bytes. Returns the number of all bytes.
    fn perform_rest(&mut self, done: usize) -> Result<usize> {
        let (start, len) = (self.start.as_ptr().wrapping_add(done), self.len - done);
        let offset = self.offset + done as u64;
        match self.kind {
            RequestKind::Read(_) => {
                // SAFETY: IO-REQUEST-1, and the exclusive reference to this request is the only
                // one.
                let rest = unsafe { slice::from_raw_parts_mut(start, len) };
                self.file.read_at(rest, offset).map(|read| done + read)
            }
            RequestKind::Write => {
                // SAFETY: IO-REQUEST-1.
                let rest = unsafe { slice::from_raw_parts(start, len) };
                self.file.write_at(rest, offset).map(|()| self.len)
            }
        }
    }

    fn complete(mut self, result: Result<usize>) {
        if let Some(completion) = self.completion.take() {
            completion(result);
        }
    }
}

impl Drop for IoRequest {
    /// Completes a request that no thread will serve, because the one that would panicked.
    fn drop(&mut self) {
        if let Some(completion) = self.completion.take() {
            completion(Err(Error::Closed));
        }
    }
}

impl fmt::Debug for IoRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_write() { "write" } else { "read" };
        write!(f, "IoRequest({verb} {} bytes at {})", self.len, self.offset)
    }
}

/// Opens a queue for files of the operating system. `probe` is one of them, from which a ring reads
/// once; its contents do not matter.
pub(crate) fn open(probe: &dyn File, options: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
    let IoQueueOptions { choice, depth } = *options;
    if choice != IoQueueChoice::Threads {
        match UringQueue::open(probe, depth) {
            Ok(ring) => return Ok(Box::new(ring)),
            Err(error) if choice == IoQueueChoice::Uring => return Err(error),
            // Threads need nothing of what was refused.
            Err(_) => {}
        }
    }
    Ok(Box::new(IoThreads::new(depth)))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
