//! Checks that the log contains the records that concurrent threads inserted: all of them,
//! unchanged, each thread's records in the order in which it inserted them, in one piece without a
//! hole.

use std::{sync::Arc, thread};

use clearway_base::{Epoch, Lsn, TxnId};
use clearway_disk::MemoryDisk;
use clearway_log::{HEADER_BYTES, Log, LogOptions, LogReader, Record, record_bytes};
use clearway_variants::log::Strategy;

use super::log_insert::{self, Mix};
use crate::experiment::Outcome;

/// The number of threads, and of the records that each of them inserts.
const THREADS: u64 = 8;
const EACH: u64 = 3_000;
/// A buffer so small that it is full most of the time, and wraps some hundred times.
const RING_BYTES: usize = 64 << 10;
const SEGMENT_BYTES: u64 = 1 << 20;

/// Returns the number of records of one strategy that are missing, changed, or out of order.
pub(super) fn lost(strategy: Strategy, mix: Mix) -> Outcome<u64> {
    let disk = Arc::new(MemoryDisk::new());
    let options = LogOptions {
        ring_bytes: RING_BYTES,
        segment_bytes: SEGMENT_BYTES,
        capacity_bytes: 1 << 30,
        ..log_insert::options(strategy)
    };
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO)?;
    let inserted: Outcome<()> = thread::scope(|scope| {
        let log = &log;
        let spawn = |thread| scope.spawn(move || insert(log, thread, mix));
        let threads: Vec<_> = (0..THREADS).map(spawn).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    });
    inserted?;
    log.close()?;
    Ok(THREADS * EACH - read(LogReader::open(disk, SEGMENT_BYTES, Lsn::ZERO)?, mix)?)
}

/// Returns the body of a thread's record.
fn body(thread: u64, n: u64, mix: Mix) -> Vec<u8> {
    let first = thread.wrapping_mul(31).wrapping_add(n);
    (0..mix.length(n) - HEADER_BYTES).map(|at| (at as u64 + first) as u8).collect()
}

fn insert(log: &Log, thread: u64, mix: Mix) -> Outcome<()> {
    for n in 0..EACH {
        let body = body(thread, n, mix);
        log.reserve_space(record_bytes(body.len()))?;
        log.insert(&Record { kind: 1, txn: TxnId(thread + 1), prev: Lsn(n), body: &[&body] })?;
    }
    Ok(())
}

/// Returns the number of records that are the next ones of their threads. The reader ends at the
/// first hole, so records behind a hole are not counted.
fn read(mut reader: LogReader, mix: Mix) -> Outcome<u64> {
    let mut next = [0; THREADS as usize];
    while let Some(record) = reader.next()? {
        let thread = record.txn.0.wrapping_sub(1);
        let Some(expected) = next.get_mut(thread as usize) else { continue };
        if record.prev == Lsn(*expected) && record.body == body(thread, *expected, mix) {
            *expected += 1;
        }
    }
    Ok(next.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_changed_records_are_not_counted() {
        let disk = Arc::new(MemoryDisk::new());
        let options = LogOptions { segment_bytes: SEGMENT_BYTES, ..LogOptions::default() };
        let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
        let mix = Mix::of(64);
        // The first thread's records 0 and 1, but 3 in place of 2; of the second thread a changed
        // record.
        for (thread, n, prev) in [(0, 0, 0), (0, 1, 1), (0, 3, 3), (1, 5, 0)] {
            let body = body(thread, n, mix);
            let record =
                Record { kind: 1, txn: TxnId(thread + 1), prev: Lsn(prev), body: &[&body] };
            log.reserve_space(record_bytes(body.len())).unwrap();
            log.insert(&record).unwrap();
        }
        log.close().unwrap();
        let reader = LogReader::open(disk, SEGMENT_BYTES, Lsn::ZERO).unwrap();
        assert_eq!(read(reader, mix).unwrap(), 2);
    }
}
