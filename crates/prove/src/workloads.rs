//! The workloads: generators of the transactions of a simulation.
//!
//! A [`Workload`] returns [`Program`]s. A program returns one operation after the other, and
//! receives the result of each. It does not handle blocking, faults and crashes: the lane repeats
//! an operation that would block, and may end a transaction at any time.

mod bank;
mod counters;
mod patterns;
mod phantoms;
mod random_keys;
mod vanishing;
mod witness;

use std::ops::Bound;

use clearway_testkit::{Pattern, Random};
use clearway_tree::{Direction, ReadIntent};

use crate::oracles::{State, Verdict};

pub use bank::Bank;
pub use counters::Counters;
pub use patterns::Patterns;
pub use phantoms::Phantoms;
pub use random_keys::RandomKeys;
pub use vanishing::Vanishing;
pub(crate) use witness::{WITNESS, Witness, rows as witness_rows};

/// An operation of a transaction.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Reads a key, present or not.
    Get {
        /// The table.
        table: String,
        /// The key.
        key: Vec<u8>,
        /// The intent: to read only, or to write the key later.
        intent: ReadIntent,
    },
    /// Reads at most `limit` entries of a range.
    Scan {
        /// The table.
        table: String,
        /// The lower bound of the range.
        lower: Bound<Vec<u8>>,
        /// The upper bound of the range.
        upper: Bound<Vec<u8>>,
        /// The direction of the scan.
        direction: Direction,
        /// The intent: to read only, or to write the keys later.
        intent: ReadIntent,
        /// The maximum number of entries.
        limit: usize,
    },
    /// Writes a key.
    Write {
        /// The table.
        table: String,
        /// The key.
        key: Vec<u8>,
        /// The kind of write, with the new value.
        verb: Verb,
    },
    /// Sets a savepoint.
    Savepoint,
    /// Rolls back to the savepoint of this index, modulo their number; no effect if there is none.
    RollbackTo(usize),
    /// Commits the transaction.
    Commit,
    /// Rolls the transaction back.
    Rollback,
}

/// A kind of write.
#[derive(Clone, Debug)]
pub enum Verb {
    /// Writes the key if it is absent.
    Insert(Vec<u8>),
    /// Writes the key, present or not.
    Put(Vec<u8>),
    /// Writes the key if it is present.
    Update(Vec<u8>),
    /// Deletes the key if it is present.
    Delete,
}

/// A write: table, key, and the kind of write.
pub type Write = (String, Vec<u8>, Verb);

/// The result of an operation.
#[derive(Clone, Debug, Default)]
pub enum Answer {
    /// The operation has no result, or the program has not started yet.
    #[default]
    Done,
    /// The operation failed: an inserted key was present, a key to update or delete was absent, or
    /// the table no longer exists.
    Refused,
    /// The value of a key, if it is present.
    Value(Option<Vec<u8>>),
    /// The entries of a range.
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
}

/// The logic of one transaction.
pub trait Program {
    /// Returns the next operation; `answer` is the result of the one before.
    fn next(&mut self, random: &mut Random, answer: &Answer) -> Operation;

    /// Returns a program in the same state; `None` if the operations do not depend on the answers.
    fn copy(&self) -> Option<Box<dyn Program>> {
        None
    }
}

/// A kind of transactions, and the invariant that all of them preserve.
pub trait Workload {
    /// Returns its name, for summaries.
    fn name(&self) -> &'static str;

    /// Returns the names of the tables that it needs.
    fn tables(&self) -> Vec<String>;

    /// Returns the writes that create the initial contents.
    fn load(&mut self, random: &mut Random) -> Vec<Write>;

    /// Returns a transaction, which begins when the contents are `state`.
    fn program(&mut self, random: &mut Random, state: &State) -> Box<dyn Program>;

    /// Returns the name of a table to create, or to drop if it exists.
    fn changing_table(&self, random: &mut Random) -> String {
        format!("x{}", random.below(3))
    }

    /// Returns the patterns of keys used so far.
    fn drawn(&self) -> Vec<Pattern> {
        Vec::new()
    }

    /// Checks the invariant that its transactions preserve.
    ///
    /// # Errors
    /// If `_state` violates it.
    fn check(&self, _state: &State) -> Verdict {
        Ok(())
    }
}

/// A generator of values from a few bytes to several pages, each different from all others.
pub(crate) struct Values {
    serial: u64,
    /// One value in this many is longer than a node; 0 for none.
    long_one_in: u64,
    short_max: u64,
}

impl Values {
    pub(crate) fn new(random: &mut Random) -> Values {
        let long_one_in = random.pick(&[0, 0, 40, 12]);
        let short_max = random.pick(&[8, 40, 100]);
        Values { serial: 0, long_one_in, short_max }
    }

    /// Values of which most are longer than a node.
    pub(crate) fn large(random: &mut Random) -> Values {
        Values { serial: 0, long_one_in: random.pick(&[1, 2]), short_max: 40 }
    }

    pub(crate) fn next(&mut self, random: &mut Random) -> Vec<u8> {
        self.serial += 1;
        let len = if self.long_one_in > 0 && random.one_in(self.long_one_in) {
            random.pick(&[300, 2000, 9000, 20000])
        } else {
            random.below(self.short_max)
        };
        let mut value = vec![self.serial as u8; len as usize + 4];
        value[..4].copy_from_slice(&(self.serial as u32).to_be_bytes());
        value
    }
}

/// Returns the number in the first 8 bytes of a value; 0 if it is shorter.
pub(crate) fn number(value: &[u8]) -> i64 {
    value.first_chunk::<8>().map_or(0, |head| i64::from_be_bytes(*head))
}
