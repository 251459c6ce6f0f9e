//! The double-write file: where a page is safe while it is written in place.
//!
//! A crash in the middle of an in-place write can leave a page half old and half new. Redo cannot
//! repair that, since it builds on the old page. So a batch of pages is first written here and
//! made durable, and only then in place; after a crash a page that is torn in place is taken from
//! here (InnoDB's doublewrite buffer; the alternative, full page images in the log, makes the log
//! several times larger).
//!
//! The file has areas of 4 MiB; a batch fills one. An area is a header block of 4096 bytes and
//! then the pages, in the header's order:
//!
//! ```text
//!  0           8          12       16          24         32      36
//!  +-----------+----------+--------+-----------+----------+-------+----------+-----
//!  | "CLWDBLW1"| checksum | count  | sequence  | floor    | id[0] | sum[0]   | id[1] …
//!  +-----------+----------+--------+-----------+----------+-------+----------+-----
//! ```
//!
//! Little endian. The checksum is the CRC-32C of bytes `12..4096`; `sum[i]` is the checksum of
//! page `id[i]`, so the header vouches for exactly these copies. Batches are numbered by
//! `sequence`; all batches below `floor` were durable in place before this one began.
//!
//! Invariants:
//! - W1. A page is written in place only while its copy is durable here, and the copy is
//!   overwritten only after the page is durable in place.
//! - W2. Repair uses no batch below the highest floor: such a batch is through, and its copies may
//!   be older than what is in place.

use std::sync::Arc;

use clearway_base::{PAGE_SIZE, PageId, Result, crc32c};
use clearway_disk::{AlignedBuf, Disk, File};
use clearway_sync::Mutex;

use crate::{
    data_file::{self, DataFile},
    header,
};

/// Name of the file in the database directory.
const DOUBLE_WRITE_FILE: &str = "doublewrite";
const MAGIC: &[u8; 8] = b"CLWDBLW1";
/// Bytes of the header block: 32 + 8 × 500 pages at most.
pub(crate) const HEADER_BYTES: usize = 4096;
const ENTRIES_AT: usize = 32;
/// (4096 − 32) / 8 = 508 entries fit; options allow 500.
const ENTRIES_MAX: usize = (HEADER_BYTES - ENTRIES_AT) / 8;
/// Fixed, so that areas are found whatever the options of the last opening were:
/// 4096 + 500 × 8192 < 4 MiB.
const AREA_BYTES: u64 = 4 << 20;
/// Areas that any options may have used.
const AREAS_MAX: u64 = 8;

/// The file, and which batches are on their way.
pub(crate) struct DoubleWrite {
    file: Arc<dyn File>,
    sequences: Mutex<Sequences>,
}

struct Sequences {
    next: u64,
    /// For each area the batch that is not durable in place yet.
    in_flight: Vec<Option<u64>>,
}

impl DoubleWrite {
    /// Opens the file, repairs torn pages of `data`, reserves the areas. Answers the file and the
    /// number of pages repaired.
    pub(crate) fn open(
        disk: &dyn Disk,
        data: &DataFile,
        areas: usize,
        batch_pages: usize,
    ) -> Result<(DoubleWrite, u64)> {
        let file = data_file::open_or_create(disk, DOUBLE_WRITE_FILE)?;
        let (last, repaired) = repair(&*file, data)?;
        let area_bytes = (HEADER_BYTES + batch_pages * PAGE_SIZE) as u64;
        let wanted = (areas as u64 - 1) * AREA_BYTES + area_bytes;
        if file.len()? < wanted {
            file.allocate(0, wanted)?;
            file.sync_all()?;
        }
        let sequences = Sequences { next: last + 1, in_flight: vec![None; areas] };
        Ok((DoubleWrite { file, sequences: Mutex::new(sequences) }, repaired))
    }

    /// Writes a batch into an area and makes it durable. `image` starts with room for the header.
    pub(crate) fn write(
        &self,
        area: usize,
        entries: impl ExactSizeIterator<Item = (PageId, u32)>,
        image: &mut [u8],
    ) -> Result<()> {
        let (sequence, floor) = {
            let mut sequences = self.sequences.lock();
            let sequence = sequences.next;
            sequences.next += 1;
            sequences.in_flight[area] = Some(sequence);
            let floor = sequences.in_flight.iter().flatten().min().copied();
            (sequence, floor.unwrap_or(sequence))
        };
        write_header(&mut image[..HEADER_BYTES], sequence, floor, entries);
        self.file.write_durable_at(image, area as u64 * AREA_BYTES)
    }

    /// The batch in this area is durable in place, or nothing of it was written in place (W1).
    pub(crate) fn finish(&self, area: usize) {
        self.sequences.lock().in_flight[area] = None;
    }
}

fn write_header(
    block: &mut [u8],
    sequence: u64,
    floor: u64,
    entries: impl ExactSizeIterator<Item = (PageId, u32)>,
) {
    block.fill(0);
    block[..8].copy_from_slice(MAGIC);
    block[12..16].copy_from_slice(&(entries.len() as u32).to_le_bytes());
    block[16..24].copy_from_slice(&sequence.to_le_bytes());
    block[24..32].copy_from_slice(&floor.to_le_bytes());
    for (entry, (page, checksum)) in block[ENTRIES_AT..].chunks_exact_mut(8).zip(entries) {
        entry[..4].copy_from_slice(&page.0.to_le_bytes());
        entry[4..].copy_from_slice(&checksum.to_le_bytes());
    }
    let checksum = crc32c(&block[12..]);
    block[8..12].copy_from_slice(&checksum.to_le_bytes());
}

