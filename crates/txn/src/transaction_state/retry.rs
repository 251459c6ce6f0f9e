//! The retry context of a deadlock's victim, for its next attempt: its priority, the highest tag
//! that it met, the locks that it held and the one that it was denied. The next attempt first tries
//! to take these locks, in canonical order.
//!
//! The victims of a deadlock will need the same rows again. If they lock them in canonical order,
//! they meet at the first of them and queue up; in orders of their own they could become victims by
//! turns. A lock that the next attempt takes here and then does not need is held in vain, for the
//! length of one transaction.
//!
//! Invariants:
//! - RETRY-1. The canonical order is that of lock identities, the same for all transactions.
//! - RETRY-2. These locks are in addition: a statement requests all locks it needs as always. So
//!   nothing depends on them. If one is not granted soon, the attempt leaves out this one and all
//!   that follow. The statements of this attempt may not need the locks that are left out: a scan
//!   that skips locked entries, for example, passes over an entry whose lock another transaction
//!   holds.
//! - RETRY-3. The next attempt of a transaction with many locks takes none of them first: it would
//!   block many other transactions while it queues up.
//! - RETRY-4. A wait for one of these locks is published like every wait, under the key's name if
//!   the key is among the last changes of the lost attempt or among the waits that it had not
//!   counted yet. The lock table has only identities, so the names of other keys are not known.
//! - RETRY-5. The next attempt takes the highest tag that the lost one met into account as its own:
//!   the closure may remember what an earlier attempt has read. So, except in the lazy commit mode,
//!   neither a value nor an error of a later attempt is returned before the log is durable up to
//!   that tag.
//!
//! Source: "Efficient Locking Techniques for Databases on Modern Hardware", section 4, leaves open
//! what to do about victims that lose again and again. Measured by `clearway-lab deadlock_retries`.

use std::time::Duration;

use clearway_base::{Error, KeyName, Lsn, Result};
use clearway_lock::{LockId, RangeMode, RetryPriority, WaitLimit};
use clearway_tree::key_of_body;

use super::TransactionState;
use crate::contention::{Wanted, WantedMode};

/// An attempt that held at least this number of locks passes none to the next (RETRY-3).
const LOCKS_MAX: usize = 64;

/// The number of changes, the newest, in which names of locks are searched (RETRY-4).
const CHANGES_MAX: usize = 256;

/// Upper bound on the limit of the wait for one of these locks (RETRY-2): far longer than a short
/// transaction takes.
const PATIENCE: Duration = Duration::from_millis(20);

/// The retry context of a deadlock's victim, for its next attempt.
#[derive(Debug, Default)]
pub struct RetryContext {
    /// The priority of the next attempt.
    pub(crate) priority: RetryPriority,
    /// The highest tag that the lost attempt, and those before it, met (RETRY-5).
    pub(crate) seen: Lsn,
    /// The reason why the engine took no work when the attempt was lost; `None` if it was open.
    pub(crate) stopped: Option<Error>,
    /// In canonical order (RETRY-1), each identity once.
    pub(super) locks: Vec<Needed>,
}

/// A lock that the lost attempt held or was denied.
#[derive(Debug)]
pub(super) struct Needed {
    pub(super) id: LockId,
    pub(super) mode: RangeMode,
    name: Option<KeyName>,
}

impl Needed {
    /// Returns what a wait for the lock is published as.
    pub(super) fn wanted(&self) -> Wanted {
        self.name.map_or(Wanted::nameless(self.id), |name| Wanted::Key(self.id, name))
    }
}

impl RetryContext {
    /// Returns a context without locks, with the priority of the next attempt.
    pub(crate) fn with(priority: RetryPriority, seen: Lsn) -> RetryContext {
        RetryContext { priority, seen, ..RetryContext::default() }
    }
}

impl TransactionState {
    /// Returns the retry context of this transaction, a deadlock's victim.
    #[cold]
    pub(crate) fn retry_context(&mut self) -> RetryContext {
        let refused = self.refused.take();
        let mut locks = Vec::new();
        if self.core.options.retries_lock_first && self.owner.held() < LOCKS_MAX {
            locks = self.owner.range_locks();
            // If the denied request was a conversion, its identity is already in the list.
            if let Some((id, mode)) = refused {
                match locks.iter_mut().find(|(held, _)| *held == id) {
                    Some((_, held)) => *held = held.supremum(mode),
                    None => locks.push((id, mode)),
                }
            }
            locks.sort_unstable_by_key(|(id, _)| *id);
        }
        let mut locks: Vec<Needed> =
            locks.into_iter().map(|(id, mode)| Needed { id, mode, name: None }).collect();
        self.name(&mut locks);
        let (priority, seen) = (self.owner.priority().after_loss(), self.owner.max_tag());
        let stopped = self.core.health.check_open().err();
        RetryContext { priority, seen, stopped, locks }
    }

    /// Names the locks whose keys this transaction wrote or waited for (RETRY-4).
    fn name(&self, locks: &mut [Needed]) {
        let mut note = |id: LockId, name: KeyName| {
            // They are sorted (RETRY-1).
            if let Ok(at) = locks.binary_search_by_key(&id, |needed| needed.id) {
                locks[at].name = Some(name);
            }
        };
        for body in self.undo.newest(CHANGES_MAX) {
            if let Some(name) = key_of_body(body) {
                note(name.0, name.1);
            }
        }
        for wait in &self.passed_waits {
            if let Wanted::Key(id, name) = wait.wanted {
                note(id, name);
            }
        }
    }

    /// Begins the next attempt of a deadlock's victim.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this attempt is a victim, too.
    #[cold]
    pub(crate) fn begin_again(&mut self, context: &RetryContext) -> Result<()> {
        let limit = self.inherit(context);
        for needed in &context.locks {
            match self.lock_again(needed, WaitLimit::For(limit)) {
                Ok(()) => {}
                Err(error @ Error::Deadlock { .. }) => {
                    self.refused = Some((needed.id, needed.mode));
                    return Err(error);
                }
                Err(_) => break, // RETRY-2
            }
        }
        Ok(())
    }

    /// Takes over priority and tag of the lost attempt. Returns the limit of the waits for its
    /// locks.
    pub(super) fn inherit(&mut self, context: &RetryContext) -> Duration {
        self.owner.resume(context.priority);
        self.owner.raise_tag(context.seen);
        let limit = self.core.options.lock.wait_limit;
        limit.map_or(PATIENCE, |limit| limit.min(PATIENCE))
    }

    /// Takes one of the locks. A wait for it is published (RETRY-4), but not counted among the
    /// transaction's waits.
    fn lock_again(&mut self, needed: &Needed, limit: WaitLimit) -> Result<()> {
        let &Needed { id, mode, .. } = needed;
        let core = self.core.clone();
        if core.locks.acquire(&mut self.owner, id, mode, WaitLimit::NoWait).is_ok() {
            return Ok(());
        }
        let wanted = needed.wanted();
        self.publish_wait(wanted, WantedMode::Key(mode));
        let result = core.locks.acquire(&mut self.owner, id, mode, limit);
        // This wait must not be taken for one of the next statement.
        self.count_retry_wait();
        result.map_err(|error| core.explain(error, &mut self.owner, &wanted, WantedMode::Key(mode)))
    }
}
