//! Key patterns of the test kit as the keys of a history.
//!
//! The numbers of a history become keys of a pattern, ascending or descending and of any mixture of
//! lengths, so that its rows and gaps are spread over pages in different ways. In addition, half of
//! the transactions take a few steps of a pattern's run in a separate table: its pages split, merge
//! and shrink in every order while other transactions commit and roll back.

use clearway::{Error, Result, Table, Transaction};
use clearway_sync::Mutex;
use clearway_testkit::{Limits, Order, Pattern, Random, Step, Steps};

/// Number of insertions of a run.
const INSERTIONS: u64 = 400;
/// Upper bound on the steps that a transaction takes.
const STEPS_MAX: u64 = 5;

/// The patterns of one history; see the module.
pub(super) struct Patterned {
    /// The pattern that maps numbers to keys.
    coding: Pattern,
    table: Table,
    run: Mutex<(Steps, Random)>,
}

/// The pattern of the additional run for the history with this seed. Consecutive seeds rotate
/// through the orders.
pub fn pattern(seed: u64, node_bytes: usize) -> Pattern {
    let order = Order::ALL[(seed % Order::ALL.len() as u64) as usize];
    Pattern::with_order(order, &mut Random::new(seed), Limits::of_node(node_bytes))
}

impl Patterned {
    /// The patterns for `seed`; the steps of the run go to `table`.
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

    /// Takes some steps of the run, or none. Steps that were rolled back are not repeated, so a key
    /// to delete may be missing.
    pub(super) fn advance(&self, tx: &mut Transaction) -> Result<()> {
        for step in self.next_steps() {
            match step {
                Step::Put { key, value } => drop(tx.put(&self.table, key, value)?),
                Step::Delete { key } => match tx.delete(&self.table, key) {
                    Ok(()) | Err(Error::NotFound { .. }) => {}
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
            // Insert the same keys again, over those that are left.
            *steps = steps.pattern().steps(INSERTIONS);
        }
        some
    }
}
