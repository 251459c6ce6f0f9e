//! A log so small that its ring wraps in each of many schedules.

use std::{collections::BTreeSet, sync::Arc};

use clearway_base::{Epoch, Lsn};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogOptions, LogReader};
use clearway_sync::thread;

use super::{body, insert};

pub(crate) const SEGMENT: u64 = 8 << 10;

pub(crate) fn options() -> LogOptions {
    LogOptions {
        ring_bytes: 4096,
        segment_bytes: SEGMENT,
        capacity_bytes: 32 * SEGMENT,
        ..LogOptions::default()
    }
}

pub(crate) fn start(disk: &Arc<dyn Disk>, options: LogOptions) -> Arc<Log> {
    Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap()
}

/// The numbers of the records on the disk, each of which is whole.
pub(crate) fn read_all(disk: &Arc<dyn Disk>) -> BTreeSet<u64> {
    let mut reader = LogReader::open(disk.clone(), SEGMENT, Lsn::ZERO).unwrap();
    let mut numbers = BTreeSet::new();
    while let Some(record) = reader.next().unwrap() {
        assert_eq!(record.body, body(record.txn.0, record.body.len()));
        assert!(numbers.insert(record.txn.0), "each record once");
    }
    numbers
}

/// Inserts more than the ring holds on three threads, and finds all of it.
pub(crate) fn wraps_with(options: LogOptions) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start(&disk, options);
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let log = log.clone();
            thread::spawn(move || {
                for n in 0..3 {
                    // Nine records of some 700 bytes: the ring wraps, and is full in between.
                    let span = insert(&log, thread * 10 + n, 600 + 40 * n as usize).unwrap();
                    if (thread + n) % 2 == 0 {
                        log.wait_durable(span.end).unwrap();
                        assert!(log.durable() >= span.end);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    log.close().unwrap();
    assert_eq!(read_all(&disk), (0..3).flat_map(|t| (0..3).map(move |n| t * 10 + n)).collect());
    assert_eq!(log.stats().waiting, 0);
}
