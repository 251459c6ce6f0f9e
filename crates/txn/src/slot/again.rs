//! What a deadlock's victim takes along into its next attempt: its standing, and the locks that it
//! had and the one that it was refused, which the next attempt takes in canonical order first.
//!
//! Those who lost in a deadlock will want the same rows again. In canonical order they meet at the
//! first of them and queue up, where in an order of their own they would lose and win in turns.
//! What the next attempt locks and then does not need is locked for nothing, and for the length
//! of one transaction.
//!
//! Invariants:
//! - A1. The canonical order is that of lock identities, the same for all transactions.
//! - A2. These locks are in addition: what a statement needs it asks for as always. So nothing
//!   depends on them. One that is not granted soon is left out, and all behind it: this time the
//!   statements might do without, as those that skip what is locked do.
//! - A3. Large transactions take nothing along: they would shut out everybody while they queue up.
//!
//! Source: the remedy of "Efficient Locking Techniques for Databases on Modern Hardware", section
//! 4, for victims that lose again and again is left open there; measured by `clearway-lab
//! deadlock_retries`.

use std::time::Duration;

use clearway_base::{Error, Result};
use clearway_lock::{LockId, RangeMode, Standing, WaitLimit};

use super::Slot;

/// More locks than these are not taken along (A3).
const LOCKS_MAX: usize = 64;

/// How long a lock is waited for (A2): far longer than a short transaction takes.
const PATIENCE: Duration = Duration::from_millis(20);

/// What a transaction that lost a conflict takes along into its next attempt.
#[derive(Debug, Default)]
pub struct Lost {
    pub(crate) standing: Standing,
    /// In canonical order (A1), each identity once.
    locks: Vec<(LockId, RangeMode)>,
}

impl Lost {
    /// The standing alone.
    pub(crate) fn with(standing: Standing) -> Lost {
        Lost { standing, locks: Vec::new() }
    }
}

impl Slot {
    /// What this transaction, which has lost a deadlock, takes along.
    #[cold]
    pub(crate) fn lose(&mut self) -> Lost {
        let refused = self.refused.take();
        let mut locks = Vec::new();
        if self.core.options.retries_lock_first && self.owner.held() < LOCKS_MAX {
            locks = self.owner.range_locks();
            // A conversion names its identity twice.
            if let Some((id, mode)) = refused {
                match locks.iter_mut().find(|(held, _)| *held == id) {
                    Some((_, held)) => *held = held.supremum(mode),
                    None => locks.push((id, mode)),
                }
            }
            locks.sort_unstable_by_key(|(id, _)| *id);
        }
        Lost { standing: self.owner.standing(), locks }
    }

    /// Begins another attempt of a transaction that lost.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if that was lost as well.
    #[cold]
    pub(crate) fn begin_again(&mut self, lost: &Lost) -> Result<()> {
        self.owner.resume(lost.standing.after_loss());
        let core = &self.core;
        let limit = core.options.lock.wait_limit.map_or(PATIENCE, |limit| limit.min(PATIENCE));
        for &(id, mode) in &lost.locks {
            let result = core.locks.acquire(&mut self.owner, id, mode, WaitLimit::For(limit));
            // Nobody knows this lock's name, and the next statement's wait must not be taken for
            // this one: it is not told of.
            let _ = (self.owner.take_wait(), self.owner.take_cycle());
            match result {
                Ok(()) => {}
                Err(error @ Error::Deadlock { .. }) => {
                    self.refused = Some((id, mode));
                    return Err(error);
                }
                Err(_) => break, // A2
            }
        }
        Ok(())
    }
}
