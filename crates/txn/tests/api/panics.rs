//! A panic in code that a transaction calls drops the transaction's state in the middle of its end.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use clearway_base::{Lsn, Result};
use clearway_disk::MemoryDisk;
use clearway_lock::{LockOwner, LockTable};
use clearway_log::Log;
use clearway_txn::{
    EngineOptions, Transaction,
    parts::{CommitRelease, TxnParts},
};

use crate::rig::{check, commit, contents, open, open_with, options};

/// Commits that panic between their record and the release of their locks, while this is true.
#[derive(Clone, Default, Debug)]
struct PanickingRelease(Arc<AtomicBool>);

impl TxnParts for PanickingRelease {
    fn commit_release(&self) -> Option<Box<dyn CommitRelease>> {
        Some(Box::new(self.clone()))
    }
}

impl CommitRelease for PanickingRelease {
    fn before_release(&self, _: &LockTable, _: &mut LockOwner, _: &Log, _: Lsn) -> Result<()> {
        assert!(!self.0.load(Ordering::SeqCst), "the panic of this test");
        Ok(())
    }
}

/// The number of the participant record of a transaction (TXN-TABLE-5).
fn number(txn: &Transaction) -> u64 {
    txn.id().0 & 0xFFFF
}

/// The state of a transaction is dropped after its commit record and before its deferred
/// deallocations. Its record is left to recovery (TXN-TABLE-6), and no later transaction begins
/// with it.
#[test]
fn record_of_a_transaction_that_a_panic_drops_is_not_used_again() {
    let (disk, release) = (MemoryDisk::new(), PanickingRelease::default());
    let parts = Arc::new(release.clone());
    let engine = open_with(disk.clone(), EngineOptions { parts, ..options() });
    let table = engine.create_table("t").unwrap();
    let mut txn = engine.begin();
    txn.insert(&table, b"large", &[7; 50_000]).unwrap();
    commit(&engine, txn);

    let mut txn = engine.begin();
    let dropped = number(&txn);
    txn.delete(&table, b"large").unwrap();
    release.0.store(true, Ordering::SeqCst);
    assert!(catch_unwind(AssertUnwindSafe(|| txn.commit())).is_err());
    release.0.store(false, Ordering::SeqCst);

    // More transactions at a time than there are states of earlier ones.
    let mut txns: Vec<_> = (0..50).map(|_| engine.begin()).collect();
    assert!(txns.iter().all(|txn| number(txn) != dropped));
    for (n, txn) in (0u8..).zip(&mut txns) {
        txn.insert(&table, &[n], b"later").unwrap();
    }
    txns.into_iter().for_each(|txn| commit(&engine, txn));
    engine.checkpoint().unwrap();
    engine.health().unwrap();

    // Recovery does the deallocations, of which the checkpoint knows.
    let recovered = open(&disk.fork());
    assert_eq!(contents(&recovered, &recovered.open_table("t").unwrap()).len(), 50);
    check(&recovered);
}
