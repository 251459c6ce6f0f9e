//! A pointer to the bytes of one page, and the only ways to access them.
//!
//! Invariants:
//! - PAGE-BYTES-1. The pointer is aligned to 4096 (so to every word), and `PAGE_SIZE` bytes behind
//!   it stay mapped for the life of the pool (REGION-1). Each holder's lifetime is bounded by that
//!   of its pool.
//! - PAGE-BYTES-2. Without a latch the bytes are read only by the relaxed atomic loads of this
//!   file, at aligned addresses inside the page. Values read this way are unreliable until they are
//!   validated.
//! - PAGE-BYTES-3. A `&[u8]` exists only under the shared or the exclusive latch, a `&mut [u8]`
//!   only under the exclusive latch and without any other slice of the page. A request of the read
//!   queue that holds the exclusive latch writes through a pointer instead (LOAD-1).
//!
//! The safety argument of the optimistic path. A writer stores through an ordinary `&mut [u8]`
//! while readers may load the same words. The loads are atomic, relaxed and word by word: they
//! cannot be torn below a word, the compiler may neither repeat nor widen them nor assume that two
//! of them agree, and no Rust reference to the bytes is ever made on this path, so nothing is
//! assumed about them. A racing reader can only get a wrong number. Every number is checked against
//! the page's size before it is used as a position (here), every loop controlled by one is bounded
//! (the caller's duty), and nothing is returned before validation (PAGE-LATCH-5). The writer's
//! stores are plain, which the language still defines as a race; this is the known gap of every
//! sequence lock in Rust and C++ (Boehm, MSPC 2012): compilers do not exploit it, because the
//! stores stay between the latch's compare-and-swap with its `Release` fence and the releasing
//! store.
//!
//! The words are little endian on disk; loads convert, so a big-endian machine reads the same.

use std::{cmp::Ordering as Compare, ptr::NonNull, slice};

use clearway_base::PAGE_SIZE;
use clearway_sync::{
    plain::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering},
    prefetch,
};

/// Bytes of a cache line.
const LINE: usize = 64;

/// A pointer to a page's bytes; see the module's invariants.
#[derive(Clone, Copy)]
pub(crate) struct PageBytes(NonNull<u8>);

impl PageBytes {
    /// # Safety
    /// PAGE-BYTES-1 holds for `start`.
    #[inline]
    pub(crate) unsafe fn new(start: NonNull<u8>) -> PageBytes {
        PageBytes(start)
    }

    /// The first byte.
    pub(crate) fn start(self) -> NonNull<u8> {
        self.0
    }

    /// Prefetches the page's first and last bytes, which its owner is most likely to read first.
    /// Called before a latch is taken, since later loads wait for that atomic step.
    #[inline]
    pub(crate) fn prefetch(self) {
        let start = self.0.as_ptr();
        prefetch(start);
        prefetch(start.wrapping_add(LINE));
        prefetch(start.wrapping_add(PAGE_SIZE - LINE));
    }

    /// # Safety
    /// `at + size_of::<T>() <= PAGE_SIZE`.
    #[inline]
    unsafe fn at<T>(self, at: usize) -> *mut T {
        debug_assert!(at + size_of::<T>() <= PAGE_SIZE);
        // SAFETY: inside the page as the caller guarantees, and the page is one mapping
        // (PAGE-BYTES-1).
        unsafe { self.0.as_ptr().add(at).cast::<T>() }
    }

    /// Word `index` of the page; the caller has checked `index < PAGE_SIZE / 8`.
    ///
    /// # Safety
    /// `index < PAGE_SIZE / 8`.
    #[inline]
    unsafe fn word(self, index: usize) -> u64 {
        // SAFETY: in bounds as the caller guarantees, aligned because the page is (PAGE-BYTES-1),
        // and read atomically (PAGE-BYTES-2).
        u64::from_le(unsafe { AtomicU64::from_ptr(self.at(index * 8)).load(Ordering::Relaxed) })
    }

