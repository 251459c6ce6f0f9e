//! A directory of the operating system.
//!
//! Every name is resolved relative to a descriptor of the directory, so a later change of the
//! working directory, or a rename of the database directory, has no effect.
//!
//! The descriptors of the directories are kept from their first use, which is the opening of the
//! database. A sync of a directory therefore needs no free descriptor, and does not stop the engine
//! in a process that has used up its limit. An operation that does open a file while the database
//! is in use (another log segment, a backup) fails with an error that does not stop the engine.

mod contains;
mod file;
mod repeat;

use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use clearway_base::{Error, Result};
use clearway_sync::Mutex;
use rustix::{
    fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags},
    io::Errno,
};

use crate::{
    Disk, File, IoQueue, IoQueueOptions, OpenMode, io_queue,
    name::{self, LOCK_FILE},
};
use file::OsFile;
use repeat::{io_error, repeating};

/// Permissions of a new file before the user's mask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
/// Permissions of a new directory before the user's mask.
const DIR_MODE: Mode = Mode::from_raw_mode(0o777);

/// A database directory of the operating system.
pub struct OsDisk {
    dir: OwnedFd,
    /// The directories below `dir` that were used, by name. The mutex is held for a lookup, or
    /// while a directory is opened; no latch is taken under it.
    subdirs: Mutex<Vec<(String, Arc<OwnedFd>)>>,
    path: PathBuf,
    direct: bool,
}

impl OsDisk {
    /// Opens the directory at `path`. If `create` is set, creates it and its missing parents, and
    /// makes their names durable. Otherwise a missing directory is [`Error::NotADatabase`].
    pub fn open_dir(path: impl AsRef<Path>, create: bool) -> Result<OsDisk> {
        let path = path.as_ref();
        if create {
            create_dirs(path)?;
        }
        let no_database = |detail: &str| Error::NotADatabase {
            path: path.to_path_buf(),
            detail: detail.to_string(),
        };
        let dir = open_existing_dir(path).map_err(|errno| match errno {
            Errno::NOENT => no_database("there is no such directory"),
            Errno::NOTDIR => no_database("it is not a directory"),
            errno => Error::io("open directory", path, io_error(errno)),
        })?;
        Ok(OsDisk { dir, subdirs: Mutex::default(), path: path.to_path_buf(), direct: true })
    }

    /// Returns the same directory without direct I/O: all calls go through the page cache.
    pub fn buffered(self) -> OsDisk {
        OsDisk { direct: false, ..self }
    }

    /// Returns the name of any entry of the directory, of any type; `None` if it has none.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn any_entry(&self) -> Result<Option<String>> {
        let failed = |errno| self.error("list", "", errno);
        let fd = self.open_subdir("").map_err(failed)?;
        for entry in Dir::read_from(&fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                return Ok(Some(name.into_owned()));
            }
        }
        Ok(None)
    }

    fn error(&self, operation: &'static str, name: &str, errno: Errno) -> Error {
        Error::io(operation, self.path.join(name), io_error(errno))
    }

    fn open_at(&self, name: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
        repeating(|| rustix::fs::openat(&self.dir, name, flags, FILE_MODE))
    }

    /// Opens a second descriptor of an open file, which bypasses the page cache. Returns `None` if
    /// the file system has no direct I/O.
    fn open_direct(&self, name: &str) -> Result<Option<OwnedFd>> {
        if !self.direct {
            return Ok(None);
        }
        match self.open_at(name, OFlags::DIRECT) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(None),
            Err(errno) => Err(self.error("open", name, errno)),
        }
    }

    /// Returns the descriptor of a directory below this one, and keeps it open.
    fn subdir(&self, dir: &str) -> rustix::io::Result<Arc<OwnedFd>> {
        let mut subdirs = self.subdirs.lock();
        if let Some((_, fd)) = subdirs.iter().find(|(name, _)| name == dir) {
            return Ok(Arc::clone(fd));
        }
        let fd = Arc::new(self.open_subdir(dir)?);
        subdirs.push((dir.to_owned(), Arc::clone(&fd)));
        Ok(fd)
    }

    fn open_subdir(&self, dir: &str) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = if dir.is_empty() { "." } else { dir };
        repeating(|| rustix::fs::openat(&self.dir, dir, flags, Mode::empty()))
    }
}

