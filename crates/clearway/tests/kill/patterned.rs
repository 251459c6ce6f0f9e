//! A table for each incarnation, filled in one of the test kit's patterns, with a name that also
//! follows a pattern. A row in another table has the number of committed steps of the pattern, from
//! which the check computes what the table must contain, whenever the kill came.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `progress` | incarnation | number of committed steps |
//! | a name for each incarnation | keys of the pattern | values of the pattern |

use std::collections::BTreeMap;

use clearway::{Database, Result, Transaction};
use clearway_testkit::{Drawn, Lengths, Limits, Order, Pattern, Random, Step};

use crate::{
    Acknowledged, NO_CLIENT,
    bank::{Books, number},
    child::say,
};

/// The client that acknowledges the steps of incarnation 0; the numbers of the others follow.
const FIRST: u64 = NO_CLIENT << 1;
const PROGRESS: &str = "progress";
/// Insertions of an incarnation.
const INSERTIONS: u64 = 150;
/// Upper bound on the steps in a transaction.
const STEPS_MAX: u64 = 20;
/// Pages are of the default size.
const NODE_BYTES: usize = 8192;
const NAME_LEN_MAX: usize = 200;
/// Number of incarnations whose tables have different names.
const INCARNATIONS: u64 = 1 << 20;

/// Returns the order of an incarnation's keys. Successive incarnations go through all orders.
pub(crate) fn order_of(incarnation: u64) -> Order {
    Order::ALL[(incarnation % Order::ALL.len() as u64) as usize]
}

fn pattern(incarnation: u64) -> Pattern {
    Pattern::with_order(
        order_of(incarnation),
        &mut Random::new(incarnation),
        Limits::of_node(NODE_BYTES),
    )
}

/// Returns the name of an incarnation's table, which sorts before those of earlier incarnations.
fn table_name(incarnation: u64) -> String {
    let random = &mut Random::new(0);
    let names = Pattern::with_order(Order::Descending, random, Limits::of_node(NODE_BYTES));
    let names = Pattern { lengths: Lengths::Alternating, has_empty_key: false, ..names };
    names.table_name(incarnation % INCARNATIONS, NAME_LEN_MAX)
}

/// Continues the pattern of an incarnation after its last committed step.
pub(crate) fn fill(db: &Database, incarnation: u64, mut random: Random) -> Result<()> {
    let (table, progress) = (db.table(&table_name(incarnation))?, db.table(PROGRESS)?);
    let key = incarnation.to_be_bytes();
    let done = db.transact("progress", |tx| tx.get(&progress, key))?;
    let mut done = done.map_or(0, |row| number(&row, 0));
    let mut steps = pattern(incarnation).steps(INSERTIONS).skip(done as usize);
    loop {
        let some: Vec<Step> = steps.by_ref().take(1 + random.below(STEPS_MAX) as usize).collect();
        if some.is_empty() {
            return Ok(());
        }
        let after = done + some.len() as u64;
        let apply = |tx: &mut Transaction| {
            for step in &some {
                match step {
                    Step::Put { key, value } => drop(tx.put(&table, key, value)?),
                    Step::Delete { key } => tx.delete(&table, key)?,
                }
            }
            tx.put(&progress, key, after.to_be_bytes()).map(drop)
        };
        if random.below(6) == 0 {
            let mut tx = db.begin();
            apply(&mut tx)?;
            tx.rollback()?;
        }
        match random.below(3) {
            0 => db.submit("pattern", apply)?.wait()?,
            _ => db.transact("pattern", apply)?,
        }
        done = after;
        say(&format!("ack {} {done}\n", FIRST + incarnation));
    }
}

/// Panics unless each incarnation's table has the contents that its progress requires, and no
/// acknowledged step is missing. Returns the patterns that were found.
pub(crate) fn check(db: &Database, books: &Books, acknowledged: &Acknowledged) -> Drawn {
    let mut drawn = Drawn::default();
    let progress: BTreeMap<u64, u64> = match db.open_table(PROGRESS) {
        Ok(table) => {
            books.rows(&table).iter().map(|(key, row)| (number(key, 0), number(row, 0))).collect()
        }
        Err(_) => BTreeMap::new(),
    };
    for (client, acknowledged) in acknowledged.iter().filter(|(client, _)| **client >= FIRST) {
        let done = progress.get(&(client - FIRST)).copied().unwrap_or(0);
        assert!(
            done >= *acknowledged,
            "incarnation {}: {acknowledged} steps acknowledged, {done} found",
            client - FIRST
        );
    }
    for (incarnation, done) in progress {
        let pattern = pattern(incarnation);
        let mut model = BTreeMap::new();
        for step in pattern.steps(INSERTIONS).take(done as usize) {
            match step {
                Step::Put { key, value } => drop(model.insert(key, value)),
                Step::Delete { key } => drop(model.remove(&key)),
            }
        }
        let table = db.open_table(&table_name(incarnation)).unwrap();
        let rows: BTreeMap<_, _> = books.rows(&table).into_iter().collect();
        assert!(rows == model, "incarnation {incarnation}: {pattern} after {done} steps");
        drawn.note(&pattern);
    }
    drawn
}
