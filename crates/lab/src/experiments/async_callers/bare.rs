//! A program that does what the engine does with the disk, and nothing else: reads of random pages,
//! 64 in flight; writes of pages in batches, each with a double write; a log that is synced in
//! groups, for which each transaction waits.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::PAGE_SIZE;
use clearway_testkit::Random;

use crate::experiment::{Outcome, Sample};

/// Transactions in flight.
const THREADS: u64 = 64;
const SECTOR: u64 = 512;
/// The log is written round and round in a file of this size.
const LOG_BYTES: u64 = 64 << 20;

/// The work of the disk for one transaction.
pub(in super::super) struct Work {
    pub(super) reads: f64,
    pub(super) writes: f64,
    /// Batches of pages that are written together, each with two syncs.
    pub(super) batches: f64,
    pub(super) log_bytes: f64,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Work { reads, writes, batches, log_bytes } = self;
        write!(f, "{reads:.2} pages read, {writes:.2} written ")?;
        write!(f, "in {batches:.3} batches, {log_bytes:.0} bytes of log")
    }
}

/// A page that is aligned as direct I/O demands.
#[repr(align(4096))]
struct Aligned([u8; PAGE_SIZE]);

/// The files, and what the threads share.
struct Shared<'a> {
    work: &'a Work,
    data: File,
    pages: u64,
    log: Mutex<Log>,
    flushed: Condvar,
    commits: AtomicU64,
    /// The sum of the times that page reads took.
    reading_ns: AtomicU64,
    stops: AtomicBool,
}

/// Bytes appended and bytes durable.
#[derive(Default)]
struct Log {
    end: u64,
    durable: u64,
}

/// Runs for `time` on the files of a database that is closed, and one file for its own writes.
pub(super) fn run(directory: &Path, work: &Work, time: Duration) -> Outcome<Sample> {
    let open = |path: &Path, len: u64| -> io::Result<File> {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).custom_flags(direct);
        let file = options.open(path)?;
        fill(&file, len)?;
        Ok(file)
    };
    let own = tempfile::tempdir_in(directory.parent().unwrap_or(directory))?;
    let bytes = directory.join("data").metadata()?.len();
    let data = open(&own.path().join("data"), bytes)?;
    let double = open(&own.path().join("double"), 64 * PAGE_SIZE as u64)?;
    let log = open(&own.path().join("log"), LOG_BYTES)?;
    let shared = Shared {
        work,
        pages: bytes / PAGE_SIZE as u64,
        data,
        log: Mutex::default(),
        flushed: Condvar::new(),
        commits: AtomicU64::new(0),
        reading_ns: AtomicU64::new(0),
        stops: AtomicBool::new(false),
    };
    let started = Instant::now();
    let result: io::Result<()> = thread::scope(|scope| {
        let mut threads = vec![scope.spawn(|| flush(&shared, &log))];
        threads.push(scope.spawn(|| write_pages(&shared, &double)));
        let readers = (0..THREADS).map(|n| {
            let shared = &shared;
            scope.spawn(move || transactions(shared, n))
        });
        threads.extend(readers);
        thread::sleep(time);
        shared.stops.store(true, Ordering::Relaxed);
        // Under the mutex, so that no thread is between its check and its wait.
        drop(shared.log.lock());
        shared.flushed.notify_all();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a panic")))
        })
    });
    result?;
    let seconds = started.elapsed().as_secs_f64();
    let commits = shared.commits.load(Ordering::Relaxed);
    let reading = Duration::from_nanos(shared.reading_ns.load(Ordering::Relaxed));
    Ok(vec![
        ("tps", commits as f64 / seconds),
        ("reads/tx", work.reads),
        ("in flight", reading.as_secs_f64() / seconds),
    ])
}

/// Writes a file once, so that no write of the run allocates.
fn fill(file: &File, len: u64) -> io::Result<()> {
    let page = Aligned([7; PAGE_SIZE]);
    for at in (0..len).step_by(PAGE_SIZE) {
        file.write_all_at(&page.0, at)?;
    }
    file.sync_all()
}

impl Shared<'_> {
    fn runs(&self) -> bool {
        !self.stops.load(Ordering::Relaxed)
    }

    fn random_page(&self, random: &mut Random) -> u64 {
        random.below(self.pages) * PAGE_SIZE as u64
    }
}

/// Reads pages, appends to the log and waits until that is durable, again and again.
fn transactions(shared: &Shared<'_>, number: u64) -> io::Result<()> {
    let (mut random, mut page) = (Random::new(number), Aligned([0; PAGE_SIZE]));
    let mut due = 0.0;
    while shared.runs() {
        due += shared.work.reads;
        while due >= 1.0 {
            due -= 1.0;
            let (at, began) = (shared.random_page(&mut random), Instant::now());
            shared.data.read_exact_at(&mut page.0, at)?;
            let took = began.elapsed().as_nanos() as u64;
            shared.reading_ns.fetch_add(took, Ordering::Relaxed);
        }
        let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.end += shared.work.log_bytes as u64;
        let mine = log.end;
        shared.flushed.notify_all();
        while log.durable < mine && shared.runs() {
            log = shared.flushed.wait(log).unwrap_or_else(PoisonError::into_inner);
        }
        shared.commits.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Writes what the log has grown by, and syncs it.
fn flush(shared: &Shared<'_>, file: &File) -> io::Result<()> {
    let page = Aligned([1; PAGE_SIZE]);
    let mut at = 0;
    while shared.runs() {
        let end = {
            let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
            while log.end == log.durable && shared.runs() {
                log = shared.flushed.wait(log).unwrap_or_else(PoisonError::into_inner);
            }
            let bytes = (log.end - log.durable).next_multiple_of(SECTOR);
            let mut left = bytes;
            let end = log.end;
            drop(log);
            while left > 0 {
                let part = left.min(PAGE_SIZE as u64);
                file.write_all_at(&page.0[..part as usize], at)?;
                at = (at + part) % (LOG_BYTES - PAGE_SIZE as u64);
                at -= at % SECTOR;
                left -= part;
            }
            file.sync_data()?;
            end
        };
        shared.log.lock().unwrap_or_else(PoisonError::into_inner).durable = end;
        shared.flushed.notify_all();
    }
    Ok(())
}

/// Writes as many pages as the commits so far cost, in batches with a double write.
fn write_pages(shared: &Shared<'_>, double: &File) -> io::Result<()> {
    let (mut random, page) = (Random::new(THREADS), Aligned([2; PAGE_SIZE]));
    let batch = (shared.work.writes / shared.work.batches.max(1e-9)).round().max(1.0) as u64;
    let mut written = 0;
    while shared.runs() {
        let commits = shared.commits.load(Ordering::Relaxed);
        if (commits as f64 * shared.work.writes) < (written + batch) as f64 {
            thread::sleep(Duration::from_micros(200));
            continue;
        }
        for n in 0..batch {
            double.write_all_at(&page.0, n % 64 * PAGE_SIZE as u64)?;
        }
        double.sync_data()?;
        for _ in 0..batch {
            shared.data.write_all_at(&page.0, shared.random_page(&mut random))?;
        }
        shared.data.sync_data()?;
        written += batch;
    }
    Ok(())
}
