//! A look at one leaf: what is there for upkeep to do.

use clearway_base::Result;
use clearway_pool::SharedPage;

use crate::need::{Step, drive_reads};
use crate::node::Node;
use crate::{LeafHint, Tree};

/// The state of a leaf that matters to upkeep, at the moment of the look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafSurvey {
    /// Its ghosts.
    pub ghosts: usize,
    /// It is empty enough to be merged with a neighbour. A tree's only leaf may be, too.
    pub is_sparse: bool,
    /// The way to it leads over a foster child that its parent has not adopted.
    pub has_pending_adoption: bool,
    /// No leaf comes after it.
    pub is_last: bool,
}

impl Tree {
    /// Looks at the leaf of `key`, and replaces `end` by the key where the next leaf begins (by
    /// nothing if there is none). Takes one shared latch and no lock.
    ///
    /// # Errors
    /// `CorruptPage`, and what the pool returns for pages that it cannot read.
    pub fn survey(&self, key: &[u8], end: &mut Vec<u8>) -> Result<LeafSurvey> {
        drive_reads(&self.pool, || self.survey_resident(key, end))
    }

    fn survey_resident(&self, key: &[u8], end: &mut Vec<u8>) -> Step<LeafSurvey> {
        let mut pending = None;
        let leaf: SharedPage<'_> = self.leaf(key, &mut LeafHint::default(), &mut pending)?;
        let node = Node::new(&*leaf);
        let is_last = !node.end_into(end);
        if !is_last && end[..] <= *key {
            return Err(self.misplaced(leaf.id(), "a leaf ends before it begins".into()).into());
        }
        Ok(LeafSurvey {
            ghosts: node.ghost_count(),
            is_sparse: Tree::is_sparse(node),
            has_pending_adoption: pending.is_some(),
            is_last,
        })
    }
}
