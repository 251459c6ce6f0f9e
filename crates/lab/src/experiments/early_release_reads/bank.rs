//! The workload: TPC-B in which a share of the writing queries only read.
//!
//! Each of the four queries of a transaction is converted independently, as in the paper: an update
//! of a row becomes a read of the same row. For a transaction to be read-only, the insert into the
//! history must be converted too; it becomes a read of the client's last history row. The balances
//! of such a bank do not add up, so this is not the TPC-B of `clearway_workloads`, but has the same
//! rows in the same order.

use clearway::{Error, Pending, Result, Table};
use clearway_sync::atomic::{AtomicU64, Ordering};
use clearway_testkit::Random;
use clearway_workloads::{ClearwayStore, Operations, Sampler, Skew, Store, Workload};

const TELLERS: u64 = 10;
/// A row of an account, a teller or a branch.
const ROW: [u8; 100] = [0; 100];
const HISTORY_ROW: [u8; 50] = [0; 50];
/// The number of rows that a loading transaction inserts.
const LOAD_ROWS: u64 = 500;

/// The size of the bank and the distribution of the queries.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) branches: u32,
    pub(super) accounts: u32,
    /// Zipf's exponent for the choice of the branch and of the account within it; 0 is uniform.
    pub(super) skew: f64,
    /// The percentage of queries that read instead of writing.
    pub(super) reads: u32,
}

/// A loaded bank.
pub(super) struct Bank {
    account: Table,
    teller: Table,
    branch: Table,
    history: Table,
    shape: Shape,
    branches: Sampler,
    accounts: Sampler,
    clients: AtomicU64,
}

/// A client: its random numbers, the key of its last history row, and a row buffer.
pub(super) struct Client {
    random: Random,
    history: u64,
    row: Vec<u8>,
}

/// The work of one transaction, drawn before it starts so that a retry does the same.
pub(super) struct Work {
    account: u64,
    teller: u64,
    branch: u64,
    history: u64,
    /// True for each query that only reads: account, history, teller, branch.
    reads: [bool; 4],
}

fn load(store: &ClearwayStore, table: &Table, rows: u64) -> Result<()> {
    for first in (0..rows).step_by(LOAD_ROWS as usize) {
        store.run("load", |tx| {
            let rows = first..rows.min(first + LOAD_ROWS);
            rows.into_iter().try_for_each(|row| tx.insert(table, &row.to_be_bytes(), &ROW))
        })?;
    }
    Ok(())
}

impl Bank {
    /// Loads a new bank into an empty database.
    pub(super) fn load(store: &ClearwayStore, shape: Shape) -> Result<Bank> {
        let (branches, accounts) = (u64::from(shape.branches), u64::from(shape.accounts));
        let skew = if shape.skew > 0.0 { Skew::Zipf(shape.skew) } else { Skew::Uniform };
        let bank = Bank {
            account: store.table("account")?,
            teller: store.table("teller")?,
            branch: store.table("branch")?,
            history: store.table("history")?,
            shape,
            branches: Sampler::new(skew, branches),
            accounts: Sampler::new(skew, accounts),
            clients: AtomicU64::new(0),
        };
        load(store, &bank.account, branches * accounts)?;
        load(store, &bank.teller, branches * TELLERS)?;
        load(store, &bank.branch, branches)?;
        Ok(bank)
    }

    fn work(&self, client: &mut Client) -> Work {
        let random = &mut client.random;
        let branch = self.branches.pick(random);
        let account = branch * u64::from(self.shape.accounts) + self.accounts.pick(random);
        let teller = branch * TELLERS + random.below(TELLERS);
        let reads = std::array::from_fn(|_| random.below(100) < u64::from(self.shape.reads));
        client.history += u64::from(!reads[1]);
        Work { account, teller, branch, history: client.history, reads }
    }

    fn perform<T: Operations<Table = Table, Error = Error>>(
        &self,
        tx: &mut T,
        work: &Work,
        row: &mut Vec<u8>,
    ) -> Result<()> {
        let [account, history, teller, branch] = work.reads;
        query(tx, &self.account, work.account, account, row)?;
        let key = work.history.to_be_bytes();
        if history {
            tx.get(&self.history, &key, row)?;
        } else {
            tx.insert(&self.history, &key, &HISTORY_ROW)?;
        }
        query(tx, &self.teller, work.teller, teller, row)?;
        query(tx, &self.branch, work.branch, branch, row)
    }
}

/// Reads a row, or adds to its balance.
fn query<T: Operations<Table = Table, Error = Error>>(
    tx: &mut T,
    table: &Table,
    id: u64,
    reads: bool,
    row: &mut Vec<u8>,
) -> Result<()> {
    let key = id.to_be_bytes();
    if reads {
        return tx.get(table, &key, row).map(drop);
    }
    tx.get_for_update(table, &key, row)?;
    let Some((balance, _)) = row.split_first_chunk_mut() else {
        return Err(Error::Aborted { reason: format!("row {id} is missing") });
    };
    *balance = u64::from_le_bytes(*balance).wrapping_add(1).to_le_bytes();
    tx.update(table, &key, row)
}

impl Workload<ClearwayStore> for Bank {
    type Client = Client;
    type Work = Work;
    type Output = ();

    fn types(&self) -> &'static [&'static str] {
        &["tpcb"]
    }

    fn client(&self, seed: u64) -> Client {
        // Relaxed: only the uniqueness of the numbers matters.
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        Client { random: Random::stream(seed, number), history: number << 32, row: Vec::new() }
    }

    fn draw(&self, client: &mut Client) -> (usize, Work) {
        (0, self.work(client))
    }

    fn run(&self, store: &ClearwayStore, client: &mut Client, work: &Work) -> Result<()> {
        store.run("tpcb", |tx| self.perform(tx, work, &mut client.row))
    }

    fn submit(
        &self,
        store: &ClearwayStore,
        client: &mut Client,
        work: &Work,
    ) -> Result<Pending<()>> {
        store.submit("tpcb", |tx| self.perform(tx, work, &mut client.row))
    }
}
