//! Lock escalation: one lock on the table instead of ever more on its keys. Off unless
//! [`EngineOptions::escalate_after`](crate::EngineOptions::escalate_after) says otherwise.
//!
//! Invariants:
//! - ESCALATION-1. A transaction requests the absolute lock without waiting, between two
//!   operations. If it is denied, the transaction continues with range locks, and requests it again
//!   after the same number of further locks. So denied requests cost little, however large the
//!   transaction is.
//! - ESCALATION-2. The range locks that it took before stay. If no request was denied, they are
//!   little more than the limit, and to release them at the end costs as much as to release them
//!   now. Also, the owner's list has only lock identities, which do not show the table of a lock.
//!   At the commit the locks that are held exclusively raise their tags as usual, and the table's
//!   lock raises its own.
//! - ESCALATION-3. Other transactions notice an escalation only by having to wait: isolation is the
//!   same (TXN-6).
//!
//! | has | asks for | then takes no key locks for |
//! | --- | --- | --- |
//! | IS | S | reads |
//! | IX | X, or SIX if X is denied | anything (under X), or reads (under SIX) |
//! | SIX | X | anything |
//!
//! What it costs: a reader that has escalated and writes later needs SIX, and two such readers
//! deadlock. A transaction that is known beforehand to read or write most of a table should begin
//! with [`Transaction::lock_table`](crate::Transaction::lock_table).
//!
//! Source: "Efficient Locking Techniques for Databases on Modern Hardware", section 3.1, names lock
//! escalation as one of the two uses of absolute locks and leaves the rest open.

use clearway_base::TreeId;
use clearway_lock::{
    IntentMode::{self, IS, IX, S, SIX, X},
    Outcome, ResourceId,
};

use super::TransactionState;

/// Returns the modes that escalation requests for a holder of `held`, the strongest first.
fn wishes(held: Option<IntentMode>) -> &'static [IntentMode] {
    match held {
        Some(IS) => &[S],
        Some(IX) => &[X, SIX],
        Some(SIX) => &[X],
        Some(S | X) | None => &[],
    }
}

impl TransactionState {
    /// An operation on the table `at` has ended, before which `held` range locks were held.
    #[cold]
    pub(super) fn count_locks(&mut self, at: usize, held: usize) {
        let Some(limit) = self.core.options.escalate_after else { return };
        let taken = self.owner.held().saturating_sub(held);
        let used = &mut self.tables[at];
        used.locks += taken;
        if used.locks > limit && used.tree != TreeId::CATALOGUE {
            used.locks = 0; // ESCALATION-1: as many more before the next time.
            self.escalate(at);
        }
    }