/// A header block that passed its checksum.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    area: u64,
    sequence: u64,
    floor: u64,
    entries: Vec<(PageId, u32)>,
}

fn read_header(area: u64, block: &[u8]) -> Option<Header> {
    let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("8 bytes"));
    let count = word(12) as usize;
    if block[..8] != *MAGIC || word(8) != crc32c(&block[12..]) || count > ENTRIES_MAX {
        return None;
    }
    let entry = |at: usize| (PageId(word(at)), word(at + 4));
    let entries = (0..count).map(|index| entry(ENTRIES_AT + 8 * index)).collect();
    Some(Header { area, sequence: long(16), floor: long(24), entries })
}

/// Repairs the pages of `data` that are damaged and have a copy. Answers the highest sequence
/// number found and the number of pages repaired. It may be interrupted and run again.
fn repair(file: &dyn File, data: &DataFile) -> Result<(u64, u64)> {
    let mut block = AlignedBuf::new(HEADER_BYTES);
    let mut headers = Vec::new();
    for area in 0..AREAS_MAX {
        // An area whose header is torn was being overwritten: nothing of the new batch was
        // written in place yet, and the old one was through (W1).
        if file.read_at(&mut block, area * AREA_BYTES)? == HEADER_BYTES {
            headers.extend(read_header(area, &block));
        }
    }
    let floor = headers.iter().map(|header| header.floor).max().unwrap_or(0);
    let last = headers.iter().map(|header| header.sequence).max().unwrap_or(0);
    headers.retain(|header| header.sequence >= floor);
    // Newest first: where two batches have a page, the older one finds it repaired.
    headers.sort_by_key(|header| std::cmp::Reverse(header.sequence));
    let mut repaired = 0;
    for header in &headers {
        repaired += repair_from(header, file, data)?;
    }
    if repaired > 0 {
        data.file().sync_data()?;
    }
    Ok((last, repaired))
}

fn repair_from(header: &Header, file: &dyn File, data: &DataFile) -> Result<u64> {
    let mut repaired = 0;
    let mut page = AlignedBuf::new(PAGE_SIZE);
    for (index, (id, checksum)) in header.entries.iter().enumerate() {
        data.read(*id, &mut page)?;
        if header::verify(*id, &page).is_ok() {
            continue;
        }
        let at = header.area * AREA_BYTES + (HEADER_BYTES + index * PAGE_SIZE) as u64;
        let whole = file.read_at(&mut page, at)? == PAGE_SIZE;
        let vouched = page[..4] == checksum.to_le_bytes();
        if whole && vouched && header::verify(*id, &page).is_ok() {
            data.file().write_at(&page, data_file::offset(*id))?;
            repaired += 1;
        }
    }
    Ok(repaired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_reads_back() {
        let mut block = vec![7; HEADER_BYTES];
        let entries = vec![(PageId(3), 0xabcd), (PageId(9), 1)];
        write_header(&mut block, 17, 16, entries.iter().copied());
        let header = read_header(2, &block).unwrap();
        assert_eq!(header, Header { area: 2, sequence: 17, floor: 16, entries });
    }

    /// The worked example of `docs/page-format.md`.
    #[test]
    fn documented_example_is_what_is_written() {
        let mut block = vec![0; HEADER_BYTES];
        write_header(&mut block, 17, 16, [(PageId(7), 0x2928_a404)].into_iter());
        assert_eq!(block[8..16], [0xbd, 0x1f, 0x44, 0x6d, 1, 0, 0, 0]);
    }

    #[test]
    fn damaged_header_is_no_batch() {
        let mut block = vec![0; HEADER_BYTES];
        write_header(&mut block, 1, 1, [(PageId(3), 5)].into_iter());
        for at in [0, 9, 12, 20, 33, 4095] {
            let mut damaged = block.clone();
            damaged[at] ^= 1;
            assert_eq!(read_header(0, &damaged), None, "byte {at}");
        }
    }
    fn batch_of(page: PageId, fill: u8) -> (u32, Vec<u8>) {
        let mut image = vec![fill; HEADER_BYTES + PAGE_SIZE];
        let checksum = header::seal(page, &mut image[HEADER_BYTES..]);
        (checksum, image)
    }

    #[test]
    fn copy_older_than_what_is_in_place_repairs_nothing() {
        let disk = clearway_disk::MemoryDisk::new();
        let data = DataFile::open(&disk).unwrap();
        data.ensure(PageId(9), 100).unwrap();
        let (double_write, _) = DoubleWrite::open(&disk, &data, 2, 4).unwrap();
        // Page 5 in a batch that is through, and later batches in the other area only: page 5 may
        // have been written by any of them before the last.
        for (area, page) in [(1, PageId(5)), (0, PageId(6)), (0, PageId(7))] {
            let (checksum, mut image) = batch_of(page, 3);
            let entries = [(page, checksum)].into_iter();
            double_write.write(area, entries, &mut image).unwrap();
            double_write.finish(area);
        }
        let damaged = vec![0xee; PAGE_SIZE];
        for page in [PageId(5), PageId(7)] {
            data.file().write_at(&damaged, data_file::offset(page)).unwrap();
        }
        let (_, repaired) = DoubleWrite::open(&disk, &data, 2, 4).unwrap();
        assert_eq!(repaired, 1, "page 7 from the last batch, page 5 from nowhere");
        let mut page = vec![0; PAGE_SIZE];
        data.read(PageId(7), &mut page).unwrap();
        header::verify(PageId(7), &page).unwrap();
        data.read(PageId(5), &mut page).unwrap();
        assert_eq!(page, damaged);
    }
}
