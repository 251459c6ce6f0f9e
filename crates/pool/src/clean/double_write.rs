//! The double-write file: the safe copy of a page while it is written in place.
//!
//! A crash in the middle of an in-place write can leave a page half old and half new. Redo cannot
//! repair that, since it builds on the old page. Therefore a batch of pages is first written here
//! and made durable, and only then written in place; after a crash, a page that is torn in place is
//! restored from here (InnoDB's doublewrite buffer; the alternative, full page images in the log,
//! makes the log several times larger).
//!
//! The file consists of places of 4 MiB; a batch takes one. Each area has two places, `2 × area`
//! and the next, which its batches use alternately. A place is a header block of 4096 bytes and
//! then the pages, in the header's order:
//!
//! ```text
//!  0           8          12       16          24         32      36
//!  +-----------+----------+--------+-----------+----------+-------+----------+-----
//!  | "CLWDBLW2"| checksum | count  | sequence  | floor    | id[0] | sum[0]   | id[1] …
//!  +-----------+----------+--------+-----------+----------+-------+----------+-----
//! ```
//!
//! Little endian. The checksum is the CRC-32C of bytes `12..4096`; `sum[i]` is the checksum of page
//! `id[i]`, so the header is valid for exactly these copies. Batches are numbered by `sequence`;
//! all batches below `floor` were durable in place before this one began. Bytes `4088..4096` hold
//! the highest page LSN of this batch and all before it.
//!
//! Invariants:
//! - DOUBLE-WRITE-1. A page is written in place only while its copy is durable here, and the copy
//!   is overwritten only after the page is durable in place.
//! - DOUBLE-WRITE-2. Repair uses no batch below the highest floor: such a batch has completed, and
//!   its copies may be older than the pages in place.
//! - DOUBLE-WRITE-3. The last complete header of an area stays until a later one of the area is
//!   complete: a crash can only tear the other place. Floors never decrease, so the highest floor
//!   found is at least that of every batch whose writing in place was ever begun. The same goes for
//!   page LSNs: a log that ends before the highest one found has lost its end, for it was durable
//!   up to there once.
//! - DOUBLE-WRITE-4. After an opening, everything in place is durable, whatever the previous
//!   process or the system left undone: the copies that the first batch overwrites under
//!   DOUBLE-WRITE-1 are no longer needed.
//!
//! By DOUBLE-WRITE-3, the newest of all copies of a page that repair may use is at least as new as
//! the page in place: the header of the batch that wrote the page, or a later one, has a floor
//! above every batch that had completed before.
//!
//! About DOUBLE-WRITE-4. A killed process leaves writes that are only in the system's cache; a sync
//! makes them durable. After a *failed* sync the system may even consider pages written that are
//! not on the disk, and no later sync would write them. Only pages of batches that had not
//! completed can be among them (CLEANER-4, CLEANER-5), so these are written in place again before
//! the sync. That must obey DOUBLE-WRITE-1, too, and it is unknown whether a batch that was read
//! here is durable: its write may have failed although the system shows it. But if a page in place
//! is damaged or equals its copy, writing the batch in place had begun (CLEANER-6), so the batch is
//! durable. A page in place that is intact and differs from its copy was not reached, and is left
//! unchanged.

use std::{collections::HashSet, sync::Arc};

use clearway_base::{
    Lsn, PAGE_SIZE, PageId, Result, crc32c,
    failpoint::{self, Failpoint},
};
use clearway_disk::{AlignedBuf, Disk, File};
use clearway_sync::{Mutex, invariant};

use crate::{
    data_file::{self, DataFile},
    header,
};

