//! The fetch stage of a transaction: its closure runs once without locks and without changes, so
//! that the pages it needs are in memory before its operate stage, the ordinary run, takes a lock.
//!
//! ```text
//!   closure ──► operation ── overlay has the key ──► answer
//!                   │
//!                   └──► step of the tree, no lock ── page absent ──► read it, keep it ──► step
//!                             └──► answer; its leaf is kept in memory
//! ```
//!
//! Invariants:
//! - STAGING-1. A fetch stage requests no lock, logs nothing and changes no page. What the closure
//!   writes is in the overlay, which only this run of the closure reads.
//! - STAGING-2. The contents that a fetch stage reads may be uncommitted, and may together fit no
//!   state of the database. So no result of it leaves this run of the closure: the caller drops
//!   what the closure returns.
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
//! - STAGING-6. A read or write of a key first tries one step that waits for nothing. If a page is
//!   absent, it begins again as a future; the steps of cursors are futures always. Those of a task
//!   wait for pages without a thread. Those of a thread read the pages themselves and are never
//!   pending, so one poll runs them to the end. An operation whose future is dropped has changed
//!   nothing of the overlay and passed no record.
//!
//! Algorithm
//! : "High-Performance Transaction Processing in Charm", section 3.1.
//!
//! Differences
//! : The paper skips writes in the fetch stage. Here they go to an overlay, so a closure that reads
//!   what it has written comes to the same pages. The paper locks intermediate nodes of B-trees
//!   even in the fetch stage. Here descents are optimistic, as always.

mod conversion;
mod merged_cursor;
mod overlay;
mod unlocked;

