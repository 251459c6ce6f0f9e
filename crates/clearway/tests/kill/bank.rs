//! The data of the kill tests, and the check of its invariants.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `account` | number | balance, the sum of its history |
//! | `history` | client, sequence | from, to, amount |
//! | `batch` | writer, batch, index | all of a batch's rows or none |
//!
//! Each client numbers its transactions 1, 2, 3 … and has one in progress at a time, so its history
//! is a sequence of consecutive numbers that reaches at least to the last acknowledged one.

use std::collections::HashMap;

use crate::NO_CLIENT;
use clearway::{Database, Result, Table, Transaction};

pub(crate) const ACCOUNTS: u64 = 400;
/// Rows of a batch.
pub(crate) const BATCH: u64 = 24;
/// Rows that one transaction of the check reads.
const CHUNK: usize = 5_000;

/// The tables.
pub(crate) struct Books {
    db: Database,
    pub(crate) account: Table,
    pub(crate) history: Table,
    pub(crate) batch: Table,
}

/// One transfer, as recorded in the history.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) amount: u64,
}

pub(crate) fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&second.to_be_bytes());
    key
}

pub(crate) fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Books {
    pub(crate) fn open(db: &Database) -> Result<Books> {
        let table = |name| db.table(name);
        let (account, history) = (table("account")?, table("history")?);
        Ok(Books { db: db.clone(), account, history, batch: table("batch")? })
    }

    /// Writes a transfer and its history row. A closure of `submit`.
    pub(crate) fn transfer(
        &self,
        tx: &mut Transaction,
        client: u64,
        sequence: u64,
        what: Transfer,
    ) -> Result<()> {
        self.add(tx, what.from, -(what.amount as i64))?;
        // Work that is undone within the transaction must leave nothing either.
        if sequence.is_multiple_of(5) {
            let before = tx.savepoint()?;
            self.add(tx, what.to, 1_000_000)?;
            tx.put(&self.history, pair(u64::MAX, sequence), b"must never be seen")?;
            tx.rollback_to(&before)?;
        }
        self.add(tx, what.to, what.amount as i64)?;
        let row = [what.from, what.to, what.amount].map(u64::to_be_bytes).concat();
        tx.insert(&self.history, pair(client, sequence), row)
    }

    fn add(&self, tx: &mut Transaction, account: u64, amount: i64) -> Result<()> {
        let key = account.to_be_bytes();
        let balance = tx.get_for_update(&self.account, key)?.map_or(0, |row| number(&row, 0));
        // Long rows, so that pages fill and split.
        let mut row = vec![b'.'; 100];
        row[..8].copy_from_slice(&balance.wrapping_add_signed(amount).to_be_bytes());
        tx.put(&self.account, key, row).map(drop)
    }

    /// Returns the last sequence of a client.
    pub(crate) fn last_sequence(&self, client: u64) -> Result<u64> {
        self.db.transact("last", |tx| {
            let range = pair(client, 0)..=pair(client, u64::MAX);
            let last = tx.scan_descending(&self.history, range).next().transpose()?;
            Ok(last.map_or(0, |(key, _)| number(&key, 8)))
        })
    }

    /// Returns all rows of a table, read in parts.
    pub(crate) fn rows(&self, table: &Table) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        loop {
            let after = rows.last().map_or_else(Vec::new, |(key, _)| [&key[..], &[0]].concat());
            let part = self.db.transact("rows", |tx| {
                tx.scan(table, after.clone()..).take(CHUNK).collect::<Result<Vec<_>>>()
            });
            let part = part.unwrap();
            let done = part.len() < CHUNK;
            rows.extend(part);
            if done {
                return rows;
            }
        }
    }

    /// Panics unless every acknowledged transaction is there and every transaction is complete.
    pub(crate) fn check(&self, acknowledged: &HashMap<u64, u64>) {
        let mut balances: HashMap<u64, u64> = HashMap::new();
        let mut last: HashMap<u64, u64> = HashMap::new();
        for (key, row) in self.rows(&self.history) {
            let (client, sequence) = (number(&key, 0), number(&key, 8));
            let before = last.insert(client, sequence).unwrap_or(0);
            assert_eq!(sequence, before + 1, "client {client}: a gap in its history");
            let [from, to, amount] = [0, 8, 16].map(|at| number(&row, at));
            let balance = balances.entry(from).or_default();
            *balance = balance.wrapping_sub(amount);
            let balance = balances.entry(to).or_default();
            *balance = balance.wrapping_add(amount);
        }
        for (client, acknowledged) in acknowledged.iter().filter(|(client, _)| **client < NO_CLIENT)
        {
            let found = last.get(client).copied().unwrap_or(0);
            assert!(
                found >= *acknowledged,
                "client {client}: {acknowledged} was acknowledged, {found} is the last one there"
            );
        }
        let (mut seen, mut sum) = (0, 0u64);
        for (key, row) in self.rows(&self.account) {
            let (account, balance) = (number(&key, 0), number(&row, 0));
            let wanted = balances.get(&account).copied().unwrap_or(0);
            assert_eq!(balance, wanted, "account {account}: balance and history differ");
            seen += usize::from(balances.contains_key(&account));
            sum = sum.wrapping_add(balance);
        }
        assert_eq!(seen, balances.len(), "an account with a history is missing");
        assert_eq!(sum, 0, "money appeared or vanished");
        self.check_batches();
    }

    fn check_batches(&self) {
        let mut sizes: HashMap<(u64, u64), u64> = HashMap::new();
        for (key, _) in self.rows(&self.batch) {
            *sizes.entry((number(&key, 0), number(&key, 8))).or_default() += 1;
        }
        for (batch, size) in sizes {
            assert_eq!(size, BATCH, "batch {batch:?} is half there");
        }
    }
}
