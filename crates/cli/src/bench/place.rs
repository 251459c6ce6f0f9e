//! The location of the benchmark's database.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::{
    args::RunArgs,
    failure::{Context, Outcome},
};

/// The directory of the database. A temporary one is removed when the value is dropped.
pub(crate) enum Place {
    /// A directory given by the user, which is kept.
    Given(PathBuf),
    /// A directory of the program's own, which is removed.
    Temporary(tempfile::TempDir),
    /// No directory: everything is in memory.
    Memory,
}

impl Place {
    /// Chooses the location that the options request.
    pub(crate) fn choose(args: &RunArgs) -> Outcome<Place> {
        if args.memory {
            return Ok(Place::Memory);
        }
        if let Some(path) = &args.dir {
            return Ok(Place::Given(path.clone()));
        }
        let parent = temporary_parent();
        tempfile::Builder::new()
            .prefix("clearway-bench-")
            .tempdir_in(&parent)
            .with_context(|| format!("cannot create a directory in {}", parent.display()))
            .map(Place::Temporary)
    }

    /// Returns the directory, or an empty path if the database is in memory.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Place::Given(path) => path,
            Place::Temporary(directory) => directory.path(),
            Place::Memory => Path::new(""),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Given(path) => write!(f, "{}", path.display()),
            Place::Temporary(directory) => {
                write!(f, "{} (temporary, removed afterwards)", directory.path().display())
            }
            Place::Memory => f.write_str("in memory"),
        }
    }
}

/// Returns the first of `target`, the system's temporary directory and the current directory that
/// is on a disk. A log in memory would measure nothing.
fn temporary_parent() -> PathBuf {
    let candidates = [PathBuf::from("target"), std::env::temp_dir(), PathBuf::from(".")];
    let on_disk = candidates.iter().find(|path| path.is_dir() && !is_in_memory(path));
    on_disk.cloned().unwrap_or_else(std::env::temp_dir)
}

fn is_in_memory(path: &Path) -> bool {
    /// `TMPFS_MAGIC` and `RAMFS_MAGIC` of Linux.
    const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    rustix::fs::statfs(path).is_ok_and(|stat| MEMORY.contains(&(stat.f_type as u64)))
}
