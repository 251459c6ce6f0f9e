//! The operations that are made of others, cursors that seek, and scans from both ends, against an
//! ordered map: in both stages, for threads and for tasks.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound::{Excluded, Included, Unbounded},
    thread,
};

use clearway::{
    AsyncTransaction, Cursor, Database, Direction, LockWait, Options, Result, Staging, Table,
    Transaction,
};
use clearway_sync::block_on;
use clearway_testkit::Random;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Bounds = (std::ops::Bound<Vec<u8>>, std::ops::Bound<Vec<u8>>);

fn database(staging: Staging) -> (Database, Table) {
    let options = Options::in_memory().cache_size(16 << 20).staging(staging);
    let db = options.open("verbs").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

/// Checks that no closure has panicked in its fetch stage, where a panic is dropped, and that there
/// were such stages if there should have been.
fn check_stages(db: &Database, staging: Staging) {
    let types = db.type_stats();
    let panics = types.iter().map(|stats| stats.staging.fetch_panics).sum::<u64>();
    let fetches = types.iter().map(|stats| stats.staging.fetches).sum::<u64>();
    assert_eq!((panics, fetches > 0), (0, staging == Staging::TwoStage));
}

/// A key of a small set, the empty key and long ones among them.
fn key(random: &mut Random) -> Vec<u8> {
    let len = [0, 1, 1, 1, 2, 2, 900][random.below(7) as usize];
    vec![b'a' + random.below(5) as u8; len]
}

/// A value; one in eight takes pages of its own.
fn value(random: &mut Random) -> Vec<u8> {
    let len = if random.below(8) == 0 { 20_000 } else { random.below(40) };
    vec![random.below(256) as u8; len as usize]
}

fn bounds(random: &mut Random) -> Bounds {
    let mut bound = || match random.below(3) {
        0 => Unbounded,
        1 => Included(key(random)),
        _ => Excluded(key(random)),
    };
    (bound(), bound())
}

/// Returns the entries of a range of the map.
fn within(map: &Map, (lower, upper): &Bounds) -> VecDeque<(Vec<u8>, Vec<u8>)> {
    let is_above = |key: &Vec<u8>| match lower {
        Unbounded => true,
        Included(low) => key >= low,
        Excluded(low) => key > low,
    };
    let is_below = |key: &Vec<u8>| match upper {
        Unbounded => true,
        Included(high) => key <= high,
        Excluded(high) => key < high,
    };
    let entries = map.iter().filter(|(key, _)| is_above(key) && is_below(key));
    entries.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Runs an operation of a thread or of a task.
macro_rules! step {
    ($mode:ident, $($call:tt)*) => { step!(@ $mode ($($call)*)) };
    (@ thread ($call:expr)) => { $call };
    (@ task ($call:expr)) => { $call.await };
}

/// Defines a function that takes a step at random with a transaction and with the map, and compares
/// the answers.
macro_rules! random_step {
    ($name:ident, $transaction:ty, $mode:ident, $($asyncness:ident)?) => {
        $($asyncness)? fn $name(
            tx: &mut $transaction,
            t: &Table,
            map: &mut Map,
            random: &mut Random,
        ) -> Result<()> {
            let (k, v) = (key(random), value(random));
            let known = map.get(&k).cloned();
            match random.below(13) {
                0 => assert_eq!(step!($mode, tx.contains_key(t, &k))?, known.is_some()),
                1 => {
                    let range = bounds(random);
                    let expected = within(map, &range).pop_front();
                    assert_eq!(step!($mode, tx.first(t, range))?, expected);
                }
                2 => {
                    let range = bounds(random);
                    let expected = within(map, &range).pop_back();
                    assert_eq!(step!($mode, tx.last(t, range))?, expected);
                }
                3 => {
                    let range = bounds(random);
                    let expected = within(map, &range).len() as u64;
                    assert_eq!(step!($mode, tx.count(t, range))?, expected);
                }
                4 | 5 => {
                    let change = |row: &mut Vec<u8>| {
                        row.extend_from_slice(b"!");
                        row.len()
                    };
                    let expected = map.get_mut(&k).map(change);
                    assert_eq!(step!($mode, tx.modify(t, &k, change))?, expected);
                }
                6 | 7 => {
                    assert_eq!(step!($mode, tx.replace(t, &k, &v))?, known);
                    map.insert(k, v);
                }
                8 => {
                    assert_eq!(step!($mode, tx.take(t, &k))?, known);
                    map.remove(&k);
                }
                9 => {
                    assert_eq!(step!($mode, tx.insert_or_get(t, &k, &v))?, known);
                    map.entry(k).or_insert(v);
                }
                10 => {
                    let expected = if random.below(2) == 0 { known.clone() } else { None };
                    let new = (random.below(3) > 0).then_some(v);
                    let call = tx.compare_and_set(t, &k, expected.as_deref(), new.as_deref());
                    let is_equal = expected == known;
                    assert_eq!(step!($mode, call)?, is_equal);
                    match new {
                        Some(new) if is_equal => drop(map.insert(k, new)),
                        None if is_equal => drop(map.remove(&k)),
                        _ => {}
                    }
                }
                11 => {
                    let range = bounds(random);
                    let gone = within(map, &range);
                    let is_all = range == (Unbounded, Unbounded);
                    let count = match is_all {
                        true => step!($mode, tx.clear(t))?,
                        false => step!($mode, tx.delete_range(t, range))?,
                    };
                    assert_eq!(count, gone.len() as u64);
                    gone.iter().for_each(|(key, _)| drop(map.remove(key)));
                }
                _ => {
                    step!($mode, tx.put(t, &k, &v))?;
                    map.insert(k, v);
                }
            }
            Ok(())
        }
    };
}

random_step!(random_step, Transaction, thread,);
random_step!(random_step_of_task, AsyncTransaction, task, async);

#[test]
fn verbs_match_an_ordered_map() {
    for staging in [Staging::Conventional, Staging::TwoStage] {
        for seed in 0..12 {
            let (db, t) = database(staging);
            let mut map = Map::new();
            for round in 0..12 {
                let mut after = Map::new();
                let mut run = |tx: &mut Transaction| {
                    // Both stages take the same steps.
                    (after, _) = (map.clone(), ());
                    let mut random = Random::new(seed * 100 + round);
                    (0..25).try_for_each(|_| random_step(tx, &t, &mut after, &mut random))
                };
                db.transact("verbs", &mut run).unwrap();
                map = after;
            }
            let rows = db.transact("all", |tx| tx.scan(&t, ..).collect::<Result<Map>>()).unwrap();
            assert_eq!(rows, map);
            check_stages(&db, staging);
        }
    }
}

#[test]
fn verbs_of_tasks_match_an_ordered_map() {
    for staging in [Staging::Conventional, Staging::TwoStage] {
        for seed in 0..6 {
            let (db, t) = database(staging);
            let mut map = Map::new();
            for round in 0..12 {
                let (before, table) = (&map, &t);
                let run = async |mut tx: clearway::LentTransaction| {
                    let mut after = before.clone();
                    let mut random = Random::new(seed * 100 + round);
                    for _ in 0..25 {
                        random_step_of_task(&mut tx, table, &mut after, &mut random).await?;
                    }
                    Ok(after)
                };
                let after = block_on(db.transact_async("verbs", run)).unwrap();
                map = after;
            }
            let rows = db.transact("all", |tx| tx.scan(&t, ..).collect::<Result<Map>>()).unwrap();
            assert_eq!(rows, map);
            check_stages(&db, staging);
        }
    }
}

/// Fills a part of the table, and returns the entries.
fn fill(db: &Database, t: &Table, random: &mut Random) -> Map {
    let mut map = Map::new();
    (0..30).for_each(|_| drop(map.insert(key(random), value(random))));
    db.transact("fill", |tx| {
        tx.clear(t)?;
        map.iter().try_for_each(|(key, value)| tx.put(t, key, value))
    })
    .unwrap();
    map
}

#[test]
fn scans_go_on_from_both_ends_until_they_meet() {
    for staging in [Staging::Conventional, Staging::TwoStage] {
        let (db, t) = database(staging);
        for seed in 0..60 {
            let map = fill(&db, &t, &mut Random::new(seed));
            db.transact("both ends", |tx| {
                let mut random = Random::new(seed);
                let range = bounds(&mut random);
                // Changes of the transaction itself, which a fetch stage has in its overlay.
                let mut own = map.clone();
                for _ in 0..random.below(4) * 3 {
                    let (extra, gone) = (key(&mut random), key(&mut random));
                    tx.put(&t, &extra, "own")?;
                    tx.take(&t, &gone)?;
                    own.insert(extra, b"own".to_vec());
                    own.remove(&gone);
                }
                let mut expected = within(&own, &range);
                let is_descending = random.below(2) == 0;
                let mut scan = match (is_descending, random.below(2)) {
                    (false, 0) => tx.scan(&t, range),
                    (false, _) => tx.scan_for_update(&t, range),
                    (true, 0) => tx.scan_descending(&t, range),
                    (true, _) => tx.scan_for_update_descending(&t, range),
                };
                // In turn, or from the front up to somewhere and the rest from the back.
                let turn = (random.below(3) > 0).then(|| random.below(12) as usize);
                for step in 0..expected.len() + 3 {
                    let is_front = turn.map_or_else(|| random.below(2) == 0, |turn| step < turn);
                    let (found, expected) = match (is_front, is_front != is_descending) {
                        (true, true) => (scan.next(), expected.pop_front()),
                        (true, false) => (scan.next(), expected.pop_back()),
                        (false, true) => (scan.next_back(), expected.pop_front()),
                        (false, false) => (scan.next_back(), expected.pop_back()),
                    };
                    assert_eq!(found.transpose()?, expected, "seed {seed}");
                }
                assert!(scan.next().is_none() && scan.next_back().is_none());
                Ok(())
            })
            .unwrap();
        }
        check_stages(&db, staging);
    }
}

#[test]
fn reversed_scan_locks_only_what_it_returns() {
    let (db, t) = database(Staging::Conventional);
    db.transact("fill", |tx| ["a", "c", "e"].iter().try_for_each(|k| tx.put(&t, k, k))).unwrap();
    let mut reader = db.begin();
    let last = reader.scan(&t, ..="e").next_back().unwrap().unwrap();
    assert_eq!(last.0, b"e");
    let mut writer = db.begin();
    writer.lock_wait(LockWait::Never);
    writer.put(&t, "a", "2").unwrap();
    writer.put(&t, "b", "2").unwrap();
    writer.put(&t, "f", "2").unwrap();
    writer.put(&t, "e", "2").unwrap_err();
}

#[test]
fn cursors_seek_forward_only() {
    for staging in [Staging::Conventional, Staging::TwoStage] {
        let (db, t) = database(staging);
        for seed in 0..60 {
            let map = fill(&db, &t, &mut Random::new(seed));
            db.transact("seek", |tx| {
                let mut random = Random::new(seed);
                let range = bounds(&mut random);
                let mut own = map.clone();
                for _ in 0..random.below(4) * 3 {
                    let (extra, gone) = (key(&mut random), key(&mut random));
                    tx.put(&t, &extra, "own")?;
                    tx.take(&t, &gone)?;
                    own.insert(extra, b"own".to_vec());
                    own.remove(&gone);
                }
                let mut rest = within(&own, &range);
                let direction = [Direction::Ascending, Direction::Descending];
                let direction = direction[random.below(2) as usize];
                let is_ascending = direction == Direction::Ascending;
                if !is_ascending {
                    rest.make_contiguous().reverse();
                }
                let mut cursor: Cursor = match random.below(2) {
                    0 => tx.cursor(&t, range, direction)?,
                    _ => tx.cursor_for_update(&t, range, direction)?,
                };
                for _ in 0..40 {
                    if random.below(3) == 0 {
                        let to = key(&mut random);
                        cursor.seek(&to);
                        rest.retain(|(k, _)| if is_ascending { *k >= to } else { *k <= to });
                    } else {
                        assert_eq!(cursor.next(tx)?, rest.pop_front(), "seed {seed}");
                    }
                }
                Ok(())
            })
            .unwrap();
        }
        check_stages(&db, staging);
    }
}

#[test]
fn seek_locks_nothing_between() {
    let (db, t) = database(Staging::Conventional);
    db.transact("fill", |tx| ["a", "c", "x"].iter().try_for_each(|k| tx.put(&t, k, k))).unwrap();
    let mut reader = db.begin();
    let mut cursor = reader.cursor(&t, .., Direction::Ascending).unwrap();
    assert_eq!(cursor.next(&mut reader).unwrap().unwrap().0, b"a");
    cursor.seek("x");
    assert_eq!(cursor.next(&mut reader).unwrap().unwrap().0, b"x");
    let mut writer = db.begin();
    writer.lock_wait(LockWait::Never);
    writer.put(&t, "d", "between").unwrap();
    writer.put(&t, "c", "between").unwrap();
    writer.put(&t, "x", "read").unwrap_err();
    writer.put(&t, "y", "behind, in the gap that was read").unwrap_err();
}

#[test]
fn verbs_that_write_what_they_have_read_do_not_deadlock() {
    let (db, t) = database(Staging::Conventional);
    db.transact("fill", |tx| tx.put(&t, "count", 0u64.to_be_bytes())).unwrap();
    let number = |row: &[u8]| u64::from_be_bytes(row.try_into().unwrap());
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for round in 0..150 {
                    db.transact("add", |tx| match round % 3 {
                        0 => tx
                            .modify(&t, "count", |row| {
                                *row = (number(row) + 1).to_be_bytes().into()
                            })
                            .map(drop),
                        1 => {
                            let before = tx.take(&t, "count")?.unwrap();
                            tx.put(&t, "count", (number(&before) + 1).to_be_bytes())
                        }
                        _ => {
                            let before = tx.insert_or_get(&t, "count", [0; 8])?.unwrap();
                            let after = (number(&before) + 1).to_be_bytes();
                            assert!(tx.compare_and_set(
                                &t,
                                "count",
                                Some(&before),
                                Some(&after)
                            )?);
                            Ok(())
                        }
                    })
                    .unwrap();
                }
            });
        }
    });
    let count = db.transact("read", |tx| tx.get_with(&t, "count", number)).unwrap();
    assert_eq!(count, Some(600));
    let stats = db.type_stats().into_iter().find(|stats| stats.name == "add").unwrap();
    assert_eq!((stats.commits, stats.retries), (600, 0));
}

