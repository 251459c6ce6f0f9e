//! What is changed, and where.

use clearway_base::{PAGE_SIZE, PageId, Result, SECTOR_SIZE};
use clearway_disk::{Disk, File, OpenMode};
use clearway_testkit::disk::SimDisk;

use super::seals::{Seal, log_bytes};
use crate::random::Random;

const SECTOR: u64 = SECTOR_SIZE as u64;
const PAGE: u64 = PAGE_SIZE as u64;
/// The pages before it are the superblock's.
const FIRST_PAGE: u64 = 2;
/// Where a page says what it is; 0 if it was never written.
const KIND_AT: usize = 16;
/// Near the end of the log is within so many bytes of it.
const TAIL: u64 = 2048;

/// A sector, or a page, that is not what it was.
pub(super) struct Wound {
    pub(super) file: String,
    pub(super) offset: u64,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    /// Whether it is a segment's label, behind its log bytes.
    is_label: bool,
}

impl Wound {
    /// Draws one and makes it.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn make(disk: &SimDisk, seals: &[Seal], random: &mut Random) -> Result<Wound> {
        let (file, offset) = place(disk, seals, random)?;
        let handle = disk.open(&file, OpenMode::Existing)?;
        if file == "data" && offset >= FIRST_PAGE * PAGE && random.one_in(3) {
            return Wound::misdirect(disk, &*handle, random);
        }
        Wound::make_at(disk, file, offset, random)
    }

    /// Draws one in a page of the data file, and makes it.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn make_in(disk: &SimDisk, page: PageId, random: &mut Random) -> Result<Wound> {
        let offset = u64::from(page.0) * PAGE + random.below(PAGE);
        Wound::make_at(disk, "data".into(), offset, random)
    }

    fn make_at(disk: &SimDisk, file: String, offset: u64, random: &mut Random) -> Result<Wound> {
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
        Ok(Wound { file, offset, before, after, is_label })
    }

    /// A page has the bytes of another of its kind, as after a write that went astray.
    fn misdirect(disk: &SimDisk, data: &dyn File, random: &mut Random) -> Result<Wound> {
        let mut used = Vec::new();
        for page in FIRST_PAGE..data.len()? / PAGE {
            let mut bytes = vec![0; PAGE_SIZE];
            data.read_at(&mut bytes, page * PAGE)?;
            used.extend((bytes[KIND_AT] != 0).then_some((page, bytes)));
        }
        if used.is_empty() {
            used.push((FIRST_PAGE, vec![0; PAGE_SIZE]));
        }
        let (page, before) = random.pick(&used);
        let mut alike = used.into_iter().filter(|(_, bytes)| bytes[KIND_AT] == before[KIND_AT]);
        let nth = random.below(alike.clone().count() as u64) as usize;
        let after = alike.nth(nth).map_or_else(|| before.clone(), |(_, bytes)| bytes);
        disk.overwrite("data", page * PAGE, &after)?;
        let offset = page * PAGE;
        Ok(Wound { file: "data".into(), offset, before, after, is_label: false })
    }

    /// The first byte of the log that is not what it was.
    pub(super) fn lsn(&self) -> Option<u64> {
        let digits = self.file.strip_prefix("log/").filter(|_| !self.is_label)?;
        let segment = u64::from_str_radix(digits, 16).ok()?;
        let first = self.before.iter().zip(&self.after).position(|(one, other)| one != other)?;
        Some(segment + self.offset + first as u64)
    }

    /// Whether nobody has written there since.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn is_open(&self, disk: &SimDisk) -> Result<bool> {
        if !disk.exists(&self.file)? {
            return Ok(false);
        }
        let handle = disk.open(&self.file, OpenMode::Existing)?;
        let mut now = vec![0; self.after.len()];
        Ok(handle.read_at(&mut now, self.offset)? == now.len() && now == self.after)
    }

    /// Puts back what was there.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn heal(&self, disk: &SimDisk) -> Result<()> {
        disk.overwrite(&self.file, self.offset, &self.before)
    }
}

fn flip(bytes: &mut [u8], bits: u64, random: &mut Random) {
    for _ in 0..bits {
        let bit = random.below(bytes.len() as u64 * 8);
        bytes[bit as usize / 8] ^= 1 << (bit % 8);
    }
}

/// A file, and a byte of it.
fn place(disk: &SimDisk, seals: &[Seal], random: &mut Random) -> Result<(String, u64)> {
    let names = disk.file_names();
    let is_segment = |name: &&String| {
        name.strip_prefix("log/").is_some_and(|digits| u64::from_str_radix(digits, 16).is_ok())
    };
    let segments: Vec<&String> = names.iter().filter(is_segment).collect();
    let len = |name: &str| disk.open(name, OpenMode::Existing).and_then(|file| file.len());
    match random.below(20) {
        0 | 1 => {
            // A superblock's sector, or the rest of its page.
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
    let ends = seals.last().map_or(0, |seal| seal.end);
    let begins = seals.first().map_or(0, |seal| seal.group);
    let lsn = match random.below(10) {
        0..5 => random.between(begins, ends.max(begins + 1) - 1),
        5..9 => (ends + SECTOR).saturating_sub(random.below(TAIL)).max(begins),
        _ => begins + random.below(segments.len() as u64 * segment_bytes),
    };
    let (segment, offset) = in_segment(&segments, segment_bytes, lsn)?;
    // Now and then its label.
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
