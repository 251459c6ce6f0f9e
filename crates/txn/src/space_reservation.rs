//! Log space: what a transaction has reserved, and the engine's own reserve.
//!
//! Invariants:
//! - TXN-SPACE-1. Every byte a transaction inserts is paid out of bytes it reserved in the log
//!   before it took a latch, and so is the trailer of the group that its commit record will stand
//!   in. Reservations come in chunks, so that the log's counter is rarely touched. (Images for the
//!   redo check are nobody's: what the log has no room for at the moment is not written.)
//! - TXN-SPACE-2. `held ≥ for_undo + frees + END` between operations: paid for are the rollback of
//!   everything logged so far; or a commit with its deferred frees, which is `COMMIT`, `FREES`
//!   records and `END`; and the record that ends the transaction either way. A rollback therefore
//!   never runs out of log. What is rolled back takes back exactly what it was owed.
//! - TXN-SPACE-3. What TXN-SPACE-2 cannot foresee, page splits and freed pages that an undo needs,
//!   comes out of the engine's reserve, as do checkpoints, the only remedy when the log is full.
//!   When the reserve is gone, and none pays for any number of splits, undos go beyond the log's
//!   capacity, and so do checkpoints that will give back a segment. If the disk is full as well,
//!   undos make do with what TXN-SPACE-2 has kept.

use clearway_base::{Error, Result};
use clearway_log::{HEADER_BYTES, Log, RECORD_ALIGN, TRAILER_BYTES_MAX, record_bytes};
use clearway_sync::Mutex;

use crate::core::Core;

/// What a reservation asks for at least: some eight small transactions.
const CHUNK_BYTES: u64 = 8 << 10;
/// What a slot keeps for its next transaction.
const KEEP_BYTES: u64 = 12 << 10;
/// Logs smaller than this are not shared out in chunks: small tests need each byte.
const SMALL_LOG_BYTES: u64 = 64 << 20;
/// The record that ends a transaction, a header, rounded up; and a group trailer, if that is a
/// commit.
const END_BYTES: u64 = (HEADER_BYTES + RECORD_ALIGN) as u64 + TRAILER_BYTES_MAX;
/// Headers and padding of the records of one operation, which a tree does not count.
const OPERATION_SLACK: u64 = 4 * (HEADER_BYTES + RECORD_ALIGN) as u64 + FREE_GROWTH;
/// By how much an operation's deferred free makes a commit longer, which a tree does not count.
const FREE_GROWTH: u64 = 128;
/// By how much a compensation's body may be longer than the body it undoes.
const COMPENSATION_SLACK: u64 = 64;

/// What the undo of a change with a body of `len` bytes takes.
#[inline]
fn undo_bytes(len: usize) -> u64 {
    record_bytes(len) + COMPENSATION_SLACK
}

/// A transaction's log space reservation.
#[derive(Default)]
pub(crate) struct SpaceReservation {
    /// Reserved and not yet spent. Below zero only within an operation that used more than it
    /// reserved; the debt is paid at the next chance.
    held: i64,
    /// What the rollback of everything logged so far, and the end, will take (TXN-SPACE-2).
    for_undo: u64,
    /// What the deferred frees add to a commit (TXN-SPACE-2).
    frees: u64,
    /// Some of it may lie beyond the log's capacity (TXN-SPACE-3), and is not kept for the next
    /// transaction.
    has_gone_beyond: bool,
}

impl SpaceReservation {
    /// What has to be held for an operation of `bytes`.
    #[inline]
    fn wanted(&self, bytes: u64) -> i64 {
        (self.for_undo + self.frees + END_BYTES + OPERATION_SLACK + bytes) as i64
    }

    /// Makes room for an operation of `bytes` of the transaction in slot `index`, its undo
    /// included. May wait for log space.
    #[inline]
    pub(crate) fn reserve(&mut self, core: &Core, index: u32, bytes: u64) -> Result<()> {
        let wanted = self.wanted(bytes);
        if self.held >= wanted { Ok(()) } else { self.fetch(core, index, wanted) }
    }

    #[cold]
    fn fetch(&mut self, core: &Core, index: u32, wanted: i64) -> Result<()> {
        let missing = (wanted - self.held) as u64;
        let log = &core.log;
        // What is beyond the need is not worth a wait, nor an error.
        let is_shared_out = missing < CHUNK_BYTES && log.capacity_bytes() >= SMALL_LOG_BYTES;
        let reserved = if is_shared_out && log.try_reserve_space(CHUNK_BYTES).is_ok() {
            CHUNK_BYTES
        } else {
            core.reserve_log_space(index, missing)?;
            missing
        };
        self.held += reserved as i64;
        Ok(())
    }

    /// Makes room for an undo and its restructuring. Waits only if log and disk are full and not
    /// even the compensations are paid for.
    pub(crate) fn reserve_undo(&mut self, core: &Core, index: u32, bytes: u64) -> Result<()> {
        // What is owed covers the compensation itself; only what comes on top may be missing
        // (TXN-SPACE-3).
        let wanted = self.wanted(bytes);
        if self.held < wanted {
            self.held += core.reserve.take((wanted - self.held) as u64) as i64;
        }
        let missing = wanted - self.held;
        if missing <= 0 {
            return Ok(());
        }
        match core.log.reserve_beyond_capacity(missing as u64) {
            Ok(()) => {
                self.held = wanted;
                self.has_gone_beyond = true;
                Ok(())
            }
            Err(Error::DiskFull { .. } | Error::NoFileDescriptor { .. }) => {
                self.make_do(core, index)
            }
            Err(error) => Err(error),
        }
    }

