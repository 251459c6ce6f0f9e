//! Recognizes paths that lead into the database directory, by whatever names.

use std::{fs, io::ErrorKind, path::Path};

use clearway_base::{Error, Result};
use rustix::{
    fs::{Stat, fstat, stat},
    io::retry_on_intr,
};

use super::OsDisk;

impl OsDisk {
    /// Returns true if `path` is this directory or lies below it, or would lie there if it were
    /// created. Links are followed, and directories are compared by device and inode: another mount
    /// of the same directory counts as the same directory.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn contains(&self, path: &Path) -> Result<bool> {
        let own = fstat(&self.dir).map_err(|errno| self.error("examine", "", errno))?;
        let failed = |source| Error::io("examine", path, source);
        let here = std::path::absolute(path).map_err(failed)?;
        // A path that does not exist yet would be created below its nearest ancestor that exists.
        let mut existing = None;
        for ancestor in here.ancestors() {
            match fs::canonicalize(ancestor) {
                Ok(real) => {
                    existing = Some(real);
                    break;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
        for ancestor in existing.iter().flat_map(|real| real.ancestors()) {
            let found = retry_on_intr(|| stat(ancestor));
            let found = found.map_err(|errno| Error::io("examine", ancestor, errno.into()))?;
            if identity(&found) == identity(&own) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_contains_itself_and_what_is_below_by_every_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("db/log")).unwrap();
        fs::create_dir_all(at("database")).unwrap();
        symlink(at("db"), at("link")).unwrap();
        symlink(at("db/log"), at("database/inner")).unwrap();
        symlink("..", at("db/up")).unwrap();
        let disk = OsDisk::open_dir(at("db"), false).unwrap();
        let inside =
            ["db", "db/", "db/log", "db/new", "db/new/../../elsewhere", "link", "link/a/b"];
        for name in inside.into_iter().chain(["database/inner", "database/inner/x", "db/up/db"]) {
            assert!(disk.contains(&at(name)).unwrap(), "{name}");
        }
        for name in ["", "database", "db2", "db/..", "db/up", "db/up/other", "new/db"] {
            assert!(!disk.contains(&at(name)).unwrap(), "{name}");
        }
    }
}
