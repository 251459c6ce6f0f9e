//! Cursors over leaves that are not in memory read many of them at a time, and none beyond their
//! range.

use std::{
    collections::VecDeque,
    io::ErrorKind,
    ops::Bound,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

use clearway_base::{Error, PAGE_SIZE, PageId, Result};
use clearway_disk::{Disk, MemoryDisk};
use clearway_testkit::{
    Random,
    disk::{Faults, FaultyDisk, HeldReads, HeldReadsDisk, Lasting, Operation},
};
use clearway_tree::{Direction, ReadIntent, Tree, TreeReport};

use crate::double::{Database, Range, Records, Txn};

const NODE_BYTES: usize = 8192;
const KEYS: u32 = 20_000;
/// The codes of two operations (`docs/node-format.md`).
const SPLIT: u8 = 36;
const MERGE: u8 = 40;

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// A tree whose pages are all on disk and absent, with its number of leaves.
fn cold() -> (Database, Tree, u64) {
    cold_through(|disk| Box::new(disk))
}

/// The same over the disk that `seen` makes.
fn cold_through(seen: impl Fn(MemoryDisk) -> Box<dyn Disk>) -> (Database, Tree, u64) {
    let (db, tree, report) = cold_of(NODE_BYTES, KEYS, seen);
    assert_eq!(report.height(), 2);
    (db, tree, report.levels[0].pages)
}

/// A tree of `keys` keys in nodes of that size, whose pages are all on disk and absent.
fn cold_of(
    node_bytes: usize,
    keys: u32,
    seen: impl Fn(MemoryDisk) -> Box<dyn Disk>,
) -> (Database, Tree, TreeReport) {
    let warm = Database::new();
    let tree = warm.tree(7, node_bytes);
    let mut txn = warm.begin();
    let value = vec![7; if node_bytes < 1_000 { 20 } else { 100 }];
    (0..keys).for_each(|n| txn.insert(&tree, &key(n), &value).unwrap());
    txn.commit(&tree);
    let report = tree.verify().unwrap();
    warm.pool.clean_all().unwrap();
    let disk = warm.disk.clone();
    let db = Database::through(warm.log.clone(), &*seen(disk.clone()), disk);
    let tree = db.open(&tree, node_bytes);
    (db, tree, report)
}

/// A tree whose pages are all on disk and absent, in a cache of 256 pages, and the pages of another
/// such tree.
fn small_and_cold(seen: impl Fn(MemoryDisk) -> Box<dyn Disk>) -> (Database, Tree, Vec<PageId>) {
    let warm = Database::new();
    let [tree, other] = [7, 8].map(|id| {
        let tree = warm.tree(id, NODE_BYTES);
        let mut txn = warm.begin();
        (0..KEYS).for_each(|n| txn.insert(&tree, &key(n), &[7; 100]).unwrap());
        txn.commit(&tree);
        tree
    });
    warm.pool.clean_all().unwrap();
    let disk = warm.disk.clone();
    let cache_bytes = 256 * PAGE_SIZE as u64;
    let db = Database::with_cache(warm.log.clone(), &*seen(disk.clone()), disk, cache_bytes);
    let tree = db.open(&tree, NODE_BYTES);
    (db, tree, other.verify().unwrap().pages)
}

fn scan(db: &Database, tree: &Tree, range: Range, direction: Direction) -> Records {
    db.begin().scan(tree, range, direction).unwrap()
}

#[test]
fn each_leaf_is_read_once_and_many_are_read_together() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let (db, tree, leaves) = cold();
        let records = scan(&db, &tree, (Bound::Unbounded, Bound::Unbounded), direction);
        let mut keys: Vec<_> = records.into_iter().map(|(key, _)| key).collect();
        if direction == Direction::Descending {
            keys.reverse();
        }
        assert!(keys.into_iter().eq((0..KEYS).map(key)));
        let stats = db.pool.stats();
        assert_eq!(stats.reads, leaves + 1, "{direction:?}: the leaves and the root");
        assert!(stats.queued_reads * 4 < leaves, "{direction:?}: {stats:?}, {leaves} leaves");
    }
}

