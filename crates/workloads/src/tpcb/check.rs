//! The bank's consistency: accounts, tellers, branches and history received the same amounts.
//!
//! TPC-B's conditions: each branch's balance equals the sum of its tellers' and the sum of its
//! history rows' deltas. Transactions of other branches change accounts, too, so account sums agree
//! only in total. Rows are read in many small transactions: run it while nothing else writes.

use std::{ops::Bound, thread};

use clearway_testkit::program::{Operations, ScanOrder};

use super::{
    TELLERS, Tpcb, TpcbScale,
    rows::{history_branch, key, read_balance},
};
use crate::{
    driver::{join, start},
    store::Store,
};

/// Rows that one transaction of the check reads.
const ROWS_PER_TRANSACTION: u64 = 2_000;

/// The sums of a bank.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TpcbBalance {
    /// Sum of the accounts' balances.
    pub accounts: i64,
    /// Sum of the tellers' balances.
    pub tellers: i64,
    /// Sum of the branches' balances.
    pub branches: i64,
    /// Sum of the history rows' deltas.
    pub history: i64,
    /// Rows of the account table.
    pub account_rows: u64,
    /// Rows of the teller table.
    pub teller_rows: u64,
    /// Rows of the branch table.
    pub branch_rows: u64,
    /// Rows of the history table: committed transactions since the bank was loaded.
    pub history_rows: u64,
    /// Branches whose balance differs from their tellers' or from their history's.
    pub branches_off: u64,
    /// Rows that should be there and are not, or are there and should not.
    pub rows_off: u64,
}

impl TpcbBalance {
    /// Whether all sums agree, for each branch and in total, and no row is missing.
    pub fn is_consistent(&self) -> bool {
        self.accounts == self.tellers
            && self.tellers == self.branches
            && self.branches == self.history
            && self.branches_off == 0
            && self.rows_off == 0
    }
}

/// Rows and sum of a part of a table.
#[derive(Clone, Copy, Default)]
struct Sum {
    rows: u64,
    balance: i64,
}

impl<S: Store> Tpcb<S> {
    /// Reads the whole bank with `threads` threads and sums it up.
    pub fn check(&self, store: &S, threads: usize) -> Result<TpcbBalance, S::Error> {
        let branches = self.scale.branches as usize;
        let accounts = self.sum_accounts(store, threads)?;
        let mut by_branch = vec![[0i64; 3]; branches];
        let mut counts = [0u64; 3];
        let tables = [&self.tables.branch, &self.tables.teller, &self.tables.history];
        for (column, table) in tables.into_iter().enumerate() {
            counts[column] = scan_rows::<S>(store, table, 0, None, &mut |id, row| {
                let branch = match column {
                    0 => id,
                    1 => id / TELLERS,
                    _ => history_branch(row),
                };
                if let Some(sums) = by_branch.get_mut(branch as usize) {
                    sums[column] = sums[column].wrapping_add(read_balance(row));
                }
            })?;
        }
        let total = |column: usize| {
            by_branch.iter().fold(0i64, |sum, branch| sum.wrapping_add(branch[column]))
        };
        Ok(TpcbBalance {
            accounts: accounts.balance,
            branches: total(0),
            tellers: total(1),
            history: total(2),
            account_rows: accounts.rows,
            branch_rows: counts[0],
            teller_rows: counts[1],
            history_rows: counts[2],
            branches_off: by_branch.iter().filter(|[b, t, h]| b != t || b != h).count() as u64,
            rows_off: rows_off(self.scale, accounts.rows, counts),
        })
    }

    /// Rows of the history table now.
    pub fn history_rows(&self, store: &S) -> Result<u64, S::Error> {
        scan_rows::<S>(store, &self.tables.history, 0, None, &mut |_, _| ())
    }

    fn sum_accounts(&self, store: &S, threads: usize) -> Result<Sum, S::Error> {
        let (accounts, parts) = (self.scale.accounts(), threads.max(1) as u64);
        let table = &self.tables.account;
        thread::scope(|scope| {
            let workers: Vec<_> = (0..parts)
                .map(|part| {
                    let from = accounts * part / parts;
                    // The last part has no end, so that rows that should not be there are met.
                    let to = (part + 1 < parts).then_some(accounts * (part + 1) / parts);
                    start::<S, _>(scope, move || {
                        let mut balance = 0i64;
                        let rows = scan_rows::<S>(store, table, from, to, &mut |_, row| {
                            balance = balance.wrapping_add(read_balance(row));
                        })?;
                        Ok(Sum { rows, balance })
                    })
                })
                .collect();
            workers.into_iter().try_fold(Sum::default(), |sum, worker| {
                worker.and_then(join::<S, _>).map(|part| Sum {
                    rows: sum.rows + part.rows,
                    balance: sum.balance.wrapping_add(part.balance),
                })
            })
        })
    }
}

fn rows_off(scale: TpcbScale, accounts: u64, [branches, tellers, _]: [u64; 3]) -> u64 {
    let wanted = u64::from(scale.branches);
    accounts.abs_diff(scale.accounts())
        + branches.abs_diff(wanted)
        + tellers.abs_diff(wanted * TELLERS)
}

/// Visits rows `from..to` in transactions of `ROWS_PER_TRANSACTION`; returns how many there are.
fn scan_rows<S: Store>(
    store: &S,
    table: &S::Table,
    from: u64,
    to: Option<u64>,
    visit: &mut dyn FnMut(u64, &[u8]),
) -> Result<u64, S::Error> {
    let upper = to.map(key);
    let upper = upper.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..]));
    let (mut rows, mut next) = (0, from);
    loop {
        let lower = key(next);
        let bounds = (Bound::Included(&lower[..]), upper);
        // A retried transaction must not visit twice, so rows are gathered first.
        let batch = store.run("check", |tx| {
            let mut batch: Vec<(u64, Vec<u8>)> = Vec::new();
            tx.scan(table, bounds, ScanOrder::Ascending, &mut |key, row| {
                let id = key.first_chunk().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes));
                batch.push((id, row.to_vec()));
                (batch.len() as u64) < ROWS_PER_TRANSACTION
            })?;
            Ok(batch)
        })?;
        batch.iter().for_each(|(id, row)| visit(*id, row));
        rows += batch.len() as u64;
        match batch.last() {
            Some((last, _)) if batch.len() as u64 == ROWS_PER_TRANSACTION => next = last + 1,
            _ => return Ok(rows),
        }
    }
}
