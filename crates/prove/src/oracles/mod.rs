//! What must hold, whatever happened: the judges that all lanes share.
//!
//! | oracle | says | asked of |
//! | --- | --- | --- |
//! | O1 | no acknowledged commit is lost | [`History::judge`] |
//! | O2 | the state is that after the first M commits | [`History::judge`] |
//! | O3 | no acknowledged answer rests on a lost commit | [`History::check_reader`] |
//! | O4 | all is sound, and in shape once upkeep is idle | [`check_structure`], [`check_upkeep`] |
//! | O5 | recovering again changes nothing | [`check_same`] |
//! | O6 | nothing is held when nobody runs | [`check_quiet`] |
//! | O7 | the log comes first | [`WriteAhead`] |
//! | O8 | work ends once the faults have | [`Oracle::Liveness`], by the lane |
//!
//! How a lane uses them:
//!
//! ```text
//!   run      history.commit(ack, changes)        when a commit has returned, in the order of acks
//!            history.acknowledge(ack)            when a result was shown to its user
//!            history.bounds()                    at the moment a crash image is taken
//!   crash    found = read_state(&engine)         after the image was recovered
//!            survived = history.judge(&found, bounds)
//!            history.settle(survived)            if the run goes on from there
//! ```
//!
//! With threads, several commits may be on their way: hand the commits over sorted by `ack`, which
//! for a writer is the end of its own commit record; those whose `ack` nobody learnt go in last,
//! see [`History::judge_in_doubt`].

mod contents;
mod history;
mod quiet;
mod state;
mod structure;
mod write_ahead;

pub use contents::{check_same, read_state, read_table};
pub use history::{Bounds, Change, History};
pub use quiet::check_quiet;
pub use state::{Row, Rows, State};
pub(crate) use state::{brief, is_upside_down};
pub use structure::{check_structure, check_upkeep};
pub use write_ahead::WriteAhead;

use std::fmt;

use clearway_base::Error;

/// Who found something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// O1. An acknowledged commit is lost.
    Durability,
    /// O2. A state that no prefix of the commits gives.
    Prefix,
    /// O2, while running. A read that no serial order explains, or a lock that did not hold.
    Serializable,
    /// O3. An answer was shown although what it rests on could still be lost.
    ReadOnly,
    /// O4. A damaged page, tree or map.
    Structure,
    /// O5. Recovering again gave something else.
    Idempotent,
    /// O6. Something is held by nobody.
    Quiet,
    /// O7. A write before its log, or a log byte given up too early.
    WriteAhead,
    /// O8. Work that does not end.
    Liveness,
    /// An error where there should be none, or none where there should be one.
    Answer,
    /// The engine panicked.
    Panic,
}

/// What an oracle found.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Who found it.
    pub oracle: Oracle,
    /// What it is.
    pub detail: String,
}

/// What an oracle says.
pub type Verdict<T = ()> = Result<T, Violation>;

impl Violation {
    /// A finding.
    pub fn new(oracle: Oracle, detail: impl Into<String>) -> Violation {
        Violation { oracle, detail: detail.into() }
    }

    /// An error that should not be.
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
