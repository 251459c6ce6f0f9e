//! How far a log's own seals say that it was durable once.
//!
//! A second reading of `docs/log-format.md`, with none of the log's code.

use clearway_base::{Result, SECTOR_SIZE, crc32c, crc32c_append};
use clearway_disk::{Disk, File, OpenMode};
use clearway_testkit::disk::SimDisk;

const HEADER: usize = 32;
const SEAL: u8 = 0xF0;
/// A seal fills what is left of a sector, or that and one more.
const SEAL_LEN_MAX: usize = HEADER + SECTOR_SIZE;
/// What stands behind a segment's log bytes, from format version 2 on: its label.
const LABEL: usize = 4096;
const LABEL_MAGIC: &[u8] = b"CLWSEGM2";

/// A seal that is whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seal {
    /// Where its group begins.
    pub(super) group: u64,
    /// Where its group ends.
    pub(super) end: u64,
    /// The log was durable up to here when it was made.
    pub(super) durable: u64,
}

/// All seals that are whole, in order.
///
/// # Errors
/// What the disk says.
pub(super) fn read(disk: &SimDisk) -> Result<Vec<Seal>> {
    let mut seals = Vec::new();
    let (mut log, mut start) = (Vec::new(), 0);
    for name in disk.list("log")? {
        let Ok(lsn) = u64::from_str_radix(&name, 16) else { continue };
        let file = disk.open(&format!("log/{name}"), OpenMode::Existing)?;
        let mut bytes = vec![0; log_bytes(&*file)? as usize];
        file.read_at(&mut bytes, 0)?;
        if start + log.len() as u64 != lsn {
            find(&log, start, &mut seals);
            (log, start) = (Vec::new(), lsn);
        }
        log.extend(bytes);
    }
    find(&log, start, &mut seals);
    Ok(seals)
}

/// The bytes of the log in a segment's file.
pub(super) fn log_bytes(file: &dyn File) -> Result<u64> {
    let len = file.len()?;
    let Some(at) = len.checked_sub(LABEL as u64) else { return Ok(len) };
    let mut magic = [0; LABEL_MAGIC.len()];
    file.read_at(&mut magic, at)?;
    Ok(if magic == LABEL_MAGIC { at } else { len })
}

fn find(log: &[u8], start: u64, seals: &mut Vec<Seal>) {
    for at in (0..log.len().saturating_sub(HEADER)).step_by(8) {
        let rest = &log[at..];
        let len = word(rest, 4) as usize;
        let is_one = rest[12] == SEAL
            && (HEADER..=SEAL_LEN_MAX).contains(&len)
            && len <= rest.len()
            && (at + len).is_multiple_of(SECTOR_SIZE);
        if is_one && checksum(&rest[..len], start + at as u64) == word(rest, 0) {
            let durable = u64::from_le_bytes(rest[24..32].try_into().expect("8 bytes"));
            // Groups follow each other; where one before is missing this one's begin is a guess,
            // and too early.
            let group = seals.last().map_or(start, |seal| seal.end);
            seals.push(Seal { group, end: start + (at + len) as u64, durable });
        }
    }
}

/// Over the salt if there is one, the body, the LSN, and the header without the checksum. A seal
/// names its salt where other records name a transaction.
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
