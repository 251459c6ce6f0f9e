//! Loading the bank: many rows to a transaction, several transactions in flight, each thread on
//! its own part of the account range.

use std::{collections::VecDeque, thread};

use super::{
    TELLERS, Tables, TpcbScale,
    rows::{key, new_row},
};
use crate::{
    driver::{join, start},
    store::{Operations, Outstanding, Store, StoreError},
};

/// Told how many rows were added since its last call; answers whether to go on.
pub(super) type Progress<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// Rows of a loading transaction: large enough that commits cost nothing, small enough for the
/// lock table.
const ROWS_PER_TRANSACTION: u64 = 1_000;
/// Loading transactions each thread keeps in flight.
const IN_FLIGHT: usize = 4;
/// The key of the one row that says what was loaded.
const SCALE_KEY: &[u8] = b"scale";

/// Loads the bank if the store has none; checks its scale if it has.
pub(super) fn load_if_absent<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TpcbScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let mut found = Vec::new();
    let exists = store.run("scale", |tx| tx.get(&tables.scale, SCALE_KEY, &mut found))?;
    if exists {
        return match found.split_last() {
            Some((1, rest)) if rest == scale_bytes(scale) => Ok(()),
            Some((1, _)) => Err(S::Error::failed(
                "the directory holds a TPC-B bank of another scale; use another directory".into(),
            )),
            _ => Err(S::Error::failed(
                "loading this TPC-B bank was interrupted; use another directory".into(),
            )),
        };
    }
    write_scale(store, tables, scale, 0)?;
    load(store, tables, scale, threads, progress)?;
    write_scale(store, tables, scale, 1)
}

fn scale_bytes(scale: TpcbScale) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&scale.branches.to_le_bytes());
    bytes[4..].copy_from_slice(&scale.accounts_per_branch.to_le_bytes());
    bytes
}

fn write_scale<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TpcbScale,
    complete: u8,
) -> Result<(), S::Error> {
    let mut row = scale_bytes(scale).to_vec();
    row.push(complete);
    store.run("scale", |tx| tx.put(&tables.scale, SCALE_KEY, &row))
}

fn load<S: Store>(
    store: &S,
    tables: &Tables<S>,
    scale: TpcbScale,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let (branches, tellers) = (u64::from(scale.branches), u64::from(scale.branches) * TELLERS);
    load_range(store, &tables.branch, 0, branches, progress)?;
    load_range(store, &tables.teller, 0, tellers, progress)?;
    let (accounts, parts) = (scale.accounts(), threads.max(1) as u64);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..parts)
            .map(|part| {
                let (from, to) = (accounts * part / parts, accounts * (part + 1) / parts);
                let work = move || load_range(store, &tables.account, from, to, progress);
                start::<S, _>(scope, work)
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.and_then(join::<S, _>))
    })
}

fn load_range<S: Store>(
    store: &S,
    table: &S::Table,
    from: u64,
    to: u64,
    progress: &Progress<'_>,
) -> Result<(), S::Error> {
    let mut in_flight = VecDeque::with_capacity(IN_FLIGHT);
    let mut first = from;
    while first < to {
        let end = to.min(first + ROWS_PER_TRANSACTION);
        if in_flight.len() == IN_FLIGHT {
            finish::<S>(&mut in_flight, progress)?;
        }
        let pending = store.submit("load", |tx| {
            for id in first..end {
                tx.insert(table, &key(id), &new_row(id))?;
            }
            Ok(end - first)
        })?;
        in_flight.push_back(pending);
        first = end;
    }
    while !in_flight.is_empty() {
        finish::<S>(&mut in_flight, progress)?;
    }
    Ok(())
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