    /// Eight bytes from any position.
    ///
    /// # Safety
    /// `at <= PAGE_SIZE - 8`.
    #[inline]
    unsafe fn window(self, at: usize) -> u64 {
        let (index, shift) = (at / 8, (at % 8) * 8);
        // SAFETY: `index * 8 <= at <= PAGE_SIZE - 8`.
        let low = unsafe { self.word(index) };
        if shift == 0 {
            return low;
        }
        // SAFETY: `at` is no multiple of 8, so it is at least one below `PAGE_SIZE - 8`, and the
        // word that holds byte `at + 7` is inside.
        let high = unsafe { self.word(index + 1) };
        low >> shift | high << (64 - shift)
    }

    #[inline]
    pub(crate) fn read_u8(self, at: usize) -> u8 {
        if at >= PAGE_SIZE {
            return 0;
        }
        // SAFETY: in bounds, checked above; a byte is always aligned (PAGE-BYTES-2).
        unsafe { AtomicU8::from_ptr(self.at(at)).load(Ordering::Relaxed) }
    }

    #[inline]
    pub(crate) fn read_u16(self, at: usize) -> u16 {
        if at > PAGE_SIZE - 2 {
            return 0;
        }
        if !at.is_multiple_of(2) {
            return u16::from_le_bytes([self.read_u8(at), self.read_u8(at + 1)]);
        }
        // SAFETY: in bounds and aligned, checked above (PAGE-BYTES-2).
        u16::from_le(unsafe { AtomicU16::from_ptr(self.at(at)).load(Ordering::Relaxed) })
    }

    #[inline]
    pub(crate) fn read_u32(self, at: usize) -> u32 {
        if at > PAGE_SIZE - 4 {
            return 0;
        }
        if !at.is_multiple_of(4) {
            let (low, high) = (self.read_u16(at), self.read_u16(at + 2));
            return u32::from(low) | u32::from(high) << 16;
        }
        // SAFETY: in bounds and aligned, checked above (PAGE-BYTES-2).
        u32::from_le(unsafe { AtomicU32::from_ptr(self.at(at)).load(Ordering::Relaxed) })
    }

    #[inline]
    pub(crate) fn read_u64(self, at: usize) -> u64 {
        if at > PAGE_SIZE - 8 {
            return 0;
        }
        // SAFETY: `at <= PAGE_SIZE - 8`, checked above.
        unsafe { self.window(at) }
    }

    /// Copies the bytes from `at` on into `out`; bytes beyond the page become zero.
    pub(crate) fn copy(self, at: usize, out: &mut [u8]) {
        let inside = out.len().min(PAGE_SIZE.saturating_sub(at));
        let (copied, beyond) = out.split_at_mut(inside);
        beyond.fill(0);
        let mut position = at;
        let mut chunks = copied.chunks_exact_mut(8);
        for chunk in &mut chunks {
            // SAFETY: the chunk's 8 bytes are inside the page: `position + 8 <= at + inside`.
            let word = unsafe { self.window(position) };
            chunk.copy_from_slice(&word.to_le_bytes());
            position += 8;
        }
        for byte in chunks.into_remainder() {
            *byte = self.read_u8(position);
            position += 1;
        }
    }

    /// Compares `len` bytes from `at` on, as far as they are inside the page, with `other`.
    pub(crate) fn compare(self, at: usize, len: usize, other: &[u8]) -> Compare {
        let len = len.min(PAGE_SIZE.saturating_sub(at));
        let common = len.min(other.len());
        let mut done = 0;
        while done + 8 <= common {
            // SAFETY: `at + done + 8 <= at + len <= PAGE_SIZE`.
            let ours = unsafe { self.window(at + done) }.swap_bytes();
            let theirs = other[done..done + 8].try_into().expect("8 bytes");
            match ours.cmp(&u64::from_be_bytes(theirs)) {
                Compare::Equal => done += 8,
                unequal => return unequal,
            }
        }
        for (offset, byte) in other[done..common].iter().enumerate() {
            match self.read_u8(at + done + offset).cmp(byte) {
                Compare::Equal => {}
                unequal => return unequal,
            }
        }
        len.cmp(&other.len())
    }

