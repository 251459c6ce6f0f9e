//! Checking a tree while it is in use.
//!
//! What is checked
//! : Of each node by itself: kind, space, order, fences, prefix, heads, ghosts (`node::check`).
//!   Of each pair that a pointer connects, both latched: tree, level, and that the fences of the
//!   lower node *equal* the separators beside the pointer. Of each level: that own ranges follow
//!   one another without gap or overlap from minus to plus infinity, foster chains included. Of
//!   each page, overflow pages included: that the space map has it allocated.
//!
//! Invariants
//! 1. *Online.* At most two pages are latched at a time, shared, and none is read in under the
//!    latch of another. Operations go on meanwhile.
//! 2. *No false alarm.* Whatever seems wrong is reported only if pointer and node were latched
//!    together, or if it is still wrong on a second look.
//! 3. *Moments.* Each pair is seen at one moment, the tree as a whole is not: with writers about,
//!    the counts are of no single moment, and pages that move may be met twice or not at all. In a
//!    tree that no thread changes, everything is exact.
//!
//! Algorithm
//! : Graefe, Stonecipher, "Efficient verification of B-tree integrity" (BTW 2009), and the fence
//!   invariants of Graefe, Kimura, Kuno, "Foster B-trees" (TODS 2012).
//!
//! Differences
//! : Theirs scans pages in disk order and matches facts; ours walks each level by key, which needs
//!   no memory but the list of pages, and finds with one walk what is out of reach.

mod bounds;
mod chain;
mod level;
mod read_ahead;

pub use bounds::Load;

use clearway_base::{PageId, Result};
use clearway_pool::SharedPage;

use crate::Tree;
use crate::node::Node;

/// The state of one level of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LevelReport {
    /// The nodes of the level, each a page.
    pub pages: u64,
    /// Nodes that are still foster children: the right parts of split nodes, to which the parent
    /// has no pointer yet.
    pub foster_children: u64,
    /// Slots: the records and ghosts (records that count as absent) of leaves, or the separators of
    /// branches.
    pub slots: u64,
    /// Bytes in use for slots, records and fences.
    pub used_bytes: u64,
    /// Bytes that slots, records and fences could take: those of the nodes without their headers.
    pub capacity_bytes: u64,
    /// Foster children of the longest chain: nodes that follow one another by foster pointers.
    pub chain_max: u64,
    /// Nodes without a slot. The only leaf of an empty tree is one.
    pub empty_nodes: u64,
    /// Branches with one child; 0 on the leaf level.
    pub one_child_branches: u64,
    /// Ghosts. Branches have none.
    pub ghosts: u64,
}

impl LevelReport {
    /// Returns the nodes' average fill factor, 0 to 1: the part of `capacity_bytes` that is in use.
    pub fn fill(&self) -> f64 {
        self.used_bytes as f64 / self.capacity_bytes.max(1) as f64
    }
}

/// The report of the check of one tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TreeReport {
    /// One entry for each level, the leaves first.
    pub levels: Vec<LevelReport>,
    /// Records, ghosts not counted.
    pub records: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Bytes of values, those in overflow pages included.
    pub value_bytes: u64,
    /// Overflow pages: the pages of large values.
    pub overflow_pages: u64,
    /// Every page of the tree, in ascending order, each once: for comparison with the space map and
    /// with other trees.
    pub pages: Vec<PageId>,
    /// Pages that were met more than once. There are none if no thread changed the tree during the
    /// check.
    pub met_twice: Vec<PageId>,
    /// Foster pointers that the walk has followed in a row.
    chain: u64,
}

impl TreeReport {
    /// Returns the number of levels, of leaves and of branches; a tree of one leaf has one.
    pub fn height(&self) -> usize {
        self.levels.len()
    }

    /// Returns the number of nodes on all levels; overflow pages are not counted.
    pub fn nodes(&self) -> u64 {
        self.levels.iter().map(|level| level.pages).sum()
    }

    /// Returns the number of foster children of the longest chain on any level.
    pub fn chain_max(&self) -> u64 {
        self.levels.iter().map(|level| level.chain_max).max().unwrap_or(0)
    }

    /// Sorts the pages, and sets apart what was met twice.
    fn finish(&mut self) {
        self.pages.sort_unstable();
        self.met_twice =
            self.pages.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        self.pages.dedup();
    }
}

impl Tree {
    /// Checks the whole tree.
    ///
    /// # Errors
    /// `CorruptPage` with the page and what is wrong with it; what the pool returns for pages it
    /// cannot read.
    pub fn verify(&self) -> Result<TreeReport> {
        let mut report = TreeReport::default();
        let top = {
            let root: SharedPage<'_> = self.pool.shared(self.root)?;
            let node = Node::new(&*root);
            if !(node.is_leaf() || node.is_branch()) || node.tree() != self.id {
                let (kind, tree) = (node.kind(), node.tree().0);
                return Err(self.misplaced(self.root, format!("root is {kind:?} of tree {tree}")));
            }
            node.level()
        };
        report.levels.resize(usize::from(top) + 1, LevelReport::default());
        for level in (0..=top).rev() {
            self.verify_level(level, &mut report)?;
        }
        report.finish();
        Ok(report)
    }
}
