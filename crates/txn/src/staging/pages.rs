//! The pages that a fetch stage comes to: how its operations find them, and keep them in memory
//! (STAGING-5).
//!
//! ```text
//!   key ──► hint of the table: its leaf is kept already ──────────────► step at the leaf
//!    └──► branches on the way ──► these and the leaf are kept ──► hint ──┘
//!             └─ absent: the operation begins again, as a future that reads pages
//! ```
//!
//! A step that begins at the right leaf does not descend. So the way to a leaf is gone once, and
//! not at all if the operation before on the same table was in the same leaf. The hint is not
//! relied on: a step that finds its key elsewhere descends itself, and then the leaf that it has
//! come to is kept, too.

use std::time::Instant;

use clearway_base::{Error, PageId, Result};
use clearway_pool::{AwaitedPage, IoPriority, OperationPins};
use clearway_tree::{Cursor, LeafHint, Need, Step, Tree, Wait, WayEnd};

use super::{ATTEMPTS, FetchStage};
use crate::{stage_memory::Unlocked, table::Table, transaction_state::take_as_task};

impl FetchStage {
    /// Tries an operation in one step, on the table at a place in `memory`, and keeps the pages on
    /// the way to the leaf of `key`. Returns `None` if one of them is absent, or if the operation
    /// fails: it has to begin again then.
    pub(super) fn at_once<T>(
        &mut self,
        tree: &Tree,
        at: usize,
        key: &[u8],
        mut operation: impl FnMut(&Tree, &mut Unlocked, &mut LeafHint) -> Step<T>,
    ) -> Option<T> {
        let mut hint = self.memory.tables[at].hint;
        if !tree.is_at(&hint, key) && !self.keep_way(tree, key, &mut hint) {
            return None;
        }
        let kept = hint.page();
        let done = tree.step(&mut operation, &mut self.memory.unlocked, &mut hint).ok()?;
        let leaf = hint.page();
        if leaf != kept && !leaf.is_none_or(|leaf| self.pages.keep(leaf)) {
            return None;
        }
        self.memory.tables[at].hint = hint;
        Some(done)
    }

    /// Keeps the branches on the way to `key`, and the leaf to which they lead, which is the new
    /// hint. Returns false if one of them is absent.
    fn keep_way(&mut self, tree: &Tree, key: &[u8], hint: &mut LeafHint) -> bool {
        let way = &mut self.memory.way;
        way.clear();
        *hint = match tree.visit_branches(key, |branch| way.push(branch)) {
            WayEnd::Leaf(leaf) => {
                way.push(leaf);
                LeafHint::at(leaf)
            }
            WayEnd::Absent(_) => return false,
            WayEnd::Changed => LeafHint::default(),
        };
        self.pages.keep_all(way)
    }

    /// Runs an operation to its end. Keeps the pages on the way to the leaf of `key`.
    pub(super) async fn drive<T>(
        &mut self,
        table: &Table,
        key: &[u8],
        operation: impl FnMut(&Tree, &mut Unlocked, &mut LeafHint) -> Step<T>,
    ) -> Result<T> {
        let at = self.memory.place_of(table.id());
        let mut hint = self.memory.tables[at].hint;
        let done = self.run(table, &mut hint, operation).await?;
        self.keep_path(table.tree(), key, hint.page()).await;
        self.memory.tables[at].hint = hint;
        Ok(done)
    }

    /// Runs an operation to its end, reading the pages that it needs. Keeps these.
    pub(super) async fn run<T>(
        &mut self,
        table: &Table,
        hint: &mut LeafHint,
        mut operation: impl FnMut(&Tree, &mut Unlocked, &mut LeafHint) -> Step<T>,
    ) -> Result<T> {
        let mut pins = None;
        loop {
            match table.tree().step(&mut operation, &mut self.memory.unlocked, hint) {
                Ok(done) => return Ok(done),
                Err(incomplete) => {
                    let need = incomplete.need()?;
                    self.meet(need, &mut pins).await?;
                }
            }
        }
    }

    /// Ends the run at absent pages, if the closure can be run again (STAGING-7). Otherwise
    /// returns false.
    #[cold]
    fn is_over_at(&mut self, pages: &[PageId]) -> bool {
        let core = &self.state.core;
        // The wait will need the timer's thread.
        if !self.can_rerun || core.task_work.start(&core.options).is_err() {
            return false;
        }
        if self.awaited.is_none() {
            self.awaited = AwaitedPage::reserve(&core.pool);
            self.absent_pages += u32::from(self.awaited.is_some());
        }
        if self.awaited.is_none() {
            return false;
        }
        self.is_over = true;
        for page in pages {
            if !self.absent.contains(page) {
                self.absent.push(*page);
            }
        }
        true
    }

    #[cold]
    async fn meet(&mut self, need: Need, pins: &mut Option<OperationPins>) -> Result<()> {
        let is_over = match &need {
            Need::Page(page) => self.is_over_at(&[*page]),
            Need::Pages(pages) => self.is_over_at(pages),
            _ => false,
        };
        if is_over {
            return Err(Error::Cancelled);
        }
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

    /// Keeps the leaf of `key`, and the branches that lead to it. Each may have been evicted since
    /// the operation was there.
    async fn keep_path(&mut self, tree: &Tree, key: &[u8], leaf: Option<PageId>) {
        let Some(leaf) = leaf else { return };
        self.keep(leaf).await;
        for _ in 0..ATTEMPTS {
            let mut way = Vec::new();
            let end = tree.visit_branches(key, |branch| way.push(branch));
            if let WayEnd::Leaf(page) | WayEnd::Absent(page) = end {
                way.push(page);
            }
            for page in way {
                self.keep(page).await;
            }
            if !matches!(end, WayEnd::Absent(_)) {
                break;
            }
        }
    }

    /// Keeps the leaf that a cursor has come to, and the branches that lead to it. Returns false if
    /// one of them is absent.
    pub(super) fn keep_leaf_at_once(&mut self, table: &Table, cursor: &Cursor) -> bool {
        self.keep_way(table.tree(), cursor.entry().0, &mut LeafHint::default())
            && cursor.leaf().is_none_or(|leaf| self.pages.keep(leaf))
    }

    /// As [`keep_leaf_at_once`](FetchStage::keep_leaf_at_once), and reads those that are absent.
    pub(super) async fn keep_leaf(&mut self, table: &Table, cursor: &Cursor) {
        self.keep_path(table.tree(), cursor.entry().0, cursor.leaf()).await;
    }

    /// Keeps the leaves that the run came to before its conversion.
    pub(crate) async fn keep_touched(&mut self) {
        while let Some(leaf) = self.touched.pop() {
            self.keep(leaf).await;
        }
    }

    /// Keeps a page, and reads it in for that if it is absent.
    pub(super) async fn keep(&mut self, page: PageId) {
        if !self.pages.keep(page) && !self.is_over_at(&[page]) {
            let mut pins = OperationPins::new(&self.state.core.pool);
            self.absent_pages += 1;
            // If it cannot be read, the operate stage meets the error.
            let _ = self.take(page, &mut pins).await;
            self.pages.keep(page);
        }
    }
}

#[cfg(test)]
mod tests;
