//! The superblock: what a database is, and where its recovery starts.
//!
//! Pages 0 and 1 of the file `data` hold one copy each. A change writes one, waits until it is
//! durable, and writes the other, so a write that is torn or lost leaves the other copy intact; and
//! once a change is complete, damage to either copy does no harm.
//!
//! ```text
//!   0  magic "CLEARWAY"      8 bytes      32  checkpoint LSN       u64
//!   8  version               u32          40  redo LSN             u64
//!  12  page size             u32          48  retention LSN        u64
//!  16  node bytes            u32          56  segment bytes        u64
//!  20  epoch                 u32          64  catalogue root page  u32
//!  24  sequence              u64          68  flags                u32   bit 0: being created
//!                                                                   bit 1: being copied
//!                                                                   bit 2: the log is empty
//!                                                                   bit 3: upkeep is done
//!  72  database id           16 bytes    104  begun: salt          u64
//!  88  salt                  u64         112  begun: begin         u64
//!  96  begin                 u64         120  begun: epoch         u32
//! 124  oldest label's epoch  u32         128  oldest label's salt  u64
//! 508  CRC-32C of bytes 0..508           136  zeros up to 508
//! ```
//!
//! Little endian. It is one sector, so a disk that writes sectors whole never tears it; on other
//! disks the checksum detects a torn copy. Every later version keeps the magic, the version's
//! place, the length and the checksum's place, so that an old program can distinguish a newer
//! superblock from a damaged one. In version 1 the bytes from 72 on are zeros: it has no identity
//! (see `identity` of `clearway_log`).
//!
//! Invariants:
//! - SUPERBLOCK-1. The valid copy is the one with the highest sequence among those whose checksum
//!   is right.
//! - SUPERBLOCK-2. A write goes to the copy that is *not* the valid one, and is durable before it
//!   counts. A change is complete when both copies have it; only then may log be freed that only
//!   the old contents need.
//! - SUPERBLOCK-3. Of two openings the later has the higher epoch, durable before its first log
//!   write, with its salt and the place where it will begin (ID-1). The salt is drawn at random and
//!   never 0.
//! - SUPERBLOCK-4. While the flag "the log is empty" is set, no page has been changed since it was
//!   set, and bytes in the log's files at or after the retention LSN are not part of the log.
//! - SUPERBLOCK-5. A copy that was damaged when the database was found is replaced by the valid one
//!   before recovery changes a page. It may have been newer, and may be readable again the next
//!   time: recovery would then begin behind changes that an interrupted redo, which had begun at
//!   the older copy's position, has taken back.

use std::sync::Arc;

use clearway_base::{
    DatabaseId, Epoch, Error, Lsn, PAGE_SIZE, PageId, Result, SECTOR_SIZE, Salt, crc32c,
    failpoint::{self, Failpoint},
};
use clearway_disk::{AlignedBuf, Disk, File, OpenMode};
use clearway_log::{EpochMark, Known};
use clearway_sync::Mutex;

/// The file of pages.
pub(crate) const DATA_FILE: &str = "data";
/// The format this program writes, and the newest it reads.
pub(crate) const FORMAT_VERSION: u32 = 2;
/// The format without identities, which an opening converts.
pub(crate) const VERSION_1: u32 = 1;

const MAGIC: &[u8; 8] = b"CLEARWAY";
const CHECKSUM_AT: usize = SECTOR_SIZE - 4;
const FLAG_CREATING: u32 = 1;
const FLAG_COPYING: u32 = 2;
const FLAG_LOG_EMPTY: u32 = 4;
const FLAG_UPKEEP_DONE: u32 = 8;
/// Pages 0 and 1.
const COPIES: u64 = 2;

/// The superblock's contents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Superblock {
    /// The format of the database.
    pub(crate) version: u32,
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
    pub(crate) retention_lsn: Lsn,
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
    /// The log begins at the retention LSN, and nothing of it is there yet (SUPERBLOCK-4).
    pub(crate) log_empty: bool,
    /// The identity of the log.
    pub(crate) identity: Identity,
}

