//! Tasks that are dropped while a thread of the engine works for them.

mod rig;

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway_base::Error;
use clearway_disk::MemoryDisk;
use clearway_log::LogOptions;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, EngineOptions, Holdings, Kind};
use rig::{check, open_with, options};

/// A log of half a megabyte, slow checkpoints, and a busy writer: operations wait for log space.
/// The space that is reserved for those that were dropped meanwhile is given back.
#[test]
fn log_space_of_a_dropped_operation_is_given_back() {
    let faults = Faults::new();
    faults.watch(|event| {
        if event.operation == Operation::Sync && event.name == "data" {
            thread::sleep(Duration::from_millis(50));
        }
        None
    });
    let log = LogOptions { capacity_bytes: 512 << 10, ..options().log };
    let options = EngineOptions { log, background: true, ..options() };
    let engine = open_with(FaultyDisk::new(MemoryDisk::new(), faults), options);
    let table = engine.create_table("t").unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in (0..50u64).cycle() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let mut txn = engine.begin();
                match txn.put(&table, &n.to_be_bytes(), &[7; 40]) {
                    Ok(_) => drop(txn.commit().unwrap()),
                    Err(Error::LogFull { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            let mut task = engine.begin_task(Kind::NONE);
            for n in 1_000..1_020u64 {
                let key = n.to_be_bytes();
                let put = pin!(task.put_as_task(&table, &key, &[8; 40]));
                if put.poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                    break;
                }
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
    check(&engine);
    assert_nothing_is_held(&engine);
    engine.close().unwrap();
}

/// Waits until nothing is held: visits of leaves in the background hold log space, each for a
/// moment.
fn assert_nothing_is_held(engine: &Engine) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let held = engine.holdings();
        if held == Holdings::default() {
            return;
        }
        assert!(Instant::now() < until, "{held:?}");
        thread::sleep(Duration::from_millis(10));
    }
}
