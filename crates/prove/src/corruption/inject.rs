//! One corruption: the bytes that are changed, and their place.

use std::ops::Range;

use clearway_base::{PAGE_SIZE, PageId, Result, SECTOR_SIZE};
use clearway_disk::{Disk, File, OpenMode};
use clearway_testkit::Random;
use clearway_testkit::disk::{SimDisk, seal_page};

use super::trailers::{GroupTrailer, log_bytes, log_end};

const SECTOR: u64 = SECTOR_SIZE as u64;
const PAGE: u64 = PAGE_SIZE as u64;
/// The first page after the superblock.
const FIRST_PAGE: u64 = 2;
/// The offset of the kind in a page. The kind is 0 if the page was never written.
const KIND_AT: usize = 16;
/// The place of the page LSN in a page.
const PAGE_LSN: Range<usize> = 8..16;
/// The number of bytes before the end of the log that count as near it.
const TAIL: u64 = 2048;

/// A changed sector or page.
pub(super) struct Corruption {
    pub(super) file: String,
    pub(super) offset: u64,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    /// True if the sector belongs to a segment's label, behind the log bytes.
    is_label: bool,
}

impl Corruption {
    /// Draws a corruption of any file and applies it.
    ///
    /// # Errors
    /// An error of the disk.
    pub(super) fn make(
        disk: &SimDisk,
        trailers: &[GroupTrailer],
        random: &mut Random,
    ) -> Result<Corruption> {
        let (file, offset) = place(disk, trailers, random)?;
        let handle = disk.open(&file, OpenMode::Existing)?;
        if file == "data" && offset >= FIRST_PAGE * PAGE && random.one_in(3) {
            return Corruption::misdirect(disk, &*handle, random);
        }
        if file == "data" && offset >= FIRST_PAGE * PAGE && random.one_in(5) {
            let end = log_end(disk, trailers)?;
            return Corruption::forge_page_lsn(disk, &*handle, end, random);
        }
        Corruption::make_at(disk, file, offset, random)
    }

    /// Draws a corruption within a page of the data file and applies it.
    ///
    /// # Errors
    /// An error of the disk.
    pub(super) fn make_in(disk: &SimDisk, page: PageId, random: &mut Random) -> Result<Corruption> {
        let offset = u64::from(page.0) * PAGE + random.below(PAGE);
        Corruption::make_at(disk, "data".into(), offset, random)
    }

    fn make_at(
        disk: &SimDisk,
        file: String,
        offset: u64,
        random: &mut Random,
    ) -> Result<Corruption> {
        let handle = disk.open(&file, OpenMode::Existing)?;
        let (len, offset) = (handle.len()?, offset / SECTOR * SECTOR);
        let was_log_bytes = log_bytes(&*handle)?;
        let mut before = vec![0; SECTOR.min(len - offset) as usize];
        handle.read_at(&mut before, offset)?;
        let mut after = before.clone();
        match random.below(10) {
            0..5 => flip(&mut after, 1, random),
            5 | 6 => {
                let bits = random.between(2, 8);
                flip(&mut after, bits, random);
            }
            7 => after.fill(random.pick(&[0, 0, 0xFF])),
            8 => after.iter_mut().for_each(|byte| *byte = random.next_u64() as u8),
            _ => {
                let other = random.below(len / SECTOR) * SECTOR;
                handle.read_at(&mut after, other)?;
            }
        }
        disk.overwrite(&file, offset, &after)?;
        let is_label = file.starts_with("log/") && offset >= was_log_bytes;
        Ok(Corruption { file, offset, before, after, is_label })
    }

    /// Overwrites a page with another of its kind, as a misdirected write does.
    fn misdirect(disk: &SimDisk, data: &dyn File, random: &mut Random) -> Result<Corruption> {
        let used = used_pages(data)?;
        let (page, before) = random.pick(&used);
        let mut same_kind = used.into_iter().filter(|(_, bytes)| bytes[KIND_AT] == before[KIND_AT]);
        let nth = random.below(same_kind.clone().count() as u64) as usize;
        let after = same_kind.nth(nth).map_or_else(|| before.clone(), |(_, bytes)| bytes);
        disk.overwrite("data", page * PAGE, &after)?;
        let offset = page * PAGE;
        Ok(Corruption { file: "data".into(), offset, before, after, is_label: false })
    }

    /// Gives a page an LSN beyond `end`, which is at or behind the end of the log, and a valid
    /// checksum, as a copy of a later state of the data file has.
    fn forge_page_lsn(
        disk: &SimDisk,
        data: &dyn File,
        end: u64,
        random: &mut Random,
    ) -> Result<Corruption> {
        let (page, before) = random.pick(&used_pages(data)?);
        let beyond = random.pick(&[1, 512, 1 << 20, 1 << 40, u64::MAX - end]);
        let mut after = before.clone();
        after[PAGE_LSN].copy_from_slice(&(end + beyond).to_le_bytes());
        seal_page(page as u32, &mut after);
        disk.overwrite("data", page * PAGE, &after)?;
        let offset = page * PAGE;
        Ok(Corruption { file: "data".into(), offset, before, after, is_label: false })
    }

