//! The log's reader on segments with anything in them, checksums fixed up again or not.
//!
//! Must hold: the reader ends, gives records in ascending order that lie in the log, and an error
//! is typed. What it gives with a mended checksum may be nonsense; that is the next layer's.

use std::sync::Arc;

use clearway_base::{Epoch, Lsn, TxnId};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_log::{Log, LogOptions, LogReader, Record};

use crate::target::Target;

const SEGMENT: u64 = 64 << 10;
const FIRST: &str = "log/0000000000000000";

pub(crate) fn target() -> Target {
    Target { name: "log-record", examples, take, must_fail: false }
}

/// Segments of real logs: long and short records, one to many to a group, two openings.
fn examples() -> Vec<Vec<u8>> {
    [(3usize, 1usize), (40, 4), (700, 2)].map(|(len, group)| written(len, group)).to_vec()
}

fn written(len: usize, group: usize) -> Vec<u8> {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions {
        segment_bytes: SEGMENT,
        capacity_bytes: 4 * SEGMENT,
        ring_bytes: 64 << 10,
        background: false,
        ..LogOptions::default()
    };
    let mut tail = Lsn::ZERO;
    for epoch in 1..3 {
        let log = Log::start(disk.clone(), options.clone(), tail, Epoch(epoch), Lsn::ZERO).unwrap();
        for number in 0..12usize {
            let body = vec![number as u8; len];
            let record = Record { kind: 1, txn: TxnId(7), prev: log.end(), body: &[&body] };
            log.claim(len as u64 + 128).unwrap();
            let span = log.insert(&record).unwrap();
            if number % group == 0 {
                log.wait_durable(span.end).unwrap();
            }
        }
        log.wait_durable(log.end()).unwrap();
        tail = log.durable();
    }
    let file = disk.open(FIRST, OpenMode::Existing).unwrap();
    let mut bytes = vec![0; 16 << 10];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn take(input: &[u8]) -> Result<(), String> {
    let disk = MemoryDisk::new();
    disk.create_dir("log").map_err(|error| error.to_string())?;
    let file = disk.open(FIRST, OpenMode::Create).map_err(|error| error.to_string())?;
    file.allocate(0, SEGMENT).map_err(|error| error.to_string())?;
    let len = input.len().min(SEGMENT as usize);
    file.write_at(&input[..len], 0).map_err(|error| error.to_string())?;
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let Ok(mut reader) = LogReader::open(disk, SEGMENT, Lsn::ZERO) else { return Ok(()) };
    let mut last = Lsn::ZERO;
    let mut records = 0;
    while let Ok(Some(record)) = reader.next() {
        if record.span.start < last || record.span.end <= record.span.start {
            return Err(format!("record at {} after one that ends at {last}", record.span.start));
        }
        if record.span.end.0 > SEGMENT {
            return Err(format!("record ends at {}, beyond the log", record.span.end));
        }
        last = record.span.end;
        records += 1;
        if records > SEGMENT {
            return Err("more records than bytes".into());
        }
    }
    Ok(())
}
