//! The load of a child whose clients are tasks: one thread polls those of an agent. It does the
//! same as the blocking load, so the same checks judge it. In addition, operations are dropped
//! while they wait, and transactions are dropped with an operation in progress.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use clearway::{AsyncTransaction, Database, Error, LentTransaction, Result};
use clearway_testkit::{
    Random,
    bank::{BankTransfer, UNDONE_CLIENT, UNDONE_EVERY, pair},
};
use tokio::{
    runtime::Builder,
    task::{JoinSet, LocalSet, yield_now},
};

use crate::{
    bank::{BANK, BATCH, Books, number},
    child::{batch_value, clients_of, say},
};

/// One transfer in this many is first done in a transaction that is dropped.
const DROPPED_ONE_IN: u64 = 10;
/// Upper bound on the polls of a transaction that is dropped.
const POLLS_MAX: u64 = 6;

/// Runs a future on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    LocalSet::new().block_on(&Builder::new_current_thread().build().unwrap(), future)
}

/// Polls a future, and drops it when it has been polled `polls` times and is not ready: `None`.
async fn polled<F: Future>(polls: u64, future: F) -> Option<F::Output> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(move |cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left <= 1 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// Keeps a transaction of each client of an agent in progress, and reports the acknowledged ones.
pub(crate) fn clients(db: &Database, books: &Books, agent: u64, mut random: Random) -> Result<()> {
    let books = Arc::new(books.clone());
    let mut starts = Vec::new();
    for client in clients_of(agent) {
        starts.push((client, books.last_sequence(client)?, Random::new(random.next_u64())));
    }
    block_on(async {
        let mut clients = JoinSet::new();
        for (client, last, random) in starts {
            clients.spawn_local(work(db.clone(), books.clone(), (client, last), random));
        }
        clients.join_next().await.expect("there are clients").unwrap()
    })
}

/// The transfers of one client, in each of the ways in which tasks run transactions.
async fn work(
    db: Database,
    books: Arc<Books>,
    (client, last): (u64, u64),
    mut random: Random,
) -> Result<()> {
    for sequence in last + 1.. {
        let transfer = BANK.draw(&mut random, client, sequence);
        if random.one_in(DROPPED_ONE_IN) {
            let mut tx = db.begin_async("dropped");
            let polls = 1 + random.below(POLLS_MAX);
            match polled(polls, books.transfer_as_task(&mut tx, &transfer)).await {
                None | Some(Ok(()) | Err(Error::Deadlock { .. })) => drop(tx),
                Some(Err(error)) => return Err(error),
            }
        }
        match random.below(3) {
            0 => {
                let body = async |mut tx: LentTransaction| {
                    books.transfer_as_task(&mut tx, &transfer).await
                };
                db.transact_async("transfer", body).await?
            }
            1 => {
                let books = books.clone();
                let body = async move |mut tx: LentTransaction| {
                    books.transfer_as_task(&mut tx, &transfer).await
                };
                db.spawn("transfer", body)?.await?
            }
            _ => transact(&db, &books, &transfer).await?,
        }
        say(&format!("ack {client} {sequence}\n"));
    }
    Ok(())
}

/// A transfer whose attempts the client begins and commits itself.
async fn transact(db: &Database, books: &Books, transfer: &BankTransfer) -> Result<()> {
    loop {
        let mut tx = db.begin_async("transfer");
        match books.transfer_as_task(&mut tx, transfer).await {
            Ok(()) => return tx.commit().await,
            Err(Error::Deadlock { .. }) => yield_now().await,
            Err(error) => return Err(error),
        }
    }
}

impl Books {
    /// As [`transfer`](Books::transfer), for a task.
    async fn transfer_as_task(
        &self,
        tx: &mut AsyncTransaction,
        transfer: &BankTransfer,
    ) -> Result<()> {
        let BankTransfer { from, to, amount, sequence, .. } = *transfer;
        self.add_as_task(tx, from, amount.wrapping_neg()).await?;
        if sequence.is_multiple_of(UNDONE_EVERY) {
            let before = tx.savepoint().await?;
            self.add_as_task(tx, to, 1_000_000).await?;
            let undone = pair(UNDONE_CLIENT, sequence);
            tx.put(&self.bank.history, undone, b"never committed").await?;
            if sequence.is_multiple_of(2 * UNDONE_EVERY) {
                // It takes place all the same.
                polled(1, tx.rollback_to(&before)).await.unwrap_or(Ok(()))?;
            } else {
                tx.rollback_to(&before).await?;
            }
        }
        self.add_as_task(tx, to, amount).await?;
        tx.insert(&self.bank.history, transfer.history_key(), transfer.history_row()).await
    }

    /// Adds to a balance. An operation that waits is dropped, and done again.
    async fn add_as_task(
        &self,
        tx: &mut AsyncTransaction,
        account: u64,
        amount: u64,
    ) -> Result<()> {
        let (accounts, key) = (&self.bank.account, account.to_be_bytes());
        let row = match polled(1, tx.get_for_update(accounts, key)).await {
            Some(row) => row?,
            None => tx.get_for_update(accounts, key).await?,
        };
        let balance = row.map_or(0, |row| number(&row, 0)).wrapping_add(amount);
        let row = BANK.row(balance);
        if polled(1, tx.put(accounts, key, &row)).await.transpose()?.is_none() {
            tx.put(accounts, key, &row).await?;
        }
        Ok(())
    }
}

/// As [`batches`](crate::child::batches), for a task.
pub(crate) async fn batches(
    db: &Database,
    books: &Books,
    writer: u64,
    mut random: Random,
) -> Result<()> {
    for batch in 0.. {
        let mut tx = db.begin_async("batch");
        for index in 0..BATCH {
            let key = [&pair(writer, batch)[..], &index.to_be_bytes()].concat();
            let value = batch_value(&mut random);
            // Log space, pages and the length of the file may be waited for.
            if polled(1, tx.put(&books.batch, &key, &value)).await.transpose()?.is_none() {
                tx.put(&books.batch, &key, &value).await?;
            }
            if index % 8 == 7 {
                clearway_sync::thread::yield_now();
            }
        }
        match random.below(4) {
            0 => tx.rollback().await?,
            1 => tx.commit().await?,
            2 => drop(tx.commit_pipelined().await?),
            _ => drop(tx),
        }
    }
    Ok(())
}
