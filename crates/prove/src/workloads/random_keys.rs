//! Random operations on random keys of a few tables: the workload with the widest coverage.

use std::{cell::RefCell, ops::Bound, rc::Rc};

use clearway_testkit::Random;
use clearway_tree::{Direction, ReadIntent};

use super::{Answer, Operation, Program, Values, Verb, Workload, Write};
use crate::oracles::State;

/// See the module.
pub struct RandomKeys {
    shape: Rc<Shape>,
}

struct Shape {
    keys: u64,
    /// One key in this many is three times as long.
    long_key_every: u64,
    operations_max: u64,
    /// The weights of get, scan, insert, put, update, delete, savepoint, and rollback to one.
    weights: [u32; 8],
    rollback_one_in: u64,
    values: RefCell<Values>,
}

impl RandomKeys {
    /// Draws the shape of the workload.
    pub fn new(random: &mut Random) -> RandomKeys {
        let weights = random.pick(&[
            [3, 1, 3, 3, 2, 3, 1, 1],
            [6, 4, 1, 1, 1, 1, 0, 0],
            [1, 1, 4, 2, 2, 4, 3, 4],
            [1, 0, 6, 2, 0, 1, 0, 0],
            [1, 1, 2, 1, 0, 7, 1, 1],
        ]);
        let shape = Shape {
            keys: random.pick(&[8, 40, 40, 200, 600]),
            long_key_every: random.pick(&[3, 7, 1000]),
            operations_max: random.pick(&[2, 6, 12, 30, 100]),
            weights,
            rollback_one_in: random.pick(&[3, 8, 20]),
            values: RefCell::new(Values::new(random)),
        };
        RandomKeys { shape: Rc::new(shape) }
    }

    /// Draws the shape of a workload whose transactions write several values that are longer than
    /// a node, and often roll back.
    pub fn with_large_values(random: &mut Random) -> RandomKeys {
        let shape = Shape {
            keys: random.pick(&[4, 12, 30]),
            long_key_every: 7,
            operations_max: random.pick(&[3, 6, 12]),
            weights: random.pick(&[[1, 0, 3, 5, 2, 1, 0, 0], [1, 1, 3, 4, 2, 2, 1, 1]]),
            rollback_one_in: random.pick(&[2, 8]),
            values: RefCell::new(Values::large(random)),
        };
        RandomKeys { shape: Rc::new(shape) }
    }
}

impl Shape {
    fn key(&self, random: &mut Random) -> Vec<u8> {
        let number = random.below(self.keys);
        let times = if number.is_multiple_of(self.long_key_every) { 3 } else { 1 };
        format!("{number:04}").repeat(times).into_bytes()
    }

    fn bound(&self, random: &mut Random) -> Bound<Vec<u8>> {
        match random.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.key(random)),
            _ => Bound::Excluded(self.key(random)),
        }
    }

    fn scan(&self, random: &mut Random, table: String) -> Operation {
        Operation::Scan {
            table,
            lower: self.bound(random),
            upper: self.bound(random),
            direction: random.pick(&[Direction::Ascending, Direction::Descending]),
            intent: intent(random),
            limit: random.pick(&[1, 4, 20]),
        }
    }
}

fn intent(random: &mut Random) -> ReadIntent {
    random.pick(&[ReadIntent::Read, ReadIntent::Read, ReadIntent::Read, ReadIntent::Update])
}

impl Workload for RandomKeys {
    fn name(&self) -> &'static str {
        "random keys"
    }

    fn tables(&self) -> Vec<String> {
        vec!["t".into(), "u".into()]
    }

    fn load(&mut self, random: &mut Random) -> Vec<Write> {
        let count = random.below(self.shape.keys);
        let row = |random: &mut Random| {
            let key = self.shape.key(random);
            ("t".to_string(), key, Verb::Put(self.shape.values.borrow_mut().next(random)))
        };
        (0..count).map(|_| row(random)).collect()
    }

    fn program(&mut self, random: &mut Random, state: &State) -> Box<dyn Program> {
        let tables: Vec<String> = state.tables().map(str::to_string).collect();
        let left = random.below(self.shape.operations_max + 1);
        let only_reads = random.one_in(4);
        Box::new(RandomProgram { shape: self.shape.clone(), tables, left, only_reads })
    }
}

/// Some random operations, and a commit or a rollback.
struct RandomProgram {
    shape: Rc<Shape>,
    tables: Vec<String>,
    left: u64,
    only_reads: bool,
}

impl Program for RandomProgram {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        let shape = &self.shape;
        if self.left == 0 || self.tables.is_empty() {
            let rollback = random.one_in(shape.rollback_one_in);
            return if rollback { Operation::Rollback } else { Operation::Commit };
        }
        self.left -= 1;
        // Most operations use the first table.
        let table =
            if random.one_in(5) { random.pick(&self.tables) } else { self.tables[0].clone() };
        let kinds = if self.only_reads { &shape.weights[..2] } else { &shape.weights[..] };
        let kind = random.weighted(kinds);
        let key = shape.key(random);
        let mut value = || shape.values.borrow_mut().next(random);
        let verb = match kind {
            0 => return Operation::Get { table, key, intent: intent(random) },
            1 => return shape.scan(random, table),
            2 => Verb::Insert(value()),
            3 => Verb::Put(value()),
            4 => Verb::Update(value()),
            5 => Verb::Delete,
            6 => return Operation::Savepoint,
            _ => return Operation::RollbackTo(random.below(8) as usize),
        };
        Operation::Write { table, key, verb }
    }
}
