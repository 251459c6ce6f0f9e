//! Transactions of tasks.
//!
//! | how | the futures are polled by |
//! | --- | --- |
//! | `Task`, `TransactAsync` | the thread that wants the result |
//! | `SubmitAsync`, `SubmitAsyncThen` | an agent of a pipeline (`requests`) |
//!
//! | what is dropped | how | the outcome that is recorded |
//! | --- | --- | --- |
//! | an operation that waits | all | none: it is repeated |
//! | the transaction, before its commit was polled | `Task` | rolled back |
//! | the commit, once it was polled | `Task` | committed; a sync makes it durable |

use std::{
    future::{Future, poll_fn, ready},
    pin::pin,
    sync::mpsc::{Receiver, channel},
    task::Poll,
};

use clearway::{AsyncTransaction, Error, LentTransaction, Result, Savepoint};
use clearway_sync::block_on;
use clearway_testkit::{Random, mix};

use super::{
    requests::{Requests, requests},
    store::{Access, Body, EngineStore, Place, Ticket},
};
use crate::history::{Op, Way};

/// The number of deadlocks after which a transaction is abandoned.
const ATTEMPTS: u64 = 100;

/// The reason given for a transaction that was dropped.
const DROPPED: &str = "dropped";

/// Runs a body in the transaction of a task.
pub(super) fn run(store: &EngineStore, body: &mut Body<'_>) -> Result<Ticket> {
    let mut random = Random::new(mix(store.next_task()));
    for attempt in 1.. {
        let mut tx = store.database.begin_async("task");
        let runs = Runs::Here(&mut tx);
        let mut access = TaskAccess { runs, store, random: &mut random, mark: None };
        match body(&mut access) {
            Ok(ops) => return end(store, tx, &mut random, ops),
            // Dropping rolls back.
            Err(error) if !error.is_retryable() || attempt == ATTEMPTS => return Err(error),
            Err(_) => {}
        }
    }
    unreachable!("the last attempt returns")
}

