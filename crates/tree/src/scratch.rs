//! Buffers that operations borrow from their thread, so that the hot path allocates nothing.
//!
//! A buffer keeps its capacity between operations. Borrowing moves it out of the thread's slot, so
//! a nested borrower (an operation inside a context's callback) merely gets an empty one.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// The buffers of one operation.
#[derive(Default)]
pub(crate) struct Buffers {
    /// A log body.
    pub(crate) body: Vec<u8>,
    /// A key put together from prefix and suffix.
    pub(crate) key: Vec<u8>,
    /// A value, or the image of a node.
    pub(crate) value: Vec<u8>,
}

thread_local! {
    static SPARE: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
}

/// Buffers on loan; dropping gives them back to the thread.
pub(crate) struct Scratch(Option<Box<Buffers>>);

impl Scratch {
    /// Borrows the thread's buffers. Their content is whatever was left in them.
    #[inline]
    pub(crate) fn borrow() -> Scratch {
        Scratch(Some(SPARE.take().unwrap_or_default()))
    }
}

impl Drop for Scratch {
    #[inline]
    fn drop(&mut self) {
        SPARE.set(self.0.take());
    }
}

impl Deref for Scratch {
    type Target = Buffers;

    #[inline]
    fn deref(&self) -> &Buffers {
        self.0.as_ref().expect("on loan until dropped")
    }
}

impl DerefMut for Scratch {
    #[inline]
    fn deref_mut(&mut self) -> &mut Buffers {
        self.0.as_mut().expect("on loan until dropped")
    }
}
