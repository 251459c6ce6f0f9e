//! Address space: two large mappings whose memory is allocated when it is first touched.
//!
//! A page's bytes stand at `pages + id × PAGE_SIZE`, its frame at `frames + id × 32`, so no hash
//! table is needed to find a page. Both mappings are anonymous and `NORESERVE`: untouched parts use
//! no memory, and they read as zero.
//!
//! Invariants:
//! - REGION-1. The mapping `base .. base + len` exists, readable and writable, from
//!   [`MappedRegion::new`] to the drop of the region, at one address. No other code maps or unmaps
//!   inside it.
//! - REGION-2. `base` is aligned to 4096, hence to every type that is placed in a region.
//! - REGION-3. Memory that was never written, or was given back by [`MappedRegion::give_back`],
//!   reads as zero. It never faults (except in a forked child, which must not touch it), so a
//!   reader that lost a race against eviction reads zeros at worst.
//!
//! The design follows Leis, Alhomssi, Ziegler, Loeck, Dietrich, "Virtual-Memory Assisted Buffer
//! Management" (SIGMOD 2023), without its kernel module. Ours differs: the dirty state and the
//! clock's reference mark live in the frame beside the state word, not in it, so that a read
//! changes no shared cache line once the mark is set.

use std::{ffi::c_void, ptr, ptr::NonNull};

use clearway_base::{Error, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// A lazily touched mapping.
pub(crate) struct MappedRegion {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a region is an address range that stays valid for its whole life (REGION-1); the users of
// `base` define how its bytes are accessed, each under its own invariants.
unsafe impl Send for MappedRegion {}
// SAFETY: as for `Send`; the methods below do not access the bytes, except `give_back`, whose
// caller owns the range.
unsafe impl Sync for MappedRegion {}

impl MappedRegion {
    /// Maps `len` bytes of zeros. `small_pages` forbids transparent huge pages, which would
    /// allocate 2 MiB at the first touch of any byte.
    pub(crate) fn new(len: usize, small_pages: bool) -> Result<MappedRegion> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a null hint lets the kernel choose a free range; no existing mapping is touched.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), len, protection, flags) }
            .map_err(|errno| map_error(len, errno))?;
        let base = NonNull::new(base.cast::<u8>()).expect("mmap never answers null");
        if small_pages {
            // SAFETY: the range was mapped just now (REGION-1). The advice changes no content.
            // Kernels without transparent huge pages refuse it, which does no harm.
            let _ = unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxNoHugepage) };
        }
        // A forked child may not use the pool. Without the advice it would get a copy of all page
        // tables; and a direct read in progress at the fork could be lost, because the first write
        // to a page after a fork moves the page (`open(2)`, notes on `O_DIRECT`).
        // SAFETY: as above; the advice changes nothing in this process.
        unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxDontFork) }
            .map_err(|errno| map_error(len, errno))?;
        Ok(MappedRegion { base, len })
    }

    /// First byte.
    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Returns the memory of `len` bytes at `at` to the system; they read as zero from now on
    /// (REGION-3). The caller is the only writer of the range; readers may race and see old bytes
    /// or zeros.
    pub(crate) fn give_back(&self, at: usize, len: usize) {
        assert!(at.is_multiple_of(4096) && at + len <= self.len, "a range of whole system pages");
        // SAFETY: the range is inside the mapping (REGION-1, checked above) and page-aligned.
        let answer = unsafe {
            let start = self.base.as_ptr().add(at).cast::<c_void>();
            madvise(start, len, Advice::LinuxDontNeed)
        };
        if answer.is_err() {
            // The kernel does not take back locked memory (`mlockall`), but REGION-3 must hold.
            // SAFETY: in range as above, and the caller is the only writer.
            unsafe { self.base.as_ptr().add(at).write_bytes(0, len) };
        }
    }
}

impl Drop for MappedRegion {
    fn drop(&mut self) {
        // SAFETY: REGION-1: the mapping is ours and of this length; the owner is being dropped, so
        // no pointer into it is used any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

fn map_error(len: usize, errno: rustix::io::Errno) -> Error {
    Error::BadOption {
        option: "max_bytes",
        detail: format!("cannot reserve {len} bytes of address space: {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_given_back_reads_as_zero() {
        let region = MappedRegion::new(1 << 30, true).unwrap();
        let at = 512 << 20;
        let byte = region.base().as_ptr().wrapping_add(at);
        // SAFETY: inside the mapping (REGION-1), and no other thread has the region.
        unsafe {
            assert_eq!(byte.read(), 0);
            byte.write(7);
            region.give_back(at, 8192);
            assert_eq!(byte.read(), 0);
        }
    }

    #[test]
    fn more_than_the_address_space_is_a_clear_error() {
        let error = MappedRegion::new(1 << 56, true).err().unwrap();
        assert!(matches!(error, Error::BadOption { option: "max_bytes", .. }), "{error}");
    }
}
