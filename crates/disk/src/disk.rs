//! The two traits through which the engine does all its I/O.

use std::{os::fd::BorrowedFd, path::PathBuf, sync::Arc};

use clearway_base::Result;

use crate::read_queue::{ReadQueue, ReadQueueOptions, ReadsAtOnce};

/// The treatment of existing and missing files by [`Disk::open`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// The file must exist.
    Existing,
    /// The file is created, empty, if it does not exist.
    Create,
    /// The file must not exist.
    CreateNew,
}

/// One database directory.
///
/// Names are relative to the directory and separated by `/`, such as `log/00000000`; an absolute
/// name or one with `.` or `..` in it is refused.
pub trait Disk: Send + Sync {
    /// Opens a file for reading and writing.
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>>;

    /// Returns true if there is a file or directory of this name.
    fn exists(&self, name: &str) -> Result<bool>;

    /// Renames a file, replacing `to` if it exists. Open handles follow the file.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file. Open handles stay usable.
    fn remove(&self, name: &str) -> Result<()>;

    /// Returns the names of the files (not the directories) in `dir`, sorted, without `dir` in
    /// front. The list is empty if there is no such directory; `""` is the database directory
    /// itself.
    fn list(&self, dir: &str) -> Result<Vec<String>>;

    /// Creates a directory. Succeeds if the directory exists already.
    fn create_dir(&self, dir: &str) -> Result<()>;

    /// Makes creations, renames and removals in `dir` durable; `""` is the database directory.
    fn sync_dir(&self, dir: &str) -> Result<()>;

    /// Locks the directory exclusively until the guard is dropped. Returns
    /// [`Error::AlreadyOpen`](clearway_base::Error::AlreadyOpen) if another opener holds the lock,
    /// in this process or in another.
    fn lock(&self) -> Result<Box<dyn Send + Sync>>;

    /// Draws a random number, which identifies a database or one opening of it. Two openings of one
    /// directory, or of two copies of it, draw different numbers.
    fn random(&self) -> Result<u64>;

    /// Opens a queue for reads of the directory's files. `probe` is one of them, from which the
    /// queue may read to find out what the system allows. A disk without files of the operating
    /// system has a queue that reads at once.
    fn read_queue(
        &self,
        _probe: &dyn File,
        _options: &ReadQueueOptions,
    ) -> Result<Box<dyn ReadQueue>> {
        Ok(Box::new(ReadsAtOnce::new()))
    }

    /// The directory, for messages.
    fn path(&self) -> PathBuf;
}

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
    /// `offset` on, of which only place and length matter; `None` if reads must go through
    /// [`read_at`](File::read_at). The kernel may refuse a read through it (`EINVAL`, a short
    /// read); `read_at` does not.
    fn read_descriptor(&self, _memory: *const [u8], _offset: u64) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The file's path, for messages.
    fn path(&self) -> PathBuf;
}

impl<D: Disk + ?Sized> Disk for Arc<D> {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        (**self).open(name, mode)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        (**self).exists(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        (**self).rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        (**self).remove(name)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        (**self).list(dir)
    }

    fn create_dir(&self, dir: &str) -> Result<()> {
        (**self).create_dir(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        (**self).sync_dir(dir)
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        (**self).lock()
    }

    fn random(&self) -> Result<u64> {
        (**self).random()
    }

    fn read_queue(
        &self,
        probe: &dyn File,
        options: &ReadQueueOptions,
    ) -> Result<Box<dyn ReadQueue>> {
        (**self).read_queue(probe, options)
    }

    fn path(&self) -> PathBuf {
        (**self).path()
    }
}
