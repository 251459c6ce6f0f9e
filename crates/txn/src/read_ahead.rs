//! Redo's read-ahead: records are taken from the log in batches, and the pages a batch will change
//! are brought into memory together before the batch is applied.
//!
//! Redo by itself reads one page at a time, and after a crash every page has to be read: on a disk
//! that takes 100 µs a page, 60,000 pages are six seconds of waiting. A disk serves several reads
//! in the time of one, and adjacent pages in one read ([`Pool::load`]).
//!
//! Invariants:
//! - READ-AHEAD-1. Nothing is decided here: pages are only read, and records are passed on in log
//!   order. A page that cannot be read is left to redo, which reports it.
//! - READ-AHEAD-2. A batch reads ahead at most a part of the cache, so that it does not evict pages
//!   that it has just read.

use std::{collections::HashSet, sync::Arc, time::Duration};

use clearway_base::{Epoch, Lsn, LsnSpan, PAGE_SIZE, PageId, Result, TxnId};
use clearway_disk::IoPriority;
use clearway_log::{LogReader, RecordView};
use clearway_pool::Pool;

use crate::EngineOptions;

/// Log bytes of a batch: some 60,000 records, enough for many of their pages to be adjacent.
const BATCH_BYTES: u64 = 8 << 20;

/// A record of the batch; its body stands in `RecordBatch::bodies`.
struct BatchedRecord {
    span: LsnSpan,
    kind: u8,
    txn: TxnId,
    prev: Lsn,
    epoch: Epoch,
    body_end: usize,
}

/// Records taken from the log and not applied yet.
pub(crate) struct RecordBatch {
    entries: Vec<BatchedRecord>,
    bodies: Vec<u8>,
    /// Log bytes that the records take.
    bytes: u64,
    pages: HashSet<PageId>,
    pages_max: usize,
    reads_ahead: bool,
}

impl RecordBatch {
    /// An empty batch for a pool of the options' size (READ-AHEAD-2: a quarter of it). Without
    /// background threads nothing is read ahead.
    pub(crate) fn new(options: &EngineOptions) -> RecordBatch {
        RecordBatch {
            entries: Vec::new(),
            bodies: Vec::new(),
            bytes: 0,
            pages: HashSet::new(),
            pages_max: (options.pool.cache_bytes / PAGE_SIZE as u64 / 4) as usize,
            reads_ahead: options.background,
        }
    }

    /// Takes the next records from the log. `false` if there are no more.
    pub(crate) fn fill(&mut self, reader: &mut LogReader) -> Result<bool> {
        self.entries.clear();
        self.bodies.clear();
        self.pages.clear();
        self.bytes = 0;
        while self.bytes < BATCH_BYTES && self.pages.len() < self.pages_max {
            let Some(record) = reader.next()? else { break };
            self.bytes += record.span.end.0 - record.span.start.0;
            self.bodies.extend_from_slice(record.body);
            self.entries.push(BatchedRecord {
                span: record.span,
                kind: record.kind,
                txn: record.txn,
                prev: record.prev,
                epoch: record.epoch,
                body_end: self.bodies.len(),
            });
            if crate::record::is_change(record.kind) {
                clearway_tree::for_each_page(record.body, |page| {
                    self.pages.insert(page);
                });
            }
        }
        Ok(!self.entries.is_empty())
    }

    /// Where the first record of the batch starts.
    pub(crate) fn start(&self) -> Option<Lsn> {
        self.entries.first().map(|entry| entry.span.start)
    }

    /// Brings the pages of the batch into memory (READ-AHEAD-1).
    pub(crate) fn load_pages(&self, pool: &Arc<Pool>) {
        if self.reads_ahead {
            let pages: Vec<PageId> = self.pages.iter().copied().collect();
            pool.load(&pages, IoPriority::ReadAhead, Duration::MAX);
        }
    }

    /// The records, in log order.
    pub(crate) fn records(&self) -> impl Iterator<Item = RecordView<'_>> {
        let mut from = 0;
        self.entries.iter().map(move |entry| {
            let body = &self.bodies[from..entry.body_end];
            from = entry.body_end;
            RecordView {
                span: entry.span,
                kind: entry.kind,
                txn: entry.txn,
                prev: entry.prev,
                body,
                epoch: entry.epoch,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use clearway_disk::{Disk, MemoryDisk};

    use super::*;
    use crate::{
        core::WalGate,
        engine::Engine,
        recovery,
        superblock::{self, FoundDatabase, Superblock},
    };

    /// The image of a killed engine whose log changes some hundred pages.
    fn crashed_image() -> MemoryDisk {
        let disk = MemoryDisk::new();
        let options = EngineOptions { background: false, ..EngineOptions::default() };
        let engine = Engine::open(Arc::new(disk.clone()), options).unwrap();
        let table = engine.create_table("t").unwrap();
        let mut txn = engine.begin();
        for key in 0..8000u64 {
            txn.put(&table, &key.to_be_bytes(), &[7; 200]).unwrap();
        }
        let ack = txn.commit().unwrap().ack;
        engine.checkpoint().unwrap();
        let mut txn = engine.begin();
        for key in 0..8000u64 {
            txn.put(&table, &key.to_be_bytes(), &[8; 200]).unwrap();
        }
        let ack = txn.commit().unwrap().ack.max(ack);
        engine.log().wait_durable(ack).unwrap();
        disk.fork()
    }

    fn reader_of(image: &Arc<dyn Disk>, block: &Superblock) -> LogReader {
        let lineage = Arc::new(recovery::identify(image, block).unwrap().lineage);
        LogReader::open_as(image.clone(), block.segment_bytes, lineage, block.redo).unwrap()
    }

    #[test]
    fn pages_of_a_batch_are_in_memory_before_it_is_applied() {
        let image: Arc<dyn Disk> = Arc::new(crashed_image());
        let FoundDatabase::Database(block) = superblock::find(&*image).unwrap() else { panic!() };
        let mut options = EngineOptions::default();
        options.pool.background_cleaner = false;
        let gate = Arc::new(WalGate::default());
        let pool = Pool::open(&*image, gate, options.pool.clone()).unwrap();
        let mut reader = reader_of(&image, &block);
        let mut batch = RecordBatch::new(&options);
        let mut pages = 0;
        while batch.fill(&mut reader).unwrap() {
            batch.load_pages(&pool);
            assert!(batch.pages.iter().all(|page| pool.try_resident(*page)));
            assert!(batch.records().is_sorted_by_key(|record| record.span.start));
            pages = pages.max(batch.pages.len());
        }
        assert!(pages > 200, "{pages} pages are no test of several requests");
    }

    #[test]
    fn a_batch_reads_no_more_ahead_than_a_quarter_of_the_cache() {
        let image: Arc<dyn Disk> = Arc::new(crashed_image());
        let FoundDatabase::Database(block) = superblock::find(&*image).unwrap() else { panic!() };
        let mut reader = reader_of(&image, &block);
        let mut options = EngineOptions::default();
        options.pool.cache_bytes = 64 * PAGE_SIZE as u64;
        let mut batch = RecordBatch::new(&options);
        let mut batches = 0;
        while batch.fill(&mut reader).unwrap() {
            // One record may bring a few pages at once.
            assert!(batch.pages.len() < 16 + 4, "{} pages", batch.pages.len());
            batches += 1;
        }
        assert!(batches > 10);
    }
}
