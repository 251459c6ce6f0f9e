//! Invariants 4, 5, 7, 8, 9 and 11 of the design, each under its own name: what concurrent
//! transactions may see of one another, and what the tree may do meanwhile.

mod rig;

use std::{
    ops::Bound,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Error, Result};
use clearway_disk::{Faults, FaultyDisk, MemoryDisk};
use clearway_lock::{LockOptions, WaitLimit};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Table, TableReport, Transaction};

use rig::{Contents, Rng, check, commit, contents, open, open_with, options, put, read_all};

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
    let (done, end) = channel();
    let runner = thread::spawn(move || {
        body();
        let _ = done.send(());
    });
    match end.recv_timeout(WATCHDOG) {
        Err(RecvTimeoutError::Timeout) => panic!("{what}: hangs"),
        _ => runner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
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

/// What a transaction sees between two keys, both included.
fn scan(
    txn: &mut Transaction,
    table: &Table,
    (low, high): (&str, &str),
    direction: Direction,
) -> Result<Contents> {
    let bound = |key: &str| Bound::Included(key.as_bytes().to_vec());
    let mut cursor = txn.cursor(table, bound(low), bound(high), direction, ReadIntent::Read)?;
    let mut found = Contents::new();
    while let Some((key, value)) = cursor.next(txn)? {
        assert!(found.insert(key, value).is_none(), "a key twice in a scan");
    }
    Ok(found)
}

fn report(engine: &Engine, table: &Table) -> TableReport {
    let report = engine.verify().unwrap();
    report.tables.into_iter().find(|found| found.tree == table.id()).unwrap()
}

fn ghosts(engine: &Engine, table: &Table) -> u64 {
    report(engine, table).report.ghosts
}

type Step = fn(&mut Transaction, &Table) -> Result<()>;

/// One wait for the lock on `m`, or the gap behind it, and what others do in its leaf meanwhile.
fn wait_and_work(hold: Step, wait: Step) {
    let (engine, table) = filled(tiny(true), &["a", "b", "m", "y", "z"]);
    assert_eq!(report(&engine, &table).report.levels.len(), 1, "one leaf");
    let mut holder = engine.begin();
    hold(&mut holder, &table).unwrap();
    let (for_waiter, t) = (engine.clone(), table.clone());
    let waiter = thread::spawn(move || {
        let mut txn = for_waiter.begin();
        wait(&mut txn, &t).unwrap();
        txn.commit().unwrap();
    });
    until("a wait", || engine.stats().lock.waits == 1);
    thread::sleep(Duration::from_millis(5));
    // The very leaf: its readers, its writers, its splits, its being written and checked.
    assert_eq!(rig::get(&engine, &table, "b").unwrap(), "old");
    assert!(rig::get(&engine, &table, "aa").is_none());
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
    assert!(report(&engine, &table).report.levels.len() > 1, "it has split");
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
    let step = |direction| move |txn: &mut Transaction, t: &Table| {
        scan(txn, t, ("m", "m"), direction).map(drop)
    };
    let (up, down) = (step(Direction::Ascending), step(Direction::Descending));
    let _ = (&up, &down);
    let ascend: Step = |txn, t| scan(txn, t, ("m", "m"), Direction::Ascending).map(drop);
    let descend: Step = |txn, t| scan(txn, t, ("m", "n"), Direction::Descending).map(drop);
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
        [&low, &high].map(|key| put(engine, table, key, "on"));
    }
    let both_have_looked = Barrier::new(2);
    let act = |mine: &str, other: &str| {
        let mut first = true;
        retry(engine, |txn| {
            let free = match round % 4 {
                0 => txn.get(table, other.as_bytes())?.unwrap() == b"on",
                1 => txn.get(table, other.as_bytes())?.is_none(),
                2 => scan(txn, table, (&low, &high), Direction::Ascending)?.is_empty(),
                _ => scan(txn, table, (&low, &high), Direction::Descending)?.is_empty(),
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
fn move_money(txn: &mut Transaction, table: &Table, rng: &mut Rng) -> Result<()> {
    let place = |n: u64| format!("{n:03}");
    let amount = |value: &[u8]| std::str::from_utf8(value).unwrap().parse::<u64>().unwrap();
    let (from, to) = (place(rng.below(PLACES)), place(rng.below(PLACES)));
    let Some(old) = txn.get(table, from.as_bytes())? else { return Ok(()) };
    let add = if rng.below(2) == 0 { amount(&old) } else { amount(&old) / 2 };
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
        (0..80).for_each(|n| drop(put(&engine, &table, &format!("{:04}", n * 4), "old")));
        (0..160).for_each(|round| skew(&engine, &table, round));
        check(&engine);
    });
}

#[test]
fn invariant_05_read_only_transactions_see_one_state() {
    watched("books", || {
        let (engine, table) = filled(tiny(true), &[]);
        (0..ACCOUNTS).for_each(|n| put(&engine, &table, &format!("{:03}", n * 5), "100"));
        let (stop, audits) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for seed in 0..2 {
                let (engine, table, stop, audits) = (&engine, &table, &stop, &audits);
                scope.spawn(move || {
                    let mut rng = Rng(seed);
                    while !stop.load(Ordering::Relaxed) {
                        retry(engine, |txn| move_money(txn, table, &mut rng));
                    }
                });
                scope.spawn(move || {
                    let order = [Direction::Ascending, Direction::Descending][seed as usize];
                    while !stop.load(Ordering::Relaxed) {
                        retry(engine, |txn| audit(txn, table, order));
                        audits.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            thread::sleep(Duration::from_millis(1200));
            stop.store(true, Ordering::Relaxed);
        });
        retry(&engine, |txn| audit(txn, &table, Direction::Ascending));
        assert!(audits.into_inner() > 10 && engine.stats().commits > 100);
        check(&engine);
    });
}

#[test]
fn invariant_07_fences_equal_separators_while_in_use() {
    watched("verify", || {
        let (engine, table) = filled(tiny(true), &[]);
        let (stop, mut verified, mut highest) = (AtomicBool::new(false), 0, 0);
        thread::scope(|scope| {
            for seed in 0..3 {
                let (engine, table, stop) = (&engine, &table, &stop);
                scope.spawn(move || {
                    let mut rng = Rng(seed);
                    while !stop.load(Ordering::Relaxed) {
                        // Waves, so that nodes come and go.
                        let (start, keep) = (rng.below(900), rng.below(2) == 0);
                        let keys = start..start + 60;
                        for key in keys.map(|n| format!("{seed}{n:04}")) {
                            retry(engine, |txn| match keep {
                                true => txn.put(table, key.as_bytes(), b"value").map(drop),
                                false => match txn.delete(table, key.as_bytes()) {
                                    Err(Error::NotFound) => Ok(()),
                                    result => result,
                                },
                            });
                        }
                    }
                });
            }
            let end = Instant::now() + Duration::from_millis(1500);
            while Instant::now() < end {
                let result = engine.verify();
                stop.store(result.is_err(), Ordering::Relaxed);
                let tables = result.unwrap().tables;
                highest = tables.iter().map(|table| table.report.levels.len()).max().max(highest);
                verified += 1;
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(verified > 5 && highest > 2, "{verified} looks, {highest} levels");
        check(&engine);
        let found = report(&engine, &table).report;
        assert_eq!(found.records as usize, contents(&engine, &table).len());
    });
}

/// An engine with a maintenance thread whose log writes can be held up.
fn stalling(keys: &[&str]) -> (Arc<Engine>, Table, Arc<AtomicBool>) {
    let (faults, stall) = (Faults::new(), Arc::new(AtomicBool::new(false)));
    let held = stall.clone();
    faults.watch(move |event| {
        while held.load(Ordering::SeqCst) && event.name.starts_with("log/") {
            thread::sleep(Duration::from_millis(1));
        }
        None
    });
    let engine = open_with(FaultyDisk::new(MemoryDisk::new(), faults), tiny(true));
    let table = engine.create_table("t").unwrap();
    keys.iter().for_each(|key| put(&engine, &table, key, "old"));
    (engine, table, stall)
}

/// Deletes all keys but `a` and lets the ghosts, and the leaves they were in, go; who reads that a
/// key is absent waits for its deleter all the same.
fn tag_outlives(keys: &[&str]) {
    let (engine, table, stall) = stalling(keys);
    stall.store(true, Ordering::SeqCst);
    let mut deleter = engine.begin();
    keys[1..].iter().for_each(|key| deleter.delete(&table, key.as_bytes()).unwrap());
    let deleted = deleter.commit().unwrap();
    until("no ghosts", || ghosts(&engine, &table) == 0);
    until("one leaf", || report(&engine, &table).report.levels.len() == 1);
    let reads: [(&str, fn(&mut Transaction, &Table, &str) -> bool); 3] = [
        ("point", |txn, t, key| txn.get(t, key.as_bytes()).unwrap().is_none()),
        ("up", |txn, t, key| scan(txn, t, (key, key), Direction::Ascending).unwrap().is_empty()),
        ("down", |txn, t, key| scan(txn, t, (key, key), Direction::Descending).unwrap().is_empty()),
    ];
    for key in &keys[1..] {
        for (what, is_absent) in reads {
            let mut reader = engine.begin();
            assert!(is_absent(&mut reader, &table, key));
            let ack = reader.commit().unwrap().ack;
            assert!(ack >= deleted.ack, "{what} {key}: acknowledged before the deleter");
        }
    }
    assert!(engine.log().durable() < deleted.ack, "the log has been stalled all the while");
    stall.store(false, Ordering::SeqCst);
    engine.log().wait_durable(deleted.ack).unwrap();
}

/// A ghost that its deleter, or a reader, has locked survives the others of its leaf.
fn held_ghost_stays(hold: fn(&Arc<Engine>, &Table) -> Transaction, may_read: bool) {
    let (engine, table) = filled(tiny(true), &["a", "b", "c", "d", "e", "f"]);
    let holder = hold(&engine, &table);
    let mut others = engine.begin();
    [b"b", b"d", b"e", b"f"].map(|key| others.delete(&table, key).unwrap());
    commit(&engine, others);
    until("one ghost", || ghosts(&engine, &table) <= 1);
    let passes = engine.stats().maintenance_passes;
    until("another pass", || engine.stats().maintenance_passes > passes);
    assert_eq!(ghosts(&engine, &table), 1, "a held ghost was reclaimed");
    let mut other = engine.begin();
    other.set_wait_limit(WaitLimit::NoWait);
    assert!(matches!(other.insert(&table, b"c", b"x"), Err(Error::WouldBlock)));
    assert!(matches!(other.get_for_update(&table, b"c"), Err(Error::WouldBlock)));
    assert_eq!(other.get(&table, b"c").is_ok(), may_read);
    assert_eq!(read_all(&mut other, &table).is_ok(), may_read);
    drop(other);
    let inserter = thread::spawn({
        let (engine, table) = (engine.clone(), table.clone());
        move || engine.begin().insert(&table, b"c", b"x").is_ok()
    });
    let waits = engine.stats().lock.waits;
    until("the insert waits", || engine.stats().lock.waits > waits.saturating_sub(1));
    assert!(!inserter.is_finished());
    holder.rollback().unwrap();
    // The deleter's rollback brings the key back: the insert meets it.
    assert_eq!(inserter.join().unwrap(), may_read);
    assert_eq!(rig::get(&engine, &table, "c").is_none(), may_read);
}

#[test]
fn invariant_08_ghosts_stay_while_locked_and_their_tag_outlives_them() {
    watched("one leaf", || tag_outlives(&["a", "b", "c", "d", "e", "f"]));
    let keys: Vec<String> = (0..60).map(|n| format!("b{n:02}")).collect();
    let keys: Vec<&'static str> = keys.into_iter().map(|key| &*key.leak()).collect();
    watched("many leaves", move || tag_outlives(&[&["a"], &keys[..]].concat()));
    watched("deleter", || {
        let hold = |engine: &Arc<Engine>, table: &Table| {
            let mut txn = engine.begin();
            txn.delete(table, b"c").unwrap();
            txn
        };
        held_ghost_stays(hold, false);
    });
    watched("reader", || {
        let hold = |engine: &Arc<Engine>, table: &Table| {
            let mut deleter = engine.begin();
            deleter.delete(table, b"c").unwrap();
            commit(engine, deleter);
            let mut txn = engine.begin();
            assert!(txn.get(table, b"c").unwrap().is_none());
            txn
        };
        held_ghost_stays(hold, true);
    });
}
