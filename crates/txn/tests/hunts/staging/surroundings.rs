//! The fetch stage beside what others do to its table, and on a disk that fails or is full: what
//! its operations return, and that nothing is left behind.

use std::{
    io::ErrorKind,
    ops::Bound,
    sync::{Arc, Barrier, Mutex, mpsc},
    thread,
};

use clearway_base::{Error, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Fetched, Table, TableCursor, Transaction};

use super::{evict, fetching};
use crate::rig::{Contents, check, commit, contents, open_with, options};

const ROWS: u32 = 600;

fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}

/// A database on a disk that can fail, whose table `rows` has about ten rows on each leaf and is
/// not in the cache.
struct Cold {
    memory: MemoryDisk,
    faults: Faults,
    engine: Arc<Engine>,
    rows: Table,
    large: Table,
}

impl Cold {
    fn new() -> Cold {
        let (memory, faults) = (MemoryDisk::new(), Faults::new());
        let mut options = EngineOptions { node_bytes: PAGE_SIZE, ..options() };
        options.pool.cache_bytes = 64 * PAGE_SIZE as u64;
        let engine = open_with(FaultyDisk::new(memory.clone(), faults.clone()), options);
        let [rows, large] = ["rows", "large"].map(|name| engine.create_table(name).unwrap());
        for some in (0..ROWS).collect::<Vec<_>>().chunks(50) {
            let mut txn = engine.begin();
            some.iter().for_each(|row| _ = txn.put(&rows, &key(*row), &[1; 700]).unwrap());
            commit(&engine, txn);
        }
        let cold = Cold { memory, faults, engine, rows, large };
        cold.cool();
        cold
    }

    /// Drives the pages of `rows` out of the cache. What is there then is clean.
    fn cool(&self) {
        evict(&self.engine, &self.large);
        self.engine.checkpoint().unwrap();
    }

    /// Checks that no transaction is left, that the engine goes on, and that its structure is
    /// sound.
    fn check_nothing_left(&self) {
        self.engine.health().unwrap();
        let holdings = self.engine.holdings();
        assert_eq!((holdings.transactions, holdings.locks, holdings.pages), (0, false, 0));
        assert_eq!(self.engine.stats().pool.fetched_pages, 0);
        check(&self.engine);
    }
}

fn end(fetch: Transaction) -> Fetched {
    fetch.end_fetch().expect("it is a fetch stage")
}

fn scan(fetch: &mut Transaction, table: &Table, direction: Direction) -> TableCursor {
    fetch.cursor(table, Bound::Unbounded, Bound::Unbounded, direction, ReadIntent::Read).unwrap()
}

#[test]
fn table_is_dropped_while_a_fetch_stage_waits_for_its_page() {
    let cold = Cold::new();
    let (reading, reads) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel::<()>();
    let goes_on = Mutex::new(Some(goes_on));
    cold.faults.watch(move |event| {
        let is_read = event.operation == Operation::Read && event.name == "data";
        let first = is_read.then(|| goes_on.lock().unwrap().take()).flatten();
        if let Some(goes_on) = first {
            reading.send(()).unwrap();
            goes_on.recv().unwrap();
        }
        None
    });
    thread::scope(|scope| {
        let fetch = scope.spawn(|| {
            let mut fetch = fetching(&cold.engine);
            let first = fetch.get(&cold.rows, &key(300));
            // The drop may have come to the page first.
            assert!(matches!(first, Ok(_) | Err(Error::Cancelled)), "{first:?}");
            for _ in 0..2 {
                let later = fetch.put(&cold.rows, &key(300), b"new");
                assert!(matches!(later, Err(Error::UnknownTable { .. })), "{later:?}");
            }
            drop(end(fetch));
        });
        reads.recv().unwrap();
        let dropped = scope.spawn(|| cold.engine.drop_table("rows").unwrap());
        while cold.engine.tables().iter().any(|name| name == "rows") {
            thread::yield_now();
        }
        go_on.send(()).unwrap();
        fetch.join().unwrap();
        dropped.join().unwrap();
    });
    cold.faults.clear();
    cold.check_nothing_left();
    let mut txn = cold.engine.begin();
    let unknown = txn.get(&cold.rows, &key(300));
    assert!(matches!(unknown, Err(Error::UnknownTable { .. })), "{unknown:?}");
    drop(txn);
    assert_eq!(contents(&cold.engine, &cold.large).len(), 100);
}

#[test]
fn scan_of_a_fetch_stage_goes_on_where_leaves_were_split_or_merged() {
    for direction in [Direction::Ascending, Direction::Descending] {
        for merges in [false, true] {
            let cold = Cold::new();
            let Cold { engine, rows, .. } = &cold;
            let mut fetch = fetching(engine);
            let mut cursor = scan(&mut fetch, rows, direction);
            // In the midst of a leaf, near the middle of the table.
            let passed: Contents =
                (0..305).map(|_| cursor.next(&mut fetch).unwrap().unwrap()).collect();
            let nodes = || {
                let report = engine.verify().unwrap();
                report.tables.iter().map(|table| table.report.nodes()).sum::<u64>()
            };
            let before = nodes();
            let mut txn = engine.begin();
            for row in 200..400 {
                if merges && row % 20 > 0 {
                    txn.delete(rows, &key(row)).unwrap();
                } else if !merges {
                    txn.put(rows, &[&key(row)[..], b"+"].concat(), &[2; 700]).unwrap();
                }
            }
            commit(engine, txn);
            engine.maintain().unwrap();
            engine.maintain().unwrap();
            assert!(if merges { nodes() + 10 < before } else { nodes() > before + 10 });
            let rest: Contents = std::iter::from_fn(|| cursor.next(&mut fetch).unwrap()).collect();
            let last = match direction {
                Direction::Ascending => passed.last_key_value().unwrap().0.clone(),
                Direction::Descending => passed.first_key_value().unwrap().0.clone(),
            };
            let mut expected = contents(engine, rows);
            expected.retain(|key, _| match direction {
                Direction::Ascending => *key > last,
                Direction::Descending => *key < last,
            });
            assert!(rest == expected, "{direction:?}, merges: {merges}");
            assert!(!end(fetch).is_cut_short);
            cold.check_nothing_left();
        }
    }
}

