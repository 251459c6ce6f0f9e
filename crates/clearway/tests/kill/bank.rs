//! The data of the kill tests, and the check of its invariants.
//!
//! The tables `account` and `history` are those of the test kit's bank (BANK-1, BANK-2). In
//! addition:
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `batch` | writer, batch, index | all of a batch's rows or none |

use std::collections::HashMap;

use clearway::{Database, Result, Table, Transaction};
use clearway_testkit::bank::{self, Bank, BankTables, BankTransfer, pair};
use clearway_workloads::ClearwayTransaction;

use crate::NO_CLIENT;

/// Long rows, so that pages fill and split.
pub(crate) const BANK: Bank = Bank { accounts: 400, padding: 92 };
/// Rows of a batch.
pub(crate) const BATCH: u64 = 24;
/// Rows that one transaction of the check reads.
const CHUNK: usize = 5_000;

/// The tables.
#[derive(Clone)]
pub(crate) struct Books {
    db: Database,
    pub(crate) bank: BankTables<Table>,
    pub(crate) batch: Table,
}

/// Returns the number in the 8 bytes from `at` on.
pub(crate) fn number(bytes: &[u8], at: usize) -> u64 {
    bank::number(bytes, at).unwrap()
}

impl Books {
    pub(crate) fn open(db: &Database) -> Result<Books> {
        let [account, history] = bank::TABLES.map(|name| db.table(name));
        let bank = BankTables { account: account?, history: history? };
        Ok(Books { db: db.clone(), bank, batch: db.table("batch")? })
    }

    /// Performs a transfer. A closure of `submit`.
    pub(crate) fn transfer(&self, tx: &mut Transaction, transfer: &BankTransfer) -> Result<()> {
        BANK.transfer(&mut ClearwayTransaction::new(tx), &self.bank, transfer)
    }

    /// Returns the last sequence of a client.
    pub(crate) fn last_sequence(&self, client: u64) -> Result<u64> {
        self.db.transact("last", |tx| {
            let range = pair(client, 0)..=pair(client, u64::MAX);
            let last = tx.scan_descending(&self.bank.history, range).next().transpose()?;
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
        let (accounts, history) = (self.rows(&self.bank.account), self.rows(&self.bank.history));
        let last = bank::check(accounts, history).unwrap();
        for (client, acknowledged) in acknowledged.iter().filter(|(client, _)| **client < NO_CLIENT)
        {
            let found = last.get(client).copied().unwrap_or(0);
            assert!(
                found >= *acknowledged,
                "client {client}: {acknowledged} was acknowledged, {found} is the last one there"
            );
        }
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
