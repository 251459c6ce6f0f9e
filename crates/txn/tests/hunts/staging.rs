//! The fetch stage: what it answers, and that it leaves nothing but pages in memory.

use std::{ops::Bound, sync::Arc};

use clearway_base::{Error, PAGE_SIZE};
use clearway_disk::MemoryDisk;
use clearway_lock::AbsoluteMode;
use clearway_testkit::Random;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Kind, Savepoint, Table, TableCursor, Transaction};

use crate::rig::{check, commit, contents, open_with, options, put, seeds, start};

/// A transaction in the fetch stage.
fn fetching(engine: &Arc<Engine>) -> Transaction {
    let mut txn = engine.begin_as(Kind::NONE);
    txn.begin_fetch();
    assert!(txn.is_fetching());
    txn
}

/// The result of an operation, comparable.
fn answer<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error: {error}"),
    }
}

fn key(random: &mut Random) -> Vec<u8> {
    let n = random.below(60);
    format!("{n:02}").repeat(if n.is_multiple_of(7) { 8 } else { 1 }).into_bytes()
}

fn value(random: &mut Random) -> Vec<u8> {
    let len = match random.below(12) {
        0 => 9000 + random.below(9000),
        1 => 300,
        _ => random.below(40),
    };
    vec![random.next_u64() as u8; len as usize]
}

fn bound(random: &mut Random) -> Bound<Vec<u8>> {
    match random.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(key(random)),
        _ => Bound::Excluded(key(random)),
    }
}

/// Runs a program that depends on nothing but the seed and the answers. Returns the answers.
fn run(txn: &mut Transaction, tables: &[Table], seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut answers = Vec::new();
    let mut savepoints: Vec<Savepoint> = Vec::new();
    let mut cursor: Option<TableCursor> = None;
    for _ in 0..random.between(1, 60) {
        let table = random.pick(tables);
        let (at, bytes) = (key(&mut random), value(&mut random));
        answers.push(match random.below(16) {
            0..3 => answer(txn.get(&table, &at)),
            3 => answer(txn.get_for_update(&table, &at)),
            4 | 5 => answer(txn.put(&table, &at, &bytes)),
            6 => answer(txn.insert(&table, &at, &bytes)),
            7 => answer(txn.update(&table, &at, &bytes)),
            8 | 9 => answer(txn.delete(&table, &at)),
            10 => {
                savepoints.push(txn.savepoint().unwrap());
                savepoints.len().to_string()
            }
            11 if !savepoints.is_empty() => answer(txn.rollback_to(&random.pick(&savepoints))),
            12 => answer(txn.lock_table(&table, AbsoluteMode::Exclusive)),
            13 => {
                let direction = random.pick(&[Direction::Ascending, Direction::Descending]);
                let (low, high) = (bound(&mut random), bound(&mut random));
                let intent = random.pick(&[ReadIntent::Read, ReadIntent::Update]);
                cursor = Some(txn.cursor(&table, low, high, direction, intent).unwrap());
                "cursor".into()
            }
            _ => match &mut cursor {
                // What the transaction writes comes between the steps.
                Some(cursor) if random.one_in(2) => {
                    let advanced = cursor.advance(txn);
                    match matches!(advanced, Ok(true)) {
                        true => format!("{:?}", cursor.entry()),
                        false => answer(advanced),
                    }
                }
                Some(cursor) => answer(cursor.next(txn)),
                None => answer(txn.get(&table, b"")),
            },
        });
    }
    answers
}

#[test]
fn fetch_stage_alone_answers_what_the_operate_stage_answers() {
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let node_bytes = random.pick(&[256, 400, 1024]);
        let engine = open_with(MemoryDisk::new(), EngineOptions { node_bytes, ..options() });
        let tables = [engine.create_table("a").unwrap(), engine.create_table("b").unwrap()];
        for round in 0..4 {
            let program = random.next_u64();
            let mut fetch = fetching(&engine);
            let fetched = run(&mut fetch, &tables, program);
            let (pages, is_over) = fetch.end_fetch().unwrap();
            assert!(!is_over);
            let mut txn = engine.begin();
            let operated = run(&mut txn, &tables, program);
            assert_eq!(fetched, operated, "seed {seed}, round {round}");
            drop(pages);
            if random.one_in(4) { drop(txn) } else { commit(&engine, txn) }
        }
    }
}

#[test]
fn fetch_stage_leaves_no_lock_no_log_no_dirty_page_and_no_pin() {
    for seed in seeds(40) {
        let (_, engine, table) = start();
        let mut txn = engine.begin();
        let _ = run(&mut txn, std::slice::from_ref(&table), seed);
        commit(&engine, txn);
        engine.checkpoint().unwrap();
        let state = |engine: &Engine| (engine.log().end(), engine.stats().pool.dirty_pages);
        let (before, rows) = (state(&engine), contents(&engine, &table));
        let mut fetch = fetching(&engine);
        let _ = run(&mut fetch, std::slice::from_ref(&table), seed + 1);
        assert!(!engine.holdings().locks);
        drop(fetch.end_fetch().unwrap());
        assert_eq!(state(&engine), before);
        let holdings = engine.holdings();
        assert_eq!((holdings.transactions, holdings.locks, holdings.pages), (0, false, 0));
        assert_eq!(contents(&engine, &table), rows);
        check(&engine);
    }
}