#[test]
fn leaves_beyond_the_range_are_not_read() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let (db, tree, leaves) = cold();
        // About twenty leaves, in the middle: the needs of 1, 2, 4, 8 and 16 leaves go beyond.
        let range = (Bound::Included(key(10_000)), Bound::Excluded(key(11_300)));
        assert_eq!(scan(&db, &tree, range, direction).len(), 1_300);
        let reads = db.pool.stats().reads;
        let inside = leaves * 1_300 / u64::from(KEYS);
        assert!(reads <= inside + 3, "{direction:?}: {reads} reads, {leaves} leaves");
    }
}

#[test]
fn one_record_takes_one_leaf() {
    let (db, tree, _) = cold();
    let range = (Bound::Included(key(5_000)), Bound::Unbounded);
    let mut cursor = tree.cursor(range.0, range.1, Direction::Ascending, ReadIntent::Read);
    let (found, _) = cursor.next(&tree, &mut db.begin()).unwrap().unwrap();
    assert_eq!(found, key(5_000));
    assert_eq!(db.pool.stats().reads, 2, "the root and the leaf");
}

/// A cursor that goes through many leaves has the next ones read while it goes through those that
/// are there: the disk reads while the cursor returns records.
#[test]
fn leaves_are_read_while_the_cursor_returns_records() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let reads = HeldReads::new(5);
        let (db, tree, _) = cold_through(|disk| Box::new(HeldReadsDisk::new(disk, reads.clone())));
        let done = AtomicBool::new(false);
        let (mut records, mut beside_reads) = (0, 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    thread::sleep(Duration::from_micros(200));
                    reads.complete_one();
                }
            });
            let (lower, upper) = all();
            let mut cursor = tree.cursor(lower, upper, direction, ReadIntent::Read);
            let mut txn = db.begin();
            while cursor.next(&tree, &mut txn).unwrap().is_some() {
                records += 1;
                beside_reads += u32::from(reads.count() > 0);
            }
            done.store(true, SeqCst);
        });
        assert_eq!(records, KEYS);
        assert!(beside_reads > KEYS / 10, "{direction:?}: {beside_reads} of {KEYS}");
    }
}

/// At the end of a branch the cursor does not stop: the next branch and its leaves are read ahead.
/// The disk reads at once, so a cursor that needs a page has not had it read ahead.
#[test]
fn branches_are_read_ahead() {
    for (node_bytes, keys) in [(512, 15_000), (2_048, 60_000)] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let (db, tree, report) = cold_of(node_bytes, keys, |disk| Box::new(disk));
            let branches: u64 = report.levels[1..].iter().map(|level| level.pages).sum();
            assert!(report.height() >= 3 && branches > 30, "{:?}", report.levels);
            let (lower, upper) = all();
            let mut cursor = tree.cursor(lower, upper, direction, ReadIntent::Read);
            let (mut txn, mut records) = (db.begin(), 0);
            while cursor.advance(&tree, &mut txn).unwrap() {
                records += 1;
            }
            assert_eq!(records, keys);
            // The way down; windows of 1, 2, 4 and 8 leaves; and the end of a branch in between.
            let needs = txn.page_needs.count();
            assert!(
                needs <= report.height() as u64 + 8,
                "{direction:?}: {needs}, {:?}",
                report.levels
            );
            let pages = report.levels.iter().map(|level| level.pages).sum::<u64>();
            assert_eq!(db.pool.stats().reads, pages, "{direction:?}: each is read once");
        }
    }
}

/// The same if a read takes as long as the cursor's way through two leaves.
#[test]
fn branches_that_arrive_late_do_not_stop_the_cursor() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let reads = HeldReads::new(5);
        let (db, tree, report) =
            cold_of(2_048, 20_000, |disk| Box::new(HeldReadsDisk::new(disk, reads.clone())));
        let branches = report.levels[1].pages;
        let (done, mut records, mut needs) = (AtomicBool::new(false), 0, 0);
        thread::scope(|scope| {
            // What the cursor waits for.
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    thread::sleep(Duration::from_millis(10));
                    reads.complete_all();
                }
            });
            let (lower, upper) = all();
            let mut cursor = tree.cursor(lower, upper, direction, ReadIntent::Read);
            let mut txn = db.begin();
            while cursor.advance(&tree, &mut txn).unwrap() {
                records += 1;
                if records % 30 == 0 {
                    reads.complete_all();
                }
            }
            needs = txn.page_needs.count();
            done.store(true, SeqCst);
        });
        assert_eq!(records, 20_000);
        assert!(branches >= 12 && needs <= 10, "{direction:?}: {needs}, {branches} branches");
    }
}

