//! Inserts and deletes runs of neighbouring keys, so that leaves become sparse, ghosts are
//! reclaimed and leaves merge, while readers look for keys that are no longer present.

use std::ops::Bound;

use clearway_testkit::Random;
use clearway_tree::{Direction, ReadIntent};

use super::{Answer, Operation, Program, Verb, Workload, Write};
use crate::oracles::State;

const TABLE: &str = "t";

/// See the module.
pub struct Vanishing {
    keys: u64,
    value_len: usize,
}

impl Vanishing {
    /// Draws the number of keys, which fill a few leaves or a few dozen.
    pub fn new(random: &mut Random) -> Vanishing {
        Vanishing { keys: random.pick(&[30, 100, 300]), value_len: random.pick(&[1, 20, 60]) }
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("{number:05}").into_bytes()
}

impl Workload for Vanishing {
    fn name(&self) -> &'static str {
        "vanishing"
    }

    fn tables(&self) -> Vec<String> {
        vec![TABLE.into()]
    }

    fn load(&mut self, _: &mut Random) -> Vec<Write> {
        let row = |number| {
            let value = vec![1; self.value_len];
            (TABLE.to_string(), key(number), Verb::Put(value))
        };
        (0..self.keys).map(row).collect()
    }

    fn program(&mut self, random: &mut Random, _: &State) -> Box<dyn Program> {
        let from = random.below(self.keys);
        if random.one_in(2) {
            return Box::new(Seeker { from, left: random.between(1, 3) });
        }
        let verb = if random.one_in(4) { Verb::Put(vec![2; self.value_len]) } else { Verb::Delete };
        Box::new(Sweeper { at: from, left: random.between(1, 12), verb })
    }
}

/// Reads a few keys and ranges near a key, and commits.
struct Seeker {
    from: u64,
    left: u64,
}

impl Program for Seeker {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        if self.left == 0 {
            return Operation::Commit;
        }
        self.left -= 1;
        let (table, number) = (TABLE.to_string(), self.from + random.below(4));
        if random.one_in(2) {
            return Operation::Get { table, key: key(number), intent: ReadIntent::Read };
        }
        Operation::Scan {
            table,
            lower: Bound::Included(key(number)),
            upper: Bound::Excluded(key(number + random.below(6))),
            direction: random.pick(&[Direction::Ascending, Direction::Descending]),
            intent: ReadIntent::Read,
            limit: 3,
        }
    }
}

/// Deletes or writes consecutive keys.
struct Sweeper {
    at: u64,
    left: u64,
    verb: Verb,
}

impl Program for Sweeper {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        if self.left == 0 {
            let rollback = random.one_in(8);
            return if rollback { Operation::Rollback } else { Operation::Commit };
        }
        (self.left, self.at) = (self.left - 1, self.at + 1);
        Operation::Write { table: TABLE.into(), key: key(self.at - 1), verb: self.verb.clone() }
    }
}
