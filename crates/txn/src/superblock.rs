//! The superblock: what a database is, and where its recovery starts.
//!
//! Pages 0 and 1 of the file `data` hold one copy each. A change writes one, waits until it is
//! durable, and writes the other, so a write that is torn or lost leaves the other copy; and once a
//! change is complete either copy may rot.
//!
//! ```text
//!   0  magic "CLEARWAY"      8 bytes      32  checkpoint LSN       u64
//!   8  version               u32          40  redo LSN             u64
//!  12  page size             u32          48  keep-from LSN        u64
//!  16  node bytes            u32          56  segment bytes        u64
//!  20  epoch                 u32          64  catalogue root page  u32
//!  24  sequence              u64          68  flags                u32   bit 0: being created
//!                                                                   bit 1: being copied
//!                                                                   bit 2: upkeep is done
//! 508  CRC-32C of bytes 0..508            72  zeros up to 508
//! ```
//!
//! Little endian. One sector, so a disk that writes sectors whole never tears it; the checksum
//! catches the others. Every later version keeps the magic, the version's place, the length and
//! the checksum's place, so that an old program can tell "newer" from "damaged".
//!
//! Invariants:
//! - U1. The copy with the highest sequence whose checksum holds is the truth.
//! - U2. A write goes to the copy that is *not* the truth, and is durable before it counts. A
//!   change is complete when both copies have it; only then may what the old one names be given up.
//! - U3. Of two openings the later has the higher epoch, durable before its first log write.

use std::sync::Arc;

use clearway_base::{
    Epoch, Error, Lsn, PAGE_SIZE, PageId, Result, SECTOR_SIZE, crc32c,
    failpoint::{self, Failpoint},
    zoo::{self, Bug},
};
use clearway_disk::{AlignedBuf, Disk, File, OpenMode};
use clearway_sync::Mutex;

/// The file of pages.
pub(crate) const DATA_FILE: &str = "data";
/// The format this program writes, and the newest it reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"CLEARWAY";
const CHECKSUM_AT: usize = SECTOR_SIZE - 4;
const FLAG_CREATING: u32 = 1;
const FLAG_COPYING: u32 = 2;
const FLAG_UPKEEP_DONE: u32 = 4;
/// Pages 0 and 1.
const COPIES: u64 = 2;

/// The superblock's contents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Superblock {
    /// Usable bytes of a tree node.
    pub(crate) node_bytes: u32,
    /// The epoch of the latest opening.
    pub(crate) epoch: Epoch,
    /// Raised by every write.
    pub(crate) sequence: u64,
    /// Start of the `CheckpointBegin` record that analysis starts from.
    pub(crate) checkpoint: Lsn,
    /// Where redo starts; at or before `checkpoint`.
    pub(crate) redo: Lsn,
    /// The oldest byte of the log that recovery may need; at or before `redo`.
    pub(crate) keep_from: Lsn,
    /// Bytes of a log segment.
    pub(crate) segment_bytes: u64,
    /// Root page of the catalogue.
    pub(crate) catalogue_root: PageId,
    /// Creation has begun and not finished: there is nothing to lose, and creation starts again.
    pub(crate) creating: bool,
    /// A backup has begun and not finished: what is there is no database.
    pub(crate) copying: bool,
    /// The database was closed with no upkeep pending. Programs that know nothing of this bit
    /// clear it, and an opening does: then the next one has the whole database looked at.
    pub(crate) upkeep_done: bool,
}

