//! The needs of operations, and the driver that blocks until they are met.
//!
//! An operation is a state machine: each call of its step does as much as it can without waiting,
//! and returns its result or a [`Need`]. A driver meets the need and calls the step again.
//!
//! ```text
//!            step ──► Ok: done
//!             ▲  └──► Err(Incomplete): ── error: the operation has failed
//!             │                   └ need: the driver waits for the lock, for log space,
//!             └──────── met ◄────── for the page, or for the file to grow
//! ```
//!
//! Invariants
//! 1. *No latch across a need.* The step has returned, and its guards are dropped.
//! 2. *Point of no return.* The step that logs the operation's record returns `Ok`. What follows
//!    the record (an adoption) cannot fail the operation: if it needs something, it is left to
//!    upkeep. (Restructuring that comes before the operation's record has log records of its own,
//!    and a need may follow those.)
//! 3. *Progress.* A page that was needed arrives pinned, and stays pinned until the operation has
//!    ended, has needed several others, or waits for a lock or log space ([`OperationPins`]). An
//!    optimistic descent goes on from that page, so it uses few other pages beside it
//!    ([`descend`](crate::descend)). A lock that was needed is kept ([`locking`](crate::locking)).
//! 4. *Needs do not count as rounds.* A loop with a bounded number of rounds does not count a round
//!    that has ended with a need.
//! 5. *A failed wait ends the operation*, unless it was for a file that need not grow. The driver
//!    drops it and returns the error: no record has changed, and the transaction frees the overflow
//!    chain that it may have written ([`Upkeep::note_unlinked`](crate::Upkeep::note_unlinked)).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, KeyName, PageId, Result};
use clearway_lock::{LockId, Outcome, RangeMode};
use clearway_pool::{IoPriority, OperationPins, Pool};
use clearway_sync::step;

use crate::Journal;

/// A thing that an operation lacks.
#[derive(Debug)]
pub enum Need {
    /// A lock that was denied: another owner holds or awaits a conflicting mode.
    Lock {
        /// The lock.
        id: LockId,
        /// The mode in which it is wanted.
        mode: RangeMode,
        /// The key whose lock it is, for errors and statistics.
        name: KeyName,
    },
    /// This many bytes of log space, in the sense of [`Journal::reserve`].
    LogSpace(usize),
    /// A page that is not in memory.
    Page(PageId),
    /// The first of these pages; the operation will soon need the others, too. Any of them may be
    /// absent.
    Pages(Vec<PageId>),
    /// A longer data file.
    FileLength {
        /// The page up to which it should reach.
        last: PageId,
        /// False if the operation may be able to go on even though the file cannot grow.
        is_required: bool,
    },
}

/// The reason for which a step has not completed its operation. One word, so that results stay
/// small on the hot path.
#[derive(Debug)]
pub struct Incomplete(Box<Reason>);

#[derive(Debug)]
enum Reason {
    Need(Need),
    Failed(Error),
}

/// The result of a step.
pub type Step<T> = std::result::Result<T, Incomplete>;

impl Incomplete {
    /// Returns the need, or the error with which the operation has failed.
    ///
    /// # Errors
    /// That error.
    #[cold]
    pub fn need(self) -> Result<Need> {
        match *self.0 {
            Reason::Need(need) => Ok(need),
            Reason::Failed(error) => Err(error),
        }
    }
}

impl From<Need> for Incomplete {
    #[cold]
    fn from(need: Need) -> Incomplete {
        Incomplete(Box::new(Reason::Need(need)))
    }
}

impl From<Error> for Incomplete {
    #[cold]
    fn from(error: Error) -> Incomplete {
        Incomplete(Box::new(Reason::Failed(error)))
    }
}

/// Waits for what operations need of their transaction.
pub trait Wait {
    /// Acquires a lock, waiting as long as the transaction's limit allows. No latch is held.
    ///
    /// # Errors
    /// `Deadlock`, `LockTimeout`, `WouldBlock`, `SelfWait`.
    fn wait_for_lock(&mut self, id: LockId, mode: RangeMode, name: &KeyName) -> Result<()>;

    /// Reserves log space as [`Journal::reserve`] does, waiting for it where that can help. No
    /// latch is held.
    ///
    /// # Errors
    /// `LogFull`, `DiskFull`, `NoFileDescriptor`, `Closed`, `Poisoned`, and others of the disk.
    fn wait_for_log_space(&mut self, bytes: usize) -> Result<()>;

    /// Returns true if the transaction holds locks, for which others may wait: its operations then
    /// get pages before those of others, if not all can.
    fn holds_locks(&self) -> bool {
        false
    }

    /// Called before a wait for a page that is not in memory.
    ///
    /// # Errors
    /// `Cancelled` if the transaction does not wait for it, so that the operation fails.
    fn check_page_wait(&mut self) -> Result<()> {
        Ok(())
    }

    /// Notes that an operation begins to wait for a page that is not in memory.
    fn begin_page_wait(&mut self) {}

