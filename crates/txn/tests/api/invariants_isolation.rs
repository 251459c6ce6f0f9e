//! Invariants 4 to 9 and 11 of `ARCHITECTURE.md`, each under its own name: what concurrent
//! transactions may see of one another, and what the tree may do meanwhile.

use std::ops::Bound::Included;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clearway_base::{Error, PAGE_SIZE, Result};
use clearway_disk::MemoryDisk;
use clearway_lock::{LockOptions, WaitLimit};
use clearway_testkit::Random;
use clearway_testkit::disk::{Faults, FaultyDisk};
use clearway_tree::Direction::{self, Ascending as UP, Descending as DOWN};
use clearway_tree::{ReadIntent, TreeReport};
use clearway_txn::{Engine, EngineOptions, Table, Transaction};

use crate::rig::{
    self, Contents, check, commit, contents, open, open_with, options, put, read_all,
};

/// Far longer than any of these tests takes.
const WATCHDOG: Duration = Duration::from_secs(20);

/// Nodes of a handful of keys, waits without a limit: whatever hangs, hangs for good.
fn tiny(background: bool) -> EngineOptions {
    let lock = LockOptions { buckets: 1 << 12, wait_limit: None, ..LockOptions::default() };
    EngineOptions { node_bytes: 256, background, lock, ..options() }
}

/// An engine with a table of these keys.
fn filled(options: EngineOptions, keys: &[&str]) -> (Arc<Engine>, Table) {
    let engine = open_with(MemoryDisk::new(), options);
    let table = engine.create_table("t").unwrap();
    keys.iter().for_each(|key| put(&engine, &table, key, "old"));
    (engine, table)
}

/// Runs `body` on a thread of its own, so that a hang is a failure.
fn watched(what: &str, body: impl FnOnce() + Send + 'static) {
    let (alive, end) = mpsc::channel::<()>();
    let runner = thread::spawn(move || {
        let _alive = alive;
        body();
    });
    let end = end.recv_timeout(WATCHDOG);
    assert_eq!(end, Err(mpsc::RecvTimeoutError::Disconnected), "{what}: hangs");
    runner.join().unwrap_or_else(|_| panic!("{what}: failed"));
}

