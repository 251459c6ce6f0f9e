//! Two-stage execution of closures: how often they run, what becomes of their results, and what
//! others see of it.

mod pipeline;
mod tasks;

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use clearway::{Database, Error, Options, Stage, Staging, StagingStats};
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::{DelayedDisk, QueueingDisk, ReadServers};

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
            Stage::Fetch if round == 0 => Err(Error::not_found()),
            Stage::Fetch if round == 1 => panic!("in the fetch stage"),
            Stage::Fetch => tx.abort("in the fetch stage"),
            Stage::Operate => tx.replace(&table, "a", "b"),
        });
        assert_eq!(result.unwrap().is_some(), round > 0);
    }
    let counted = stats(&db, "fails at first");
    assert_eq!((counted.fetches, counted.fetch_panics, counted.operates), (3, 1, 3));
    // Those of the operate stage are not.
    let failed: Result<(), Error> = db.transact("fails", |_| Err(Error::not_found()));
    assert!(matches!(failed, Err(Error::NotFound { .. })));
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

/// A database of accounts of which an eighth fits in its cache, and the key of an account.
fn accounts(policy: Staging) -> (Database, clearway::Table) {
    let db = Options::in_memory().cache_size(1 << 20).staging(policy).open("").unwrap();
    let table = db.table("accounts").unwrap();
    for rows in (0..ACCOUNTS).collect::<Vec<_>>().chunks(100) {
        let mut tx = db.begin();
        rows.iter().for_each(|row| tx.put(&table, key(*row), [1; 400]).unwrap());
        tx.commit().unwrap();
    }
    (db, table)
}

const ACCOUNTS: u64 = 20_000;

fn key(account: u64) -> [u8; 8] {
    account.to_be_bytes()
}

#[test]
fn optimistic_run_is_converted_at_its_first_absent_page_and_sees_what_it_has_written() {
    let (db, table) = accounts(Staging::Optimistic);
    let mut runs = 0;
    let mut other = None;
    let moved = db.transact("pay", |tx| {
        runs += 1;
        tx.put(&table, "hot", [runs])?;
        let before = tx.savepoint()?;
        tx.put(&table, "hot", [9])?;
        tx.rollback_to(&before)?;
        for account in (0..ACCOUNTS).step_by(4000) {
            tx.put(&table, key(account), [runs])?;
            assert_eq!(tx.get(&table, "hot")?.unwrap(), [runs]);
        }
        if runs == 1 {
            // Its locks are released.
            let mut free = db.begin();
            free.put(&table, "hot", "other").unwrap();
            free.commit().unwrap();
            other = Some(tx.get(&table, "hot")?.unwrap());
        }
        Ok(tx.get(&table, "hot")?.unwrap()[0])
    });
    assert_eq!((moved.unwrap(), other), (2, Some(vec![1])));
    let counted = stats(&db, "pay");
    assert_eq!((counted.fetches, counted.conversions, counted.operates), (1, 1, 1));
    assert_eq!((counted.mis_prefetches, counted.fetches_with_reads), (0, 1));
    assert_eq!(counted.current, Staging::Optimistic);
    let types = db.type_stats();
    let of_type = types.iter().find(|stats| stats.name == "pay").unwrap();
    assert_eq!((of_type.commits, of_type.rollbacks, of_type.retries), (1, 0, 0));
    assert_eq!(db.begin().get(&table, key(4000)).unwrap().unwrap(), [2]);
    // All is in memory now.
    let mut runs = 0;
    db.transact("pay", |tx| {
        runs += 1;
        tx.get(&table, key(4000))
    })
    .unwrap();
    assert_eq!(runs, 1);
}

#[test]
fn optimistic_run_that_knows_its_stage_stays_in_it() {
    let (db, table) = accounts(Staging::Optimistic);
    let mut stages = Vec::new();
    db.transact("knows", |tx| {
        stages.push(tx.stage());
        tx.put(&table, key(1), "v")?;
        stages.push(tx.stage());
        Ok(())
    })
    .unwrap();
    assert_eq!(stages, [Stage::Operate; 2]);
    assert_eq!(stats(&db, "knows").fetches, 0);
}

#[test]
fn panic_and_error_after_a_conversion_are_dropped() {
    let (db, table) = accounts(Staging::Optimistic);
    for panics in [true, false] {
        let mut runs = 0;
        let result = db.transact("fails at first", |tx| {
            runs += 1;
            for account in (0..ACCOUNTS).step_by(1000) {
                tx.put(&table, key(account), "v")?;
            }
            match runs {
                1 if panics => panic!("after the conversion"),
                1 => Err(Error::not_found()),
                _ => Ok(runs),
            }
        });
        assert_eq!(result.unwrap(), 2);
        // Drives the accounts out.
        drop(db.begin().scan(&table, ..).count());
    }
    let counted = stats(&db, "fails at first");
    assert_eq!((counted.conversions, counted.fetch_panics, counted.operates), (2, 1, 2));
}

