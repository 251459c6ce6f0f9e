//! Reads that no thread waits in: requests enter a queue, several are in flight at the same time,
//! and the completion of each is called with its result.
//!
//! ```text
//!   submit ──► backlog: foreground, then read-ahead ──► at most `depth` in flight ──► completion
//! ```
//!
//! | implementation | a request is in flight in | its completion is called by |
//! | --- | --- | --- |
//! | `uring` | a ring of the kernel (io_uring, Linux 5.6) | the ring's one thread |
//! | `threads` | a thread that reads | that thread |
//! | `at_once` | the submitting thread, which reads | the submitting thread |
//!
//! [`Disk::read_queue`] chooses: files of the operating system are read through a ring if the
//! kernel lets the process read through one, and by threads if it does not (it is too old, a
//! sandbox forbids it, the limit of locked memory is used up). A disk in memory reads at once.
//!
//! The memory that a request fills does not belong to it: the submitter owns it, and leaves it to
//! the request until the completion. So a request can outlive the thread or task that submitted it.
//!
//! Invariants:
//! - READ-QUEUE-1. The completion of a request is called exactly once, whatever happens, and under
//!   no latch of the queue. Neither the kernel nor a thread of the queue accesses the request's
//!   memory after that call has begun.
//! - READ-QUEUE-2. At most `depth` requests are in flight. A request that waits in the backlog
//!   leaves it after all foreground requests, if it is one of read-ahead, and after those of its
//!   own priority that were submitted before.
//! - READ-QUEUE-3. The drop of a queue returns after the last completion has. One exception: if
//!   that completion itself drops the queue, it returns after the drop.
//! - READ-QUEUE-4. In a child of the process that opened the queue, nothing is read and no latch is
//!   taken: requests are refused, and a drop frees nothing.
//!
//! A queue serves requests of read-ahead only while no foreground request waits: it is meant for
//! pages that a thread or task is waiting for, and these are few at any time.

mod at_once;
mod backlog;
mod threads;
mod uring;

use std::{fmt, ptr::NonNull, slice, sync::Arc, time::Instant};

use clearway_base::{Error, Result};

use crate::File;
pub(crate) use at_once::ReadsAtOnce;
use backlog::Backlog;
use threads::ReaderThreads;
use uring::UringReads;

/// Requests in flight at the same time. Devices serve more, but 64 reads of up to 128 KiB are 8 MiB
/// on their way, and no device needs more than that to be busy.
pub const READ_DEPTH: usize = 64;

/// The implementation that a read queue is opened with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadQueueChoice {
    /// The kernel, through io_uring, if a read through that succeeds; otherwise threads.
    #[default]
    Auto,
    /// Threads that read.
    Threads,
    /// The kernel, through io_uring, or an error.
    Uring,
}

/// The implementation of a read queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadQueueKind {
    /// The submitting thread reads.
    #[default]
    AtOnce,
    /// Threads that read.
    Threads,
    /// The kernel, through io_uring.
    Uring,
}

/// The options of a read queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadQueueOptions {
    /// The implementation. A disk whose files the operating system does not have ignores it.
    pub choice: ReadQueueChoice,
    /// Upper bound on the requests in flight, 1 to 4096.
    pub depth: usize,
}

impl Default for ReadQueueOptions {
    fn default() -> ReadQueueOptions {
        ReadQueueOptions { choice: ReadQueueChoice::Auto, depth: READ_DEPTH }
    }
}

/// Counters of a read queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadQueueStats {
    /// Requests submitted.
    pub requests: u64,
    /// Requests that are in flight now.
    pub in_flight: usize,
    /// The largest number of requests that were in flight at the same time.
    pub in_flight_max: usize,
}

/// The order in which requests leave the backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadPriority {
    /// A thread or task waits for the page now.
    Foreground,
    /// The page will be needed soon.
    ReadAhead,
}

/// Called with the number of bytes read, which is less than requested only at the end of the file,
/// or with the error. It must not wait for another request of the queue.
pub type ReadCompletion = Box<dyn FnOnce(Result<usize>) + Send>;

