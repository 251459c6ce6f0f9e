//! The files of the specs, for the tests of this crate and of that of the variants.

use std::{
    fs::DirEntry,
    path::{Path, PathBuf},
};

use crate::spec::{self, Spec};

/// The folder of the specs.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../txn/tests/isolation/specs")
}

/// A file's path, text and meaning.
pub(crate) fn load(name: &str) -> (PathBuf, String, Spec) {
    let path = folder().join(format!("{name}.spec"));
    let text = std::fs::read_to_string(&path).unwrap();
    let spec = spec::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(!spec.permutations.is_empty(), "{name} runs nothing");
    (path, text, spec)
}

/// The names of all specs, sorted.
pub(crate) fn names() -> Vec<String> {
    let name = |entry: std::io::Result<DirEntry>| {
        entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string()
    };
    let mut names: Vec<_> = std::fs::read_dir(folder()).unwrap().map(name).collect();
    names.sort();
    names
}