/// A scan may begin anywhere before the end of a branch, and come there while its windows still
/// grow. As the next branch is absent, it tries again, and not so late that it passes the leaf that
/// would trigger the window after that: it would have to wait once more.
#[test]
fn scans_that_begin_near_the_end_of_a_branch_do_not_stop() {
    const RECORDS: u32 = 10_000;
    for direction in [Direction::Ascending, Direction::Descending] {
        let (cold, tree, report) = cold_of(2_048, RECORDS, |disk| Box::new(disk));
        let [leaves, branches] = [0, 1].map(|level| report.levels[level].pages as u32);
        assert!(report.height() == 3 && branches > 6, "{:?}", report.levels);
        // Every second leaf of the first two branches, or of the last two.
        let step = 2 * RECORDS / leaves;
        for passed in (0..2 * RECORDS / branches).step_by(step as usize) {
            let db = Database::on(cold.log.clone(), cold.disk.clone());
            let tree = db.open(&tree, 2_048);
            let range = match direction {
                Direction::Ascending => (Bound::Included(key(passed)), Bound::Unbounded),
                Direction::Descending => (Bound::Unbounded, Bound::Excluded(key(RECORDS - passed))),
            };
            let mut txn = db.begin();
            let records = txn.scan(&tree, range, direction).unwrap();
            assert_eq!(records.len() as u32, RECORDS - passed);
            // The root and a branch; windows of 1, 2, 4 and 8 leaves; and the end of a branch in
            // between.
            let needs = txn.page_needs.count();
            assert!(needs <= 7, "{direction:?}, {passed} records are passed: {needs}");
        }
    }
}

/// While the cursor goes through a window of leaves, the next two are read.
#[test]
fn two_windows_are_read_ahead() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let (db, tree, report) = cold_of(2_048, 20_000, |disk| Box::new(disk));
        let (leaves, branches) = (report.levels[0].pages, report.levels[1].pages);
        let (lower, upper) = all();
        let mut cursor = tree.cursor(lower, upper, direction, ReadIntent::Read);
        let (mut txn, mut records, mut least) = (db.begin(), 0, u64::MAX);
        while cursor.advance(&tree, &mut txn).unwrap() {
            records += 1;
            let ahead = db.pool.stats().reads.saturating_sub(records * leaves / 20_000 + branches);
            if (5_000..15_000).contains(&records) {
                least = least.min(ahead);
            }
        }
        // A window has the leaves of one branch, about 85.
        assert!(least >= 80 && leaves > 1_000, "{direction:?}: {least} of {leaves}");
    }
}

/// A cursor that comes to the first leaf of a window that was requested, and of which no read was
/// begun, waits for this leaf alone, and does not request the window again.
#[test]
fn first_leaf_of_a_requested_window_is_awaited_alone() {
    for direction in [Direction::Ascending, Direction::Descending] {
        // The root and a leaf, windows of 2, 4 and 8, the first leaf of a requested window, a
        // window of 16 from its second leaf on, and again a first leaf.
        let needed = pages_of_needs(all(), direction);
        assert_eq!(needed[..7], [2, 2, 4, 8, 1, 16, 1], "{direction:?}");
        // About twenty leaves, so that the requested window is the last one and triggers none.
        let short = match direction {
            Direction::Ascending => (Bound::Unbounded, Bound::Excluded(key(1_300))),
            Direction::Descending => (Bound::Included(key(KEYS - 1_300)), Bound::Unbounded),
        };
        let needed = pages_of_needs(short, direction);
        assert_eq!(needed[..5], [2, 2, 4, 8, 1], "{direction:?}");
        assert!(needed.len() == 6 && needed[5] > 1, "{direction:?}: {needed:?}");
    }
}

