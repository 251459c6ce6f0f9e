//! Waits for log space: what keeps the log from being recycled, and whether a wait can help.
//!
//! A checkpoint writes pages, so that redo needs less log, and then frees the segments that end
//! before the redo LSN, before the first record of the oldest transaction and before the log that a
//! backup needs. So how long a reservation that finds no room waits depends on the transaction or
//! backup that keeps the oldest segment:
//! - If there is none, a checkpoint frees the segment. The reservation waits for the checkpointer's
//!   next checkpoint, however late it begins and however long it takes, unless that checkpoint
//!   fails (`crates/log/src/log_space/waiting.rs`).
//! - If it is the transaction for which the reservation is made, the reservation fails at once:
//!   that transaction would wait for itself. A reservation of the checkpointer, which tries failed
//!   deallocations again, fails at once in all these cases, and so does every reservation once the
//!   engine is closed.
//! - If it is another transaction or a backup, the reservation waits 100 ms at most, since most
//!   transactions are short. It fails at once if at least 100 ms have passed since a checkpoint
//!   first freed nothing because of that transaction or backup.
//!
//! A reservation also waits 100 ms at most if the log still ends in its oldest segment (then
//! reservations of running transactions have taken the rest), or if the engine has no checkpointer.
//! A reservation that waits for one of these reasons goes on waiting after the 100 ms as long as a
//! checkpoint runs that will free a segment.
//!
//! Invariants:
//! - TXN-LOG-SPACE-1. No reservation takes the checkpoints' mutex. To find out what keeps the log,
//!   a reservation reads atomics, and takes latches that are held for a few instructions.
//! - TXN-LOG-SPACE-2. A transaction does nothing for its age to be known: the checkpointer notes
//!   where the log ends, about twenty times a second while it takes no checkpoint, and the age is
//!   computed from these notes.
//! - TXN-LOG-SPACE-3. A reservation waits without a time limit in two cases only: a checkpoint is
//!   running that will free a segment; or [`LogSpace::can_give_back`] is true for the log's end and
//!   a checkpointer runs. In the second case the checkpointer takes a checkpoint when it is asked
//!   to, since it tests the same condition.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, LogKeeper, Lsn, Result, TxnName};
use clearway_log::{Log, SpaceOutlook};
use clearway_sync::{
    Mutex,
    thread::{self, ThreadId},
};

use crate::{
    health::EngineHealth, kinds::Kinds, log_holds::LogHolds, log_reserve::Reserve,
    transaction_table::TransactionTable,
};

/// Once this time has passed since a checkpoint first freed nothing because of a transaction or
/// backup, reservations no longer wait for the end of that transaction or backup.
const KEEPER_WAIT: Duration = Duration::from_millis(100);

/// The log's space: what keeps it, the engine's reserve, and the observations that decide how long
/// reservations wait.
pub(crate) struct LogSpace {
    log: Arc<Log>,
    segment_bytes: u64,
    health: Arc<EngineHealth>,
    transactions: TransactionTable,
    kinds: Arc<Kinds>,
    holds: Arc<LogHolds>,
    reserve: Reserve,
    fruitless: Mutex<Option<Fruitless>>,
    notes: Mutex<Notes>,
    /// The thread that takes checkpoints on request, while there is one.
    checkpointer: Mutex<Option<ThreadId>>,
}

/// Checkpoints that gave back nothing.
#[derive(Clone, Copy)]
struct Fruitless {
    /// The LSN from which on the log was kept, so that they freed nothing.
    keeper: Lsn,
    /// The time at which the first of them ended.
    since: Instant,
}

impl LogSpace {
    /// The space of this log, which these transactions use.
    ///
    /// # Errors
    /// Those of [`Reserve::open`].
    pub(crate) fn open(
        log: Arc<Log>,
        segment_bytes: u64,
        health: Arc<EngineHealth>,
        transactions: TransactionTable,
        kinds: Arc<Kinds>,
    ) -> Result<LogSpace> {
        Ok(LogSpace {
            reserve: Reserve::open(&log)?,
            log,
            segment_bytes,
            health,
            transactions,
            kinds,
            holds: Arc::default(),
            fruitless: Mutex::default(),
            notes: Mutex::default(),
            checkpointer: Mutex::default(),
        })
    }