impl Superblock {
    /// What keeps recovery from starting here, if anything: damage that the checksum does not show,
    /// or four billion openings, after which there is no other epoch.
    fn flaw(&self) -> Option<&'static str> {
        let far = |counter: u64| counter > u64::MAX / 2;
        if self.epoch.0 == u32::MAX || far(self.sequence) || far(self.checkpoint.0) {
            return Some("its counters are at their end");
        }
        let in_order = self.keep_from <= self.redo && self.redo <= self.checkpoint;
        (!in_order).then_some("its positions in the log are out of order")
    }

    fn encode(&self) -> AlignedBuf {
        let mut page = AlignedBuf::new(PAGE_SIZE);
        page[..8].copy_from_slice(MAGIC);
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        let flags = flag(self.creating, FLAG_CREATING)
            | flag(self.copying, FLAG_COPYING)
            | flag(self.upkeep_done, FLAG_UPKEEP_DONE);
        let words = [(8, FORMAT_VERSION), (12, PAGE_SIZE as u32), (16, self.node_bytes)];
        let more = [(20, self.epoch.0), (64, self.catalogue_root.0), (68, flags)];
        for (at, word) in words.into_iter().chain(more) {
            page[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let longs = [(24, self.sequence), (32, self.checkpoint.0), (40, self.redo.0)];
        for (at, long) in
            longs.into_iter().chain([(48, self.keep_from.0), (56, self.segment_bytes)])
        {
            page[at..at + 8].copy_from_slice(&long.to_le_bytes());
        }
        let checksum = crc32c(&page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..SECTOR_SIZE].copy_from_slice(&checksum.to_le_bytes());
        page
    }

    fn decode(bytes: &[u8]) -> Slot {
        if bytes.iter().all(|&byte| byte == 0) {
            return Slot::Blank;
        }
        if &bytes[..8] != MAGIC {
            return Slot::Foreign;
        }
        if word(bytes, CHECKSUM_AT) != crc32c(&bytes[..CHECKSUM_AT]) {
            return Slot::Damaged;
        }
        if word(bytes, 8) > FORMAT_VERSION {
            return Slot::Newer(word(bytes, 8));
        }
        if word(bytes, 12) != PAGE_SIZE as u32 {
            return Slot::PageSize(word(bytes, 12));
        }
        Slot::Valid(Superblock {
            node_bytes: word(bytes, 16),
            epoch: Epoch(word(bytes, 20)),
            sequence: long(bytes, 24),
            checkpoint: Lsn(long(bytes, 32)),
            redo: Lsn(long(bytes, 40)),
            keep_from: Lsn(long(bytes, 48)),
            segment_bytes: long(bytes, 56),
            catalogue_root: PageId(word(bytes, 64)),
            creating: word(bytes, 68) & FLAG_CREATING != 0,
            copying: word(bytes, 68) & FLAG_COPYING != 0,
            upkeep_done: word(bytes, 68) & FLAG_UPKEEP_DONE != 0,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// What one of the two places holds.
enum Slot {
    Blank,
    Foreign,
    Damaged,
    Newer(u32),
    PageSize(u32),
    Valid(Superblock),
}

/// What a directory holds, judged by its superblock.
pub(crate) enum Found {
    /// No database, and nothing that a new one would overwrite.
    Nothing,
    /// A creation that did not finish, with the sequence of its superblock, or 0 if it has none.
    Unfinished { sequence: u64 },
    /// A database.
    Database(Superblock),
}

/// Reads the superblock, if the directory has one.
///
/// # Errors
/// [`Error::NotADatabase`] for a directory of other things, [`Error::FormatTooNew`],
/// [`Error::Corrupt`] when neither copy can be trusted.
pub(crate) fn find(disk: &dyn Disk) -> Result<Found> {
    if !disk.exists(DATA_FILE)? {
        return nothing_unless_foreign(disk);
    }
    let file = disk.open(DATA_FILE, OpenMode::Existing)?;
    let copies = [read_copy(&*file, 0)?, read_copy(&*file, 1)?];
    let mut best: Option<Superblock> = None;
    let mut blank = 0;
    let mut worst = None;
    for copy in copies {
        match copy {
            Slot::Valid(block) if best.as_ref().is_none_or(|b| block.sequence > b.sequence) => {
                best = Some(block);
            }
            Slot::Valid(_) => {}
            Slot::Blank => blank += 1,
            Slot::Newer(found) => {
                return Err(Error::FormatTooNew { found, supported: FORMAT_VERSION });
            }
            other => worst = Some(other),
        }
    }
    if let Some(flaw) = best.as_ref().and_then(Superblock::flaw) {
        return Err(Error::corrupt("superblock", flaw));
    }
    match (best, worst) {
        (Some(block), _) if block.creating => Ok(Found::Unfinished { sequence: block.sequence }),
        (Some(block), _) if block.copying => {
            let detail = "it is a backup that did not finish: remove it and back up again".into();
            Err(Error::NotADatabase { path: disk.path(), detail })
        }
        (Some(block), _) => Ok(Found::Database(block)),
        (None, None) if blank == 2 && is_first_step(disk, &*file)? => {
            Ok(Found::Unfinished { sequence: 0 })
        }
        (None, worst) => Err(refusal(disk, worst)),
    }
}

/// Whether the blank file `data` is all that there is: what a crash leaves that came between its
/// creation and its first superblock, before which a creation makes nothing else.
fn is_first_step(disk: &dyn Disk, file: &dyn File) -> Result<bool> {
    let alone = disk.list("")?.iter().all(|name| matches!(name.as_str(), "LOCK" | DATA_FILE));
    Ok(alone && disk.list("log")?.is_empty() && file.len()? <= COPIES * PAGE_SIZE as u64)
}

fn refusal(disk: &dyn Disk, worst: Option<Slot>) -> Error {
    let foreign = |detail: String| Error::NotADatabase { path: disk.path(), detail };
    match worst {
        Some(Slot::Foreign) => foreign("its file `data` does not start with the magic".into()),
        Some(Slot::PageSize(size)) => {
            foreign(format!("pages of {size} bytes, this program uses {PAGE_SIZE}"))
        }
        _ => Error::corrupt("superblock", "neither copy is intact"),
    }
}

/// A directory without `data` may be made a database only if it holds nothing else.
fn nothing_unless_foreign(disk: &dyn Disk) -> Result<Found> {
    let strangers = disk.list("")?;
    match strangers.iter().find(|name| name.as_str() != "LOCK") {
        None if disk.list("log")?.is_empty() => Ok(Found::Nothing),
        None => Err(Error::corrupt("superblock", "there is a log and no file `data`")),
        Some(name) => Err(Error::NotADatabase {
            path: disk.path(),
            detail: format!("it holds the file {name:?} and no file `data`"),
        }),
    }
}

fn read_copy(file: &dyn File, copy: u64) -> Result<Slot> {
    let mut page = AlignedBuf::new(PAGE_SIZE);
    file.read_at(&mut page, copy * PAGE_SIZE as u64)?;
    Ok(Superblock::decode(&page[..SECTOR_SIZE]))
}

/// Writes `block` to a data file that has no superblock yet; durable when this returns.
pub(crate) fn write_copy(file: &dyn File, block: &Superblock) -> Result<()> {
    let at = (block.sequence % COPIES) * PAGE_SIZE as u64;
    file.write_at(&block.encode(), at)?;
    file.sync_all()
}

/// The superblock of an open database.
pub(crate) struct SuperblockFile {
    file: Arc<dyn File>,
    current: Mutex<Superblock>,
}

impl SuperblockFile {
    /// Takes over the superblock that [`find`] returned.
    pub(crate) fn open(disk: &dyn Disk, current: Superblock) -> Result<SuperblockFile> {
        let file = disk.open(DATA_FILE, OpenMode::Existing)?;
        Ok(SuperblockFile { file, current: Mutex::new(current) })
    }

    /// Creates the file with `first` as its superblock, durable by name and contents. The one that
    /// an interrupted creation has left, with the sequence before this one's, stays until then:
    /// without either, what else it has left would be a directory without a superblock.
    pub(crate) fn create(disk: &dyn Disk, first: Superblock) -> Result<SuperblockFile> {
        let file = disk.open(DATA_FILE, OpenMode::Create)?;
        let both = COPIES * PAGE_SIZE as u64;
        let kept = if zoo::has(Bug::CreationForgotten) { 0 } else { both };
        if file.len()? > kept {
            file.set_len(kept)?;
        }
        file.allocate(0, both)?;
        failpoint::pass(Failpoint::CreationBlank);
        write_copy(&*file, &first)?;
        disk.sync_dir("")?;
        Ok(SuperblockFile { file, current: Mutex::new(first) })
    }

    /// The current contents.
    pub(crate) fn get(&self) -> Superblock {
        self.current.lock().clone()
    }

    /// Changes the contents; they are durable, twice, when this returns (U2).
    pub(crate) fn update(&self, change: impl FnOnce(&mut Superblock)) -> Result<Superblock> {
        let mut current = self.current.lock();
        let mut next = current.clone();
        change(&mut next);
        for copy in 0..COPIES {
            if copy > 0 {
                failpoint::pass(Failpoint::SuperblockOnce);
            }
            next.sequence += 1;
            let at = (next.sequence % COPIES) * PAGE_SIZE as u64;
            self.file.write_durable_at(&next.encode(), at)?;
            *current = next.clone();
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use clearway_disk::MemoryDisk;

    use super::*;

    fn block(sequence: u64) -> Superblock {
        Superblock {
            node_bytes: 8192,
            epoch: Epoch(3),
            sequence,
            checkpoint: Lsn(1024),
            redo: Lsn(1024),
            keep_from: Lsn(512),
            segment_bytes: 1 << 20,
            catalogue_root: PageId(3),
            creating: false,
            copying: false,
            upkeep_done: false,
        }
    }

    fn corrupt(disk: &MemoryDisk, copy: u64, at: u64) {
        let file = disk.open(DATA_FILE, OpenMode::Existing).unwrap();
        file.write_at(&[0xAA], copy * PAGE_SIZE as u64 + at).unwrap();
    }

    #[test]
    fn newest_intact_copy_is_found() {
        let disk = MemoryDisk::new();
        let file = SuperblockFile::create(&disk, block(4)).unwrap();
        file.update(|block| block.epoch = Epoch(9)).unwrap();
        let Found::Database(found) = find(&disk).unwrap() else { panic!("no database") };
        assert_eq!((found.sequence, found.epoch), (6, Epoch(9)));
        // Sequence 6 stands in copy 0; the other copy says the same.
        corrupt(&disk, 0, 100);
        let Found::Database(found) = find(&disk).unwrap() else { panic!("no database") };
        assert_eq!((found.sequence, found.epoch), (5, Epoch(9)));
        corrupt(&disk, 1, 100);
        assert!(matches!(find(&disk), Err(Error::Corrupt { what: "superblock", .. })));
    }

    #[test]
    fn impossible_positions_and_spent_counters_are_refused() {
        let none = block(1);
        let impossible = [
            Superblock { redo: Lsn(u64::MAX), ..none.clone() },
            Superblock { keep_from: Lsn(1025), ..none.clone() },
            Superblock { checkpoint: Lsn(u64::MAX), ..none.clone() },
            Superblock { epoch: Epoch(u32::MAX), ..none.clone() },
            Superblock { sequence: u64::MAX, ..none },
        ];
        for block in impossible {
            let disk = MemoryDisk::new();
            SuperblockFile::create(&disk, block.clone()).unwrap();
            assert!(matches!(find(&disk), Err(Error::Corrupt { .. })), "{block:?}");
        }
    }

    #[test]
    fn foreign_and_newer_files_are_refused() {
        let disk = MemoryDisk::new();
        let file = disk.open(DATA_FILE, OpenMode::Create).unwrap();
        file.write_at(&[b'x'; 3 * PAGE_SIZE], 0).unwrap();
        assert!(matches!(find(&disk), Err(Error::NotADatabase { .. })));

        let mut newer = block(0).encode();
        newer[8] = 200;
        let checksum = crc32c(&newer[..CHECKSUM_AT]);
        newer[CHECKSUM_AT..SECTOR_SIZE].copy_from_slice(&checksum.to_le_bytes());
        file.write_at(&newer, 0).unwrap();
        assert!(matches!(find(&disk), Err(Error::FormatTooNew { found: 200, .. })));
    }

    #[test]
    fn directory_of_other_files_is_not_a_database() {
        let disk = MemoryDisk::new();
        assert!(matches!(find(&disk), Ok(Found::Nothing)));
        disk.open("notes.txt", OpenMode::Create).unwrap();
        assert!(matches!(find(&disk), Err(Error::NotADatabase { .. })));
    }

    #[test]
    fn unfinished_creation_starts_again() {
        let disk = MemoryDisk::new();
        disk.open(DATA_FILE, OpenMode::Create).unwrap();
        assert!(matches!(find(&disk), Ok(Found::Unfinished { sequence: 0 })));
        let first = Superblock { creating: true, ..block(1) };
        SuperblockFile::create(&disk, first.clone()).unwrap();
        assert!(matches!(find(&disk), Ok(Found::Unfinished { sequence: 1 })));

        // Starting again does not begin with giving up what says that it is unfinished.
        disk.open("doublewrite", OpenMode::Create).unwrap();
        SuperblockFile::create(&disk, Superblock { sequence: 2, ..first }).unwrap();
        assert!(matches!(find(&disk), Ok(Found::Unfinished { sequence: 2 })));
        corrupt(&disk, 0, 0);
        assert!(matches!(find(&disk), Ok(Found::Unfinished { sequence: 1 })));
    }
}
