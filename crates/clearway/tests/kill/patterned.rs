//! A table for each incarnation, filled in one of the test kit's patterns, with a name that also
//! follows a pattern. A row in another table has the number of committed steps of the pattern, from
//! which the check computes what the table must contain, whenever the kill came.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `progress` | incarnation | number of committed steps |
//! | a name for each incarnation | keys of the pattern | values of the pattern |

use std::collections::BTreeMap;

use clearway::{AsyncTransaction, Database, Result, Table, Transaction};
use clearway_testkit::{Drawn, Lengths, Limits, Order, Pattern, Random, Step};

use crate::{
    Acknowledged, NO_CLIENT,
    bank::{Books, number},
    child::{Driver, say},
    tasks,
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

/// Steps of a pattern that one transaction takes.
struct Part {
    table: Table,
    progress: Table,
    steps: Vec<Step>,
    /// The row of the progress: the incarnation, and the number of its steps afterwards.
    row: ([u8; 8], [u8; 8]),
}

impl Part {
    fn apply(&self, tx: &mut Transaction) -> Result<()> {
        for step in &self.steps {
            match step {
                Step::Put { key, value } => drop(tx.put(&self.table, key, value)?),
                Step::Delete { key } => tx.delete(&self.table, key)?,
            }
        }
        tx.put(&self.progress, self.row.0, self.row.1).map(drop)
    }

    async fn apply_as_task(&self, tx: &mut AsyncTransaction) -> Result<()> {
        for step in &self.steps {
            match step {
                Step::Put { key, value } => drop(tx.put(&self.table, key, value).await?),
                Step::Delete { key } => tx.delete(&self.table, key).await?,
            }
        }
        tx.put(&self.progress, self.row.0, self.row.1).await.map(drop)
    }

    /// Commits the steps, often after an attempt that is rolled back.
    fn commit(&self, db: &Database, random: &mut Random) -> Result<()> {
        if random.below(6) == 0 {
            let mut tx = db.begin();
            self.apply(&mut tx)?;
            tx.rollback()?;
        }
        match random.below(3) {
            0 => db.submit("pattern", |tx| self.apply(tx))?.wait(),
            _ => db.transact("pattern", |tx| self.apply(tx)),
        }
    }

    /// As [`commit`](Part::commit), for a task.
    async fn commit_as_task(&self, db: &Database, random: &mut Random) -> Result<()> {
        if random.below(6) == 0 {
            let mut tx = db.begin_async("pattern");
            self.apply_as_task(&mut tx).await?;
            if random.one_in(2) {
                tx.rollback().await?;
            }
        }
        db.transact_async("pattern", async |mut tx| self.apply_as_task(&mut tx).await).await
    }
}

/// Continues the pattern of an incarnation after its last committed step.
pub(crate) fn fill(
    db: &Database,
    incarnation: u64,
    driver: Driver,
    mut random: Random,
) -> Result<()> {
    let (table, progress) = (db.table(&table_name(incarnation))?, db.table(PROGRESS)?);
    let key = incarnation.to_be_bytes();
    let done = db.transact("progress", |tx| tx.get(&progress, key))?;
    let mut done = done.map_or(0, |row| number(&row, 0));
    let mut all = pattern(incarnation).steps(INSERTIONS).skip(done as usize);
    loop {
        let steps: Vec<Step> = all.by_ref().take(1 + random.below(STEPS_MAX) as usize).collect();
        if steps.is_empty() {
            return Ok(());
        }
        done += steps.len() as u64;
        let (table, progress) = (table.clone(), progress.clone());
        let part = Part { table, progress, steps, row: (key, done.to_be_bytes()) };
        match driver {
            Driver::Blocking => part.commit(db, &mut random)?,
            Driver::Tasks => tasks::block_on(part.commit_as_task(db, &mut random))?,
        }
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
    for (client, acknowledged) in
        acknowledged.highest.iter().filter(|(client, _)| **client >= FIRST)
    {
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
