//! An open file.

use std::{os::fd::BorrowedFd, path::PathBuf};

use clearway_base::Result;

/// One open file. All positions are explicit, so threads share a handle without a latch.
///
/// For direct I/O, a caller aligns the buffer's address, its length and the offset to
/// [`IO_ALIGNMENT`](crate::IO_ALIGNMENT) (512 bytes are enough on most devices). Other calls work
/// too and go through the page cache. Two concurrent calls on overlapping ranges, one of them a
/// write, have an undefined result, as on any disk.
pub trait File: Send + Sync {
    /// Fills `buf` from `offset` on and returns the number of bytes read, which is less than the
    /// length of `buf` only at the end of the file. The bytes of `buf` beyond that may have been
    /// overwritten.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize>;

    /// Writes all of `buf` at `offset`, lengthening the file if needed. Not durable.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()>;

    /// Writes all of `buf` at `offset` and returns when these bytes are durable. It guarantees
    /// nothing about the bytes of earlier writes.
    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()>;

    /// Makes all finished writes durable, and the length and allocation needed to read them.
    fn sync_data(&self) -> Result<()>;

    /// Like [`sync_data`](File::sync_data), but also makes all the file's metadata durable.
    fn sync_all(&self) -> Result<()>;

    /// Returns the length in bytes.
    fn len(&self) -> Result<u64>;

    /// Returns true if the file has no bytes.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or lengthens it with zeros for which no space is reserved.
    fn set_len(&self, len: u64) -> Result<()>;

    /// Reserves space for the range and lengthens the file to its end if it is shorter. The bytes
    /// in the range stay as they are. Where the file system cannot reserve space, the part past the
    /// end is filled with zeros. Not durable until a sync. At most one thread at a time may call it
    /// for a file.
    fn allocate(&self, offset: u64, len: u64) -> Result<()>;

    /// Returns the descriptor through which the operating system can best fill `memory` from
    /// `offset` on, or write it there, of which only place and length matter; `None` if reads must
    /// go through [`read_at`](File::read_at), and writes through [`write_at`](File::write_at). The
    /// kernel may refuse a call through it (`EINVAL`, a short read or write); these two do not.
    fn io_descriptor(&self, _memory: *const [u8], _offset: u64) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The file's path, for messages.
    fn path(&self) -> PathBuf;
}
