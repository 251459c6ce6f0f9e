//! The memory of the ring: one piece of anonymous memory mapped twice in a row.
//!
//! ```text
//! address   base            base + bytes       base + 2 × bytes
//!           ├─ ring ────────┼─ the same ring ──┤
//! ```
//!
//! A range that begins in the first mapping and runs over its end continues in the second, at the
//! ring's own beginning. So no record and no group ever wraps, and a group can be handed to the
//! device as one slice.
//!
//! Invariants:
//! - MAPPING-1. `base .. base + 2 × bytes` stays mapped, readable and writable, from `new` to
//!   `drop`.
//! - MAPPING-2. Address `base + i` and `base + bytes + i` are the same memory, for `i < bytes`.
//! - MAPPING-3. `base` is page aligned and `bytes` is a power of two and a multiple of the page.
//! - MAPPING-4. A forked child has neither mapping: an access there is a fault, not a write into
//!   the log of the parent.

use std::{
    io,
    ptr::{self, NonNull},
};

use clearway_base::{Error, Result};
use clearway_sync::Trace;
use rustix::{
    fs::{MemfdFlags, ftruncate, memfd_create},
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap},
};

/// A doubly mapped piece of memory.
pub(super) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    /// One for each `TRACED_BYTES` of the ring, for the models; nothing otherwise.
    traces: Box<[Trace]>,
}

/// The bytes that one trace covers: the shortest record.
const TRACED_BYTES: usize = 32;

// SAFETY: the mapping is plain memory that belongs to this value alone (MAPPING-1); the ring
// controls access to its parts.
unsafe impl Send for Mapping {}

// SAFETY: as for `Send`; a shared reference gives out addresses only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of zeroed memory twice.
    pub(super) fn new(bytes: usize) -> Result<Mapping> {
        Mapping::map(bytes).map_err(|error| Error::io("map memory for", "log ring", error))
    }

    fn map(bytes: usize) -> io::Result<Mapping> {
        let memory = memfd_create("clearway-log-ring", MemfdFlags::CLOEXEC)?;
        ftruncate(&memory, bytes as u64)?;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing. It reserves
        // the addresses of both halves.
        let base = unsafe {
            mmap_anonymous(ptr::null_mut(), 2 * bytes, ProtFlags::empty(), MapFlags::PRIVATE)?
        };
        // From here on the value's `drop` unmaps both halves if a step fails.
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let traced = if cfg!(loom) { bytes / TRACED_BYTES } else { 0 };
        let traces = (0..traced).map(|_| Trace::new()).collect();
        let mapping = Mapping { base, bytes, traces };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        for half in 0..2 {
            // SAFETY: the fixed address lies in the addresses reserved above, which no other code
            // uses.
            unsafe {
                let address = base.as_ptr().add(half * bytes).cast();
                mmap(address, bytes, access, MapFlags::SHARED | MapFlags::FIXED, &memory, 0)?;
            }
        }
        // A forked child would share the ring with its parent, and could write into its log. It has
        // no use for it (`clearway_sync::Process`), so it does not get it (MAPPING-4).
        // SAFETY: MAPPING-1; the advice changes nothing in this process.
        unsafe { madvise(base.as_ptr().cast(), 2 * bytes, Advice::LinuxDontFork)? };
        Ok(mapping)
    }

    /// The address of position `at` of an endless log, valid for `bytes` bytes (MAPPING-1,
    /// MAPPING-2).
    #[inline]
    pub(super) fn address(&self, at: u64) -> *mut u8 {
        let offset = at as usize & (self.bytes - 1);
        self.base.as_ptr().wrapping_add(offset)
    }

    /// Records for the models that the positions from `start` to `end` are accessed now. A model's
    /// records are multiples of `TRACED_BYTES` long, so that no two of them share a trace.
    #[inline]
    pub(super) fn witness(&self, start: u64, end: u64, touch: impl Fn(&Trace)) {
        if cfg!(shuttle) {
            touch(&Trace::new());
        }
        if cfg!(loom) {
            let first = start as usize / TRACED_BYTES;
            let last = (end as usize - 1) / TRACED_BYTES;
            (first..=last).for_each(|at| touch(&self.traces[at & (self.traces.len() - 1)]));
        }
    }

    /// The size of the ring.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: MAPPING-1, and no reference to the value exists any more. A failure leaks memory
        // and harms nothing else.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), 2 * self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_mappings_show_the_same_memory() {
        let mapping = Mapping::new(4096).unwrap();
        // SAFETY: MAPPING-1; the test is alone with the mapping.
        unsafe {
            mapping.address(4090).copy_from_nonoverlapping(b"0123456789".as_ptr(), 10);
            let tail = std::slice::from_raw_parts(mapping.address(0), 4);
            assert_eq!(tail, b"6789");
        }
    }
}
