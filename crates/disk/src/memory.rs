//! Files in memory, and images of what a crash would leave of them.
//!
//! A disk made with [`MemoryDisk::with_crashes`] keeps two versions of each file: the *live* bytes,
//! which every operation sees, and the *durable* bytes, to which a sync copies the bytes written
//! since the last sync. [`MemoryDisk::fork`] returns what a killed process leaves behind
//! (everything written), and [`MemoryDisk::fork_durable`] what a power failure may leave (only what
//! was synced).
//!
//! Invariants:
//! - MEMORY-DISK-1. Outside the latch of a file, its live and durable bytes differ only within
//!   `unsynced` and in length.
//! - MEMORY-DISK-2. `used` is the sum of the live lengths of all files that still have a name or a
//!   handle.
//!
//! Latch order: `names` before `bytes` of a file; no thread holds the `bytes` of two files.
//!
//! Names are durable at once, which is more than DISK-4 guarantees. `SimDisk` of the crate
//! `clearway-testkit` also loses names, and tears and reorders writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use clearway_base::{Error, Result};
use clearway_sync::{
    Mutex, RwLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
    plain, step,
};

use crate::{Disk, File, OpenMode, name};

/// A database directory in memory. Clones share the contents.
#[derive(Clone)]
pub struct MemoryDisk(Arc<MemoryDirectory>);

struct MemoryDirectory {
    names: Mutex<Names>,
    space: Arc<Space>,
    locked: AtomicBool,
    keeps_durable: bool,
    /// The number of this disk in the process.
    number: u64,
    /// The count of random numbers that this disk has drawn.
    drawn: plain::AtomicU64,
}

#[derive(Default)]
struct Names {
    files: BTreeMap<String, Arc<Contents>>,
    dirs: BTreeSet<String>,
}

/// The number of bytes stored on the disk, and its limit.
struct Space {
    used: AtomicU64,
    capacity: AtomicU64,
}

/// The bytes of one file, which its name and its handles share.
struct Contents {
    bytes: RwLock<FileBytes>,
    space: Arc<Space>,
    keeps_durable: bool,
}

#[derive(Default)]
struct FileBytes {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// The ranges written since the last sync (MEMORY-DISK-1). They may overlap and reach past the
    /// end.
    unsynced: Vec<Range<usize>>,
}

impl MemoryDisk {
    /// An empty disk of unlimited capacity.
    #[allow(clippy::new_without_default, reason = "an empty disk is a decision, not a default")]
    pub fn new() -> MemoryDisk {
        Self::build(Names::default(), u64::MAX, false)
    }

    /// An empty disk that remembers what was synced, for [`fork_durable`](Self::fork_durable). It
    /// takes twice the memory.
    pub fn with_crashes() -> MemoryDisk {
        Self::build(Names::default(), u64::MAX, true)
    }

    fn build(names: Names, capacity: u64, keeps_durable: bool) -> MemoryDisk {
        // Disks, copies included, are numbered in the order of creation. The numbers that they draw
        // depend on nothing else.
        static DISKS: plain::AtomicU64 = plain::AtomicU64::new(1);
        let used = AtomicU64::new(0);
        let space = Arc::new(Space { used, capacity: AtomicU64::new(capacity) });
        MemoryDisk(Arc::new(MemoryDirectory {
            names: Mutex::new(names),
            space,
            locked: AtomicBool::new(false),
            keeps_durable,
            number: DISKS.fetch_add(1, Ordering::Relaxed), // only uniqueness matters
            drawn: plain::AtomicU64::new(0),
        }))
    }

    /// Lets the files together grow to at most `bytes`. Growth beyond that fails with
    /// [`Error::DiskFull`]; stored bytes stay, even beyond the limit.
    pub fn set_capacity(&self, bytes: u64) {
        // Relaxed: no other data depends on the limit.
        self.0.space.capacity.store(bytes, Ordering::Relaxed);
    }