    /// Returns the log.
    #[inline]
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the size of a log segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Returns the engine's reserve.
    pub(crate) fn engine_reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// Returns the log that backups need.
    pub(crate) fn holds(&self) -> &Arc<LogHolds> {
        &self.holds
    }

    /// Called when a checkpoint that wrote all pages has ended. `gave_back` is true if it gave back
    /// a segment; `keeper` is the LSN from which on a transaction or a backup kept the log, if one
    /// did.
    pub(crate) fn note_checkpoint(&self, gave_back: bool, keeper: Option<Lsn>) {
        let mut fruitless = self.fruitless.lock();
        *fruitless = match (keeper, *fruitless) {
            (None, _) => None,
            (Some(_), _) if gave_back => None,
            (Some(keeper), Some(before)) if before.keeper == keeper => Some(before),
            (Some(keeper), _) => Some(Fruitless { keeper, since: Instant::now() }),
        };
    }

    /// Returns true if the transaction or backup that keeps the log from the LSN `keeper` on made a
    /// checkpoint fruitless [`KEEPER_WAIT`] ago or earlier: reservations no longer wait for its
    /// end.
    fn is_stuck(&self, keeper: Lsn) -> bool {
        let fruitless = *self.fruitless.lock();
        fruitless.is_some_and(|it| it.keeper == keeper && it.since.elapsed() >= KEEPER_WAIT)
    }

    /// Records which thread takes checkpoints on request, or that none does any more.
    pub(crate) fn set_checkpointer(&self, thread: Option<ThreadId>) {
        *self.checkpointer.lock() = thread;
    }

    /// Returns how long ago the first record behind `first` was inserted, at least; `None` if that
    /// is not known (see [`LogKeeper::Transaction`]).
    pub(crate) fn age(&self, first: Lsn, now: Instant) -> Option<Duration> {
        self.notes.lock().age(first, now)
    }

    /// Notes that the log ends at `end` now.
    pub(crate) fn note_end(&self, end: Lsn, keeper: Option<Lsn>) {
        self.notes.lock().add(end, keeper, Instant::now());
    }
}

/// Log space that was reserved for a transaction of a task; given back if it is dropped.
pub(crate) struct ReservedSpace {
    space: Arc<LogSpace>,
    bytes: u64,
}

impl ReservedSpace {
    /// Reserves for the transaction of this number. May wait.
    pub(crate) fn reserve(space: Arc<LogSpace>, number: u32, bytes: u64) -> Result<ReservedSpace> {
        space.reserve(number, bytes)?;
        Ok(ReservedSpace { space, bytes })
    }

    /// Returns the number of bytes, which are the caller's from now on.
    pub(crate) fn take(mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for ReservedSpace {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.space.log().release_space(self.bytes);
        }
    }
}

/// Where the log ended at which time, for [`Notes::age`].
#[derive(Default)]
struct Notes {
    ends: Vec<(Lsn, Instant)>,
    /// Notes are at least this far apart, so that [`NOTES_MAX`] reach back to the oldest
    /// transaction.
    apart: Duration,
}

/// Upper bound on the number of notes that are kept; one takes 24 bytes, all of them 12 KiB.
const NOTES_MAX: usize = 512;

impl Notes {
    /// Adds a note if the log has grown, and forgets those that are of no use: no age is requested
    /// for a record before the `keeper`.
    fn add(&mut self, end: Lsn, keeper: Option<Lsn>, now: Instant) {
        let keeper = keeper.unwrap_or(end);
        self.ends.retain(|(lsn, _)| *lsn > keeper);
        let is_due = match self.ends.last() {
            Some((lsn, at)) => *lsn < end && now.saturating_duration_since(*at) >= self.apart,
            None => {
                self.apart = Duration::ZERO;
                end > keeper
            }
        };
        if is_due {
            self.ends.push((end, now));
        }
        if self.ends.len() > NOTES_MAX {
            self.thin_out(now);
        }
    }

    /// Keeps every second note, and adds half as many from now on: an age is accurate to about a
    /// two-hundredth of the age of the oldest note.
    fn thin_out(&mut self, now: Instant) {
        let mut number = 0;
        self.ends.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        let oldest = self.ends.first().map_or(now, |(_, at)| *at);
        self.apart = now.saturating_duration_since(oldest) / NOTES_MAX as u32 * 2;
    }

