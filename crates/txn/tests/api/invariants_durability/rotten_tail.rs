//! Invariant 14, where only pages remember: the last group of a log rots after pages have seen it.

use std::sync::Arc;

use clearway_base::Error;
use clearway_testkit::disk::{CrashImage, Fault, SimDisk, SimOptions};
use clearway_txn::{Engine, EngineOptions};

const SECTOR: usize = 512;

fn options() -> EngineOptions {
    let mut options = EngineOptions { node_bytes: 256, ..EngineOptions::simulation() };
    options.log.ring_bytes = 64 << 10;
    options.log.segment_bytes = 64 << 10;
    options.log.capacity_bytes = 512 << 10;
    options.pool.cache_bytes = 64 * 8192;
    options.pool.max_bytes = 16 << 20;
    options.pool.batch_pages = 2;
    options
}

fn open(disk: &SimDisk) -> Result<Arc<Engine>, Error> {
    Engine::open(Arc::new(disk.clone()), options())
}

/// The value that all keys have.
fn read_one_value(engine: &Arc<Engine>) -> Result<Vec<u8>, Error> {
    let table = engine.open_table("t")?;
    let mut txn = engine.begin();
    let first = txn.get(&table, &0u32.to_be_bytes())?.expect("it was loaded");
    for key in 1..40u32 {
        let value = txn.get(&table, &key.to_be_bytes())?;
        assert_eq!(value.as_ref(), Some(&first), "half a transaction, at key {key}");
    }
    Ok(first)
}

fn set_all(engine: &Arc<Engine>, value: &[u8]) {
    let table = engine.open_table("t").unwrap();
    let mut txn = engine.begin();
    for key in 0..40u32 {
        txn.put(&table, &key.to_be_bytes(), value).unwrap();
    }
    engine.log().wait_durable(txn.commit().unwrap().ack).unwrap();
}

/// The power goes at operation `at` of a checkpoint, and then the first sector of the log's last
/// group rots. Answers what the database says then; `None` if the checkpoint was over before.
fn rot_after(at: u64) -> Option<Result<Vec<u8>, Error>> {
    let disk = SimDisk::new(at, SimOptions::default());
    let engine = open(&disk).unwrap();
    engine.create_table("t").unwrap();
    set_all(&engine, b"old");
    engine.checkpoint().unwrap();
    let group = engine.log().durable().0;
    set_all(&engine, b"new");
    disk.plan(Fault::PowerCut { at: disk.operations() + at });
    if engine.checkpoint().is_ok() {
        return None;
    }
    drop(engine);
    let disk = disk.crash(CrashImage::KeepAll);
    disk.overwrite("log/0000000000000000", group, &[0xEE; SECTOR]).unwrap();
    Some(open(&disk).and_then(|engine| read_one_value(&engine)))
}

#[test]
fn invariant_14_log_that_ends_before_what_pages_have_seen_is_damaged() {
    let mut noticed = 0;
    for said in (1..).map_while(rot_after) {
        match said {
            // Nothing was written in place yet: it looks the same as a torn tail.
            Ok(value) if value == b"old" => assert_eq!(noticed, 0),
            // The checkpoint was complete: recovery does not need the group.
            Ok(value) => assert_eq!(value, b"new"),
            // By what pages have seen, or by a group behind it that stands already.
            Err(Error::Corrupt { what: "log" | "log record", .. }) => noticed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(noticed > 2);
}
