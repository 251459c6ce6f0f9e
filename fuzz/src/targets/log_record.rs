//! The log reader on segments with arbitrary contents, with or without recomputed checksums, and
//! the identity check that precedes it.
//!
//! Must hold: the reader ends, returns records in ascending order that lie in the log, and every
//! error is typed. Records with a recomputed checksum may be nonsense, which the next layer must
//! handle.
//!
//! An input is the first part of a segment's log bytes, followed by its label.

use std::sync::Arc;

use clearway_base::{DatabaseId, Epoch, Lsn, SECTOR_SIZE, Salt, TxnId, crc32c};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_log::{
    EpochMark, Known, Lineage, Log, LogOptions, LogReader, LogStart, Record, trace,
};

use crate::target::Target;

const SEGMENT: u64 = 64 << 10;
const FIRST: &str = "log/0000000000000000";
/// Log bytes of an input; what follows is the label.
const LOG_BYTES: usize = 16 << 10;
const DATABASE: DatabaseId = DatabaseId([7; 16]);
const BEGUN: EpochMark = EpochMark { epoch: Epoch(1), salt: Salt(0xA1), begin: Lsn::ZERO };

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
    let mut marks = vec![BEGUN];
    for epoch in 1..3 {
        let lineage = Lineage::new(DATABASE, marks.clone());
        let start = LogStart { tail, epoch: Epoch(epoch), retention_lsn: Lsn::ZERO, lineage };
        let log = Log::start_as(disk.clone(), options.clone(), start).unwrap();
        for number in 0..12usize {
            let body = vec![number as u8; len];
            let record = Record { kind: 1, txn: TxnId(7), prev: log.end(), body: &[&body] };
            log.reserve_space(len as u64 + 128).unwrap();
            let span = log.insert(&record).unwrap();
            if number % group == 0 {
                log.wait_durable(span.end).unwrap();
            }
        }
        log.wait_durable(log.end()).unwrap();
        tail = log.durable();
        marks.push(latest(tail));
    }
    let file = disk.open(FIRST, OpenMode::Existing).unwrap();
    let mut bytes = vec![0; LOG_BYTES + SECTOR_SIZE];
    file.read_at(&mut bytes[..LOG_BYTES], 0).unwrap();
    file.read_at(&mut bytes[LOG_BYTES..], SEGMENT).unwrap();
    bytes
}

/// The second opening of the examples, which found the log's end at `tail`.
fn latest(tail: Lsn) -> EpochMark {
    EpochMark { epoch: Epoch(2), salt: Salt(0xA2), begin: LogStart::begin_behind(tail) }
}

fn take(input: &[u8]) -> Result<(), String> {
    let disk = MemoryDisk::new();
    disk.create_dir("log").map_err(|error| error.to_string())?;
    let file = disk.open(FIRST, OpenMode::Create).map_err(|error| error.to_string())?;
    file.allocate(0, SEGMENT + 4096).map_err(|error| error.to_string())?;
    let (log, label) = input.split_at(input.len().min(LOG_BYTES));
    file.write_at(log, 0).map_err(|error| error.to_string())?;
    let mut sector = label.to_vec();
    sector.resize(SECTOR_SIZE, 0);
    let checksum = crc32c(&sector[..SECTOR_SIZE - 4]);
    sector[SECTOR_SIZE - 4..].copy_from_slice(&checksum.to_le_bytes());
    file.write_at(&sector, SEGMENT).map_err(|error| error.to_string())?;
    let disk: Arc<dyn Disk> = Arc::new(disk);
    // The start of the second epoch is derived from the input's length, which is as good as any
    // other source.
    let latest = latest(Lsn((input.len() as u64 * 31) % LOG_BYTES as u64));
    let known = Known {
        database: DATABASE,
        latest,
        begun: BEGUN,
        has_begun: input.len().is_multiple_of(2),
        retention_lsn: Lsn::ZERO,
        oldest_label: (BEGUN.epoch, BEGUN.salt),
    };
    let lineage = match trace(&disk, SEGMENT, &known) {
        Ok(traced) => traced.lineage,
        Err(_) => Lineage::new(DATABASE, vec![BEGUN, latest]),
    };
    let reader = LogReader::open_as(disk, SEGMENT, Arc::new(lineage), Lsn::ZERO);
    let Ok(mut reader) = reader else { return Ok(()) };
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
