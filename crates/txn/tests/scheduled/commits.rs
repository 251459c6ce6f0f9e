//! Commits: early release, tags, checkpoints in between.

use std::sync::{Arc, Mutex};

use clearway_base::Lsn;
use clearway_sync::schedules::check;

use super::*;

/// The value of the counter.
fn number(value: Option<Vec<u8>>) -> u64 {
    value.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Writers count upwards and note when each value is durable; readers note what they saw and when
/// they may report it. No value may be reported before it is durable, and values follow the log.
#[test]
fn results_wait_for_what_they_saw() {
    check("early release", 900, || {
        let (_disk, engine, table) = start(options());
        let written = Arc::new(Mutex::new(BTreeMap::from([(0, Lsn::ZERO)])));
        let read = Arc::new(Mutex::new(Vec::new()));
        let run = {
            let (engine, written, read) = (engine.clone(), written.clone(), read.clone());
            move |n: u64| {
                for _ in 0..2 {
                    let mut txn = engine.begin();
                    txn.set_wait_limit(WaitLimit::Forever);
                    if n < 2 {
                        let old = number(txn.get_for_update(&table, b"n").unwrap());
                        txn.put(&table, b"n", &(old + 1).to_le_bytes()).unwrap();
                        let ack = txn.commit().unwrap().ack;
                        written.lock().unwrap().insert(old + 1, ack);
                        if old % 2 == 0 {
                            engine.log().wait_durable(ack).unwrap();
                        }
                    } else {
                        let value = number(txn.get(&table, b"n").unwrap());
                        let committed = txn.commit().unwrap();
                        assert!(!committed.wrote);
                        engine.log().wait_durable(committed.ack).unwrap();
                        read.lock().unwrap().push((value, committed.ack, engine.log().durable()));
                    }
                }
            }
        };
        on_threads(3, run);
        let written = written.lock().unwrap();
        assert_eq!(written.len(), 5, "each increment is there");
        assert!(written.values().is_sorted(), "values and commit records are in one order");
        for &(value, ack, durable) in &*read.lock().unwrap() {
            assert!(ack >= written[&value] && durable >= written[&value], "value {value}");
        }
        engine.close().unwrap();
    });
}

/// Transfers in opposite directions: deadlocks are broken, the sum stays.
#[test]
fn transfers_keep_the_sum_beside_a_checkpoint() {
    check("transfers and checkpoint", 500, || {
        let (disk, engine, table) = start(options());
        transact(&engine, |txn| {
            txn.put(&table, b"a", &[100])?;
            txn.put(&table, b"b", &[100])
        })
        .unwrap();
        let run = {
            let (engine, table) = (engine.clone(), table.clone());
            move |n: u64| {
                if n == 2 {
                    engine.checkpoint().unwrap();
                    return;
                }
                let (from, to) = if n == 0 { (b"a", b"b") } else { (b"b", b"a") };
                transact(&engine, |txn| {
                    let left = txn.get_for_update(&table, from)?.unwrap()[0];
                    let right = txn.get_for_update(&table, to)?.unwrap()[0];
                    txn.put(&table, from, &[left - 1])?;
                    txn.put(&table, to, &[right + 1])
                })
                .unwrap();
            }
        };
        on_threads(3, run);
        let sum = |contents: &Contents| contents.values().map(|v| u32::from(v[0])).sum::<u32>();
        let before = contents(&engine, &table);
        assert_eq!((before.len(), sum(&before)), (2, 200));
        engine.close().unwrap();
        drop((table, engine));
        let engine = Engine::open(Arc::new(disk), options()).unwrap();
        let table = engine.open_table("t").unwrap();
        assert_eq!(contents(&engine, &table), before);
        engine.close().unwrap();
    });
}
