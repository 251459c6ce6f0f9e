//! Recovery: analysis and redo in one forward pass over the log, then undo of the losers.
//!
//! ```text
//!   retention LSN      redo              checkpoint B                            tail
//!   ├── undo may read ─┼── redo only ────┼── redo and analysis ──────────────────┤
//! ```
//!
//! Invariants:
//! - RECOVERY-1. *Redo repeats history*: every change of the log is on its page afterwards, losers'
//!   and compensations included. Page LSNs make it idempotent. Where the log has images of pages
//!   (`EngineOptions::redo_check`), redo is compared with them.
//! - RECOVERY-2. The log that the pass reads is made durable first, so a page that redo changed may
//!   be written at once without breaking the WAL rule.
//! - RECOVERY-3. After the pass `unfinished` holds exactly the unfinished transactions: the
//!   checkpoint's list, corrected by every record from `B` on. A record always overrides the list:
//!   a record between `B` and the list is newer than the state from which the list was made, or its
//!   effect is in the list already.
//! - RECOVERY-4. Undo logs compensations under the loser's own id, and END when it is done. A crash
//!   in the middle leaves a shorter undo chain and never a change undone twice.
//! - RECOVERY-5. Before anything is replayed or written, the log was found to be the one that the
//!   superblock knows (`clearway_log::trace`). The epochs that the pass then finds in it, ascending
//!   and beginning with that of the retention LSN, are those that the log's next first record
//!   continues.
//!
//! The pass takes records in batches, whose pages are brought into memory first (`read_ahead`).
//!
//! Undo goes backwards over all losers together, newest change first, so the log is read in one
//! direction. Checkpoints may run meanwhile: the transaction table has the losers, too.
//!
//! Algorithm: Mohan et al., "ARIES" (TODS 1992), sections 6.1 to 6.4. Differences: analysis and
//! redo are one pass, since redo needs no dirty-page table; system transactions are single records
//! and are never undone; a committed transaction may have deferred frees left to do.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use clearway_base::{
    Error, Lsn, Result, TxnId,
    failpoint::{self, Failpoint},
};
use clearway_disk::{Disk, OpenMode};
use clearway_log::{EpochMark, Lineage, LogReader, RecordView, Traced};
use clearway_pool::Pool;

use crate::{
    EngineOptions,
    core::Core,
    deferred::DeferredDeallocations,
    finish,
    read_ahead::RecordBatch,
    record::{self, ActiveEntry, RecoveryWork},
    superblock::{Superblock, VERSION_1},
    transaction_state::{TransactionState, Transactions},
};

/// The findings of the forward pass.
pub(crate) struct Pass {
    /// Where the log ends.
    pub(crate) tail: Lsn,
    /// Records read.
    pub(crate) records: u64,
    /// Images that redo was checked by.
    pub(crate) images: u64,
    /// Unfinished transactions (RECOVERY-3).
    pub(crate) unfinished: Vec<ActiveEntry>,
    /// The epochs in it that may be needed, ascending (RECOVERY-5); none in version 1.
    pub(crate) epochs: Vec<EpochMark>,
}

/// The counts of the backward pass: losers, undone changes, and frees.
#[derive(Default)]
pub(crate) struct Undone {
    pub(crate) losers: u64,
    pub(crate) changes: u64,
    pub(crate) frees: u64,
}

/// Identifies the log that the pass will read (RECOVERY-5).
///
/// # Errors
/// [`Error::ForeignLog`], damage, and errors of the disk.
pub(crate) fn identify(disk: &Arc<dyn Disk>, block: &Superblock) -> Result<Traced> {
    if block.version == VERSION_1 {
        return Ok(Traced { lineage: Lineage::version_1(), begun: EpochMark::NONE });
    }
    if block.log_empty {
        let lineage = Lineage::new(block.identity.database, Vec::new());
        return Ok(Traced { lineage, begun: EpochMark::NONE });
    }
    clearway_log::trace(disk, block.segment_bytes, &block.known())
}

