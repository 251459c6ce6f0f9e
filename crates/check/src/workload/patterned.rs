//! The test kit's patterns under a history.
//!
//! The numbers of a history become keys of a pattern, ascending or descending and of any mixture of
//! lengths, so that its rows and gaps are spread over pages in other ways. And beside what the
//! history says, half of the transactions take a few steps of a run in a table of their own: the
//! pages split, merge and shrink in every order while others commit and roll back.

use clearway::{Error, Result, Table, Transaction};
use clearway_sync::Mutex;
use clearway_testkit::{Limits, Order, Pattern, Random, Step, Steps};

/// Insertions of a run.
const INSERTIONS: u64 = 400;
/// Steps that a transaction takes, at most.
const STEPS_MAX: u64 = 5;

/// See the module.
pub(super) struct Patterned {
    /// How numbers become keys.
    coding: Pattern,
    table: Table,
    run: Mutex<(Steps, Random)>,
}

/// The pattern of the run beside the history with this seed: the orders in turn.
pub fn pattern(seed: u64, node_bytes: usize) -> Pattern {
    let order = Order::ALL[(seed % Order::ALL.len() as u64) as usize];
    Pattern::with_order(order, &mut Random::new(seed), Limits::of_node(node_bytes))
}

impl Patterned {
    /// `table` takes the steps of the run.
    pub(super) fn new(table: Table, seed: u64, node_bytes: usize) -> Patterned {
        let mut random = Random::new(!seed);
        let order = random.pick(&[Order::Ascending, Order::Descending]);
        let coding = Pattern::with_order(order, &mut random, Limits::of_node(node_bytes));
        let coding = Pattern { has_empty_key: false, ..coding };
        let run = Mutex::new((pattern(seed, node_bytes).steps(INSERTIONS), random));
        Patterned { coding, table, run }
    }

    /// The key of a number.
    pub(super) fn key(&self, number: u64) -> Vec<u8> {
        self.coding.key(number)
    }

    /// The number of a key.
    pub(super) fn number(&self, key: &[u8]) -> u64 {
        self.coding.number(key)
    }

    /// Whether greater numbers have lesser keys.
    pub(super) fn is_descending(&self) -> bool {
        self.coding.order == Order::Descending
    }

    /// Takes some steps of the run, or none. What is rolled back is not taken again, so a key that
    /// is to be deleted may be missing.
    pub(super) fn advance(&self, tx: &mut Transaction) -> Result<()> {
        for step in self.next_steps() {
            match step {
                Step::Put { key, value } => drop(tx.put(&self.table, key, value)?),
                Step::Delete { key } => match tx.delete(&self.table, key) {
                    Ok(()) | Err(Error::NotFound) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(())
    }

    fn next_steps(&self) -> Vec<Step> {
        let mut run = self.run.lock();
        let (steps, random) = &mut *run;
        if random.one_in(2) {
            return Vec::new();
        }
        let count = random.between(1, STEPS_MAX) as usize;
        let some: Vec<Step> = steps.by_ref().take(count).collect();
        if some.len() < count {
            // The same keys again, over what is left of them.
            *steps = steps.pattern().steps(INSERTIONS);
        }
        some
    }
}
