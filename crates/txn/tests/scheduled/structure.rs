//! The tree's shape and the cache's contents change under readers and writers.

use clearway_sync::schedules::check;

use super::*;

/// Checks the engine's structures.
fn verify(engine: &Arc<Engine>) {
    let report = engine.verify().unwrap();
    assert!(report.tables.iter().all(|table| table.report.met_twice.is_empty()));
    assert_eq!(report.unreachable_pages, 0);
}

/// Leaves of a few keys, keys of all threads interleaved: each thread finds what it left.
#[test]
fn splits_and_adoptions_lose_no_key() {
    check("splits", 300, || {
        let (_disk, engine, table) = start(options());
        let run = {
            let (engine, table) = (engine.clone(), table.clone());
            move |n: u64| {
                for batch in 0..2 {
                    transact(&engine, |txn| {
                        for k in 0..3 {
                            txn.put(&table, &key((batch * 3 + k) * 3 + n), &[n as u8; 40])?;
                        }
                        Ok(())
                    })
                    .unwrap();
                }
                let found =
                    |k: u64| transact(&engine, |txn| txn.get(&table, &key(k * 3 + n))).unwrap();
                assert!((0..6).all(|k| found(k) == Some(vec![n as u8; 40])));
                transact(&engine, |txn| txn.delete(&table, &key(n))).unwrap();
            }
        };
        on_threads(3, run);
        let model: Contents = (3..18).map(|k| (key(k), vec![(k % 3) as u8; 40])).collect();
        assert_eq!(contents(&engine, &table), model);
        verify(&engine);
        engine.close().unwrap();
    });
}

/// A cache smaller than the table: pages leave and come back under readers and a writer.
#[test]
fn eviction_is_invisible() {
    check("eviction", 250, || {
        let mut small = options();
        small.pool.cache_bytes = 16 * PAGE_SIZE as u64;
        let (_disk, engine, table) = start(small);
        let value = |n: u64| vec![n as u8; 60];
        for batch in 0..4 {
            transact(&engine, |txn| {
                (0..10).try_for_each(|k| {
                    txn.put(&table, &key(batch * 10 + k), &value(batch * 10 + k)).map(drop)
                })
            })
            .unwrap();
        }
        assert!(engine.stats().pool.resident_pages >= 16, "{:?}", engine.stats().pool);
        let run = {
            let (engine, table) = (engine.clone(), table.clone());
            move |n: u64| {
                for step in 0..5 {
                    let k = (n * 13 + step * 17) % 40;
                    if n == 0 {
                        transact(&engine, |txn| txn.update(&table, &key(k), &value(k))).unwrap();
                    } else {
                        let found = transact(&engine, |txn| txn.get(&table, &key(k))).unwrap();
                        assert_eq!(found, Some(value(k)));
                    }
                }
            }
        };
        on_threads(3, run);
        assert!(engine.stats().pool.evictions > 0, "the cache is small enough");
        verify(&engine);
        engine.close().unwrap();
    });
}

/// A drop waits for the table's users or comes first; it is never half there.
#[test]
fn dropped_table_is_there_or_gone() {
    check("drop table", 400, || {
        let (_disk, engine, table) = start(options());
        let run = {
            let (engine, table) = (engine.clone(), table.clone());
            move |n: u64| {
                if n == 2 {
                    return engine.drop_table("t").is_ok();
                }
                let done = transact(&engine, |txn| {
                    txn.put(&table, &key(n), b"x")?;
                    txn.get(&table, &key(n))
                });
                match done {
                    Ok(value) => assert_eq!(value.as_deref(), Some(&b"x"[..])),
                    Err(error) => assert!(matches!(error, Error::UnknownTable { .. }), "{error}"),
                }
                true
            }
        };
        assert!(on_threads(3, run)[2], "with short transactions only, a drop succeeds");
        assert!(engine.open_table("t").is_err());
        verify(&engine);
        engine.close().unwrap();
    });
}
