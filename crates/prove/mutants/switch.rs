//! Mutants: bugs planted in this copy of the engine, at most one of them alive in a process.

use std::sync::OnceLock;

/// Returns true if `name` is the bug that `CLEARWAY_MUTANT` names.
pub fn is(name: &str) -> bool {
    static ALIVE: OnceLock<Option<String>> = OnceLock::new();
    ALIVE.get_or_init(|| std::env::var("CLEARWAY_MUTANT").ok()).as_deref() == Some(name)
}
