//! Fuzzy checkpoints: they determine where the next recovery starts, and stop no transaction.
//!
//! ```text
//!   clean old pages → BEGIN at B → list running transactions → ask the pool for its redo start
//!   → ACTIVE records → END → all durable → superblock → truncate the log
//! ```
//!
//! Invariants:
//! - CHECKPOINT-1. If a transaction has records before `B` that recovery would have to undo, or
//!   deferred deallocations that recovery would have to complete, it is in the list: the list is
//!   made after `B` was inserted (TXN-TABLE-3).
//! - CHECKPOINT-2. If a change was logged before `B` and is not on disk, its record is at or after
//!   the redo LSN: a page is marked as dirty, with its recovery LSN, before the record of its
//!   change is inserted, and the pool's redo start is read after `B` was inserted.
//! - CHECKPOINT-3. The superblock names a checkpoint only when all its records are durable.
//! - CHECKPOINT-4. No log byte at or after min(redo LSN, first LSN of running transactions,
//!   backups' holds) is freed, and none is freed before the superblock with the new retention LSN
//!   is durable.
//! - CHECKPOINT-5. One checkpoint at a time.
//! - CHECKPOINT-6. Neither the redo LSN nor the retention LSN decreases, since the log before them
//!   may have been freed. A page (or a transaction) may name an LSN that was read, as the end of
//!   the log, before an earlier checkpoint began, and stored after that checkpoint had read the
//!   recovery LSNs (or the transaction table). But the record for which the LSN stands was inserted
//!   later still, so it is at or after the LSNs that the earlier checkpoint named (CHECKPOINT-1,
//!   CHECKPOINT-2).
//!
//! The commit record of a transaction may stand between `B` and the list, and the list may
//! nevertheless name the transaction. Recovery then goes by the commit record: see `recovery`
//! (RECOVERY-3).
//!
//! Algorithm: ARIES, section 5.4 "Checkpoints during normal processing", with the dirty-page table
//! reduced to its minimum, because redo compares page LSNs anyway.

use std::sync::Arc;

use clearway_base::{
    Error, Lsn, LsnSpan, Result, TxnId,
    failpoint::{self, Failpoint},
};
use clearway_log::{Log, Record, TRAILER_BYTES_MAX, record_bytes};
use clearway_pool::Pool;
use clearway_sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
    invariant,
};

use crate::{
    health::{self, EngineHealth},
    log_holds::Hold,
    log_space::LogSpace,
    record::{self, ACTIVE_ENTRIES_MAX, ActiveEntry},
    superblock::SuperblockFile,
    transaction_table::TransactionTable,
    upkeep_queue::UpkeepQueue,
};

/// Takes the checkpoints of an engine; the state that they keep from one to the next.
pub(crate) struct Checkpoints {
    pub(crate) parts: CheckpointParts,
    /// Held by the checkpoint that runs (CHECKPOINT-5).
    running: Mutex<()>,
    /// Begin of the latest checkpoint, for the trigger.
    latest: AtomicU64,
    count: AtomicU64,
}

/// The services that a checkpoint uses.
pub(crate) struct CheckpointParts {
    pub(crate) log: Arc<Log>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) superblock: Arc<SuperblockFile>,
    pub(crate) health: Arc<EngineHealth>,
    pub(crate) transactions: TransactionTable,
    pub(crate) log_space: Arc<LogSpace>,
    pub(crate) upkeep: Arc<UpkeepQueue>,
}

/// The pages that a checkpoint cleans first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cleaning {
    /// Pages that were dirty at the last checkpoint already. So redo begins at the last checkpoint
    /// or later, and a checkpoint does not write pages that were changed only since the last one.
    Old,
    /// All pages that are dirty when it starts, so that the log becomes as short as possible.
    All,
    /// Nothing, so that an opening does not wait until the pages that redo changed are written. The
    /// next checkpoint cleans these pages, since they were dirty at this one.
    Nothing,
}

impl Checkpoints {
    /// The latest checkpoint began at `latest`.
    pub(crate) fn new(parts: CheckpointParts, latest: Lsn) -> Checkpoints {
        Checkpoints {
            parts,
            running: Mutex::new(()),
            latest: AtomicU64::new(latest.0),
            count: AtomicU64::new(0),
        }
    }

    /// Returns the log bytes since the latest checkpoint began.
    pub(crate) fn log_bytes_since(&self) -> u64 {
        self.parts.log.end().0.saturating_sub(self.latest.load(Ordering::Relaxed))
    }

