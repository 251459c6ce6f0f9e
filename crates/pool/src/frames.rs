//! Where frames stand: by page id, in zeroed memory that appears when it is first touched.
//!
//! Invariant:
//! - A2. Zeroed memory is a valid [`Frame`]: all its fields are atomic integers.
//!
//! A model's atomics are no plain integers, so zeroed memory is none of them (A2 fails) and they
//! are larger. There each frame is made when it is first asked for.

use clearway_base::Result;

use crate::frame::Frame;
#[cfg(not(any(loom, shuttle)))]
use crate::region::Region;

/// One frame for each page id.
#[cfg(not(any(loom, shuttle)))]
pub(crate) struct Frames(Region);

#[cfg(not(any(loom, shuttle)))]
impl Frames {
    /// Frames of the pages `0 .. count`.
    pub(crate) fn new(count: usize) -> Result<Frames> {
        Region::new(count * size_of::<Frame>(), false).map(Frames)
    }

    /// The frame of a page.
    ///
    /// # Safety
    /// `index` is less than the count.
    #[inline]
    pub(crate) unsafe fn at(&self, index: usize) -> &Frame {
        // SAFETY: in range by the caller's word, aligned by R2, valid by A2, mapped as long as
        // `self` (R1); all fields are atomic, so sharing it is sound.
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
    /// None is needed here; the real one's signature.
    pub(crate) unsafe fn at(&self, index: usize) -> &Frame {
        // Making one is no step of the model, so nobody else runs in between.
        self.0[index].get_or_init(|| Box::new(Frame::new()))
    }
}
