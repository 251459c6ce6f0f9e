//! One level, from left to right.
//!
//! Each node is found by the key that the node before ended at, first without latches; then its
//! incoming pointer and it are latched together, in latch order, and the pointer is looked at
//! again. Only what is seen then counts (verify invariant 2). So each pointer is checked exactly
//! once, by the node it leads to, and a gap or an overlap between ranges cannot hide: the walk
//! would not come to the next key, or would come to a node that starts before it.

use clearway_base::{PageId, Result};
use clearway_pool::SharedPage;
use clearway_sync::Backoff;

use super::chain::Value;
use super::read_ahead::LevelWindow;
use super::{LevelReport, TreeReport};
use crate::Tree;
use crate::descend::Located;
use crate::need::drive_reads;
use crate::node::{Node, Place};
use crate::space::map_page_of;

/// The maximum number of lookups of a node that is not where a walk without latches has found it.
/// Unless the tree is damaged, another thread has split, merged or adopted just there each time.
const LOOKS_MAX: usize = 1000;

impl Tree {
    /// Walks `level`. A level that vanishes meanwhile is done.
    pub(super) fn verify_level(&self, level: u8, report: &mut TreeReport) -> Result<()> {
        let mut key = Vec::new();
        let mut values = Vec::new();
        let mut window = LevelWindow::default();
        report.chain = 0;
        loop {
            values.clear();
            let goes_on = self.verify_node_of(&mut key, level, &mut window, report, &mut values)?;
            for value in &values {
                self.verify_value(value, report)?;
            }
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Checks the node that owns `key`, and replaces `key` by the end of its range; `false` if
    /// there is nothing after it.
    fn verify_node_of(
        &self,
        key: &mut Vec<u8>,
        level: u8,
        window: &mut LevelWindow,
        report: &mut TreeReport,
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        let backoff = Backoff::new();
        for _ in 0..LOOKS_MAX {
            let mut resume = None;
            if let Some(at) = drive_reads(&self.pool, || self.locate(key, level, &mut resume))? {
                self.read_level_ahead(at, level, window);
                if let Some(page) = self.latch_pair(at, key, level)? {
                    return self.verify_node(&page, at, key, report, values);
                }
            }
            backoff.snooze();
        }
        // Either the level is gone, which is fine, or there is no way to the key.
        let height = Node::new(&*self.pool.shared(self.root)?).level();
        if height < level {
            return Ok(false);
        }
        Err(self.misplaced(self.root, format!("no way to key {key:02x?} on level {level}")))
    }

    /// Latches the node after the node with its incoming pointer, compares them, and returns the
    /// node, still latched. `None` if that pointer does not lead there any more.
    fn latch_pair(&self, at: Located, key: &[u8], level: u8) -> Result<Option<SharedPage<'_>>> {
        let _resident = (self.pool.pin(at.page)?, self.pool.pin(map_page_of(at.page))?);
        if at.above == PageId::NONE {
            let root = self.pool.shared(at.page)?;
            if !self.is_node_at(&root, level) || at.page != self.root {
                return Ok(None);
            }
            let node = Node::new(&*root);
            if !node.low_fence().is_empty() || !node.is_high_infinite() {
                return Err(self.misplaced(at.page, "the root has fences".into()));
            }
            return Ok((node.place(key) == Place::Here).then_some(root));
        }
        let above = self.pool.shared(at.above)?;
        let (from, is_foster) = (Node::new(&*above), at.is_foster);
        if !self.is_node_at(&above, if is_foster { level } else { level + 1 }) {
            return Ok(None);
        }
        let mut high = Vec::new();
        let (low, is_finite) = if is_foster {
            match from.foster_link() {
                Some((page, low)) if page == at.page => {
                    (low.to_vec(), from.high_fence_into(&mut high))
                }
                _ => return Ok(None),
            }
        } else {
            let (slot, child) = from.child_for(key);
            if from.place(key) != Place::Here || child != at.page {
                return Ok(None);
            }
            (from.key(slot), separator_after(from, slot, &mut high))
        };
        let page = self.pool.shared(at.page)?;
        let node = Node::new(&*page);
        if !self.is_node_at(&page, level) {
            let (kind, found) = (node.kind(), node.level());
            let detail = format!("{kind:?} on level {found}; its pointer says level {level}");
            return Err(self.misplaced(at.page, detail));
        }
        let high_agrees = node.high_fence() == is_finite.then_some(&high[..]);
        if node.low_fence() != low || !high_agrees {
            let detail = format!("fences differ from the separators in page {}", at.above);
            return Err(self.misplaced(at.page, detail));
        }
        Ok((node.place(key) == Place::Here).then_some(page))
    }

    /// Checks a latched node by itself and counts it.
    fn verify_node(
        &self,
        page: &SharedPage<'_>,
        at: Located,
        key: &mut Vec<u8>,
        report: &mut TreeReport,
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        let node = Node::new(&**page);
        node.check().map_err(|detail| self.misplaced(at.page, detail))?;
        if node.low_fence() != &key[..] {
            // Online, a merge may have taken the border at `key` away since the node before was
            // checked; then that node has been met twice, in part. Otherwise a range is missing,
            // but then the walk could not have arrived here: its pointer was checked.
            report.met_twice.push(at.page);
        }
        if !self.space.is_allocated(at.page)? {
            return Err(self.misplaced(at.page, "in use, but free in the space map".into()));
        }
        report.pages.push(at.page);
        // The walk goes from left to right, so the members of a chain follow one another.
        report.chain = if at.is_foster { report.chain + 1 } else { 0 };
        report.levels[usize::from(node.level())].count(node, report.chain);
        if node.is_leaf() {
            report.ghosts += node.ghost_count() as u64;
            report.records += (node.count() - node.ghost_count()) as u64;
            for slot in (0..node.count()).filter(|&slot| !node.is_ghost(slot)) {
                if node.is_overflow(slot) {
                    let value = node.value(slot).to_vec();
                    values.push(Value { key: node.key(slot), reference: value });
                } else {
                    report.value_bytes += node.value_len(slot) as u64;
                }
            }
        }
        Ok(node.end_into(key))
    }
}

impl LevelReport {
    /// Counts a node that was reached over `chain` foster pointers in a row.
    fn count(&mut self, node: Node<'_, [u8]>, chain: u64) {
        self.pages += 1;
        self.foster_children += u64::from(chain > 0);
        self.chain_max = self.chain_max.max(chain);
        self.slots += node.count() as u64;
        self.used_bytes += node.used_bytes() as u64;
        self.capacity_bytes += (node.used_bytes() + node.free_bytes()) as u64;
        self.empty_nodes += u64::from(node.count() == 0);
        self.one_child_branches += u64::from(node.is_branch() && node.count() == 1);
        self.ghosts += node.ghost_count() as u64;
    }
}

/// The separator after `slot`, or the end of the branch's own range; `false` for plus infinity.
fn separator_after(node: Node<'_, [u8]>, slot: usize, out: &mut Vec<u8>) -> bool {
    if slot + 1 < node.count() {
        node.key_into(slot + 1, out);
        return true;
    }
    node.end_into(out)
}
