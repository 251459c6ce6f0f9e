//! Loading of many pages through the I/O queue.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Error, PAGE_SIZE, PageId, Result};
use clearway_disk::{
    Disk, IoPriority, IoQueueChoice, IoQueueKind, IoQueueOptions, MemoryDisk, OpenMode, OsDisk,
};
use clearway_pool::{NotResident, Pool, PoolOptions};
use clearway_testkit::{
    Random,
    disk::{Faults, FaultyDisk, HeldReads, HeldReadsDisk, Operation},
};

use crate::support::*;

/// Ten times the cache of 64 pages.
const PAGES: u32 = 640;
const AHEAD: IoPriority = IoPriority::ReadAhead;

fn ids(range: std::ops::Range<u32>) -> Vec<PageId> {
    range.map(PageId).collect()
}

/// Opens a pool, of which no page is in memory, over `PAGES` pages with counter 1.
fn reopened(disk: &dyn Disk, wal: &Arc<CountingWal>, options: &PoolOptions) -> Arc<Pool> {
    let pool = open(disk, wal, options.clone());
    populate(&pool, wal, 0..PAGES);
    pool.close().unwrap();
    drop(pool);
    open(disk, wal, options.clone())
}

/// A pool over a disk in memory, whose reads the test completes.
fn with_held_reads(seed: u64) -> (Arc<Pool>, HeldReads, MemoryDisk) {
    let (disk, reads) = (MemoryDisk::new(), HeldReads::new(seed));
    let pool =
        reopened(&HeldReadsDisk::new(disk.clone(), reads.clone()), &CountingWal::new(), &small());
    (pool, reads, disk)
}

/// Runs `body` while another thread loads `pages`, and waits for it.
fn while_loading(pool: &Arc<Pool>, pages: &[PageId], body: impl FnOnce()) {
    thread::scope(|scope| {
        let loading = scope.spawn(|| pool.load(pages, AHEAD, Duration::MAX));
        body();
        loading.join().unwrap();
    });
}

fn is_resident(pool: &Pool, page: &PageId) -> bool {
    pool.try_resident(*page)
}

#[test]
fn pages_arrive_in_any_order() {
    for seed in 0..20 {
        let (pool, reads, _) = with_held_reads(seed);
        // A window has at most 16 pages: a quarter of the cache.
        let pages = [3, 4, 5, 9, 20, 21, 40, 41, 42, 43, 44, 60].map(PageId);
        while_loading(&pool, &pages, || {
            reads.wait_for(5);
            assert!(!pages.iter().any(|page| is_resident(&pool, page)));
            reads.complete_all();
        });
        assert!(pages.iter().all(|page| is_resident(&pool, page)));
        let stats = pool.stats();
        assert_eq!((stats.queued_reads, stats.reads), (5, 12), "adjacent pages are read together");
        for page in pages {
            assert_eq!(check(page, &pool.shared(page).unwrap()), 1);
        }
        assert_eq!((pool.stats().reads, pool.held_pages()), (12, 0));
    }
}

#[test]
fn pages_in_memory_and_beyond_the_end_are_left_out() {
    let (pool, reads, _) = with_held_reads(1);
    let page = pool.pin(PageId(5)).unwrap();
    let read = pool.stats().reads;
    pool.load(&[PageId(5), PageId(pool.page_count()), PageId(u32::MAX)], AHEAD, Duration::MAX);
    assert_eq!((pool.stats().reads, reads.count()), (read, 0));
    drop(page);
}

#[test]
fn a_page_that_cannot_be_read_stays_absent() {
    let (pool, reads, _) = with_held_reads(2);
    let pages = [1, 2, 3, 10, 20].map(PageId);
    while_loading(&pool, &pages, || {
        reads.wait_for(3);
        while reads.fail_one(io::ErrorKind::Other) {}
    });
    assert!(!pages.iter().any(|page| is_resident(&pool, page)));
    assert_eq!((pool.resident_bytes(), pool.held_pages()), (0, 0));
    // The next thread that wants the page reads it.
    assert_eq!(check(PageId(2), &pool.shared(PageId(2)).unwrap()), 1);
}

