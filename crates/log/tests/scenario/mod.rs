//! Shared parts of the log's tests: small logs, records with checkable contents, reading all back.
#![allow(dead_code)] // Each test program uses a part.

use std::sync::Arc;

use clearway_base::{Epoch, Lsn, LsnSpan, Result, TxnId};
use clearway_disk::{Disk, File, OpenMode};
use clearway_log::{Log, LogOptions, LogReader, Record, Strategy, record_bytes};

/// The segment size of all tests.
pub(crate) const SEGMENT: u64 = 64 << 10;

pub(crate) const ALL: [Strategy; 6] = Strategy::ALL;

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

/// Claims and inserts record `number`, whose transaction id is its number.
pub(crate) fn insert(log: &Log, number: u64, len: usize) -> Result<LsnSpan> {
    log.claim(record_bytes(len))?;
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
