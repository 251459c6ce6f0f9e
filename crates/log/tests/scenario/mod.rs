//! Shared parts of the log's tests, those of its variants included: small logs, records with
//! checkable contents, reading all back.
#![allow(dead_code)] // Each test program uses a part.

pub(crate) mod closing;
#[cfg(shuttle)]
pub(crate) mod wrapping;

use std::sync::Arc;

use clearway_base::{Epoch, Lsn, LsnSpan, Result, TxnId};
use clearway_disk::{Disk, File, MemoryDisk, OpenMode};
use clearway_log::{Log, LogOptions, LogReader, Record, record_bytes};

/// The segment size of all tests.
pub(crate) const SEGMENT: u64 = 64 << 10;

/// Small enough for a log to wrap its ring and to change segments within a test.
pub(crate) fn options() -> LogOptions {
    LogOptions {
        ring_bytes: 32 << 10,
        segment_bytes: SEGMENT,
        capacity_bytes: 64 * SEGMENT,
        ..LogOptions::default()
    }
}

pub(crate) fn start_new(disk: &Arc<dyn Disk>) -> Arc<Log> {
    Log::start(disk.clone(), options(), Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap()
}

/// The body of record `number`.
pub(crate) fn body(number: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (number * 7 + i) as u8).collect()
}

/// Reserves space for record `number` and inserts it. Its transaction id is its number.
pub(crate) fn insert(log: &Log, number: u64, len: usize) -> Result<LsnSpan> {
    log.reserve_space(record_bytes(len))?;
    let body = body(number, len);
    let record = Record { kind: 1, txn: TxnId(number), prev: Lsn(number), body: &[&body] };
    log.insert(&record)
}

/// Inserts record `number` and makes it durable.
pub(crate) fn commit(log: &Log, number: u64, len: usize) -> LsnSpan {
    let span = insert(log, number, len).unwrap();
    log.wait_durable(span.end).unwrap();
    span
}

/// Reads the log from `from`. Returns the records' numbers, and the tail.
pub(crate) fn read_all(disk: &Arc<dyn Disk>, from: Lsn) -> Result<(Vec<u64>, Lsn)> {
    let mut reader = LogReader::open(disk.clone(), SEGMENT, from)?;
    let mut numbers = Vec::new();
    while let Some(record) = reader.next()? {
        assert_eq!(record.body, body(record.txn.0, record.body.len()), "the body is whole");
        assert_eq!(record.prev, Lsn(record.txn.0));
        numbers.push(record.txn.0);
    }
    assert!(reader.next()?.is_none(), "the tail stays the tail");
    Ok((numbers, reader.tail()))
}

/// Recovers: reads the log to its tail and starts it there as `epoch`.
pub(crate) fn reopen(disk: &Arc<dyn Disk>, epoch: u32) -> (Vec<u64>, Arc<Log>) {
    let (numbers, tail) = read_all(disk, Lsn::ZERO).unwrap();
    let log = Log::start(disk.clone(), options(), tail, Epoch(epoch), Lsn::ZERO).unwrap();
    (numbers, log)
}

/// The file that holds `lsn`, and the offset in it.
pub(crate) fn file_at(disk: &Arc<dyn Disk>, lsn: u64) -> (Arc<dyn File>, u64) {
    let name = format!("log/{:016x}", lsn - lsn % SEGMENT);
    (disk.open(&name, OpenMode::Existing).unwrap(), lsn % SEGMENT)
}

/// Overwrites log bytes, within one segment.
pub(crate) fn overwrite(disk: &Arc<dyn Disk>, lsn: u64, bytes: &[u8]) {
    let (file, offset) = file_at(disk, lsn);
    file.write_at(bytes, offset).unwrap();
}

/// Flips a bit of the log.
pub(crate) fn flip(disk: &Arc<dyn Disk>, lsn: u64) {
    let (file, offset) = file_at(disk, lsn);
    let mut byte = [0];
    file.read_at(&mut byte, offset).unwrap();
    file.write_at(&[byte[0] ^ 0x10], offset).unwrap();
}

/// Inserts records of all sizes into a log with `options`, and reads them back in their order.
pub(crate) fn records_of_all_sizes_come_back_in_order(options: LogOptions) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let spans: Vec<_> =
        (0..600).map(|i| insert(&log, i, (i as usize * 37) % 4000).unwrap()).collect();
    assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
    log.close().unwrap();
    let (numbers, tail) = read_all(&disk, Lsn::ZERO).unwrap();
    assert_eq!(numbers, (0..600).collect::<Vec<_>>());
    assert_eq!(tail, log.durable());
}

/// Has threads commit records to a log with `options`, and finds all of them in it.
pub(crate) fn concurrent_committers_find_all_their_records(options: &LogOptions) {
    const THREADS: u64 = 6;
    const EACH: u64 = 400;
    for flushes_in_flight in [1, 2, 4] {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let options = LogOptions { flushes_in_flight, ..options.clone() };
        let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let log = &log;
                scope.spawn(move || {
                    for i in 0..EACH {
                        let number = thread * EACH + i;
                        let span = insert(log, number, (i * 13 % 700) as usize).unwrap();
                        match i % 3 {
                            0 => log.wait_durable(span.end).unwrap(),
                            1 => log.request_flush(span.end),
                            _ => {}
                        }
                    }
                });
            }
        });
        log.close().unwrap();
        let (mut numbers, _) = read_all(&disk, Lsn::ZERO).unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..THREADS * EACH).collect::<Vec<_>>());
    }
}
