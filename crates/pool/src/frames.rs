//! Storage of frames: by page id, in zeroed memory that is allocated when it is first touched.
//!
//! Invariant:
//! - FRAMES-1. Zeroed memory is a valid [`Frame`]: all its fields are atomic integers.
//!
//! The atomics of a model checker are larger and are not plain integers, so zeroed memory is not a
//! valid frame (FRAMES-1 fails). Under a model each frame is created at its first use.

use clearway_base::Result;

use crate::frame::Frame;
#[cfg(not(any(loom, shuttle)))]
use crate::region::MappedRegion;

/// One frame for each page id.
#[cfg(not(any(loom, shuttle)))]
pub(crate) struct Frames(MappedRegion);

#[cfg(not(any(loom, shuttle)))]
impl Frames {
    /// Frames of the pages `0 .. count`.
    pub(crate) fn new(count: usize) -> Result<Frames> {
        MappedRegion::new(count * size_of::<Frame>(), false).map(Frames)
    }

    /// The frame of a page.
    ///
    /// # Safety
    /// `index` is less than the count.
    #[inline]
    pub(crate) unsafe fn at(&self, index: usize) -> &Frame {
        // SAFETY: in range by the caller's word, aligned by REGION-2, valid by FRAMES-1, mapped as
        // long as `self` (REGION-1); all fields are atomic, so sharing it is sound.
        unsafe { &*self.0.base().as_ptr().cast::<Frame>().add(index) }
    }
}

/// One frame for each page id, made at its first use.
#[cfg(any(loom, shuttle))]
pub(crate) struct Frames(Box<[std::sync::OnceLock<Box<Frame>>]>);

#[cfg(any(loom, shuttle))]
impl Frames {
    /// Frames of the pages `0 .. count`.
    pub(crate) fn new(count: usize) -> Result<Frames> {
        Ok(Frames((0..count).map(|_| std::sync::OnceLock::new()).collect()))
    }

    /// The frame of a page.
    ///
    /// # Safety
    /// None is needed here; the signature matches the real one.
    pub(crate) unsafe fn at(&self, index: usize) -> &Frame {
        // Creating a frame is not a step of the model, so no other thread runs in between.
        self.0[index].get_or_init(|| Box::new(Frame::new()))
    }
}