/// Returns the number of pages that each wait of a scan reads, if the pool begins no read of its
/// windows, because it reads as many other pages ahead as it may.
fn pages_of_needs(range: Range, direction: Direction) -> Vec<u64> {
    let reads = HeldReads::new(5);
    let (db, tree, others) =
        small_and_cold(|disk| Box::new(HeldReadsDisk::new(disk, reads.clone())));
    others.iter().for_each(|page| db.pool.load_ahead(&[*page]));
    let held = reads.count();
    assert!(held > 0 && held < others.len(), "no more are read ahead: {held}");
    // What the cursor waits for is read at once.
    let reads = reads.complete_some_at_once(1);
    let mut cursor = tree.cursor(range.0, range.1, direction, ReadIntent::Read);
    let (mut txn, mut needed) = (db.begin(), Vec::new());
    let mut before = (0, db.pool.stats().reads);
    while cursor.advance(&tree, &mut txn).unwrap() {
        let now = (txn.page_needs.count(), db.pool.stats().reads);
        if now.0 > before.0 {
            needed.push(now.1 - before.1);
        }
        before = now;
    }
    assert_eq!(reads.count(), held, "nothing else was read ahead");
    reads.complete_all();
    needed
}

/// A check of the whole tree reads each node once, and most of them ahead, many together.
#[test]
fn verify_reads_nodes_ahead() {
    let (db, tree, leaves) = cold();
    let report = tree.verify().unwrap();
    assert_eq!((report.levels[0].pages, report.records), (leaves, u64::from(KEYS)));
    let stats = db.pool.stats();
    // The space map has a page, too.
    assert_eq!(stats.reads, leaves + 2, "each is read once");
    assert!(stats.queued_reads >= leaves / 64, "{stats:?}, {leaves} leaves");
    assert!(stats.queued_reads * 4 < leaves, "{stats:?}, {leaves} leaves");
}

/// Some reads of the queue fail, or all: the pages stay absent, and the cursor reads them itself
/// when it comes to them.
#[test]
fn reads_ahead_that_fail_lose_nothing() {
    for one_in in [1, 3] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let reads = HeldReads::new(5);
            let (db, tree, _) =
                cold_through(|disk| Box::new(HeldReadsDisk::new(disk, reads.clone())));
            let (done, failed) = (AtomicBool::new(false), AtomicU64::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut random = Random::new(one_in);
                    while !done.load(SeqCst) {
                        if reads.count() == 0 {
                            thread::yield_now();
                        } else if random.one_in(one_in) {
                            failed.fetch_add(u64::from(reads.fail_one(ErrorKind::Other)), SeqCst);
                        } else {
                            reads.complete_one();
                        }
                    }
                });
                let records = db.begin().scan(&tree, all(), direction);
                done.store(true, SeqCst);
                let mut keys: Vec<_> = records.unwrap().into_iter().map(|(key, _)| key).collect();
                if direction == Direction::Descending {
                    keys.reverse();
                }
                assert!(keys.into_iter().eq((0..KEYS).map(key)), "{direction:?}, {one_in}");
            });
            assert!(failed.into_inner() > 3, "or it shows nothing");
            assert_eq!(db.pool.held_pages(), 0);
        }
    }
}

/// If the cursor's own read fails too, the scan reports that. Nothing stays pinned or latched, and
/// once the disk reads again the next scan finds everything.
#[test]
fn a_scan_reports_a_failed_read_and_the_next_one_succeeds() {
    let faults = Faults::new();
    let (db, tree, leaves) = cold_through(|disk| Box::new(FaultyDisk::new(disk, faults.clone())));
    for nth in [2, 5, 9] {
        faults.fail(Operation::Read, "data", nth, ErrorKind::Other, Lasting::Forever);
        let failed = db.begin().scan(&tree, all(), Direction::Ascending);
        assert!(matches!(failed, Err(Error::Io { .. })), "{nth}: {:?}", failed.map(|it| it.len()));
        assert_eq!(db.pool.held_pages(), 0);
        faults.clear();
    }
    assert!(db.pool.stats().resident_pages < leaves, "some leaves were never read");
    assert_eq!(scan(&db, &tree, all(), Direction::Descending).len(), KEYS as usize);
}

