//! The fetch stage: what it answers, and that it leaves nothing but pages in memory.

mod surroundings;

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
            let fetch = fetch.end_fetch().unwrap();
            assert!(!fetch.is_cut_short);
            let pages = fetch.pages;
            let mut txn = engine.begin();
            let operated = run(&mut txn, &tables, program);
            assert_same(&fetched, &operated, &format!("seed {seed}, round {round}"));
            drop(pages);
            if random.one_in(4) { drop(txn) } else { commit(&engine, txn) }
        }
    }
}

/// Checks that two runs have the same answers. Shows the beginning of the first that differs.
fn assert_same(left: &[String], right: &[String], context: &str) {
    assert_eq!(left.len(), right.len(), "{context}");
    for (at, (left, right)) in left.iter().zip(right).enumerate() {
        assert!(left == right, "{context}, answer {at}: {left:.80} instead of {right:.80}");
    }
}

/// A database with tables that are not in its cache, and one that drives the others out.
fn cold(node_bytes: usize, seed: u64) -> (Arc<Engine>, Vec<Table>, Table) {
    let mut options = EngineOptions { node_bytes, ..options() };
    options.pool.cache_bytes = 64 * PAGE_SIZE as u64;
    let engine = open_with(MemoryDisk::new(), options);
    let tables = vec![engine.create_table("a").unwrap(), engine.create_table("b").unwrap()];
    for round in 0..20 {
        let mut txn = engine.begin();
        let _ = run(&mut txn, &tables, seed ^ round);
        commit(&engine, txn);
    }
    let large = engine.create_table("large").unwrap();
    evict(&engine, &large);
    (engine, tables, large)
}

/// Drives the pages of other tables out of the cache.
fn evict(engine: &Arc<Engine>, large: &Table) {
    let mut txn = engine.begin();
    for row in 0..100u8 {
        txn.put(large, &[row], &[7; 12_000]).unwrap();
    }
    commit(engine, txn);
}

#[test]
fn converted_run_answers_what_an_ordinary_run_answers() {
    let mut converted = 0;
    for seed in seeds(120) {
        let mut random = Random::new(seed);
        let (engine, tables, large) = cold(random.pick(&[256, 400, 1024]), seed);
        for round in 0..4 {
            let program = random.next_u64();
            let mut txn = engine.begin_as(Kind::NONE);
            txn.begin_optimistic();
            let optimistic = run(&mut txn, &tables, program);
            if txn.is_fetching() {
                converted += 1;
                assert!(!engine.holdings().locks);
                let fetch = txn.end_fetch().unwrap();
                assert!(!fetch.is_cut_short && fetch.absent_pages > 0);
            } else {
                drop(txn);
            }
            let mut txn = engine.begin();
            let operated = run(&mut txn, &tables, program);
            assert_same(&optimistic, &operated, &format!("seed {seed}, round {round}"));
            if random.one_in(4) {
                drop(txn)
            } else {
                commit(&engine, txn)
            }
            if random.one_in(2) {
                evict(&engine, &large);
            }
        }
        let holdings = engine.holdings();
        assert_eq!((holdings.transactions, holdings.locks, holdings.pages), (0, false, 0));
        check(&engine);
    }
    println!("{converted} runs converted");
    assert!(converted > 100);
}

#[test]
fn undo_waits_for_its_pages_in_an_optimistic_run() {
    let (engine, tables, large) = cold(1024, 1);
    let rows = contents(&engine, &tables[0]);
    let mut txn = engine.begin_as(Kind::NONE);
    let savepoint = txn.savepoint().unwrap();
    // Its pages are in memory from the look at the rows.
    txn.put(&tables[0], b"row", b"new").unwrap();
    evict(&engine, &large);
    txn.begin_optimistic();
    txn.rollback_to(&savepoint).unwrap();
    assert!(!txn.is_fetching());
    evict(&engine, &large);
    txn.get(&tables[0], b"row").unwrap();
    assert!(txn.is_fetching());
    drop(txn);
    assert_eq!(contents(&engine, &tables[0]), rows);
    check(&engine);
}

/// A database with a table of some 200 leaves that are not in its cache, and one that drives the
/// others out.
fn cold_rows() -> (Arc<Engine>, Table, Table) {
    let mut options = EngineOptions { node_bytes: PAGE_SIZE, ..options() };
    options.pool.cache_bytes = 64 * PAGE_SIZE as u64;
    let engine = open_with(MemoryDisk::new(), options);
    let (table, large) =
        (engine.create_table("rows").unwrap(), engine.create_table("large").unwrap());
    for rows in (0..1000u32).collect::<Vec<_>>().chunks(50) {
        let mut txn = engine.begin();
        rows.iter().for_each(|row| _ = txn.put(&table, &row.to_be_bytes(), &[1; 700]).unwrap());
        commit(&engine, txn);
    }
    evict(&engine, &large);
    (engine, table, large)
}