/// Reads the log from the superblock's redo LSN to its end, repeating what it says. The pool's redo
/// position stays where the last records were applied: until the log runs, the pool has nothing
/// else to tell how old a page is (the caller takes the position away then).
///
/// # Errors
/// Damage in the log or in a page, and what the disk says. Nothing is lost: the pass can be
/// repeated.
pub(crate) fn forward(
    disk: &Arc<dyn Disk>,
    pool: &Arc<Pool>,
    options: &EngineOptions,
    block: &Superblock,
    Traced { lineage, begun }: Traced,
) -> Result<Pass> {
    if block.log_empty {
        check_reaches(pool, block.redo)?;
        let (unfinished, epochs) = (Vec::new(), Vec::new());
        return Ok(Pass { tail: block.redo, records: 0, images: 0, unfinished, epochs });
    }
    sync_log(&**disk)?;
    let lineage = Arc::new(lineage);
    let (segment_bytes, from) = (block.segment_bytes, block.redo);
    let mut reader = LogReader::open_as(disk.clone(), segment_bytes, lineage.clone(), from)?;
    let mut analysis = Analysis::new(block.checkpoint);
    let mut batch = RecordBatch::new(options);
    let (mut records, mut images) = (0, 0);
    pool.set_redo_position(Some(block.redo));
    while batch.fill(&mut reader)? {
        batch.load_pages(pool);
        // At or before every record of the batch: a recovery LSN may be too low, never too high.
        pool.set_redo_position(Some(batch.start().unwrap_or(block.redo)));
        for record in batch.records() {
            records += 1;
            if record::is_change(record.kind) {
                clearway_tree::redo(pool, record.body, record.span)?;
                failpoint::pass(Failpoint::ChangeRedone);
            } else if record.kind == record::IMAGE {
                images += u64::from(clearway_tree::check_redo(pool, record.body, record.prev)?);
            }
            if record.span.start >= block.checkpoint {
                analysis.note(&record);
            }
        }
    }
    let last = reader.epoch();
    if last.is_some_and(|epoch| epoch > block.epoch) {
        return Err(Error::corrupt("log", "it is newer than the superblock"));
    }
    if last.is_some_and(|epoch| epoch < begun.epoch) {
        let detail = format!("it ends before epoch {}, which has begun in it", begun.epoch.0);
        return Err(Error::corrupt("log", detail));
    }
    if !analysis.complete {
        return Err(Error::corrupt("log", "the checkpoint that the superblock names is not there"));
    }
    let tail = reader.tail();
    check_reaches(pool, tail)?;
    let unfinished = analysis.unfinished.into_values().collect();
    let is_read = |mark: &&EpochMark| last.is_some_and(|epoch| mark.epoch <= epoch);
    let epochs = lineage.marks().iter().filter(is_read).copied().collect();
    Ok(Pass { tail, records, images, unfinished, epochs })
}

/// Checks that a log that ends at `tail` contains every change that a page has. Nothing else proves
/// that the last groups of a log that was not closed in order existed.
fn check_reaches(pool: &Pool, tail: Lsn) -> Result<()> {
    let needed = pool.page_lsn_max();
    if tail < needed {
        let detail = format!("it ends at {tail}, and pages have seen it up to {needed}");
        return Err(Error::corrupt("log", detail));
    }
    pool.check_page_lsns(tail)
}

/// Makes what is about to be read durable (RECOVERY-2): a killed process can leave log bytes that
/// only the operating system's memory has.
fn sync_log(disk: &dyn Disk) -> Result<()> {
    for name in disk.list("log")? {
        disk.open(&format!("log/{name}"), OpenMode::Existing)?.sync_data()?;
    }
    Ok(())
}

/// The state of analysis.
struct Analysis {
    /// Where the checkpoint begins.
    begin: Lsn,
    unfinished: BTreeMap<TxnId, ActiveEntry>,
    /// Transactions that ended between `begin` and the end of the checkpoint; its list may still
    /// name them.
    ended: HashSet<TxnId>,
    /// Whether the checkpoint's last record was met.
    complete: bool,
}

impl Analysis {
    fn new(begin: Lsn) -> Analysis {
        Analysis { begin, unfinished: BTreeMap::new(), ended: HashSet::new(), complete: false }
    }