    /// The minimum time since the first record behind `first` was inserted, if it is known.
    fn age(&self, first: Lsn, now: Instant) -> Option<Duration> {
        // The ends ascend.
        let (_, at) = self.ends.get(self.ends.partition_point(|(lsn, _)| *lsn <= first))?;
        Some(now.saturating_duration_since(*at))
    }
}

impl LogSpace {
    /// Returns the LSN from which on the oldest transaction or backup keeps the log.
    pub(crate) fn kept_from(&self) -> Option<Lsn> {
        let oldest = self.transactions.oldest_first().into_iter();
        oldest.chain(self.holds.oldest()).min()
    }

    /// Returns true if a checkpoint could give back a segment now, if it wrote the pages that were
    /// changed before `clean`.
    pub(crate) fn can_give_back(&self, clean: Lsn) -> bool {
        let kept_from = self.kept_from().map_or(clean, |kept_from| kept_from.min(clean));
        kept_from.0 >= self.log.oldest_segment().0 + self.segment_bytes
    }

    /// Reserves log space for the transaction of this number, and waits for it where that can
    /// help.
    ///
    /// # Errors
    /// Those of [`Log::reserve_space`](clearway_log::Log::reserve_space); [`Error::LogFull`] says
    /// what keeps the log. [`Error::Closed`] if there is no room once the engine is closed.
    #[cold]
    pub(crate) fn reserve(&self, number: u32, bytes: u64) -> Result<()> {
        let reserved = self.log.reserve_space_if(bytes, &|| self.outlook(number));
        reserved.map_err(|error| match error {
            Error::LogFull { .. } if self.health.is_closed() => Error::Closed,
            Error::LogFull { wanted_bytes, capacity_bytes, .. } => {
                Error::LogFull { wanted_bytes, capacity_bytes, keeper: self.keeper(number) }
            }
            error => error,
        })
    }

    /// Returns the answer for the transaction of this number: the next checkpoint will free log
    /// space for it, one may free some, or none can; see the module.
    fn outlook(&self, number: u32) -> SpaceOutlook {
        let checkpointer = *self.checkpointer.lock();
        if self.health.is_closed() || checkpointer == Some(thread::current().id()) {
            return SpaceOutlook::CannotFree;
        }
        // Read before `can_give_back` is evaluated. If the transaction or backup that retains the
        // log ends in between, `can_give_back` reads its own, newer value; if a checkpoint can then
        // free a segment, this value is not used.
        let kept_from = self.kept_from();
        if self.can_give_back(self.log.end()) {
            return match checkpointer {
                Some(_) => SpaceOutlook::WillFree,
                None => SpaceOutlook::MayFree,
            };
        }
        let is_in_vain = kept_from.is_some_and(|kept_from| {
            let is_own = self.transactions.entry(number).first() == Some(kept_from);
            is_own || self.is_stuck(kept_from)
        });
        if is_in_vain { SpaceOutlook::CannotFree } else { SpaceOutlook::MayFree }
    }

    /// Returns what keeps the log, for the error of the transaction of this number.
    fn keeper(&self, number: u32) -> Option<Arc<LogKeeper>> {
        let oldest = self.transactions.oldest();
        let hold = self.holds.oldest();
        if let Some(hold) = hold
            && oldest.is_none_or(|oldest| hold < oldest.first)
        {
            return Some(Arc::new(LogKeeper::Backup));
        }
        let oldest = oldest?;
        let age = self.age(oldest.first, Instant::now());
        let txn = TxnName { id: oldest.txn, kind: self.kinds.name(oldest.kind) };
        Some(Arc::new(LogKeeper::Transaction { txn, age, is_own: oldest.number == number }))
    }
}

#[cfg(test)]
mod tests {
    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{Engine, EngineOptions, Table, checkpoints::Cleaning};

    #[test]
    fn ages_are_read_off_the_ends_of_the_log() {
        let mut notes = Notes::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        notes.add(Lsn(100), None, at(0));
        assert_eq!(notes.age(Lsn(100), at(10)), None, "nothing is behind it yet");
        // A transaction begins at 100 and its record is there at the second look.
        for n in 1..=10_000u64 {
            notes.add(Lsn(100 + n), Some(Lsn(100)), at(50 * n));
            assert!(notes.ends.len() <= NOTES_MAX);
        }
        assert_eq!(notes.age(Lsn(100), at(600_000)), Some(Duration::from_millis(599_950)));
        let middle = notes.age(Lsn(5_100), at(600_000)).unwrap().as_millis();
        assert!((346_000..=350_000).contains(&middle), "{middle} is not just below 350,000");
        // The old transaction ends.
        notes.add(Lsn(10_100), None, at(700_050));
        assert!(notes.ends.is_empty());
    }

