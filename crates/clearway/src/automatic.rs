//! The policy `Automatic`: it finds the types of transactions for which two-stage execution may
//! pay, and leaves them to `Hybrid`.
//!
//! ```text
//!   conventional ──── some type waits behind reads, this one reads ────► hybrid
//!        ▲                                                                  │
//!        └──────────────────── 64 runs in which it read nothing ────────────┘
//! ```
//!
//! Invariants:
//! - AUTOMATIC-1. A type is executed in two stages only after transactions of some type, in at
//!   least 64 of its runs, have waited for more than 5 % of their time for locks whose holders
//!   waited for pages, at most a second ago; the type itself has waited for pages; and the data
//!   have not fitted in the cache.
//! - AUTOMATIC-2. The transactions that are timed look at that, a quarter of them: a type that runs
//!   conventionally costs no more than without the policy. Where none is timed, all types run
//!   conventionally.
//! - AUTOMATIC-3. Where a panic ends the program, all types run conventionally: a closure may panic
//!   in a fetch stage.

use clearway_txn::Kind;

use crate::inner::Inner;

/// The part of their time that transactions of some type must wait behind reads.
const WAITING_MIN: f64 = 0.05;

/// Looks at the last runs of a type, one of whose transactions is timed (AUTOMATIC-2).
#[cold]
pub(crate) fn look(database: &Inner, kind: Kind) {
    if !database.engine.has_evicted() || !database.staging.is_time_to_look(kind) {
        return;
    }
    let runs = || database.statistics.runs(kind, &database.engine);
    let Some(window) = database.staging.window_of_runs(kind, runs) else { return };
    if window.behind_reads_share_of_runs() > WAITING_MIN {
        database.staging.note_waiting();
    }
    if window.waits.runs_with_reads > 0 && database.staging.is_any_waiting() {
        database.staging.begin_hybrid(kind);
    }
}
