//! Invariant 5: `redo_start` is never later than the first record that a durable page lacks.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use clearway_base::{Lsn, PAGE_SIZE, PageId};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_pool::{Pool, PoolOptions, Wal};
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};

use crate::support::*;

const PAGE: PageId = PageId(3);

#[test]
fn page_is_dirty_before_its_record_exists() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    assert_eq!(pool.redo_start(), None);
    let mut page = pool.exclusive(PAGE).unwrap();
    page.begin_change();
    assert_eq!(pool.redo_start(), Some(wal.end()));
    let span = wal.insert(PAGE);
    page.finish_change(span.end);
    drop(page);
    assert_eq!(pool.redo_start(), Some(span.start));
    // Later changes do not move it.
    write(&wal, &mut pool.exclusive(PAGE).unwrap(), 2);
    assert_eq!(pool.redo_start(), Some(span.start));
    pool.clean_all().unwrap();
    assert_eq!(pool.redo_start(), None);
}

#[test]
fn change_that_was_begun_and_not_logged_is_not_written() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    write(&wal, &mut pool.exclusive(PAGE).unwrap(), 1);
    pool.clean_all().unwrap();
    let written = pool.stats().pages_written;
    // The record did not fit the log, say.
    pool.exclusive(PAGE).unwrap().begin_change();
    assert!(pool.redo_start().is_some());
    pool.clean_all().unwrap();
    assert_eq!((pool.stats().pages_written, pool.redo_start()), (written, None));
}

/// A disk whose first write to the data file waits for a signal from the test.
fn stalled_disk() -> (FaultyDisk<MemoryDisk>, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (faults, (arrived, arrival), (resume, resumed)) =
        (Faults::new(), mpsc::channel(), mpsc::channel());
    let (arrived, resumed) = (Mutex::new(arrived), Mutex::new(resumed));
    let first = AtomicBool::new(true);
    faults.watch(move |event| {
        if event.operation == Operation::Write
            && event.name == "data"
            && first.swap(false, Ordering::SeqCst)
        {
            arrived.lock().unwrap().send(()).unwrap();
            resumed.lock().unwrap().recv().unwrap();
        }
        None
    });
    (FaultyDisk::new(MemoryDisk::new(), faults), arrival, resume)
}

#[test]
fn page_in_flight_counts_as_dirty_and_keeps_a_later_change() {
    let (disk, arrival, resume) = stalled_disk();
    let wal = CountingWal::new();
    let pool = open(&disk, &wal, small());
    let first = write(&wal, &mut pool.exclusive(PAGE).unwrap(), 1);
    thread::scope(|scope| {
        let cleaner = scope.spawn(|| pool.clean_older(wal.end()));
        arrival.recv().unwrap();
        // Copied, not yet in place.
        assert_eq!(pool.redo_start(), Some(first.start));
        let second = write(&wal, &mut pool.exclusive(PAGE).unwrap(), 2);
        assert_eq!(pool.redo_start(), Some(first.start));
        resume.send(()).unwrap();
        cleaner.join().unwrap().unwrap();
        // The copy lacks the second record, and only that.
        let redo_start = pool.redo_start().unwrap();
        assert!(first.start < redo_start && redo_start <= second.start, "{redo_start}");
    });
    pool.clean_all().unwrap();
    assert_eq!(pool.redo_start(), None);
}

#[test]
fn page_latched_when_its_copy_completes_stays_dirty() {
    let (disk, arrival, resume) = stalled_disk();
    let wal = CountingWal::new();
    let pool = open(&disk, &wal, small());
    write(&wal, &mut pool.exclusive(PAGE).unwrap(), 1);
    thread::scope(|scope| {
        let cleaner = scope.spawn(|| pool.clean_older(wal.end()));
        arrival.recv().unwrap();
        let mut page = pool.exclusive(PAGE).unwrap();
        resume.send(()).unwrap();
        cleaner.join().unwrap().unwrap();
        let redo_start = pool.redo_start().unwrap();
        let second = write(&wal, &mut page, 2);
        assert!(redo_start <= second.start);
        assert_eq!(pool.redo_start(), Some(redo_start));
    });
}

#[test]
fn redo_gives_pages_its_own_position() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    pool.set_redo_position(Some(Lsn(40)));
    let mut page = pool.exclusive(PAGE).unwrap();
    page.begin_change();
    page.finish_change(Lsn(50));
    drop(page);
    pool.set_redo_position(None);
    assert_eq!(pool.redo_start(), Some(Lsn(40)));
    pool.clean_all().unwrap();
    assert_eq!(pool.redo_start(), None);
}

#[test]
fn clean_older_leaves_younger_pages() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    write(&wal, &mut pool.exclusive(PageId(1)).unwrap(), 1);
    let young = write(&wal, &mut pool.exclusive(PageId(2)).unwrap(), 1);
    pool.clean_older(young.start).unwrap();
    assert_eq!((pool.redo_start(), pool.stats().pages_written), (Some(young.start), 1));
}

/// The page LSNs that would be found after a power failure now.
fn durable_page_lsns(disk: &MemoryDisk) -> HashMap<PageId, Lsn> {
    let file = disk.fork_durable().open("data", OpenMode::Existing).unwrap();
    let mut page = vec![0; PAGE_SIZE];
    let pages = (file.len().unwrap() / PAGE_SIZE as u64) as u32;
    let read = |id: u32| {
        file.read_at(&mut page, u64::from(id) * PAGE_SIZE as u64).unwrap();
        (PageId(id), Lsn(u64::from_le_bytes(page[8..16].try_into().unwrap())))
    };
    (0..pages).map(read).collect()
}