    #[test]
    fn a_keeper_is_stuck_when_its_time_is_over() {
        let (engine, _table) = small_engine();
        let space = &engine.core().log_space;
        space.note_checkpoint(false, Some(Lsn(7)));
        assert!(!space.is_stuck(Lsn(7)), "it may be about to end");
        std::thread::sleep(KEEPER_WAIT);
        space.note_checkpoint(false, Some(Lsn(7)));
        assert!(space.is_stuck(Lsn(7)) && !space.is_stuck(Lsn(8)));
        space.note_checkpoint(false, Some(Lsn(8)));
        assert!(!space.is_stuck(Lsn(7)) && !space.is_stuck(Lsn(8)));
        space.note_checkpoint(true, Some(Lsn(9)));
        assert!(!space.is_stuck(Lsn(9)));
    }

    /// An engine whose log is short, with a table.
    fn small_engine() -> (Arc<Engine>, Table) {
        let mut options = EngineOptions::simulation();
        options.log.segment_bytes = 64 << 10;
        options.log.capacity_bytes = 256 << 10;
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let table = engine.create_table("t").unwrap();
        (engine, table)
    }

    /// Commits until the log is full.
    fn fill(engine: &Arc<Engine>, table: &Table) {
        let full = (0..100_000u32).find_map(|n| {
            let mut txn = engine.begin();
            let put = txn.put(table, &(n % 50).to_be_bytes(), &[n as u8; 400]);
            put.and_then(|_| engine.core().log.wait_durable(txn.commit()?.ack)).err()
        });
        assert!(matches!(full, Some(Error::LogFull { .. })), "{full:?}");
    }

    /// A thread that could be the checkpointer.
    fn another_thread() -> Option<ThreadId> {
        Some(std::thread::spawn(|| thread::current().id()).join().unwrap())
    }

    #[test]
    fn a_checkpoint_helps_if_it_will_be_taken_and_nothing_keeps_the_log() {
        let (engine, table) = small_engine();
        let core = engine.core();
        let other = another_thread();
        core.log_space.set_checkpointer(other);
        assert_eq!(
            core.log_space.outlook(0),
            SpaceOutlook::MayFree,
            "the log is in its first segment"
        );
        fill(&engine, &table);
        assert_eq!(core.log_space.outlook(0), SpaceOutlook::WillFree);
        core.log_space.set_checkpointer(None);
        assert_eq!(core.log_space.outlook(0), SpaceOutlook::MayFree, "no thread takes checkpoints");
        core.log_space.set_checkpointer(Some(thread::current().id()));
        assert_eq!(core.log_space.outlook(0), SpaceOutlook::CannotFree, "it would wait for itself");
        core.log_space.set_checkpointer(other);
        let hold = core.checkpoints.hold_log();
        assert_eq!(core.log_space.outlook(0), SpaceOutlook::MayFree, "a backup keeps the log");
        drop(hold);
        assert_eq!(core.log_space.outlook(0), SpaceOutlook::WillFree);
        engine.close().unwrap();
        assert_eq!(core.log_space.outlook(0), SpaceOutlook::CannotFree);
    }

    #[test]
    fn the_transaction_that_keeps_the_log_decides_how_long_others_wait() {
        let (engine, table) = small_engine();
        let core = engine.core();
        core.log_space.set_checkpointer(another_thread());
        let mut old = engine.begin();
        old.put(&table, b"old", b"1").unwrap();
        fill(&engine, &table);
        let own = core.transactions.oldest().unwrap().number;
        assert_eq!(
            core.log_space.outlook(own),
            SpaceOutlook::CannotFree,
            "it would wait for itself"
        );
        assert_eq!(core.log_space.outlook(own + 1), SpaceOutlook::MayFree);
        for _ in 0..2 {
            core.checkpoints.take(Cleaning::All).unwrap();
            std::thread::sleep(KEEPER_WAIT);
        }
        assert_eq!(core.log_space.outlook(own + 1), SpaceOutlook::CannotFree, "it does not end");
        old.commit().unwrap();
        assert_eq!(core.log_space.outlook(own + 1), SpaceOutlook::WillFree);
    }
}
