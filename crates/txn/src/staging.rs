//! The fetch stage of a transaction: its closure runs once without locks and without changes, so
//! that the pages it needs are in memory before its operate stage, the ordinary run, takes a lock.
//!
//! ```text
//!   closure ──► operation ── overlay has the key ──► answer
//!                   │
//!                   └──► pages on the way are kept ──► step of the tree, no lock ──► answer
//!                             └─ one is absent: read it, keep it ──► step ──► …
//! ```
//!
//! Invariants:
//! - STAGING-1. A fetch stage requests no lock, logs nothing and changes no page. What the closure
//!   writes is in the overlay, which only this run of the closure reads.
//! - STAGING-2. The contents that a fetch stage reads may be uncommitted, and may together fit no
//!   state of the database. A write may rely on what the stage has read of its key before. So no
//!   result of it leaves this run of the closure: the caller drops what the closure returns.
//! - STAGING-3. A fetch stage is bounded: in operations, in bytes that it copies, and in time. It
//!   is over at the bound, and after an error that only the state of the database explains (bytes
//!   that may be those of a page in the midst of a change of use, a read that fails). Then each
//!   further operation returns [`Error::Cancelled`]. The operate stage runs all the same, and meets
//!   the error itself if it is real.
//! - STAGING-4. Errors that an operation of the operate stage would return for the same contents
//!   (`DuplicateKey`, `NotFound`, sizes, unknown tables and savepoints) are returned.
//! - STAGING-5. Kept in memory for the operate stage, within the bound of all fetch stages: the
//!   leaves that the closure comes to, the branches above them, the space-map page of a write that
//!   would allocate, and every page that had to be read. (Not kept are the pages of large values
//!   that are in memory already.)
//! - STAGING-6. A read or write of a key, and a step of a cursor, first tries steps of the tree
//!   that wait for nothing. If a page is absent, it goes on as a future. The futures of a task wait
//!   for pages without a thread. Those of a thread read the pages themselves and are never pending,
//!   so one poll runs them to the end. An operation whose future is dropped has changed nothing of
//!   the overlay and passed no record.
//! - STAGING-7. If the closure of a thread can be run again, its run reads no page: it is over at
//!   the first absent one, and the thread does not wait (`absent`). The next run takes over the
//!   pins and the time limit, so it finds that page, and the stage is bounded as one run would be.
//!   A run reads its pages itself if there is no room for the wait (FETCH-PINS-4). Otherwise a
//!   thread would begin one stage after the other, each of which takes away the pins of an earlier
//!   one, so that none has all its pages when it operates.
//!
//! Algorithm
//! : "High-Performance Transaction Processing in Charm", section 3.1.
//!
//! Differences
//! : The paper skips writes in the fetch stage. Here they go to an overlay, so a closure that reads
//!   what it has written comes to the same pages. The paper locks intermediate nodes of B-trees
//!   even in the fetch stage. Here descents are optimistic, as always.

mod absent;
mod conversion;
mod merged_cursor;
mod pages;

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway_base::{Error, PageId, Result};
use clearway_lock::{LockId, RangeMode, WaitLimit};
use clearway_pool::{AwaitedPage, FetchedPages};
use clearway_sync::block_on;
use clearway_tree::{Cursor, LeafHint, ReadIntent, Wait, WriteSurvey};

use crate::{
    finish,
    stage_memory::StageMemory,
    table::Table,
    transaction_state::{TransactionState, leave_unreadable},
};
use absent::AbsentPages;
pub(crate) use conversion::{Conversion, Converted, convert, convert_for_task};
pub(crate) use merged_cursor::MergedCursor;

/// Upper bounds of a fetch stage (STAGING-3). A transaction that needs more gains little by it: it
/// holds its locks for long in any case, and its pages would drive out those of others.
const OPERATIONS_MAX: u32 = 100_000;
const BYTES_MAX: usize = 16 << 20;
const TIME_MAX: Duration = Duration::from_secs(10);

/// Attempts of an operation that meets contents which do not fit together.
const ATTEMPTS: u32 = 4;

/// Operations between two looks at the clock, besides those that read a page.
const OPERATIONS_PER_LOOK: u32 = 1024;