    fn note(&mut self, record: &RecordView<'_>) {
        let start = record.span.start;
        match record.kind {
            record::USER => self.note_pending(record.txn, start, RecoveryWork::Undo(start)),
            record::COMPENSATION => {
                self.note_pending(record.txn, start, RecoveryWork::Undo(record.prev))
            }
            record::COMMIT if record.body.is_empty() => self.end(record.txn),
            record::COMMIT => {
                self.note_pending(
                    record.txn,
                    start,
                    RecoveryWork::Frees { commit: start, begun: 0 },
                );
            }
            record::SYSTEM if record.txn != TxnId::NONE => self.begun(record, start),
            record::END => self.end(record.txn),
            record::CHECKPOINT_ACTIVE => self.list(record.body),
            record::CHECKPOINT_END if record.body.get(..8) == Some(&self.begin.0.to_le_bytes()) => {
                self.complete = true;
                self.ended = HashSet::new();
            }
            _ => {}
        }
    }

    fn note_pending(&mut self, txn: TxnId, start: Lsn, need: RecoveryWork) {
        let entry = self.unfinished.entry(txn).or_insert(ActiveEntry { txn, first: start, need });
        entry.need = need;
    }

    /// A step of a deferred free; its number is in `prev`.
    fn begun(&mut self, record: &RecordView<'_>, start: Lsn) {
        let txn = record.txn;
        let need = RecoveryWork::Frees { commit: Lsn::ZERO, begun: 0 };
        let entry = self.unfinished.entry(txn).or_insert(ActiveEntry { txn, first: start, need });
        // The commit record may stand before the checkpoint; then the list will name it.
        let commit = match entry.need {
            RecoveryWork::Frees { commit, .. } => commit,
            RecoveryWork::Undo(_) => Lsn::ZERO,
        };
        entry.need = RecoveryWork::Frees { commit, begun: record.prev.0 };
    }

    fn end(&mut self, txn: TxnId) {
        self.unfinished.remove(&txn);
        if !self.complete {
            self.ended.insert(txn);
        }
    }

    /// The checkpoint's list, corrected by what the log has said since its start (RECOVERY-3).
    fn list(&mut self, body: &[u8]) {
        for listed in record::decode_active(body, self.begin).unwrap_or_default() {
            if self.ended.contains(&listed.txn) {
                continue;
            }
            let entry = self.unfinished.entry(listed.txn).or_insert(listed);
            entry.first = entry.first.min(listed.first);
            if let (
                RecoveryWork::Frees { commit: commit @ Lsn::ZERO, begun },
                RecoveryWork::Frees { commit: c, begun: b },
            ) = (&mut entry.need, listed.need)
            {
                *commit = c;
                *begun = (*begun).max(b);
            }
        }
    }
}

/// Slots that go on for the unfinished transactions, registered so that a checkpoint which
/// runs during undo lists them.
pub(crate) struct Losers {
    /// By the change that is to be undone next.
    undo: BTreeMap<Lsn, Box<TransactionState>>,
    /// Those of which everything is undone already, but their END is missing.
    #[allow(clippy::vec_box)] // Slots live boxed.
    undone: Vec<Box<TransactionState>>,
    #[allow(clippy::vec_box)] // Slots live boxed.
    frees: Vec<Box<TransactionState>>,
}

/// Registers the unfinished transactions.
pub(crate) fn adopt(
    transactions: &Arc<Transactions>,
    unfinished: &[ActiveEntry],
) -> Result<Losers> {
    let core = &transactions.core;
    let mut losers = Losers { undo: BTreeMap::new(), undone: Vec::new(), frees: Vec::new() };
    let mut reader = core.log.reader(core.superblock.get().retention_lsn)?;
    for entry in unfinished {
        match entry.need {
            RecoveryWork::Undo(Lsn::ZERO) => {
                losers.undone.push(transactions.resume(entry.txn, entry.first, Lsn::ZERO)?);
            }
            RecoveryWork::Undo(head) => {
                losers.undo.insert(head, transactions.resume(entry.txn, entry.first, head)?);
            }
            RecoveryWork::Frees { commit, begun } => {
                let frees = read_frees(&mut reader, entry.txn, commit)?;
                let mut state = transactions.resume(entry.txn, entry.first, commit)?;
                state.resume_frees(commit, begun, frees);
                losers.frees.push(state);
            }
        }
    }
    Ok(losers)
}