#[test]
fn reads_in_flight_are_counted_for_as_long_as_they_are() {
    let (pool, reads, _) = with_held_reads(4);
    let mut measured = None;
    // Three requests: adjacent pages are read together.
    while_loading(&pool, &[1, 2, 3, 10, 20].map(PageId), || {
        reads.wait_for(3);
        let (before, inner) = (pool.stats(), Instant::now());
        thread::sleep(Duration::from_millis(2));
        let min = inner.elapsed();
        measured = Some((before, pool.stats(), min));
        reads.complete_all();
    });
    let (before, after, min) = measured.unwrap();
    let of_all = after.queued_reads_in_flight_ns - before.queued_reads_in_flight_ns;
    assert_eq!(after.queued_reads_in_flight, 3);
    assert!(of_all >= 3 * min.as_nanos() as u64, "{of_all} ns, {min:?}");
    assert!(after.age_ns >= before.age_ns + min.as_nanos() as u64);
    assert!(after.queued_reads_since(&before) > 0.0);
    let (first, second) = (pool.stats(), pool.stats());
    assert_eq!(first.queued_reads_in_flight, 0);
    assert_eq!(second.queued_reads_since(&first), 0.0);
}

#[test]
fn a_damaged_page_stays_absent_and_its_neighbours_arrive() {
    let (pool, reads, disk) = with_held_reads(3);
    let data = disk.open("data", OpenMode::Existing).unwrap();
    data.write_at(&[0xAB; 9], 11 * PAGE_SIZE as u64 + 500).unwrap();
    while_loading(&pool, &ids(10..13), || {
        reads.wait_for(1);
        reads.complete_all();
    });
    assert_eq!([10, 11, 12].map(|id| is_resident(&pool, &PageId(id))), [true, false, true]);
    let error = pool.shared(PageId(11)).err().unwrap();
    assert!(matches!(error, Error::CorruptPage { page: PageId(11), .. }), "{error}");
    assert_eq!(pool.resident_bytes(), 2 * PAGE_SIZE as u64);
}

/// Below the page count the file can still be short, if a crash has cut it.
#[test]
fn bytes_beyond_the_end_of_the_file_are_zeros() {
    let (pool, reads, disk) = with_held_reads(4);
    let data = disk.open("data", OpenMode::Existing).unwrap();
    data.set_len(21 * PAGE_SIZE as u64).unwrap();
    while_loading(&pool, &ids(20..23), || {
        reads.wait_for(1);
        reads.complete_all();
    });
    let counters = [20, 21, 22].map(|id| check(PageId(id), &pool.shared(PageId(id)).unwrap()));
    assert_eq!(counters, [1, 0, 0]);
    assert_eq!(pool.stats().reads, 3);
}

#[test]
fn a_thread_that_wants_a_loading_page_waits_for_it() {
    let (pool, reads, _) = with_held_reads(5);
    let page = PageId(7);
    while_loading(&pool, &[page], || {
        reads.wait_for(1);
        assert!(matches!(pool.shared_if_resident(page), Err(NotResident)));
        assert!(pool.try_exclusive(page).unwrap().is_none());
        assert!(matches!(pool.try_exclusive_if_resident(page), Err(NotResident)));
        thread::scope(|scope| {
            let waiting = [
                scope.spawn(|| check(page, &pool.shared(page).unwrap())),
                scope.spawn(|| check(page, &pool.exclusive(page).unwrap())),
                scope.spawn(|| pool.optimistic(page).unwrap().read_u64(24)),
            ];
            while pool.stats().latch_waits < 3 {
                thread::sleep(Duration::from_millis(1));
            }
            assert!(!waiting.iter().any(|thread| thread.is_finished()));
            reads.complete_all();
            assert_eq!(waiting.map(|thread| thread.join().unwrap()), [1, 1, 1]);
        });
    });
    assert_eq!(pool.stats().reads, 1, "no other thread has read the page");
}

/// If the load fails, the thread that waits reads the page itself.
#[test]
fn a_thread_that_waits_for_a_failed_load_reads_the_page() {
    let (pool, reads, _) = with_held_reads(6);
    let page = PageId(7);
    while_loading(&pool, &[page], || {
        reads.wait_for(1);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| check(page, &pool.shared(page).unwrap()));
            while pool.stats().latch_waits < 1 {
                thread::sleep(Duration::from_millis(1));
            }
            reads.fail_one(io::ErrorKind::TimedOut);
            assert_eq!(waiting.join().unwrap(), 1);
        });
    });
}

#[test]
fn loading_pages_stay_while_others_are_evicted() {
    let (pool, reads, _) = with_held_reads(8);
    while_loading(&pool, &ids(0..16), || {
        reads.wait_for(1);
        for id in (100..400).chain(100..400) {
            assert_eq!(check(PageId(id), &pool.shared(PageId(id)).unwrap()), 1);
        }
        assert!(pool.stats().evictions > 400);
        assert!(!ids(0..16).iter().any(|page| is_resident(&pool, page)));
        reads.complete_all();
    });
    for page in ids(0..16) {
        assert!(is_resident(&pool, &page));
        assert_eq!(check(page, &pool.shared(page).unwrap()), 1);
    }
}

