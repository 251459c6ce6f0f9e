//! Log space: what a transaction has reserved, and the engine's own reserve.
//!
//! Invariants:
//! - C1. Every byte a transaction inserts is paid out of bytes it claimed from the log before it
//!   took a latch. Claims come in chunks, so that the log's counter is rarely touched.
//! - C2. `held ≥ owed` between operations: the rollback of everything logged so far, and the record
//!   that ends the transaction, are paid for. A rollback therefore never runs out of log.
//! - C3. What C2 cannot foresee, page splits that an undo needs, comes out of the engine's
//!   reserve, as do checkpoints, the only remedy when the log is full.

use clearway_base::Result;
use clearway_log::{HEADER_BYTES, Log, RECORD_ALIGN, record_bytes};
use clearway_sync::Mutex;

/// What a claim asks for at least.
const CHUNK_BYTES: u64 = 4 << 10;
/// What a slot keeps for its next transaction.
const KEEP_BYTES: u64 = 8 << 10;
/// Logs smaller than this are not shared out in chunks: small tests need each byte.
const SMALL_LOG_BYTES: u64 = 64 << 20;
/// The record that ends a transaction: a header, rounded up.
const END_BYTES: u64 = (HEADER_BYTES + RECORD_ALIGN) as u64;
/// Headers and padding of the records of one operation, which a tree does not count.
const OPERATION_SLACK: u64 = 4 * (HEADER_BYTES + RECORD_ALIGN) as u64;
/// By how much a compensation's body may be longer than the body it undoes.
const COMPENSATION_SLACK: u64 = 64;

/// What the undo of a change with a body of `len` bytes takes.
#[inline]
fn undo_bytes(len: usize) -> u64 {
    record_bytes(len) + COMPENSATION_SLACK
}

/// A transaction's claim.
#[derive(Default)]
pub(crate) struct Claim {
    /// Claimed and not yet spent. Below zero only within an operation that used more than it
    /// reserved; the debt is paid at the next chance.
    held: i64,
    /// What the rollback of everything logged so far, and the end, will take (C2).
    owed: u64,
}

impl Claim {
    /// Makes room for an operation of `bytes`, its undo included. May wait for log space.
    #[inline]
    pub(crate) fn reserve(&mut self, log: &Log, bytes: u64) -> Result<()> {
        let wanted = (self.owed + END_BYTES + OPERATION_SLACK + bytes) as i64;
        if self.held >= wanted { Ok(()) } else { self.fetch(log, wanted) }
    }

    #[cold]
    fn fetch(&mut self, log: &Log, wanted: i64) -> Result<()> {
        let missing = (wanted - self.held) as u64;
        let chunk = if log.capacity_bytes() < SMALL_LOG_BYTES { 0 } else { CHUNK_BYTES };
        let claim = missing.max(chunk);
        log.claim(claim)?;
        self.held += claim as i64;
        Ok(())
    }

    /// Makes room for an undo and its restructuring, without waiting if that is possible at all.
    pub(crate) fn reserve_undo(&mut self, log: &Log, reserve: &Reserve, bytes: u64) -> Result<()> {
        let wanted = (self.owed + END_BYTES + OPERATION_SLACK + bytes) as i64;
        // What is owed covers the compensation itself; only what comes on top may be missing.
        if self.held >= wanted {
            return Ok(());
        }
        self.held += reserve.take((wanted - self.held) as u64) as i64;
        // A debt to the log counts as used bytes, so the log stays honest either way; only when
        // the reserve is gone as well does a rollback wait for a checkpoint.
        if self.held >= self.owed as i64 { Ok(()) } else { self.fetch(log, self.owed as i64) }
    }

    /// A record of `bytes` was inserted.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.held -= bytes as i64;
    }

    /// A change with a body of `len` bytes was logged: its undo is owed.
    #[inline]
    pub(crate) fn owe(&mut self, len: usize) {
        self.owed += undo_bytes(len);
    }

    /// The commit record will be `bytes` longer.
    pub(crate) fn owe_more(&mut self, bytes: u64) {
        self.owed += bytes;
    }

    /// That change was undone.
    #[inline]
    pub(crate) fn settle(&mut self, len: usize) {
        self.owed = self.owed.saturating_sub(undo_bytes(len));
    }

    /// The transaction has ended: gives back all but a small rest.
    #[inline]
    pub(crate) fn end(&mut self, log: &Log) {
        self.owed = 0;
        let small = log.capacity_bytes() < SMALL_LOG_BYTES;
        let keep = if small { 0 } else { KEEP_BYTES as i64 };
        if self.held > keep {
            log.unclaim((self.held - keep) as u64);
            self.held = keep;
        } else if self.held < 0 {
            self.pay(log);
        }
    }

    /// Pays a debt. If the log has no room now, the next transaction of this slot tries again.
    #[cold]
    fn pay(&mut self, log: &Log) {
        if log.claim(self.held.unsigned_abs()).is_ok() {
            self.held = 0;
        }
    }

    /// Gives everything back; the slot is not used again.
    pub(crate) fn close(&mut self, log: &Log) {
        if self.held > 0 {
            log.unclaim(self.held as u64);
        }
        self.held = 0;
    }
}

/// Log space that belongs to the engine (C3). Its mutex is taken only by rollbacks that ran out
/// of their own claim, and by checkpoints.
pub(crate) struct Reserve {
    held: Mutex<u64>,
    target: u64,
}

/// Eight records of the longest kind.
const RESERVE_BYTES: u64 = 8 * clearway_base::RECORD_LEN_MAX as u64;

impl Reserve {
    /// Claims the reserve: a thirty-second of the log, or less if that is more than it needs.
    pub(crate) fn open(log: &Log) -> Result<Reserve> {
        let target = RESERVE_BYTES.min(log.capacity_bytes() / 32);
        log.claim(target)?;
        Ok(Reserve { held: Mutex::new(target), target })
    }

    /// Takes `bytes`, or what is left.
    pub(crate) fn take(&self, bytes: u64) -> u64 {
        let mut held = self.held.lock();
        let taken = bytes.min(*held);
        *held -= taken;
        taken
    }

    /// Takes `bytes` even if the reserve has less: a checkpoint must not wait for space, because
    /// space waits for it. Used bytes are used bytes; `refill` makes the books right.
    pub(crate) fn take_all(&self, bytes: u64, log: &Log) -> Result<()> {
        let taken = self.take(bytes);
        if taken < bytes { log.claim(bytes - taken) } else { Ok(()) }
    }

    /// Puts back what was taken and not used.
    pub(crate) fn put(&self, bytes: u64) {
        *self.held.lock() += bytes;
    }

    /// Brings the reserve back to its size, now that there is room again.
    pub(crate) fn refill(&self, log: &Log) {
        let missing = self.target.saturating_sub(*self.held.lock());
        if missing > 0 && log.claim(missing).is_ok() {
            self.put(missing);
        }
    }
}