    /// Returns the LSN of the first changed byte of the log; `None` for changes elsewhere.
    pub(super) fn lsn(&self) -> Option<u64> {
        let digits = self.file.strip_prefix("log/").filter(|_| !self.is_label)?;
        let segment = u64::from_str_radix(digits, 16).ok()?;
        let first = self.before.iter().zip(&self.after).position(|(one, other)| one != other)?;
        Some(segment + self.offset + first as u64)
    }

    /// Returns true if the changed bytes were not overwritten since.
    ///
    /// # Errors
    /// An error of the disk.
    pub(super) fn is_in_place(&self, disk: &SimDisk) -> Result<bool> {
        if !disk.exists(&self.file)? {
            return Ok(false);
        }
        let handle = disk.open(&self.file, OpenMode::Existing)?;
        let mut now = vec![0; self.after.len()];
        Ok(handle.read_at(&mut now, self.offset)? == now.len() && now == self.after)
    }

    /// Restores the original bytes.
    ///
    /// # Errors
    /// An error of the disk.
    pub(super) fn restore(&self, disk: &SimDisk) -> Result<()> {
        disk.overwrite(&self.file, self.offset, &self.before)
    }
}

/// Returns the pages that were ever written, with their bytes; at least one.
fn used_pages(data: &dyn File) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut used = Vec::new();
    for page in FIRST_PAGE..data.len()? / PAGE {
        let mut bytes = vec![0; PAGE_SIZE];
        data.read_at(&mut bytes, page * PAGE)?;
        used.extend((bytes[KIND_AT] != 0).then_some((page, bytes)));
    }
    if used.is_empty() {
        used.push((FIRST_PAGE, vec![0; PAGE_SIZE]));
    }
    Ok(used)
}

fn flip(bytes: &mut [u8], bits: u64, random: &mut Random) {
    for _ in 0..bits {
        let bit = random.below(bytes.len() as u64 * 8);
        bytes[bit as usize / 8] ^= 1 << (bit % 8);
    }
}

/// Draws a file and the offset of a byte in it.
fn place(disk: &SimDisk, trailers: &[GroupTrailer], random: &mut Random) -> Result<(String, u64)> {
    let names = disk.file_names();
    let is_segment = |name: &&String| {
        name.strip_prefix("log/").is_some_and(|digits| u64::from_str_radix(digits, 16).is_ok())
    };
    let segments: Vec<&String> = names.iter().filter(is_segment).collect();
    let len = |name: &str| disk.open(name, OpenMode::Existing).and_then(|file| file.len());
    match random.below(20) {
        0 | 1 => {
            // The sector that holds a superblock, or any sector of its page.
            let within = if random.one_in(5) { PAGE } else { SECTOR };
            return Ok(("data".into(), random.below(2) * PAGE + random.below(within)));
        }
        2..9 => {
            let pages = len("data")? / PAGE;
            if pages > 2 {
                return Ok(("data".into(), 2 * PAGE + random.below((pages - 2) * PAGE)));
            }
        }
        9..12 if len("doublewrite").is_ok_and(|len| len > 0) => {
            return Ok(("doublewrite".into(), random.below(len("doublewrite")?)));
        }
        _ => {}
    }
    let segment_bytes = log_bytes(&*disk.open(segments[0], OpenMode::Existing)?)?;
    let ends = trailers.last().map_or(0, |trailer| trailer.end);
    let begins = trailers.first().map_or(0, |trailer| trailer.group);
    let lsn = match random.below(10) {
        0..5 => random.between(begins, ends.max(begins + 1) - 1),
        5..9 => (ends + SECTOR).saturating_sub(random.below(TAIL)).max(begins),
        _ => begins + random.below(segments.len() as u64 * segment_bytes),
    };
    let (segment, offset) = in_segment(&segments, segment_bytes, lsn)?;
    // Sometimes the label of that segment.
    let is_label = len(&segment)? > segment_bytes && random.one_in(12);
    Ok((segment, if is_label { segment_bytes + random.below(SECTOR) } else { offset }))
}

fn in_segment(segments: &[&String], segment_bytes: u64, lsn: u64) -> Result<(String, u64)> {
    let name = format!("log/{:016x}", lsn / segment_bytes * segment_bytes);
    match segments.iter().any(|segment| **segment == name) {
        true => Ok((name, lsn % segment_bytes)),
        false => Ok((segments[segments.len() - 1].clone(), lsn % segment_bytes)),
    }
}
