//! The shape of tables after loads in each order, and after deletions: fill, chains, height, pages.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use clearway_base::PAGE_SIZE;
use clearway_disk::MemoryDisk;
use clearway_testkit::Random;
use clearway_tree::{Load, TreeReport};
use clearway_txn::{Engine, EngineOptions, Table};

use crate::rig::{commit, open_with, options};

/// Rows of 116 bytes and what a record takes beside: some 140 leaves of 60 rows.
const ROWS: u64 = 8_400;
const BATCH: usize = 50;

/// The numbers to insert, in order.
type Order = Box<dyn Iterator<Item = u64>>;

fn start() -> (Arc<Engine>, Table) {
    let engine = open_with(MemoryDisk::new(), EngineOptions { node_bytes: PAGE_SIZE, ..options() });
    let table = engine.create_table("t").unwrap();
    (engine, table)
}

fn key(n: u64) -> Vec<u8> {
    format!("{n:016}").into_bytes()
}

fn write(engine: &Arc<Engine>, table: &Table, order: Order, row: Option<&[u8]>) {
    let keys: Vec<u64> = order.collect();
    for (at, batch) in keys.chunks(BATCH).enumerate() {
        let mut txn = engine.begin();
        for &n in batch {
            match row {
                Some(value) => txn.insert(table, &key(n), value).unwrap(),
                None => txn.delete(table, &key(n)).unwrap(),
            }
        }
        commit(engine, txn);
        if at % 50 == 0 {
            engine.checkpoint().unwrap();
        }
    }
}

fn load(engine: &Arc<Engine>, table: &Table, order: Order) {
    write(engine, table, order, Some(&[7; 100]));
}

/// Has everything pending done, and looks at the table.
fn idle(engine: &Arc<Engine>) -> TreeReport {
    let pending = || (engine.stats().upkeep_leaves, engine.stats().upkeep_walks);
    for _ in 0..1_000 {
        engine.maintain().unwrap();
        if pending() == (0, 0) {
            break;
        }
    }
    assert_eq!(pending(), (0, 0));
    let report = engine.verify().unwrap().tables.swap_remove(1).report;
    report.check_idle().unwrap();
    report
}

#[track_caller]
fn check(order: Order, expected: Load) {
    let (engine, table) = start();
    load(&engine, &table, order);
    idle(&engine).check_fill(expected).unwrap();
}

fn shuffled(seed: u64) -> Order {
    let mut random = Random::new(seed);
    let mut numbers: Vec<u64> = (0..ROWS).collect();
    random.shuffle(&mut numbers);
    Box::new(numbers.into_iter())
}

#[test]
fn ascending_load_fills_the_leaves() {
    check(Box::new(0..ROWS), Load::Sequential);
}

#[test]
fn descending_load_fills_the_leaves() {
    check(Box::new((0..ROWS).rev()), Load::Sequential);
}

#[test]
fn interleaved_ascending_loads_fill_the_leaves() {
    check(Box::new((0..ROWS).map(|n| n % 7 * ROWS + n / 7)), Load::Sequential);
}

#[test]
fn interleaved_descending_loads_fill_the_leaves() {
    check(Box::new((0..ROWS).map(|n| (n % 7 + 1) * ROWS - n / 7)), Load::Sequential);
}

#[test]
fn load_in_front_of_some_rows_fills_the_leaves() {
    for rows in [1, 10, 20, 30] {
        let in_front = (ROWS * 2..ROWS * 2 + rows).chain(0..ROWS);
        check(Box::new(in_front), Load::Sequential);
    }
}

#[test]
fn random_load_fills_the_leaves_for_the_greater_part() {
    check(shuffled(1), Load::Random);
}

#[test]
fn refilled_leaves_are_not_nearly_empty() {
    type Part = fn(u64) -> bool;
    let parts: [Part; 3] = [|_| true, |n| n % 2 == 0, |n| n % 100 < 90];
    for (at, part) in parts.into_iter().enumerate() {
        let (engine, table) = start();
        load(&engine, &table, shuffled(2));
        let chosen = move || Box::new(shuffled(3 + at as u64).filter(move |n| part(*n)));
        write(&engine, &table, chosen(), None);
        idle(&engine);
        load(&engine, &table, chosen());
        idle(&engine).check_fill(Load::Refilled).unwrap();
    }
}

#[test]
fn emptied_table_comes_back_to_a_few_pages() {
    for descending in [false, true] {
        let (engine, table) = start();
        load(&engine, &table, Box::new(0..ROWS));
        let rows = 0..ROWS;
        let order: Order = if descending { Box::new(rows.rev()) } else { Box::new(rows) };
        write(&engine, &table, order, None);
        let report = idle(&engine);
        assert_eq!((report.records, report.ghosts), (0, 0));
    }
}

/// Sixteen threads in a row of keys each, half of them downwards, upkeep beside them.
#[test]
fn chains_stay_short_while_sixteen_threads_write() {
    const THREADS: u64 = 16;
    let options = EngineOptions { node_bytes: 1024, background: true, ..options() };
    let engine = open_with(MemoryDisk::new(), options);
    let table = engine.create_table("t").unwrap();
    let left = AtomicU64::new(THREADS);
    let mut looks = 0;
    thread::scope(|scope| {
        for part in 0..THREADS {
            let (engine, table, left) = (&engine, &table, &left);
            scope.spawn(move || {
                let rows =
                    (0..ROWS / THREADS).map(move |n| if part % 2 == 0 { n } else { ROWS - n });
                load(engine, table, Box::new(rows.map(move |n| part * 2 * ROWS + n)));
                left.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while left.load(Ordering::SeqCst) > 0 || looks == 0 {
            engine.verify().unwrap().tables[1].report.check_busy().unwrap();
            looks += 1;
        }
    });
    let report = idle(&engine);
    assert_eq!(report.records, ROWS);
}
