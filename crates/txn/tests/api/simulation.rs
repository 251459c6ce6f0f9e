//! An engine without threads of its own does everything when, and only when, it is called.

use std::{env, process::Command, sync::Arc, time::Instant};

use clearway_base::Error;
use clearway_disk::MemoryDisk;
use clearway_log::LogOptions;
use clearway_txn::{Engine, EngineOptions};

use crate::rig;

/// Set in the process in which the threads are counted.
const COUNTING: &str = "CLEARWAY_COUNTS_THREADS";
const ALONE: &str =
    "simulation::simulation_engine_commits_cleans_and_reopens_on_the_calling_thread_alone";

fn options() -> EngineOptions {
    let small = rig::options();
    let simulation = EngineOptions::simulation();
    EngineOptions {
        node_bytes: small.node_bytes,
        log: LogOptions { background: false, capacity_bytes: 256 << 10, ..small.log },
        ..simulation
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

// A process of its own for the count: other tests of this program start threads beside this one.
#[test]
fn simulation_engine_commits_cleans_and_reopens_on_the_calling_thread_alone() {
    if env::var_os(COUNTING).is_some() {
        return commit_clean_and_reopen();
    }
    let mut child = Command::new(env::current_exe().unwrap());
    let output = child.args(["--exact", ALONE, "--nocapture"]).env(COUNTING, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

fn commit_clean_and_reopen() {
    let disk = MemoryDisk::new();
    let before = threads();
    let engine = Engine::open(Arc::new(disk.clone()), options()).unwrap();
    let table = engine.create_table("t").unwrap();
    for key in 0..200u32 {
        let mut txn = engine.begin();
        txn.insert(&table, &key.to_be_bytes(), &[7; 50]).unwrap();
        let committed = txn.commit().unwrap();
        if key % 10 == 0 {
            engine.log().wait_durable(committed.ack).unwrap();
        }
        if key % 50 == 0 {
            engine.checkpoint().unwrap();
        }
    }
    let mut txn = engine.begin();
    (0..150u32).for_each(|key| txn.delete(&table, &key.to_be_bytes()).unwrap());
    rig::commit(&engine, txn);
    let passes = engine.stats().maintenance_passes;
    engine.maintain().unwrap();
    assert!(engine.stats().maintenance_passes > passes);
    engine.verify().unwrap();
    assert_eq!(threads(), before, "the engine has started threads");
    drop(engine);
    let engine = Engine::open(Arc::new(disk), options()).unwrap();
    let table = engine.open_table("t").unwrap();
    assert_eq!(rig::read_all(&mut engine.begin(), &table).unwrap().len(), 50);
}

#[test]
fn simulation_engine_reports_that_the_log_is_full_instead_of_waiting_for_a_checkpoint() {
    let engine = Engine::open(Arc::new(MemoryDisk::new()), options()).unwrap();
    let table = engine.create_table("t").unwrap();
    let begun = Instant::now();
    let mut key = 0u32;
    let full = loop {
        let mut txn = engine.begin();
        match txn.put(&table, &key.to_be_bytes(), &[7; 200]) {
            Ok(_) => rig::commit(&engine, txn),
            Err(error) => break error,
        }
        key += 1;
    };
    assert!(matches!(full, Error::LogFull { .. }), "{full}");
    assert!(begun.elapsed().as_secs() < 5, "it must not have waited");
    engine.checkpoint().unwrap();
    rig::put(&engine, &table, "there is", "room again");
}