#[test]
fn insert_or_get_locks_no_gap_and_last_locks_the_end() {
    let (db, t) = database(Staging::Conventional);
    db.transact("fill", |tx| tx.put(&t, "m", "")).unwrap();
    let (mut one, mut other) = (db.begin(), db.begin());
    other.lock_wait(LockWait::Never);
    assert_eq!(one.insert_or_get(&t, "n", "1").unwrap(), None);
    other.insert(&t, "o", "2").unwrap();
    other.insert(&t, "n", "2").unwrap_err();
    other.rollback().unwrap();
    one.rollback().unwrap();
    let (mut one, mut other) = (db.begin(), db.begin());
    other.lock_wait(LockWait::Never);
    assert_eq!(one.last(&t, ..).unwrap().unwrap().0, b"m");
    other.insert(&t, "a", "before").unwrap();
    other.insert(&t, "z", "behind").unwrap_err();
}

#[test]
fn values_can_be_read_while_another_one_is() {
    let (db, t) = database(Staging::Conventional);
    db.transact("fill", |tx| {
        tx.put(&t, "a", "outer")?;
        tx.put(&t, "b", vec![7; 100_000])
    })
    .unwrap();
    let (mut one, mut two) = (db.begin(), db.begin());
    let inner = one.get_with(&t, "a", |outer| {
        let len = two.get_with(&t, "b", <[u8]>::len).unwrap();
        (outer.to_vec(), len)
    });
    assert_eq!(inner.unwrap(), Some((b"outer".to_vec(), Some(100_000))));
    assert_eq!(one.get_with(&t, "absent", <[u8]>::len).unwrap(), None);
}
