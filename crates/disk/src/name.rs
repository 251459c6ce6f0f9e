//! The names of files within a database directory, for implementations of [`Disk`](crate::Disk).

use std::{io, path::Path};

use clearway_base::{Error, Result};

/// The file that is locked while the directory is open.
pub const LOCK_FILE: &str = "LOCK";

/// Refuses names that could reach outside the directory. `directory` is used only in the message.
///
/// # Errors
/// [`Error::Io`] of the kind `InvalidInput`.
pub fn check(directory: &Path, name: &str) -> Result<()> {
    let plain =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    if name.split('/').all(plain) {
        return Ok(());
    }
    let source = io::Error::new(io::ErrorKind::InvalidInput, "not a plain relative name");
    Err(Error::io("use the name", directory.join(name), source))
}

/// Like [`check`], but accepts `""`, which stands for the database directory itself.
///
/// # Errors
/// As [`check`].
pub fn check_dir(directory: &Path, name: &str) -> Result<()> {
    if name.is_empty() { Ok(()) } else { check(directory, name) }
}

/// The directory part of a name, `""` if it has none.
pub fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(dir, _)| dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        let directory = Path::new("db");
        for bad in ["", "/etc/passwd", "../x", "log/../../x", "log//x", "./x", "log/", "a\0b"] {
            assert!(check(directory, bad).is_err(), "{bad:?}");
        }
        for good in ["data", "log/0000000000000000", "a.b", "..."] {
            assert!(check(directory, good).is_ok(), "{good:?}");
        }
        assert!(check_dir(directory, "").is_ok());
    }
}
