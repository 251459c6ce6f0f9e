//! The oracles: the properties that must hold in every run, whatever faults it contains. All lanes
//! share them.
//!
//! | oracle | property | checked by |
//! | --- | --- | --- |
//! | ORACLE-1 | no acknowledged commit is lost | [`History::judge`] |
//! | ORACLE-2 | the state is that after the first M commits | [`History::judge`] |
//! | ORACLE-3 | no acknowledged result depends on a lost commit | [`History::check_reader`] |
//! | ORACLE-4 | no damage; good shape once upkeep is idle | [`check_structure`], [`check_upkeep`] |
//! | ORACLE-5 | recovering again changes nothing | [`check_same`] |
//! | ORACLE-6 | nothing is held while no transaction runs | [`check_quiet`] |
//! | ORACLE-7 | write-ahead logging | [`WriteAhead`] |
//! | ORACLE-8 | all work ends once the faults stop | [`Oracle::Liveness`], by the lane |
//!
//! A lane uses them as follows:
//!
//! ```text
//!   run      history.commit(ack, changes)        when a commit has returned, in the order of acks
//!            history.acknowledge(ack)            when a result was acknowledged to its user
//!            history.bounds()                    when a crash image is taken
//!   crash    found = read_state(&engine)         after the image was recovered
//!            survived = history.judge(&found, bounds)
//!            history.restart_after(survived)     if the run continues from there
//! ```
//!
//! With threads, several commits may be in progress. Pass the commits sorted by `ack`, which for a
//! writer is the end of its own commit record. Commits whose `ack` is unknown come last, see
//! [`History::judge_in_doubt`].

mod contents;
mod history;
mod quiet;
mod state;
mod structure;
mod write_ahead;

pub use contents::{check_same, read_state, read_state_as_task, read_table};
pub use history::{Bounds, Change, History};
pub use quiet::check_quiet;
pub use state::{Row, Rows, State};
pub(crate) use state::{brief, is_inverted};
pub use structure::{check_structure, check_upkeep};
pub use write_ahead::WriteAhead;

use std::fmt;

use clearway_base::Error;

/// The oracle that found a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// ORACLE-1. An acknowledged commit is lost.
    Durability,
    /// ORACLE-2. No prefix of the commits gives the state.
    Prefix,
    /// ORACLE-2, while running. No serial order explains a read, or a lock did not protect a key.
    Serializable,
    /// ORACLE-3. A result was acknowledged although a commit on which it depends could still be
    /// lost.
    ReadOnly,
    /// ORACLE-4. A page, tree or map is damaged.
    Structure,
    /// ORACLE-5. Recovering again gave different contents.
    Idempotent,
    /// ORACLE-6. Something is held although no transaction runs.
    Quiet,
    /// ORACLE-7. A page was written before its log, or log was removed too early.
    WriteAhead,
    /// ORACLE-8. Work does not end.
    Liveness,
    /// An operation returned an error that it must not return, or succeeded where it must fail.
    Answer,
    /// The engine panicked.
    Panic,
    /// The engine found one of its invariants broken.
    Invariant,
}

/// A violation that an oracle found.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The oracle that found it.
    pub oracle: Oracle,
    /// A description for messages.
    pub detail: String,
}

/// The result of a check: success, or the violation found.
pub type Verdict<T = ()> = Result<T, Violation>;

impl Violation {
    /// Returns a violation found by `oracle`.
    pub fn new(oracle: Oracle, detail: impl Into<String>) -> Violation {
        Violation { oracle, detail: detail.into() }
    }

    /// Returns the violation that `error` represents where none is allowed; `what` names the
    /// operation.
    pub fn unexpected(what: &str, error: &Error) -> Violation {
        Violation::new(Oracle::Answer, format!("{what}: {error}"))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.oracle, self.detail)
    }
}

impl std::error::Error for Violation {}