/// Ends a transaction whose body has succeeded.
fn end(
    store: &EngineStore,
    tx: AsyncTransaction,
    random: &mut Random,
    ops: Vec<Op>,
) -> Result<Ticket> {
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

/// Runs a body in an asynchronous closure, which this thread polls.
pub(super) fn transact(store: &EngineStore, body: &mut Body<'_>) -> Result<Ticket> {
    let mut random = Random::new(mix(store.next_task()));
    let closure = |mut tx: LentTransaction| {
        let runs = Runs::Here(&mut tx);
        ready(body(&mut TaskAccess { runs, store, random: &mut random, mark: None }))
    };
    let ops = block_on(store.database.transact_async("transact-async", closure))?;
    Ok(Box::new(|| Ok(ops)))
}

/// A message from the closure of a pipeline to the thread of its body.
enum Report {
    /// An attempt has begun.
    Begun(Requests),
    /// The transaction is over.
    Ended(Result<Vec<Op>>),
}

/// Runs a body in an asynchronous closure, which an agent polls. The result comes by a ticket, or
/// by a function.
pub(super) fn submit(
    store: &EngineStore,
    body: &mut Body<'_>,
    by_function: bool,
) -> Result<Ticket> {
    let mut random = Random::new(mix(store.next_task()));
    let (report, reports) = channel();
    let ended = report.clone();
    let closure = async move |mut tx: LentTransaction| {
        let (requests, serving) = requests();
        // If the body is over, the requests are dropped, which ends the attempt.
        let _ = report.send(Report::Begun(requests));
        serving.serve(&mut tx).await
    };
    let pipeline = store.pipeline()?;
    let mut ticket = None;
    if by_function {
        let done = move |result| drop(ended.send(Report::Ended(result)));
        pipeline.submit_async_then("submit-async-then", closure, done)?;
    } else {
        drop(ended);
        ticket = Some(pipeline.submit_async("submit-async", closure)?);
    }
    loop {
        let requests = match reports.recv() {
            Ok(Report::Begun(requests)) => requests,
            other => {
                let ops = result_of(other.ok(), ticket)?;
                return Ok(Box::new(|| Ok(ops)));
            }
        };
        let runs = Runs::Elsewhere(&requests);
        let result = body(&mut TaskAccess { runs, store, random: &mut random, mark: None });
        let is_done = result.is_ok();
        requests.end(result);
        if is_done {
            return Ok(Box::new(move || result_of(last(&reports), ticket)));
        }
    }
}

/// Waits for the last report, if there is one. An attempt that begins has no body any more.
fn last(reports: &Receiver<Report>) -> Option<Report> {
    reports.iter().find(|report| matches!(report, Report::Ended(_)))
}

/// Returns the result of a transaction that is over.
fn result_of(last: Option<Report>, ticket: Option<clearway::Ticket<Vec<Op>>>) -> Result<Vec<Op>> {
    match (last, ticket) {
        (Some(Report::Ended(result)), _) => result,
        (_, Some(ticket)) => ticket.wait(),
        (_, None) => Err(Error::Closed),
    }
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

/// Where the operations of a body are awaited.
enum Runs<'a> {
    Here(&'a mut AsyncTransaction),
    /// In the closure of a pipeline.
    Elsewhere(&'a Requests),
}

struct TaskAccess<'a> {
    runs: Runs<'a>,
    store: &'a EngineStore,
    random: &'a mut Random,
    mark: Option<Savepoint>,
}

/// Awaits an operation to its end. Before that it is dropped, and repeated, after each of these
/// numbers of polls.
async fn repeated<T>(
    tx: &mut AsyncTransaction,
    drops: Vec<u64>,
    operation: impl AsyncFn(&mut AsyncTransaction) -> Result<T>,
) -> Result<T> {
    for polls in drops {
        if let Some(result) = polled(polls, operation(tx)).await {
            return result;
        }
    }
    operation(tx).await
}

impl TaskAccess<'_> {
    /// Runs an operation to its end.
    fn run<T: Send + 'static>(
        &mut self,
        operation: impl AsyncFn(&mut AsyncTransaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut drops = Vec::new();
        while self.random.one_in(4) {
            drops.push(self.random.between(1, 2));
        }
        let requests = match &mut self.runs {
            Runs::Here(tx) => return block_on(repeated(tx, drops, operation)),
            Runs::Elsewhere(requests) => requests,
        };
        let (reply, replies) = channel();
        requests.operate(move |tx| {
            Box::pin(async move { drop(reply.send(repeated(tx, drops, operation).await)) })
        });
        replies.recv().unwrap_or(Err(Error::Closed))
    }
}

impl Access for TaskAccess<'_> {
    fn get(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        let (table, key) = (self.store.table(place), self.store.key(key));
        self.run(async move |tx| tx.get(&table, &key).await)
    }

    fn get_for_update(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        let (table, key) = (self.store.table(place), self.store.key(key));
        self.run(async move |tx| tx.get_for_update(&table, &key).await)
    }

    fn put(&mut self, place: Place, key: u64, value: &[u8]) -> Result<()> {
        let (table, key, value) = (self.store.table(place), self.store.key(key), value.to_vec());
        self.run(async move |tx| tx.put(&table, &key, &value).await.map(drop))
    }

    fn remove(&mut self, place: Place, key: u64) -> Result<()> {
        let (table, key) = (self.store.table(place), self.store.key(key));
        match self.run(async move |tx| tx.delete(&table, &key).await) {
            Err(Error::NotFound { .. }) => Ok(()),
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
        let found = self.run(async move |tx| {
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
        self.mark = Some(self.run(async move |tx| tx.savepoint().await)?);
        Ok(())
    }

    fn rollback_to_savepoint(&mut self) -> Result<()> {
        let mark = self.mark.clone().ok_or(Error::UnknownSavepoint)?;
        let polls = self.random.between(1, 3);
        // It takes place even if its future is dropped.
        self.run(async move |tx| polled(polls, tx.rollback_to(&mark)).await.unwrap_or(Ok(())))
    }
}