#[test]
fn fetch_stage_waits_for_no_lock() {
    let (_, engine, table) = start();
    put(&engine, &table, "row", "old");
    let mut writer = engine.begin();
    writer.put(&table, b"row", b"new").unwrap();
    writer.lock_table(&table, AbsoluteMode::Exclusive).unwrap();
    let mut fetch = fetching(&engine);
    // It reads what is not committed: nothing of it is shown to anyone.
    assert_eq!(fetch.get(&table, b"row").unwrap().unwrap(), b"new");
    fetch.put(&table, b"row", b"mine").unwrap();
    assert_eq!(fetch.get(&table, b"row").unwrap().unwrap(), b"mine");
    drop(fetch);
    writer.rollback().unwrap();
    assert_eq!(crate::rig::get(&engine, &table, "row").as_deref(), Some("old"));
}

#[test]
fn operate_stage_reads_no_page_that_its_fetch_stage_has_kept() {
    let mut options = EngineOptions { node_bytes: PAGE_SIZE, ..options() };
    options.pool.cache_bytes = 256 * PAGE_SIZE as u64;
    let engine = open_with(MemoryDisk::new(), options);
    let table = engine.create_table("t").unwrap();
    let key = |row: u32| row.to_be_bytes();
    for rows in (0..8000u32).collect::<Vec<_>>().chunks(100) {
        let mut txn = engine.begin();
        rows.iter().for_each(|row| drop(txn.put(&table, &key(*row), &[7; 700])));
        commit(&engine, txn);
    }
    let evict = |engine: &Arc<Engine>| {
        let mut txn = engine.begin();
        (1000..8000).for_each(|row| drop(txn.get(&table, &key(row))));
    };
    evict(&engine);
    let run = |txn: &mut Transaction| {
        for row in (0..1000).step_by(40) {
            txn.get_for_update(&table, &key(row)).unwrap();
            txn.put(&table, &key(row), &[8; 700]).unwrap();
        }
    };
    // Some pages are in memory already when the fetch stage comes to them.
    (0..1000).step_by(80).for_each(|row| drop(engine.begin().get(&table, &key(row))));
    let reads = |engine: &Engine| engine.stats().pool.reads;
    let before = reads(&engine);
    let mut fetch = fetching(&engine);
    run(&mut fetch);
    let (pages, _) = fetch.end_fetch().unwrap();
    assert!(reads(&engine) > before && pages.is_whole());
    evict(&engine);
    let before = reads(&engine);
    let mut txn = engine.begin();
    run(&mut txn);
    assert_eq!(reads(&engine), before, "the operate stage read pages");
    drop((txn, pages));
}

#[test]
fn endless_fetch_stage_is_over_at_its_bound() {
    let (_, engine, table) = start();
    put(&engine, &table, "row", "v");
    let mut fetch = fetching(&engine);
    let mut operations = 0;
    while fetch.get(&table, b"row").is_ok() {
        operations += 1;
        assert!(operations < 10_000_000);
    }
    assert!(operations > 1000);
    for _ in 0..3 {
        assert!(matches!(fetch.put(&table, b"row", b""), Err(Error::Cancelled)));
    }
    assert!(fetch.end_fetch().unwrap().1);

    // Bytes count, too.
    let mut fetch = fetching(&engine);
    let mut written = 0;
    while fetch.put(&table, b"large", &vec![0; 1 << 20]).is_ok() {
        written += 1;
        assert!(written < 1000);
    }
    assert!(written > 3);
}

#[test]
fn cursor_of_a_fetch_stage_is_unknown_to_the_operate_stage() {
    let (_, engine, table) = start();
    put(&engine, &table, "row", "v");
    let all = || (Bound::Unbounded, Bound::Unbounded);
    let mut fetch = fetching(&engine);
    let (low, high) = all();
    let mut cursor =
        fetch.cursor(&table, low, high, Direction::Ascending, ReadIntent::Read).unwrap();
    let savepoint = fetch.savepoint().unwrap();
    drop(fetch.end_fetch());
    let mut txn = engine.begin();
    assert!(matches!(cursor.advance(&mut txn), Err(Error::TransactionEnded)));
    assert!(matches!(txn.rollback_to(&savepoint), Err(Error::UnknownSavepoint)));
}

#[test]
fn close_waits_for_a_fetch_stage_and_ends_its_operations() {
    let (disk, engine, table) = start();
    put(&engine, &table, "row", "v");
    let mut fetch = fetching(&engine);
    fetch.get(&table, b"row").unwrap();
    engine.close().unwrap();
    assert!(matches!(fetch.get(&table, b"row"), Err(Error::Closed)));
    assert!(matches!(
        Engine::open(Arc::new(disk.clone()), options()),
        Err(Error::AlreadyOpen { .. })
    ));
    drop(fetch);
    drop(crate::rig::open(&disk));
}