/// A queue of reads.
pub trait ReadQueue: Send + Sync {
    /// Accepts requests, and returns without waiting for any of them, unless the implementation
    /// reads at once.
    fn submit(&self, requests: Vec<ReadRequest>);

    /// Waits until every request that was submitted before has completed, but no longer than until
    /// the given time, if there is one. Returns true if all have. Must not be called by a
    /// completion.
    fn wait_idle(&self, until: Option<Instant>) -> bool;

    /// Returns the implementation.
    fn kind(&self) -> ReadQueueKind;

    /// Returns the counters.
    fn stats(&self) -> ReadQueueStats;
}

/// A read of one range of a file.
///
/// Invariants:
/// - READ-REQUEST-1. Until the completion is called, `start` points to `len` initialised bytes that
///   only this request accesses, except by loads whose result is discarded (what
///   [`ReadRequest::new`] demands).
/// - READ-REQUEST-2. `completion` is `None` only once it is being called.
pub struct ReadRequest {
    file: Arc<dyn File>,
    offset: u64,
    start: NonNull<u8>,
    len: usize,
    priority: ReadPriority,
    completion: Option<ReadCompletion>,
}

// SAFETY: by READ-REQUEST-1 the memory is the request's alone, whichever thread has the request;
// the other fields are `Send`.
unsafe impl Send for ReadRequest {}

impl ReadRequest {
    /// A request to fill `memory` from `offset` of the file on.
    ///
    /// # Safety
    /// From now until `completion` is called, `memory` is valid for reads and writes and
    /// initialised, and nothing else accesses it; optimistic readers that discard what they have
    /// read are no access in this sense.
    pub unsafe fn new(
        file: Arc<dyn File>,
        offset: u64,
        memory: NonNull<[u8]>,
        priority: ReadPriority,
        completion: ReadCompletion,
    ) -> ReadRequest {
        let (start, len, completion) = (memory.cast(), memory.len(), Some(completion));
        ReadRequest { file, offset, start, len, priority, completion }
    }

    /// The offset in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The order in which the request leaves the backlog.
    pub fn priority(&self) -> ReadPriority {
        self.priority
    }

    /// The memory, as a place and a length.
    fn memory(&self) -> *const [u8] {
        NonNull::slice_from_raw_parts(self.start, self.len).as_ptr()
    }

    /// Reads in the calling thread, and completes the request.
    pub fn read(mut self) {
        let result = self.read_rest(0);
        self.complete(result);
    }

    /// Completes the request without a read.
    pub fn fail(self, error: Error) {
        self.complete(Err(error));
    }

    /// Reads what follows the first `done` bytes. Returns the number of all bytes read.
    fn read_rest(&mut self, done: usize) -> Result<usize> {
        // SAFETY: READ-REQUEST-1, and the exclusive reference to this request is the only one.
        let rest = unsafe {
            slice::from_raw_parts_mut(self.start.as_ptr().wrapping_add(done), self.len - done)
        };
        self.file.read_at(rest, self.offset + done as u64).map(|read| done + read)
    }

    fn complete(mut self, result: Result<usize>) {
        if let Some(completion) = self.completion.take() {
            completion(result);
        }
    }
}

impl Drop for ReadRequest {
    /// Completes a request that no thread will serve, because the one that would panicked.
    fn drop(&mut self) {
        if let Some(completion) = self.completion.take() {
            completion(Err(Error::Closed));
        }
    }
}

impl fmt::Debug for ReadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadRequest({} bytes at {})", self.len, self.offset)
    }
}

/// Opens a queue for files of the operating system. `probe` is one of them, from which a ring reads
/// once; its contents do not matter.
pub(crate) fn open(probe: &dyn File, options: &ReadQueueOptions) -> Result<Box<dyn ReadQueue>> {
    let ReadQueueOptions { choice, depth } = *options;
    if choice != ReadQueueChoice::Threads {
        match UringReads::open(probe, depth) {
            Ok(ring) => return Ok(Box::new(ring)),
            Err(error) if choice == ReadQueueChoice::Uring => return Err(error),
            // Threads need nothing of what was refused.
            Err(_) => {}
        }
    }
    Ok(Box::new(ReaderThreads::new(depth)))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
