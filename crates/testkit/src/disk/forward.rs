//! Methods of a disk, or of a file, that the inner one performs: so a disk that wraps another one
//! writes only the methods that it changes.

pub use std::{os::fd::BorrowedFd, path::PathBuf, sync::Arc};

pub use clearway_base::Result;
pub use clearway_disk::{File, IoQueue, IoQueueOptions, OpenMode};

/// Within an `impl Disk`: defines methods that call those of a field, which is a disk.
///
/// `forward_disk!(inner)` defines all but `open` and `io_queue`, which most wrappers change;
/// `forward_disk!(inner; open, exists)` defines those that are listed.
///
/// ```
/// use std::sync::Arc;
/// use clearway_base::Result;
/// use clearway_disk::{Disk, File, MemoryDisk, OpenMode};
/// use clearway_testkit::forward_disk;
///
/// struct CountedDisk {
///     inner: MemoryDisk,
///     opened: std::sync::atomic::AtomicU64,
/// }
///
/// impl Disk for CountedDisk {
///     fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
///         self.opened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         self.inner.open(name, mode)
///     }
///
///     forward_disk!(inner);
/// }
///
/// let disk = CountedDisk { inner: MemoryDisk::new(), opened: Default::default() };
/// disk.open("data", OpenMode::Create)?;
/// disk.rename("data", "other")?;
/// assert_eq!((disk.list("")?, disk.opened.into_inner()), (vec!["other".to_string()], 1));
/// # Ok::<(), clearway_base::Error>(())
/// ```
#[macro_export]
macro_rules! forward_disk {
    (@open $field:tt) => {
        fn open(
            &self,
            name: &str,
            mode: $crate::disk::forward::OpenMode,
        ) -> $crate::disk::forward::Result<
            $crate::disk::forward::Arc<dyn $crate::disk::forward::File>,
        > {
            self.$field.open(name, mode)
        }
    };
    (@exists $field:tt) => {
        fn exists(&self, name: &str) -> $crate::disk::forward::Result<bool> {
            self.$field.exists(name)
        }
    };
    (@rename $field:tt) => {
        fn rename(&self, from: &str, to: &str) -> $crate::disk::forward::Result<()> {
            self.$field.rename(from, to)
        }
    };
    (@remove $field:tt) => {
        fn remove(&self, name: &str) -> $crate::disk::forward::Result<()> {
            self.$field.remove(name)
        }
    };
    (@list $field:tt) => {
        fn list(&self, dir: &str) -> $crate::disk::forward::Result<Vec<String>> {
            self.$field.list(dir)
        }
    };
    (@create_dir $field:tt) => {
        fn create_dir(&self, dir: &str) -> $crate::disk::forward::Result<()> {
            self.$field.create_dir(dir)
        }
    };
    (@sync_dir $field:tt) => {
        fn sync_dir(&self, dir: &str) -> $crate::disk::forward::Result<()> {
            self.$field.sync_dir(dir)
        }
    };
    (@lock $field:tt) => {
        fn lock(&self) -> $crate::disk::forward::Result<Box<dyn Send + Sync>> {
            self.$field.lock()
        }
    };
    (@random $field:tt) => {
        fn random(&self) -> $crate::disk::forward::Result<u64> {
            self.$field.random()
        }
    };
    (@io_queue $field:tt) => {
        fn io_queue(
            &self,
            probe: &dyn $crate::disk::forward::File,
            options: &$crate::disk::forward::IoQueueOptions,
        ) -> $crate::disk::forward::Result<Box<dyn $crate::disk::forward::IoQueue>> {
            self.$field.io_queue(probe, options)
        }
    };
    (@path $field:tt) => {
        fn path(&self) -> $crate::disk::forward::PathBuf {
            self.$field.path()
        }
    };
    ($field:tt) => {
        $crate::forward_disk!(
            $field; exists, rename, remove, list, create_dir, sync_dir, lock, random, path
        );
    };
    ($field:tt; $($method:ident),+ $(,)?) => {
        $($crate::forward_disk!(@$method $field);)+
    };
}

/// Within an `impl File`: defines the methods that are listed, which call those of a field. For
/// example, `forward_file!(inner; read_at, len)`.
#[macro_export]
macro_rules! forward_file {
    (@read_at $field:tt) => {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> $crate::disk::forward::Result<usize> {
            self.$field.read_at(buf, offset)
        }
    };
    (@write_at $field:tt) => {
        fn write_at(&self, buf: &[u8], offset: u64) -> $crate::disk::forward::Result<()> {
            self.$field.write_at(buf, offset)
        }
    };
    (@write_durable_at $field:tt) => {
        fn write_durable_at(&self, buf: &[u8], offset: u64) -> $crate::disk::forward::Result<()> {
            self.$field.write_durable_at(buf, offset)
        }
    };
    (@sync_data $field:tt) => {
        fn sync_data(&self) -> $crate::disk::forward::Result<()> {
            self.$field.sync_data()
        }
    };
    (@sync_all $field:tt) => {
        fn sync_all(&self) -> $crate::disk::forward::Result<()> {
            self.$field.sync_all()
        }
    };
    (@len $field:tt) => {
        fn len(&self) -> $crate::disk::forward::Result<u64> {
            self.$field.len()
        }
    };
    (@set_len $field:tt) => {
        fn set_len(&self, len: u64) -> $crate::disk::forward::Result<()> {
            self.$field.set_len(len)
        }
    };
    (@allocate $field:tt) => {
        fn allocate(&self, offset: u64, len: u64) -> $crate::disk::forward::Result<()> {
            self.$field.allocate(offset, len)
        }
    };
    (@io_descriptor $field:tt) => {
        fn io_descriptor(
            &self,
            memory: *const [u8],
            offset: u64,
        ) -> Option<$crate::disk::forward::BorrowedFd<'_>> {
            self.$field.io_descriptor(memory, offset)
        }
    };
    (@path $field:tt) => {
        fn path(&self) -> $crate::disk::forward::PathBuf {
            self.$field.path()
        }
    };
    ($field:tt; $($method:ident),+ $(,)?) => {
        $($crate::forward_file!(@$method $field);)+
    };
}