/// Looks until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + WATCHDOG / 2;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `work` until it commits.
fn retry<R>(engine: &Arc<Engine>, mut work: impl FnMut(&mut Transaction) -> Result<R>) -> R {
    loop {
        let mut txn = engine.begin();
        match work(&mut txn).and_then(|result| txn.commit().map(|_| result)) {
            Ok(result) => return result,
            Err(Error::Deadlock { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// The rows that a transaction sees between two keys, both included.
fn scan(
    txn: &mut Transaction,
    table: &Table,
    (low, high): (&str, &str),
    direction: Direction,
) -> Result<Contents> {
    let (low, high) = (Included(low.into()), Included(high.into()));
    let mut cursor = txn.cursor(table, low, high, direction, ReadIntent::Read)?;
    let mut found = Contents::new();
    while let Some((key, value)) = cursor.next(txn)? {
        assert!(found.insert(key, value).is_none(), "a key twice in a scan");
    }
    Ok(found)
}

fn report(engine: &Engine, table: &Table) -> TreeReport {
    let mut tables = engine.verify().unwrap().tables.into_iter();
    tables.find(|found| found.tree == table.id()).unwrap().report
}

fn ghosts(engine: &Engine, table: &Table) -> u64 {
    report(engine, table).ghosts
}

/// Deletes a key if it is there.
fn remove(txn: &mut Transaction, table: &Table, key: &str) -> Result<()> {
    match txn.delete(table, key.as_bytes()) {
        Err(Error::NotFound { .. }) => Ok(()),
        result => result,
    }
}

/// Some threads do `work` over and over until `main` is done, or has failed.
fn busy(threads: u64, work: impl Fn(u64, &mut Random) + Sync, main: impl FnOnce() -> bool) {
    let stop = AtomicBool::new(false);
    let is_fine = thread::scope(|scope| {
        for seed in 0..threads {
            let (stop, work) = (&stop, &work);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                while !stop.load(SeqCst) {
                    work(seed, &mut random);
                }
            });
        }
        let is_fine = main();
        stop.store(true, SeqCst);
        is_fine
    });
    assert!(is_fine);
}

type Step = fn(&mut Transaction, &Table) -> Result<()>;

/// One wait for the lock on `m`, or the gap behind it, and what others do in its leaf meanwhile.
fn wait_and_work(hold: Step, wait: Step) {
    let (engine, table) = filled(tiny(true), &["a", "b", "m", "y", "z"]);
    assert_eq!(report(&engine, &table).levels.len(), 1, "one leaf");
    let mut holder = engine.begin();
    hold(&mut holder, &table).unwrap();
    let (for_waiter, t) = (engine.clone(), table.clone());
    let waiter = thread::spawn(move || {
        let mut txn = for_waiter.begin();
        wait(&mut txn, &t).unwrap();
        txn.commit().unwrap();
    });
    // Who has searched for a deadlock is about to sleep.
    until("a wait", || engine.stats().lock.searches == 1);
    thread::sleep(Duration::from_millis(5));
    // The very leaf: its readers, its writers, its splits, its being written and checked.
    assert_eq!(rig::get(&engine, &table, "b").unwrap(), "old");
    put(&engine, &table, "b", "new");
    engine.checkpoint().unwrap();
    for n in 0..40 {
        put(&engine, &table, &format!("a{n:02}"), "new");
        put(&engine, &table, &format!("y{n:02}"), "new");
    }
    let mut deleter = engine.begin();
    (0..40).for_each(|n| deleter.delete(&table, format!("y{n:02}").as_bytes()).unwrap());
    commit(&engine, deleter);
    assert_eq!(holder.get(&table, b"a").unwrap().unwrap(), b"old");
    engine.checkpoint().unwrap();
    assert!(report(&engine, &table).levels.len() > 1, "it has split");
    assert!(!waiter.is_finished(), "it waits all the while");
    holder.commit().unwrap();
    waiter.join().unwrap();
}

#[test]
fn invariant_04_no_lock_wait_happens_under_a_latch() {
    let write: Step = |txn, t| txn.update(t, b"m", b"held");
    let read: Step = |txn, t| txn.get(t, b"m").map(drop);
    let read_gap: Step = |txn, t| txn.get(t, b"n").map(drop);
    let insert: Step = |txn, t| txn.insert(t, b"n", b"mine");
    let ascend: Step = |txn, t| scan(txn, t, ("m", "m"), UP).map(drop);
    let descend: Step = |txn, t| scan(txn, t, ("m", "n"), DOWN).map(drop);
    let cases: [(&str, Step, Step); 9] = [
        ("read", write, read),
        ("update", read, |txn, t| txn.update(t, b"m", b"mine")),
        ("put", write, |txn, t| txn.put(t, b"m", b"mine").map(drop)),
        ("delete", write, |txn, t| txn.delete(t, b"m")),
        ("read for update", read, |txn, t| txn.get_for_update(t, b"m").map(drop)),
        ("insert into a gap", read_gap, insert),
        ("read of a gap", |txn, t| txn.get_for_update(t, b"n").map(drop), read_gap),
        ("ascending cursor", write, ascend),
        ("descending cursor", write, descend),
    ];
    for (what, hold, wait) in cases {
        watched(what, move || wait_and_work(hold, wait));
    }
}

/// Two transactions look at what the other is about to write, and both look before either writes.
/// In every serial order the second one sees the first one's work and leaves it at that.
fn skew(engine: &Arc<Engine>, table: &Table, round: u32) {
    let name = |which: &str| format!("{:04}{which}", round * 2);
    let (low, high) = (name("a"), name("b"));
    if round.is_multiple_of(4) {
        [&low, &high].into_iter().for_each(|key| put(engine, table, key, "on"));
    }
    let both_have_looked = Barrier::new(2);
    let act = |mine: &str, other: &str| {
        let mut first = true;
        retry(engine, |txn| {
            let free = match round % 4 {
                0 => txn.get(table, other.as_bytes())?.unwrap() == b"on",
                1 => txn.get(table, other.as_bytes())?.is_none(),
                2 => scan(txn, table, (&low, &high), UP)?.is_empty(),
                _ => scan(txn, table, (&low, &high), DOWN)?.is_empty(),
            };
            if std::mem::take(&mut first) {
                both_have_looked.wait();
            }
            if free {
                txn.put(table, mine.as_bytes(), b"off")?;
            }
            Ok(free)
        })
    };
    let acted = thread::scope(|scope| {
        let other = scope.spawn(|| act(&low, &high));
        [act(&high, &low), other.join().unwrap()]
    });
    assert!(acted[0] != acted[1], "round {round}: {acted:?}");
}

const ACCOUNTS: u64 = 24;
const PLACES: u64 = 120;

/// Moves an account to another place, and some of its money to another one.
fn move_money(txn: &mut Transaction, table: &Table, random: &mut Random) -> Result<()> {
    let place = |n: u64| format!("{n:03}");
    let amount = |value: &[u8]| std::str::from_utf8(value).unwrap().parse::<u64>().unwrap();
    let (from, to) = (place(random.below(PLACES)), place(random.below(PLACES)));
    let Some(old) = txn.get(table, from.as_bytes())? else { return Ok(()) };
    let add = if random.below(2) == 0 { amount(&old) } else { amount(&old) / 2 };
    match amount(&old) - add {
        0 => txn.delete(table, from.as_bytes())?,
        rest => txn.update(table, from.as_bytes(), rest.to_string().as_bytes())?,
    }
    let there = txn.get(table, to.as_bytes())?.map_or(0, |value| amount(&value));
    txn.put(table, to.as_bytes(), (there + add).to_string().as_bytes()).map(drop)
}

/// Reads everything, twice: the sum is right, and no row comes, goes or changes in between.
fn audit(txn: &mut Transaction, table: &Table, direction: Direction) -> Result<()> {
    let rows = scan(txn, table, ("", "~"), direction)?;
    let sum = |rows: &Contents| -> u64 {
        rows.values().map(|value| std::str::from_utf8(value).unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(sum(&rows), ACCOUNTS * 100, "a reader saw half of a transfer");
    assert_eq!(rows, read_all(txn, table)?, "a reader saw two states");
    Ok(())
}

#[test]
fn invariant_05_serializable_phantoms_and_read_only_included() {
    watched("skew", || {
        let (engine, table) = filled(tiny(true), &[]);
        // Every second place is taken: the rounds fall on all positions of a node and its borders.
        (0..80).for_each(|n| put(&engine, &table, &format!("{:04}", n * 4), "old"));
        (0..160).for_each(|round| skew(&engine, &table, round));
        check(&engine);
    });
}

#[test]
fn invariant_05_read_only_transactions_see_one_state() {
    watched("books", || {
        let (engine, table) = filled(tiny(true), &[]);
        (0..ACCOUNTS).for_each(|n| put(&engine, &table, &format!("{:03}", n * 5), "100"));
        let work = |seed, random: &mut Random| {
            retry(&engine, |txn| match seed {
                0 | 1 => move_money(txn, &table, random),
                2 => audit(txn, &table, UP),
                _ => audit(txn, &table, DOWN),
            });
        };
        let stats = || (engine.stats().commits, engine.stats().read_only_commits);
        let before = stats();
        busy(4, work, || {
            thread::sleep(Duration::from_millis(1200));
            stats().0 > before.0 + 50 && stats().1 > before.1 + 50
        });
        retry(&engine, |txn| audit(txn, &table, UP));
        check(&engine);
    });
}

/// Transfers between rows that need not be in memory: the cache has room for half of the leaves.
/// Each transaction first locks one of a few rows, which all of them want.
#[test]
fn invariant_06_no_page_is_read_under_locks_in_two_stage_transactions() {
    const ROWS: u64 = 8000;
    let mut options = EngineOptions { node_bytes: 1024, ..options() };
    options.pool.cache_bytes = 256 * PAGE_SIZE as u64;
    let engine = open_with(MemoryDisk::new(), options);
    let [table, others] = ["t", "others"].map(|name| engine.create_table(name).unwrap());
    let key = |row: u64| row.to_be_bytes();
    for rows in (0..ROWS).collect::<Vec<_>>().chunks(100) {
        let mut txn = engine.begin();
        for row in rows {
            txn.put(&table, &key(*row), &[7; 60]).unwrap();
            txn.put(&others, &key(*row), &[7; 60]).unwrap();
        }
        commit(&engine, txn);
    }
    let transfer = |txn: &mut Transaction, rows: &[u64]| {
        for row in rows {
            let mut value = txn.get_for_update(&table, &key(*row)).unwrap().unwrap();
            value[0] = value[0].wrapping_add(1);
            txn.put(&table, &key(*row), &value).unwrap();
        }
    };
    // Some 400 leaves, so more than the cache has.
    let evict = || {
        let mut txn = engine.begin();
        (0..ROWS).step_by(20).for_each(|row| drop(txn.get(&others, &key(row)).unwrap()));
    };
    let fetch = |rows: &[u64]| {
        let mut txn = engine.begin();
        txn.begin_fetch();
        transfer(&mut txn, rows);
        txn.end_fetch().unwrap()
    };
    let reads = || engine.stats().pool.reads;
    let (before, missed) = (reads(), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..4 {
            let (engine, transfer, fetch) = (&engine, &transfer, &fetch);
            let (evict, missed) = (&evict, &missed);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..100 {
                    // In one order, so that there is no deadlock.
                    let mut rows: Vec<u64> = (0..6).map(|_| random.below(ROWS)).collect();
                    rows.push(random.below(4));
                    rows.sort_unstable();
                    let fetched = fetch(&rows);
                    assert!(!fetched.is_cut_short && fetched.pages.is_whole());
                    evict();
                    let mut txn = engine.begin();
                    transfer(&mut txn, &rows);
                    missed.fetch_add(u64::from(txn.absent_pages()), SeqCst);
                    txn.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(missed.into_inner(), 0);
    assert!(reads() > before + 400, "the fetch stages read pages");

    // Without the pins each read is counted.
    let rows = [1, 2000, 4000, 6000];
    drop(fetch(&rows));
    evict();
    let (mut txn, before) = (engine.begin(), reads());
    transfer(&mut txn, &rows);
    assert!(txn.absent_pages() >= 4);
    assert_eq!(u64::from(txn.absent_pages()), reads() - before);
    drop(txn);
    assert_eq!(engine.stats().pool.fetched_pages, 0);
}

#[test]
fn invariant_07_fences_equal_separators_while_in_use() {
    watched("verify", || {
        let (engine, table) = filled(tiny(true), &[]);
        // Waves, so that nodes come and go.
        let work = |seed, random: &mut Random| {
            let (start, grow) = (random.below(900), random.below(2) == 0);
            for key in (start..start + 60).map(|n| format!("{seed}{n:04}")) {
                retry(&engine, |txn| match grow {
                    true => txn.put(&table, key.as_bytes(), b"value").map(drop),
                    false => remove(txn, &table, &key),
                });
            }
        };
        busy(3, work, || {
            let (begun, mut looks, mut levels) = (Instant::now(), 0, 0);
            while begun.elapsed() < Duration::from_millis(1500) {
                match engine.verify() {
                    Ok(found) => levels = levels.max(found.tables[1].report.levels.len()),
                    Err(error) => {
                        eprintln!("{error}");
                        return false;
                    }
                }
                looks += 1;
            }
            looks > 5 && levels > 2
        });
        check(&engine);
        // As in `check`: while the maintenance thread still moves records, a look may count some
        // twice; not twenty in a row.
        let records = contents(&engine, &table).len() as u64;
        let is_right = |_| {
            thread::sleep(Duration::from_millis(20));
            report(&engine, &table).records == records
        };
        assert!((0..20).any(is_right), "{records} records, and others were counted");
    });
}

/// Deletes all keys but `a`, one of them by a later commit, and lets the ghosts and their leaves go
/// while the log is stalled: who reads that a key is absent waits for its deleter. In each table
/// another key is the late one; some of them are fences.
fn tags_outlive_ghosts() {
    let (faults, stall) = (Faults::new(), Arc::new(AtomicBool::new(false)));
    let held = stall.clone();
    faults.watch(move |event| {
        while held.load(SeqCst) && event.name.starts_with("log/") {
            thread::sleep(Duration::from_millis(1));
        }
        None
    });
    let mut options = tiny(true);
    (options.log.ring_bytes, options.log.segment_bytes) = (1 << 20, 1 << 20);
    let engine = open_with(FaultyDisk::new(MemoryDisk::new(), faults), options);
    let keys: Vec<String> = (0..20).map(|n| format!("b{n:02}")).collect();
    let table = |name: &String| engine.create_table(name).unwrap();
    let tables: Vec<Table> = keys.iter().map(table).collect();
    let (mut fill, mut most, mut late) = (engine.begin(), Vec::new(), Vec::new());
    for table in &tables {
        fill.put(table, b"a", b"stays").unwrap();
        keys.iter().for_each(|key| fill.insert(table, key.as_bytes(), b"old").unwrap());
    }
    commit(&engine, fill);
    stall.store(true, SeqCst);
    for (table, last) in tables.iter().zip(&keys) {
        let (mut others, mut one) = (engine.begin(), engine.begin());
        for key in &keys {
            let txn = if key == last { &mut one } else { &mut others };
            txn.delete(table, key.as_bytes()).unwrap();
        }
        most.push(others.commit().unwrap().ack);
        late.push(one.commit().unwrap().ack);
    }
    let is_tidy = |table| ghosts(&engine, table) == 0 && report(&engine, table).levels.len() == 1;
    until("no ghosts, one leaf", || tables.iter().all(is_tidy));
    let mut wrong = Vec::new();
    for (n, table) in tables.iter().enumerate() {
        for key in &keys {
            for how in 0..3 {
                let mut reader = engine.begin();
                let is_absent = match how {
                    0 => reader.get(table, key.as_bytes()).unwrap().is_none(),
                    1 => scan(&mut reader, table, (key, key), UP).unwrap().is_empty(),
                    _ => scan(&mut reader, table, (key, key), DOWN).unwrap().is_empty(),
                };
                let deleter = if *key == keys[n] { late[n] } else { most[n] };
                if !is_absent || reader.commit().unwrap().ack < deleter {
                    wrong.push((how, key, n));
                }
            }
        }
    }
    let stalled = engine.log().durable() < most[0];
    stall.store(false, SeqCst);
    assert!(stalled && wrong.is_empty(), "acknowledged before the deleter: {wrong:?}");
}

/// A ghost that its deleter, or a reader of its absence, has locked survives its neighbours.
fn held_ghost_stays(by_reader: bool) {
    let (engine, table) = filled(tiny(true), &["a", "b", "c", "d", "e", "f"]);
    let mut holder = engine.begin();
    holder.delete(&table, b"c").unwrap();
    if by_reader {
        commit(&engine, std::mem::replace(&mut holder, engine.begin()));
        assert!(holder.get(&table, b"c").unwrap().is_none());
    }
    let mut others = engine.begin();
    [b"b", b"d", b"e", b"f"].iter().for_each(|key| others.delete(&table, *key).unwrap());
    commit(&engine, others);
    until("one ghost", || ghosts(&engine, &table) <= 1);
    let passes = engine.stats().maintenance_passes;
    until("another pass", || engine.stats().maintenance_passes > passes);
    assert_eq!(ghosts(&engine, &table), 1, "a held ghost was reclaimed");
    let mut other = engine.begin();
    other.set_wait_limit(WaitLimit::NoWait);
    assert!(matches!(other.insert(&table, b"c", b"x"), Err(Error::WouldBlock { .. })));
    assert!(matches!(other.get_for_update(&table, b"c"), Err(Error::WouldBlock { .. })));
    assert_eq!(other.get(&table, b"c").is_ok(), by_reader);
    assert_eq!(read_all(&mut other, &table).is_ok(), by_reader);
    drop(other);
    let searches = engine.stats().lock.searches;
    let inserter = thread::spawn({
        let (engine, table) = (engine.clone(), table.clone());
        move || engine.begin().insert(&table, b"c", b"x").is_ok()
    });
    until("the insert waits", || engine.stats().lock.searches > searches);
    assert!(!inserter.is_finished());
    holder.rollback().unwrap();
    // The deleter's rollback brings the key back: the insert meets it.
    assert_eq!(inserter.join().unwrap(), by_reader);
    assert_eq!(rig::get(&engine, &table, "c").is_none(), by_reader);
}

#[test]
fn invariant_08_ghosts_stay_while_locked_and_their_tag_outlives_them() {
    watched("tags", tags_outlive_ghosts);
    watched("deleter", || held_ghost_stays(false));
    watched("reader", || held_ghost_stays(true));
}

/// One storm: everything a transaction can do to a table, and to its neighbour, taken back again.
fn storm(engine: &Arc<Engine>, table: &Table, other: &Table, random: &mut Random) {
    let mut txn = engine.begin();
    for n in 0..120 {
        txn.put(table, format!("{:04}x{n}", random.below(400)).as_bytes(), b"storm").unwrap();
    }
    let savepoint = txn.savepoint().unwrap();
    for n in (0..400).filter(|n| n % 7 != 0) {
        txn.delete(table, format!("{n:04}").as_bytes()).unwrap();
    }
    if random.below(2) == 0 {
        txn.rollback_to(&savepoint).unwrap();
    }
    for n in (0..400).step_by(7) {
        let long = "storm".repeat(1 + random.below(200) as usize);
        txn.update(table, format!("{n:04}").as_bytes(), long.as_bytes()).unwrap();
    }
    txn.rollback().unwrap();
    // The neighbour's work is committed: it grows and shrinks among the same pages.
    let mut txn = engine.begin();
    let grows = random.below(2) == 0;
    for key in (0..200).map(|n| format!("{n:04}")) {
        match grows {
            true => drop(txn.put(other, key.as_bytes(), b"value").unwrap()),
            false => remove(&mut txn, other, &key).unwrap(),
        }
    }
    commit(engine, txn);
}

fn storms(background: bool) {
    let disk = MemoryDisk::with_crashes();
    let engine = open_with(disk.clone(), tiny(background));
    let [table, other] = ["t", "other"].map(|name| engine.create_table(name).unwrap());
    let mut txn = engine.begin();
    for n in 0..400 {
        txn.insert(&table, format!("{n:04}").as_bytes(), format!("{n}").as_bytes()).unwrap();
    }
    commit(&engine, txn);
    let model = contents(&engine, &table);
    let before = report(&engine, &table);
    assert_eq!((model.len(), before.records), (400, 400));
    let mut random = Random::new(9);
    for round in 0..5 {
        storm(&engine, &table, &other, &mut random);
        assert_eq!(contents(&engine, &table), model, "round {round}");
        let mut txn = engine.begin();
        assert_eq!(scan(&mut txn, &table, ("", "~"), DOWN).unwrap(), model, "round {round}");
        for (key, value) in &model {
            assert_eq!(txn.get(&table, key).unwrap().as_ref(), Some(value), "round {round}");
        }
        let after = report(&engine, &table);
        assert_eq!((after.records, after.value_bytes), (before.records, before.value_bytes));
        // No rollback took the splits back; only maintenance does.
        assert!(background || after.pages.len() > before.pages.len(), "nothing was split");
    }
    if background {
        until("ghosts go", || ghosts(&engine, &table) < 200);
        assert_eq!(contents(&engine, &table), model, "after maintenance");
    }
    engine.log().wait_durable(engine.log().end()).unwrap();
    check(&engine);
    // Redo does the same as forward processing did.
    let fork = open(&disk.fork_durable());
    assert_eq!(contents(&fork, &fork.open_table("t").unwrap()), model, "after recovery");
    check(&fork);
}

#[test]
fn invariant_09_system_transactions_change_no_content() {
    watched("without maintenance", || storms(false));
    watched("with maintenance", || storms(true));
}

/// Everyone takes the first step, then all take the second. Answers how many died of it.
fn collide(engine: &Arc<Engine>, table: &Table, steps: &[[Step; 2]]) -> usize {
    let ready = Barrier::new(steps.len());
    thread::scope(|scope| {
        let run = |[first, second]: [Step; 2]| {
            let mut txn = engine.begin();
            txn.set_wait_limit(WaitLimit::Forever);
            first(&mut txn, table).unwrap();
            ready.wait();
            match second(&mut txn, table).and_then(|()| txn.commit().map(drop)) {
                Ok(()) => 0,
                Err(Error::Deadlock { .. }) => 1,
                Err(error) => panic!("{error}"),
            }
        };
        let threads: Vec<_> = steps.iter().map(|&pair| scope.spawn(move || run(pair))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

fn cycles() -> Vec<(&'static str, Vec<[Step; 2]>)> {
    let (a, b, c, d): (Step, Step, Step, Step) = (
        |txn, t| txn.update(t, b"a", b"new"),
        |txn, t| txn.update(t, b"b", b"new"),
        |txn, t| txn.update(t, b"c", b"new"),
        |txn, t| txn.update(t, b"d", b"new"),
    );
    let read_a: Step = |txn, t| txn.get(t, b"a").map(drop);
    let absent: Step = |txn, t| txn.get(t, b"bx").map(drop);
    let fill: Step = |txn, t| txn.put(t, b"by", b"new").map(drop);
    let low: Step = |txn, t| scan(txn, t, ("a", "bz"), UP).map(drop);
    let high: Step = |txn, t| scan(txn, t, ("d", "ez"), DOWN).map(drop);
    let in_low: Step = |txn, t| txn.put(t, b"ax", b"new").map(drop);
    let in_high: Step = |txn, t| txn.put(t, b"dx", b"new").map(drop);
    vec![
        ("two", vec![[a, b], [b, a]]),
        ("three", vec![[a, b], [b, c], [c, a]]),
        ("four", vec![[a, b], [b, c], [c, d], [d, a]]),
        ("readers in it", vec![[read_a, b], [b, c], [c, a]]),
        ("conversion", vec![[read_a, a], [read_a, a]]),
        ("conversion of three", vec![[read_a, a], [read_a, a], [read_a, a]]),
        ("row and gap", vec![[absent, d], [d, fill]]),
        ("gap and gap", vec![[absent, fill], [absent, fill]]),
        ("cursors and inserts", vec![[low, in_high], [high, in_low]]),
        ("cursor, row, insert", vec![[low, c], [c, d], [d, in_low]]),
    ]
}

#[test]
fn invariant_11_every_deadlock_is_found() {
    for (what, steps) in cycles() {
        watched(what, move || {
            for _ in 0..10 {
                let (engine, table) = filled(tiny(false), &["a", "b", "c", "d", "e"]);
                let victims = collide(&engine, &table, &steps);
                assert!((1..steps.len()).contains(&victims), "{what}: {victims} died");
                let stats = engine.stats();
                assert_eq!(stats.lock.deadlocks, victims as u64, "{what}");
                assert_eq!((stats.active, stats.lock.timeouts), (0, 0), "{what}");
            }
        });
    }
}

#[test]
fn invariant_11_no_transaction_dies_without_a_deadlock() {
    watched("order", || {
        let (engine, table) = filled(tiny(true), &["a", "b", "c", "d", "e", "f", "g"]);
        thread::scope(|scope| {
            for seed in 0..4 {
                let (engine, table) = (&engine, &table);
                scope.spawn(move || {
                    let mut random = Random::new(seed);
                    for _ in 0..150 {
                        let mut txn = engine.begin();
                        // Always upwards, and for update from the start.
                        for key in (b'a'..=b'g').filter(|_| random.below(2) == 0) {
                            txn.get_for_update(table, &[key]).unwrap().unwrap();
                            thread::yield_now();
                            txn.update(table, &[key], b"new").unwrap();
                        }
                        txn.commit().unwrap();
                    }
                });
            }
        });
        let stats = engine.stats().lock;
        assert!(stats.waits > 0, "no transaction met another");
        assert_eq!(stats.deadlocks, 0);
    });
}
