//! Isolation specs: text files with sessions, named steps and permutations of them, and beside each
//! permutation what happens.
//!
//! `docs/testing.md` describes the format; the parser is `spec`, the sessions `session`, and `run`
//! puts the two together. `driver` has the ways in which sessions wait: each file is run with
//! threads that block, and with tasks. `protocols` runs all of them under each range-lock protocol,
//! and `serial` judges what came of it. `CLEARWAY_SPEC_WRITE=1 cargo test -p clearway-txn --test
//! isolation` writes what happens into the files, for a reader to check with `git diff`.

mod driver;
mod files;
mod protocols;
#[path = "../rig/mod.rs"]
mod rig;
mod run;
mod seat;
mod serial;
mod session;
mod spec;

use driver::Driver;
use files::{load, names};
use run::Locking;

/// Runs one file, or writes it.
fn check(name: &str) {
    if std::env::var_os("CLEARWAY_SPEC_WRITE").is_none() {
        return check_driven(name, Driver::Blocking);
    }
    let (path, text, spec) = load(name);
    let locking = Locking::default();
    let run = |permutation| run::permutation(&spec, permutation, None, &locking).events;
    let outcomes: Vec<_> = spec.permutations.iter().map(run).collect();
    std::fs::write(&path, spec::with_outcomes(&text, &outcomes)).unwrap();
}

/// Runs one file with sessions that wait in this way. The outcomes are the same for each.
fn check_driven(name: &str, driver: Driver) {
    let (path, _, spec) = load(name);
    let locking = Locking { driver, ..Locking::default() };
    for permutation in &spec.permutations {
        let (expected, line) = (&permutation.expected, permutation.line);
        let run::Ran { events, stats, .. } =
            run::permutation(&spec, permutation, Some(expected), &locking);
        assert_eq!(events, *expected, "{}:{line}, {driver:?}", path.display());
        // Each cycle costs one victim.
        let deaths = events.iter().filter(|event| event.ends_with("deadlock")).count();
        assert_eq!(stats.deadlocks, deaths as u64, "{name}:{line}, {driver:?}: {events:?}");
    }
}

fn check_as_tasks(name: &str) {
    let is_of_tasks = |driver: &Driver| *driver != Driver::Blocking;
    Driver::ALL.into_iter().filter(is_of_tasks).for_each(|driver| check_driven(name, driver));
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

        /// The same files with sessions that are tasks.
        mod as_tasks {
            $(#[test]
            fn $name() {
                crate::check_as_tasks(stringify!($name));
            })*

            $(#[test]
            fn $other() {
                crate::check_as_tasks(stringify!($other));
            })*
        }

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
