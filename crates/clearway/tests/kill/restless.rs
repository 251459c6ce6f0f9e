//! A child that does everything that the engine can do: it opens, works, checkpoints and closes,
//! repeatedly; it replaces long values, and creates and drops tables. So it passes every failpoint.
//!
//! Its tables, in addition to those of the other children:
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `large` | sequence modulo [`LARGE`] | the last such sequence of client [`SWAPPER`], often |
//! | `scratch-N` | row | the last sequence of client [`TABLE_MAKER`]; N is that modulo [`NAMES`] |
//!
//! A scratch table is created empty, filled in one transaction, and dropped before the next one is
//! created.

use std::{path::Path, time::Duration};

use clearway::{Database, Error, Result, Transaction};
use clearway_sync::thread;
use clearway_testkit::bank::pair;
use clearway_testkit::{Drawn, Random};

use crate::{
    Acknowledged, NO_CLIENT,
    bank::{BANK, Books, number},
    child::{AGENTS, Driver, Role, batches, clients, exit_on_error, open, say},
    patterned,
};

/// The client that replaces large values.
const SWAPPER: u64 = 1_000;
/// The client that creates and drops tables.
const TABLE_MAKER: u64 = 1_001;
/// The client number that reports the begin of a table's drop. The sequence is that of the
/// transaction that filled the table.
const DROPPING: u64 = NO_CLIENT;
/// The client number that reports the end of a table's drop.
const DROPPED: u64 = NO_CLIENT + 1;

/// Number of keys with large values.
const LARGE: u64 = 8;
/// Number of names of scratch tables.
const NAMES: u64 = 3;
/// Rows of a scratch table, and their length: together a few leaves.
const ROWS: u64 = 60;
const ROW_BYTES: usize = 400;
/// Changes of the transaction that is open during each close.
const LEFT_OPEN: u64 = 12;
/// The mean time for which the database stays open.
const DAY_MS: u64 = 120;
/// The time from the begin of a close until the open transaction is dropped.
const CLOSING_MS: u64 = 30;
/// One close in this many waits for that transaction in vain, which takes a second.
const WAIT_IN_VAIN_EVERY: u64 = 16;

/// Works until killed.
pub(crate) fn run(path: &Path, seed: u64) -> ! {
    let mut random = Random::new(seed * 41);
    for day in seed * 1_000.. {
        let db = open(path, Role::Restless, seed);
        say("\nopen\n");
        exit_on_error(one_day(&db, (seed, day), &mut random));
    }
    unreachable!("there is always another day")
}

/// Works for a while and closes while a transaction is open.
fn one_day(db: &Database, (incarnation, day): (u64, u64), random: &mut Random) -> Result<()> {
    let books = &Books::open(db)?;
    let seed = |n: u64| Random::new(day * 31 + n);
    let driver = Driver::of(incarnation);
    thread::scope(|scope| {
        for agent in 0..AGENTS {
            scope.spawn(move || until_closed(clients(db, books, agent, driver, seed(agent))));
        }
        scope.spawn(move || until_closed(batches(db, books, day, driver, seed(AGENTS))));
        scope.spawn(move || until_closed(swap(db, books, seed(AGENTS + 1))));
        scope.spawn(move || until_closed(make_tables(db, books, seed(AGENTS + 2))));
        scope.spawn(move || {
            until_closed(patterned::fill(db, incarnation, driver, seed(AGENTS + 3)))
        });
        thread::sleep(Duration::from_millis(DAY_MS / 2 + random.below(DAY_MS)));
        db.checkpoint()?;
        let mut tx = db.begin();
        for index in 0..LEFT_OPEN {
            let key = [&pair(u64::MAX, day)[..], &index.to_be_bytes()].concat();
            tx.put(&books.batch, key, b"never committed")?;
        }
        close_under(db, tx, day % WAIT_IN_VAIN_EVERY == 0)
    })
}

/// Closes while a transaction is open. The close does not end it: the next opening undoes it. The
/// transaction is dropped soon after the database begins to refuse work; if the close is to wait
/// for it in vain, it is dropped after the close.
fn close_under(db: &Database, tx: Transaction, waits_in_vain: bool) -> Result<()> {
    let still_in_use =
        |closed: &Result<()>| matches!(closed, Err(Error::StillInUse { transactions: 1, .. }));
    if waits_in_vain {
        let closed = db.close();
        drop(tx);
        assert!(still_in_use(&closed), "a close that leaves a transaction open: {closed:?}");
        return Ok(());
    }
    let closed = thread::scope(|scope| {
        let closing = scope.spawn(|| db.close());
        while db.health().is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(CLOSING_MS));
        drop(tx);
        closing.join().unwrap()
    });
    if still_in_use(&closed) { Ok(()) } else { closed }
}

