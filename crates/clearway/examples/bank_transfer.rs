//! Several threads move money between accounts; the total never changes.
//!
//! Shows `transact` with business errors (`abort`), the retry of deadlock victims (the two accounts
//! are locked in random order on purpose), and a scan that sees a consistent total while transfers
//! are running.
//!
//! `cargo run --release -p clearway --example bank_transfer [DIRECTORY]`

use std::thread;

use clearway::{Database, Error, Options, Result, Table, Transaction};

const ACCOUNTS: u64 = 50;
const OPENING_BALANCE: i64 = 1_000;
const THREADS: u64 = 4;
const TRANSFERS: u64 = 500;

fn main() -> Result<()> {
    let db = match std::env::args_os().nth(1) {
        Some(directory) => Database::open(directory)?,
        None => Options::in_memory().cache_size(16 << 20).open("bank")?,
    };
    // Do not touch the contents of a directory that the user names.
    if !db.tables().is_empty() {
        let reason = "it has tables already; name an absent or empty directory".into();
        return Err(Error::Aborted { reason });
    }
    run(&db)
}

/// Opens the accounts, runs the transfers and checks the total.
pub(crate) fn run(db: &Database) -> Result<()> {
    let accounts = db.table("accounts")?;
    db.transact("open", |tx| {
        (0..ACCOUNTS).try_for_each(|id| write(tx, &accounts, id, OPENING_BALANCE))
    })?;

    let refused = thread::scope(|scope| {
        let accounts = &accounts;
        let workers: Vec<_> = (0..THREADS)
            .map(|seed| scope.spawn(move || transfer_many(db, accounts, seed + 1)))
            .collect();
        let total = db.transact("audit", |tx| total(tx, accounts))?;
        assert_eq!(total, ACCOUNTS as i64 * OPENING_BALANCE, "an audit saw half a transfer");
        let refused = workers.into_iter().map(|worker| worker.join().expect("a teller panicked"));
        refused.sum::<Result<u64>>()
    })?;

    let total = db.transact("audit", |tx| total(tx, &accounts))?;
    assert_eq!(total, ACCOUNTS as i64 * OPENING_BALANCE);
    println!("{} transfers, {refused} refused, total {total}", THREADS * TRANSFERS);
    for kind in db.stats().types {
        println!("{:>10}: {} commits, {} retries", kind.name, kind.commits, kind.retries);
    }
    Ok(())
}

/// Runs one thread's transfers. Returns the number that lacked funds.
fn transfer_many(db: &Database, accounts: &Table, seed: u64) -> Result<u64> {
    let (mut random, mut refused) = (seed, 0);
    let mut draw = |bound: u64| {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    for _ in 0..TRANSFERS {
        let (from, to, amount) = (draw(ACCOUNTS), draw(ACCOUNTS), draw(400) as i64);
        match db.transact("transfer", |tx| transfer(tx, accounts, from, to, amount)) {
            Ok(()) => {}
            Err(Error::Aborted { .. }) => refused += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}

fn transfer(tx: &mut Transaction, accounts: &Table, from: u64, to: u64, amount: i64) -> Result<()> {
    let balance = read(tx, accounts, from)?;
    if balance < amount {
        return tx.abort(format!("account {from} has {balance}, not {amount}"));
    }
    write(tx, accounts, from, balance - amount)?;
    let balance = read(tx, accounts, to)?;
    write(tx, accounts, to, balance + amount)
}

fn read(tx: &mut Transaction, accounts: &Table, id: u64) -> Result<i64> {
    let row = tx.get_for_update(accounts, id.to_be_bytes())?.ok_or_else(Error::not_found)?;
    Ok(decode(&row))
}

fn write(tx: &mut Transaction, accounts: &Table, id: u64, balance: i64) -> Result<()> {
    tx.put(accounts, id.to_be_bytes(), balance.to_be_bytes()).map(drop)
}

fn total(tx: &mut Transaction, accounts: &Table) -> Result<i64> {
    tx.scan(accounts, ..).try_fold(0, |sum, entry| Ok(sum + decode(&entry?.1)))
}

fn decode(row: &[u8]) -> i64 {
    i64::from_be_bytes(row.try_into().expect("a balance has eight bytes"))
}
