//! The engine with other parts.

#[path = "../../txn/tests/rig/mod.rs"]
mod rig;

use std::time::Duration;

use clearway_base::Error;
use clearway_disk::MemoryDisk;
use clearway_lock::WaitLimit;
use clearway_txn::EngineOptions;
use clearway_variants::lock::{DeadlockMethod, LockVariants};

use rig::{commit, loser, open_with, options, put};

#[test]
fn a_victim_can_lose_while_it_begins_again() {
    let method = DeadlockMethod::Timeout(Duration::from_millis(5));
    let lock = options().lock.lock_variant(method);
    let engine = open_with(MemoryDisk::new(), EngineOptions { lock, ..options() });
    let table = engine.create_table("t").unwrap();
    put(&engine, &table, "a", "0");
    put(&engine, &table, "b", "0");
    let context = loser(&engine, &table);
    let mut other = engine.begin();
    other.update(&table, b"b", b"1").unwrap();
    let mut again = engine.begin();
    assert!(matches!(again.resume(&context), Err(Error::Deadlock { .. })));
    assert!(!again.is_active());
    let context = again.take_retry_context();
    commit(&engine, other);
    let mut again = engine.begin();
    again.resume(&context).unwrap();
    let mut other = engine.begin();
    other.set_wait_limit(WaitLimit::NoWait);
    assert!(matches!(other.get(&table, b"b"), Err(Error::WouldBlock { .. })), "asked for in vain");
}
