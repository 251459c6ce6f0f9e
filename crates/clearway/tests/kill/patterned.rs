//! A table for each life, filled in one of the test kit's patterns, with a name that follows one
//! too. A row of its own says how many steps of the pattern have been committed, so what must be in
//! the table is known whatever the kill left.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `progress` | life | steps that are committed |
//! | a name for each life | keys of the pattern | values of the pattern |

use std::collections::BTreeMap;

use clearway::{Database, Result, Transaction};
use clearway_testkit::{Drawn, Lengths, Limits, Order, Pattern, Random, Step};

use crate::{
    Acknowledged, NO_CLIENT,
    bank::{Books, number},
    child::say,
};

/// The client that acknowledges the steps of life 0; the other lives follow.
const FIRST: u64 = NO_CLIENT << 1;
const PROGRESS: &str = "progress";
/// Insertions of a life.
const INSERTIONS: u64 = 150;
/// Steps in a transaction, at most.
const STEPS_MAX: u64 = 20;
/// Pages are of the default size.
const NODE_BYTES: usize = 8192;
const NAME_LEN_MAX: usize = 200;
/// Lives whose tables have different names.
const LIVES: u64 = 1 << 20;

/// The order of a life's keys: all in turn.
pub(crate) fn order_of(life: u64) -> Order {
    Order::ALL[(life % Order::ALL.len() as u64) as usize]
}

fn pattern(life: u64) -> Pattern {
    Pattern::with_order(order_of(life), &mut Random::new(life), Limits::of_node(NODE_BYTES))
}

/// Each life's table sorts in front of those of the lives before.
fn table_name(life: u64) -> String {
    let random = &mut Random::new(0);
    let names = Pattern::with_order(Order::Descending, random, Limits::of_node(NODE_BYTES));
    let names = Pattern { lengths: Lengths::Alternating, has_empty_key: false, ..names };
    names.table_name(life % LIVES, NAME_LEN_MAX)
}

/// Goes on with the pattern of a life where it stands.
pub(crate) fn fill(db: &Database, life: u64, mut random: Random) -> Result<()> {
    let (table, progress) = (db.table(&table_name(life))?, db.table(PROGRESS)?);
    let key = life.to_be_bytes();
    let done = db.transact("progress", |tx| tx.get(&progress, key))?;
    let mut done = done.map_or(0, |row| number(&row, 0));
    let mut steps = pattern(life).steps(INSERTIONS).skip(done as usize);
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
        say(&format!("ack {} {done}\n", FIRST + life));
    }
}

/// Panics unless each life's table is as its progress says, and no acknowledged step is missing.
/// Answers which patterns there are.
pub(crate) fn check(db: &Database, books: &Books, acknowledged: &Acknowledged) -> Drawn {
    let mut drawn = Drawn::default();
    let progress: BTreeMap<u64, u64> = match db.open_table(PROGRESS) {
        Ok(table) => {
            books.rows(&table).iter().map(|(key, row)| (number(key, 0), number(row, 0))).collect()
        }
        Err(_) => BTreeMap::new(),
    };
    for (client, told) in acknowledged.iter().filter(|(client, _)| **client >= FIRST) {
        let done = progress.get(&(client - FIRST)).copied().unwrap_or(0);
        assert!(done >= *told, "life {}: {told} steps acknowledged, {done} found", client - FIRST);
    }
    for (life, done) in progress {
        let pattern = pattern(life);
        let mut model = BTreeMap::new();
        for step in pattern.steps(INSERTIONS).take(done as usize) {
            match step {
                Step::Put { key, value } => drop(model.insert(key, value)),
                Step::Delete { key } => drop(model.remove(&key)),
            }
        }
        let table = db.open_table(&table_name(life)).unwrap();
        let rows: BTreeMap<_, _> = books.rows(&table).into_iter().collect();
        assert!(rows == model, "life {life}: {pattern} after {done} steps");
        drawn.note(&pattern);
    }
    drawn
}
