//! The log space that a transaction has reserved.
//!
//! Invariants:
//! - TXN-SPACE-1. Every byte a transaction inserts is paid out of bytes it reserved in the log
//!   before it took a latch, and so is the trailer of the group that its commit record will stand
//!   in. In logs of 64 MiB and more, reservations come in chunks, so that the log's counter is
//!   rarely touched. (Images for the redo check belong to no reservation: an image for which the
//!   log has no free space is left out.)
//! - TXN-SPACE-2. Once the transaction has logged a change, `held ≥ for_undo + frees + END` between
//!   its operations. So the reservation pays for the compensations of everything logged so far and
//!   the `END` record of a rollback, and also for a commit: the `COMMIT` record with the deferred
//!   frees, further `FREES` records, and `END`. When a change has been undone, `for_undo` is
//!   lowered by exactly the amount by which the change had raised it. (A loser's reservation was
//!   lost with its process, and its `for_undo` is zero: recovery reserves space for each undo when
//!   it begins it.)
//! - TXN-SPACE-3. TXN-SPACE-2 does not cover the page splits and the freeing of pages that an undo
//!   may need, since their number is not known before. Their log space comes from the engine's
//!   reserve, and so does that of checkpoints. No reserve suffices for every number of splits. When
//!   it is used up, undos and checkpoints reserve space in the log; if the log is full, undos, and
//!   checkpoints that will free a segment, reserve it beyond the log's capacity. So do the steps of
//!   deferred frees in a full log: their transaction may be the one that keeps the log full, and a
//!   step that fails leaves pages that no later one frees. If the disk is full as well, an undo
//!   starts with only the space that TXN-SPACE-2 has kept. If it uses more (for a page split, or
//!   because it is a loser's), this is the one exception to TXN-SPACE-1 and TXN-SPACE-2: `held` is
//!   too low, possibly below zero, until a reservation, or the end of a transaction, of this
//!   `TransactionState` reserves the difference (`make_do`, `pay`).

use clearway_base::{Error, Result};
use clearway_log::{HEADER_BYTES, Log, RECORD_ALIGN, TRAILER_BYTES_MAX, record_bytes};

use crate::log_space::LogSpace;

/// The bytes that are reserved at a time if fewer are missing: some eight small transactions.
const CHUNK_BYTES: u64 = 8 << 10;
/// Upper bound on the bytes that a transaction's state keeps for the next transaction.
const KEEP_BYTES: u64 = 12 << 10;
/// Logs smaller than this are not shared out in chunks: small tests need each byte.
const SMALL_LOG_BYTES: u64 = 64 << 20;
/// Upper bound on the bytes of the record that ends a transaction, without a body (`COMMIT` or
/// `END`), and of the group trailer for which a `COMMIT` pays.
const END_BYTES: u64 = (HEADER_BYTES + RECORD_ALIGN) as u64 + TRAILER_BYTES_MAX;
/// A margin for the headers and padding of the records of one operation, in addition to what the
/// tree's own estimates contain, and for the growth of the commit by a deferred free.
const OPERATION_SLACK: u64 = 4 * (HEADER_BYTES + RECORD_ALIGN) as u64 + FREE_GROWTH;
/// Log bytes that an operation's deferred free adds to a commit; a tree's estimate lacks them.
const FREE_GROWTH: u64 = 128;
/// By how much a compensation's body may be longer than the body it undoes.
const COMPENSATION_SLACK: u64 = 64;

/// Upper bound on the log bytes of the compensation of a change with a body of `len` bytes.
#[inline]
fn undo_bytes(len: usize) -> u64 {
    record_bytes(len) + COMPENSATION_SLACK
}

/// A transaction's log space reservation.
#[derive(Default)]
pub(crate) struct SpaceReservation {
    /// Reserved and not yet spent. Below zero after an undo that used more than was reserved
    /// (TXN-SPACE-3): the next reservation includes the difference, or `end` tries to reserve it.
    held: i64,
    /// The log bytes of a rollback of everything logged so far, without `END` (TXN-SPACE-2).
    for_undo: u64,
    /// The log bytes that the deferred frees add to a commit (TXN-SPACE-2).
    frees: u64,
    /// True if a part of `held` may lie beyond the log's capacity (TXN-SPACE-3). Nothing is then
    /// kept for the next transaction.
    has_gone_beyond: bool,
    /// Set when log and disk are full and an undo starts with less than it wants: the bytes that it
    /// wants, and `held` at its start.
    made_do: Option<(i64, i64)>,
}

impl SpaceReservation {
    /// The bytes that have to be held for an operation of `bytes`.
    #[inline]
    fn wanted(&self, bytes: u64) -> i64 {
        (self.for_undo + self.frees + END_BYTES + OPERATION_SLACK + bytes) as i64
    }

    /// Makes room for an operation of `bytes`, its undo included, if the log has it at once.
    #[inline]
    pub(crate) fn try_reserve(&mut self, space: &LogSpace, bytes: u64) -> bool {
        let wanted = self.wanted(bytes);
        self.held >= wanted || self.try_fetch(space, wanted)
    }

    #[cold]
    fn try_fetch(&mut self, space: &LogSpace, wanted: i64) -> bool {
        let missing = (wanted - self.held) as u64;
        let log = space.log();
        let is_shared_out = missing < CHUNK_BYTES && log.capacity_bytes() >= SMALL_LOG_BYTES;
        let reserved = if is_shared_out && log.reserve_prepared_space(CHUNK_BYTES) {
            CHUNK_BYTES
        } else if log.reserve_prepared_space(missing) {
            missing
        } else {
            return false;
        };
        self.held += reserved as i64;
        true
    }

