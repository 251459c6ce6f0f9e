//! What the transactions of a simulation do.
//!
//! A [`Workload`] gives out [`Program`]s; a program says operation after operation, and is told the
//! answer to each. It knows nothing of blocking, faults and crashes: the lane repeats an operation
//! that would block, and ends a transaction whenever it likes.

mod bank;
mod counters;
mod patterns;
mod phantoms;
mod random_keys;
mod vanishing;
mod witness;

use std::ops::Bound;

use clearway_testkit::Pattern;
use clearway_tree::{Direction, ReadIntent};

use crate::{
    oracles::{State, Verdict},
    random::Random,
};

pub use bank::Bank;
pub use counters::Counters;
pub use patterns::Patterns;
pub use phantoms::Phantoms;
pub use random_keys::RandomKeys;
pub use vanishing::Vanishing;
pub(crate) use witness::{WITNESS, Witness, rows as witness_rows};

/// What a transaction does next.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Reads a key, present or not.
    Get {
        /// The table.
        table: String,
        /// The key.
        key: Vec<u8>,
        /// Whether a write will follow.
        intent: ReadIntent,
    },
    /// Reads up to so many entries of a range.
    Scan {
        /// The table.
        table: String,
        /// Where the range begins.
        lower: Bound<Vec<u8>>,
        /// Where it ends.
        upper: Bound<Vec<u8>>,
        /// Upwards or downwards.
        direction: Direction,
        /// Whether writes will follow.
        intent: ReadIntent,
        /// Entries at most.
        limit: usize,
    },
    /// Writes a key.
    Write {
        /// The table.
        table: String,
        /// The key.
        key: Vec<u8>,
        /// What is written.
        verb: Verb,
    },
    /// Marks a state to come back to.
    Savepoint,
    /// Comes back to a savepoint, counted modulo those there are; nothing if there is none.
    RollbackTo(usize),
    /// Ends the transaction.
    Commit,
    /// Ends the transaction as if it had not been.
    Rollback,
}

/// How a key is written.
#[derive(Clone, Debug)]
pub enum Verb {
    /// If it is absent.
    Insert(Vec<u8>),
    /// Whether or not it is there.
    Put(Vec<u8>),
    /// If it is there.
    Update(Vec<u8>),
    /// Away with it, if it is there.
    Delete,
}

/// A write: table, key, and how it is written.
pub type Write = (String, Vec<u8>, Verb);

/// What came of an operation.
#[derive(Clone, Debug, Default)]
pub enum Answer {
    /// There is nothing to tell, or this is the beginning.
    #[default]
    Done,
    /// A key was there when it should not be, or the other way round.
    Refused,
    /// What a key has.
    Value(Option<Vec<u8>>),
    /// What a range has.
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
}

/// One transaction's mind.
pub trait Program {
    /// The next operation, now that the one before has had this answer.
    fn next(&mut self, random: &mut Random, answer: &Answer) -> Operation;
}

/// A kind of transactions, and what they keep true together.
pub trait Workload {
    /// Its name, for summaries.
    fn name(&self) -> &'static str;

    /// The tables it needs.
    fn tables(&self) -> Vec<String>;

    /// The writes that make what is there at the beginning.
    fn load(&mut self, random: &mut Random) -> Vec<Write>;

    /// A transaction, begun when the database says `state`.
    fn program(&mut self, random: &mut Random, state: &State) -> Box<dyn Program>;

    /// The name of a table to create, or to drop if it is there.
    fn changing_table(&self, random: &mut Random) -> String {
        format!("x{}", random.below(3))
    }

    /// The patterns of keys that it has used so far.
    fn drawn(&self) -> Vec<Pattern> {
        Vec::new()
    }

    /// What its transactions keep true.
    ///
    /// # Errors
    /// If it is not.
    fn check(&self, _state: &State) -> Verdict {
        Ok(())
    }
}

/// Values from a few bytes to several pages, each different from all others.
pub(crate) struct Values {
    serial: u64,
    /// One in so many is longer than a node; 0 for none.
    long_one_in: u64,
    short_max: u64,
}

impl Values {
    pub(crate) fn new(random: &mut Random) -> Values {
        let long_one_in = random.pick(&[0, 0, 40, 12]);
        let short_max = random.pick(&[8, 40, 100]);
        Values { serial: 0, long_one_in, short_max }
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

/// The number that stands at the head of a value.
pub(crate) fn number(value: &[u8]) -> i64 {
    value.first_chunk::<8>().map_or(0, |head| i64::from_be_bytes(*head))
}
