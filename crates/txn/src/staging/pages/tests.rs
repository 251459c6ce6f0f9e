//! Pages that are absent when a step is to be tried.

use std::sync::Arc;

use clearway_base::PAGE_SIZE;
use clearway_disk::MemoryDisk;
use clearway_tree::WayEnd;

use crate::{Engine, EngineOptions, Table, Transaction, kinds::Kind};

const KEYS: u32 = 300;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn filled(engine: &Arc<Engine>, name: &str, keys: u32) -> Table {
    let table = engine.create_table(name).unwrap();
    let mut txn = engine.begin();
    (0..keys).for_each(|n| _ = txn.put(&table, &key(n), &[7; 20]).unwrap());
    txn.commit().unwrap();
    table
}

/// Runs a step that needs no page, at the leaf of a key. Returns true if it counts.
fn counts(fetch: &mut Transaction, table: &Table, key: &[u8]) -> bool {
    let stage = fetch.stage().unwrap();
    let at = stage.memory.place_of(table.id());
    stage.at_once(table.tree(), at, key, |_, _, _| Ok(())).is_some()
}

#[test]
fn step_counts_only_if_the_pages_on_its_way_were_kept() {
    let mut options = EngineOptions { node_bytes: 512, ..EngineOptions::simulation() };
    options.pool.cache_bytes = 64 * PAGE_SIZE as u64;
    let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
    let table = filled(&engine, "cold", KEYS);
    filled(&engine, "large", 20 * KEYS);
    let mut fetch = engine.begin_as(Kind::NONE);
    fetch.begin_fetch();
    // The branches that lead to this leaf also lead to others, which are absent.
    fetch.get(&table, &key(0)).unwrap();
    let is_absent = |n: &u32| {
        let tree = table.tree();
        let end = tree.visit_branches(&key(*n), |_| ());
        matches!(end, WayEnd::Leaf(leaf) if tree.absent_on_way(&key(*n)) == Some(leaf))
    };
    let absent = (0..KEYS).find(is_absent).expect("a leaf that is absent");
    assert!(counts(&mut fetch, &table, &key(0)));
    assert!(!counts(&mut fetch, &table, &key(absent)));
    fetch.get(&table, &key(absent)).unwrap();
    assert!(counts(&mut fetch, &table, &key(absent)));
    assert!(fetch.end_fetch().unwrap().pages.count() >= 3);
}
