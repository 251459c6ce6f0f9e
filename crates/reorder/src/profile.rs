//! The measured costs of the queries of a transaction: the profile that an instrumented program
//! writes, and the weights that follow from it.
//!
//! `runtime/clearway_profile.{h,c}` measure and write; this module reads, merges and writes. A
//! query is known by its [`Key`], not by its place in the source, so that a profile outlives edits.
//!
//! The file is JSON; times are nanoseconds. `squares` is the sum of the squares of the times;
//! `buckets` lists the buckets of the histogram that are not empty, with their counts; `alone` has
//! the queries of a run with a single client. What [`Profile::write`] adds for people (`mean`,
//! `deviation`, `p5`, `wait`) is not read back.

pub(crate) mod calls;
mod file;
mod instrument;
mod times;

use std::{collections::BTreeMap, fmt, io, path::PathBuf};

pub use self::{
    instrument::{Instrumented, instrument},
    times::{BUCKETS, Times},
};
use crate::solve::UnitCost;

/// The C files that an instrumented or annotated program needs, by name.
pub const RUNTIME: [(&str, &str); 3] = [
    ("clearway_profile.h", include_str!("../runtime/clearway_profile.h")),
    ("clearway_profile.c", include_str!("../runtime/clearway_profile.c")),
    ("clearway_transaction.h", include_str!("../runtime/clearway_transaction.h")),
];

/// The largest weight and length that the solver takes: 78 hours in nanoseconds.
pub(crate) const COST_MAX: u64 = (1 << 48) - 1;

/// The facts that distinguish a query of a program from all others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The function that it stands in.
    pub function: String,
    /// Its text, as [`normalized`] returns it.
    pub sql: String,
    /// The number of queries with this text that stand before it in the function.
    pub ordinal: u32,
}

impl Key {
    /// Returns the key of a query, whose text need not be normalized.
    pub fn new(function: &str, sql: &str, ordinal: u32) -> Key {
        Key { function: function.to_owned(), sql: normalized(sql), ordinal }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.function, self.sql)?;
        if self.ordinal > 0 { write!(f, " (number {})", self.ordinal + 1) } else { Ok(()) }
    }
}

/// Returns a text with one space for each run of white space outside quotes, and without white
/// space and semicolons at its ends.
pub fn normalized(sql: &str) -> String {
    let (mut text, mut quote, mut is_space) = (String::new(), None, false);
    for character in sql.trim_matches(|c: char| c.is_whitespace() || c == ';').chars() {
        match (quote, character) {
            (None, _) if character.is_whitespace() => {
                is_space = true;
                continue;
            }
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
        if std::mem::take(&mut is_space) {
            text.push(' ');
        }
        text.push(character);
    }
    text
}

/// The estimate of how contended a query is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Weights {
    /// The standard deviation of the time: the paper's.
    #[default]
    Stddev,
    /// The time for which it waits: the mean time less the 5th percentile of a run with a single
    /// client, or else less the shortest time.
    Wait,
}

/// The measured times of queries.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    /// The queries of runs with many clients.
    pub queries: BTreeMap<Key, Times>,
    /// The queries of runs with a single client.
    pub alone: BTreeMap<Key, Times>,
}

impl Profile {
    /// Adds the measurements of another profile.
    pub fn merge(&mut self, other: Profile) {
        add(&mut self.queries, other.queries);
        add(&mut self.alone, other.alone);
    }

    /// Adds the measurements of a run with a single client.
    pub fn merge_single_client(&mut self, run: Profile) {
        add(&mut self.alone, run.queries);
        add(&mut self.alone, run.alone);
    }

    /// Returns the time for which an execution of a query waits, in nanoseconds; `None` if it was
    /// never executed.
    ///
    /// Without a run with a single client, the shortest time is taken for one without a wait. A
    /// percentile would not do: if many clients update few rows, 95 % of the updates and more wait.
    pub fn wait(&self, key: &Key) -> Option<f64> {
        let times = self.queries.get(key)?;
        let fast = self.alone.get(key).and_then(Times::p5).or_else(|| times.shortest())?;
        Some((times.mean()? - fast).max(0.0))
    }

    /// Returns the time that an execution of a query takes if it waits for no lock, in nanoseconds:
    /// the mean time of a run with a single client, or else the shortest time; `None` if the query
    /// was never executed with many clients.
    pub fn service(&self, key: &Key) -> Option<f64> {
        let times = self.queries.get(key)?;
        self.alone.get(key).and_then(Times::mean).or_else(|| times.shortest())
    }

    /// Returns what the solver needs to know of a query; `None` if it was never executed with many
    /// clients.
    ///
    /// The weight is the deviation or the wait, and the length is the time without waits: a wait
    /// depends on the order, and would make the most contended query the longest, which is then
    /// left where it is. Both are for one execution, in nanoseconds, rounded to the nearest integer
    /// and limited to 2⁴⁸ − 1; the length is at least 1. For the objective *position*, the caller
    /// sets the length to 1.
    pub fn weight(&self, key: &Key, weights: Weights) -> Option<UnitCost> {
        let times = self.queries.get(key)?;
        let weight = match weights {
            Weights::Stddev => times.deviation()?,
            Weights::Wait => self.wait(key)?,
        };
        // A conversion from a float to an integer saturates.
        let scaled = |time: f64| (time.round() as u64).min(COST_MAX);
        Some(UnitCost { weight: scaled(weight), length: scaled(self.service(key)?).max(1) })
    }
}

fn add(to: &mut BTreeMap<Key, Times>, from: BTreeMap<Key, Times>) {
    for (key, times) in from {
        to.entry(key).or_default().merge(&times);
    }
}

/// A profile that cannot be read or written.
#[derive(Debug)]
pub enum BadProfile {
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// The file cannot be written.
    Write(PathBuf, io::Error),
    /// The text is not a profile.
    Json(PathBuf, serde_json::Error),
    /// The format has another version.
    Version(PathBuf, u32),
    /// The measurements of a query contradict each other.
    Contradiction(PathBuf, Key),
}

impl fmt::Display for BadProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadProfile::Read(path, error) => write!(
                f,
                "{}: the profile cannot be read: {error}; run the instrumented program to its end, \
                 or set CLEARWAY_PROFILE to this path",
                path.display()
            ),
            BadProfile::Write(path, error) => {
                write!(f, "{}: the profile cannot be written: {error}", path.display())
            }
            BadProfile::Json(path, error) => write!(
                f,
                "{}:{}: this is not a profile: {error}; run the instrumented program again",
                path.display(),
                error.line()
            ),
            BadProfile::Version(path, version) => write!(
                f,
                "{}: the profile has version {version}, and this program reads version {}; \
                 instrument and run the program again",
                path.display(),
                file::VERSION
            ),
            BadProfile::Contradiction(path, key) => write!(
                f,
                "{}: the counts of the query `{key}` contradict each other; run the instrumented \
                 program again",
                path.display()
            ),
        }
    }
}

impl std::error::Error for BadProfile {}

#[cfg(test)]
mod tests;
