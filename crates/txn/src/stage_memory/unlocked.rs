//! The environment of the operations of a fetch stage: every lock counts as granted, and is noted.

use clearway_base::TreeId;
use clearway_lock::{LockId, Outcome, RangeMode};
use clearway_tree::{Locks, Upkeep};

/// See the module.
#[derive(Default)]
pub(crate) struct Unlocked {
    /// The locks that the operate stage is likely to want, in the order of the operations.
    pub(crate) wanted: Vec<(LockId, RangeMode)>,
}

impl Locks for Unlocked {
    fn request(&mut self, id: LockId, mode: RangeMode) -> Outcome {
        self.wanted.push((id, mode));
        Outcome::Granted
    }

    fn check(&mut self, _: LockId, _: RangeMode) -> Outcome {
        Outcome::Granted
    }

    fn release(&mut self, _: LockId) {}

    fn holds(&self, _: LockId, _: RangeMode) -> bool {
        true
    }

    fn inherit_tag(&mut self, _: LockId, _: LockId) -> bool {
        false
    }

    fn pass_tag(&mut self, _: LockId, _: LockId) {}
}

/// A fetch stage leaves all upkeep to those that come to the same place with locks.
impl Upkeep for Unlocked {
    fn ghost_is_free(&self, _: LockId) -> bool {
        false
    }

    fn defer_free(&mut self, _: TreeId, _: &[u8]) {}

    fn note_unlinked(&mut self, _: Option<(TreeId, [u8; 16])>) {}

    fn defer_maintenance(&mut self, _: TreeId, _: &[u8]) {}
}