    /// Makes room for an operation of `bytes` of the transaction of this number, its undo
    /// included. May wait for log space.
    #[inline]
    pub(crate) fn reserve(&mut self, space: &LogSpace, number: u32, bytes: u64) -> Result<()> {
        let wanted = self.wanted(bytes);
        if self.held >= wanted { Ok(()) } else { self.fetch(space, number, wanted) }
    }

    #[cold]
    fn fetch(&mut self, space: &LogSpace, number: u32, wanted: i64) -> Result<()> {
        let missing = (wanted - self.held) as u64;
        let log = space.log();
        // The chunk, which is more than is needed now, is reserved only if that succeeds without a
        // truncation of the log; otherwise only the missing bytes are.
        let is_shared_out = missing < CHUNK_BYTES && log.capacity_bytes() >= SMALL_LOG_BYTES;
        let reserved = if is_shared_out && log.try_reserve_space(CHUNK_BYTES).is_ok() {
            CHUNK_BYTES
        } else {
            space.reserve(number, missing)?;
            missing
        };
        self.held += reserved as i64;
        Ok(())
    }

    /// Makes room for a step of a deferred free of `bytes`. May wait for log space. If the log
    /// stays full, exceeds its capacity (TXN-SPACE-3).
    pub(crate) fn reserve_free(&mut self, space: &LogSpace, number: u32, bytes: u64) -> Result<()> {
        match self.reserve(space, number, bytes) {
            Err(Error::LogFull { .. } | Error::Closed) => {}
            reserved => return reserved,
        }
        let missing = self.missing(bytes);
        space.log().reserve_beyond_capacity(missing)?;
        self.add(missing);
        self.has_gone_beyond = true;
        Ok(())
    }

    /// Returns the bytes that have to be reserved before an operation of `bytes`, its undo
    /// included, can begin; the caller reserves them and [adds](SpaceReservation::add) them.
    pub(crate) fn missing(&self, bytes: u64) -> u64 {
        (self.wanted(bytes) - self.held).max(0) as u64
    }

    /// Adds bytes of the log that were reserved for this transaction.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.held += bytes as i64;
    }

    /// Makes room for an undo and its restructuring, if the reservation, the engine's reserve and
    /// the log have it at once. Returns true also if
    /// [`reserve_undo`](SpaceReservation::reserve_undo) has found that the undo must begin with
    /// less.
    pub(crate) fn try_reserve_undo(&mut self, space: &LogSpace, bytes: u64) -> bool {
        let wanted = self.wanted(bytes);
        if self.held >= wanted || self.made_do == Some((wanted, self.held)) {
            return true;
        }
        self.held += space.engine_reserve().take((wanted - self.held) as u64) as i64;
        let missing = wanted - self.held;
        if missing > 0 && space.log().reserve_prepared_space(missing as u64) {
            self.held = wanted;
        }
        self.held >= wanted
    }

    /// Makes room for an undo and its restructuring. Waits only if log and disk are full and not
    /// even the compensations are paid for.
    pub(crate) fn reserve_undo(&mut self, space: &LogSpace, number: u32, bytes: u64) -> Result<()> {
        // `for_undo` covers the compensation itself; only the space for the rest, such as page
        // splits, may be missing (TXN-SPACE-3).
        let wanted = self.wanted(bytes);
        if self.held < wanted {
            self.held += space.engine_reserve().take((wanted - self.held) as u64) as i64;
        }
        let missing = wanted - self.held;
        if missing <= 0 {
            return Ok(());
        }
        match space.log().reserve_beyond_capacity(missing as u64) {
            Ok(()) => {
                self.held = wanted;
                self.has_gone_beyond = true;
                Ok(())
            }
            Err(Error::DiskFull { .. } | Error::NoFileDescriptor { .. }) => {
                self.make_do(space, number)?;
                self.made_do = Some((wanted, self.held));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Reserves for an undo when the disk is full, or no file descriptor is free for another
    /// segment. The compensations are paid for, and most undos need no more than that. If an undo
    /// uses more, `held` no longer covers the remaining compensations: the call for the next undo
    /// reserves the difference, for which a truncation may have made room meanwhile.
    #[cold]
    fn make_do(&mut self, space: &LogSpace, number: u32) -> Result<()> {
        let promised = (self.for_undo + self.frees) as i64;
        if self.held >= promised { Ok(()) } else { self.fetch(space, number, promised) }
    }

    /// Returns true if `held` pays for the undo of changes with bodies of these lengths
    /// (TXN-SPACE-2). Computed from the lengths and not from `for_undo`.
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

    /// Returns `for_undo` and `frees`: the log bytes of a rollback, and of the deferred frees.
    #[cfg(test)]
    pub(crate) fn promised(&self) -> (u64, u64) {
        (self.for_undo, self.frees)
    }

    /// Returns the bytes that are reserved and not yet spent.
    #[cfg(test)]
    pub(crate) fn held(&self) -> i64 {
        self.held
    }

    /// Sets the log bytes that the deferred frees, as they are now, add to a commit.
    #[inline]
    pub(crate) fn set_frees(&mut self, bytes: u64) {
        self.frees = bytes;
    }

    /// Called when the `COMMIT` record and its `FREES` records are inserted: no rollback needs
    /// space any more. Of the records that `held` pays for, at most `END` is still to be inserted:
    /// the steps of the deferred frees reserve their own space.
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

    /// Reserves the bytes that were used without a reservation. If the log has no room now, the
    /// next transaction in this state tries again.
    #[cold]
    fn pay(&mut self, log: &Log) {
        if log.try_reserve_space(self.held.unsigned_abs()).is_ok() {
            self.held = 0;
        }
    }

    /// Gives everything back; the state is not used again.
    pub(crate) fn close(&mut self, log: &Log) {
        if self.held > 0 {
            log.release_space(self.held as u64);
        }
        self.held = 0;
    }
}
