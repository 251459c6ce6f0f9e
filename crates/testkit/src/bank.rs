//! The bank of the tests: transfers between accounts, and a history of them.
//!
//! | table | key | row |
//! | --- | --- | --- |
//! | `account` | number | balance, then padding |
//! | `history` | client, sequence | from, to, amount |
//!
//! All numbers are big-endian and of 8 bytes. Each client numbers its transfers 1, 2, 3 … and has
//! at most one in progress, so that at every moment, and after every crash:
//!
//! - BANK-1. The balance of an account is the sum of its history; an account without a row has 0.
//! - BANK-2. The history of a client has no gap, and reaches at least to the last transfer that was
//!   acknowledged to it.
//!
//! A transfer is a program over any engine's [`Operations`]. The checks read plain rows, so they
//! work on a scan of a database and on a model of one.

use std::collections::BTreeMap;

use crate::{
    Random,
    program::{KeyBounds, Operations, ProgramError, ScanOrder},
};

/// The names of the tables.
pub const TABLES: [&str; 2] = ["account", "history"];

/// One transfer in this many first does work that it undoes.
pub const UNDONE_EVERY: u64 = 5;
/// The client of history rows that are always undone.
pub const UNDONE_CLIENT: u64 = u64::MAX;

/// The size of a bank.
#[derive(Clone, Copy, Debug)]
pub struct Bank {
    /// The number of accounts; at least 2.
    pub accounts: u64,
    /// The number of bytes after each balance. Long rows fill and split pages.
    pub padding: usize,
}

/// The tables of a bank.
#[derive(Clone, Debug)]
pub struct BankTables<T> {
    /// The table `account`.
    pub account: T,
    /// The table `history`.
    pub history: T,
}

/// One transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BankTransfer {
    /// The client.
    pub client: u64,
    /// The number of the transfer among those of its client, from 1 on.
    pub sequence: u64,
    /// The account that loses the amount.
    pub from: u64,
    /// The account that gains the amount; another one.
    pub to: u64,
    /// The amount.
    pub amount: u64,
}

/// Returns the key of two numbers.
pub fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&second.to_be_bytes());
    key
}

/// Returns the number in the 8 bytes from `at` on; `None` if the bytes end before.
pub fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|number| u64::from_be_bytes(*number))
}

impl BankTransfer {
    /// Returns the key of its row in the history.
    pub fn history_key(&self) -> [u8; 16] {
        pair(self.client, self.sequence)
    }

    /// Returns its row in the history.
    pub fn history_row(&self) -> Vec<u8> {
        [self.from, self.to, self.amount].map(u64::to_be_bytes).concat()
    }
}

impl Bank {
    /// Draws a transfer between two different accounts.
    pub fn draw(&self, random: &mut Random, client: u64, sequence: u64) -> BankTransfer {
        let from = random.below(self.accounts);
        let to = (from + 1 + random.below(self.accounts - 1)) % self.accounts;
        BankTransfer { client, sequence, from, to, amount: random.below(1_000) }
    }

    /// Moves the amount, and adds a row to the history. One transfer in five adds to a balance and
    /// to the history before that, and rolls back to a savepoint: this too must leave nothing.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn transfer<O: Operations>(
        &self,
        tx: &mut O,
        tables: &BankTables<O::Table>,
        transfer: &BankTransfer,
    ) -> Result<(), O::Error> {
        let BankTransfer { from, to, amount, sequence, .. } = *transfer;
        self.add(tx, &tables.account, from, amount.wrapping_neg())?;
        if sequence.is_multiple_of(UNDONE_EVERY) {
            let before = tx.savepoint()?;
            self.add(tx, &tables.account, to, 1_000_000)?;
            tx.put(&tables.history, &pair(UNDONE_CLIENT, sequence), b"never committed")?;
            tx.rollback_to(&before)?;
        }
        self.add(tx, &tables.account, to, amount)?;
        tx.insert(&tables.history, &transfer.history_key(), &transfer.history_row())
    }

    /// Adds to a balance; balances wrap around.
    fn add<O: Operations>(
        &self,
        tx: &mut O,
        accounts: &O::Table,
        account: u64,
        amount: u64,
    ) -> Result<(), O::Error> {
        let (key, mut row) = (account.to_be_bytes(), Vec::new());
        tx.get_for_update(accounts, &key, &mut row)?;
        let balance = number(&row, 0).unwrap_or(0).wrapping_add(amount);
        self.fill_row(&mut row, balance);
        tx.put(accounts, &key, &row)
    }

    /// Returns the row of an account with this balance.
    pub fn row(&self, balance: u64) -> Vec<u8> {
        let mut row = Vec::new();
        self.fill_row(&mut row, balance);
        row
    }

    fn fill_row(&self, row: &mut Vec<u8>, balance: u64) {
        row.clear();
        row.extend(balance.to_be_bytes());
        row.resize(8 + self.padding, b'.');
    }
}

/// Reads all balances in one transaction, and checks that their sum is 0: no transaction sees half
/// a transfer.
///
/// # Errors
/// Those of the engine, and a sum that is not 0.
pub fn audit<O: Operations>(tx: &mut O, accounts: &O::Table) -> Result<(), O::Error> {
    let mut sum = 0u64;
    let all: KeyBounds<'_> = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    tx.scan(accounts, all, ScanOrder::Ascending, &mut |_, row| {
        sum = sum.wrapping_add(number(row, 0).unwrap_or(0));
        true
    })?;
    match sum {
        0 => Ok(()),
        _ => Err(O::Error::failed(format!("the sum of all balances is {}", sum as i64))),
    }
}

/// Checks BANK-1, and that no history has a gap (the first part of BANK-2). Returns the last
/// sequence of each client.
///
/// # Errors
/// The first violation, in words.
pub fn check<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    accounts: impl IntoIterator<Item = (K, V)>,
    history: impl IntoIterator<Item = (K, V)>,
) -> Result<BTreeMap<u64, u64>, String> {
    let malformed = |key: &K, row: &V| format!("{:?}: {:?}", key.as_ref(), row.as_ref());
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for (key, row) in history {
        let numbers = [(key.as_ref(), 0), (key.as_ref(), 8)].map(|(key, at)| number(key, at));
        let parts = [0, 8, 16].map(|at| number(row.as_ref(), at));
        let ([Some(client), Some(sequence)], [Some(from), Some(to), Some(amount)]) =
            (numbers, parts)
        else {
            return Err(format!("no history row: {}", malformed(&key, &row)));
        };
        let before = last.insert(client, sequence).unwrap_or(0);
        if sequence != before + 1 {
            return Err(format!("client {client}: transfer {sequence} follows {before}"));
        }
        let balance = expected.entry(from).or_default();
        *balance = balance.wrapping_sub(amount);
        let balance = expected.entry(to).or_default();
        *balance = balance.wrapping_add(amount);
    }
    for (key, row) in accounts {
        let (Some(account), Some(balance)) = (number(key.as_ref(), 0), number(row.as_ref(), 0))
        else {
            return Err(format!("no account: {}", malformed(&key, &row)));
        };
        let wanted = expected.remove(&account).unwrap_or(0);
        if balance != wanted {
            let (balance, wanted) = (balance as i64, wanted as i64);
            return Err(format!("account {account} has {balance}, by its history {wanted}"));
        }
    }
    match expected.into_iter().find(|(_, balance)| *balance != 0) {
        Some((account, _)) => Err(format!("account {account} has a history and no row")),
        None => Ok(last),
    }
}

#[cfg(test)]
mod tests;