#[test]
fn a_load_of_more_than_the_cache_holds_a_quarter_of_it_at_a_time() {
    let (pool, reads, _) = with_held_reads(9);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.load(&ids(0..PAGES), AHEAD, Duration::MAX);
            is_done.store(true, Ordering::SeqCst);
        });
        while !is_done.load(Ordering::SeqCst) {
            assert!(pool.held_pages() <= 16);
            reads.complete_one();
        }
    });
    let stats = pool.stats();
    assert_eq!((stats.reads, stats.queued_reads), (u64::from(PAGES), u64::from(PAGES) / 16));
    assert!(pool.resident_bytes() <= 64 * PAGE_SIZE as u64);
}

#[test]
fn a_close_waits_for_reads_in_flight() {
    let (pool, reads, _) = with_held_reads(10);
    while_loading(&pool, &ids(0..3), || {
        reads.wait_for(1);
        thread::scope(|scope| {
            let closing = scope.spawn(|| pool.close());
            thread::sleep(Duration::from_millis(30));
            assert!(!closing.is_finished());
            reads.complete_all();
            closing.join().unwrap().unwrap();
        });
    });
}

/// Threads load, write and read random pages; every page always has the contents of its counter.
fn churn(pool: &Arc<Pool>, wal: &CountingWal, written: &[AtomicU64], seed: u64, rounds: u32) {
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        let id = random.below(u64::from(PAGES)) as u32;
        let page = PageId(id);
        match random.below(4) {
            0 => {
                let mut page = pool.exclusive(page).unwrap();
                let counter = check(page.id(), &page);
                assert_eq!(counter, written[id as usize].load(Ordering::Relaxed));
                write(wal, &mut page, counter + 1);
                written[id as usize].store(counter + 1, Ordering::Relaxed);
            }
            1 => {
                let pages: Vec<PageId> = (0..random.below(20))
                    .flat_map(|_| {
                        let start = random.below(u64::from(PAGES)) as u32;
                        (start..start + 1 + random.below(3) as u32).map(PageId)
                    })
                    .collect();
                if random.one_in(2) {
                    pool.load(&pages, AHEAD, Duration::MAX);
                } else {
                    pool.load_ahead(&pages);
                }
            }
            2 => {
                let shared = pool.shared(page).unwrap();
                let counter = check(page, &shared);
                assert_eq!(counter, written[id as usize].load(Ordering::Relaxed));
            }
            _ => {
                check_optimistic(pool.optimistic(page).unwrap());
            }
        }
    }
}

/// The names of the threads that read the data file from now on, each once.
fn readers(faults: &Faults) -> Arc<Mutex<BTreeSet<String>>> {
    let names = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = names.clone();
    faults.watch(move |event| {
        if event.operation == Operation::Read && event.name == "data" {
            let name = thread::current().name().unwrap_or_default().to_owned();
            noted.lock().unwrap().insert(name);
        }
        None
    });
    names
}

/// A disk in memory is read by the thread that begins the read.
#[test]
fn the_loader_begins_reads_ahead() {
    let (disk, faults, wal) = (MemoryDisk::new(), Faults::new(), CountingWal::new());
    drop(reopened(&disk, &wal, &small()));
    for has_loader in [true, false] {
        let options = PoolOptions { background_cleaner: has_loader, ..small() };
        let seen = FaultyDisk::new(disk.clone(), faults.clone());
        let pool = open(&seen, &wal, options);
        let names = readers(&faults);
        pool.load_ahead(&ids(10..18));
        pool.load_ahead(&ids(30..38));
        while !ids(10..18).iter().chain(&ids(30..38)).all(|page| is_resident(&pool, page)) {
            thread::yield_now();
        }
        let names = names.lock().unwrap().clone();
        let own = thread::current().name().unwrap().to_owned();
        let expected = if has_loader { "clearway-loader".into() } else { own };
        assert_eq!(names, BTreeSet::from([expected]));
        pool.load_ahead(&ids(12..16));
        let reads = pool.stats().reads;
        pool.close().unwrap();
        assert_eq!((reads, pool.held_pages()), (16, 0), "what is there is not read");
        // After the close nothing is read ahead.
        pool.load_ahead(&ids(50..60));
        assert_eq!(pool.stats().reads, if has_loader { 16 } else { 26 });
    }
}

