//! What the scripts do.
//!
//! Each is a fixed sequence of calls on one thread. Nodes are tiny, so that a few dozen keys split,
//! adopt and merge; the log is tiny, so that segments are filled and recycled.

use clearway_testkit::disk::CrashImage;

use super::{
    play::{Play, Played},
    work::Work,
};
use crate::oracles::Change;

/// A script and its name.
pub(super) type Script = (&'static str, fn(&mut Play) -> Played);

/// All of them.
pub(super) const SCRIPTS: [Script; 19] = [
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
    ("old-closed", old_closed),
    ("old-killed", old_killed),
];

/// What the names of scripts begin with whose database is of an older format at first.
pub(super) const OLD: &str = "old-";

/// Databases of format version 1; `txn/tests/version_1.rs` says what is in them.
const VERSION_1_CLOSED: &[u8] = include_bytes!("../../../txn/tests/version-1/closed.packed");
const VERSION_1_KILLED: &[u8] = include_bytes!("../../../txn/tests/version-1/killed.packed");

const TABLE: &str = "t";

fn key(number: u64) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

fn value(number: u64, len: usize) -> Vec<u8> {
    let mut value = number.to_be_bytes().to_vec();
    value.resize(len.max(8), number as u8);
    value
}

fn start(play: &mut Play) -> Played {
    play.open()?;
    play.create_table(TABLE)
}

/// As `start`, with images in the log that every recovery compares its redo with.
fn start_checking_redo(play: &mut Play) -> Played {
    play.options.redo_check = true;
    start(play)
}

/// Inserts keys, so many in a transaction.
fn fill(play: &mut Play, keys: impl IntoIterator<Item = u64>, at_once: usize) -> Played {
    let keys: Vec<u64> = keys.into_iter().collect();
    for some in keys.chunks(at_once) {
        let mut work = play.begin();
        for number in some {
            let len = 8 + (number * 7 % 40) as usize;
            play.insert(&mut work, TABLE, &key(*number), &value(*number, len))?;
        }
        play.commit(work)?;
    }
    Ok(())
}

fn delete(play: &mut Play, keys: impl IntoIterator<Item = u64>) -> Played {
    let mut work = play.begin();
    for number in keys {
        play.delete(&mut work, TABLE, &key(number))?;
    }
    play.commit(work).map(drop)
}

/// A number that no other below 101 has, in no order.
fn shuffled(number: u64) -> u64 {
    number * 37 % 101
}

fn create(play: &mut Play) -> Played {
    play.open()?;
    play.flush()?;
    play.close()?;
    play.open()?;
    start_table(play)
}

fn start_table(play: &mut Play) -> Played {
    play.create_table(TABLE)?;
    fill(play, 0..3, 1)?;
    play.flush()?;
    play.close()
}

fn tables(play: &mut Play) -> Played {
    start(play)?;
    fill(play, 0..20, 5)?;
    for name in ["a", "b", "c"] {
        play.create_table(name)?;
        let mut work = play.begin();
        (0..12).try_for_each(|n| play.put(&mut work, name, &key(n), &value(n, 40)))?;
        play.commit(work)?;
    }
    play.drop_table("b")?;
    play.checkpoint()?;
    play.drop_table("c")?;
    play.create_table("b")?;
    let mut work = play.begin();
    play.put(&mut work, "b", b"again", b"here")?;
    play.put(&mut work, "a", &key(3), b"changed")?;
    play.commit_durably(work)
}

fn splits(play: &mut Play) -> Played {
    start(play)?;
    for round in 0..10 {
        fill(play, (round * 10..round * 10 + 10).map(shuffled), 5)?;
        if round % 2 == 1 {
            play.flush()?;
        }
        if round % 4 == 3 {
            play.checkpoint()?;
        }
    }
    // Longer values in full leaves split them again.
    for some in 0..5 {
        let mut work = play.begin();
        for number in some * 10..some * 10 + 10 {
            play.update(&mut work, TABLE, &key(number), &value(number + 1, 60))?;
        }
        play.commit_durably(work)?;
    }
    play.checkpoint()
}

fn merges(play: &mut Play) -> Played {
    start_checking_redo(play)?;
    fill(play, 0..100, 20)?;
    play.flush()?;
    for round in 0..4 {
        delete(play, (0..100).filter(|n| n % 4 == round && n % 10 != 0))?;
        play.flush()?;
        play.maintain()?;
        play.flush()?;
        if round == 1 {
            play.checkpoint()?;
        }
    }
    fill(play, (0..100).filter(|n| n % 5 == 1), 4)?;
    play.flush()?;
    play.checkpoint()
}

fn overflow(play: &mut Play) -> Played {
    start_checking_redo(play)?;
    let lengths = [300, 20_000, 9000, 20_000, 70, 9000];
    for (number, len) in (0..).zip(lengths) {
        let mut work = play.begin();
        play.insert(&mut work, TABLE, &key(number), &value(number, len))?;
        play.commit(work)?;
    }
    play.flush()?;
    for (number, len) in (0..).zip(lengths.iter().rev()) {
        let mut work = play.begin();
        play.put(&mut work, TABLE, &key(number), &value(number + 7, *len))?;
        play.commit_durably(work)?;
    }
    play.checkpoint()?;
    let mut work = play.begin();
    play.delete(&mut work, TABLE, &key(1))?;
    play.insert(&mut work, TABLE, &key(9), &value(9, 12_000))?;
    play.roll_back(work)?;
    delete(play, [0, 2, 4])?;
    play.flush()?;
    fill(play, 20..30, 3)?;
    play.flush()
}

fn savepoints(play: &mut Play) -> Played {
    start(play)?;
    fill(play, 0..30, 10)?;
    for round in 0..5 {
        let mut work = play.begin();
        play.put(&mut work, TABLE, &key(round), b"kept")?;
        let outer = play.mark(&mut work);
        (40..60).try_for_each(|n| play.put(&mut work, TABLE, &key(n), &value(n, 50)))?;
        let inner = play.mark(&mut work);
        play.delete(&mut work, TABLE, &key(10 + round))?;
        play.put(&mut work, TABLE, &key(70), &value(round, 3000))?;
        play.flush()?;
        play.back_to(&mut work, &inner)?;
        play.put(&mut work, TABLE, &key(61), b"between")?;
        if round % 2 == 0 {
            play.back_to(&mut work, &outer)?;
            play.put(&mut work, TABLE, &key(80 + round), b"after")?;
        }
        if round == 2 {
            play.checkpoint()?;
        }
        match round {
            3 => play.roll_back(work)?,
            _ => play.commit_durably(work)?,
        }
    }
    Ok(())
}

fn checkpoints(play: &mut Play) -> Played {
    start(play)?;
    fill(play, 0..40, 10)?;
    let mut long = play.begin();
    play.put(&mut long, TABLE, &key(50), &value(50, 30))?;
    for round in 0..6 {
        let mut short = play.begin();
        play.put(&mut short, TABLE, &key(100 + round), &value(round, 100))?;
        play.put(&mut long, TABLE, &key(60 + round), &value(round, 20))?;
        play.checkpoint()?;
        play.put(&mut short, TABLE, &key(round), b"after the checkpoint")?;
        match round % 3 {
            0 => play.commit_durably(short)?,
            1 => play.commit(short).map(drop)?,
            _ => play.roll_back(short)?,
        }
        play.checkpoint()?;
    }
    play.roll_back(long)?;
    play.checkpoint()
}

fn wrap(play: &mut Play) -> Played {
    play.options.log.segment_bytes = 8 << 10;
    start(play)?;
    for round in 0..14 {
        let mut work = play.begin();
        for number in 0..8 {
            play.put(&mut work, TABLE, &key(number), &value(round, 700 + 20 * number as usize))?;
        }
        play.commit_durably(work)?;
        if round % 3 == 2 {
            play.checkpoint()?;
        }
    }
    Ok(())
}

fn ghosts(play: &mut Play) -> Played {
    start(play)?;
    fill(play, 0..120, 30)?;
    play.checkpoint()?;
    delete(play, (0..120).filter(|n| n % 8 != 0))?;
    play.flush()?;
    let mut reader = play.begin();
    play.put(&mut reader, TABLE, &key(7), b"over a ghost")?;
    play.maintain()?;
    play.commit_durably(reader)?;
    play.maintain()?;
    play.checkpoint()?;
    fill(play, (0..60).filter(|n| n % 8 == 3), 4)?;
    fill_over_ghosts(play)?;
    let mut work = play.begin();
    for number in (0..120).filter(|n| n % 8 == 0) {
        play.delete(&mut work, TABLE, &key(number))?;
    }
    play.roll_back(work)?;
    play.maintain()?;
    play.flush()
}

/// Others fill the leaves from which a transaction has deleted, and then it takes that back.
fn fill_over_ghosts(play: &mut Play) -> Played {
    let mut deleter = play.begin();
    for number in (0..60).filter(|n| n % 8 == 3) {
        play.delete(&mut deleter, TABLE, &key(number))?;
    }
    let mut filler = play.begin();
    for number in (0..60).filter(|n| n % 8 == 3) {
        let beside = [key(number), b"+".to_vec()].concat();
        play.put(&mut filler, TABLE, &beside, &value(number, 50))?;
    }
    play.commit_durably(filler)?;
    play.roll_back(deleter)
}

fn reopen(play: &mut Play) -> Played {
    start(play)?;
    for round in 0..4 {
        fill(play, round * 10..round * 10 + 10, 5)?;
        let mut work = play.begin();
        play.put(&mut work, TABLE, &key(round), &value(round, 500))?;
        play.commit(work)?;
        if round == 1 {
            play.checkpoint()?;
        }
        play.close()?;
        play.open()?;
        play.check()?;
    }
    delete(play, 5..25)?;
    play.maintain()?;
    play.close()?;
    play.open()
}

fn backup(play: &mut Play) -> Played {
    start(play)?;
    fill(play, 0..40, 10)?;
    play.flush()?;
    play.backup(1)?;
    let mut open = play.begin();
    play.put(&mut open, TABLE, &key(3), b"not yet")?;
    let mut work = play.begin();
    play.put(&mut work, TABLE, &key(90), &value(90, 9000))?;
    play.commit(work)?;
    play.backup(2)?;
    play.roll_back(open)?;
    fill(play, 50..60, 5)?;
    play.flush()
}

fn recovery(play: &mut Play) -> Played {
    start_checking_redo(play)?;
    fill(play, 0..50, 10)?;
    play.checkpoint()?;
    play.create_table("gone")?;
    let mut loser = play.begin();
    for number in 10..30 {
        play.update(&mut loser, TABLE, &key(number), &value(1, 90))?;
    }
    play.put(&mut loser, TABLE, &key(91), &value(91, 9000))?;
    fill(play, 60..80, 5)?;
    play.flush()?;
    delete(play, 60..70)?;
    play.flush()?;
    play.crash(CrashImage::KeepAll)?;
    drop(loser);
    play.open()?;
    play.check()?;
    let mut loser = play.begin();
    (30..40).try_for_each(|n| play.delete(&mut loser, TABLE, &key(n)))?;
    play.drop_table("gone")?;
    fill(play, 100..110, 5)?;
    play.crash(CrashImage::Random(7))?;
    drop(loser);
    play.open()?;
    play.check()?;
    fill(play, 200..210, 5)?;
    play.flush()
}

fn unflushed(play: &mut Play) -> Played {
    start(play)?;
    for round in 0..8 {
        for number in 0..10 {
            let mut work = play.begin();
            play.put(&mut work, TABLE, &key(number), &value(round, 30))?;
            play.put(&mut work, TABLE, &key(100 + round * 10 + number), &value(number, 30))?;
            play.commit(work)?;
            play.read(TABLE, &[key(number), key(5), key(999)])?;
        }
        play.flush()?;
        play.read(TABLE, &[key(round)])?;
    }
    Ok(())
}

fn full(play: &mut Play) -> Played {
    start(play)?;
    fill(play, 0..20, 5)?;
    play.checkpoint()?;
    for round in 0..3 {
        play.disk.set_space_bytes(Some(play.disk.used_bytes() + (round << 14)));
        let mut work = play.begin();
        let mut number = 100 * (round + 1);
        while number < 100 * (round + 1) + 60 {
            if !play.try_put(&mut work, TABLE, &key(number), &value(number, 4000))? {
                break;
            }
            number += 1;
        }
        play.read(TABLE, &[key(0), key(19)])?;
        if round == 1 {
            play.roll_back(work)?;
        } else {
            play.commit(work)?;
        }
        play.disk.set_space_bytes(None);
        play.checkpoint()?;
        fill(play, round * 7 + 30..round * 7 + 37, 3)?;
        play.flush()?;
    }
    play.check()
}

/// A transaction that fills the log can be taken back, in part and as a whole.
fn log_full(play: &mut Play) -> Played {
    play.options.log.segment_bytes = 8 << 10;
    play.options.log.capacity_bytes = 128 << 10;
    start(play)?;
    fill(play, 0..10, 5)?;
    play.checkpoint()?;
    for round in 0..2 {
        let mut work = play.begin();
        play.put(&mut work, TABLE, &key(0), &value(round, 30))?;
        let mark = play.mark(&mut work);
        for number in 0..900 {
            let value = value(number, 200);
            if !play.try_put(&mut work, TABLE, &key(100 + number % 20), &value)? {
                break;
            }
        }
        if round == 0 {
            play.roll_back(work)?;
        } else {
            play.back_to(&mut work, &mark)?;
            play.commit_durably(work)?;
        }
        play.checkpoint()?;
        fill(play, round * 10 + 10..round * 10 + 15, 5)?;
        play.flush()?;
    }
    Ok(())
}

fn drops(play: &mut Play) -> Played {
    start(play)?;
    play.create_table("big")?;
    for some in 0..4 {
        let mut work = play.begin();
        for number in some * 20..some * 20 + 20 {
            play.put(&mut work, "big", &key(number), &value(number, 60))?;
        }
        play.put(&mut work, "big", &key(some), &value(some, 9000))?;
        play.commit(work)?;
    }
    play.checkpoint()?;
    play.drop_table("big")?;
    fill(play, 0..30, 10)?;
    play.create_table("big")?;
    play.checkpoint()?;
    let mut work = play.begin();
    play.put(&mut work, "big", &key(1), &value(1, 2000))?;
    play.commit_durably(work)?;
    play.drop_table("big")
}

fn old_closed(play: &mut Play) -> Played {
    play.place(VERSION_1_CLOSED, old_contents(false))?;
    use_old(play)
}

fn old_killed(play: &mut Play) -> Played {
    play.place(VERSION_1_KILLED, old_contents(true))?;
    use_old(play)
}

/// What the old databases say.
fn old_contents(was_killed: bool) -> Vec<Change> {
    let of = |table: &str| Change::Create { table: table.into() };
    let is_there =
        |n: &u64| *n >= 120 || !n.is_multiple_of(7) || (was_killed && (20..30).contains(n));
    let row = |n: u64| Change::put("rows", &key(n), &vec![n as u8; 5 + (n % 40) as usize]);
    let large = |n: u64| Change::put("large", &key(n), &vec![n as u8 + 1; 1000 + n as usize]);
    let rows = (0..160).filter(is_there).map(row);
    [of("rows"), of("large")].into_iter().chain(rows).chain((0..3).map(large)).collect()
}

fn use_old(play: &mut Play) -> Played {
    play.open()?;
    play.check()?;
    let mut work = play.begin();
    (150..165).try_for_each(|n| play.put(&mut work, "rows", &key(n), &value(n, 50)))?;
    play.commit_durably(work)?;
    play.checkpoint()?;
    let mut work = play.begin();
    play.delete(&mut work, "rows", &key(150))?;
    play.commit(work)?;
    play.close()?;
    play.open()?;
    play.check()
}

fn mixed(play: &mut Play) -> Played {
    start(play)?;
    for round in 0..60 {
        let mut work = play.begin();
        for _ in 0..play.random.between(1, 6) {
            mixed_write(play, &mut work)?;
        }
        match play.random.below(8) {
            0 => play.roll_back(work)?,
            1 | 2 => play.commit_durably(work)?,
            _ => play.commit(work).map(drop)?,
        }
        match play.random.below(20) {
            0 => play.checkpoint()?,
            1 => play.maintain()?,
            _ => {}
        }
        if round % 25 == 24 {
            play.close()?;
            play.open()?;
        }
    }
    play.checkpoint()
}

fn mixed_write(play: &mut Play, work: &mut Work) -> Played {
    let number = play.random.below(80);
    let len = play.random.pick(&[8, 20, 20, 50, 50, 100, 300, 1500]);
    let value = value(play.random.next_u64(), len);
    play.put(work, TABLE, &key(number), &value)?;
    if play.random.one_in(3) {
        play.delete(work, TABLE, &key(number))?;
    }
    Ok(())
}
