//! Variants of the crate `clearway-log`: strategies of insertion, and a fixed policy of group
//! commit.
//!
//! [`LogVariants`] chooses them, for the options of a log and of a database. Each choice is kept
//! when another one is made.
//!
//! | strategy | under the latch | after it |
//! | --- | --- | --- |
//! | [`Mutex`](Strategy::Mutex) | reserve, fill, release | – |
//! | [`Consolidated`](Strategy::Consolidated) | reserve, fill and release, for a group | – |
//! | [`Decoupled`](Strategy::Decoupled) | reserve | fill, then mark as complete |
//! | [`Hybrid`](Strategy::Hybrid) | reserve, for a group | fill, then mark as complete |
//! | [`Delegated`](Strategy::Delegated) | reserve, for a group | fill, release or delegate that |
//! | [`LockFree`](Strategy::LockFree) of the engine | – | reserve, fill, then mark as complete |
//!
//! | part | contents |
//! | --- | --- |
//! | `cursor` | reservation under a latch |
//! | `array` | the consolidation array, where inserters form groups |
//! | `releases` | the LSN up to which all regions are complete |
//! | `group_policy` | when groups start |

mod array;
mod consolidated;
mod cursor;
mod decoupled;
mod delegated;
mod group_policy;
mod hybrid;
#[cfg(all(test, loom))]
mod models;
mod mutex;
mod releases;
#[cfg(test)]
mod tests;

use std::{any::Any, sync::Arc};

use clearway_base::{Error, Result};
use clearway_log::{
    LogOptions,
    parts::{FlushPolicy, Insertion, LogParts, ProductLogParts, Ring},
};

use consolidated::ConsolidatedInsertion;
use decoupled::DecoupledInsertion;
use delegated::DelegatedInsertion;
use group_policy::FixedPolicy;
pub use group_policy::GroupPolicy;
use hybrid::HybridInsertion;
use mutex::MutexInsertion;

/// The strategy by which threads reserve space in the log buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// One mutex around reservation and fill: the baseline.
    Mutex,
    /// Like `Mutex`, but a thread that finds it taken joins a group that takes it once.
    Consolidated,
    /// A short latch around the reservation alone; fills run in parallel.
    Decoupled,
    /// Groups that take a short latch once; fills run in parallel.
    Hybrid,
    /// Like `Hybrid`, but regions are released in log order, by the first thread able to do so.
    Delegated,
    /// The engine's own, without a latch: one compare-and-swap reserves; fills run in parallel.
    #[default]
    LockFree,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 6] = [
        Strategy::Mutex,
        Strategy::Consolidated,
        Strategy::Decoupled,
        Strategy::Hybrid,
        Strategy::Delegated,
        Strategy::LockFree,
    ];
}

/// The sizes of the consolidation array, for the strategies that have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Consolidation {
    /// Number of places, 1 to 64, at each of which one group can form at a time.
    pub places: usize,
    /// Number of groups that may exist at a time, forming or filling: at least `places`, at
    /// most 4096.
    pub slots: usize,
}

impl Default for Consolidation {
    fn default() -> Consolidation {
        Consolidation { places: 2, slots: 64 }
    }
}

/// Chooses variants of the log.
pub trait LogVariants: Sized {
    /// Sets how threads reserve space in the log buffer.
    fn log_strategy(self, strategy: Strategy) -> Self {
        self.log_parts(|parts| parts.strategy = strategy)
    }

    /// Sets the sizes of the structure in which threads form groups to reserve log space together,
    /// for the strategies [`Consolidated`](Strategy::Consolidated), [`Hybrid`](Strategy::Hybrid)
    /// and [`Delegated`](Strategy::Delegated).
    fn log_consolidation(self, sizes: Consolidation) -> Self {
        self.log_parts(|parts| parts.consolidation = sizes)
    }

    /// Sets when the log is flushed.
    ///
    /// Under a fixed policy, the loss window of a database with lazy commits is that policy's
    /// limits and one flush.
    fn group_policy(self, policy: GroupPolicy) -> Self {
        self.log_parts(|parts| parts.group_policy = policy)
    }

    /// Changes the parts of the log.
    #[doc(hidden)]
    fn log_parts(self, change: impl FnOnce(&mut ChosenParts)) -> Self;
}

impl LogVariants for LogOptions {
    fn log_parts(mut self, change: impl FnOnce(&mut ChosenParts)) -> LogOptions {
        let parts: &dyn Any = &*self.parts;
        let mut parts = parts.downcast_ref::<ChosenParts>().copied().unwrap_or_default();
        change(&mut parts);
        self.parts = Arc::new(parts);
        self
    }
}

impl LogVariants for clearway::Options {
    fn log_parts(self, change: impl FnOnce(&mut ChosenParts)) -> clearway::Options {
        self.engine(|engine| engine.log = std::mem::take(&mut engine.log).log_parts(change))
    }
}

/// The parts that were chosen, by default the engine's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChosenParts {
    strategy: Strategy,
    consolidation: Consolidation,
    group_policy: GroupPolicy,
}

impl LogParts for ChosenParts {
    fn validate(&self) -> Result<()> {
        let Consolidation { places, slots } = self.consolidation;
        if !(1..=64).contains(&places) || !(places..=4096).contains(&slots) {
            let detail = format!("{places} places and {slots} slots");
            return Err(Error::BadOption { option: "consolidation", detail });
        }
        Ok(())
    }

    fn insertion(&self, ring: Arc<Ring>) -> Arc<dyn Insertion> {
        let sizes = self.consolidation;
        match self.strategy {
            Strategy::Mutex => Arc::new(MutexInsertion::new(ring)),
            Strategy::Consolidated => Arc::new(ConsolidatedInsertion::new(ring, sizes)),
            Strategy::Decoupled => Arc::new(DecoupledInsertion::new(ring)),
            Strategy::Hybrid => Arc::new(HybridInsertion::new(ring, sizes)),
            Strategy::Delegated => Arc::new(DelegatedInsertion::new(ring, sizes)),
            Strategy::LockFree => ProductLogParts.insertion(ring),
        }
    }

    fn flush_policy(&self) -> Option<Box<dyn FlushPolicy>> {
        match self.group_policy {
            GroupPolicy::Adaptive => ProductLogParts.flush_policy(),
            GroupPolicy::Fixed { commits, bytes, time } => {
                Some(Box::new(FixedPolicy::new(commits, bytes, time)))
            }
        }
    }
}
