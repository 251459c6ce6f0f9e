//! Keys and values in one of the test kit's patterns, and tables whose names also follow a pattern.

use std::{cell::RefCell, ops::Bound, rc::Rc};

use clearway_testkit::{Limits, Pattern, Random, Step, Steps, Values};
use clearway_tree::{Direction, ReadIntent};

use super::{Answer, Operation, Program, Verb, Workload, Write};
use crate::oracles::State;

const TABLE: &str = "t";
/// The approximate number of bytes of keys and values in one run. It is small because the log is
/// small, and a seed is to take milliseconds.
const RUN_BYTES: u64 = 90_000;
/// The longest name of a table, if the catalogue's keys may be longer.
const NAME_MAX: usize = 60;

/// See the module.
pub struct Patterns {
    shape: Rc<Shape>,
    names: Pattern,
    /// The number of initial tables with names in the pattern of `names`.
    name_count: u64,
}

struct Shape {
    limits: Limits,
    insertions_max: u64,
    run: RefCell<Steps>,
    drawn: RefCell<Vec<Pattern>>,
    operations_max: u64,
    rollback_one_in: u64,
}

/// The default page size. In a run of a few hundred records, only large ones split such pages.
const LARGE_NODE: usize = 8192;

/// Draws a pattern within `limits`, which follow from the page size.
fn draw(random: &mut Random, limits: Limits) -> Pattern {
    let mut pattern = Pattern::draw(random, limits);
    if limits == Limits::of_node(LARGE_NODE) {
        pattern.values = random.pick(&[Values::Medium, Values::Inline, Values::Waves]);
    }
    pattern
}

/// Draws a number of insertions: at most as many as fit into `RUN_BYTES`.
fn insertions(pattern: &Pattern, max: u64, random: &mut Random) -> u64 {
    let sample = (0..24).map(|n| pattern.key(n).len() + pattern.value_len(n) + 16).sum::<usize>();
    let most = (RUN_BYTES * 24 / sample as u64).clamp(12, max);
    random.between(most / 4, most)
}

impl Patterns {
    /// Draws the patterns and the frequencies, for pages of `node_bytes`.
    pub fn new(random: &mut Random, node_bytes: usize) -> Patterns {
        let limits = Limits::of_node(node_bytes);
        let insertions_max = random.pick(&[40, 120, 480]);
        let pattern = draw(random, limits);
        let count = insertions(&pattern, insertions_max, random);
        let shape = Shape {
            limits,
            insertions_max,
            run: RefCell::new(pattern.steps(count)),
            drawn: RefCell::new(vec![pattern]),
            operations_max: random.pick(&[2, 6, 20, 60]),
            rollback_one_in: random.pick(&[3, 8, 20]),
        };
        let names = Pattern::draw(random, limits);
        Patterns { shape: Rc::new(shape), names, name_count: random.pick(&[0, 0, 0, 0, 10, 40]) }
    }

    fn name_of(&self, n: u64) -> String {
        self.names.table_name(n, self.shape.limits.key_len_max.min(NAME_MAX))
    }
}

impl Shape {
    /// Returns the next step of the run, or the first step of a new run if this one is over.
    fn step(&self, random: &mut Random) -> Operation {
        let mut run = self.run.borrow_mut();
        let step = run.next().unwrap_or_else(|| {
            let pattern = draw(random, self.limits);
            *run = pattern.steps(insertions(&pattern, self.insertions_max, random));
            self.drawn.borrow_mut().push(pattern);
            run.next().expect("a run has insertions")
        });
        let (key, verb) = verb_of(step);
        Operation::Write { table: TABLE.into(), key, verb }
    }

    /// Draws a key that the run inserts, has inserted, or has deleted.
    fn key(&self, random: &mut Random) -> Vec<u8> {
        self.run.borrow().pattern().key(random.below(self.insertions_max))
    }

    fn read(&self, random: &mut Random) -> Operation {
        let (table, key) = (TABLE.to_string(), self.key(random));
        if random.one_in(2) {
            return Operation::Get { table, key, intent: ReadIntent::Read };
        }
        let direction = random.pick(&[Direction::Ascending, Direction::Descending]);
        let (lower, upper) = match direction {
            Direction::Ascending => (Bound::Included(key), Bound::Unbounded),
            Direction::Descending => (Bound::Unbounded, Bound::Excluded(key)),
        };
        let limit = random.pick(&[1, 4, 12]);
        Operation::Scan { table, lower, upper, direction, intent: ReadIntent::Read, limit }
    }
}

fn verb_of(step: Step) -> (Vec<u8>, Verb) {
    match step {
        Step::Put { key, value } => (key, Verb::Put(value)),
        Step::Delete { key } => (key, Verb::Delete),
    }
}

impl Workload for Patterns {
    fn name(&self) -> &'static str {
        "patterns"
    }

    fn tables(&self) -> Vec<String> {
        let names = (0..self.name_count).map(|n| self.name_of(n));
        let mut tables: Vec<String> = std::iter::once(TABLE.into()).chain(names).collect();
        // A pattern may repeat a name.
        let mut seen = std::collections::BTreeSet::new();
        tables.retain(|name| seen.insert(name.clone()));
        tables
    }

    fn load(&mut self, random: &mut Random) -> Vec<Write> {
        let all = self.shape.run.borrow().clone().count() as u64;
        let count = random.below(all + 1) as usize;
        let mut run = self.shape.run.borrow_mut();
        let rows = run.by_ref().take(count).map(verb_of);
        rows.map(|(key, verb)| (TABLE.to_string(), key, verb)).collect()
    }

    fn program(&mut self, random: &mut Random, _: &State) -> Box<dyn Program> {
        let left = random.below(self.shape.operations_max + 1);
        Box::new(PatternProgram { shape: self.shape.clone(), left, only_reads: random.one_in(5) })
    }

    fn changing_table(&self, random: &mut Random) -> String {
        self.name_of(random.below(self.name_count.max(3)))
    }

    fn drawn(&self) -> Vec<Pattern> {
        self.shape.drawn.borrow().clone()
    }
}

/// Some steps of the run, and a commit or a rollback.
struct PatternProgram {
    shape: Rc<Shape>,
    left: u64,
    only_reads: bool,
}

impl Program for PatternProgram {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        if self.left == 0 {
            let rollback = random.one_in(self.shape.rollback_one_in);
            return if rollback { Operation::Rollback } else { Operation::Commit };
        }
        self.left -= 1;
        match random.below(40) {
            _ if self.only_reads => self.shape.read(random),
            0 => Operation::Savepoint,
            1 => Operation::RollbackTo(random.below(4) as usize),
            2..6 => self.shape.read(random),
            _ => self.shape.step(random),
        }
    }
}
