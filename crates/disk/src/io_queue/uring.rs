//! A queue whose requests the kernel performs through a ring (io_uring).
//!
//! ```text
//!   submitting thread        kernel             the ring's thread
//!   pushes, enters   ──►  does it, posts ──►    takes entries, pushes what waits, completes
//! ```
//!
//! The kernel says what became of a request in an entry of the completion queue. Only a read or
//! write of all bytes, or an error of the device, is final there. A short one, a call that was
//! interrupted or cancelled (the kernel may cancel what a thread submitted that has ended), and a
//! direct one that the file system refuses are finished by [`File::read_at`](crate::File::read_at)
//! or [`File::write_at`](crate::File::write_at), which handle each of them (DISK-1).
//!
//! Invariants:
//! - URING-1. A request whose entry was pushed stands in `in_kernel` under the entry's token until
//!   its completion entry was taken. So its memory and its file's descriptor stay valid for as long
//!   as the kernel uses them.
//! - URING-2. Entries are pushed only under the backlog's latch, and every one is taken by the
//!   kernel before the latch is released, or never: a ring that refuses one for good is lost, and
//!   is not entered with entries again.
//! - URING-3. Only the ring's thread takes completion entries. Their queue has room for twice
//!   `depth` entries, so it never overflows.
//! - URING-4. A forked child has no mapping of the ring (`MADV_DONTFORK`), and never unmaps one;
//!   the kernel opens a ring's descriptor close-on-exec.
//!
//! Memory order. The pushing thread releases the request to the ring's thread with the backlog's
//! latch. The bytes that the kernel wrote are acquired with the completion entry: the kernel
//! releases the queue's tail after it has written them, and `io_uring` loads the tail with
//! `Acquire`.
//!
//! Latch order: the backlog's latch is held for a few instructions and one system call that does
//! not wait; only while the kernel has no memory for the call is it repeated, with pauses. No file
//! is read or written and no completion called under it (IO-QUEUE-1).
//!
//! A submitting thread, which may run a step of an operation, blocks in two cases: in these pauses,
//! and if the ring is lost or a file cannot be read through it. Then the thread reads itself. (A
//! thread that submits writes runs no step.)
//!
//! Nothing is used that is newer than Linux 5.6.

use std::{io, os::fd::AsRawFd, sync::Arc, time::Duration, time::Instant};

use clearway_base::{Error, Result};
use clearway_sync::{
    invariant, step,
    thread::{self, JoinHandle},
};
use io_uring::{EnterFlags, IoUring, opcode, types};
use rustix::io::Errno;

use super::latched::{IoState, LatchedBacklog};
use super::{IoQueue, IoQueueKind, IoQueueStats, IoRequest};
use crate::{AlignedBuf, File, IO_ALIGNMENT};

/// The token of the entry that wakes the ring's thread.
const WAKE: u64 = u64::MAX;
/// Pause before a call is repeated for which the kernel had no memory.
const PAUSE: Duration = Duration::from_millis(1);

/// Reads and writes by the kernel.
pub(crate) struct UringQueue {
    shared: Arc<UringShared>,
    thread: Option<JoinHandle<()>>,
}

struct UringShared {
    ring: IoUring,
    latched: LatchedBacklog<UringState>,
}

struct UringState {
    /// The requests that the kernel has, by token (URING-1).
    in_kernel: Vec<Option<IoRequest>>,
    /// The tokens not in use.
    free: Vec<usize>,
    /// URING-2.
    is_lost: bool,
}

