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

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clearway_lock::{DeadlockMethod, Digests, IntentMethod, VictimPolicy};
use run::Locking;
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

/// Runs one file, or writes it. Intent locks may be kept in any way: nobody can tell.
fn check(name: &str) {
    let writing = std::env::var_os("CLEARWAY_SPEC_WRITE").is_some();
    if !writing {
        check_with(name, IntentMethod::MainTable, writing);
        check_with(name, IntentMethod::Inherited, writing);
    }
    check_with(name, IntentMethod::Lightweight, writing);
}

fn check_with(name: &str, method: IntentMethod, writing: bool) {
    let (path, text, spec) = load(name);
    let mut locking = Locking::default();
    locking.table.intent_locks = method;
    let mut outcomes = Vec::new();
    for permutation in &spec.permutations {
        let expected = (!writing).then_some(&permutation.expected[..]);
        outcomes.push(run::permutation(&spec, permutation, expected, &locking).events);
    }
    if writing {
        std::fs::write(&path, spec::with_outcomes(&text, &outcomes)).unwrap();
        return;
    }
    for (permutation, outcome) in spec.permutations.iter().zip(outcomes) {
        let line = permutation.line;
        assert_eq!(outcome, permutation.expected, "{}:{line}, {method:?}", path.display());
    }
}

macro_rules! specs {
    (serial: $($name:ident)*; not_serial: $($other:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        // What skips is not serializable, by design: no serial order is asked for.
        $(#[test]
        fn $other() {
            check(stringify!($other));
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
            let mut run = vec![$(stringify!($name),)* $(stringify!($other),)*];
            run.sort_unstable();
            assert_eq!(files, run);
        }
    };
}

specs! {
    serial:
    absent_keys
    conversions
    cursor_bounds
    deadlocks
    early_release
    escalation
    ghosts
    locked_gaps
    page_borders
    range_modes
    read_only_waits
    reclaimed_tags
    savepoints
    table_locks
    write_skew;
    not_serial:
    skip_locked
}

/// Under other methods others may die, and what follows differs. But everybody comes to an end,
/// and where a method is exact each cycle costs one life, however it is found.
fn check_method(deadlocks: DeadlockMethod, victims: VictimPolicy) {
    let is_exact = match deadlocks {
        DeadlockMethod::Search => true,
        DeadlockMethod::Dreadlocks(digests) => digests.confirm,
        _ => false,
    };
    for name in ["deadlocks", "conversions"] {
        let (path, _, spec) = load(name);
        for permutation in &spec.permutations {
            let mut locking = Locking::default();
            locking.table.deadlocks = deadlocks;
            locking.table.victims = victims;
            locking.table.refresh = Duration::from_millis(1);
            let run::Ran { events, stats, .. } =
                run::permutation(&spec, permutation, None, &locking);
            let deaths =
                |events: &[String]| events.iter().filter(|e| e.ends_with("deadlock")).count();
            let line = permutation.line;
            let place = format!("{}:{line}, {deadlocks:?}: {events:?}", path.display());
            if is_exact {
                assert_eq!(stats.deadlocks, deaths(&permutation.expected) as u64, "{place}");
            } else if deaths(&permutation.expected) > 0 {
                assert!(stats.deadlocks > 0, "{place}");
            }
        }
    }
}

#[test]
fn deadlocks_under_other_methods() {
    use VictimPolicy::{Closer, KillLong, KillShort, KillYoung};
    for victims in [Closer, KillShort, KillLong, KillYoung] {
        check_method(DeadlockMethod::Search, victims);
        check_method(DeadlockMethod::Dreadlocks(Digests::default()), victims);
    }
    check_method(DeadlockMethod::Dreadlocks(Digests::bloom()), Closer);
    check_method(DeadlockMethod::Timeout(Duration::from_millis(3)), Closer);
    check_method(DeadlockMethod::WoundWait, Closer);
    check_method(DeadlockMethod::WaitDie, Closer);
}