#[test]
fn cursor_continues_where_it_was_after_a_conversion() {
    for direction in [Direction::Ascending, Direction::Descending] {
        for skips in [false, true] {
            let (engine, table, large) = cold_rows();
            let scan = |is_optimistic: bool| {
                evict(&engine, &large);
                let mut txn = engine.begin_as(Kind::NONE);
                let all = || (Bound::Unbounded, Bound::Unbounded);
                let ends = [0u32, 999].map(u32::to_be_bytes);
                txn.put(&table, &ends[0], b"first").unwrap();
                txn.put(&table, &ends[1], b"last").unwrap();
                txn.delete(&table, &1u32.to_be_bytes()).unwrap();
                txn.delete(&table, &998u32.to_be_bytes()).unwrap();
                let (low, high) = all();
                let mut cursor =
                    txn.cursor(&table, low, high, direction, ReadIntent::Read).unwrap();
                if skips {
                    cursor.skip_locked();
                }
                let mut rows = vec![cursor.next(&mut txn).unwrap().unwrap()];
                if is_optimistic {
                    txn.begin_optimistic();
                }
                rows.extend(std::iter::from_fn(|| cursor.next(&mut txn).unwrap()));
                assert_eq!(txn.is_fetching(), is_optimistic);
                rows
            };
            let rows = scan(true);
            assert_eq!(rows.len(), 998);
            assert!(rows == scan(false), "{direction:?}, skips: {skips}");
        }
    }
}

#[test]
fn leaves_of_a_run_that_was_converted_are_in_memory_for_the_next() {
    let (engine, table, large) = cold_rows();
    let run = |txn: &mut Transaction| {
        for row in (0..400u32).step_by(100) {
            txn.get(&table, &row.to_be_bytes()).unwrap();
        }
        let (low, high) = (Bound::Included(vec![0, 0, 3]), Bound::Excluded(vec![0, 0, 3, 40]));
        let mut cursor =
            txn.cursor(&table, low, high, Direction::Ascending, ReadIntent::Read).unwrap();
        while cursor.advance(txn).unwrap() {}
    };
    // All but the last read finds its page in memory.
    run(&mut engine.begin());
    let mut txn = engine.begin_as(Kind::NONE);
    txn.begin_optimistic();
    run(&mut txn);
    txn.get(&table, &999u32.to_be_bytes()).unwrap();
    let pages = txn.end_fetch().expect("it was converted").pages;
    evict(&engine, &large);
    let before = engine.stats().pool.reads;
    run(&mut engine.begin());
    assert!(pages.is_whole());
    // Branches above them may have been evicted.
    let reads = engine.stats().pool.reads - before;
    assert!(reads <= 2, "{reads} pages were read");
}

#[test]
fn deallocation_after_an_optimistic_run_waits_for_its_pages() {
    let (engine, table, large) = cold_rows();
    for row in 0..6u8 {
        engine.checkpoint().unwrap();
        // The record's page is in memory, those of its large value are not.
        let mut txn = engine.begin();
        txn.put(&table, b"large", &[row; 40_000]).unwrap();
        commit(&engine, txn);
        evict(&engine, &large);
        let mut txn = engine.begin();
        txn.put(&table, b"largf", b"neighbour").unwrap();
        commit(&engine, txn);
        let mut txn = engine.begin_as(Kind::NONE);
        txn.begin_optimistic();
        txn.delete(&table, b"large").unwrap();
        if row % 2 == 0 { commit(&engine, txn) } else { drop(txn) }
    }
    engine.checkpoint().unwrap();
    check(&engine);
    let holdings = engine.holdings();
    assert_eq!((holdings.transactions, holdings.locks), (0, false));
}

#[test]
fn run_whose_conversion_is_prevented_waits_for_its_pages() {
    let (engine, tables, large) = cold(1024, 1);
    evict(&engine, &large);
    let mut txn = engine.begin_as(Kind::NONE);
    txn.begin_optimistic();
    txn.prevent_conversion();
    txn.put(&tables[0], b"row", b"new").unwrap();
    assert!(!txn.is_fetching() && txn.absent_pages() > 0);
    commit(&engine, txn);
    // The next transaction in the same state is an ordinary one.
    evict(&engine, &large);
    let mut txn = engine.begin();
    assert_eq!(txn.get(&tables[0], b"row").unwrap().as_deref(), Some(&b"new"[..]));
    assert!(!txn.is_fetching());
    drop(txn);
    let mut txn = engine.begin_as(Kind::NONE);
    txn.begin_optimistic();
    commit(&engine, txn);
    evict(&engine, &large);
    let mut txn = engine.begin();
    txn.get(&tables[0], b"row").unwrap();
    assert!(!txn.is_fetching());
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
    let pages = fetch.end_fetch().unwrap().pages;
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
        assert!(operations < 1_000_000);
    }
    assert!(operations > 1000);
    for _ in 0..3 {
        assert!(matches!(fetch.put(&table, b"row", b""), Err(Error::Cancelled)));
    }
    assert!(fetch.end_fetch().unwrap().is_cut_short);

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