/// See the module.
pub(crate) struct FetchStage {
    /// True if its operations belong to a task, which must not be blocked (STAGING-6).
    is_of_task: bool,
    /// True if the closure can be run again (STAGING-7).
    can_rerun: bool,
    /// The transaction's state, without locks and changes. It counts as active, so that the
    /// directory stays locked (DIRECTORY-1).
    state: Box<TransactionState>,
    memory: Box<StageMemory>,
    /// Savepoints that can be rolled back to: serial number and position in the overlay.
    savepoints: Vec<(u64, usize)>,
    savepoint_serial: u64,
    pages: FetchedPages,
    operations: u32,
    bytes: usize,
    until: Instant,
    is_over: bool,
    has_refused: bool,
    absent_pages: u32,
    /// The pages at which the run is over (STAGING-7).
    absent: Vec<PageId>,
    /// The room for the wait for them.
    awaited: Option<AwaitedPage>,
    /// The leaves that the run came to before its conversion and that are not kept yet, newest
    /// first.
    touched: Vec<PageId>,
}

/// The outcome of a fetch stage.
pub struct Fetched {
    /// The pins of the pages that it came to.
    pub pages: FetchedPages,
    /// True if the stage ended before the closure did (STAGING-3).
    pub is_cut_short: bool,
    /// True if a write was refused since its key was absent, or present. If the closure has read
    /// that it was not, another transaction has changed it meanwhile.
    pub has_refused: bool,
    /// The number of times that it waited for a page that was not in memory, the one of a
    /// conversion included.
    pub absent_pages: u32,
    /// The pages at which the run is over, if the closure is to be run again.
    absent: Option<AbsentPages>,
}

impl FetchStage {
    /// Begins the fetch stage of a transaction that has done nothing yet.
    pub(crate) fn new(state: Box<TransactionState>, is_of_task: bool) -> FetchStage {
        let pages = FetchedPages::new(&state.core.pool);
        FetchStage::with(state, is_of_task, pages, Instant::now() + TIME_MAX)
    }

    /// Begins the next run of a stage whose last one is over at an absent page.
    pub(crate) fn again(state: Box<TransactionState>, last: Fetched) -> FetchStage {
        let until = last.absent.map_or_else(Instant::now, |absent| absent.until);
        FetchStage::with(state, false, last.pages, until)
    }

    fn with(
        mut state: Box<TransactionState>,
        is_of_task: bool,
        pages: FetchedPages,
        until: Instant,
    ) -> FetchStage {
        let memory = state.stage_memory.take().unwrap_or_default();
        FetchStage {
            is_of_task,
            can_rerun: false,
            state,
            memory,
            savepoints: Vec::new(),
            savepoint_serial: 0,
            pages,
            operations: 0,
            bytes: 0,
            until,
            is_over: false,
            has_refused: false,
            absent_pages: 0,
            absent: Vec::new(),
            awaited: None,
            touched: Vec::new(),
        }
    }

    /// Sets whether the closure, which is a thread's, can be run again (STAGING-7). A disk that
    /// reads at once lets no other transaction run meanwhile.
    pub(crate) fn set_can_rerun(&mut self, can_rerun: bool) {
        self.can_rerun = can_rerun && !self.state.core.pool.reads_at_once();
    }

    /// Ends the stage, or its run.
    pub(crate) fn end(self) -> Fetched {
        let FetchStage { mut state, mut memory, pages, is_over, .. } = self;
        let FetchStage { has_refused, absent_pages, .. } = self;
        memory.clear();
        state.stage_memory = Some(memory);
        let absent = self.awaited.map(|awaited| AbsentPages {
            core: state.core.clone(),
            pages: self.absent,
            awaited,
            limit: state.page_limit(),
            until: self.until,
        });
        finish::leave(state);
        Fetched { pages, is_cut_short: is_over, has_refused, absent_pages, absent }
    }

    /// Sets the limit of waits: a fetch stage waits for pages only. Returns the one before.
    pub(crate) fn set_wait_limit(&mut self, limit: WaitLimit) -> WaitLimit {
        std::mem::replace(&mut self.state.limit, limit)
    }

    /// Reads a value into `out`, for a thread. Returns false if the key is absent.
    pub(crate) fn get(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let is_present = match self.get_at_once(table, key, intent, out)? {
            Some(is_present) => is_present,
            None => run_to_end(self.read(table, key, intent, out))?,
        };
        self.copied(out.len())?;
        Ok(is_present)
    }

    /// As [`get`](FetchStage::get), for a task.
    pub(crate) async fn get_as_task(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let is_present = match self.get_at_once(table, key, intent, out)? {
            Some(is_present) => is_present,
            None => self.read(table, key, intent, out).await?,
        };
        self.copied(out.len())?;
        Ok(is_present)
    }

