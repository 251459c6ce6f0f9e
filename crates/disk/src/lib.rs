//! Directories and files behind two traits: those of the operating system, and those in memory.
//!
//! All I/O of the engine goes through [`Disk`] (one database directory) and [`File`] (one file in
//! it). Nothing above this crate knows which disk it runs on, and no other crate of the engine
//! names `std::fs`.
//!
//! | disk | what it is for |
//! | --- | --- |
//! | [`OsDisk`] | a directory of the operating system, direct I/O where the file system allows it |
//! | [`MemoryDisk`] | tests and databases that need not outlive the process; crash images |
//!
//! Disks that delay, fail or crash on purpose are in the crate `clearway-testkit`.
//!
//! [`pack`] and [`unpack`] turn a directory into one string of bytes and back.
//!
//! Pages that no thread waits for are read through a queue ([`Disk::io_queue`]): by the kernel,
//! by threads, or at once.
//!
//! Guarantees of every disk:
//!
//! - DISK-1. The disk itself completes interrupted and short operations; a caller never sees them.
//!   Only a system call that signals interrupt 1,000 times, or that the kernel asks to repeat more
//!   than 10,000 times, is an error.
//! - DISK-2. After `sync_data`, `sync_all` or `write_durable_at` has returned `Ok`, the bytes (of
//!   that write, or written before the sync was called) and the length they need survive a crash.
//! - DISK-3. After one of them has failed, nothing is known about those bytes. The disk does not
//!   retry by itself: a second sync after a failed write-back would report success although the
//!   bytes are lost.
//! - DISK-4. A name is durable only after `sync_dir` on its directory.
//! - DISK-5. An operation that fails for lack of space returns
//!   [`Error::DiskFull`](clearway_base::Error). A write may have written a part of its bytes then;
//!   `allocate` has not changed the length if the file system can reserve.
//! - DISK-6. Bytes that were never written, below the length, read as zeros.

mod aligned_buf;
mod disk;
mod file;
mod io_queue;
mod memory;
pub mod name;
mod os;
mod packed;

pub use aligned_buf::{AlignedBuf, IO_ALIGNMENT};
pub use disk::{Disk, OpenMode};
pub use file::File;
pub use io_queue::{
    IO_DEPTH, IoCompletion, IoPriority, IoQueue, IoQueueChoice, IoQueueKind, IoQueueOptions,
    IoQueueStats, IoRequest, ReadsInFlight,
};
pub use memory::MemoryDisk;
pub use name::LOCK_FILE;
pub use os::OsDisk;
pub use packed::{pack, unpack};
