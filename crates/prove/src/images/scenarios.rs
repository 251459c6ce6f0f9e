//! The scenarios: each is a fixed sequence of calls on one thread.
//!
//! Nodes are tiny, so that a few dozen keys cause splits, adoptions and merges. The log is tiny, so
//! that segments are filled and recycled.

use clearway_testkit::disk::CrashImage;

use super::{
    late_reads::late_reads,
    runner::{ScenarioRunner, StepResult},
    work::Work,
};
use crate::oracles::Change;

/// A scenario and its name.
pub(super) type Scenario = (&'static str, fn(&mut ScenarioRunner) -> StepResult);

/// All scenarios except for the patterned ones.
pub(super) const SCENARIOS: [Scenario; 21] = [
    ("create", create),
    ("tables", tables),
    ("splits", splits),
    ("merges", merges),
    ("overflow", overflow),
    ("savepoints", savepoints),
    ("checkpoints", checkpoints),
    ("wrap", wrap),
    ("ghosts", ghosts),
    ("reopen", reopen),
    ("backup", backup),
    ("recovery", recovery),
    ("unflushed", unflushed),
    ("full", full),
    ("log-full", log_full),
    ("drops", drops),
    ("mixed", mixed),
    ("tasks", tasks),
    ("late-reads", late_reads),
    ("old-closed", old_closed),
    ("old-killed", old_killed),
];

/// The name prefix of the scenarios whose database has an older format at first.
pub(super) const OLD: &str = "old-";

/// Databases of format version 1; `txn/tests/api/version_1.rs` documents their contents.
const VERSION_1_CLOSED: &[u8] = include_bytes!("../../../txn/tests/version-1/closed.packed");
const VERSION_1_KILLED: &[u8] = include_bytes!("../../../txn/tests/version-1/killed.packed");

pub(super) const TABLE: &str = "t";

pub(super) fn key(number: u64) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

pub(super) fn value(number: u64, len: usize) -> Vec<u8> {
    let mut value = number.to_be_bytes().to_vec();
    value.resize(len.max(8), number as u8);
    value
}

fn start(runner: &mut ScenarioRunner) -> StepResult {
    runner.open()?;
    runner.create_table(TABLE)
}

/// As `start`, with page images in the log that every recovery compares with its redo.
pub(super) fn start_checking_redo(runner: &mut ScenarioRunner) -> StepResult {
    runner.options.redo_check = true;
    start(runner)
}

/// Inserts keys, `at_once` of them in each transaction.
pub(super) fn fill(
    runner: &mut ScenarioRunner,
    keys: impl IntoIterator<Item = u64>,
    at_once: usize,
) -> StepResult {
    let keys: Vec<u64> = keys.into_iter().collect();
    for some in keys.chunks(at_once) {
        let mut work = runner.begin();
        for number in some {
            let len = 8 + (number * 7 % 40) as usize;
            runner.insert(&mut work, TABLE, &key(*number), &value(*number, len))?;
        }
        runner.commit(work)?;
    }
    Ok(())
}

fn delete(runner: &mut ScenarioRunner, keys: impl IntoIterator<Item = u64>) -> StepResult {
    let mut work = runner.begin();
    for number in keys {
        runner.delete(&mut work, TABLE, &key(number))?;
    }
    runner.commit(work).map(drop)
}

/// A permutation of the numbers below 101.
pub(super) fn shuffled(number: u64) -> u64 {
    number * 37 % 101
}

fn create(runner: &mut ScenarioRunner) -> StepResult {
    runner.open()?;
    runner.flush()?;
    runner.close()?;
    runner.open()?;
    start_table(runner)
}

fn start_table(runner: &mut ScenarioRunner) -> StepResult {
    runner.create_table(TABLE)?;
    fill(runner, 0..3, 1)?;
    runner.flush()?;
    runner.close()
}

fn tables(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    fill(runner, 0..20, 5)?;
    for name in ["a", "b", "c"] {
        runner.create_table(name)?;
        let mut work = runner.begin();
        (0..12).try_for_each(|n| runner.put(&mut work, name, &key(n), &value(n, 40)))?;
        runner.commit(work)?;
    }
    runner.drop_table("b")?;
    runner.checkpoint()?;
    runner.drop_table("c")?;
    runner.create_table("b")?;
    let mut work = runner.begin();
    runner.put(&mut work, "b", b"again", b"here")?;
    runner.put(&mut work, "a", &key(3), b"changed")?;
    runner.commit_durably(work)
}

fn splits(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    for round in 0..10 {
        fill(runner, (round * 10..round * 10 + 10).map(shuffled), 5)?;
        if round % 2 == 1 {
            runner.flush()?;
        }
        if round % 4 == 3 {
            runner.checkpoint()?;
        }
    }
    // Longer values split the full leaves again.
    for some in 0..5 {
        let mut work = runner.begin();
        for number in some * 10..some * 10 + 10 {
            runner.update(&mut work, TABLE, &key(number), &value(number + 1, 60))?;
        }
        runner.commit_durably(work)?;
    }
    runner.checkpoint()
}

fn merges(runner: &mut ScenarioRunner) -> StepResult {
    start_checking_redo(runner)?;
    fill(runner, 0..100, 20)?;
    runner.flush()?;
    for round in 0..4 {
        delete(runner, (0..100).filter(|n| n % 4 == round && n % 10 != 0))?;
        runner.flush()?;
        runner.maintain()?;
        runner.flush()?;
        if round == 1 {
            runner.checkpoint()?;
        }
    }
    fill(runner, (0..100).filter(|n| n % 5 == 1), 4)?;
    runner.flush()?;
    runner.checkpoint()
}

fn overflow(runner: &mut ScenarioRunner) -> StepResult {
    start_checking_redo(runner)?;
    let lengths = [300, 20_000, 9000, 20_000, 70, 9000];
    for (number, len) in (0..).zip(lengths) {
        let mut work = runner.begin();
        runner.insert(&mut work, TABLE, &key(number), &value(number, len))?;
        runner.commit(work)?;
    }
    runner.flush()?;
    for (number, len) in (0..).zip(lengths.iter().rev()) {
        let mut work = runner.begin();
        runner.put(&mut work, TABLE, &key(number), &value(number + 7, *len))?;
        runner.commit_durably(work)?;
    }
    runner.checkpoint()?;
    let mut work = runner.begin();
    runner.delete(&mut work, TABLE, &key(1))?;
    runner.insert(&mut work, TABLE, &key(9), &value(9, 12_000))?;
    runner.roll_back(work)?;
    delete(runner, [0, 2, 4])?;
    runner.flush()?;
    fill(runner, 20..30, 3)?;
    runner.flush()
}

/// Transactions of tasks. After the reopening the cache is empty: they read through the I/O queue.
fn tasks(runner: &mut ScenarioRunner) -> StepResult {
    start_checking_redo(runner)?;
    for round in 0..4 {
        let mut work = runner.begin_task();
        for number in round * 12..round * 12 + 12 {
            runner.insert(&mut work, TABLE, &key(shuffled(number)), &value(number, 40))?;
        }
        runner.put(&mut work, TABLE, &key(200 + round), &value(round, 9000))?;
        runner.commit_durably(work)?;
    }
    runner.close()?;
    runner.open()?;
    for round in 0..4 {
        let mut dropped = runner.begin_task();
        runner.put(&mut dropped, TABLE, &key(200 + round), &value(round + 1, 20_000))?;
        runner.delete(&mut dropped, TABLE, &key(shuffled(round)))?;
        let mut work = runner.begin_task();
        for number in (20 + round..48).step_by(4) {
            runner.update(&mut work, TABLE, &key(shuffled(number)), &value(number + 1, 60))?;
        }
        if round == 2 {
            runner.checkpoint()?;
        }
        runner.abandon_work(dropped)?;
        runner.delete(&mut work, TABLE, &key(200 + round))?;
        runner.commit_durably(work)?;
    }
    runner.checkpoint()
}

fn savepoints(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    fill(runner, 0..30, 10)?;
    for round in 0..5 {
        let mut work = runner.begin();
        runner.put(&mut work, TABLE, &key(round), b"kept")?;
        let outer = runner.savepoint(&mut work);
        (40..60).try_for_each(|n| runner.put(&mut work, TABLE, &key(n), &value(n, 50)))?;
        let inner = runner.savepoint(&mut work);
        runner.delete(&mut work, TABLE, &key(10 + round))?;
        runner.put(&mut work, TABLE, &key(70), &value(round, 3000))?;
        runner.flush()?;
        runner.rollback_to(&mut work, &inner)?;
        runner.put(&mut work, TABLE, &key(61), b"between")?;
        if round % 2 == 0 {
            runner.rollback_to(&mut work, &outer)?;
            runner.put(&mut work, TABLE, &key(80 + round), b"after")?;
        }
        if round == 2 {
            runner.checkpoint()?;
        }
        match round {
            3 => runner.roll_back(work)?,
            _ => runner.commit_durably(work)?,
        }
    }
    Ok(())
}

fn checkpoints(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    fill(runner, 0..40, 10)?;
    let mut long = runner.begin();
    runner.put(&mut long, TABLE, &key(50), &value(50, 30))?;
    for round in 0..6 {
        let mut short = runner.begin();
        runner.put(&mut short, TABLE, &key(100 + round), &value(round, 100))?;
        runner.put(&mut long, TABLE, &key(60 + round), &value(round, 20))?;
        runner.checkpoint()?;
        runner.put(&mut short, TABLE, &key(round), b"after the checkpoint")?;
        match round % 3 {
            0 => runner.commit_durably(short)?,
            1 => runner.commit(short).map(drop)?,
            _ => runner.roll_back(short)?,
        }
        runner.checkpoint()?;
    }
    runner.roll_back(long)?;
    runner.checkpoint()
}

fn wrap(runner: &mut ScenarioRunner) -> StepResult {
    runner.options.log.segment_bytes = 8 << 10;
    start(runner)?;
    for round in 0..14 {
        let mut work = runner.begin();
        for number in 0..8 {
            runner.put(
                &mut work,
                TABLE,
                &key(number),
                &value(round, 700 + 20 * number as usize),
            )?;
        }
        runner.commit_durably(work)?;
        if round % 3 == 2 {
            runner.checkpoint()?;
        }
    }
    Ok(())
}

fn ghosts(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    fill(runner, 0..120, 30)?;
    runner.checkpoint()?;
    delete(runner, (0..120).filter(|n| n % 8 != 0))?;
    runner.flush()?;
    let mut reader = runner.begin();
    runner.put(&mut reader, TABLE, &key(7), b"over a ghost")?;
    runner.maintain()?;
    runner.commit_durably(reader)?;
    runner.maintain()?;
    runner.checkpoint()?;
    fill(runner, (0..60).filter(|n| n % 8 == 3), 4)?;
    fill_over_ghosts(runner)?;
    let mut work = runner.begin();
    for number in (0..120).filter(|n| n % 8 == 0) {
        runner.delete(&mut work, TABLE, &key(number))?;
    }
    runner.roll_back(work)?;
    runner.maintain()?;
    runner.flush()
}

/// Another transaction fills the leaves from which a transaction has deleted, before that one rolls
/// its deletions back.
fn fill_over_ghosts(runner: &mut ScenarioRunner) -> StepResult {
    let mut deleter = runner.begin();
    for number in (0..60).filter(|n| n % 8 == 3) {
        runner.delete(&mut deleter, TABLE, &key(number))?;
    }
    let mut filler = runner.begin();
    for number in (0..60).filter(|n| n % 8 == 3) {
        let beside = [key(number), b"+".to_vec()].concat();
        runner.put(&mut filler, TABLE, &beside, &value(number, 50))?;
    }
    runner.commit_durably(filler)?;
    runner.roll_back(deleter)
}

fn reopen(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    for round in 0..4 {
        fill(runner, round * 10..round * 10 + 10, 5)?;
        let mut work = runner.begin();
        runner.put(&mut work, TABLE, &key(round), &value(round, 500))?;
        runner.commit(work)?;
        if round == 1 {
            runner.checkpoint()?;
        }
        runner.close()?;
        runner.open()?;
        runner.check()?;
    }
    delete(runner, 5..25)?;
    runner.maintain()?;
    runner.close()?;
    runner.open()
}

fn backup(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    fill(runner, 0..40, 10)?;
    runner.flush()?;
    runner.backup(1)?;
    let mut open = runner.begin();
    runner.put(&mut open, TABLE, &key(3), b"not yet")?;
    let mut work = runner.begin();
    runner.put(&mut work, TABLE, &key(90), &value(90, 9000))?;
    runner.commit(work)?;
    runner.backup(2)?;
    runner.roll_back(open)?;
    fill(runner, 50..60, 5)?;
    runner.flush()
}

fn recovery(runner: &mut ScenarioRunner) -> StepResult {
    start_checking_redo(runner)?;
    fill(runner, 0..50, 10)?;
    runner.checkpoint()?;
    runner.create_table("gone")?;
    let mut loser = runner.begin();
    for number in 10..30 {
        runner.update(&mut loser, TABLE, &key(number), &value(1, 90))?;
    }
    runner.put(&mut loser, TABLE, &key(91), &value(91, 9000))?;
    fill(runner, 60..80, 5)?;
    runner.flush()?;
    delete(runner, 60..70)?;
    runner.flush()?;
    runner.crash(CrashImage::KeepAll)?;
    drop(loser);
    runner.open()?;
    runner.check()?;
    let mut loser = runner.begin();
    (30..40).try_for_each(|n| runner.delete(&mut loser, TABLE, &key(n)))?;
    runner.drop_table("gone")?;
    fill(runner, 100..110, 5)?;
    runner.crash(CrashImage::Random(7))?;
    drop(loser);
    runner.open()?;
    runner.check()?;
    fill(runner, 200..210, 5)?;
    runner.flush()
}

fn unflushed(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    for round in 0..8 {
        for number in 0..10 {
            let mut work = runner.begin();
            runner.put(&mut work, TABLE, &key(number), &value(round, 30))?;
            runner.put(&mut work, TABLE, &key(100 + round * 10 + number), &value(number, 30))?;
            runner.commit(work)?;
            runner.read(TABLE, &[key(number), key(5), key(999)])?;
        }
        runner.flush()?;
        runner.read(TABLE, &[key(round)])?;
    }
    Ok(())
}

fn full(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    fill(runner, 0..20, 5)?;
    runner.checkpoint()?;
    for round in 0..3 {
        runner.disk.set_space_bytes(Some(runner.disk.used_bytes() + (round << 14)));
        let mut work = runner.begin();
        let mut number = 100 * (round + 1);
        while number < 100 * (round + 1) + 60 {
            if !runner.try_put(&mut work, TABLE, &key(number), &value(number, 4000))? {
                break;
            }
            number += 1;
        }
        runner.read(TABLE, &[key(0), key(19)])?;
        if round == 1 {
            runner.roll_back(work)?;
        } else {
            runner.commit(work)?;
        }
        runner.disk.set_space_bytes(None);
        runner.checkpoint()?;
        fill(runner, round * 7 + 30..round * 7 + 37, 3)?;
        runner.flush()?;
    }
    runner.check()
}

/// A transaction that fills the log can be rolled back, partly and completely.
fn log_full(runner: &mut ScenarioRunner) -> StepResult {
    runner.options.log.segment_bytes = 8 << 10;
    runner.options.log.capacity_bytes = 128 << 10;
    start(runner)?;
    fill(runner, 0..10, 5)?;
    runner.checkpoint()?;
    for round in 0..2 {
        let mut work = runner.begin();
        runner.put(&mut work, TABLE, &key(0), &value(round, 30))?;
        let mark = runner.savepoint(&mut work);
        for number in 0..900 {
            let value = value(number, 200);
            if !runner.try_put(&mut work, TABLE, &key(100 + number % 20), &value)? {
                break;
            }
        }
        if round == 0 {
            runner.roll_back(work)?;
        } else {
            runner.rollback_to(&mut work, &mark)?;
            runner.commit_durably(work)?;
        }
        runner.checkpoint()?;
        fill(runner, round * 10 + 10..round * 10 + 15, 5)?;
        runner.flush()?;
    }
    Ok(())
}

fn drops(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    runner.create_table("big")?;
    for some in 0..4 {
        let mut work = runner.begin();
        for number in some * 20..some * 20 + 20 {
            runner.put(&mut work, "big", &key(number), &value(number, 60))?;
        }
        runner.put(&mut work, "big", &key(some), &value(some, 9000))?;
        runner.commit(work)?;
    }
    runner.checkpoint()?;
    runner.drop_table("big")?;
    fill(runner, 0..30, 10)?;
    runner.create_table("big")?;
    runner.checkpoint()?;
    let mut work = runner.begin();
    runner.put(&mut work, "big", &key(1), &value(1, 2000))?;
    runner.commit_durably(work)?;
    runner.drop_table("big")
}

fn old_closed(runner: &mut ScenarioRunner) -> StepResult {
    runner.place(VERSION_1_CLOSED, old_contents(false))?;
    use_old(runner)
}

fn old_killed(runner: &mut ScenarioRunner) -> StepResult {
    runner.place(VERSION_1_KILLED, old_contents(true))?;
    use_old(runner)
}

/// The contents of the old databases.
fn old_contents(was_killed: bool) -> Vec<Change> {
    let of = |table: &str| Change::Create { table: table.into() };
    let is_there =
        |n: &u64| *n >= 120 || !n.is_multiple_of(7) || (was_killed && (20..30).contains(n));
    let row = |n: u64| Change::put("rows", &key(n), &vec![n as u8; 5 + (n % 40) as usize]);
    let large = |n: u64| Change::put("large", &key(n), &vec![n as u8 + 1; 1000 + n as usize]);
    let rows = (0..160).filter(is_there).map(row);
    [of("rows"), of("large")].into_iter().chain(rows).chain((0..3).map(large)).collect()
}

fn use_old(runner: &mut ScenarioRunner) -> StepResult {
    runner.open()?;
    runner.check()?;
    let mut work = runner.begin();
    (150..165).try_for_each(|n| runner.put(&mut work, "rows", &key(n), &value(n, 50)))?;
    runner.commit_durably(work)?;
    runner.checkpoint()?;
    let mut work = runner.begin();
    runner.delete(&mut work, "rows", &key(150))?;
    runner.commit(work)?;
    runner.close()?;
    runner.open()?;
    runner.check()
}

fn mixed(runner: &mut ScenarioRunner) -> StepResult {
    start(runner)?;
    for round in 0..60 {
        let mut work = runner.begin();
        for _ in 0..runner.random.between(1, 6) {
            mixed_write(runner, &mut work)?;
        }
        match runner.random.below(8) {
            0 => runner.roll_back(work)?,
            1 | 2 => runner.commit_durably(work)?,
            _ => runner.commit(work).map(drop)?,
        }
        match runner.random.below(20) {
            0 => runner.checkpoint()?,
            1 => runner.maintain()?,
            _ => {}
        }
        if round % 25 == 24 {
            runner.close()?;
            runner.open()?;
        }
    }
    runner.checkpoint()
}

fn mixed_write(runner: &mut ScenarioRunner, work: &mut Work) -> StepResult {
    let number = runner.random.below(80);
    let len = runner.random.pick(&[8, 20, 20, 50, 50, 100, 300, 1500]);
    let value = value(runner.random.next_u64(), len);
    runner.put(work, TABLE, &key(number), &value)?;
    if runner.random.one_in(3) {
        runner.delete(work, TABLE, &key(number))?;
    }
    Ok(())
}
