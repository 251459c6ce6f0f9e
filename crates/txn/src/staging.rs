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
    time::{Duration, Instant},
};

use clearway_base::{Error, PageId, Result, TreeId};
use clearway_lock::{RangeMode, WaitLimit};
use clearway_pool::{FetchedPages, IoPriority, OperationPins};
use clearway_tree::{LeafHint, Need, ReadIntent, Step, Tree, Wait};

use crate::{finish, table::Table, transaction_state::TransactionState};
pub(crate) use conversion::convert;
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

/// Operations between two looks at the clock, besides those that read a page.
const OPERATIONS_PER_LOOK: u32 = 1024;

/// See the module.
pub(crate) struct FetchStage {
    /// The transaction's state, without locks and changes. It counts as active, so that the
    /// directory stays locked (DIRECTORY-1).
    state: Box<TransactionState>,
    overlay: Overlay,
    /// Savepoints that can be rolled back to: serial number and position in the overlay.
    savepoints: Vec<(u64, usize)>,
    savepoint_serial: u64,
    hints: Vec<(TreeId, LeafHint)>,
    pages: FetchedPages,
    /// The pages for which a pin was requested.
    kept: BTreeSet<PageId>,
    unlocked: Unlocked,
    operations: u32,
    bytes: usize,
    until: Instant,
    is_over: bool,
    has_refused: bool,
    absent_pages: u32,
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
    pub(crate) fn new(state: Box<TransactionState>) -> FetchStage {
        let pages = FetchedPages::new(&state.core.pool);
        FetchStage {
            state,
            overlay: Overlay::default(),
            savepoints: Vec::new(),
            savepoint_serial: 0,
            hints: Vec::new(),
            pages,
            kept: BTreeSet::new(),
            unlocked: Unlocked::default(),
            operations: 0,
            bytes: 0,
            until: Instant::now() + TIME_MAX,
            is_over: false,
            has_refused: false,
            absent_pages: 0,
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

    /// Reads a value into `out`. Returns false if the key is absent.
    pub(crate) fn get(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        table.tree().check_key(key)?;
        self.begin_operation(table)?;
        out.clear();
        let found = match self.overlay.get(table.id(), key) {
            Some(written) => written.map(<[u8]>::to_vec),
            None => self.attempts(|stage| {
                stage.drive(table, key, table.tree().read_operation(key, intent)?)
            })?,
        };
        self.copied(found.as_ref().map_or(0, Vec::len))?;
        Ok(match found {
            Some(value) => {
                *out = value;
                true
            }
            None => false,
        })
    }

    /// Sets the value of a key in the overlay. Returns whether it was present.
    ///
    /// # Errors
    /// What `check` returns if it is called with that.
    pub(crate) fn store(
        &mut self,
        table: &Table,
        key: &[u8],
        value: &[u8],
        check: fn(bool) -> Result<()>,
    ) -> Result<bool> {
        self.write(table, key, Some(value), check)
    }

    /// Removes a key in the overlay.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub(crate) fn delete(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        self.write(table, key, None, must_be_present).map(drop)
    }

    fn write(
        &mut self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        check: fn(bool) -> Result<()>,
    ) -> Result<bool> {
        let survey = table.tree().survey_write(key, value)?;
        self.begin_operation(table)?;
        let found = self.drive(table, key, survey);
        let found = found.map_err(|_| self.give_up())?;
        found.map.into_iter().for_each(|map| self.keep(map));
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

    /// Goes to the next record of the tree, whatever the overlay has.
    fn advance(&mut self, table: &Table, cursor: &mut clearway_tree::Cursor) -> Result<bool> {
        self.begin_operation(table)?;
        let found = self.attempts(|stage| {
            cursor.begin_advance();
            stage.drive(table, &[], cursor.advance_operation())
        })?;
        let (key, value) = cursor.entry();
        self.keep_path(table.tree(), key, cursor.leaf());
        self.copied(if found { key.len() + value.len() } else { 0 })?;
        Ok(found)
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
        self.state.core.health.check_open()?;
        if !table.belongs_to(self.state.opening) || table.is_dropped() {
            return Err(Error::UnknownTable { name: table.name().into() });
        }
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

    /// Runs an operation that may meet a large value which another transaction is just replacing:
    /// it begins again a few times. The stage is over if it still fails (STAGING-3).
    fn attempts<T>(&mut self, mut run: impl FnMut(&mut FetchStage) -> Result<T>) -> Result<T> {
        for _ in 1..ATTEMPTS {
            match run(self) {
                Err(Error::Corrupt { .. } | Error::CorruptPage { .. }) => {}
                result => return result.map_err(|_| self.give_up()),
            }
        }
        run(self).map_err(|_| self.give_up())
    }

    /// Runs an operation to its end, reading the pages that it needs. Keeps these, and those on the
    /// way to the leaf of `key` if the operation comes to that by its hint.
    fn drive<T>(
        &mut self,
        table: &Table,
        key: &[u8],
        mut operation: impl FnMut(&Tree, &mut Unlocked, &mut LeafHint) -> Step<T>,
    ) -> Result<T> {
        let tree = table.tree();
        let at = self.hint_of(table.id());
        let mut hint = self.hints[at].1;
        let mut pins = None;
        loop {
            match tree.step(&mut operation, &mut self.unlocked, &mut hint) {
                Ok(done) => {
                    self.keep_path(tree, key, hint.page());
                    self.hints[at].1 = hint;
                    return Ok(done);
                }
                Err(incomplete) => self.meet(incomplete.need()?, &mut pins)?,
            }
        }
    }

    fn hint_of(&mut self, tree: TreeId) -> usize {
        let at = self.hints.iter().position(|(of, _)| *of == tree);
        at.unwrap_or_else(|| {
            self.hints.push((tree, LeafHint::default()));
            self.hints.len() - 1
        })
    }

    #[cold]
    fn meet(&mut self, need: Need, pins: &mut Option<OperationPins>) -> Result<()> {
        self.absent_pages += 1;
        if Instant::now() > self.until {
            return Err(Error::Cancelled);
        }
        let pool = self.state.core.pool.clone();
        let limit = self.state.page_limit();
        let pins = pins.get_or_insert_with(|| OperationPins::new(&pool));
        match need {
            Need::Page(page) => {
                pins.take(page, limit)?;
                self.pages.keep(page);
                Ok(())
            }
            Need::Pages(pages) => {
                pins.admit();
                pool.load(&pages, IoPriority::Foreground, limit);
                for page in &pages {
                    self.pages.keep(*page);
                }
                pages.first().map_or(Ok(()), |page| pins.take(*page, limit))
            }
            Need::Lock { .. } | Need::LogSpace(_) | Need::FileLength { .. } => {
                debug_assert!(false, "STAGING-1: a fetch stage needs pages only: {need:?}");
                Err(Error::Cancelled)
            }
        }
    }

    /// Keeps the leaf of `key`, and the branches that lead to it. Each may have been evicted since
    /// the operation was there.
    fn keep_path(&mut self, tree: &Tree, key: &[u8], leaf: Option<PageId>) {
        let Some(leaf) = leaf.filter(|leaf| !self.kept.contains(leaf)) else { return };
        self.keep(leaf);
        for _ in 0..ATTEMPTS {
            let mut branches = Vec::new();
            let absent = tree.visit_branches(key, |branch| branches.push(branch));
            branches.into_iter().for_each(|branch| self.keep(branch));
            match absent {
                Some(absent) => self.keep(absent),
                None => break,
            }
        }
    }

    /// Keeps a page, and reads it in for that if it is absent.
    fn keep(&mut self, page: PageId) {
        if self.kept.insert(page) && !self.pages.keep(page) {
            let pool = &self.state.core.pool;
            let mut pins = OperationPins::new(pool);
            self.absent_pages += 1;
            // If it cannot be read, the operate stage meets the error.
            let _ = pins.take(page, self.state.page_limit());
            self.pages.keep(page);
        }
    }
}

/// Refuses an absent key, as an update and a deletion do.
pub(crate) fn must_be_present(is_present: bool) -> Result<()> {
    if is_present { Ok(()) } else { Err(Error::NotFound) }
}

/// Refuses a key that is present, as an insertion does.
pub(crate) fn must_be_absent(is_present: bool) -> Result<()> {
    if is_present { Err(Error::DuplicateKey) } else { Ok(()) }
}

/// Accepts both, as a `put` does.
pub(crate) fn may_be_present(_: bool) -> Result<()> {
    Ok(())
}