impl UringQueue {
    /// Opens a ring and reads from `probe` through it.
    ///
    /// # Errors
    /// The kernel's, if it refuses the ring or the read.
    pub(super) fn open(probe: &dyn File, depth: usize) -> Result<UringQueue> {
        let failed = |error| Error::io("open an I/O queue for", probe.path(), error);
        #[cfg(all(test, not(any(loom, shuttle))))]
        if super::tests::NO_RING.get() {
            return Err(failed(Errno::NOSYS.into()));
        }
        let mut builder = IoUring::builder();
        builder.dontfork(); // URING-4
        let entries = u32::try_from(depth.next_power_of_two()).unwrap_or(u32::MAX);
        let mut ring = builder.build(entries).map_err(failed)?;
        read_once(&mut ring, probe).map_err(failed)?;
        let state = UringState {
            in_kernel: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            is_lost: false,
        };
        let shared = Arc::new(UringShared { ring, latched: LatchedBacklog::new(depth, state) });
        let reaping = shared.clone();
        let builder = thread::Builder::new().name("clearway-io".into());
        let thread = builder.spawn(move || reaping.reap()).map_err(failed)?;
        Ok(UringQueue { shared, thread: Some(thread) })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl UringQueue {
    /// Lets the ring's descriptor refer to another file.
    pub(super) fn lose_ring(&self) {
        use std::os::fd::{FromRawFd, OwnedFd};
        let other = std::fs::File::open("/dev/null").unwrap();
        // SAFETY: the descriptor is open, and stays the ring's: it is not dropped here.
        let ring = unsafe { OwnedFd::from_raw_fd(self.shared.ring.as_raw_fd()) };
        let mut ring = std::mem::ManuallyDrop::new(ring);
        rustix::io::dup2(&other, &mut ring).unwrap();
    }
}

/// Reads the first bytes of a file through a ring, and waits for them.
fn read_once(ring: &mut IoUring, file: &dyn File) -> io::Result<()> {
    let mut memory = AlignedBuf::new(IO_ALIGNMENT);
    let descriptor = file.io_descriptor(&raw const *memory, 0).ok_or(io::ErrorKind::Unsupported)?;
    let descriptor = types::Fd(descriptor.as_raw_fd());
    let entry =
        opcode::Read::new(descriptor, memory.as_mut_ptr(), IO_ALIGNMENT as u32).offset(0).build();
    // SAFETY: as URING-1 demands: this function returns only after the completion entry, or leaks
    // the memory; and the caller's reference keeps the file open.
    unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                std::mem::forget(memory);
                return Err(error);
            }
            _ => {}
        }
        if let Some(done) = ring.completion().next() {
            let refused = || io::Error::from_raw_os_error(-done.result());
            return if done.result() < 0 { Err(refused()) } else { Ok(()) };
        }
    }
}

impl IoQueue for UringQueue {
    fn submit(&self, requests: Vec<IoRequest>) {
        let Some(mut state) = self.shared.latched.add(requests) else { return };
        let others = self.shared.fill(&mut state);
        drop(state);
        self.shared.perform_here(others);
    }

    fn wait_idle(&self, until: Option<Instant>) -> bool {
        self.shared.latched.wait_idle(until)
    }

    fn kind(&self) -> IoQueueKind {
        IoQueueKind::Uring
    }

    fn stats(&self) -> IoQueueStats {
        self.shared.latched.stats()
    }
}

impl UringShared {
    /// Gives the kernel requests from the backlog, up to the depth. Returns those that cannot go
    /// through the ring: the caller performs them, without the latch.
    fn fill(&self, state: &mut IoState<UringState>) -> Vec<IoRequest> {
        let (mut others, mut pushed) = (Vec::new(), Vec::new());
        while let Some(request) = state.backlog.take() {
            match self.push(&mut state.own, request) {
                Ok(token) => pushed.push(token),
                Err(request) => others.push(request),
            }
        }
        // The kernel takes entries in the order in which they were pushed.
        let refused = self.enter(&mut state.own);
        for token in pushed.into_iter().rev().take(refused) {
            others.extend(state.own.taken_back(token));
        }
        others
    }

    /// Pushes an entry for the request and returns its token, or returns the request.
    fn push(&self, state: &mut UringState, request: IoRequest) -> Result<usize, IoRequest> {
        let len = u32::try_from(request.len);
        let descriptor = request.file.io_descriptor(request.memory(), request.offset);
        let (Some(descriptor), Ok(len), false) = (descriptor, len, state.is_lost) else {
            return Err(request);
        };
        let Some(token) = state.free.pop() else { return Err(request) };
        let descriptor = types::Fd(descriptor.as_raw_fd());
        let (start, offset) = (request.start.as_ptr(), request.offset);
        let entry = match request.is_write() {
            false => opcode::Read::new(descriptor, start, len).offset(offset).build(),
            true => opcode::Write::new(descriptor, start, len).offset(offset).build(),
        };
        let entry = entry.user_data(token as u64);
        // SAFETY: the mutable state shows that the backlog's latch is held, so there is no other
        // view of the submission queue (URING-2). The request keeps memory and descriptor valid
        // (URING-1, IO-REQUEST-1).
        if unsafe { self.ring.submission_shared().push(&entry) }.is_err() {
            state.free.push(token);
            return Err(request);
        }
        state.in_kernel[token] = Some(request);
        Ok(token)
    }