    /// The length of all files together.
    pub fn used_bytes(&self) -> u64 {
        self.0.space.used.load(Ordering::Relaxed)
    }

    /// Returns a copy of everything written so far, not locked and independent of this disk: what a
    /// killed process leaves. Each file is copied at one instant. Writes that run meanwhile may be
    /// in the copies of some files and not of others, as after a kill.
    pub fn fork(&self) -> MemoryDisk {
        self.copy_with(|bytes| bytes.live.clone())
    }

    /// Returns a copy of what a sync has covered, and of nothing else: the least that a power
    /// failure leaves. As with [`fork`](Self::fork), files are copied one after the other, so a
    /// test first stops the writers (or makes the sync fail whose bytes are to be lost).
    ///
    /// # Panics
    /// If the disk was not made with [`with_crashes`](Self::with_crashes).
    pub fn fork_durable(&self) -> MemoryDisk {
        assert!(self.0.keeps_durable, "only MemoryDisk::with_crashes knows what is durable");
        self.copy_with(|bytes| bytes.durable.clone())
    }

    fn copy_with(&self, image: impl Fn(&FileBytes) -> Vec<u8>) -> MemoryDisk {
        let names = self.0.names.lock();
        let copy = Self::build(Names::default(), u64::MAX, self.0.keeps_durable);
        {
            let mut copied = copy.0.names.lock();
            copied.dirs = names.dirs.clone();
            for (name, contents) in &names.files {
                let live = image(&contents.bytes.read());
                copied.files.insert(name.clone(), copy.contents(live));
            }
        }
        copy.set_capacity(self.0.space.capacity.load(Ordering::Relaxed));
        copy
    }

    /// Returns new contents on this disk, all of them durable.
    fn contents(&self, live: Vec<u8>) -> Arc<Contents> {
        let MemoryDirectory { space, keeps_durable, .. } = &*self.0;
        space.used.fetch_add(live.len() as u64, Ordering::Relaxed); // MEMORY-DISK-2
        let durable = if *keeps_durable { live.clone() } else { Vec::new() };
        Arc::new(Contents {
            bytes: RwLock::new(FileBytes { live, durable, unsynced: Vec::new() }),
            space: space.clone(),
            keeps_durable: *keeps_durable,
        })
    }

    fn error(&self, operation: &'static str, name: &str, kind: io::ErrorKind) -> Error {
        Error::io(operation, self.path().join(name), kind.into())
    }

    fn check(&self, name: &str) -> Result<()> {
        name::check(&self.path(), name)
    }
}

impl Names {
    fn has_dir(&self, dir: &str) -> bool {
        dir.is_empty() || self.dirs.contains(dir)
    }
}