/// Name of the file in the database directory.
const DOUBLE_WRITE_FILE: &str = "doublewrite";
const MAGIC: &[u8; 8] = b"CLWDBLW2";
/// Bytes of the header block: 32 + 8 × 500 pages at most.
pub(crate) const HEADER_BYTES: usize = 4096;
const ENTRIES_AT: usize = 32;
/// Offset of the highest page LSN.
const LSN_AT: usize = HEADER_BYTES - 8;
/// (4088 − 32) / 8 = 507 entries fit; options allow 500.
const ENTRIES_MAX: usize = (LSN_AT - ENTRIES_AT) / 8;
/// Fixed, so that places are found independently of the options of the last opening: 4096 + 500 ×
/// 8192 < 4 MiB.
const PLACE_BYTES: u64 = 4 << 20;
/// Places that any options may have used: two for each of eight areas.
const PLACES_MAX: u64 = 16;

/// The file and its in-flight batches.
pub(crate) struct DoubleWrite {
    file: Arc<dyn File>,
    sequences: Mutex<Sequences>,
    /// The highest page LSN that may have been in place when the file was opened.
    page_lsn_max: Lsn,
}

struct Sequences {
    next: u64,
    /// The highest page LSN so far.
    page_lsn_max: Lsn,
    /// For each area the batch that is not durable in place yet.
    in_flight: Vec<Option<u64>>,
    /// For each area, the place for its next batch (DOUBLE-WRITE-3).
    next_place: Vec<u64>,
}

impl DoubleWrite {
    /// Opens the file, repairs torn pages of `data` and makes its contents durable
    /// (DOUBLE-WRITE-4), and reserves the areas. Returns the file and the number of pages repaired.
    pub(crate) fn open(
        disk: &dyn Disk,
        data: &DataFile,
        areas: usize,
        batch_pages: usize,
    ) -> Result<(DoubleWrite, u64)> {
        let file = data_file::open_or_create(disk, DOUBLE_WRITE_FILE)?;
        let headers = read_headers(&*file)?;
        let repaired = repair(&headers, &*file, data)?;
        let sequence_at = |place: u64| {
            headers.iter().find(|header| header.place == place).map_or(0, |header| header.sequence)
        };
        let last = headers.iter().map(|header| header.sequence).max().unwrap_or(0);
        // The older of the two places is used first, or the one without a header.
        let first_place =
            |area: u64| 2 * area + u64::from(sequence_at(2 * area) > sequence_at(2 * area + 1));
        let next_place = (0..areas as u64).map(first_place).collect();
        let place_bytes = (HEADER_BYTES + batch_pages * PAGE_SIZE) as u64;
        let wanted = (2 * areas as u64 - 1) * PLACE_BYTES + place_bytes;
        if file.len()? < wanted {
            file.allocate(0, wanted)?;
            file.sync_all()?;
        }
        let page_lsn_max = headers.iter().map(|header| header.page_lsn_max).max();
        let page_lsn_max = page_lsn_max.unwrap_or(Lsn::ZERO);
        let in_flight = vec![None; areas];
        let sequences = Sequences { next: last + 1, page_lsn_max, in_flight, next_place };
        Ok((DoubleWrite { file, sequences: Mutex::new(sequences), page_lsn_max }, repaired))
    }

    /// Returns the LSN up to which the log was durable when the file was opened, if the file is
    /// intact.
    pub(crate) fn page_lsn_max(&self) -> Lsn {
        self.page_lsn_max
    }

    /// Writes a batch into an area and makes it durable. `image` starts with room for the header.
    pub(crate) fn write(
        &self,
        area: usize,
        entries: impl ExactSizeIterator<Item = (PageId, u32)>,
        image: &mut [u8],
    ) -> Result<()> {
        let copies = image[HEADER_BYTES..].chunks_exact(PAGE_SIZE);
        let page_lsn_max = copies.map(header::page_lsn).max().unwrap_or(Lsn::ZERO);
        let (sequence, floor, page_lsn_max, place) = {
            let mut sequences = self.sequences.lock();
            let sequence = sequences.next;
            sequences.next += 1;
            let is_free = sequences.in_flight[area].is_none();
            invariant(is_free, "double write: an area holds one batch at a time");
            sequences.in_flight[area] = Some(sequence);
            let floor = sequences.in_flight.iter().flatten().min().copied();
            sequences.page_lsn_max = sequences.page_lsn_max.max(page_lsn_max);
            let place = sequences.next_place[area];
            sequences.next_place[area] = place ^ 1;
            (sequence, floor.unwrap_or(sequence), sequences.page_lsn_max, place)
        };
        write_header(&mut image[..HEADER_BYTES], (sequence, floor), page_lsn_max, entries);
        self.file.write_durable_at(image, place * PLACE_BYTES)
    }