    /// Begins a read. Returns whether the key is present, or `None` if a page is absent: then it
    /// goes on by [`read`](FetchStage::read).
    fn get_at_once(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        table.tree().check_key(key)?;
        self.begin_operation(table)?;
        if let Some(written) = self.memory.overlay.get(table.id(), key) {
            out.clear();
            out.extend_from_slice(written.unwrap_or_default());
            return Ok(Some(written.is_some()));
        }
        let at = self.memory.place_of(table.id());
        let found = self.at_once(table.tree(), at, key, |tree, unlocked, hint| {
            tree.try_get(unlocked, hint, key, intent, out)
        });
        if found == Some(true) {
            self.memory.note_read(at, out.len());
        }
        Ok(found)
    }

    /// Reads a value from the tree, whatever the overlay has.
    #[cold]
    async fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut attempt = 1;
        loop {
            let read = table.tree().read_operation(key, intent, std::mem::take(out))?;
            let found = self.drive(table, key, read).await;
            if let Some(found) = self.accept(found, &mut attempt)? {
                let is_present = found.is_some();
                *out = found.unwrap_or_default();
                return Ok(is_present);
            }
        }
    }

    /// Sets the value of a key in the overlay, or removes it if `value` is `None`, for a thread.
    /// Returns whether it was present.
    ///
    /// # Errors
    /// What `check` returns if it is called with that.
    pub(crate) fn write(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        check: fn(bool) -> Result<()>,
    ) -> Result<bool> {
        let own = table.tree().lock_of(key);
        let found = match self.survey_at_once(table, key, value, own)? {
            Some(found) => found,
            None => run_to_end(self.survey(table, key, value))?,
        };
        self.note_write(table, key, value, check, (found, own))
    }

    /// As [`write`](FetchStage::write), for a task.
    pub(crate) async fn write_as_task(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        check: fn(bool) -> Result<()>,
    ) -> Result<bool> {
        let own = table.tree().lock_of(key);
        let found = match self.survey_at_once(table, key, value, own)? {
            Some(found) => found,
            None => self.survey(table, key, value).await?,
        };
        self.note_write(table, key, value, check, (found, own))
    }

    /// Begins a write. Returns what it would come to, or `None` if a page is absent: then it goes
    /// on by [`survey`](FetchStage::survey). `own` is the lock of the key.
    ///
    /// A record that was just read needs no look if the write leaves it where it is.
    fn survey_at_once(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        own: LockId,
    ) -> Result<Option<WriteSurvey>> {
        let tree = table.tree();
        let at = self.memory.place_of(table.id());
        if let Some((read, len_before)) = self.memory.tables[at].read
            && read == own
            && tree.fits_in_place(key, len_before, value.map_or(0, <[u8]>::len))
        {
            self.begin_operation(table)?;
            return Ok(Some(WriteSurvey { is_present: true, map: None }));
        }
        let survey = tree.survey_write(key, value)?;
        self.begin_operation(table)?;
        let found = self.at_once(tree, at, key, survey);
        let is_kept = |found: &WriteSurvey| found.map.is_none_or(|map| self.pages.keep(map));
        Ok(found.filter(is_kept))
    }

    #[cold]
    async fn survey(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<WriteSurvey> {
        let survey = table.tree().survey_write(key, value)?;
        let found = self.drive(table, key, survey).await;
        let found = found.map_err(|_| self.give_up())?;
        if let Some(map) = found.map {
            self.keep(map).await;
        }
        Ok(found)
    }

    fn note_write(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        check: fn(bool) -> Result<()>,
        (found, own): (WriteSurvey, LockId),
    ) -> Result<bool> {
        let StageMemory { overlay, unlocked, .. } = &mut *self.memory;
        let entry = overlay.find(table.id(), key);
        let is_present = entry.map_or(found.is_present, |entry| overlay.is_present(entry));
        unlocked.wanted.push((own, RangeMode::XN));
        if let Err(refused) = check(is_present) {
            self.has_refused = true;
            return Err(refused.at_key(table.name(), key));
        }
        self.copied(key.len() + value.map_or(0, <[u8]>::len))?;
        self.memory.overlay.set_at(entry, table.id(), key, value);
        Ok(is_present)
    }

    /// Begins to go to the next record of the tree, whatever the overlay has. Returns whether there
    /// is one, or `None` if a page is absent: then it goes on by [`advance`](FetchStage::advance).
    /// The caller notes the record, and then has its leaf kept.
    fn advance_at_once(&mut self, table: &Table, cursor: &mut Cursor) -> Result<Option<bool>> {
        self.begin_operation(table)?;
        cursor.begin_advance();
        let mut hint = LeafHint::default(); // A cursor uses none.
        let mut advance = cursor.advance_operation();
        match table.tree().step(&mut advance, &mut self.memory.unlocked, &mut hint) {
            Ok(found) => {
                drop(advance);
                self.advanced(found, cursor).map(Some)
            }
            Err(_) => Ok(None),
        }
    }

    #[cold]
    async fn advance(&mut self, table: &Table, cursor: &mut Cursor) -> Result<bool> {
        let mut attempt = 1;
        let found = loop {
            cursor.begin_advance();
            let mut hint = LeafHint::default();
            let found = self.run(table, &mut hint, cursor.advance_operation()).await;
            if let Some(found) = self.accept(found, &mut attempt)? {
                break found;
            }
        };
        self.advanced(found, cursor)
    }

    fn advanced(&mut self, found: bool, cursor: &Cursor) -> Result<bool> {
        let (key, value) = cursor.entry();
        self.copied(if found { key.len() + value.len() } else { 0 })?;
        Ok(found)
    }

    /// Brings the pages on the way to keys into memory, and keeps those that were absent. Returns
    /// their number.
    pub(crate) async fn prefetch<K: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        keys: &[K],
    ) -> Result<usize> {
        self.begin_operation(table)?;
        let look = table.tree().prefetch_operation(keys);
        let absent = self.run(table, &mut LeafHint::default(), look).await;
        leave_unreadable(absent).map_err(|_| self.give_up())
    }

    /// Does what there is to do for a lock on a whole table.
    pub(crate) fn lock_table(&mut self, table: &Table) -> Result<()> {
        self.begin_operation(table)
    }

    /// Does what there is to do for a lock on the database.
    pub(crate) fn lock_database(&mut self) -> Result<()> {
        self.state.core.health.check_open()
    }

    /// Sets a savepoint. Returns its number.
    pub(crate) fn savepoint(&mut self) -> u64 {
        self.savepoint_serial += 1;
        self.savepoints.push((self.savepoint_serial, self.memory.overlay.position()));
        self.savepoint_serial
    }

    /// The number of the newest savepoint that was set.
    pub(crate) fn last_savepoint(&self) -> u64 {
        self.savepoint_serial
    }

    /// Takes back what was written since a savepoint.
    ///
    /// # Errors
    /// [`Error::UnknownSavepoint`].
    pub(crate) fn rollback_to(&mut self, serial: u64) -> Result<()> {
        let at = self.savepoints.binary_search_by_key(&serial, |&(serial, _)| serial);
        let at = at.map_err(|_| Error::UnknownSavepoint)?;
        self.memory.overlay.rollback_to(self.savepoints[at].1);
        self.savepoints.truncate(at + 1);
        Ok(())
    }

    /// Checks that an operation on the table may run, and counts it (STAGING-3).
    #[inline]
    fn begin_operation(&mut self, table: &Table) -> Result<()> {
        self.state.check_table(table)?;
        self.operations += 1;
        let looks = self.operations.is_multiple_of(OPERATIONS_PER_LOOK);
        if self.operations > OPERATIONS_MAX || looks && Instant::now() > self.until {
            self.is_over = true;
        }
        if self.is_over { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Counts bytes that an operation has copied (STAGING-3).
    fn copied(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > BYTES_MAX { Err(self.give_up()) } else { Ok(()) }
    }

    fn give_up(&mut self) -> Error {
        self.is_over = true;
        Error::Cancelled
    }

    /// Returns what an operation has returned, or `None` if it is to begin again, as it does a few
    /// times if it meets a large value which another transaction is just replacing. The stage is
    /// over if it still fails (STAGING-3).
    fn accept<T>(&mut self, result: Result<T>, attempt: &mut u32) -> Result<Option<T>> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(Error::Corrupt { .. } | Error::CorruptPage { .. }) if *attempt < ATTEMPTS => {
                *attempt += 1;
                Ok(None)
            }
            Err(_) => Err(self.give_up()),
        }
    }
}

/// Runs an operation of a thread's fetch stage to its end (STAGING-6).
pub(crate) fn run_to_end<F: Future>(operation: F) -> F::Output {
    let mut operation = pin!(operation);
    match operation.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => block_on(operation),
    }
}

/// Refuses an absent key, as an update and a deletion do.
pub(crate) fn must_be_present(is_present: bool) -> Result<()> {
    if is_present { Ok(()) } else { Err(Error::not_found()) }
}

/// Refuses a key that is present, as an insertion does.
pub(crate) fn must_be_absent(is_present: bool) -> Result<()> {
    if is_present { Err(Error::DuplicateKey { at: None }) } else { Ok(()) }
}

/// Accepts both, as a `put` does.
pub(crate) fn may_be_present(_: bool) -> Result<()> {
    Ok(())
}