impl Disk for MemoryDisk {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.check(name)?;
        let mut names = self.0.names.lock();
        let failed = |kind| Err(self.error("open", name, kind));
        let contents = match names.files.get(name) {
            Some(_) if mode == OpenMode::CreateNew => return failed(io::ErrorKind::AlreadyExists),
            Some(contents) => contents.clone(),
            None if names.dirs.contains(name) => return failed(io::ErrorKind::IsADirectory),
            None if mode == OpenMode::Existing || !names.has_dir(name::parent(name)) => {
                return failed(io::ErrorKind::NotFound);
            }
            None => {
                let contents = self.contents(Vec::new());
                names.files.insert(name.to_string(), contents.clone());
                contents
            }
        };
        Ok(Arc::new(MemoryFile { contents, path: self.path().join(name) }))
    }

    fn exists(&self, name: &str) -> Result<bool> {
        self.check(name)?;
        let names = self.0.names.lock();
        Ok(names.files.contains_key(name) || names.dirs.contains(name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.check(from)?;
        self.check(to)?;
        let mut names = self.0.names.lock();
        if !names.has_dir(name::parent(to)) {
            return Err(self.error("rename", from, io::ErrorKind::NotFound));
        }
        if names.dirs.contains(from) || names.dirs.contains(to) {
            return Err(self.error("rename", from, io::ErrorKind::IsADirectory));
        }
        let Some(contents) = names.files.remove(from) else {
            return Err(self.error("rename", from, io::ErrorKind::NotFound));
        };
        names.files.insert(to.to_string(), contents);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.check(name)?;
        let mut names = self.0.names.lock();
        if names.dirs.contains(name) {
            return Err(self.error("remove", name, io::ErrorKind::IsADirectory));
        }
        let removed = names.files.remove(name);
        removed.map(drop).ok_or_else(|| self.error("remove", name, io::ErrorKind::NotFound))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        name::check_dir(&self.path(), dir)?;
        let names = self.0.names.lock();
        if names.files.contains_key(dir) {
            return Err(self.error("list", dir, io::ErrorKind::NotADirectory));
        }
        let within = names.files.keys().filter(|name| name::parent(name) == dir);
        Ok(within.map(|name| name.rsplit('/').next().unwrap_or(name).to_string()).collect())
    }

    fn create_dir(&self, dir: &str) -> Result<()> {
        self.check(dir)?;
        let mut names = self.0.names.lock();
        if !names.has_dir(name::parent(dir)) {
            return Err(self.error("create directory", dir, io::ErrorKind::NotFound));
        }
        if names.files.contains_key(dir) {
            return Err(self.error("create directory", dir, io::ErrorKind::AlreadyExists));
        }
        names.dirs.insert(dir.to_string());
        Ok(())
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        name::check_dir(&self.path(), dir)?;
        if self.0.names.lock().has_dir(dir) {
            return Ok(());
        }
        Err(self.error("open directory", dir, io::ErrorKind::NotFound))
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        // Acquire pairs with the Release in `MemoryDirGuard::drop`: the next owner sees everything
        // that the last one did.
        if self.0.locked.swap(true, Ordering::Acquire) {
            return Err(Error::AlreadyOpen {
                path: self.path(),
                process: Some(std::process::id()),
            });
        }
        Ok(Box::new(MemoryDirGuard(self.0.clone())))
    }

    fn random(&self) -> Result<u64> {
        let MemoryDirectory { number, drawn, .. } = &*self.0;
        Ok(draw(*number, drawn.fetch_add(1, Ordering::Relaxed))) // only uniqueness matters
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(":memory:")
    }
}

/// The `nth` number that the disk numbered `disk` draws. The steps and constants are those of
/// SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, 2014).
fn draw(disk: u64, nth: u64) -> u64 {
    const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |word: u64| {
        let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    };
    let seed = mix(mix(disk ^ WEYL).wrapping_add(WEYL)) ^ mix(nth.wrapping_mul(WEYL));
    mix(seed.wrapping_add(WEYL))
}

/// Holds the lock of the directory until it is dropped.
struct MemoryDirGuard(Arc<MemoryDirectory>);

impl Drop for MemoryDirGuard {
    fn drop(&mut self) {
        // Release pairs with the Acquire in `MemoryDisk::lock`.
        self.0.locked.store(false, Ordering::Release);
    }
}

struct MemoryFile {
    contents: Arc<Contents>,
    path: PathBuf,
}

impl MemoryFile {
    fn full(&self) -> Error {
        Error::DiskFull { path: self.path.clone() }
    }

    /// Returns the position of a range in memory, or [`Error::DiskFull`] if no memory could hold a
    /// file of that length.
    fn range(&self, offset: u64, len: usize) -> Result<Range<usize>> {
        let start = usize::try_from(offset).map_err(|_| self.full())?;
        let end = start.checked_add(len).filter(|&end| end <= isize::MAX as usize);
        Ok(start..end.ok_or_else(|| self.full())?)
    }

    /// Lengthens or cuts the live bytes, within the capacity. Bytes that are cut off count as
    /// changed (MEMORY-DISK-1), because the file may grow back with zeros there.
    fn resize(&self, bytes: &mut FileBytes, len: usize) -> Result<()> {
        let old_len = bytes.live.len();
        let space = &self.contents.space;
        if len <= old_len {
            bytes.live.truncate(len);
            bytes.changed(len..old_len, &self.contents);
            space.used.fetch_sub((old_len - len) as u64, Ordering::Relaxed); // MEMORY-DISK-2
            return Ok(());
        }
        let (more, capacity) = ((len - old_len) as u64, space.capacity.load(Ordering::Relaxed));
        let within = |used: u64| used.checked_add(more).filter(|&sum| sum <= capacity);
        // Relaxed, as in every access to `used`: no other data depends on this number.
        let grown = space.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        grown.map_err(|_| self.full())?;
        if bytes.live.try_reserve(len - old_len).is_err() {
            space.used.fetch_sub(more, Ordering::Relaxed);
            return Err(self.full());
        }
        bytes.live.resize(len, 0);
        Ok(())
    }

    fn write(&self, bytes: &mut FileBytes, buf: &[u8], offset: u64) -> Result<Range<usize>> {
        let range = self.range(offset, buf.len())?;
        if range.end > bytes.live.len() && !buf.is_empty() {
            self.resize(bytes, range.end)?;
        }
        if !buf.is_empty() {
            bytes.live[range.clone()].copy_from_slice(buf);
        }
        Ok(range)
    }
}

impl FileBytes {
    /// Records that a range is not durable.
    fn changed(&mut self, range: Range<usize>, contents: &Contents) {
        if !contents.keeps_durable || range.is_empty() {
            return;
        }
        match self.unsynced.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.unsynced.push(range),
        }
    }

    /// Copies a range to the durable bytes, as far as it lies within the file.
    fn make_durable(&mut self, range: Range<usize>) {
        let range = range.start.min(self.live.len())..range.end.min(self.live.len());
        self.durable[range.clone()].copy_from_slice(&self.live[range]);
    }
}