impl Disk for OsDisk {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        name::check(&self.path, name)?;
        let flags = match mode {
            OpenMode::Existing => OFlags::empty(),
            OpenMode::Create => OFlags::CREATE,
            OpenMode::CreateNew => OFlags::CREATE | OFlags::EXCL,
        };
        let buffered = self.open_at(name, flags).map_err(|e| self.error("open", name, e))?;
        let direct = self.open_direct(name).inspect_err(|_| {
            if mode == OpenMode::CreateNew {
                // This call has created the file, and no caller has its handle. If it stayed, a
                // second try would fail because the file exists.
                let _ = self.remove(name);
            }
        })?;
        Ok(Arc::new(OsFile::new(buffered, direct, self.path.join(name))))
    }

    fn exists(&self, name: &str) -> Result<bool> {
        name::check(&self.path, name)?;
        match repeating(|| rustix::fs::statat(&self.dir, name, AtFlags::empty())) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(errno) => Err(self.error("examine", name, errno)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        name::check(&self.path, from)?;
        name::check(&self.path, to)?;
        repeating(|| rustix::fs::renameat(&self.dir, from, &self.dir, to))
            .map_err(|errno| self.error("rename", from, errno))
    }

    fn remove(&self, name: &str) -> Result<()> {
        name::check(&self.path, name)?;
        repeating(|| rustix::fs::unlinkat(&self.dir, name, AtFlags::empty()))
            .map_err(|errno| self.error("remove", name, errno))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        name::check_dir(&self.path, dir)?;
        let fd = match self.open_subdir(dir) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(self.error("list", dir, errno)),
        };
        let failed = |errno| self.error("list", dir, errno);
        let mut names = Vec::new();
        for entry in Dir::read_from(&fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if is_directory(&fd, &entry).map_err(failed)? {
                continue;
            }
            let name = entry.file_name().to_str().map_err(|_| Error::NotADatabase {
                path: self.path.join(dir),
                detail: format!("it holds the file {:?}", entry.file_name()),
            })?;
            names.push(name.to_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir(&self, dir: &str) -> Result<()> {
        name::check(&self.path, dir)?;
        match repeating(|| rustix::fs::mkdirat(&self.dir, dir, DIR_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.error("create directory", dir, errno)),
        }
        self.subdir(dir).map(drop).map_err(|errno| self.error("open directory", dir, errno))
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        name::check_dir(&self.path, dir)?;
        let synced = if dir.is_empty() {
            sync_directory(&self.dir)
        } else {
            let fd = self.subdir(dir).map_err(|errno| self.error("open directory", dir, errno))?;
            sync_directory(&fd)
        };
        synced.map_err(|errno| self.error("sync directory", dir, errno))
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        let fd = self
            .open_at(LOCK_FILE, OFlags::CREATE)
            .map_err(|errno| self.error("open", LOCK_FILE, errno))?;
        // The lock belongs to this open file description, so a second opener is refused even within
        // this process, and the kernel releases the lock when the process dies.
        match repeating(|| rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let process = pid_in(&fd);
                return Err(Error::AlreadyOpen { path: self.path.clone(), process });
            }
            Err(errno) => return Err(self.error("lock", LOCK_FILE, errno)),
        }
        let guard = OsDirGuard { lock: fd };
        guard.write_pid();
        Ok(Box::new(guard))
    }

    fn random(&self) -> Result<u64> {
        let mut bytes = [0; 8];
        // The kernel returns up to 256 bytes at once or none, except before its entropy pool is
        // ready.
        repeating(|| rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()))
            .map_err(|errno| self.error("draw a random number for", "", errno))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn io_queue(&self, probe: &dyn File, options: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        io_queue::open(probe, options)
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

/// Holds the directory's lock; closing the descriptor releases it.
struct OsDirGuard {
    lock: OwnedFd,
}

impl OsDirGuard {
    /// Writes the process id into the lock file, for diagnosis. Nothing else depends on it, so a
    /// full disk must not keep the database from being opened.
    fn write_pid(&self) {
        let pid = format!("{}\n", std::process::id());
        let _ = rustix::fs::ftruncate(&self.lock, 0);
        let _ = rustix::io::pwrite(&self.lock, pid.as_bytes(), 0);
    }
}

impl Drop for OsDirGuard {
    fn drop(&mut self) {
        // The file stays: if it were removed, two openers could lock two different files.
        let _ = rustix::fs::ftruncate(&self.lock, 0);
    }
}

/// Returns the process id that the holder of the lock has written into the file, if any.
fn pid_in(lock: &OwnedFd) -> Option<u32> {
    let mut bytes = [0; 16];
    let len = repeating(|| rustix::io::pread(lock, &mut bytes, 0)).ok()?;
    std::str::from_utf8(&bytes[..len]).ok()?.trim().parse().ok()
}

fn open_existing_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    repeating(|| rustix::fs::open(path, flags, Mode::empty()))
}

/// Creates `path` and its missing parents, and makes each name durable in its parent.
fn create_dirs(path: &Path) -> Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => return Ok(()), // the root, or nothing
    };
    // If `path` is a file, the opening of the directory reports that.
    if path.exists() {
        return sync_existing(parent);
    }
    create_dirs(parent)?;
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Error::io("create directory", path, error)),
    }
    open_existing_dir(parent)
        .and_then(|fd| sync_directory(&fd))
        .map_err(|errno| Error::io("sync directory", parent, io_error(errno)))
}

/// Syncs the parent of a directory that exists. The process that created the directory may have
/// died before it made the name durable. If this process may not read the parent, it has not
/// created the directory, and the owner is responsible for the durability of the name.
fn sync_existing(parent: &Path) -> Result<()> {
    match open_existing_dir(parent).and_then(|fd| sync_directory(&fd)) {
        Ok(()) | Err(Errno::ACCESS | Errno::PERM) => Ok(()),
        Err(errno) => Err(Error::io("sync directory", parent, io_error(errno))),
    }
}

/// Syncs a directory. File systems without such a sync return `EINVAL`; their names do not need it.
fn sync_directory(fd: &OwnedFd) -> rustix::io::Result<()> {
    match repeating(|| rustix::fs::fsync(fd)) {
        Err(Errno::INVAL) => Ok(()),
        other => other,
    }
}

fn is_directory(dir: &OwnedFd, entry: &rustix::fs::DirEntry) -> rustix::io::Result<bool> {
    match entry.file_type() {
        FileType::Unknown => {
            let stat = match rustix::fs::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(false), // removed since it was listed
                other => other?,
            };
            Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        }
        known => Ok(known == FileType::Directory),
    }
}
