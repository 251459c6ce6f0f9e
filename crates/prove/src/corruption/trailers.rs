//! Reads the group trailers of a log. Each of them proves the log before a certain LSN to have been
//! durable.
//!
//! This is an independent implementation of `docs/log-format.md`, which uses no code of the log.

use clearway_base::{Result, SECTOR_SIZE, crc32c, crc32c_append};
use clearway_disk::{Disk, File, OpenMode};
use clearway_testkit::disk::SimDisk;

const HEADER: usize = 32;
const TRAILER: u8 = 0xF0;
/// The largest length of a group trailer: it fills the rest of a sector, or that and one more.
const TRAILER_LEN_MAX: usize = HEADER + SECTOR_SIZE;
/// The length of a segment's label, which follows the log bytes from format version 2 on.
const LABEL: usize = 4096;
const LABEL_MAGIC: &[u8] = b"CLWSEGM2";

/// A valid group trailer.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupTrailer {
    /// The start of its group.
    pub(super) group: u64,
    /// The end of its group.
    pub(super) end: u64,
    /// The LSN up to which the log was durable when the trailer was made.
    pub(super) durable: u64,
}

/// Returns all valid group trailers in the order of the log.
///
/// # Errors
/// An error of the disk.
pub(super) fn read(disk: &SimDisk) -> Result<Vec<GroupTrailer>> {
    let mut trailers = Vec::new();
    let (mut log, mut start) = (Vec::new(), 0);
    for (lsn, bytes) in segments(disk)? {
        if start + log.len() as u64 != lsn {
            find(&log, start, &mut trailers);
            (log, start) = (Vec::new(), lsn);
        }
        log.extend(bytes);
    }
    find(&log, start, &mut trailers);
    Ok(trailers)
}

/// Returns an LSN at or behind the end of the log: the end of the last trailer, or that of the last
/// byte that is not zero, which may belong to a group whose trailer is lost.
///
/// # Errors
/// An error of the disk.
pub(super) fn log_end(disk: &SimDisk, trailers: &[GroupTrailer]) -> Result<u64> {
    let end = |(lsn, bytes): (u64, Vec<u8>)| {
        let last = bytes.iter().rposition(|byte| *byte != 0);
        last.map_or(0, |last| lsn + last as u64 + 1)
    };
    let last_byte = segments(disk)?.into_iter().map(end).max().unwrap_or(0);
    Ok(last_byte.max(trailers.last().map_or(0, |trailer| trailer.end)))
}

/// Returns the segments in order, each with its first LSN.
fn segments(disk: &SimDisk) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut segments = Vec::new();
    for name in disk.list("log")? {
        let Ok(lsn) = u64::from_str_radix(&name, 16) else { continue };
        let file = disk.open(&format!("log/{name}"), OpenMode::Existing)?;
        let mut bytes = vec![0; log_bytes(&*file)? as usize];
        file.read_at(&mut bytes, 0)?;
        segments.push((lsn, bytes));
    }
    Ok(segments)
}

/// Returns the number of log bytes in a segment's file, which excludes the label.
pub(super) fn log_bytes(file: &dyn File) -> Result<u64> {
    let len = file.len()?;
    let Some(at) = len.checked_sub(LABEL as u64) else { return Ok(len) };
    let mut magic = [0; LABEL_MAGIC.len()];
    file.read_at(&mut magic, at)?;
    Ok(if magic == LABEL_MAGIC { at } else { len })
}

fn find(log: &[u8], start: u64, trailers: &mut Vec<GroupTrailer>) {
    for at in (0..log.len().saturating_sub(HEADER)).step_by(8) {
        let rest = &log[at..];
        let len = word(rest, 4) as usize;
        let is_one = rest[12] == TRAILER
            && (HEADER..=TRAILER_LEN_MAX).contains(&len)
            && len <= rest.len()
            && (at + len).is_multiple_of(SECTOR_SIZE);
        if is_one && checksum(&rest[..len], start + at as u64) == word(rest, 0) {
            let durable = u64::from_le_bytes(rest[24..32].try_into().expect("8 bytes"));
            // Groups are contiguous. If the group before this one has no valid trailer, the
            // start assumed here is too early.
            let group = trailers.last().map_or(start, |trailer| trailer.end);
            trailers.push(GroupTrailer { group, end: start + (at + len) as u64, durable });
        }
    }
}

/// Computes the checksum of a record: over the salt if there is one, the body, the LSN, and the
/// header without the checksum. A trailer has its salt in the field where other records have the
/// transaction id.
fn checksum(record: &[u8], lsn: u64) -> u32 {
    let (header, body) = record.split_at(HEADER);
    let salt = &header[16..24];
    let seed = if salt == [0; 8] { 0 } else { crc32c(salt) };
    let crc = crc32c_append(crc32c_append(seed, body), &lsn.to_le_bytes());
    crc32c_append(crc32c_append(crc, &[0; 4]), &header[4..])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}