    /// With a full disk, or no descriptor for another segment: the compensations are paid for, and
    /// most undos need no more. What one takes all the same is a debt, which counts as used bytes;
    /// the next one has it paid, when a truncation may have brought room.
    #[cold]
    fn make_do(&mut self, core: &Core, index: u32) -> Result<()> {
        let promised = (self.for_undo + self.frees) as i64;
        if self.held >= promised { Ok(()) } else { self.fetch(core, index, promised) }
    }

    /// Whether it pays for the undo of changes with bodies of these lengths, by what is there
    /// rather than by its own count (TXN-SPACE-2).
    pub(crate) fn covers(&self, mut bodies: impl Iterator<Item = usize>) -> bool {
        let mut left = self.held;
        bodies.all(|len| {
            left -= undo_bytes(len) as i64;
            left >= 0
        })
    }

    /// A record of `bytes` was inserted.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.held -= bytes as i64;
    }

    /// A record of `bytes` was inserted that pays for its group's trailer.
    #[inline]
    pub(crate) fn spend_with_trailer(&mut self, bytes: u64) {
        self.spend(bytes + TRAILER_BYTES_MAX);
    }

    /// A change with a body of `len` bytes was logged: the reservation covers its undo from now on.
    #[inline]
    pub(crate) fn change_logged(&mut self, len: usize) {
        self.for_undo += undo_bytes(len);
    }

    /// What a rollback, and what a commit takes in its place.
    #[cfg(test)]
    pub(crate) fn promised(&self) -> (u64, u64) {
        (self.for_undo, self.frees)
    }

    /// What is there to pay it.
    #[cfg(test)]
    pub(crate) fn held(&self) -> i64 {
        self.held
    }

    /// The deferred frees, as they are now, make a commit longer by `bytes`.
    #[inline]
    pub(crate) fn owe_frees(&mut self, bytes: u64) {
        self.frees = bytes;
    }

    /// The commit record stands, and its `FREES`: what is still to come is the end, if anything.
    #[inline]
    pub(crate) fn commit(&mut self) {
        (self.for_undo, self.frees) = (0, 0);
    }

    /// A change with a body of `len` bytes was undone.
    #[inline]
    pub(crate) fn change_undone(&mut self, len: usize) {
        self.for_undo = self.for_undo.saturating_sub(undo_bytes(len));
    }

    /// The transaction has ended: gives back all but a small rest.
    #[inline]
    pub(crate) fn end(&mut self, log: &Log) {
        self.commit();
        let beyond = std::mem::take(&mut self.has_gone_beyond);
        let small = log.capacity_bytes() < SMALL_LOG_BYTES;
        let keep = if small || beyond { 0 } else { KEEP_BYTES as i64 };
        if self.held > keep {
            log.release_space((self.held - keep) as u64);
            self.held = keep;
        } else if self.held < 0 {
            self.pay(log);
        }
    }

    /// Pays a debt. If the log has no room now, the next transaction of this slot tries again.
    #[cold]
    fn pay(&mut self, log: &Log) {
        if log.try_reserve_space(self.held.unsigned_abs()).is_ok() {
            self.held = 0;
        }
    }

    /// Gives everything back; the slot is not used again.
    pub(crate) fn close(&mut self, log: &Log) {
        if self.held > 0 {
            log.release_space(self.held as u64);
        }
        self.held = 0;
    }
}

/// Log space that belongs to the engine (TXN-SPACE-3). Its mutex is taken only by rollbacks that
/// ran out of their own reservation, and by checkpoints.
pub(crate) struct Reserve {
    held: Mutex<u64>,
    target: u64,
}

/// Eight records of the longest kind.
const RESERVE_BYTES: u64 = 8 * clearway_base::RECORD_LEN_MAX as u64;

impl Reserve {
    /// Reserves its log space: a thirty-second of the log, or less if that is more than it needs.
    /// On a full disk it begins with nothing: the opening's checkpoint makes room for it.
    pub(crate) fn open(log: &Log) -> Result<Reserve> {
        let target = RESERVE_BYTES.min(log.capacity_bytes() / 32);
        let held = match log.reserve_space(target) {
            Ok(()) => target,
            Err(Error::DiskFull { .. }) => 0,
            Err(error) => return Err(error),
        };
        Ok(Reserve { held: Mutex::new(held), target })
    }

    /// Takes `bytes`, or what is left.
    pub(crate) fn take(&self, bytes: u64) -> u64 {
        let mut held = self.held.lock();
        let taken = bytes.min(*held);
        *held -= taken;
        taken
    }

    /// Takes `bytes`, from the log what the reserve has not: for a checkpoint, which must not wait
    /// for space, because space waits for it. `refill` makes the books right.
    ///
    /// # Errors
    /// [`Error::LogFull`](clearway_base::Error::LogFull), and what the disk says; nothing is taken
    /// then.
    pub(crate) fn take_all(&self, bytes: u64, log: &Log) -> Result<()> {
        let taken = self.take(bytes);
        if taken == bytes {
            return Ok(());
        }
        log.try_reserve_space(bytes - taken).inspect_err(|_| self.put(taken))
    }

    /// What is there now.
    pub(crate) fn held(&self) -> u64 {
        *self.held.lock()
    }

    /// Puts back what was taken and not used.
    pub(crate) fn put(&self, bytes: u64) {
        *self.held.lock() += bytes;
    }

    /// Brings the reserve back to its size, if there is room. Does not wait for it: checkpoints do
    /// this, which bring it.
    pub(crate) fn refill(&self, log: &Log) {
        let missing = self.target.saturating_sub(*self.held.lock());
        if missing > 0 && log.try_reserve_space(missing).is_ok() {
            self.put(missing);
        }
    }
}