/// The identity of the log, as the superblock records it; version 1 records none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    /// The database.
    pub(crate) database: DatabaseId,
    /// The salt of the latest opening.
    pub(crate) salt: Salt,
    /// Where its epoch begins in the log.
    pub(crate) begin: Lsn,
    /// The last epoch that it found in the log.
    pub(crate) begun: EpochMark,
    /// Epoch and salt in the label of the segment that holds the retention LSN.
    pub(crate) oldest_label: (Epoch, Salt),
}

impl Identity {
    /// That of a database of version 1.
    pub(crate) const NONE: Identity = Identity {
        database: DatabaseId::NONE,
        salt: Salt::NONE,
        begin: Lsn::ZERO,
        begun: EpochMark::NONE,
        oldest_label: (Epoch(0), Salt::NONE),
    };

    /// That of a new database, or of one that has none yet, whose log begins at `begin` in `epoch`.
    pub(crate) fn draw(disk: &dyn Disk, epoch: Epoch, begin: Lsn) -> Result<Identity> {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&disk.random()?.to_le_bytes());
        id[8..].copy_from_slice(&disk.random()?.to_le_bytes());
        let (database, salt) = (DatabaseId(id), draw_salt(disk)?);
        Ok(Identity { database, salt, begin, oldest_label: (epoch, salt), ..Identity::NONE })
    }
}

/// A salt for an opening. 0 would be none.
pub(crate) fn draw_salt(disk: &dyn Disk) -> Result<Salt> {
    Ok(Salt(disk.random()?.max(1)))
}

impl Superblock {
    /// The reason why recovery cannot start here, if there is one: damage that the checksum does
    /// not show, or four billion openings, after which there is no other epoch.
    fn flaw(&self) -> Option<&'static str> {
        let far = |counter: u64| counter > u64::MAX / 2;
        if self.epoch.0 == u32::MAX || far(self.sequence) || far(self.checkpoint.0) {
            return Some("its counters are at their end");
        }
        let in_order = self.retention_lsn <= self.redo && self.redo <= self.checkpoint;
        if !in_order {
            return Some("its positions in the log are out of order");
        }
        if self.log_empty && self.retention_lsn < self.checkpoint {
            return Some("its log is empty, and its positions differ");
        }
        let Identity { begin, begun, .. } = self.identity;
        let is_one = begun.epoch < self.epoch && begun.begin <= begin && !far(begin.0);
        (!is_one && self.version > VERSION_1).then_some("its epochs are out of order")
    }

    /// The epoch of the latest opening, as the log knows it.
    pub(crate) fn latest(&self) -> EpochMark {
        let Identity { salt, begin, .. } = self.identity;
        EpochMark { epoch: self.epoch, salt, begin }
    }

    /// The state that the log must agree with.
    pub(crate) fn known(&self) -> Known {
        let Identity { database, begun, oldest_label, .. } = self.identity;
        let latest = self.latest();
        Known {
            database,
            latest,
            begun,
            // A checkpoint of its own says that it has.
            has_begun: self.checkpoint >= latest.begin && !self.log_empty,
            retention_lsn: self.retention_lsn,
            oldest_label,
        }
    }

    fn encode(&self) -> AlignedBuf {
        let mut page = AlignedBuf::new(PAGE_SIZE);
        page[..8].copy_from_slice(MAGIC);
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        let flags = flag(self.creating, FLAG_CREATING)
            | flag(self.copying, FLAG_COPYING)
            | flag(self.log_empty, FLAG_LOG_EMPTY)
            | flag(self.upkeep_done, FLAG_UPKEEP_DONE);
        let words = [(8, self.version), (12, PAGE_SIZE as u32), (16, self.node_bytes)];
        let more = [(20, self.epoch.0), (64, self.catalogue_root.0), (68, flags)];
        for (at, word) in words.into_iter().chain(more) {
            put_word(&mut page, at, word);
        }
        let longs = [(24, self.sequence), (32, self.checkpoint.0), (40, self.redo.0)];
        for (at, long) in
            longs.into_iter().chain([(48, self.retention_lsn.0), (56, self.segment_bytes)])
        {
            put_long(&mut page, at, long);
        }
        self.identity.encode(&mut page);
        let checksum = crc32c(&page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..SECTOR_SIZE].copy_from_slice(&checksum.to_le_bytes());
        page
    }

    fn decode(bytes: &[u8]) -> SlotContents {
        if bytes.iter().all(|&byte| byte == 0) {
            return SlotContents::Blank;
        }
        if &bytes[..8] != MAGIC {
            return SlotContents::Foreign;
        }
        if word(bytes, CHECKSUM_AT) != crc32c(&bytes[..CHECKSUM_AT]) {
            return SlotContents::Damaged;
        }
        if word(bytes, 8) > FORMAT_VERSION {
            return SlotContents::Newer(word(bytes, 8));
        }
        if word(bytes, 12) != PAGE_SIZE as u32 {
            return SlotContents::PageSize(word(bytes, 12));
        }
        let version = word(bytes, 8);
        SlotContents::Valid(Superblock {
            version,
            node_bytes: word(bytes, 16),
            epoch: Epoch(word(bytes, 20)),
            sequence: long(bytes, 24),
            checkpoint: Lsn(long(bytes, 32)),
            redo: Lsn(long(bytes, 40)),
            retention_lsn: Lsn(long(bytes, 48)),
            segment_bytes: long(bytes, 56),
            catalogue_root: PageId(word(bytes, 64)),
            creating: word(bytes, 68) & FLAG_CREATING != 0,
            copying: word(bytes, 68) & FLAG_COPYING != 0,
            upkeep_done: word(bytes, 68) & FLAG_UPKEEP_DONE != 0,
            log_empty: version > VERSION_1 && word(bytes, 68) & FLAG_LOG_EMPTY != 0,
            identity: if version > VERSION_1 { Identity::decode(bytes) } else { Identity::NONE },
        })
    }
}

