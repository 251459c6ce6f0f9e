//! The cost of a scanned row: one thread scans 200 rows of 50 bytes in order, from a random start,
//! with everything in memory.
//!
//! ```text
//! cargo bench -p clearway --bench scan_speed [-- SCANS]
//! ```
//! `valgrind --tool=callgrind --toggle-collect='scan_speed::up*' …` counts the instructions of one
//! kind of scan; divided by the number of scans and of rows, they are the cost of a row.

use std::time::Instant;

use clearway::{Database, Options, Result, Table, Transaction};

const RECORDS: u64 = 20_000;
const ROWS: usize = 200;

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let given = std::env::args().skip(1).find(|argument| argument != "--bench");
    let scans = given.map_or(10_000, |n| n.parse().expect("a number"));
    let db = Options::in_memory().cache_size(64 << 20).open("")?;
    let rows = db.table("rows")?;
    for first in (0..RECORDS).step_by(1000) {
        db.transact("load", |tx| {
            (first..first + 1000).try_for_each(|n| tx.insert(&rows, key(n), [7; 50]))
        })?;
    }
    measure("up", &db, &rows, scans, up)?;
    measure("up, lent", &db, &rows, scans, lent)?;
    measure("down", &db, &rows, scans, down)?;
    measure("for update", &db, &rows, scans, for_update)
}

/// The keys of a table of two columns, as the workloads have them.
fn key(n: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&(n as u32 / 1000).to_be_bytes());
    key[4..].copy_from_slice(&n.to_be_bytes());
    key
}

fn measure(
    what: &str,
    db: &Database,
    rows: &Table,
    scans: u64,
    scan: fn(&mut Transaction, &Table, u64) -> Result<usize>,
) -> Result<()> {
    let start = Instant::now();
    for n in 0..scans {
        let at = ROWS as u64 + n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (RECORDS - 2 * ROWS as u64);
        let bytes = db.transact("scan", |tx| scan(tx, rows, at))?;
        assert_eq!(bytes, ROWS * 62);
    }
    let ns = start.elapsed().as_nanos() as u64 / (scans * ROWS as u64).max(1);
    println!("{what}: {ns} ns for each row");
    Ok(())
}

// Not inlined, so that a profiler can be limited to one of them.

#[inline(never)]
fn up(tx: &mut Transaction, rows: &Table, at: u64) -> Result<usize> {
    sum(tx.scan(rows, key(at)..))
}

#[inline(never)]
fn lent(tx: &mut Transaction, rows: &Table, at: u64) -> Result<usize> {
    let (mut scan, mut bytes) = (tx.scan(rows, key(at)..), 0);
    for _ in 0..ROWS {
        bytes += scan.next_ref()?.map_or(0, |(key, value)| key.len() + value.len());
    }
    Ok(bytes)
}

#[inline(never)]
fn down(tx: &mut Transaction, rows: &Table, at: u64) -> Result<usize> {
    sum(tx.scan_descending(rows, ..key(at)))
}

#[inline(never)]
fn for_update(tx: &mut Transaction, rows: &Table, at: u64) -> Result<usize> {
    sum(tx.scan_for_update(rows, key(at)..))
}

fn sum(scan: clearway::Scan<'_>) -> Result<usize> {
    let mut bytes = 0;
    for entry in scan.take(ROWS) {
        let (key, value) = entry?;
        bytes += key.len() + value.len();
    }
    Ok(bytes)
}