    /// Ends the batch in this area: it is durable in place, or nothing of it was written in place
    /// (DOUBLE-WRITE-1).
    pub(crate) fn finish(&self, area: usize) {
        let finished = self.sequences.lock().in_flight[area].take();
        invariant(finished.is_some(), "double write: a batch is finished once");
    }
}

fn write_header(
    block: &mut [u8],
    (sequence, floor): (u64, u64),
    page_lsn_max: Lsn,
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
    block[LSN_AT..].copy_from_slice(&page_lsn_max.0.to_le_bytes());
    let checksum = crc32c(&block[12..]);
    block[8..12].copy_from_slice(&checksum.to_le_bytes());
}

/// A header block that passed its checksum.
#[derive(Debug, PartialEq, Eq)]
struct BatchHeader {
    place: u64,
    sequence: u64,
    floor: u64,
    page_lsn_max: Lsn,
    entries: Vec<(PageId, u32)>,
}

fn read_header(place: u64, block: &[u8]) -> Option<BatchHeader> {
    let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("8 bytes"));
    let count = word(12) as usize;
    if block[..8] != *MAGIC || word(8) != crc32c(&block[12..]) || count > ENTRIES_MAX {
        return None;
    }
    let entry = |at: usize| (PageId(word(at)), word(at + 4));
    let entries = (0..count).map(|index| entry(ENTRIES_AT + 8 * index)).collect();
    let (sequence, floor, page_lsn_max) = (long(16), long(24), Lsn(long(LSN_AT)));
    Some(BatchHeader { place, sequence, floor, page_lsn_max, entries })
}

/// The headers of all places that have one.
fn read_headers(file: &dyn File) -> Result<Vec<BatchHeader>> {
    let mut block = AlignedBuf::new(HEADER_BYTES);
    let mut headers = Vec::new();
    for place in 0..PLACES_MAX {
        // A place whose header is torn was being overwritten: nothing of the new batch was written
        // in place yet, and the old one had completed (DOUBLE-WRITE-1).
        if file.read_at(&mut block, place * PLACE_BYTES)? == HEADER_BYTES {
            headers.extend(read_header(place, &block));
        }
    }
    Ok(headers)
}

/// Repairs the pages of batches that may not have completed: a page that is damaged in place and
/// has a copy is restored, a page that equals its copy is written again, and everything is made
/// durable (DOUBLE-WRITE-4). Returns the number of pages repaired. The repair may be interrupted
/// and run again.
fn repair(headers: &[BatchHeader], file: &dyn File, data: &DataFile) -> Result<u64> {
    let floor = headers.iter().map(|header| header.floor).max().unwrap_or(0);
    let mut open: Vec<&BatchHeader> = headers.iter().filter(|h| h.sequence >= floor).collect();
    // Newest first: if two batches have a page, the older one finds it already repaired.
    open.sort_by_key(|header| std::cmp::Reverse(header.sequence));
    let (mut done, mut repaired) = (HashSet::new(), 0);
    for header in open {
        repaired += repair_from(header, file, data, &mut done)?;
    }
    failpoint::pass(Failpoint::PagesRepaired);
    data.file().sync_data()?;
    Ok(repaired)
}