use std::{
    collections::BTreeSet,
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway_base::{Error, PageId, Result, TreeId};
use clearway_lock::{RangeMode, WaitLimit};
use clearway_pool::{FetchedPages, IoPriority, OperationPins};
use clearway_sync::block_on;
use clearway_tree::{LeafHint, Need, ReadIntent, Step, Tree, Wait, WriteSurvey};

use crate::{
    finish,
    table::Table,
    transaction_state::{TransactionState, leave_unreadable, take_as_task},
};
pub(crate) use conversion::{Conversion, Converted, convert, convert_for_task};
pub(crate) use merged_cursor::MergedCursor;
use overlay::Overlay;
use unlocked::Unlocked;

/// Upper bounds of a fetch stage (STAGING-3). A transaction that needs more gains little by it: it
/// holds its locks for long in any case, and its pages would drive out those of others.
const OPERATIONS_MAX: u32 = 100_000;
const BYTES_MAX: usize = 16 << 20;
const TIME_MAX: Duration = Duration::from_secs(10);

/// Attempts of an operation that meets contents which do not fit together.
const ATTEMPTS: u32 = 4;

/// The number of tables for which there is room at the beginning.
const TABLES_EXPECTED: usize = 8;

/// Operations between two looks at the clock, besides those that read a page.
const OPERATIONS_PER_LOOK: u32 = 1024;

/// See the module.
pub(crate) struct FetchStage {
    /// True if its operations belong to a task, which must not be blocked (STAGING-6).
    is_of_task: bool,
    /// The transaction's state, without locks and changes. It counts as active, so that the
    /// directory stays locked (DIRECTORY-1).
    state: Box<TransactionState>,
    overlay: Overlay,
    /// Savepoints that can be rolled back to: serial number and position in the overlay.
    savepoints: Vec<(u64, usize)>,
    savepoint_serial: u64,
    hints: Vec<(TreeId, LeafHint)>,
    pages: FetchedPages,
    /// The leaves that are kept with their branches. Others were kept because they were read.
    leaves: BTreeSet<PageId>,
    unlocked: Unlocked,
    operations: u32,
    bytes: usize,
    until: Instant,
    is_over: bool,
    has_refused: bool,
    absent_pages: u32,
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
}

impl FetchStage {
    /// Begins the fetch stage of a transaction that has done nothing yet.
    pub(crate) fn new(state: Box<TransactionState>, is_of_task: bool) -> FetchStage {
        let pages = FetchedPages::new(&state.core.pool);
        FetchStage {
            is_of_task,
            state,
            overlay: Overlay::default(),
            savepoints: Vec::new(),
            savepoint_serial: 0,
            hints: Vec::with_capacity(TABLES_EXPECTED),
            pages,
            leaves: BTreeSet::new(),
            unlocked: Unlocked::default(),
            operations: 0,
            bytes: 0,
            until: Instant::now() + TIME_MAX,
            is_over: false,
            has_refused: false,
            absent_pages: 0,
            touched: Vec::new(),
        }
    }

    /// Ends the stage.
    pub(crate) fn end(self) -> Fetched {
        finish::leave(self.state);
        Fetched {
            pages: self.pages,
            is_cut_short: self.is_over,
            has_refused: self.has_refused,
            absent_pages: self.absent_pages,
        }
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
        let found = match self.get_at_once(table, key, intent, out)? {
            Some(found) => found,
            None => run_to_end(self.read(table, key, intent))?,
        };
        self.got(found, out)
    }

    /// As [`get`](FetchStage::get), for a task.
    pub(crate) async fn get_as_task(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let found = match self.get_at_once(table, key, intent, out)? {
            Some(found) => found,
            None => self.read(table, key, intent).await?,
        };
        self.got(found, out)
    }

    /// Begins a read, which uses the memory of `out`. Returns what it has found, or `None` if a
    /// page is absent: then it goes on by [`read`](FetchStage::read).
    fn get_at_once(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<Option<Option<Vec<u8>>>> {
        table.tree().check_key(key)?;
        self.begin_operation(table)?;
        if let Some(written) = self.overlay.get(table.id(), key) {
            return Ok(Some(written.map(<[u8]>::to_vec)));
        }
        let read = table.tree().read_operation(key, intent, std::mem::take(out))?;
        Ok(self.at_once(table, key, read))
    }

    /// Returns a value that was found.
    fn got(&mut self, found: Option<Vec<u8>>, out: &mut Vec<u8>) -> Result<bool> {
        self.copied(found.as_ref().map_or(0, Vec::len))?;
        let is_present = found.is_some();
        *out = found.unwrap_or_default();
        Ok(is_present)
    }

    /// Reads a value from the tree, whatever the overlay has.
    #[cold]
    async fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
    ) -> Result<Option<Vec<u8>>> {
        let mut attempt = 1;
        loop {
            let read = table.tree().read_operation(key, intent, Vec::new())?;
            let found = self.drive(table, key, read).await;
            if let Some(found) = self.accept(found, &mut attempt)? {
                return Ok(found);
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
        let found = match self.survey_at_once(table, key, value)? {
            Some(found) => found,
            None => run_to_end(self.survey(table, key, value))?,
        };
        self.note_write(table, key, value, check, found)
    }

    /// As [`write`](FetchStage::write), for a task.
    pub(crate) async fn write_as_task(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        check: fn(bool) -> Result<()>,
    ) -> Result<bool> {
        let found = match self.survey_at_once(table, key, value)? {
            Some(found) => found,
            None => self.survey(table, key, value).await?,
        };
        self.note_write(table, key, value, check, found)
    }

    /// Begins a write. Returns what it would come to, or `None` if a page is absent: then it goes
    /// on by [`survey`](FetchStage::survey).
    fn survey_at_once(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<Option<WriteSurvey>> {
        let survey = table.tree().survey_write(key, value)?;
        self.begin_operation(table)?;
        let found = self.at_once(table, key, survey);
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
        found: WriteSurvey,
    ) -> Result<bool> {
        let written = self.overlay.get(table.id(), key).map(|written| written.is_some());
        let is_present = written.unwrap_or(found.is_present);
        self.unlocked.wanted.push((table.tree().lock_of(key), RangeMode::XN));
        if let Err(refused) = check(is_present) {
            self.has_refused = true;
            return Err(refused);
        }
        self.copied(key.len() + value.map_or(0, <[u8]>::len))?;
        self.overlay.set(table.id(), key, value);
        Ok(is_present)
    }

    /// Goes to the next record of the tree, whatever the overlay has. The caller notes the record,
    /// and then calls [`keep_leaf`](FetchStage::keep_leaf).
    async fn advance(&mut self, table: &Table, cursor: &mut clearway_tree::Cursor) -> Result<bool> {
        self.begin_operation(table)?;
        let mut attempt = 1;
        let found = loop {
            cursor.begin_advance();
            let mut hint = LeafHint::default(); // A cursor uses none.
            let found = self.run(table, &mut hint, cursor.advance_operation()).await;
            if let Some(found) = self.accept(found, &mut attempt)? {
                break found;
            }
        };
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

    /// Keeps the leaf that a cursor has come to.
    async fn keep_leaf(&mut self, table: &Table, cursor: &clearway_tree::Cursor) {
        self.keep_path(table.tree(), cursor.entry().0, cursor.leaf()).await;
    }

    /// Keeps the leaves that the run came to before its conversion.
    pub(crate) async fn keep_touched(&mut self) {
        while let Some(leaf) = self.touched.pop() {
            self.keep(leaf).await;
        }
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
        self.savepoints.push((self.savepoint_serial, self.overlay.position()));
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
        self.overlay.rollback_to(self.savepoints[at].1);
        self.savepoints.truncate(at + 1);
        Ok(())
    }

    /// Checks that an operation on the table may run, and counts it (STAGING-3).
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

    /// Tries an operation in one step, and keeps the pages on the way to the leaf of `key`. Returns
    /// `None` if one of them is absent, or if the operation fails: it has to begin again then.
    fn at_once<T>(
        &mut self,
        table: &Table,
        key: &[u8],
        mut operation: impl FnMut(&Tree, &mut Unlocked, &mut LeafHint) -> Step<T>,
    ) -> Option<T> {
        let (at, mut hint) = self.hint_of(table.id());
        let done = table.tree().step(&mut operation, &mut self.unlocked, &mut hint).ok()?;
        self.hints[at].1 = hint;
        let is_kept = hint.page().is_none_or(|leaf| self.keep_resident(table.tree(), key, leaf));
        is_kept.then_some(done)
    }

    /// Runs an operation to its end. Keeps the pages on the way to the leaf of `key`.
    async fn drive<T>(
        &mut self,
        table: &Table,
        key: &[u8],
        operation: impl FnMut(&Tree, &mut Unlocked, &mut LeafHint) -> Step<T>,
    ) -> Result<T> {
        let (at, mut hint) = self.hint_of(table.id());
        let done = self.run(table, &mut hint, operation).await?;
        self.keep_path(table.tree(), key, hint.page()).await;
        self.hints[at].1 = hint;
        Ok(done)
    }

    /// Runs an operation to its end, reading the pages that it needs. Keeps these.
    async fn run<T>(
        &mut self,
        table: &Table,
        hint: &mut LeafHint,
        mut operation: impl FnMut(&Tree, &mut Unlocked, &mut LeafHint) -> Step<T>,
    ) -> Result<T> {
        let mut pins = None;
        loop {
            match table.tree().step(&mut operation, &mut self.unlocked, hint) {
                Ok(done) => return Ok(done),
                Err(incomplete) => {
                    let need = incomplete.need()?;
                    self.meet(need, &mut pins).await?;
                }
            }
        }
    }

    /// Returns the leaf hint of a table, and its place.
    fn hint_of(&mut self, tree: TreeId) -> (usize, LeafHint) {
        let at = self.hints.iter().position(|(of, _)| *of == tree);
        let at = at.unwrap_or_else(|| {
            self.hints.push((tree, LeafHint::default()));
            self.hints.len() - 1
        });
        (at, self.hints[at].1)
    }

    #[cold]
    async fn meet(&mut self, need: Need, pins: &mut Option<OperationPins>) -> Result<()> {
        self.absent_pages += 1;
        if Instant::now() > self.until {
            return Err(Error::Cancelled);
        }
        let pool = self.state.core.pool.clone();
        let pins = pins.get_or_insert_with(|| OperationPins::new(&pool));
        match need {
            Need::Page(page) => {
                self.take(page, pins).await?;
                self.pages.keep(page);
                Ok(())
            }
            Need::Pages(pages) => self.take_together(&pages, pins).await,
            Need::Lock { .. } | Need::LogSpace(_) | Need::FileLength { .. } => {
                debug_assert!(false, "STAGING-1: a fetch stage needs pages only: {need:?}");
                Err(Error::Cancelled)
            }
        }
    }

    /// Reads a page in (STAGING-6).
    async fn take(&mut self, page: PageId, pins: &mut OperationPins) -> Result<()> {
        let limit = self.state.page_limit();
        match self.is_of_task {
            true => take_as_task(&self.state.core.task_work.timer, page, limit, pins).await,
            false => pins.take(page, limit),
        }
    }

    /// Reads pages in at the same time, and keeps them.
    ///
    /// # Errors
    /// If the first cannot be read.
    async fn take_together(&mut self, pages: &[PageId], pins: &mut OperationPins) -> Result<()> {
        let Some((first, others)) = pages.split_first() else { return Ok(()) };
        let pool = self.state.core.pool.clone();
        if !self.is_of_task {
            pins.admit();
            pool.load(pages, IoPriority::Foreground, self.state.page_limit());
            for page in pages {
                self.pages.keep(*page);
            }
            return self.take(*first, pins).await;
        }
        pool.load_ahead(others);
        self.take(*first, pins).await?;
        self.pages.keep(*first);
        for page in others {
            // Those that are not being read are left to the operation.
            if pool.is_loading(*page) {
                let _ = self.take(*page, pins).await;
            }
            self.pages.keep(*page);
        }
        Ok(())
    }

    /// Keeps the leaf of `key`, and the branches that lead to it, as far as they are in memory.
    /// Returns false if one is not.
    fn keep_resident(&mut self, tree: &Tree, key: &[u8], leaf: PageId) -> bool {
        if self.leaves.contains(&leaf) {
            return true;
        }
        let pages = &mut self.pages;
        let mut are_kept = pages.keep(leaf);
        let absent = tree.visit_branches(key, |branch| are_kept &= pages.keep(branch));
        let is_whole = are_kept && absent.is_none();
        if is_whole {
            self.leaves.insert(leaf);
        }
        is_whole
    }

    /// Keeps the leaf of `key`, and the branches that lead to it. Each may have been evicted since
    /// the operation was there.
    async fn keep_path(&mut self, tree: &Tree, key: &[u8], leaf: Option<PageId>) {
        let Some(leaf) = leaf else { return };
        if self.keep_resident(tree, key, leaf) {
            return;
        }
        self.leaves.insert(leaf);
        self.keep(leaf).await;
        for _ in 0..ATTEMPTS {
            let mut branches = Vec::new();
            let absent = tree.visit_branches(key, |branch| branches.push(branch));
            for branch in branches {
                self.keep(branch).await;
            }
            match absent {
                Some(absent) => self.keep(absent).await,
                None => break,
            }
        }
    }

    /// Keeps a page, and reads it in for that if it is absent.
    async fn keep(&mut self, page: PageId) {
        if !self.pages.keep(page) {
            let mut pins = OperationPins::new(&self.state.core.pool);
            self.absent_pages += 1;
            // If it cannot be read, the operate stage meets the error.
            let _ = self.take(page, &mut pins).await;
            self.pages.keep(page);
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
