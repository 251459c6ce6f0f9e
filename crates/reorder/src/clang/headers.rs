//! The headers that come with a compiler: `stddef.h`, `stdarg.h` and others.
//!
//! A libclang without its resource folder, such as that of the PyPI wheel, does not have them.
//! Those of an installed clang serve as well, and if there is none those of gcc.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Headers that only the compiler brings.
const BUILTIN: &[&str] = &[
    "stddef.h",
    "stdarg.h",
    "stdbool.h",
    "stdint.h",
    "limits.h",
    "float.h",
    "iso646.h",
    "stdalign.h",
    "stdnoreturn.h",
    "stdatomic.h",
    "tgmath.h",
    "mm_malloc.h",
];

/// Returns true if a message says that a header of the compiler is missing.
pub(super) fn is_missing(message: &str) -> bool {
    message.contains("file not found")
        && BUILTIN.iter().any(|header| message.contains(&format!("'{header}'")))
}

/// Returns a folder with the compiler's headers.
pub(super) fn folder() -> Option<PathBuf> {
    resource_folders().into_iter().chain(gcc()).find(|folder| folder.join("stddef.h").exists())
}

/// Returns the resource folders of installed clangs, the newest first.
fn resource_folders() -> Vec<PathBuf> {
    let versions = |folder: &Path| -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> =
            folder.read_dir().into_iter().flatten().flatten().map(|one| one.path()).collect();
        found.sort_by_key(|path| std::cmp::Reverse(version(path)));
        found.into_iter().map(|path| path.join("include")).collect()
    };
    let own = (14..=20).rev().map(|version| format!("/usr/lib/llvm-{version}/lib/clang"));
    let others = ["/usr/lib/clang", "/usr/lib64/clang", "/usr/local/lib/clang"];
    own.chain(others.map(str::to_owned)).flat_map(|folder| versions(Path::new(&folder))).collect()
}

fn version(path: &Path) -> Vec<u32> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

fn gcc() -> Option<PathBuf> {
    ["gcc", "cc"].iter().find_map(|compiler| {
        let output = Command::new(compiler).arg("-print-file-name=include").output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        path.is_absolute().then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_of_the_compiler_are_looked_for() {
        assert!(is_missing("'stddef.h' file not found"));
        assert!(!is_missing("'libpq-fe.h' file not found"));
        assert!(!is_missing("use of undeclared identifier 'stddef.h'"));
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(version(Path::new("/usr/lib/clang/14.0.6")) > version(Path::new("/x/9.0")));
    }
}