fn repair_from(
    header: &BatchHeader,
    file: &dyn File,
    data: &DataFile,
    done: &mut HashSet<PageId>,
) -> Result<u64> {
    let mut repaired = 0;
    let (mut page, mut copy) = (AlignedBuf::new(PAGE_SIZE), AlignedBuf::new(PAGE_SIZE));
    for (index, (id, checksum)) in header.entries.iter().enumerate() {
        let at = header.place * PLACE_BYTES + (HEADER_BYTES + index * PAGE_SIZE) as u64;
        let whole = file.read_at(&mut copy, at)? == PAGE_SIZE;
        let vouched = copy[..4] == checksum.to_le_bytes();
        // Without a copy nothing was written in place, and a torn write could not be repaired.
        if !whole || !vouched || header::verify(*id, &copy).is_err() || !done.insert(*id) {
            continue;
        }
        data.read(*id, &mut page)?;
        let is_damaged = header::verify(*id, &page).is_err();
        repaired += u64::from(is_damaged);
        if is_damaged || page[..] == copy[..] {
            data.file().write_at(&copy, data_file::offset(*id))?;
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
        let page_lsn_max = Lsn(0x1234);
        write_header(&mut block, (17, 16), page_lsn_max, entries.iter().copied());
        let header = read_header(2, &block).unwrap();
        assert_eq!(
            header,
            BatchHeader { place: 2, sequence: 17, floor: 16, page_lsn_max, entries }
        );
    }

    /// The worked example of `docs/page-format.md`.
    #[test]
    fn documented_example_is_what_is_written() {
        let mut block = vec![0; HEADER_BYTES];
        write_header(&mut block, (17, 16), Lsn::ZERO, [(PageId(7), 0x2928_a404)].into_iter());
        assert_eq!(block[..8], *b"CLWDBLW2");
        assert_eq!(block[8..16], [0xbd, 0x1f, 0x44, 0x6d, 1, 0, 0, 0]);
    }

    #[test]
    fn damaged_header_is_no_batch() {
        let mut block = vec![0; HEADER_BYTES];
        write_header(&mut block, (1, 1), Lsn(9), [(PageId(3), 5)].into_iter());
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
        // Page 5 in a batch that has completed, and later batches in the other area only: page 5
        // may have been written by any of them before the last.
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

    /// Runs a batch through all steps.
    fn through(double_write: &DoubleWrite, data: &DataFile, area: usize, page: PageId, fill: u8) {
        let (checksum, mut image) = batch_of(page, fill);
        double_write.write(area, [(page, checksum)].into_iter(), &mut image).unwrap();
        data.file().write_at(&image[HEADER_BYTES..], data_file::offset(page)).unwrap();
        double_write.finish(area);
    }

    #[test]
    fn torn_header_does_not_bring_back_an_old_page() {
        for openings in 0..3 {
            let disk = clearway_disk::MemoryDisk::new();
            let data = DataFile::open(&disk).unwrap();
            data.ensure(PageId(9), 100).unwrap();
            let (mut double_write, _) = DoubleWrite::open(&disk, &data, 2, 4).unwrap();
            // An old version in area 1, a newer one in area 0, both completed.
            through(&double_write, &data, 1, PageId(5), 3);
            through(&double_write, &data, 0, PageId(5), 4);
            for _ in 0..openings {
                double_write = DoubleWrite::open(&disk, &data, 2, 4).unwrap().0;
            }
            // A crash tears the header of the next batch in area 0; page 5 was damaged meanwhile.
            let place = double_write.sequences.lock().next_place[0];
            double_write.file.write_at(&[0x77; 512], place * PLACE_BYTES + 512).unwrap();
            data.file().write_at(&[0xee; 100], data_file::offset(PageId(5)) + 100).unwrap();
            let (_, repaired) = DoubleWrite::open(&disk, &data, 2, 4).unwrap();
            let mut page = vec![0; PAGE_SIZE];
            data.read(PageId(5), &mut page).unwrap();
            let is_old = page[100] == 3;
            assert!(
                !is_old,
                "DOUBLE-WRITE-2: an older version of itself came back ({repaired} repaired)"
            );
        }
    }

    #[test]
    fn highest_page_lsn_outlives_the_batch_that_had_it() {
        let disk = clearway_disk::MemoryDisk::new();
        let data = DataFile::open(&disk).unwrap();
        data.ensure(PageId(9), 100).unwrap();
        for (lsn, expected) in [(100, 0), (700, 100), (300, 700), (200, 700), (900, 700)] {
            let (double_write, _) = DoubleWrite::open(&disk, &data, 1, 4).unwrap();
            assert_eq!(double_write.page_lsn_max(), Lsn(expected));
            let mut image = vec![3; HEADER_BYTES + PAGE_SIZE];
            header::set_page_lsn(&mut image[HEADER_BYTES..], Lsn(lsn));
            let checksum = header::seal(PageId(5), &mut image[HEADER_BYTES..]);
            let entries = [(PageId(5), checksum)].into_iter();
            double_write.write(0, entries, &mut image).unwrap();
        }
    }

    #[test]
    fn batches_of_an_area_alternate_places_across_openings() {
        let disk = clearway_disk::MemoryDisk::new();
        let data = DataFile::open(&disk).unwrap();
        data.ensure(PageId(9), 100).unwrap();
        let mut places = Vec::new();
        for fill in 1..6 {
            let (double_write, _) = DoubleWrite::open(&disk, &data, 1, 4).unwrap();
            places.push(double_write.sequences.lock().next_place[0]);
            through(&double_write, &data, 0, PageId(5), fill);
        }
        assert_eq!(places, [0, 1, 0, 1, 0]);
    }

    /// The pages that an incomplete batch has written in place may be in the system's cache only,
    /// and considered written there.
    #[test]
    fn whole_pages_of_a_batch_that_is_not_through_are_written_again() {
        use clearway_disk::MemoryDisk;
        use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
        let (memory, faults) = (MemoryDisk::with_crashes(), Faults::new());
        let disk = FaultyDisk::new(memory.clone(), faults.clone());
        let data = DataFile::open(&disk).unwrap();
        data.ensure(PageId(9), 100).unwrap();
        let (double_write, _) = DoubleWrite::open(&disk, &data, 1, 4).unwrap();
        let (checksum, mut image) = batch_of(PageId(5), 3);
        double_write.write(0, [(PageId(5), checksum)].into_iter(), &mut image).unwrap();
        data.file().write_at(&image[HEADER_BYTES..], data_file::offset(PageId(5))).unwrap();
        let before = faults.count(Operation::Write, "data");
        let (_, repaired) = DoubleWrite::open(&disk, &data, 1, 4).unwrap();
        assert_eq!(faults.count(Operation::Write, "data"), before + 1);
        assert_eq!(repaired, 0);
        let durable = memory.fork_durable();
        let mut page = vec![0; PAGE_SIZE];
        DataFile::open(&durable).unwrap().read(PageId(5), &mut page).unwrap();
        assert_eq!(page, image[HEADER_BYTES..]);
    }

    /// The write of the copies may have failed although the system shows them: then a torn write in
    /// place would have no copy.
    #[test]
    fn pages_that_a_batch_has_not_reached_are_left_alone() {
        use clearway_disk::MemoryDisk;
        use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};
        let faults = Faults::new();
        let disk = FaultyDisk::new(MemoryDisk::new(), faults.clone());
        let data = DataFile::open(&disk).unwrap();
        data.ensure(PageId(9), 100).unwrap();
        let (double_write, _) = DoubleWrite::open(&disk, &data, 1, 4).unwrap();
        through(&double_write, &data, 0, PageId(5), 3);
        let (checksum, mut image) = batch_of(PageId(5), 4);
        let other = std::io::ErrorKind::Other;
        faults.fail(Operation::Sync, DOUBLE_WRITE_FILE, 1, other, Lasting::Once);
        let failed = double_write.write(0, [(PageId(5), checksum)].into_iter(), &mut image);
        assert!(failed.is_err());
        let before = faults.count(Operation::Write, "data");
        drop(DoubleWrite::open(&disk, &data, 1, 4).unwrap());
        assert_eq!(faults.count(Operation::Write, "data"), before);
    }
}