/// Reads the deferred frees of a committed transaction, newest record first.
fn read_frees(reader: &mut LogReader, txn: TxnId, commit: Lsn) -> Result<DeferredDeallocations> {
    let damaged = || Error::corrupt("log record", format!("the deferred frees of {}", txn.0));
    let mut frees = DeferredDeallocations::default();
    let mut at = commit;
    let mut kind = record::COMMIT;
    while at != Lsn::ZERO {
        let record = reader.read_at(at)?;
        if record.kind != kind || record.txn != txn || record.prev >= at {
            return Err(damaged());
        }
        frees.prepend(record.body).ok_or_else(damaged)?;
        (at, kind) = (record.prev, record::FREES);
    }
    Ok(frees)
}

/// Undoes the losers and completes the deferred frees.
pub(crate) fn backward(core: &Core, mut losers: Losers) -> Result<Undone> {
    let mut done = Undone {
        losers: (losers.undo.len() + losers.undone.len()) as u64,
        frees: losers.frees.len() as u64,
        ..Undone::default()
    };
    let mut reader = core.log.reader(core.superblock.get().retention_lsn)?;
    let mut body = Vec::new();
    while let Some((lsn, mut state)) = losers.undo.pop_last() {
        let prev = read_change(&mut reader, state.id, lsn, &mut body)?;
        state.undo_from_log(lsn, prev, &body)?;
        failpoint::pass(Failpoint::LoserChangeUndone);
        done.changes += 1;
        if prev == Lsn::ZERO {
            losers.undone.push(state);
        } else {
            losers.undo.insert(prev, state);
        }
    }
    for state in losers.undone {
        finish::end_loser(state)?;
    }
    for mut state in losers.frees {
        state.reserve_end()?;
        state.free_deferred()?;
        state.retire();
    }
    Ok(done)
}

/// Reads the change at `lsn` into `body`. Returns the change to undo after it.
fn read_change(reader: &mut LogReader, txn: TxnId, lsn: Lsn, body: &mut Vec<u8>) -> Result<Lsn> {
    let record = reader.read_at(lsn)?;
    // `prev` goes backwards, or undo would not end.
    if record.kind != record::USER || record.txn != txn || record.prev >= lsn {
        let detail = format!("the undo chain of {} leads to {lsn}, which is not of it", txn.0);
        return Err(Error::corrupt("log record", detail));
    }
    body.clear();
    body.extend_from_slice(record.body);
    Ok(record.prev)
}

#[cfg(test)]
mod tests {
    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{
        core::WalGate,
        engine::Engine,
        superblock::{self, FoundDatabase},
    };

    /// Between the pass and the start of the log the cleaner may copy pages, and undo changes them
    /// right after: the copies must not count as newer than that.
    #[test]
    fn redo_position_stays_until_the_log_runs() {
        let disk = MemoryDisk::new();
        let options = EngineOptions { background: false, ..EngineOptions::default() };
        let engine = Engine::open(Arc::new(disk.clone()), options.clone()).unwrap();
        let table = engine.create_table("t").unwrap();
        let mut txn = engine.begin();
        txn.put(&table, b"key", b"value").unwrap();
        let ack = txn.commit().unwrap().ack;
        engine.log().wait_durable(ack).unwrap();
        let image: Arc<dyn Disk> = Arc::new(disk.fork());
        let FoundDatabase::Database(block) = superblock::find(&*image).unwrap() else { panic!() };
        let traced = identify(&image, &block).unwrap();
        let pool = Pool::open(&*image, Arc::new(WalGate::default()), options.pool.clone()).unwrap();
        let pass = forward(&image, &pool, &options, &block, traced).unwrap();
        pool.clean_all().unwrap();
        assert_eq!(pool.redo_start(), None);
        pool.exclusive(clearway_base::PageId(9)).unwrap().begin_change();
        assert!(pool.redo_start().is_some_and(|redo| redo <= pass.tail));
    }
}