    fn escalate(&mut self, at: usize) {
        let resource = ResourceId(self.tables[at].tree.0);
        for &mode in wishes(self.tables[at].intent) {
            let asked = self.core.locks.try_acquire_intent(&mut self.owner, resource, mode);
            if asked == Outcome::Granted {
                self.tables[at].hold(mode, self.database);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{ops::Bound, sync::Arc};

    use clearway_base::Error;
    use clearway_disk::MemoryDisk;
    use clearway_lock::{AbsoluteMode, WaitLimit};
    use clearway_tree::{Direction, ReadIntent};

    use crate::{Engine, EngineOptions, Table, Transaction};

    const KEYS: u32 = 300;

    fn engine(escalate_after: Option<usize>) -> (Arc<Engine>, [Table; 2]) {
        let options =
            EngineOptions { escalate_after, node_bytes: 512, ..EngineOptions::simulation() };
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let tables = ["one", "two"].map(|name| engine.create_table(name).unwrap());
        for table in &tables {
            let mut txn = engine.begin();
            (0..KEYS).for_each(|n| _ = txn.put(table, &n.to_be_bytes(), b"old").unwrap());
            txn.commit().unwrap();
        }
        (engine, tables)
    }

    fn scan(txn: &mut Transaction, table: &Table, intent: ReadIntent) -> usize {
        let ends = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = txn.cursor(table, ends.0, ends.1, Direction::Ascending, intent).unwrap();
        std::iter::from_fn(|| cursor.next(txn).unwrap()).count()
    }

    fn held(txn: &Transaction) -> usize {
        txn.state().owner.held()
    }

    #[test]
    fn reader_of_the_whole_takes_no_range_locks() {
        let (engine, [one, two]) = engine(None);
        for whole in [true, false] {
            let mut txn = engine.begin();
            if whole {
                txn.lock_database(AbsoluteMode::Shared).unwrap();
            } else {
                txn.lock_table(&one, AbsoluteMode::Shared).unwrap();
            }
            assert_eq!(scan(&mut txn, &one, ReadIntent::Read), KEYS as usize);
            assert_eq!(txn.get(&one, b"absent").unwrap(), None);
            assert_eq!(held(&txn), 0);
            // What it writes it locks: others may read.
            txn.update(&one, &7u32.to_be_bytes(), b"new").unwrap();
            assert_eq!(held(&txn), 1);
            assert_eq!(scan(&mut txn, &two, ReadIntent::Read), KEYS as usize);
            assert_eq!(held(&txn) == 1, whole, "the lock is on one table, or on all");
        }
    }

    #[test]
    fn writer_of_the_whole_takes_no_range_locks() {
        let (engine, [one, two]) = engine(None);
        let mut txn = engine.begin();
        txn.lock_table(&one, AbsoluteMode::Exclusive).unwrap();
        for n in 0..KEYS {
            txn.delete(&one, &n.to_be_bytes()).unwrap();
            txn.insert(&one, &(KEYS + n).to_be_bytes(), b"new").unwrap();
        }
        assert_eq!(scan(&mut txn, &one, ReadIntent::Update), KEYS as usize);
        assert_eq!(held(&txn), 0);
        txn.lock_database(AbsoluteMode::Exclusive).unwrap();
        // The ghosts are the transaction's own, although no lock shows it. The undo needs them,
        // while the updates need room and would reclaim them.
        for n in (0..KEYS).step_by(2) {
            txn.delete(&two, &n.to_be_bytes()).unwrap();
            txn.update(&two, &(n + 1).to_be_bytes(), &[7; 90]).unwrap();
        }
        assert_eq!(held(&txn), 0);
        txn.rollback().unwrap();
        let mut txn = engine.begin();
        for table in [&one, &two] {
            assert_eq!(scan(&mut txn, table, ReadIntent::Read), KEYS as usize);
        }
        drop(txn);
        engine.verify().unwrap();
    }

    #[test]
    fn escalation_ends_the_growth_of_range_locks() {
        let (engine, [one, two]) = engine(Some(20));
        for intent in [ReadIntent::Read, ReadIntent::Update] {
            let mut txn = engine.begin();
            assert_eq!(scan(&mut txn, &one, intent), KEYS as usize);
            let taken = held(&txn);
            assert!((21..=23).contains(&taken), "{taken}");
            // Another table is another count.
            (0..20u32).for_each(|n| _ = txn.put(&two, &n.to_be_bytes(), b"new").unwrap());
            assert_eq!(held(&txn), taken + 20);
        }
    }

    #[test]
    fn denied_escalation_is_asked_again_and_not_before_its_time() {
        let (engine, [one, _]) = engine(Some(20));
        let (mut reader, mut writer) = (engine.begin(), engine.begin());
        writer.put(&one, &(KEYS + 5).to_be_bytes(), b"new").unwrap();
        let range = |txn: &mut Transaction, from: u32, to: u32| {
            (from..to).for_each(|n| assert!(txn.get(&one, &n.to_be_bytes()).unwrap().is_some()));
            held(txn)
        };
        assert_eq!(range(&mut reader, 0, 30), 30, "a writer is in the table");
        writer.commit().unwrap();
        assert_eq!(range(&mut reader, 30, 42), 42, "asked again after 21 more");
        assert_eq!(range(&mut reader, 42, KEYS), 42);
    }

    #[test]
    fn refusal_names_what_was_locked() {
        let (engine, [one, _]) = engine(None);
        let refusal = |lock: &dyn Fn(&mut Transaction)| {
            let (mut holder, mut other) = (engine.begin(), engine.begin());
            lock(&mut holder);
            other.set_wait_limit(WaitLimit::NoWait);
            match other.get(&one, b"key") {
                Err(Error::WouldBlock { conflict: Some(conflict) }) => {
                    (conflict.lock.table.clone(), conflict.wanted)
                }
                other => panic!("{other:?}"),
            }
        };
        let exclusive = AbsoluteMode::Exclusive;
        let table = refusal(&|txn| txn.lock_table(&one, exclusive).unwrap());
        assert_eq!(table, ("one".into(), "IS"));
        let database = refusal(&|txn| txn.lock_database(exclusive).unwrap());
        assert_eq!(database, ("(database)".into(), "IS"));
    }
}
