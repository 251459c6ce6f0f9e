//! The witness table: every run has it besides the tables of its workload. It must stay readable
//! and writable whatever happens to the others.

use std::ops::Bound;

use clearway_tree::{Direction, ReadIntent};

use clearway_testkit::Random;

use super::{Answer, Operation, Program, Verb, Write};

/// The name of the table. It sorts after the tables that the other workloads use first.
pub(crate) const WITNESS: &str = "witness";
/// The number of its rows.
const ROWS: u64 = 12;

fn row(number: u64, value: u64) -> Write {
    let key = format!("{number:03}").into_bytes();
    (WITNESS.into(), key, Verb::Put(value.to_be_bytes().to_vec()))
}

/// Returns the writes of the initial rows.
pub(crate) fn rows() -> impl Iterator<Item = Write> {
    (0..ROWS).map(|number| row(number, 0))
}

/// A transaction that changes one or two rows, or reads all of them.
pub(crate) struct Witness {
    left: u64,
    only_reads: bool,
}

impl Witness {
    pub(crate) fn new(random: &mut Random) -> Witness {
        let only_reads = random.one_in(2);
        Witness { left: if only_reads { 1 } else { random.between(1, 2) }, only_reads }
    }
}

impl Program for Witness {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        if self.left == 0 {
            return if random.one_in(8) { Operation::Rollback } else { Operation::Commit };
        }
        self.left -= 1;
        if self.only_reads {
            return Operation::Scan {
                table: WITNESS.into(),
                lower: Bound::Unbounded,
                upper: Bound::Unbounded,
                direction: random.pick(&[Direction::Ascending, Direction::Descending]),
                intent: ReadIntent::Read,
                limit: ROWS as usize,
            };
        }
        let (table, key, verb) = row(random.below(ROWS), random.next_u64());
        Operation::Write { table, key, verb }
    }
}
