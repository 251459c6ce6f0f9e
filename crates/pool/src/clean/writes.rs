//! Several writes of a file at the same time, through the disk's queue. A device completes them in
//! little more than the time of one.
//!
//! Invariants:
//! - WRITES-1. The bytes of a write stay borrowed until it has completed: the thread that submits
//!   writes waits for all of them, even if it panics.

use std::{ptr::NonNull, sync::Arc};

use clearway_base::{
    Result,
    failpoint::{self, Failpoint},
};
use clearway_disk::{File, IoQueue, IoRequest};
use clearway_sync::{Condvar, Mutex};

/// Writes each of `parts`, bytes and their place in the file, and returns when all have ended.
///
/// # Errors
/// That of a write that failed; the others may have taken place or not.
pub(super) fn write_together<'b>(
    queue: &dyn IoQueue,
    file: &Arc<dyn File>,
    parts: impl Iterator<Item = (u64, &'b [u8])>,
) -> Result<()> {
    let unfinished = Unfinished::default();
    // Dropped before `unfinished` if this panics, which ends those that were not submitted.
    let requests: Vec<_> =
        parts.map(|(offset, bytes)| unfinished.request(file, offset, bytes)).collect();
    queue.submit(requests);
    unfinished.wait()
}

/// The writes that have not completed. Its drop waits for them (WRITES-1).
#[derive(Default)]
struct Unfinished(Arc<UnfinishedShared>);

#[derive(Default)]
struct UnfinishedShared {
    state: Mutex<UnfinishedState>,
    all_ended: Condvar,
}

struct UnfinishedState {
    left: usize,
    /// The first error, if there was one.
    result: Result<()>,
}

impl Default for UnfinishedState {
    fn default() -> UnfinishedState {
        UnfinishedState { left: 0, result: Ok(()) }
    }
}

impl Unfinished {
    /// A request to write `bytes`, which the caller keeps borrowed as long as `self` exists.
    fn request(&self, file: &Arc<dyn File>, offset: u64, bytes: &[u8]) -> IoRequest {
        self.0.state.lock().left += 1;
        let shared = self.0.clone();
        let completion = move |result: Result<usize>| {
            failpoint::pass(Failpoint::PagesHalfWritten);
            shared.ended(result.map(drop));
        };
        // SAFETY: WRITES-1: `write_together` holds the borrow, and `self`, whose drop waits.
        unsafe {
            IoRequest::write(file.clone(), offset, NonNull::from(bytes), Box::new(completion))
        }
    }

    /// Waits for all, and returns the first error.
    fn wait(&self) -> Result<()> {
        let mut state = self.0.state.lock();
        while state.left > 0 {
            self.0.all_ended.wait(&mut state);
        }
        state.result.clone()
    }
}

impl UnfinishedShared {
    fn ended(&self, result: Result<()>) {
        let mut state = self.state.lock();
        state.left -= 1;
        if state.result.is_ok() {
            state.result = result;
        }
        if state.left == 0 {
            self.all_ended.notify_all();
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}