    /// Notes that this wait has ended.
    fn end_page_wait(&mut self) {}

    /// Returns the longest wait for a page that the disk is reading.
    fn page_limit(&self) -> Duration {
        PAGE_LIMIT
    }
}

/// The longest wait for a page if the limit of lock waits is none or zero.
pub const PAGE_LIMIT: Duration = Duration::from_secs(10);

/// Runs an operation, and waits for what it needs.
///
/// # Errors
/// That of the operation, or of a wait.
#[inline]
pub(crate) fn drive<E: Wait, T>(
    pool: &Arc<Pool>,
    env: &mut E,
    mut step: impl FnMut(&mut E) -> Step<T>,
) -> Result<T> {
    // Most operations need nothing.
    let mut pins = None;
    loop {
        match inside(|| step(env)) {
            Ok(done) => {
                // Most operations have no pins: to forget the `None` saves the call of its drop.
                match pins {
                    Some(pins) => give_back(pins),
                    None => std::mem::forget(pins),
                }
                return Ok(done);
            }
            Err(stop) => meet(pool, env, stop, &mut pins)?,
        }
    }
}

#[cold]
fn give_back(pins: OperationPins) {
    drop(pins);
}

/// Runs a step. In debug builds, a blocking call made while the step runs panics. Exempt are waits
/// for a page latch, for a mutex, and for room in the log's ring.
#[inline]
fn inside<T>(run: impl FnOnce() -> Step<T>) -> Step<T> {
    let _inside = step::Inside::begin();
    run()
}

/// Meets a need by waiting.
#[cold]
fn meet<E: Wait>(
    pool: &Arc<Pool>,
    env: &mut E,
    stop: Incomplete,
    pins: &mut Option<OperationPins>,
) -> Result<()> {
    let need = stop.need()?;
    if matches!(need, Need::Lock { .. } | Need::LogSpace(_)) {
        // PINS-3 of the pool.
        *pins = None;
    }
    if matches!(need, Need::Page(_) | Need::Pages(_)) {
        env.check_page_wait()?;
    }
    match need {
        Need::Lock { id, mode, name } => env.wait_for_lock(id, mode, &name),
        Need::LogSpace(bytes) => env.wait_for_log_space(bytes),
        Need::Page(page) => {
            let (limit, holds_locks) = (env.page_limit(), env.holds_locks());
            let _waiting = BlockingPageWait::begin(env);
            let pins = pins.get_or_insert_with(|| OperationPins::new(pool));
            pins.set_holds_locks(holds_locks);
            pins.take(page, limit)
        }
        Need::Pages(pages) => {
            let (limit, holds_locks) = (env.page_limit(), env.holds_locks());
            let _waiting = BlockingPageWait::begin(env);
            let pins = pins.get_or_insert_with(|| OperationPins::new(pool));
            pins.set_holds_locks(holds_locks);
            pins.admit();
            let began = Instant::now();
            pool.load(&pages, IoPriority::Foreground, limit);
            let left = limit.saturating_sub(began.elapsed());
            pages.first().map_or(Ok(()), |page| pins.take(*page, left))
        }
        Need::FileLength { last, is_required } => match pool.ensure_len(last) {
            Err(error) if is_required => Err(error),
            _ => Ok(()),
        },
    }
}

/// A wait for a page, which ends when this is dropped.
struct BlockingPageWait<'e, E: Wait>(&'e mut E);

impl<E: Wait> BlockingPageWait<'_, E> {
    fn begin(env: &mut E) -> BlockingPageWait<'_, E> {
        env.begin_page_wait();
        BlockingPageWait(env)
    }
}

impl<E: Wait> Drop for BlockingPageWait<'_, E> {
    fn drop(&mut self) {
        self.0.end_page_wait();
    }
}

/// Runs an operation that needs pages only.
///
/// # Errors
/// That of the operation, or of reading a page.
pub(crate) fn drive_reads<T>(pool: &Arc<Pool>, mut step: impl FnMut() -> Step<T>) -> Result<T> {
    drive(pool, &mut PagesOnly, |_| step())
}

/// The environment of an operation that requests neither locks nor log space.
struct PagesOnly;

impl Wait for PagesOnly {
    fn wait_for_lock(&mut self, _: LockId, _: RangeMode, name: &KeyName) -> Result<()> {
        debug_assert!(false, "no lock was requested: {name:?}");
        Ok(())
    }

    fn wait_for_log_space(&mut self, bytes: usize) -> Result<()> {
        debug_assert!(false, "no log space was requested: {bytes}");
        Ok(())
    }
}

/// Reserves log space, or reports that it is needed.
#[inline]
pub(crate) fn reserve<E: Journal>(env: &mut E, bytes: usize) -> Step<()> {
    match env.reserve(bytes) {
        Outcome::Granted => Ok(()),
        Outcome::Denied => Err(Need::LogSpace(bytes).into()),
    }
}