/// Accepts an error that is due to the close of the database.
fn until_closed(result: Result<()>) {
    match result {
        Err(Error::Closed) => {}
        result => exit_on_error(result),
    }
}

/// Returns the value of `sequence` in the table `large`: up to five pages long.
fn large_value(sequence: u64) -> Vec<u8> {
    sequence.to_be_bytes().repeat(1_000 + sequence as usize % 5 * 800)
}

/// Replaces large values, so that there is something to free after each commit.
fn swap(db: &Database, books: &Books, mut random: Random) -> Result<()> {
    let large = db.table("large")?;
    for sequence in books.last_sequence(SWAPPER)? + 1.. {
        let transfer = BANK.draw(&mut random, SWAPPER, sequence);
        db.transact("swap", |tx| {
            tx.put(&large, (sequence % LARGE).to_be_bytes(), large_value(sequence))?;
            books.transfer(tx, &transfer)
        })?;
        say(&format!("ack {SWAPPER} {sequence}\n"));
    }
    Ok(())
}

fn scratch_name(sequence: u64) -> String {
    format!("scratch-{}", sequence % NAMES)
}

fn make_tables(db: &Database, books: &Books, mut random: Random) -> Result<()> {
    let mut sequence = books.last_sequence(TABLE_MAKER)?;
    // The table that an earlier incarnation may have left.
    drop_if_there(db, &scratch_name(sequence + 1))?;
    loop {
        say(&format!("ack {DROPPING} {sequence}\n"));
        drop_if_there(db, &scratch_name(sequence))?;
        say(&format!("ack {DROPPED} {sequence}\n"));
        sequence += 1;
        let table = db.create_table(&scratch_name(sequence))?;
        let transfer = BANK.draw(&mut random, TABLE_MAKER, sequence);
        db.transact("fill", |tx| {
            for row in 0..ROWS {
                let value = sequence.to_be_bytes().repeat(ROW_BYTES / 8);
                tx.put(&table, row.to_be_bytes(), value)?;
            }
            tx.put(&table, ROWS.to_be_bytes(), large_value(sequence))?;
            books.transfer(tx, &transfer)
        })?;
        say(&format!("ack {TABLE_MAKER} {sequence}\n"));
    }
}

fn drop_if_there(db: &Database, name: &str) -> Result<()> {
    match db.drop_table(name) {
        Err(Error::UnknownTable { .. }) => Ok(()),
        result => result,
    }
}

/// Checks what the children have left. Returns the patterns of keys that are in it.
pub(crate) fn check(db: &Database, acknowledged: &Acknowledged) -> Drawn {
    let books = Books::open(db).unwrap();
    books.check(&acknowledged.highest);
    check_large(db, &books);
    check_scratch(db, &books, acknowledged);
    patterned::check(db, &books, acknowledged)
}

fn check_large(db: &Database, books: &Books) {
    let last = books.last_sequence(SWAPPER).unwrap();
    let rows = books.rows(&db.table("large").unwrap());
    for (key, value) in &rows {
        // The last sequence that belongs to this key.
        let wanted = last - (last + LARGE - number(key, 0)) % LARGE;
        assert!(*value == large_value(wanted), "large value {wanted} is not there, or not whole");
    }
    assert_eq!(rows.len() as u64, last.min(LARGE), "a large value is missing");
}

fn check_scratch(db: &Database, books: &Books, acknowledged: &Acknowledged) {
    let last = books.last_sequence(TABLE_MAKER).unwrap();
    let said = |what: u64| last > 0 && acknowledged.highest.get(&what) == Some(&last);
    let rows = |sequence: u64| {
        let table = db.open_table(&scratch_name(sequence));
        table.ok().map(|table| books.rows(&table))
    };
    match rows(last) {
        None => assert!(said(DROPPING) || last == 0, "table {last} is not there"),
        Some(_) if said(DROPPED) => panic!("table {last} was dropped, and is there"),
        Some(rows) => {
            let of_last = |row: &[u8]| number(row, 0) == last;
            let whole = rows.len() as u64 == ROWS + 1 && rows.iter().all(|(_, row)| of_last(row));
            assert!(whole, "table {last} has {} rows, or those of another", rows.len());
        }
    }
    let next = rows(last + 1);
    assert!(next.is_none_or(|rows| rows.is_empty()), "table {} is half filled", last + 1);
    assert!(rows(last + 2).is_none(), "the table before {last} was dropped, and is there");
}
