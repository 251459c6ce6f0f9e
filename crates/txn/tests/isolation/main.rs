//! Isolation specs: text files with sessions, named steps and permutations of them, and beside each
//! permutation what happens.
//!
//! The format is told in `docs/testing.md`; the parser is `spec`, the sessions `session`, and `run`
//! puts the two together. `protocols` runs all of them under each range-lock protocol, and `serial`
//! judges what came of it. `CLEARWAY_SPEC_WRITE=1 cargo test -p clearway-txn --test isolation`
//! writes what happens into the files, for a reader to check with `git diff`.

mod protocols;
#[path = "../rig/mod.rs"]
mod rig;
mod run;
mod serial;
mod session;
mod spec;

use std::path::{Path, PathBuf};

use clearway_lock::RangeProtocol;
use spec::Spec;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isolation/specs")
}

/// A file's path, text and meaning.
fn load(name: &str) -> (PathBuf, String, Spec) {
    let path = folder().join(format!("{name}.spec"));
    let text = std::fs::read_to_string(&path).unwrap();
    let spec = spec::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(!spec.permutations.is_empty(), "{name} runs nothing");
    (path, text, spec)
}

/// Runs one file, or writes it.
fn check(name: &str) {
    let (path, text, spec) = load(name);
    let writing = std::env::var_os("CLEARWAY_SPEC_WRITE").is_some();
    let mut outcomes = Vec::new();
    for permutation in &spec.permutations {
        let expected = (!writing).then_some(&permutation.expected[..]);
        let ran = run::permutation(&spec, permutation, expected, RangeProtocol::Orthogonal);
        outcomes.push(ran.events);
    }
    if writing {
        std::fs::write(&path, spec::with_outcomes(&text, &outcomes)).unwrap();
        return;
    }
    for (permutation, outcome) in spec.permutations.iter().zip(outcomes) {
        let line = permutation.line;
        assert_eq!(outcome, permutation.expected, "{}:{line}", path.display());
    }
}

macro_rules! specs {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        /// The same files under all protocols.
        mod under_each_protocol {
            $(#[test]
            fn $name() {
                crate::protocols::check(stringify!($name));
            })*
        }

        #[test]
        fn every_file_is_run() {
            let mut files: Vec<_> = std::fs::read_dir(folder())
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned())
                .collect();
            files.sort();
            assert_eq!(files, [$(stringify!($name)),*]);
        }
    };
}

specs! {
    absent_keys
    conversions
    cursor_bounds
    deadlocks
    early_release
    ghosts
    locked_gaps
    page_borders
    range_modes
    read_only_waits
    reclaimed_tags
    savepoints
    write_skew
}