    /// Returns the number of completed checkpoints.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Holds the log from where recovery would start now.
    pub(crate) fn hold_log(&self) -> Hold {
        // Under the mutex no checkpoint runs, so the superblock's retention LSN is not truncated
        // yet (CHECKPOINT-4).
        let _none_runs = self.running.lock();
        self.parts.log_space.holds().add(self.parts.superblock.get().retention_lsn)
    }

    /// Takes a checkpoint.
    ///
    /// # Errors
    /// A failed write stops the engine; a full disk or log, or a full file table, does not.
    pub(crate) fn take(&self, cleaning: Cleaning) -> Result<()> {
        let result = self.attempt(cleaning);
        result.map_err(|error| match error {
            Error::DiskFull { .. } | Error::LogFull { .. } | Error::NoFileDescriptor { .. } => {
                error
            }
            error => self.parts.health.fail(error),
        })
    }

    fn attempt(&self, cleaning: Cleaning) -> Result<()> {
        let CheckpointParts { log, pool, superblock, transactions, log_space, .. } = &self.parts;
        let _one_runs = self.running.lock();
        log.health()?;
        pool.health()?;
        let gives_back = log_space.can_give_back(self.clean_before(cleaning));
        let _running = log.report_checkpoint(gives_back);
        match cleaning {
            Cleaning::Old => pool.clean_older(Lsn(self.latest.load(Ordering::Relaxed)))?,
            Cleaning::All => pool.clean_older(log.end())?,
            Cleaning::Nothing => {}
        }

        // No hold is added before the checkpoint ends.
        let held = log_space.holds().oldest();
        let paid = Paid { parts: &self.parts, held };
        let begin = paid.insert(record::CHECKPOINT_BEGIN, &[])?.start;
        failpoint::pass(Failpoint::CheckpointBegun);
        let oldest = transactions.oldest_first();
        let active = transactions.snapshot();
        let old = superblock.get();
        let redo = pool.redo_start().map_or(begin, |redo| redo.min(begin)).max(old.redo);
        paid.insert_list(begin, &active)?;
        failpoint::pass(Failpoint::CheckpointListed);
        let body = record::encode_checkpoint_end(begin, redo, active.len());
        let end = paid.insert_last(record::CHECKPOINT_END, &body)?.end;
        health::make_durable(log, end)?;
        failpoint::pass(Failpoint::CheckpointEnded);
        // The redo start was read before. If the pool has failed since, that value may be wrong.
        pool.health()?;

        let retention_lsn = oldest.map_or(redo, |oldest| oldest.min(redo)).max(old.retention_lsn);
        invariant(begin > old.checkpoint, "checkpoint: each begins behind the one before");
        invariant(retention_lsn <= redo && redo <= begin, "checkpoint: recovery's log is kept");
        let label = log.label_at(retention_lsn);
        superblock.update(|block| {
            block.checkpoint = begin;
            block.redo = redo;
            block.retention_lsn = retention_lsn;
            block.upkeep_done = self.upkeep_is_done();
            block.log_empty = false;
            block.identity.oldest_label = label.unwrap_or(block.identity.oldest_label);
        })?;
        // Relaxed: a trigger's estimate, and the next checkpoint reads it under the mutex.
        self.latest.store(begin.0, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        failpoint::pass(Failpoint::LogNotTruncated);
        let oldest_segment = log.oldest_segment();
        log.truncate(held.map_or(retention_lsn, |held| held.min(retention_lsn)))?;
        log_space.engine_reserve().refill(log);
        if cleaning == Cleaning::All {
            let gave_back = log.oldest_segment() > oldest_segment;
            log_space.note_checkpoint(gave_back, oldest.into_iter().chain(held).min());
        }
        Ok(())
    }

    /// Returns up to where redo will need nothing once the checkpoint has cleaned.
    fn clean_before(&self, cleaning: Cleaning) -> Lsn {
        let CheckpointParts { log, pool, .. } = &self.parts;
        match cleaning {
            Cleaning::All => log.end(),
            // Relaxed: read under the mutex.
            Cleaning::Old => Lsn(self.latest.load(Ordering::Relaxed)),
            Cleaning::Nothing => pool.redo_start().unwrap_or(log.end()),
        }
    }

    /// Returns true if the engine closes and leaves no upkeep behind (UPKEEP-3).
    fn upkeep_is_done(&self) -> bool {
        // The transactions are counted before the queue: each reports its leaves before it counts
        // as ended (FINISH-7).
        self.parts.health.has_closed()
            && self.parts.transactions.active() == 0
            && self.parts.upkeep.pending() == (0, 0)
    }
}

/// The log, to which a checkpoint's records go, and the reserve, which pays for them.
struct Paid<'a> {
    parts: &'a CheckpointParts,
    /// From where on backups hold the log.
    held: Option<Lsn>,
}