impl File for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        step::assert_may_block("a read of a file");
        let bytes = self.contents.bytes.read();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.live.len());
        let len = buf.len().min(bytes.live.len() - start);
        buf[..len].copy_from_slice(&bytes.live[start..start + len]);
        Ok(len)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        step::assert_may_block("a write to a file");
        let mut bytes = self.contents.bytes.write();
        let range = self.write(&mut bytes, buf, offset)?;
        bytes.changed(range, &self.contents);
        Ok(())
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        step::assert_may_block("a write to a file");
        let mut bytes = self.contents.bytes.write();
        let range = self.write(&mut bytes, buf, offset)?;
        if self.contents.keeps_durable {
            // Only this range becomes durable, and the length it needs: earlier writes can still be
            // lost.
            let len = bytes.durable.len().max(range.end).min(bytes.live.len());
            bytes.durable.resize(len, 0);
            bytes.make_durable(range);
        }
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        step::assert_may_block("a sync of a file");
        if self.contents.keeps_durable {
            let mut bytes = self.contents.bytes.write();
            let len = bytes.live.len();
            bytes.durable.resize(len, 0);
            for range in std::mem::take(&mut bytes.unsynced) {
                bytes.make_durable(range);
            }
        }
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        self.sync_data()
    }

    fn len(&self) -> Result<u64> {
        Ok(self.contents.bytes.read().live.len() as u64)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        step::assert_may_block("a change of the length of a file");
        let len = self.range(len, 0)?.end;
        self.resize(&mut self.contents.bytes.write(), len)
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        step::assert_may_block("a change of the length of a file");
        let len = usize::try_from(len).map_err(|_| self.full())?;
        let end = self.range(offset, len)?.end;
        let mut bytes = self.contents.bytes.write();
        if len > 0 && end > bytes.live.len() { self.resize(&mut bytes, end) } else { Ok(()) }
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        let len = self.bytes.get_mut().live.len() as u64;
        self.space.used.fetch_sub(len, Ordering::Relaxed); // MEMORY-DISK-2
    }
}

#[cfg(test)]
mod tests;
