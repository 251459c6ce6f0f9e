//! Keys and names of tables in every order, through the public interface, on pages of the default
//! size and on small ones.

use std::collections::BTreeMap;

use clearway::{Database, Options, Table};
use clearway_testkit::{Lengths, Limits, Order, Pattern, Random, Step};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const LARGE_NODE: usize = 8192;
const SMALL_NODE: usize = 512;
/// Number of tables created in each order. In descending order there are more, enough for a chain
/// of catalogue leaves that no descent would follow to its end.
const TABLES: u64 = 40;
const TABLES_DESCENDING: u64 = 400;

fn options(node_bytes: usize) -> Options {
    Options::in_memory()
        .cache_size(4 << 20)
        .log_capacity(16 << 20)
        .checkpoint_every(2 << 20)
        .node_bytes(node_bytes)
}

/// Applies the steps in one transaction: by `transact`, `submit` or `begin`, in turn by round.
fn apply(db: &Database, table: &Table, some: &[Step], round: u64) {
    let all = |tx: &mut clearway::Transaction| {
        for step in some {
            match step {
                Step::Put { key, value } => drop(tx.put(table, key, value)?),
                Step::Delete { key } => tx.delete(table, key)?,
            }
        }
        Ok(())
    };
    match round % 3 {
        0 => db.transact("steps", all).unwrap(),
        1 => db.submit("steps", all).unwrap().wait().unwrap(),
        _ => {
            let mut tx = db.begin();
            all(&mut tx).unwrap();
            tx.commit().unwrap();
        }
    }
}

fn run(pattern: Pattern, node_bytes: usize, insertions: u64) {
    println!("{pattern} on pages of {node_bytes} bytes, {insertions} insertions");
    let db = options(node_bytes).open("patterns").unwrap();
    let table = db.table("t").unwrap();
    let mut model = Map::new();
    let mut steps = pattern.steps(insertions);
    for round in 0.. {
        let some: Vec<Step> = steps.by_ref().take(16).collect();
        if some.is_empty() {
            break;
        }
        apply(&db, &table, &some, round);
        for step in some {
            match step {
                Step::Put { key, value } => drop(model.insert(key, value)),
                Step::Delete { key } => drop(model.remove(&key)),
            }
        }
    }
    check(&db, &table, &model);
    db.close().unwrap();
}

fn check(db: &Database, table: &Table, model: &Map) {
    let rows = db.transact("read", |tx| tx.scan(table, ..).collect::<Result<Vec<_>, _>>());
    let rows: Map = rows.unwrap().into_iter().collect();
    assert!(rows == *model, "{} of {} rows", rows.len(), model.len());
    let gets = db.transact("get", |tx| {
        model.iter().map(|(key, value)| Ok(tx.get(table, key)?.as_ref() == Some(value))).collect()
    });
    let gets: Vec<bool> = gets.unwrap();
    assert!(gets.into_iter().all(|is_right| is_right));
    db.verify().unwrap();
}

#[test]
fn every_order_of_keys_is_read_back() {
    for order in Order::ALL {
        for (node_bytes, insertions) in [(SMALL_NODE, 420), (LARGE_NODE, 90)] {
            let random = &mut Random::new(order as u64);
            let pattern = Pattern::with_order(order, random, Limits::of_node(node_bytes));
            run(pattern, node_bytes, insertions);
        }
    }
}

#[test]
fn every_order_of_table_names_is_listed_and_opened() {
    let limits = Limits::of_node(SMALL_NODE);
    for order in Order::ALL.into_iter().filter(|order| order.is_distinct()) {
        let mut pattern = Pattern::with_order(order, &mut Random::new(1), limits);
        pattern.lengths = [Lengths::Longest, Lengths::Any][order as usize % 2];
        let count = match order {
            Order::Descending => TABLES_DESCENDING,
            _ => TABLES,
        };
        println!("{count} names, {pattern}");
        let db = options(SMALL_NODE).open("names").unwrap();
        let mut names: Vec<String> =
            (0..count).map(|n| pattern.table_name(n, limits.key_len_max)).collect();
        for name in &names {
            let table = db.create_table(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            db.transact("one row", |tx| tx.put(&table, b"name", name)).unwrap();
        }
        // Drop every second table, in the order of their creation.
        for name in names.iter().step_by(2) {
            db.drop_table(name).unwrap();
        }
        let mut nth = 0;
        names.retain(|_| {
            nth += 1;
            nth % 2 == 0
        });
        names.sort();
        assert_eq!(db.tables(), names);
        for name in &names {
            let table = db.open_table(name).unwrap();
            let found = db.transact("read", |tx| tx.get(&table, b"name")).unwrap();
            assert_eq!(found.as_deref(), Some(name.as_bytes()));
        }
        db.verify().unwrap();
        db.close().unwrap();
    }
}