#[test]
fn read_error_ends_a_fetch_stage_and_is_met_by_the_operate_stage() {
    let cold = Cold::new();
    let Cold { faults, engine, rows, .. } = &cold;
    for is_scan in [false, true] {
        faults.fail(Operation::Read, "data", 1, ErrorKind::Other, Lasting::Forever);
        let mut fetch = fetching(engine);
        let failed = match is_scan {
            false => fetch.get(rows, &key(300)).map(drop),
            true => scan(&mut fetch, rows, Direction::Ascending).next(&mut fetch).map(drop),
        };
        assert!(matches!(failed, Err(Error::Cancelled)), "{failed:?}");
        // It stays over, even for what is in memory.
        let later = fetch.put(&cold.large, &[1], b"new");
        assert!(matches!(later, Err(Error::Cancelled)), "{later:?}");
        assert!(end(fetch).is_cut_short);
        cold.engine.health().unwrap();

        let mut txn = engine.begin();
        let met = txn.get(rows, &key(300));
        assert!(matches!(met, Err(Error::Io { .. })), "{met:?}");
        faults.clear();
        assert_eq!(txn.get(rows, &key(300)).unwrap().as_deref(), Some(&[1; 700][..]));
        commit(engine, txn);
        cold.check_nothing_left();
        cold.cool();
    }
}

#[test]
fn damaged_page_ends_a_fetch_stage_and_is_met_by_the_operate_stage() {
    let cold = Cold::new();
    let Cold { memory, faults, engine, rows, .. } = &cold;
    // The last page that is read on the way to a row is its leaf.
    let last = Arc::new(Mutex::new(0));
    let seen = last.clone();
    faults.watch(move |event| {
        if event.operation == Operation::Read && event.name == "data" {
            *seen.lock().unwrap() = event.offset;
        }
        None
    });
    engine.begin().get(rows, &key(300)).unwrap();
    let leaf = *last.lock().unwrap();
    cold.cool();
    let data = memory.open("data", OpenMode::Existing).unwrap();
    let flip = || {
        let mut bytes = [0; 1];
        let at = leaf + PAGE_SIZE as u64 / 2;
        data.read_at(&mut bytes, at).unwrap();
        data.write_at(&[!bytes[0]], at).unwrap();
    };
    flip();
    let mut fetch = fetching(engine);
    let failed = fetch.get(rows, &key(300));
    assert!(matches!(failed, Err(Error::Cancelled)), "{failed:?}");
    assert!(end(fetch).is_cut_short);

    let mut txn = engine.begin();
    let met = txn.get(rows, &key(300));
    assert!(matches!(met, Err(Error::CorruptPage { .. })), "{met:?}");
    assert!(txn.get(rows, &key(100)).unwrap().is_some());
    flip();
    assert!(txn.get(rows, &key(300)).unwrap().is_some());
    commit(engine, txn);
    cold.check_nothing_left();
}

#[test]
fn fetch_stage_needs_no_space_on_the_disk() {
    let cold = Cold::new();
    let Cold { memory, engine, rows, .. } = &cold;
    memory.set_capacity(memory.used_bytes());
    let write = |txn: &mut Transaction| -> Result<(), Error> {
        for row in 0..200 {
            txn.put(rows, &key(row), &vec![3; 20_000])?;
        }
        txn.insert(rows, b"new", &[4; 700])
    };
    let mut fetch = fetching(engine);
    write(&mut fetch).unwrap();
    assert_eq!(fetch.get(rows, b"new").unwrap().as_deref(), Some(&[4; 700][..]));
    assert!(!end(fetch).is_cut_short);

    let mut txn = engine.begin();
    let met = write(&mut txn);
    assert!(matches!(met, Err(Error::DiskFull { .. })), "{met:?}");
    drop(txn);
    memory.set_capacity(u64::MAX);
    let mut txn = engine.begin();
    write(&mut txn).unwrap();
    commit(engine, txn);
    cold.check_nothing_left();
}

#[test]
fn victim_of_a_deadlock_reports_the_pages_that_it_has_waited_for() {
    let cold = Cold::new();
    let Cold { engine, rows, .. } = &cold;
    let barrier = Barrier::new(2);
    let run = |one: &[u8], other: &[u8]| {
        let mut txn = engine.begin();
        txn.put(rows, one, b"new").unwrap();
        barrier.wait();
        let is_victim = txn.put(rows, other, b"new").is_err();
        is_victim.then(|| txn.absent_pages())
    };
    let (one, other) = (key(100), key(500));
    let reported = thread::scope(|scope| {
        let first = scope.spawn(|| run(&one, &other));
        let second = scope.spawn(|| run(&other, &one));
        first.join().unwrap().or(second.join().unwrap())
    });
    assert!(reported.expect("one of them is the victim") > 0);
    cold.check_nothing_left();
}