#[test]
fn hybrid_operates_first_once_all_is_in_memory_and_fetches_once_it_reads() {
    let (db, table) = accounts(Staging::Hybrid);
    let run = |account: u64| {
        let pay = db.transact("pay", |tx| tx.put(&table, key(account), "v"));
        pay.unwrap();
        stats(&db, "pay")
    };
    assert_eq!(run(0).current, Staging::TwoStage);
    (0..64).for_each(|_| _ = run(0));
    let settled = run(0);
    assert_eq!(settled.current, Staging::Optimistic);
    assert!(settled.fetches <= 65);
    let mut runs = 0;
    while run(runs * 7919 % ACCOUNTS).current == Staging::Optimistic {
        runs += 1;
        assert!(runs < 400);
    }
    let settled = run(0);
    assert_eq!(settled.current, Staging::TwoStage);
    assert!(settled.conversions > 5);
}

#[test]
fn hybrid_gives_up_fetch_stages_that_read_other_pages_and_comes_back() {
    let (db, table) = accounts(Staging::Hybrid);
    let mut misleads = true;
    let mut at = 0;
    let mut run = |misleads: bool| {
        // The operate stage has three keys, none of them that of the fetch stage.
        let mut calls = 0;
        let mut fetched = db.transact("unfit", |tx| {
            calls += 1;
            let keys = match (misleads, calls) {
                (true, 1) | (false, _) => 1,
                (true, _) => 3,
            };
            if misleads || calls == 1 {
                at += 3;
            }
            (at..at + keys)
                .try_for_each(|n| tx.put(&table, key(n * 7919 % ACCOUNTS), "v").map(drop))
        });
        fetched.as_mut().unwrap();
        stats(&db, "unfit")
    };
    let mut runs = 0;
    while run(misleads).current != Staging::Conventional {
        runs += 1;
        assert!(runs < 400);
    }
    let fetches = run(misleads).fetches;
    for _ in 0..640 {
        assert_eq!(run(misleads).current, Staging::Conventional);
    }
    let probes = run(misleads).fetches - fetches;
    assert!((9..=11).contains(&probes), "{probes} probes");
    misleads = false;
    let mut runs = 0;
    while run(misleads).current != Staging::TwoStage {
        runs += 1;
        assert!(runs < 1200);
    }
}

#[test]
fn money_is_kept_whatever_the_policy_in_a_small_cache() {
    for policy in [Staging::Conventional, Staging::Optimistic, Staging::Hybrid] {
        let (db, table) = accounts(policy);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    for round in 0..100 {
                        let (from, to) = (round % 3, (thread * 7919 + round * 104_729) % ACCOUNTS);
                        db.transact("transfer", |tx| {
                            let mut source = tx.get_for_update(table, key(from))?.unwrap();
                            let mut target = tx.get_for_update(table, key(to))?.unwrap();
                            if from != to && source[0] > 0 && target[0] < 255 {
                                (source[0], target[0]) = (source[0] - 1, target[0] + 1);
                                tx.put(table, key(from), &source)?;
                                tx.put(table, key(to), &target)?;
                            }
                            Ok(())
                        })
                        .unwrap();
                    }
                });
            }
        });
        let mut tx = db.begin();
        let total: u64 = tx.scan(&table, ..).map(|entry| u64::from(entry.unwrap().1[0])).sum();
        assert_eq!(total, ACCOUNTS, "{policy:?}");
        drop(tx);
        assert_eq!(db.stats().engine.pool.fetched_pages, 0);
    }
}

#[test]
fn answer_after_a_conversion_waits_for_what_was_read_before_it() {
    let disk = DelayedDisk::in_memory(Duration::from_millis(50));
    let options = Options::default().cache_size(1 << 20).staging(Staging::Optimistic);
    let db = options.on_disk(disk).open("tags").unwrap();
    let table = db.table("accounts").unwrap();
    let mut tx = db.begin();
    (0..4000).for_each(|row| tx.put(&table, key(row), [1; 400]).unwrap());
    tx.commit().unwrap();
    let mut waited = 0;
    for round in 0..5u8 {
        // The commit is not durable when the row is read.
        let written = db.submit("write", |tx| tx.put(&table, "hot", [round])).unwrap();
        let was_ready = written.is_ready();
        let (mut runs, mut remembered) = (0, None);
        let answer = db.transact("remember", |tx| {
            runs += 1;
            if runs == 1 {
                remembered = tx.get(&table, "hot")?;
                (0..4000).step_by(400).try_for_each(|row| tx.get(&table, key(row)).map(drop))?;
            }
            Ok(remembered.clone())
        });
        assert_eq!((answer.unwrap().unwrap(), runs), (vec![round], 2));
        assert!(written.is_ready(), "delivered before the commit was durable");
        waited += u32::from(!was_ready);
        drop(db.begin().scan(&table, ..).count());
    }
    assert!(waited > 0, "no commit was under way");
}