/// The queue of the loader is limited. What does not fit is read by the thread that wants it.
#[test]
fn reads_ahead_beyond_the_loaders_queue_are_begun_at_once() {
    let (disk, faults, wal) = (MemoryDisk::new(), Faults::new(), CountingWal::new());
    drop(reopened(&disk, &wal, &small()));
    let seen = FaultyDisk::new(disk, faults.clone());
    let pool = open(&seen, &wal, PoolOptions { background_cleaner: true, ..small() });
    let (blocked, own) = (Arc::new(Barrier::new(2)), thread::current().id());
    let reads_here = Arc::new(AtomicU64::new(0));
    let (block, here) = (blocked.clone(), reads_here.clone());
    faults.watch(move |event| {
        if event.operation == Operation::Read && event.name == "data" {
            if thread::current().id() == own {
                here.fetch_add(1, Ordering::SeqCst);
            } else if event.offset == 100 * PAGE_SIZE as u64 {
                block.wait();
                block.wait();
            }
        }
        None
    });
    pool.load_ahead(&[PageId(100)]);
    blocked.wait();
    // Eight wait in the queue.
    for page in 0..12 {
        pool.load_ahead(&[PageId(page)]);
    }
    assert_eq!(reads_here.load(Ordering::SeqCst), 4);
    assert_eq!(ids(0..12).iter().filter(|page| is_resident(&pool, page)).count(), 4);
    blocked.wait();
    while !ids(0..12).iter().all(|page| is_resident(&pool, page)) {
        thread::yield_now();
    }
    pool.close().unwrap();
}

fn churn_on(pool: &Arc<Pool>, wal: &CountingWal, rounds: u32) {
    let written: Vec<AtomicU64> = (0..PAGES).map(|_| AtomicU64::new(1)).collect();
    thread::scope(|scope| {
        for seed in 0..4 {
            let written = &written;
            scope.spawn(move || churn(pool, wal, written, seed, rounds));
        }
    });
    // Pages that were read ahead may be on their way.
    while pool.held_pages() > 0 {
        thread::yield_now();
    }
    for page in ids(0..PAGES) {
        let counter = written[page.0 as usize].load(Ordering::Relaxed);
        assert_eq!(check(page, &pool.shared(page).unwrap()), counter);
    }
}

#[test]
fn loads_among_writers_keep_contents_on_files_of_the_operating_system() {
    for choice in [IoQueueChoice::Threads, IoQueueChoice::Auto] {
        let directory = tempfile::tempdir().unwrap();
        let disk = OsDisk::open_dir(directory.path(), true).unwrap();
        let io = IoQueueOptions { choice, depth: 8 };
        let options = PoolOptions { background_cleaner: true, io, ..small() };
        let wal = CountingWal::new();
        let pool = reopened(&disk, &wal, &options);
        churn_on(&pool, &wal, 300);
        let stats = pool.stats();
        assert!((1..=8).contains(&stats.queued_reads_in_flight_max), "{stats:?}");
        assert!(stats.queued_reads > 500 && stats.queued_writes > 100, "{stats:?}");
        if choice == IoQueueChoice::Threads {
            assert_eq!(stats.io_queue, IoQueueKind::Threads);
        }
        pool.close().unwrap();
    }
}

/// Requests complete late, in any order, and some fail.
#[test]
fn loads_among_writers_keep_contents_whatever_the_queue_does() -> Result<()> {
    let reads = HeldReads::new(12);
    let disk = HeldReadsDisk::new(MemoryDisk::new(), reads.clone());
    let wal = CountingWal::new();
    let pool = reopened(&disk, &wal, &small());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(13);
            while !stop.load(Ordering::Relaxed) {
                match random.below(6) {
                    0 => drop(reads.fail_one(io::ErrorKind::Other)),
                    1 => thread::sleep(Duration::from_micros(100)),
                    _ => drop(reads.complete_one()),
                }
            }
        });
        churn_on(&pool, &wal, 1_500);
        stop.store(true, Ordering::Relaxed);
    });
    assert!(pool.stats().queued_reads > 500);
    pool.close()
}

#[test]
fn a_depth_of_zero_is_refused() {
    let io = IoQueueOptions { depth: 0, ..IoQueueOptions::default() };
    let options = PoolOptions { io, ..small() };
    let error = Pool::open(&MemoryDisk::new(), CountingWal::new(), options).err().unwrap();
    assert!(matches!(error, Error::BadOption { option: "io", .. }), "{error}");
}
