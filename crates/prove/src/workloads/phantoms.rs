//! Readers that scan a range twice, and concurrent writers that insert and delete keys in it.
//!
//! The lane's model detects a phantom in the second scan, and its footprints detect the write that
//! creates one.

use std::ops::Bound;

use clearway_testkit::Random;
use clearway_tree::{Direction, ReadIntent};

use super::{Answer, Operation, Program, Verb, Workload, Write};
use crate::oracles::State;

const TABLE: &str = "t";

/// See the module.
pub struct Phantoms {
    keys: u64,
    value_len: usize,
}

impl Phantoms {
    /// Draws the number of keys, which fill one leaf to a few dozen.
    pub fn new(random: &mut Random) -> Phantoms {
        let keys = random.pick(&[6, 20, 60, 200]);
        Phantoms { keys, value_len: random.pick(&[1, 20, 60]) }
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("{number:05}").into_bytes()
}

impl Workload for Phantoms {
    fn name(&self) -> &'static str {
        "phantoms"
    }

    fn tables(&self) -> Vec<String> {
        vec![TABLE.into()]
    }

    fn load(&mut self, random: &mut Random) -> Vec<Write> {
        let row = |number| {
            let value = vec![1; self.value_len];
            (TABLE.to_string(), key(number), Verb::Put(value))
        };
        (0..self.keys).filter(|_| random.one_in(2)).map(row).collect()
    }

    fn program(&mut self, random: &mut Random, _: &State) -> Box<dyn Program> {
        if random.one_in(2) {
            let (from, to) = (random.below(self.keys), random.below(self.keys));
            let (low, high) = (key(from.min(to)), key(from.max(to)));
            let lower = random.pick(&[
                Bound::Included(low.clone()),
                Bound::Excluded(low),
                Bound::Unbounded,
            ]);
            let upper = random.pick(&[
                Bound::Included(high.clone()),
                Bound::Excluded(high),
                Bound::Unbounded,
            ]);
            let direction = random.pick(&[Direction::Ascending, Direction::Descending]);
            return Box::new(Reader { lower, upper, direction, left: 2, keys: self.keys });
        }
        let (keys, value_len) = (self.keys, self.value_len);
        Box::new(Writer { keys, value_len, left: random.between(1, 5) })
    }
}

struct Reader {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    left: u32,
    keys: u64,
}

impl Program for Reader {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        if self.left == 0 {
            return Operation::Commit;
        }
        if random.one_in(4) {
            let (key, intent) = (key(random.below(self.keys)), ReadIntent::Read);
            return Operation::Get { table: TABLE.into(), key, intent };
        }
        self.left -= 1;
        Operation::Scan {
            table: TABLE.into(),
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            direction: self.direction,
            intent: ReadIntent::Read,
            limit: random.pick(&[1, 3, usize::MAX]),
        }
    }
}

struct Writer {
    keys: u64,
    value_len: usize,
    left: u64,
}

impl Program for Writer {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        if self.left == 0 {
            let rollback = random.one_in(6);
            return if rollback { Operation::Rollback } else { Operation::Commit };
        }
        self.left -= 1;
        let (table, key) = (TABLE.to_string(), key(random.below(self.keys)));
        let value = vec![random.below(256) as u8; self.value_len];
        let verb = match random.below(4) {
            0 | 1 => Verb::Insert(value),
            2 => Verb::Delete,
            _ => Verb::Put(value),
        };
        Operation::Write { table, key, verb }
    }
}