#[test]
fn fuzzy_checkpoint_under_load_misses_no_record() {
    let (wal, disk) = (CountingWal::new(), MemoryDisk::with_crashes());
    let options = PoolOptions { background_cleaner: true, batch_pages: 8, ..small() };
    let pool = open(&disk, &wal, options);
    pool.ensure_len(PageId(127)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        for worker in 0..3u32 {
            let (pool, wal, stop) = (pool.clone(), wal.clone(), stop.clone());
            scope.spawn(move || {
                for round in (worker..).step_by(7).take(4_000) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    write(&wal, &mut pool.exclusive(PageId(round % 128)).unwrap(), 1);
                }
            });
        }
        for round in 0..40 {
            let end = wal.end();
            let redo = pool.redo_start().map_or(end, |start| start.min(end));
            let records = wal.records.lock().unwrap().clone();
            let durable = durable_page_lsns(&disk);
            for (page, span) in records.iter().filter(|(_, span)| span.start < redo) {
                let has = durable.get(page).is_some_and(|page_lsn| *page_lsn >= span.end);
                assert!(has, "{page} lacks {span:?}, redo starts at {redo}");
            }
            if round % 4 == 0 {
                pool.clean_older(end).unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(pool.stats().pages_written > 0);
}

/// A process is killed after its in-place writes and before their sync; the next one finds the
/// pages in the system's memory; then the power fails.
#[test]
fn pages_that_a_killed_process_did_not_sync_are_not_taken_for_durable() {
    let (wal, memory, faults) = (CountingWal::new(), MemoryDisk::with_crashes(), Faults::new());
    let killed = open(&FaultyDisk::new(memory.clone(), faults.clone()), &wal, small());
    populate(&killed, &wal, 10..20);
    killed.clean_all().unwrap();
    for id in 10..20 {
        write(&wal, &mut killed.exclusive(PageId(id)).unwrap(), 2);
    }
    // Stands for the kill: written in place, never synced.
    faults.fail(Operation::Sync, "data", 1, std::io::ErrorKind::Other, Lasting::Forever);
    killed.clean_all().unwrap_err();
    drop(killed);
    let pool = open(&memory, &wal, small());
    for id in 10..20 {
        assert_eq!(check(PageId(id), &pool.shared(PageId(id)).unwrap()), 2); // redo skips all
    }
    // A checkpoint now would let redo begin at the log's end.
    assert_eq!(pool.redo_start(), None);
    let pool = open(&memory.fork_durable(), &wal, small());
    let counters = (10..20).map(|id| check(PageId(id), &pool.shared(PageId(id)).unwrap()));
    assert_eq!(counters.collect::<Vec<_>>(), [2; 10], "what redo_start() == None promised");
}

/// Like the engine's gate: there is no log between redo and the start of the log.
struct Gate(Arc<CountingWal>, AtomicBool);

impl Gate {
    fn log(&self) -> Option<&CountingWal> {
        self.1.load(Ordering::SeqCst).then_some(&*self.0)
    }
}

impl Wal for Gate {
    fn durable(&self) -> Lsn {
        self.log().map_or(Lsn::MAX, |log| log.durable())
    }
    fn make_durable(&self, lsn: Lsn) -> clearway_base::Result<()> {
        self.log().map_or(Ok(()), |log| log.make_durable(lsn))
    }
    fn end(&self) -> Lsn {
        self.log().map_or(Lsn::MAX, |log| log.end())
    }
}

#[test]
fn page_copied_between_redo_and_log_start_keeps_a_later_change() {
    let (disk, arrival, resume) = stalled_disk();
    let wal = CountingWal::new();
    let gate = Arc::new(Gate(wal.clone(), AtomicBool::new(false)));
    let pool = Pool::open(&disk, gate.clone(), small()).unwrap();
    // Redo.
    pool.set_redo_position(Some(Lsn(40)));
    let mut page = pool.exclusive(PAGE).unwrap();
    page.begin_change();
    page.finish_change(Lsn(50));
    drop(page);
    pool.set_redo_position(Some(Lsn(60)));
    thread::scope(|scope| {
        // The background cleaner copies the page now …
        let cleaner = scope.spawn(|| pool.clean_older(Lsn(41)));
        arrival.recv().unwrap();
        // … the log starts, and undo changes the page while the copy is on its way.
        gate.1.store(true, Ordering::SeqCst);
        pool.set_redo_position(None);
        let undo = write(&wal, &mut pool.exclusive(PAGE).unwrap(), 2);
        resume.send(()).unwrap();
        cleaner.join().unwrap().unwrap();
        let redo_start = pool.redo_start().expect("the undo's change is in no durable copy");
        assert!(redo_start <= undo.start);
    });
}

#[test]
#[should_panic(expected = "the redo position is set")]
fn without_log_and_redo_position_no_page_becomes_dirty() {
    let gate = Arc::new(Gate(CountingWal::new(), AtomicBool::new(false)));
    let pool = Pool::open(&MemoryDisk::new(), gate, small()).unwrap();
    pool.exclusive(PAGE).unwrap().begin_change();
}
