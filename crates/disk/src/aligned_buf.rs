//! Heap memory aligned for direct I/O.
//!
//! Invariants:
//! - ALIGNED-1. `start` points to at least `len` initialised bytes, allocated with `layout(len)`
//!   and owned by this buffer alone until it is dropped.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    fmt,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

/// The alignment of address, length and offset with which direct I/O works on every device: the
/// largest logical block size in use.
pub const IO_ALIGNMENT: usize = 4096;

/// A fixed-size heap buffer whose address is a multiple of [`IO_ALIGNMENT`].
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: by ALIGNED-1 the bytes belong to this buffer alone, as in a `Box<[u8]>`.
unsafe impl Send for AlignedBuf {}

// SAFETY: by ALIGNED-1, and a shared reference gives only shared access to the bytes.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// A buffer of `len` zeros.
    pub fn new(len: usize) -> AlignedBuf {
        let layout = Self::layout(len);
        // SAFETY: `layout` rounds up to at least one unit, so its size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        AlignedBuf { start, len }
    }

    /// A buffer with a copy of `bytes`.
    pub fn from_slice(bytes: &[u8]) -> AlignedBuf {
        let mut buf = AlignedBuf::new(bytes.len());
        buf.copy_from_slice(bytes);
        buf
    }

    fn layout(len: usize) -> Layout {
        let size = len.max(1).checked_next_multiple_of(IO_ALIGNMENT);
        size.and_then(|size| Layout::from_size_align(size, IO_ALIGNMENT).ok())
            .expect("a buffer fits the address space")
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        // SAFETY: ALIGNED-1, and no code can use the buffer after `drop`.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: ALIGNED-1.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: ALIGNED-1, and the buffer is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_of_the_requested_length() {
        for len in [0, 1, 511, 4096, 4097, 1 << 20] {
            let mut buf = AlignedBuf::new(len);
            assert_eq!(buf.as_ptr() as usize % IO_ALIGNMENT, 0);
            assert_eq!(buf.len(), len);
            assert!(buf.iter().all(|&byte| byte == 0));
            buf.fill(7);
        }
        assert_eq!(&*AlignedBuf::from_slice(b"copied"), b"copied");
    }
}