/// A database of accounts with the default policy, on a disk whose reads take 1 ms, and the disk's
/// servers, which are on.
fn slow_accounts(time_one_in: u32) -> (Database, clearway::Table) {
    let servers = ReadServers::new(4, Duration::from_millis(1));
    let disk = Arc::new(QueueingDisk::new(MemoryDisk::new(), servers.clone()));
    let options = Options::default().cache_size(1 << 20).time_one_in(time_one_in);
    let db = options.on_disk(disk).open("slow").unwrap();
    let table = db.table("accounts").unwrap();
    let mut tx = db.begin();
    (0..8000).for_each(|row| tx.put(&table, key(row), [1; 400]).unwrap());
    tx.commit().unwrap();
    servers.set_on(true);
    (db, table)
}

/// Runs 400 payments in each of `threads` threads. Each changes the one branch, and one of the
/// first `accounts` accounts. Returns the execution after them.
fn pay(db: &Database, table: &clearway::Table, threads: u64, accounts: u64) -> Staging {
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for round in 0..400 {
                    let account = (thread * 7919 + round * 104_729) % accounts;
                    db.transact("pay", |tx| {
                        tx.put(table, "branch", [thread as u8])?;
                        tx.put(table, key(account), [round as u8; 400])
                    })
                    .unwrap();
                }
            });
        }
    });
    stats(db, "pay").current
}

#[test]
fn types_fetch_by_default_only_while_they_read_and_transactions_wait_behind_reads() {
    let (db, table) = slow_accounts(16);
    // No transaction waits for another.
    assert_eq!(pay(&db, &table, 1, 8000), Staging::Conventional);
    // They wait, but not for reads.
    assert_eq!(pay(&db, &table, 4, 2), Staging::Conventional);
    assert_eq!(stats(&db, "pay").fetches, 0);
    assert_eq!(pay(&db, &table, 4, 8000), Staging::TwoStage);
    assert!(stats(&db, "pay").fetches > 100);
    assert_eq!(pay(&db, &table, 4, 2), Staging::Conventional);
    let fetches = stats(&db, "pay").fetches;
    pay(&db, &table, 4, 2);
    assert_eq!(stats(&db, "pay").fetches, fetches);
    // Asked for, it stays conventional.
    db.set_staging("pay", Some(Staging::Conventional));
    assert_eq!(pay(&db, &table, 4, 8000), Staging::Conventional);
    assert_eq!(stats(&db, "pay").fetches, fetches);
}

#[test]
fn without_timed_transactions_all_types_are_conventional_by_default() {
    let (db, table) = slow_accounts(0);
    assert_eq!(pay(&db, &table, 4, 8000), Staging::Conventional);
    assert_eq!(stats(&db, "pay").fetches, 0);
}

#[test]
fn fetch_stage_whose_key_was_taken_meanwhile_is_repeated() {
    for policy in [Staging::TwoStage, Staging::Optimistic] {
        let (db, table) = accounts(policy);
        db.transact("first", |tx| tx.put(&table, "next", [1])).unwrap();
        let mut runs = 0;
        db.transact("order", |tx| {
            runs += 1;
            let number = tx.get_for_update(&table, "next")?.unwrap()[0];
            tx.put(&table, "next", [number + 1])?;
            tx.get(&table, key(1))?;
            if runs == 1 {
                // While this run waited for the page, another transaction took the number.
                let mut other = db.begin();
                other.insert(&table, [b'o', number], "other").unwrap();
                other.put(&table, "next", [number + 1]).unwrap();
                other.commit().unwrap();
            }
            tx.insert(&table, [b'o', number], "mine")?;
            (0..ACCOUNTS).step_by(2000).try_for_each(|account| {
                tx.put(&table, key(account), "v")?;
                Ok(())
            })
        })
        .unwrap();
        assert_eq!(runs, 3, "{policy:?}");
        let counted = stats(&db, "order");
        assert_eq!((counted.fetches, counted.operates, counted.mis_prefetches), (2, 1, 0));
        // An error that all runs return is repeated once only.
        drop(db.begin().scan(&table, ..).count());
        let mut runs = 0;
        let refused = db.transact("twice", |tx| {
            runs += 1;
            tx.get(&table, key(19_999 - 1))?;
            tx.get(&table, key(1))?;
            tx.insert(&table, "next", "v")
        });
        assert!(matches!(refused, Err(Error::DuplicateKey { .. })));
        assert_eq!(runs, 3, "{policy:?}");
        drop(db.begin().scan(&table, ..).count());
    }
}
