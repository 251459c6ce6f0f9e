//! From numbers to names: translates what the lock table reports of a failed wait into names of
//! tables, keys and transactions.
//!
//! The lock table knows owners and identities; an owner's participant record knows the transaction
//! that runs with it and what that waits for, and the tables know their names. The victim of a
//! deadlock holds its locks while the deadlock is described, so as a rule the other members still
//! wait. The description can be wrong for a member that has given up its wait, or that waited only
//! for a conversion that the victim has withdrawn. An owner that blocked a waiter which gave up may
//! have ended its transaction since, and may run another one: so these holders are documented as
//! listed "as far as known".

mod current;

use std::sync::Arc;

use clearway_base::{
    DeadlockCycle, DeadlockMember, Error, LockConflict, LockName, TreeId, TxnId, TxnName,
};
use clearway_lock::{Awaited, CycleMember, LockOwner};

use crate::{
    contention::{LockWaits, Wanted, WantedMode},
    core::Core,
};
use current::resource_of;
pub use current::{BlockingTransaction, CurrentWait};

impl Core {
    /// The error of a failed wait, with all that can be said about it.
    #[cold]
    pub(crate) fn explain(
        &self,
        error: Error,
        owner: &mut LockOwner,
        wanted: &Wanted,
        mode: WantedMode,
    ) -> Error {
        match error {
            Error::Deadlock { txn, .. } => {
                let members = owner.take_cycle();
                if members.is_empty() {
                    return error; // It died by a rule, maybe for nothing.
                }
                let cycle = Arc::new(self.cycle(&members));
                self.contention.remember(cycle.clone());
                Error::Deadlock { txn, cycle: Some(cycle) }
            }
            Error::LockTimeout { waited_us, .. } => {
                Error::LockTimeout { waited_us, conflict: Some(self.conflict(owner, wanted, mode)) }
            }
            Error::WouldBlock { .. } => {
                Error::WouldBlock { conflict: Some(self.conflict(owner, wanted, mode)) }
            }
            Error::SelfWait { .. } => {
                Error::SelfWait { conflict: Some(self.conflict(owner, wanted, mode)) }
            }
            error => error,
        }
    }

    fn conflict(&self, owner: &LockOwner, wanted: &Wanted, mode: WantedMode) -> Arc<LockConflict> {
        let holders = match (wanted, mode) {
            (Wanted::Key(id, _), WantedMode::Key(mode)) => self.locks.holders(owner, *id, mode),
            (Wanted::Table(tree), WantedMode::Table(mode)) => {
                self.locks.intent_holders(owner, resource_of(*tree), mode)
            }
            _ => Vec::new(),
        };
        let named = |(owner, mode)| Some((self.txn_of(owner)?, mode));
        let holders = holders.into_iter().filter_map(named).collect();
        let lock = self.lock_name(wanted);
        Arc::new(LockConflict { lock, wanted: mode.name(), holders })
    }

    fn cycle(&self, members: &[CycleMember]) -> DeadlockCycle {
        let unknown = TxnName { id: TxnId::NONE, kind: "" };
        let named = |member: &CycleMember| DeadlockMember {
            txn: self.txn_of(member.owner).unwrap_or(unknown),
            holds: member.holds,
            lock: self.awaited_name(member),
            wanted: member.wanted,
        };
        DeadlockCycle { members: members.iter().map(named).collect() }
    }

    /// The name of what a member of a cycle waits for, as it has published it.
    fn awaited_name(&self, member: &CycleMember) -> LockName {
        let published = self.transactions.published(member.owner).read().map(|wait| wait.wanted);
        let is_it = |wanted: &Wanted| match (wanted, member.lock) {
            (Wanted::Key(id, _), Awaited::Range(awaited)) => *id == awaited,
            (Wanted::Table(_), Awaited::Intent(_)) => true,
            _ => false,
        };
        match published.filter(is_it) {
            Some(wanted) => self.lock_name(&wanted),
            None => LockName { table: "?".into(), key: None },
        }
    }

    pub(super) fn lock_name(&self, wanted: &Wanted) -> LockName {
        LockName { table: self.table_name(wanted.tree()), key: wanted.key() }
    }

    pub(super) fn txn_of(&self, owner: u32) -> Option<TxnName> {
        let (id, kind) = self.transactions.transaction_of(owner)?;
        Some(TxnName { id, kind: self.kinds.name(kind) })
    }

    fn table_name(&self, tree: TreeId) -> String {
        match tree {
            TreeId(0) => String::new(),
            TreeId::CATALOGUE => "(catalogue)".into(),
            tree if tree == Wanted::DATABASE.tree() => "(database)".into(),
            Wanted::NAMELESS => "(of an earlier attempt)".into(),
            tree => match self.tables.by_id(tree) {
                Some(table) => table.name().into(),
                None => format!("(dropped, {})", tree.0),
            },
        }
    }

    /// All that is known of lock waits.
    pub(crate) fn lock_waits(&self) -> LockWaits {
        let kind_name = |kind| self.kinds.name(kind).into();
        self.contention.report(|tree| self.table_name(tree), kind_name)
    }
}
