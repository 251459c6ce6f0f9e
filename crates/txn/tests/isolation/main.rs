//! Isolation specs: text files with sessions, named steps and permutations of them, and beside each
//! permutation what happens.
//!
//! `docs/testing.md` describes the format; the parser is `spec`, the sessions `session`, and `run`
//! puts the two together. `protocols` runs all of them under each range-lock protocol, and `serial`
//! judges what came of it. `CLEARWAY_SPEC_WRITE=1 cargo test -p clearway-txn --test isolation`
//! writes what happens into the files, for a reader to check with `git diff`.

mod files;
mod protocols;
#[path = "../rig/mod.rs"]
mod rig;
mod run;
mod serial;
mod session;
mod spec;

use files::{load, names};
use run::Locking;

/// Runs one file, or writes it.
fn check(name: &str) {
    let writing = std::env::var_os("CLEARWAY_SPEC_WRITE").is_some();
    let (path, text, spec) = load(name);
    let locking = Locking::default();
    let mut outcomes = Vec::new();
    for permutation in &spec.permutations {
        let expected = (!writing).then_some(&permutation.expected[..]);
        let run::Ran { events, stats, .. } =
            run::permutation(&spec, permutation, expected, &locking);
        // Each cycle costs one victim.
        let deaths = events.iter().filter(|event| event.ends_with("deadlock")).count();
        assert_eq!(stats.deadlocks, deaths as u64, "{name}: {events:?}");
        outcomes.push(events);
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
            let mut run = vec![$(stringify!($name),)* $(stringify!($other),)*];
            run.sort_unstable();
            assert_eq!(names(), run);
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
