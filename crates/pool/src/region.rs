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
//! - REGION-3. Memory that was never written, or was given back by [`MappedRegion::give_back`] or
//!   [`MappedRegion::give_back_all`], reads as zero. It never faults (except in a forked child,
//!   which must not touch it), so a reader that lost a race against eviction reads zeros at worst.
//! - REGION-4. Ranges are given back by the process that made the region only: the descriptor of
//!   [`MappedRegion::give_back_all`] denotes that process in a forked child, too.
//!
//! The design follows Leis, Alhomssi, Ziegler, Loeck, Dietrich, "Virtual-Memory Assisted Buffer
//! Management" (SIGMOD 2023), without its kernel module. Ours differs: the dirty state and the
//! clock's reference mark live in the frame beside the state word, not in it, so that a read
//! changes no shared cache line once the mark is set.

use std::{
    ffi::c_void,
    iter,
    ops::Range,
    os::fd::{AsRawFd, OwnedFd},
    ptr,
    ptr::NonNull,
    sync::OnceLock,
};

use clearway_base::{Error, Result};
use clearway_sync::atomic::{AtomicBool, Ordering::Relaxed};
use rustix::{
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap},
    process::{PidfdFlags, getpid, pidfd_open},
};

/// Ranges that one system call gives back.
pub(crate) const RANGES_TOGETHER: usize = 32;

/// A lazily touched mapping.
pub(crate) struct MappedRegion {
    base: NonNull<u8>,
    len: usize,
    /// This process, for advice on several ranges at once, from the first such advice on; `None` if
    /// the system gives no descriptor.
    process: OnceLock<Option<OwnedFd>>,
    /// True once the system has refused such advice.
    is_refused: AtomicBool,
}

// SAFETY: a region is an address range that stays valid for its whole life (REGION-1); the users of
// `base` define how its bytes are accessed, each under its own invariants.
unsafe impl Send for MappedRegion {}
// SAFETY: as for `Send`; the methods below do not access the bytes, except those that give ranges
// back, whose callers own the ranges.
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
        let is_refused = AtomicBool::new(false);
        Ok(MappedRegion { base, len, process: OnceLock::new(), is_refused })
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
        let start = self.start(&(at..at + len));
        // SAFETY: the range is inside the mapping (REGION-1, checked by `start`) and page-aligned.
        let answer = unsafe { madvise(start, len, Advice::LinuxDontNeed) };
        if answer.is_err() {
            // The kernel does not take back locked memory (`mlockall`), but REGION-3 must hold.
            // SAFETY: in range as above, and the caller is the only writer.
            unsafe { start.cast::<u8>().write_bytes(0, len) };
        }
    }

    /// As [`MappedRegion::give_back`], for several ranges. Linux 6.13 and later take back
    /// [`RANGES_TOGETHER`] of them with one system call. From 6.16 on, this call interrupts the
    /// other processors once, and not once for each range: 0.7 µs for each page instead of 16 µs,
    /// measured with 32 pages while another thread ran.
    pub(crate) fn give_back_all(&self, mut ranges: impl Iterator<Item = Range<usize>>) {
        let mut together: [Range<usize>; RANGES_TOGETHER] = std::array::from_fn(|_| 0..0);
        loop {
            let mut count = 0;
            for (place, range) in iter::zip(&mut together, &mut ranges) {
                (*place, count) = (range, count + 1);
            }
            let ranges = &together[..count];
            if count < 2 || !self.give_back_together(ranges) {
                ranges.iter().for_each(|range| self.give_back(range.start, range.len()));
            }
            if count < RANGES_TOGETHER {
                return;
            }
        }
    }

    /// Gives ranges back with one system call. Returns false if some of them may still have their
    /// memory; the caller then gives back each one alone.
    fn give_back_together(&self, ranges: &[Range<usize>]) -> bool {
        // Relaxed: a hint; a thread that does not see the refusal is refused itself.
        if self.is_refused.load(Relaxed) {
            return false;
        }
        let process = self.process.get_or_init(|| pidfd_open(getpid(), PidfdFlags::empty()).ok());
        let Some(process) = process else { return false };
        let none = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        let mut vectors = [none; RANGES_TOGETHER];
        for (vector, range) in iter::zip(&mut vectors, ranges) {
            *vector = libc::iovec { iov_base: self.start(range), iov_len: range.len() };
        }
        // SAFETY: the descriptor denotes this process (REGION-4), and the ranges are inside the
        // mapping (REGION-1, checked by `start`) and page-aligned. The vectors outlive the call.
        let given_back = unsafe {
            let (process, vectors) = (process.as_raw_fd(), vectors.as_ptr());
            let advice = libc::MADV_DONTNEED;
            libc::syscall(libc::SYS_process_madvise, process, vectors, ranges.len(), advice, 0)
        };
        if given_back < 0 {
            self.is_refused.store(true, Relaxed);
        }
        given_back as u64 == ranges.iter().map(|range| range.len() as u64).sum::<u64>()
    }

    /// The address of a range of whole system pages in the mapping.
    fn start(&self, range: &Range<usize>) -> *mut c_void {
        let is_whole = range.start.is_multiple_of(4096) && range.end <= self.len;
        assert!(is_whole, "a range of whole system pages");
        // SAFETY: inside the mapping (REGION-1, checked above).
        unsafe { self.base.as_ptr().add(range.start).cast() }
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

    /// Ranges of one system page and more, in any number and order: they read as zero, and nothing
    /// else does, whether the system takes several at once, refuses that, or gives no descriptor.
    #[test]
    fn ranges_given_back_together_read_as_zero() {
        const PAGES: usize = 200;
        for kind in ["together", "refused", "no descriptor"] {
            let region = MappedRegion::new(PAGES << 13, true).unwrap();
            match kind {
                "together" => {}
                "refused" => {
                    let no_process = std::fs::File::open("/dev/null").unwrap();
                    region.process.set(Some(no_process.into())).unwrap();
                }
                _ => region.process.set(None).unwrap(),
            }
            for count in [0, 1, 2, 3, RANGES_TOGETHER, RANGES_TOGETHER + 1, 2 * RANGES_TOGETHER, 99]
            {
                // SAFETY: inside the mapping (REGION-1), and no other thread has the region.
                let bytes =
                    unsafe { std::slice::from_raw_parts_mut(region.base.as_ptr(), PAGES << 13) };
                bytes.fill(7);
                let pages: Vec<usize> = (0..count).map(|n| (n * 37 + 5) % PAGES).collect();
                let range = |page: &usize| page << 13..(page << 13) + (4096 << (page % 2));
                region.give_back_all(pages.iter().map(range));
                for (at, byte) in bytes.iter().enumerate().step_by(512) {
                    let is_given_back = pages.iter().any(|page| range(page).contains(&at));
                    assert_eq!(*byte == 0, is_given_back, "{kind}, {count} ranges, byte {at}");
                }
            }
            let is_refused = region.is_refused.load(Relaxed);
            match kind {
                "together" if is_refused => eprintln!("SKIPPED: this system takes one at a time"),
                _ => assert_eq!(is_refused, kind == "refused"),
            }
        }
    }

    #[test]
    fn more_than_the_address_space_is_a_clear_error() {
        let error = MappedRegion::new(1 << 56, true).err().unwrap();
        assert!(matches!(error, Error::BadOption { option: "max_bytes", .. }), "{error}");
    }
}