    /// The bytes as a slice.
    ///
    /// # Safety
    /// For as long as `'a` the caller holds the page's latch, shared or exclusive (PAGE-BYTES-3),
    /// and the pool lives.
    #[inline]
    pub(crate) unsafe fn slice<'a>(self) -> &'a [u8] {
        // SAFETY: mapped and of this length (PAGE-BYTES-1); no writer exists during `'a`
        // (PAGE-BYTES-3, PAGE-LATCH-1).
        unsafe { slice::from_raw_parts(self.0.as_ptr(), PAGE_SIZE) }
    }

    /// The bytes as a mutable slice.
    ///
    /// # Safety
    /// For as long as `'a` the caller holds the page's latch exclusively and makes no other slice
    /// of it (PAGE-BYTES-3), and the pool lives.
    #[inline]
    pub(crate) unsafe fn slice_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: mapped and of this length (PAGE-BYTES-1); the only latch holder (PAGE-BYTES-3,
        // PAGE-LATCH-1). Optimistic readers have no references, see the argument at the head of
        // this file.
        unsafe { slice::from_raw_parts_mut(self.0.as_ptr(), PAGE_SIZE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(8192))]
    struct AlignedPage([u8; PAGE_SIZE]);

    fn page() -> Box<AlignedPage> {
        let mut page = Box::new(AlignedPage([0; PAGE_SIZE]));
        let mut state = 1u32;
        for byte in &mut page.0 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        page
    }

    fn bytes(page: &mut AlignedPage) -> PageBytes {
        // SAFETY: the box is aligned, of page size, and outlives the use in each test
        // (PAGE-BYTES-1).
        unsafe { PageBytes::new(NonNull::from(&mut page.0).cast()) }
    }

    #[test]
    fn loads_agree_with_the_slice_at_every_position() {
        let mut page = page();
        let copy = page.0;
        let bytes = bytes(&mut page);
        for at in 0..PAGE_SIZE - 8 {
            let window: [u8; 8] = copy[at..at + 8].try_into().unwrap();
            let all = u64::from_le_bytes(window);
            assert_eq!(bytes.read_u64(at), all);
            assert_eq!(bytes.read_u32(at), all as u32);
            assert_eq!(bytes.read_u16(at), all as u16);
            assert_eq!(bytes.read_u8(at), all as u8);
        }
    }

    #[test]
    fn loads_beyond_the_page_are_zero() {
        let mut page = page();
        let bytes = bytes(&mut page);
        for at in [PAGE_SIZE, PAGE_SIZE + 1, usize::MAX - 3, usize::MAX] {
            let all = (bytes.read_u8(at), bytes.read_u16(at), bytes.read_u32(at));
            assert_eq!((all, bytes.read_u64(at)), ((0, 0, 0), 0));
            let mut out = [9; 5];
            bytes.copy(at, &mut out);
            assert_eq!(out, [0; 5]);
        }
        let at = PAGE_SIZE - 1;
        assert_eq!((bytes.read_u16(at), bytes.read_u32(at), bytes.read_u64(at)), (0, 0, 0));
    }

    #[test]
    fn copies_are_clamped_to_the_page() {
        let mut page = page();
        let copy = page.0;
        let bytes = bytes(&mut page);
        for (at, len) in [(0, 8192), (1, 8191), (3, 40), (8185, 7), (8185, 30), (8000, 500)] {
            let mut out = vec![9; len];
            bytes.copy(at, &mut out);
            let inside = len.min(PAGE_SIZE - at);
            assert_eq!(out[..inside], copy[at..at + inside]);
            assert!(out[inside..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn comparison_agrees_with_slices() {
        let mut page = page();
        let copy = page.0;
        let bytes = bytes(&mut page);
        for (at, len) in [(0, 0), (1, 7), (2, 8), (3, 9), (5, 33), (8190, 2), (8190, 20)] {
            let real = &copy[at..(at + len).min(PAGE_SIZE)];
            let (mut longer, mut greater) = (real.to_vec(), real.to_vec());
            longer.push(0);
            greater.iter_mut().rev().take(1).for_each(|byte| *byte ^= 0x81);
            for other in [real, &longer, &greater, b"", &copy[100..120]] {
                assert_eq!(bytes.compare(at, len, other), real.cmp(other), "{at} {len}");
            }
        }
    }
}
