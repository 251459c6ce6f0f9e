//! Loading the subscribers: all rows of some of them to a transaction, several transactions in
//! flight, each thread on its own range of s_id.

use std::{collections::VecDeque, thread};

use super::{
    Tables, TatpScale,
    population::Subscriber,
    rows::{forwarding_key, index_row, read_number, subscriber_key, typed_key},
};
use crate::{
    driver::{join, start},
    store::{Operations, Outstanding, Store, StoreError},
};

/// Told how many rows were added since its last call; answers whether to go on.
pub(super) type Progress<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// Subscribers of a loading transaction, each with some eleven rows: large enough that commits
/// cost nothing, small enough for the lock table.
const SUBSCRIBERS_PER_TRANSACTION: u32 = 100;
/// Loading transactions each thread keeps in flight.
const IN_FLIGHT: usize = 4;
/// The key of the one row that says what was loaded.
const SCALE_KEY: &[u8] = b"scale";

/// Loads the subscribers if the store has none; checks their number if it has.
pub(super) fn load_if_absent<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TatpScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let mut found = Vec::new();
    let exists = store.run("scale", |tx| tx.get(&tables.scale, SCALE_KEY, &mut found))?;
    if exists {
        return match found.split_last() {
            Some((1, rest)) if rest == scale.subscribers.to_le_bytes() => Ok(()),
            Some((1, _)) => Err(S::Error::failed(
                "the directory holds TATP subscribers of another number; use another directory"
                    .into(),
            )),
            _ => Err(S::Error::failed(
                "loading these TATP subscribers was interrupted; use another directory".into(),
            )),
        };
    }
    write_scale(store, tables, scale, 0)?;
    load(store, tables, scale, threads, progress)?;
    write_scale(store, tables, scale, 1)
}

fn write_scale<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TatpScale,
    complete: u8,
) -> Result<(), S::Error> {
    let mut row = scale.subscribers.to_le_bytes().to_vec();
    row.push(complete);
    store.run("scale", |tx| tx.put(&tables.scale, SCALE_KEY, &row))
}

fn load<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TatpScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    thread::scope(|scope| {
        let workers: Vec<_> = scale
            .parts(threads)
            .map(|(from, to)| {
                start::<S, _>(scope, move || load_range(store, tables, from, to, progress))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.and_then(join::<S, _>))
    })
}

/// Loads subscribers `from..to`.
fn load_range<S: Store>(
    store: &S,
    tables: &Tables<S>,
    from: u32,
    to: u32,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let mut in_flight = VecDeque::with_capacity(IN_FLIGHT);
    let mut first = from;
    while first < to {
        let end = to.min(first.saturating_add(SUBSCRIBERS_PER_TRANSACTION));
        if in_flight.len() == IN_FLIGHT {
            finish::<S>(&mut in_flight, progress)?;
        }
        let pending = store.submit("load", |tx| {
            (first..end).try_fold(0, |rows, id| Ok(rows + add::<S>(tables, tx, id)?))
        })?;
        in_flight.push_back(pending);
        first = end;
    }
    while !in_flight.is_empty() {
        finish::<S>(&mut in_flight, progress)?;
    }
    Ok(())
}

/// Adds a subscriber with all its rows; their number.
fn add<S: Store>(tables: &Tables<S>, tx: &mut S::Tx<'_>, id: u32) -> Result<u64, S::Error> {
    let subscriber = Subscriber::draw(id);
    tx.insert(&tables.subscriber, &subscriber_key(id), &subscriber.row)?;
    tx.insert(&tables.by_number, read_number(&subscriber.row), &index_row(id))?;
    for (kind, row) in subscriber.access() {
        tx.insert(&tables.access, &typed_key(id, kind), row)?;
    }
    for (kind, row) in subscriber.facilities() {
        tx.insert(&tables.facility, &typed_key(id, kind), row)?;
    }
    for (kind, start, row) in subscriber.forwardings() {
        tx.insert(&tables.forwarding, &forwarding_key(id, kind, start), row)?;
    }
    Ok(subscriber.rows())
}

fn finish<S: Store>(
    in_flight: &mut VecDeque<S::Pending<u64>>,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let Some(oldest) = in_flight.pop_front() else { return Ok(()) };
    if progress(oldest.wait()?) {
        Ok(())
    } else {
        Err(S::Error::failed("loading was interrupted".into()))
    }
}
