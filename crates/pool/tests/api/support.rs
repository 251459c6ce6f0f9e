//! A log that is only a counter, and pages with contents that can be checked.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use clearway_base::{Error, Lsn, LsnSpan, PAGE_SIZE, PageId, Result};
use clearway_disk::Disk;
use clearway_pool::{ExclusivePage, OptimisticPage, Pool, PoolOptions, Wal};

/// A log without bytes: records have positions and nothing else.
pub(crate) struct CountingWal {
    end: AtomicU64,
    durable: AtomicU64,
    broken: AtomicBool,
    failed: AtomicBool,
    /// Every record: page, span.
    pub(crate) records: Mutex<Vec<(PageId, LsnSpan)>>,
}

impl CountingWal {
    pub(crate) fn new() -> Arc<CountingWal> {
        Arc::new(CountingWal {
            end: AtomicU64::new(1000),
            durable: AtomicU64::new(1000),
            broken: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            records: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn insert(&self, page: PageId) -> LsnSpan {
        let mut records = self.records.lock().unwrap();
        let start = self.end.fetch_add(10, Ordering::SeqCst);
        let span = LsnSpan { start: Lsn(start), end: Lsn(start + 10) };
        records.push((page, span));
        span
    }

    pub(crate) fn break_now(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// Makes the log refuse records from now on.
    pub(crate) fn fail_for_good(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }
}

impl Wal for CountingWal {
    fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::SeqCst))
    }

    fn make_durable(&self, lsn: Lsn) -> Result<()> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(Error::Closed);
        }
        assert!(lsn <= self.end(), "a page LSN beyond the log");
        self.durable.fetch_max(lsn.0, Ordering::SeqCst);
        Ok(())
    }

    fn end(&self) -> Lsn {
        Lsn(self.end.load(Ordering::SeqCst))
    }

    fn health(&self) -> Result<()> {
        if self.failed.load(Ordering::SeqCst) { Err(Error::Closed) } else { Ok(()) }
    }
}

/// The smallest cache there is, 64 pages, and no thread of its own.
pub(crate) fn small() -> PoolOptions {
    PoolOptions {
        cache_bytes: 64 * PAGE_SIZE as u64,
        max_bytes: 1 << 30,
        background_cleaner: false,
        ..PoolOptions::default()
    }
}

pub(crate) fn open(disk: &dyn Disk, wal: &Arc<CountingWal>, options: PoolOptions) -> Arc<Pool> {
    Pool::open(disk, wal.clone(), options).unwrap()
}

/// The offset of the contents; the 24 bytes before them are the header.
const CONTENTS_AT: usize = 24;

/// Word `index` of a page whose counter is `counter`.
fn word(page: PageId, counter: u64, index: usize) -> u64 {
    (counter ^ u64::from(page.0) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ index as u64)
}

/// Fills a page with contents that follow from its id and a counter, as one logged change.
pub(crate) fn write(wal: &CountingWal, page: &mut ExclusivePage<'_>, counter: u64) -> LsnSpan {
    page.begin_change();
    let span = wal.insert(page.id());
    fill(page, counter);
    page.finish_change(span.end);
    span
}

pub(crate) fn fill(page: &mut ExclusivePage<'_>, counter: u64) {
    let id = page.id();
    page[CONTENTS_AT..32].copy_from_slice(&counter.to_le_bytes());
    for (index, chunk) in page[32..].chunks_exact_mut(8).enumerate() {
        chunk.copy_from_slice(&word(id, counter, index).to_le_bytes());
    }
}

/// Checks all contents of a page and returns its counter; 0 for a page of zeros.
pub(crate) fn check(id: PageId, page: &[u8]) -> u64 {
    let long = |at: usize| u64::from_le_bytes(page[at..at + 8].try_into().unwrap());
    let counter = long(CONTENTS_AT);
    if counter == 0 {
        assert!(page[32..].iter().all(|byte| *byte == 0), "page {id}");
        return 0;
    }
    for index in 0..(PAGE_SIZE - 32) / 8 {
        assert_eq!(long(32 + index * 8), word(id, counter, index), "page {id} word {index}");
    }
    counter
}

/// Like `check`, for a few words and optimistically: returns `None` if the page changed meanwhile.
pub(crate) fn check_optimistic(page: OptimisticPage<'_>) -> Option<u64> {
    let counter = page.read_u64(CONTENTS_AT);
    let indexes = [0, 1, 511, 1000, (PAGE_SIZE - 32) / 8 - 1];
    let words = indexes.map(|index| page.read_u64(32 + index * 8));
    page.validate().ok()?;
    for (index, found) in indexes.into_iter().zip(words) {
        let expected = if counter == 0 { 0 } else { word(page.id(), counter, index) };
        assert_eq!(found, expected, "page {} word {index}", page.id());
    }
    Some(counter)
}

/// Formats pages `ids` with counter 1.
pub(crate) fn populate(pool: &Pool, wal: &CountingWal, ids: std::ops::Range<u32>) {
    for id in ids {
        pool.ensure_len(PageId(id)).unwrap();
        write(wal, &mut pool.format(PageId(id)).unwrap(), 1);
    }
}
