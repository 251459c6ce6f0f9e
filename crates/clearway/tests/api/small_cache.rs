//! Many tasks beside each other in the smallest cache.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway::{AbsoluteMode, Database, LockWait, Options, PipelineOptions, Table};
use clearway_testkit::Random;
use tokio::runtime::Builder;

/// Rows of 1 KiB: about six times as many pages as the cache has.
const ACCOUNTS: u64 = 2_400;
/// Accounts of which each transfer uses one, and a third of them two.
const HOT: u64 = 8;
const ROW_BYTES: usize = 1_024;
const CACHE_PAGES: u64 = 64;
const TASKS: u64 = 1_024;
const TRANSFERS: u64 = 2;
const BALANCE: u64 = 1_000_000;

fn row(balance: u64) -> Vec<u8> {
    let mut row = balance.to_be_bytes().to_vec();
    row.resize(ROW_BYTES, 7);
    row
}

fn balance(row: &[u8]) -> u64 {
    u64::from_be_bytes(*row.first_chunk().unwrap())
}

fn open(directory: &std::path::Path) -> (Database, Table) {
    let db = Options::new().cache_size(CACHE_PAGES * 8192).attempts(1_000).open(directory).unwrap();
    let accounts = db.table("account").unwrap();
    (db, accounts)
}

fn fill(db: &Database, accounts: &Table) {
    for first in (0..ACCOUNTS).step_by(100) {
        let fill = db.transact("fill", |tx| {
            (first..first + 100)
                .try_for_each(|n| tx.insert(accounts, n.to_be_bytes(), row(BALANCE)))
        });
        fill.unwrap();
    }
}

/// Draws two accounts, of four times in three in the order of their keys. The others meet in
/// deadlocks.
fn draw(random: &mut Random) -> (u64, u64) {
    let accounts = if random.one_in(3) { HOT } else { ACCOUNTS };
    let from = random.below(HOT);
    let to = (from + 1 + random.below(accounts - 1)) % accounts;
    if random.one_in(4) { (to, from) } else { (from.min(to), from.max(to)) }
}

async fn transfer(db: &Database, accounts: &Table, from: u64, to: u64) -> clearway::Result<()> {
    db.transact_async("transfer", async |mut tx| {
        let paid = tx.get_for_update(accounts, from.to_be_bytes()).await?.unwrap();
        tx.put(accounts, from.to_be_bytes(), row(balance(&paid) - 1)).await?;
        let received = tx.get_for_update(accounts, to.to_be_bytes()).await?.unwrap();
        tx.put(accounts, to.to_be_bytes(), row(balance(&received) + 1)).await?;
        Ok(())
    })
    .await
}

#[test]
fn a_thousand_tasks_go_on_in_the_smallest_cache() {
    let directory = tempfile::tempdir().unwrap();
    let (db, accounts) = open(directory.path());
    fill(&db, &accounts);
    let done = Arc::new(AtomicU64::new(0));
    Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(async {
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let (db, accounts, done) = (db.clone(), accounts.clone(), done.clone());
                tokio::spawn(async move {
                    let mut random = Random::new(task);
                    for _ in 0..TRANSFERS {
                        let (from, to) = draw(&mut random);
                        transfer(&db, &accounts, from, to).await?;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok::<(), clearway::Error>(())
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), TASKS * TRANSFERS);
    check_idle(&db, &accounts);
    db.close().unwrap();
}

/// Checks that the tasks have left nothing, and that no money was made or lost.
fn check_idle(db: &Database, accounts: &Table) {
    let stats = db.stats().engine;
    assert!(stats.lock.waits > 2 * TASKS && stats.lock.deadlocks > 0, "{:?}", stats.lock);
    assert!(stats.pool.evictions > 10 * CACHE_PAGES, "{:?}", stats.pool);
    let left = (stats.active, stats.lock.waiting, stats.pool.queued_reads_in_flight);
    assert_eq!(left, (0, 0, 0), "transactions, waits for locks, reads");
    let mut tx = db.begin();
    tx.lock_wait(LockWait::Never);
    tx.lock_database(AbsoluteMode::Exclusive).unwrap();
    let balances = tx.scan(accounts, ..).map(|row| balance(&row.unwrap().1));
    assert_eq!(balances.sum::<u64>(), ACCOUNTS * BALANCE);
    tx.rollback().unwrap();
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
}

/// Closures that keep their agent while they wait, and closures that do not, read and write rows of
/// their own. An agent must not wait for pins that its own tasks have.
#[test]
fn closures_of_both_kinds_share_their_agents_in_the_smallest_cache() {
    let directory = tempfile::tempdir().unwrap();
    let (db, accounts) = open(directory.path());
    fill(&db, &accounts);
    let pipeline = PipelineOptions::new().agents(2).start(&db).unwrap();
    let mut random = Random::new(1);
    let mut rows: Vec<u64> = (0..ACCOUNTS).collect();
    random.shuffle(&mut rows);
    let submit = |number: &u64| {
        let (accounts, key) = (accounts.clone(), number.to_be_bytes());
        if random.below(2) == 0 {
            pipeline.submit("closure", move |tx| {
                let paid = tx.get_for_update(&accounts, key)?.unwrap();
                tx.put(&accounts, key, row(balance(&paid) + 1))
            })
        } else {
            pipeline.submit_async("task", async move |mut tx| {
                let paid = tx.get_for_update(&accounts, key).await?.unwrap();
                tx.put(&accounts, key, row(balance(&paid) + 1)).await
            })
        }
    };
    let tickets: Vec<_> = rows.iter().map(submit).collect();
    let until = Instant::now() + Duration::from_secs(60);
    for ticket in &tickets {
        while !ticket.as_ref().unwrap().is_ready() {
            if Instant::now() > until {
                std::mem::forget((pipeline, db)); // They cannot be closed.
                panic!("an agent waits for its own tasks");
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    tickets.into_iter().for_each(|ticket| ticket.unwrap().wait().unwrap());
    pipeline.close();
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
    db.close().unwrap();
    let (db, accounts) = open(directory.path());
    let paid = db.transact("count", |tx| {
        let paid = tx.scan(&accounts, ..).map(|entry| Ok(balance(&entry?.1) - BALANCE));
        paid.sum::<clearway::Result<u64>>()
    });
    assert_eq!(paid.unwrap(), ACCOUNTS);
}
