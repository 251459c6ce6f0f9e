//! A witness of accesses to memory that a model cannot see.
//!
//! loom finds data races only on its own cells. Bytes that are accessed through raw pointers, such
//! as the log ring's, have a `Trace` beside them; a thread that reads or writes the bytes reports
//! it to the trace, and loom fails if two such calls are not ordered. For shuttle, which would
//! otherwise never switch threads between two of them, each call is a point to do so. In a normal
//! build a trace has no size and its calls do nothing.

/// A trace; see the module.
#[derive(Default)]
pub struct Trace {
    #[cfg(loom)]
    cell: loom::cell::UnsafeCell<()>,
}

// SAFETY: loom's cell checks each access itself, which is all that it is here for.
#[cfg(loom)]
unsafe impl Sync for Trace {}

impl Trace {
    /// Creates a witness of memory that no thread has accessed.
    #[cfg(not(loom))]
    pub const fn new() -> Trace {
        Trace {}
    }

    /// Creates a witness of memory that no thread has accessed.
    #[cfg(loom)]
    pub fn new() -> Trace {
        Trace::default()
    }

    /// Records that the memory is read now.
    #[inline(always)]
    pub fn read(&self) {
        #[cfg(shuttle)]
        shuttle::thread::sleep(std::time::Duration::ZERO); // Shuttle's bare switch.
        #[cfg(loom)]
        self.cell.with(|_| ());
    }

    /// Records that the memory is written now.
    #[inline(always)]
    pub fn write(&self) {
        #[cfg(shuttle)]
        shuttle::thread::sleep(std::time::Duration::ZERO); // Shuttle's bare switch.
        #[cfg(loom)]
        self.cell.with_mut(|_| ());
    }
}