impl Identity {
    fn encode(&self, page: &mut [u8]) {
        page[72..88].copy_from_slice(&self.database.0);
        let EpochMark { epoch, salt, begin } = self.begun;
        let longs = [(88, self.salt.0), (96, self.begin.0), (104, salt.0), (112, begin.0)];
        for (at, long) in longs.into_iter().chain([(128, self.oldest_label.1.0)]) {
            put_long(page, at, long);
        }
        put_word(page, 120, epoch.0);
        put_word(page, 124, self.oldest_label.0.0);
    }

    fn decode(bytes: &[u8]) -> Identity {
        let salt = |at: usize| Salt(long(bytes, at));
        let epoch = |at: usize| Epoch(word(bytes, at));
        Identity {
            database: DatabaseId(bytes[72..88].try_into().expect("16 bytes")),
            salt: salt(88),
            begin: Lsn(long(bytes, 96)),
            begun: EpochMark { epoch: epoch(120), salt: salt(104), begin: Lsn(long(bytes, 112)) },
            oldest_label: (epoch(124), salt(128)),
        }
    }
}

fn put_word(page: &mut [u8], at: usize, word: u32) {
    page[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

fn put_long(page: &mut [u8], at: usize, long: u64) {
    page[at..at + 8].copy_from_slice(&long.to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// The contents of one of the superblock's two pages.
enum SlotContents {
    Blank,
    Foreign,
    Damaged,
    Newer(u32),
    PageSize(u32),
    Valid(Superblock),
}

/// The contents of a directory, judged by its superblock.
pub(crate) enum FoundDatabase {
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
pub(crate) fn find(disk: &dyn Disk) -> Result<FoundDatabase> {
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
            SlotContents::Valid(block)
                if best.as_ref().is_none_or(|b| block.sequence > b.sequence) =>
            {
                best = Some(block);
            }
            SlotContents::Valid(_) => {}
            SlotContents::Blank => blank += 1,
            SlotContents::Newer(found) => {
                return Err(Error::FormatTooNew { found, supported: FORMAT_VERSION });
            }
            other => worst = Some(other),
        }
    }
    if let Some(flaw) = best.as_ref().and_then(Superblock::flaw) {
        return Err(Error::corrupt("superblock", flaw));
    }
    match (best, worst) {
        (Some(block), _) if block.creating => {
            Ok(FoundDatabase::Unfinished { sequence: block.sequence })
        }
        (Some(block), _) if block.copying => {
            let detail = "it is a backup that did not finish: remove it and back up again".into();
            Err(Error::NotADatabase { path: disk.path(), detail })
        }
        (Some(block), _) => Ok(FoundDatabase::Database(block)),
        (None, None) if blank == 2 && is_first_step(disk, &*file)? => {
            Ok(FoundDatabase::Unfinished { sequence: 0 })
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

fn refusal(disk: &dyn Disk, worst: Option<SlotContents>) -> Error {
    let foreign = |detail: String| Error::NotADatabase { path: disk.path(), detail };
    match worst {
        Some(SlotContents::Foreign) => {
            foreign("its file `data` does not start with the magic".into())
        }
        Some(SlotContents::PageSize(size)) => {
            foreign(format!("pages of {size} bytes, this program uses {PAGE_SIZE}"))
        }
        _ => Error::corrupt("superblock", "neither copy is intact"),
    }
}

/// A directory without `data` may be made a database only if it holds nothing else.
fn nothing_unless_foreign(disk: &dyn Disk) -> Result<FoundDatabase> {
    let strangers = disk.list("")?;
    match strangers.iter().find(|name| name.as_str() != "LOCK") {
        None if disk.list("log")?.is_empty() => Ok(FoundDatabase::Nothing),
        None => Err(Error::corrupt("superblock", "there is a log and no file `data`")),
        Some(name) => Err(Error::NotADatabase {
            path: disk.path(),
            detail: format!("it holds the file {name:?} and no file `data`"),
        }),
    }
}

fn read_copy(file: &dyn File, copy: u64) -> Result<SlotContents> {
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

    /// Replaces the other copy if it is damaged (SUPERBLOCK-5).
    ///
    /// # Errors
    /// Those of the disk.
    pub(crate) fn replace_damaged(&self) -> Result<()> {
        let mut current = self.current.lock();
        if matches!(
            read_copy(&*self.file, (current.sequence + 1) % COPIES)?,
            SlotContents::Valid(_)
        ) {
            return Ok(());
        }
        current.sequence += 1;
        let at = (current.sequence % COPIES) * PAGE_SIZE as u64;
        self.file.write_durable_at(&current.encode(), at)
    }

    /// Creates the file with `first` as its superblock, durable by name and contents. The one that
    /// an interrupted creation has left, with the sequence before this one's, stays until then:
    /// without either, what else it has left would be a directory without a superblock.
    pub(crate) fn create(disk: &dyn Disk, first: Superblock) -> Result<SuperblockFile> {
        let file = disk.open(DATA_FILE, OpenMode::Create)?;
        let both = COPIES * PAGE_SIZE as u64;
        if file.len()? > both {
            file.set_len(both)?;
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

    /// Changes the contents; they are durable, twice, when this returns (SUPERBLOCK-2).
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
        let begun = EpochMark { epoch: Epoch(2), salt: Salt(22), begin: Lsn(0) };
        Superblock {
            version: FORMAT_VERSION,
            node_bytes: 8192,
            epoch: Epoch(3),
            sequence,
            checkpoint: Lsn(1024),
            redo: Lsn(1024),
            retention_lsn: Lsn(512),
            segment_bytes: 1 << 20,
            catalogue_root: PageId(3),
            creating: false,
            copying: false,
            upkeep_done: false,
            log_empty: false,
            identity: Identity {
                database: DatabaseId([9; 16]),
                salt: Salt(33),
                begin: Lsn(512),
                begun,
                oldest_label: (Epoch(2), Salt(22)),
            },
        }
    }

    fn corrupt(disk: &MemoryDisk, copy: u64, at: u64) {
        let file = disk.open(DATA_FILE, OpenMode::Existing).unwrap();
        file.write_at(&[0xAA], copy * PAGE_SIZE as u64 + at).unwrap();
    }

    #[test]
    fn every_field_comes_back_in_its_version() {
        let block = Superblock { log_empty: true, copying: true, creating: true, ..block(7) };
        let decoded = |block: &Superblock| match Superblock::decode(&block.encode()[..SECTOR_SIZE])
        {
            SlotContents::Valid(block) => block,
            _ => panic!("it does not come back"),
        };
        assert_eq!(decoded(&block), block);
        let old = Superblock {
            version: VERSION_1,
            log_empty: false,
            identity: Identity::NONE,
            ..block.clone()
        };
        assert_eq!(decoded(&old), old);
    }

    #[test]
    fn newest_intact_copy_is_found() {
        let disk = MemoryDisk::new();
        let file = SuperblockFile::create(&disk, block(4)).unwrap();
        file.update(|block| block.epoch = Epoch(9)).unwrap();
        let FoundDatabase::Database(found) = find(&disk).unwrap() else { panic!("no database") };
        assert_eq!((found.sequence, found.epoch), (6, Epoch(9)));
        // Sequence 6 stands in copy 0; the other copy says the same.
        corrupt(&disk, 0, 100);
        let FoundDatabase::Database(found) = find(&disk).unwrap() else { panic!("no database") };
        assert_eq!((found.sequence, found.epoch), (5, Epoch(9)));
        corrupt(&disk, 1, 100);
        assert!(matches!(find(&disk), Err(Error::Corrupt { what: "superblock", .. })));
    }

    #[test]
    fn damaged_copy_is_replaced_before_recovery() {
        let disk = MemoryDisk::new();
        let file = SuperblockFile::create(&disk, block(4)).unwrap();
        file.update(|block| block.epoch = Epoch(9)).unwrap();
        let bytes = |copy: u64| {
            let mut bytes = vec![0; SECTOR_SIZE];
            let data = disk.open(DATA_FILE, OpenMode::Existing).unwrap();
            data.read_at(&mut bytes, copy * PAGE_SIZE as u64).unwrap();
            bytes
        };
        let intact = bytes(0);
        corrupt(&disk, 0, 100);
        let FoundDatabase::Database(found) = find(&disk).unwrap() else { panic!("no database") };
        assert_eq!(found.sequence, 5);
        let file = SuperblockFile::open(&disk, found).unwrap();
        file.replace_damaged().unwrap();
        assert_eq!(bytes(0), intact);
        assert_eq!(file.get().sequence, 6);
        // Two intact copies stay as they are.
        file.replace_damaged().unwrap();
        assert_eq!(file.get().sequence, 6);
    }

    #[test]
    fn impossible_positions_and_spent_counters_are_refused() {
        let none = block(1);
        let impossible = [
            Superblock { redo: Lsn(u64::MAX), ..none.clone() },
            Superblock { retention_lsn: Lsn(1025), ..none.clone() },
            Superblock { log_empty: true, ..none.clone() },
            Superblock { checkpoint: Lsn(u64::MAX), ..none.clone() },
            Superblock { epoch: Epoch(u32::MAX), ..none.clone() },
            Superblock { epoch: Epoch(2), ..none.clone() },
            Superblock {
                identity: Identity { begin: Lsn(u64::MAX), ..none.identity },
                ..none.clone()
            },
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
        assert!(matches!(find(&disk), Ok(FoundDatabase::Nothing)));
        disk.open("notes.txt", OpenMode::Create).unwrap();
        assert!(matches!(find(&disk), Err(Error::NotADatabase { .. })));
    }

    #[test]
    fn unfinished_creation_starts_again() {
        let disk = MemoryDisk::new();
        disk.open(DATA_FILE, OpenMode::Create).unwrap();
        assert!(matches!(find(&disk), Ok(FoundDatabase::Unfinished { sequence: 0 })));
        let first = Superblock { creating: true, ..block(1) };
        SuperblockFile::create(&disk, first.clone()).unwrap();
        assert!(matches!(find(&disk), Ok(FoundDatabase::Unfinished { sequence: 1 })));

        // Starting again does not begin with giving up what says that it is unfinished.
        disk.open("doublewrite", OpenMode::Create).unwrap();
        SuperblockFile::create(&disk, Superblock { sequence: 2, ..first }).unwrap();
        assert!(matches!(find(&disk), Ok(FoundDatabase::Unfinished { sequence: 2 })));
        corrupt(&disk, 0, 0);
        assert!(matches!(find(&disk), Ok(FoundDatabase::Unfinished { sequence: 1 })));
    }
}
