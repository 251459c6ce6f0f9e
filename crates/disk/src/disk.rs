//! A database directory. With [`File`], the traits through which the engine does all its I/O.

use std::{path::PathBuf, sync::Arc};

use clearway_base::Result;

use crate::{
    file::File,
    io_queue::{IoAtOnce, IoQueue, IoQueueOptions},
};

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
    fn io_queue(&self, _probe: &dyn File, _options: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        Ok(Box::new(IoAtOnce::new()))
    }

    /// The directory, for messages.
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

    fn io_queue(&self, probe: &dyn File, options: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        (**self).io_queue(probe, options)
    }

    fn path(&self) -> PathBuf {
        (**self).path()
    }
}
