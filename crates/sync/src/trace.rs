//! A witness of who touches memory that a model cannot see.
//!
//! loom finds data races on its own cells alone. Bytes that are reached through raw pointers, such
//! as the log ring's, have a `Trace` beside them; whoever reads or writes the bytes says so, and
//! loom fails if two such calls are not ordered. For shuttle, which would otherwise never stop
//! between two of them, each call is a place to switch threads. In a normal build a trace is of no
//! size and its calls are nothing.

/// See the module.
#[derive(Default)]
pub struct Trace {
    #[cfg(loom)]
    cell: loom::cell::UnsafeCell<()>,
}

// SAFETY: loom's cell checks each access itself, which is all that it is here for.
#[cfg(loom)]
unsafe impl Sync for Trace {}

impl Trace {
    /// A witness of memory that nobody has touched.
    #[cfg(not(loom))]
    pub const fn new() -> Trace {
        Trace {}
    }

    /// A witness of memory that nobody has touched.
    #[cfg(loom)]
    pub fn new() -> Trace {
        Trace::default()
    }

    /// The memory is read now.
    #[inline(always)]
    pub fn read(&self) {
        #[cfg(shuttle)]
        shuttle::thread::sleep(std::time::Duration::ZERO); // Shuttle's bare switch.
        #[cfg(loom)]
        self.cell.with(|_| ());
    }

    /// The memory is written now.
    #[inline(always)]
    pub fn write(&self) {
        #[cfg(shuttle)]
        shuttle::thread::sleep(std::time::Duration::ZERO); // Shuttle's bare switch.
        #[cfg(loom)]
        self.cell.with_mut(|_| ());
    }
}
