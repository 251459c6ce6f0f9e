//! Bounds on the shape of a sound tree: what a check of single nodes and pointers cannot find.
//!
//! A tree whose every pointer is right can still have chains without end, leaves that are nearly
//! empty, and ghosts that nothing will ever remove. Each bound here says when it holds. The shape
//! is part of what the engine promises, so the prover and the tests judge it by these functions.
//!
//! Where the numbers come from
//! - *Chains.* A writer that splits a node has the path to its key settled right after, and upkeep
//!   does the same; one foster child may stay that a latch kept from being adopted, and one more
//!   that the split of a full parent has left. While threads write, each of them may have split a
//!   leaf of one chain and wait for the latches of the adoption.
//! - *Height.* Branches have three children on average, at the least, where keys are of any length:
//!   so a tree of `n` nodes has at most `log₃ n` levels of them, a leaf and a root.
//! - *Fill.* A split in the middle leaves halves, and random insertions fill nodes to ln 2 = 69 %;
//!   a sequence leaves nodes full but for a reserve. The bounds are some points below.

use clearway_base::PAGE_SIZE;

use super::TreeReport;
use crate::node::SLOTS;

/// Foster children in a chain once upkeep is idle.
const CHAIN_IDLE_MAX: u64 = 2;
/// Foster children in a chain while sixteen threads write.
const CHAIN_BUSY_MAX: u64 = 16;
/// Pages of a tree whose records are all deleted.
const EMPTIED_PAGES_MAX: u64 = 8;
/// Nodes of a level from which on its mean fill is bounded.
const NODES_MIN: u64 = 100;

/// The way in which the records of a tree were inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// In ascending or descending order, as several such sequences in turn, or in order in front of
    /// some records that were there before.
    Sequential,
    /// In random order.
    Random,
    /// After records of which all, or a part, were deleted.
    Refilled,
}

impl Load {
    /// The least mean fill in percent.
    fn fill_min(self) -> u64 {
        match self {
            Load::Sequential => 75,
            Load::Random => 60,
            Load::Refilled => 40,
        }
    }
}

impl TreeReport {
    /// Checks what holds of every tree once upkeep is idle and no transaction runs: short chains,
    /// no ghost, few pages if there are no records, and the height.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check_idle(&self) -> Result<(), String> {
        self.check_chains(CHAIN_IDLE_MAX)?;
        self.check_height()?;
        if self.ghosts > 0 {
            return Err(format!("{} ghosts are left once upkeep is idle", self.ghosts));
        }
        let nodes = self.nodes();
        if self.records == 0 && nodes > EMPTIED_PAGES_MAX {
            return Err(format!("{nodes} pages without a record, at most {EMPTIED_PAGES_MAX}"));
        }
        Ok(())
    }

    /// Checks what holds of every tree at any time, with up to sixteen threads that write to it.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check_busy(&self) -> Result<(), String> {
        self.check_chains(CHAIN_BUSY_MAX)
    }

    fn check_chains(&self, most: u64) -> Result<(), String> {
        match self.levels.iter().position(|level| level.chain_max > most) {
            None => Ok(()),
            Some(at) => {
                let found = self.levels[at].chain_max;
                Err(format!("a chain of {found} foster children on level {at}, at most {most}"))
            }
        }
    }

    /// At most 2 + log₃ of the number of nodes.
    fn check_height(&self) -> Result<(), String> {
        let (height, nodes) = (self.height(), self.nodes());
        if height as f64 <= 2.0 + (nodes.max(1) as f64).log(3.0) {
            Ok(())
        } else {
            Err(format!("{height} levels for {nodes} nodes"))
        }
    }

    /// Checks how full the nodes are on average, fences counted: the leaves, and the branches of
    /// each level that has enough of them.
    ///
    /// Holds for keys of at most 64 bytes and values of at most 256, once upkeep is idle; the
    /// caller knows that.
    ///
    /// # Errors
    /// What does not hold; or that the tree has less than 100 leaves, or smaller pages than usual:
    /// then nothing was checked.
    pub fn check_fill(&self, load: Load) -> Result<(), String> {
        for (at, level) in self.levels.iter().enumerate() {
            if level.pages < NODES_MIN {
                if at == 0 {
                    return Err(format!("nothing checked: {} leaves are too few", level.pages));
                }
                continue;
            }
            if level.capacity_bytes != level.pages * (PAGE_SIZE - SLOTS) as u64 {
                return Err("nothing checked: the nodes are no whole pages".into());
            }
            let (fill, least) = (level.fill() * 100.0, load.fill_min());
            if fill < least as f64 {
                let pages = level.pages;
                return Err(format!(
                    "{pages} nodes of level {at} are {fill:.1} % full; {load:?}: at least {least}"
                ));
            }
        }
        Ok(())
    }
}
