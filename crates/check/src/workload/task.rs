//! Transactions of tasks: their futures are polled by the thread that wants the result.
//!
//! | what is dropped | the outcome that is recorded |
//! | --- | --- |
//! | an operation that waits | none: it is repeated |
//! | the transaction, before its commit was polled | rolled back |
//! | the commit, once it was polled | committed; a sync makes it durable |

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use clearway::{AsyncTransaction, Error, Result, Savepoint};
use clearway_sync::block_on;
use clearway_testkit::{Random, mix};

use super::store::{Access, Body, EngineStore, Place, Ticket};
use crate::history::{Op, Way};

/// The number of deadlocks after which a transaction is abandoned.
const ATTEMPTS: u64 = 100;

/// The reason given for a transaction that was dropped.
const DROPPED: &str = "dropped";

/// Runs a body in the transaction of a task.
pub(super) fn run(store: &EngineStore, body: &mut Body<'_>) -> Result<Ticket> {
    let mut random = Random::new(mix(store.next_task()));
    for attempt in 1.. {
        let tx = store.database.begin_async("task");
        let mut access = TaskAccess { tx, store, random: &mut random, mark: None };
        match body(&mut access) {
            Ok(ops) => return end(access, ops),
            // Dropping rolls back.
            Err(error) if !error.is_retryable() || attempt == ATTEMPTS => return Err(error),
            Err(_) => {}
        }
    }
    unreachable!("the last attempt returns")
}

fn end(access: TaskAccess<'_>, ops: Vec<Op>) -> Result<Ticket> {
    let TaskAccess { tx, store, random, .. } = access;
    match random.below(8) {
        0 => drop(tx),
        1 => drop(tx.commit()), // never polled
        2 | 3 => {
            match block_on(polled(1, tx.commit())) {
                Some(committed) => committed?,
                None => store.database.sync()?,
            }
            return Ok(Box::new(|| Ok(ops)));
        }
        4 => {
            let pending = block_on(tx.commit_pipelined())?;
            return Ok(Box::new(|| block_on(pending).map(|()| ops)));
        }
        _ => {
            block_on(tx.commit())?;
            return Ok(Box::new(|| Ok(ops)));
        }
    }
    Err(Error::Aborted { reason: DROPPED.to_owned() })
}

/// Polls a future, and drops it when it has been polled `polls` times and is not ready: `None`.
async fn polled<F: Future>(polls: u64, future: F) -> Option<F::Output> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(move |cx| {
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

struct TaskAccess<'a> {
    tx: AsyncTransaction,
    store: &'a EngineStore,
    random: &'a mut Random,
    mark: Option<Savepoint>,
}

impl TaskAccess<'_> {
    /// Runs an operation to its end. Before that it may be dropped while it waits, and repeated.
    fn run<T>(&mut self, operation: impl AsyncFn(&mut AsyncTransaction) -> Result<T>) -> Result<T> {
        while self.random.one_in(4) {
            let polls = self.random.between(1, 2);
            if let Some(result) = block_on(polled(polls, operation(&mut self.tx))) {
                return result;
            }
        }
        block_on(operation(&mut self.tx))
    }
}

impl Access for TaskAccess<'_> {
    fn get(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        let (table, key) = (self.store.table(place), self.store.key(key));
        self.run(async |tx| tx.get(&table, &key).await)
    }

    fn get_for_update(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        let (table, key) = (self.store.table(place), self.store.key(key));
        self.run(async |tx| tx.get_for_update(&table, &key).await)
    }

    fn put(&mut self, place: Place, key: u64, value: &[u8]) -> Result<()> {
        let (table, key) = (self.store.table(place), self.store.key(key));
        self.run(async |tx| tx.put(&table, &key, value).await.map(drop))
    }

    fn remove(&mut self, place: Place, key: u64) -> Result<()> {
        let (table, key) = (self.store.table(place), self.store.key(key));
        match self.run(async |tx| tx.delete(&table, &key).await) {
            Err(Error::NotFound) => Ok(()),
            result => result,
        }
    }

    fn range(
        &mut self,
        place: Place,
        low: u64,
        high: u64,
        way: Way,
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        let table = self.store.table(place);
        let (range, is_up) = self.store.range(low, high, way);
        let found = self.run(async |tx| {
            let mut scan = match is_up {
                true => tx.scan(&table, range.clone()).await?,
                false => tx.scan_descending(&table, range.clone()).await?,
            };
            let mut found = Vec::new();
            while let Some(entry) = scan.next().await? {
                found.push(entry);
            }
            Ok(found)
        })?;
        Ok(found.into_iter().map(|(key, value)| (self.store.number(&key), value)).collect())
    }

    fn savepoint(&mut self) -> Result<()> {
        self.mark = Some(self.run(async |tx| tx.savepoint().await)?);
        Ok(())
    }

    fn rollback_to_savepoint(&mut self) -> Result<()> {
        let mark = self.mark.clone().ok_or(Error::UnknownSavepoint)?;
        // It takes place even if its future is dropped.
        match block_on(polled(self.random.between(1, 3), self.tx.rollback_to(&mark))) {
            Some(result) => result,
            None => Ok(()),
        }
    }
}
