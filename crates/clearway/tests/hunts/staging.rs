//! Two-stage execution of closures: how often they run, what becomes of their results, and what
//! others see of it.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicU64, Ordering},
};

use clearway::{Database, Error, Options, Stage, Staging, StagingStats};

fn open(cache: u64) -> Database {
    Options::in_memory().cache_size(cache).staging(Staging::TwoStage).open("").unwrap()
}

fn stats(db: &Database, name: &str) -> StagingStats {
    let types = db.type_stats();
    types.into_iter().find(|stats| stats.name == name).map(|stats| stats.staging).unwrap()
}

#[test]
fn closure_runs_in_both_stages_and_the_second_counts() {
    let db = open(8 << 20);
    let table = db.table("t").unwrap();
    let mut stages = Vec::new();
    let sum = db.transact("sum", |tx| {
        stages.push(tx.stage());
        tx.put(&table, "a", [stages.len() as u8])?;
        Ok(tx.get(&table, "a")?.unwrap()[0])
    });
    assert_eq!(sum.unwrap(), 2);
    assert_eq!(stages, [Stage::Fetch, Stage::Operate]);
    assert_eq!(db.begin().get(&table, "a").unwrap().unwrap(), [2]);
    let counted = stats(&db, "sum");
    assert_eq!((counted.fetches, counted.operates), (1, 1));
    let types = db.type_stats();
    let of_type = types.iter().find(|stats| stats.name == "sum").unwrap();
    assert_eq!((of_type.commits, of_type.rollbacks), (1, 0));
}

#[test]
fn error_and_panic_of_the_fetch_stage_are_dropped() {
    let db = open(8 << 20);
    let table = db.table("t").unwrap();
    for round in 0..3 {
        let result = db.transact("fails at first", |tx| match tx.stage() {
            Stage::Fetch if round == 0 => Err(Error::NotFound),
            Stage::Fetch if round == 1 => panic!("in the fetch stage"),
            Stage::Fetch => tx.abort("in the fetch stage"),
            Stage::Operate => tx.put(&table, "a", "b"),
        });
        assert_eq!(result.unwrap(), round > 0);
    }
    let counted = stats(&db, "fails at first");
    assert_eq!((counted.fetches, counted.fetch_panics, counted.operates), (3, 1, 3));
    // Those of the operate stage are not.
    let failed: Result<(), Error> = db.transact("fails", |_| Err(Error::NotFound));
    assert!(matches!(failed, Err(Error::NotFound)));
    let panicked: Result<(), Error> = db.transact("panics", |_| panic!("in both"));
    assert!(matches!(panicked, Err(Error::Panicked { .. })));
}

#[test]
fn policy_of_a_type_overrides_that_of_the_database() {
    let db = Options::in_memory().cache_size(8 << 20).open("").unwrap();
    let runs = |name: &'static str| {
        let mut runs = 0;
        db.transact(name, |_| {
            runs += 1;
            Ok(())
        })
        .unwrap();
        runs
    };
    assert_eq!((runs("a"), runs("b")), (1, 1));
    db.set_staging("a", Some(Staging::TwoStage));
    assert_eq!((runs("a"), runs("b")), (2, 1));
    db.set_staging("a", None);
    assert_eq!((runs("a"), runs("b")), (1, 1));
}

#[test]
fn fetch_stage_that_scans_without_end_is_cut_short() {
    let db = open(8 << 20);
    let table = db.table("t").unwrap();
    db.transact("fill", |tx| (0..100u8).try_for_each(|row| tx.insert(&table, [row], "v"))).unwrap();
    let rows = db.transact("count", |tx| {
        let mut rows = 0;
        while tx.stage() == Stage::Fetch {
            rows += tx.scan(&table, ..).count()?;
        }
        Ok(rows + tx.scan(&table, ..).count()?)
    });
    assert_eq!(rows.unwrap(), 100);
    assert_eq!(stats(&db, "count").fetches_cut_short, 1);
}

#[test]
fn money_is_kept_by_two_stage_transfers_in_a_small_cache() {
    const ACCOUNTS: u64 = 2000;
    let db = open(1 << 20);
    let table = db.table("accounts").unwrap();
    let key = |account: u64| account.to_be_bytes();
    for accounts in (0..ACCOUNTS).collect::<Vec<_>>().chunks(100) {
        db.transact("fill", |tx| {
            accounts.iter().try_for_each(|n| tx.insert(&table, key(*n), value(100)))
        })
        .unwrap();
    }
    let (barrier, hot) = (Barrier::new(4), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (db, table, barrier, hot) = (&db, &table, &barrier, &hot);
            scope.spawn(move || {
                barrier.wait();
                for round in 0..150u64 {
                    let from = (thread * 7919 + round * 104_729) % ACCOUNTS;
                    let to = if round % 3 == 0 { 0 } else { (from * 31 + 7) % ACCOUNTS };
                    let moved = db.transact("transfer", |tx| {
                        let balance =
                            |bytes: Vec<u8>| u64::from_be_bytes(*bytes.first_chunk().unwrap());
                        let source = balance(tx.get_for_update(table, key(from))?.unwrap());
                        let amount = source.min(3);
                        tx.put(table, key(from), value(source - amount))?;
                        // The target depends on what was read.
                        let to = (to + source % 2) % ACCOUNTS;
                        let target = balance(tx.get_for_update(table, key(to))?.unwrap());
                        tx.put(table, key(to), value(target + amount))?;
                        Ok(amount)
                    });
                    hot.fetch_add(moved.unwrap(), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(hot.load(Ordering::Relaxed) > 0);
    let mut total = 0;
    let mut tx = db.begin();
    for entry in tx.scan(&table, ..) {
        total += u64::from_be_bytes(*entry.unwrap().1.first_chunk().unwrap());
    }
    assert_eq!(total, ACCOUNTS * 100);
    drop(tx);
    let counted = stats(&db, "transfer");
    assert_eq!(counted.fetches, 600);
    assert!(counted.operates >= 600 && counted.pages_pinned > 0);
    assert_eq!(db.stats().engine.pool.fetched_pages, 0);
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);

    fn value(balance: u64) -> Vec<u8> {
        [&balance.to_be_bytes()[..], &[0; 400]].concat()
    }
}

#[test]
fn fetch_stage_of_a_closed_database_reports_the_close() {
    let db = open(8 << 20);
    db.close().unwrap();
    assert!(matches!(db.transact("late", |_| Ok(())), Err(Error::Closed)));
}

#[test]
fn closure_that_waits_for_another_in_its_fetch_stage_does_not_block_it() {
    // The fetch stage of each holds nothing, so both meet there.
    let db = Arc::new(open(8 << 20));
    let table = db.table("t").unwrap();
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                db.transact("meet", |tx| {
                    tx.put(&table, "row", "v")?;
                    if tx.stage() == Stage::Fetch {
                        barrier.wait();
                    }
                    Ok(())
                })
                .unwrap();
            });
        }
    });
    assert_eq!(stats(&db, "meet").fetches, 2);
}