fn all() -> Range {
    (Bound::Unbounded, Bound::Unbounded)
}

/// Runs a transaction until it is no deadlock's victim.
fn transact<T>(db: &Database, tree: &Tree, mut work: impl FnMut(&mut Txn) -> Result<T>) -> T {
    loop {
        let mut txn = db.begin();
        match work(&mut txn) {
            Ok(value) => {
                txn.commit(tree);
                return value;
            }
            Err(error) if error.is_retryable() => txn.rollback(tree),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Every eighth key stays; writers insert and delete the keys between, so that leaves are split and
/// merged while cursors read the same leaves ahead. Most leaves are absent at any time.
#[test]
fn leaves_are_read_ahead_while_they_are_split_and_merged() {
    const STAY: u32 = 2_000;
    const SCANS: u64 = 150;
    let db = Database::of_pages(128);
    let tree = db.tree(7, 512);
    let mut txn = db.begin();
    (0..STAY).for_each(|n| txn.insert(&tree, &key(8 * n), &[7; 40]).unwrap());
    txn.commit(&tree);
    let before = (db.log.count_of(SPLIT), db.log.count_of(MERGE), db.pool.stats());
    let scans = AtomicU64::new(0);
    let write = |writer: u32| {
        let mut random = Random::new(u64::from(writer));
        // Where this writer has inserted keys.
        let mut grown = VecDeque::new();
        while scans.load(SeqCst) < 2 * SCANS {
            let n = random.below(u64::from(STAY)) as u32;
            let keys = |n: u32| (0..3).map(move |m| key(8 * n + 1 + 2 * m + writer));
            if !grown.contains(&n) {
                transact(&db, &tree, |txn| {
                    keys(n).try_for_each(|key| txn.insert(&tree, &key, &[8; 40]))
                });
                grown.push_back(n);
            }
            if grown.len() > 300 {
                let n = grown.pop_front().unwrap();
                transact(&db, &tree, |txn| keys(n).try_for_each(|key| txn.delete(&tree, &key)));
            }
        }
        for n in grown {
            transact(&db, &tree, |txn| {
                (0..3).try_for_each(|m| txn.delete(&tree, &key(8 * n + 1 + 2 * m + writer)))
            });
        }
    };
    let read = |direction: Direction| {
        let mut random = Random::new(99);
        for _ in 0..SCANS {
            let first = random.below(u64::from(STAY - 400)) as u32;
            let range =
                || (Bound::Included(key(8 * first)), Bound::Excluded(key(8 * (first + 400))));
            let records = transact(&db, &tree, |txn| txn.scan(&tree, range(), direction));
            let mut found: Vec<_> = records.into_iter().map(|(key, _)| key).collect();
            if direction == Direction::Descending {
                found.reverse();
            }
            assert!(found.is_sorted_by(|a, b| a < b), "{direction:?}: each once, in order");
            let stay: Vec<_> = (first..first + 400).map(|n| key(8 * n)).collect();
            found.retain(|key| stay.binary_search(key).is_ok());
            assert_eq!(found, stay, "{direction:?}: none is missed");
            scans.fetch_add(1, SeqCst);
        }
    };
    thread::scope(|scope| {
        let (write, read) = (&write, &read);
        let writers = [0, 1].map(|writer| scope.spawn(move || write(writer)));
        let readers = [Direction::Ascending, Direction::Descending]
            .map(|direction| scope.spawn(move || read(direction)));
        let results = readers.map(|reader| reader.join());
        // The writers end too if a reader has failed.
        scans.fetch_add(2 * SCANS, SeqCst);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        results.into_iter().for_each(|result| result.unwrap());
    });
    assert_eq!(db.verify_only(&tree).records, u64::from(STAY));
    let stats = db.pool.stats();
    let (splits, merges) = (db.log.count_of(SPLIT) - before.0, db.log.count_of(MERGE) - before.1);
    assert!(splits > 50 && merges > 50, "{splits} splits, {merges} merges");
    let queued = stats.queued_reads - before.2.queued_reads;
    assert!(queued > 500, "{queued} reads through the queue");
}