    /// Lets the kernel take the pushed entries. Returns the number of those that it refuses for
    /// good (URING-2).
    fn enter(&self, state: &mut UringState) -> usize {
        loop {
            // SAFETY: as in `push`.
            let left = unsafe { self.ring.submission_shared() }.len();
            if left == 0 || state.is_lost {
                return left;
            }
            match self.ring.submit() {
                Ok(_) => {}
                Err(error) if is_passing(&error) => {
                    let _may_block = step::Except::begin();
                    thread::sleep(PAUSE);
                }
                Err(_) => state.is_lost = true,
            }
        }
    }

    /// Performs requests in the calling thread, and then those that could not enter the ring for
    /// them.
    fn perform_here(&self, mut others: Vec<IoRequest>) {
        while !others.is_empty() {
            let _may_block = step::Except::begin();
            for mut request in others {
                let result = request.perform_rest(0);
                self.latched.arrived(&request);
                request.complete(result);
                self.completed(1);
            }
            others = self.fill(&mut self.latched.lock());
        }
    }

    /// Notes that completions have returned. Returns true if no request is left, and none will
    /// come.
    fn completed(&self, count: usize) -> bool {
        let state = self.latched.completed(count);
        state.backlog.is_idle() && state.is_dropped
    }

    /// The main loop of the ring's thread. It ends when the queue is dropped and no request is
    /// left.
    fn reap(&self) {
        loop {
            self.wait_for_entries();
            let mut entries = Vec::new();
            // SAFETY: only this thread views the completion queue (URING-3).
            for entry in unsafe { self.ring.completion_shared() } {
                if entry.user_data() != WAKE {
                    entries.push((entry.user_data() as usize, entry.result()));
                }
            }
            let mut state = self.latched.lock();
            let arrived: Vec<(IoRequest, i32)> = entries
                .into_iter()
                .filter_map(|(token, result)| Some((state.own.taken_back(token)?, result)))
                .collect();
            let count = arrived.len();
            arrived.iter().for_each(|(request, _)| state.backlog.arrived(request));
            // First what waits, so that the device is busy while completions run.
            let others = self.fill(&mut state);
            drop(state);
            arrived.into_iter().for_each(|(request, result)| finish(request, result));
            self.perform_here(others);
            if self.completed(count) {
                return;
            }
        }
    }

    fn wait_for_entries(&self) {
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: the call passes no argument and submits nothing.
        let waited = unsafe { self.ring.submitter().enter::<()>(0, 1, flags, None) };
        if waited.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            // The entries of a lost ring can be seen without the kernel.
            thread::sleep(PAUSE);
        }
    }

    /// Ends the ring's thread. Returns false if it may sleep for ever, because the ring is lost.
    fn stop(&self) -> bool {
        let mut state = self.latched.lock();
        state.is_dropped = true;
        let entry = opcode::Nop::new().build().user_data(WAKE);
        // SAFETY: as in `push`; the entry refers to no memory.
        let is_pushed = unsafe { self.ring.submission_shared().push(&entry) }.is_ok();
        is_pushed && self.enter(&mut state.own) == 0
    }
}

impl UringState {
    /// Takes a request that the kernel does not have any more.
    fn taken_back(&mut self, token: usize) -> Option<IoRequest> {
        let request = self.in_kernel.get_mut(token).and_then(Option::take);
        invariant(request.is_some(), "URING-1: a completion entry is of a request");
        if request.is_some() {
            self.free.push(token);
        }
        request
    }
}

/// Completes a request with what the kernel says of it.
fn finish(mut request: IoRequest, result: i32) {
    let outcome = match usize::try_from(result) {
        Ok(done) if done >= request.len => Ok(request.len),
        Ok(done) => request.perform_rest(done),
        Err(_) => match Errno::from_raw_os_error(-result) {
            Errno::INTR | Errno::AGAIN | Errno::CANCELED | Errno::INVAL | Errno::OPNOTSUPP => {
                request.perform_rest(0)
            }
            errno => {
                let operation = if request.is_write() { "write" } else { "read" };
                Err(Error::io(operation, request.file.path(), errno.into()))
            }
        },
    };
    request.complete(outcome);
}

/// Returns true if the same call can succeed later.
fn is_passing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::INTR | Errno::AGAIN | Errno::BUSY | Errno::NOMEM))
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if !self.shared.latched.is_in_its_process() {
            // URING-4: the mappings are not there, and their addresses may be in use.
            std::mem::forget((self.shared.clone(), thread));
            return;
        }
        let is_own = thread.thread().id() == thread::current().id();
        if !is_own {
            self.wait_idle(None); // IO-QUEUE-3
        }
        if self.shared.stop() && !is_own {
            let _ = thread.join();
        }
    }
}
