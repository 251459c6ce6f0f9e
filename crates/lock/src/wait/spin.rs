//! Spinning before sleeping: its conditions and its duration.
//!
//! Invariants:
//! - SPIN-1. No waiter spins while there are more running transactions than processors, or while
//!   other waiters spin on all other processors. This is checked before each round of spins, so a
//!   waiter spins at most one round too long. (A table that never sleeps is exempt.)
//! - SPIN-2. A waiter that spins checks for a deadlock after its first round; one that does not
//!   spin checks before it sleeps.
//!
//! A transaction stands for an active thread. One that sleeps in a wait counts as well: the thread
//! that grants its lock makes it active, and a spinner must have stopped by then. Owners that rest
//! between two transactions do not count.
//!
//! # Duration
//! Under SPIN-1 a spinner takes processor time only from other programs, whereas a sleeper costs
//! time twice: its own, and that of the next waiter, since the lock is handed over and no thread
//! uses it while its new holder wakes up. If a waiter spun only as long as it takes to wake a
//! thread, then once one waiter sleeps, the next one would spin in vain while that one is being
//! woken, and would go to sleep too, and so would every waiter after it. So a waiter spins for
//! several times as long as it takes to wake a thread.

use std::sync::OnceLock;

use clearway_base::{Error, Result};
use clearway_sync::{atomic::Ordering, spin_loop, thread};

use super::Deadline;
use crate::{owner::LockOwner, shared::LockTable};

/// The number of rounds that stands for spinning without end.
const FOR_EVER: u32 = u32::MAX;

/// Number of spins between two deadlock checks of a waiter that never sleeps: a few microseconds.
#[cfg(not(any(loom, shuttle)))]
const SPINS_PER_CHECK: u32 = 256;
#[cfg(any(loom, shuttle))]
const SPINS_PER_CHECK: u32 = 1;

/// The result of spinning.
pub(super) enum Spun {
    Granted,
    NotGranted {
        /// True if the waiter has made its first deadlock check.
        checked: bool,
    },
}

impl LockTable {
    /// Spins while a processor is free, for at most the table's number of rounds, or without end if
    /// its options require that.
    pub(super) fn spin_a_while(&self, owner: &mut LockOwner, deadline: Deadline) -> Result<Spun> {
        let rounds = self.shared.options.spin_rounds;
        if rounds == FOR_EVER {
            return self.spin_on(owner, deadline).map(|()| Spun::Granted);
        }
        let mut checked = false;
        for _ in 0..rounds {
            match self.spin_if_room(owner) {
                Some(true) => return Ok(Spun::Granted),
                Some(false) if !deadline.is_over() => {}
                _ => break,
            }
            if !checked && self.check_deadlock(owner, true) {
                return Err(Error::Deadlock { txn: owner.txn, cycle: None });
            }
            checked = true;
        }
        Ok(Spun::NotGranted { checked })
    }

    /// Spins until granted or, at the limit, withdraws; checks for a deadlock again and again.
    #[cold]
    fn spin_on(&self, owner: &mut LockOwner, deadline: Deadline) -> Result<()> {
        let mut first = true;
        loop {
            let record = self.record(owner);
            let granted = (0..SPINS_PER_CHECK).any(|_| {
                spin_loop();
                record.is_granted()
            });
            if granted {
                return Ok(());
            }
            if self.check_deadlock(owner, first) {
                return Err(Error::Deadlock { txn: owner.txn, cycle: None });
            }
            if deadline.is_over() {
                return self.give_up(owner, deadline.limit);
            }
            first = false;
        }
    }

    /// Spins for one round and returns true if the lock was granted; returns `None` without
    /// spinning if SPIN-1 does not permit it.
    fn spin_if_room(&self, owner: &LockOwner) -> Option<bool> {
        let spinners = &self.shared.spinners;
        let processors = processors();
        // Relaxed: a rough count; more or fewer spinners for a moment do no harm.
        let is_room = spinners.fetch_add(1, Ordering::Relaxed) + 1 < processors
            && !self.shared.is_oversubscribed(processors);
        let granted = is_room.then(|| {
            let record = self.record(owner);
            (0..self.shared.options.spins).any(|_| {
                spin_loop();
                record.is_granted()
            })
        });
        spinners.fetch_sub(1, Ordering::Relaxed);
        granted
    }
}

/// The number of processors that the process may use; four in a model.
fn processors() -> u32 {
    static PROCESSORS: OnceLock<u32> = OnceLock::new();
    if cfg!(any(loom, shuttle)) {
        return 4;
    }
    let count = || thread::available_parallelism().map_or(1, |n| n.get() as u32);
    *PROCESSORS.get_or_init(count)
}