impl Paid<'_> {
    /// Inserts the list of running transactions, as many records as it takes.
    fn insert_list(&self, begin: Lsn, active: &[ActiveEntry]) -> Result<()> {
        for entries in active.chunks(ACTIVE_ENTRIES_MAX) {
            self.insert(record::CHECKPOINT_ACTIVE, &record::encode_active(begin, entries))?;
        }
        Ok(())
    }

    fn insert(&self, kind: u8, body: &[u8]) -> Result<LsnSpan> {
        self.pay(record_bytes(body.len()))?;
        let record = Record { kind, txn: TxnId::NONE, prev: Lsn::ZERO, body: &[body] };
        self.parts.log.insert(&record)
    }

    /// As [`insert`](Paid::insert), for the record that is waited for.
    fn insert_last(&self, kind: u8, body: &[u8]) -> Result<LsnSpan> {
        self.pay(record_bytes(body.len()) + TRAILER_BYTES_MAX)?;
        let record = Record { kind, txn: TxnId::NONE, prev: Lsn::ZERO, body: &[body] };
        self.parts.log.insert_with_trailer(&record)
    }

    /// If neither the reserve nor the log has so much, the checkpoint goes beyond the log's
    /// capacity, provided that it makes up for it (TXN-SPACE-3).
    fn pay(&self, bytes: u64) -> Result<()> {
        let CheckpointParts { log_space, log, .. } = self.parts;
        match log_space.engine_reserve().take_all(bytes, log) {
            Err(Error::LogFull { .. }) if self.gives_back() => log.reserve_beyond_capacity(bytes),
            paid => paid,
        }
    }

    /// Returns true if the checkpoint will give back a segment.
    fn gives_back(&self) -> bool {
        let CheckpointParts { transactions, pool, log, log_space, .. } = self.parts;
        let needed = [transactions.oldest_first(), pool.redo_start(), self.held];
        let retention_lsn = needed.into_iter().flatten().min().unwrap_or(log.end());
        retention_lsn.0 >= log.oldest_segment().0 + log_space.segment_bytes()
    }
}

#[cfg(test)]
mod tests {
    use clearway_base::LogKeeper;
    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{EngineOptions, engine::Engine};

    #[test]
    fn a_checkpoint_names_nothing_that_an_earlier_one_gave_back() {
        let disk = Arc::new(MemoryDisk::new());
        let engine = Engine::open(disk, EngineOptions::simulation()).unwrap();
        let core = engine.core();
        let table = engine.create_table("t").unwrap();
        let put = |value: &[u8]| {
            let mut txn = engine.begin();
            txn.put(&table, b"key", value).unwrap();
            txn.commit().unwrap();
        };
        put(b"1");
        engine.checkpoint().unwrap();
        let before = core.superblock.get();
        // As if the page's recovery LSN had been read before that checkpoint and stored after it.
        core.pool.set_redo_position(Some(Lsn(8)));
        put(b"2");
        core.pool.set_redo_position(None);
        assert_eq!(core.pool.redo_start(), Some(Lsn(8)));
        core.checkpoints.take(Cleaning::Nothing).unwrap();
        let after = core.superblock.get();
        assert!(after.checkpoint > before.checkpoint);
        assert!(after.redo >= before.redo, "{} after {}", after.redo, before.redo);
        assert!(after.retention_lsn >= before.retention_lsn);
    }

    #[test]
    fn a_full_log_is_emptied_once_a_backup_lets_it_go() {
        let mut options = EngineOptions::simulation();
        options.log.segment_bytes = 64 << 10;
        options.log.capacity_bytes = 256 << 10;
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let core = engine.core();
        let table = engine.create_table("t").unwrap();
        let put = |n: u32| {
            let mut txn = engine.begin();
            txn.put(&table, &n.to_be_bytes(), &[7; 100])?;
            core.log.wait_durable(txn.commit()?.ack)
        };
        let hold = core.checkpoints.hold_log();
        let full = (0..100_000).find_map(|n| put(n).err());
        let Some(Error::LogFull { keeper: Some(keeper), .. }) = full else { panic!("{full:?}") };
        assert_eq!(*keeper, LogKeeper::Backup);
        // They use up the reserve, and move the superblock's retention LSN for which nothing is
        // freed.
        let full = (0..1_000).find_map(|_| core.checkpoints.take(Cleaning::All).err());
        assert!(matches!(full, Some(Error::LogFull { .. })), "{full:?}");
        assert_eq!(core.log.stats().beyond_bytes, 0, "it would have brought nothing");
        drop(hold);
        core.checkpoints.take(Cleaning::All).unwrap();
        assert!(core.log.stats().beyond_bytes > 0, "or it shows nothing");
        put(0).unwrap();
    }
}
