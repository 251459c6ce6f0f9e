//! Several threads sell from one hot stock counter with pipelined commits, and log every sale.
//!
//! Shows `submit`: the counter's lock is released before the sale is on disk, so transactions that
//! all update one row do not wait for the disk; and no sale is reported before it is durable. At
//! the end the reported sales, the remaining stock and the sales log agree.
//!
//! `cargo run --release -p clearway --example inventory_counter [DIRECTORY]`

use std::{collections::VecDeque, thread};

use clearway::{Database, Error, Options, Pending, Result, Table};

const STOCK: u64 = 2_000;
const CLERKS: u32 = 4;
/// Upper bound on the sales that one clerk has in flight.
const IN_FLIGHT: usize = 32;
const ITEM: &[u8] = b"bolt";

fn main() -> Result<()> {
    let db = match std::env::args_os().nth(1) {
        Some(directory) => Database::open(directory)?,
        None => Options::in_memory().cache_size(16 << 20).open("inventory")?,
    };
    // Do not touch the contents of a directory that the user names.
    if !db.tables().is_empty() {
        let reason = "it has tables already; name an absent or empty directory".into();
        return Err(Error::Aborted { reason });
    }
    run(&db)
}

/// Fills the stock, sells all of it and checks the totals.
pub(crate) fn run(db: &Database) -> Result<()> {
    for name in ["stock", "sales"] {
        match db.drop_table(name) {
            Ok(()) | Err(Error::UnknownTable { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let (stock, sales) = (db.table("stock")?, db.table("sales")?);
    db.transact("fill", |tx| tx.insert(&stock, ITEM, STOCK.to_be_bytes()))?;

    let reported = thread::scope(|scope| {
        let (stock, sales) = (&stock, &sales);
        let clerks: Vec<_> =
            (0..CLERKS).map(|clerk| scope.spawn(move || sell(db, stock, sales, clerk))).collect();
        clerks.into_iter().map(|clerk| clerk.join().expect("a clerk panicked")).sum::<Result<u64>>()
    })?;

    let (left, logged) = db.transact("audit", |tx| {
        let left = decode(&tx.get(&stock, ITEM)?.ok_or_else(Error::not_found)?);
        let logged = tx.scan(&sales, ..).try_fold(0, |n, sale| sale.map(|_| n + 1))?;
        Ok((left, logged))
    })?;
    assert_eq!(left, 0);
    assert_eq!(logged, STOCK, "each sale is logged once");
    assert_eq!(reported, STOCK, "each sale is reported once");
    println!("{reported} sold, {left} left, {logged} in the log");
    Ok(())
}

/// Runs one clerk, who keeps sales in flight until the stock is empty. Returns the number of
/// durable sales.
fn sell(db: &Database, stock: &Table, sales: &Table, clerk: u32) -> Result<u64> {
    let mut in_flight: VecDeque<Pending<bool>> = VecDeque::new();
    let (mut sold, mut number, mut empty) = (0, 0u32, false);
    while !empty || !in_flight.is_empty() {
        if empty || in_flight.len() == IN_FLIGHT {
            if let Some(oldest) = in_flight.pop_front() {
                let was_sold = oldest.wait()?;
                sold += u64::from(was_sold);
                empty |= !was_sold;
            }
            continue;
        }
        number += 1;
        in_flight.push_back(db.submit("sell", |tx| {
            let row = tx.get_for_update(stock, ITEM)?.ok_or_else(Error::not_found)?;
            let left = decode(&row);
            if left == 0 {
                return Ok(false);
            }
            tx.put(stock, ITEM, (left - 1).to_be_bytes())?;
            let sale = [clerk.to_be_bytes(), number.to_be_bytes()].concat();
            tx.insert(sales, sale, left.to_be_bytes())?;
            Ok(true)
        })?);
    }
    Ok(sold)
}

fn decode(row: &[u8]) -> u64 {
    u64::from_be_bytes(row.try_into().expect("a count has eight bytes"))
}
