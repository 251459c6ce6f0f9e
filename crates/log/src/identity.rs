//! Identity: which database and which opening a log file belongs to.
//!
//! A database has an *id*, drawn when it is created and shared by its copies. Each opening draws a
//! *salt* and writes its log, an *epoch*, under it. Both the superblock, on the data's side, and
//! the log record which epochs exist, so a log beside the wrong data is detected before it is
//! replayed.
//!
//! ```text
//!  superblock:  latest (epoch, salt, begin) ──┐      begun (epoch, salt, begin): the last epoch
//!                                             │        that `latest` found in the log
//!  log:   … ─ START p ── p's records ─ tail ─ START latest ── records …
//!               ▲  └─ names its predecessor     └─ names p and p's begin
//!               └─────────────────────────────────┘
//!  file:  S bytes of log │ label: database, first LSN, epoch and salt in force at the first byte
//! ```
//!
//! Recovery must know the salts of all epochs with log at or after the retention LSN. There may be
//! any number of them, since each crash during a recovery adds one. The superblock has room for
//! two, so the others are stored in the log itself: each epoch's first record, which is durable
//! before any other of the epoch, names its predecessor's number, salt and begin.
//!
//! Invariants:
//! - ID-1. The superblock's `latest` is durable, in both copies, before its opening writes to the
//!   log; `latest.begin` is where that opening will begin its epoch, and `begun` is the last epoch
//!   that it found in the log.
//! - ID-2. Following predecessors from `latest` if its first record is there, else from `begun`,
//!   gives every epoch with log at or after the retention LSN, newest first. Each link was written
//!   by the epoch in which it is stored, whose salt is known from the previous link (or the
//!   superblock). The walk ends at the first epoch that begins at or before the retention LSN; no
//!   older epoch has log that is needed, since epochs follow each other in the log.
//! - ID-3. The checksum of every record of an epoch begins with the epoch's salt, as if the salt
//!   preceded the record. A salt determines 32 bits of the checksum's state, so equal bytes under
//!   two salts have equal checksums only if these 32 bits are equal.
//! - ID-4. The label of segment `j` names the epoch in force at its first byte, that is, of the
//!   epochs begun at or before `j × segment_bytes` the latest. An opening labels every segment that
//!   begins at or after its own begin before it writes its first record, and each one that it adds.
//!   The superblock has the label of the segment that holds the retention LSN, which may have been
//!   written by an epoch whose log is no longer needed.
//!
//! A foreign log is detected before any record is replayed that our own log does not contain.
//! Proof: let the log's files belong to another database, or to a database that was copied from
//! this one (or this one from it) before some opening `y` of it, which wrote records that we must
//! not read.
//! 1. Another database: every label has another id.
//! 2. A copy, and a needed segment that `y`, or one after it, has labelled: the label's salt is not
//!    the one that ID-4 demands, since salts are drawn at random.
//! 3. A copy, and all needed segments were labelled before the copy was made. Then `y` began inside
//!    one of them, at the tail where the shared log ended. If we have opened the database since, we
//!    began there too, and `latest` or one of its predecessors (ID-2) names that position, or a
//!    later one, where the log does not have our epoch's first record. If we have not, reading
//!    reaches the shared tail and finds an epoch begun there that the superblock does not know.
//!
//! In case 3, `latest` may begin before the retention LSN, where its first record may be missing,
//! since nothing there is needed. Then redo begins in that epoch, and finds no record of it.
//!
//! In each case the opening fails, and nothing was written except what our own log, up to the
//! shared tail, contains. The error is [`Error::ForeignLog`] if a complete label or record is the
//! evidence; otherwise it reports damage.
//!
//! Format version 1 has no identity: no labels, no salts, and epochs' first records have no body.

use std::path::PathBuf;

use clearway_base::{DatabaseId, Epoch, Error, Lsn, Result, SECTOR_SIZE, Salt, crc32c};
use clearway_disk::{AlignedBuf, File, IO_ALIGNMENT};

/// Bytes of a label, behind the segment's log bytes: a block, so that direct I/O can write it. The
/// first sector holds the contents.
pub(crate) const LABEL_BYTES: u64 = IO_ALIGNMENT as u64;
const LABEL_MAGIC: &[u8; 8] = b"CLWSEGM2";
const CHECKSUM_AT: usize = SECTOR_SIZE - 4;

/// One epoch, as the superblock and the log record it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EpochMark {
    /// Its number.
    pub epoch: Epoch,
    /// Its salt.
    pub salt: Salt,
    /// The LSN of its first record, or where it would be.
    pub begin: Lsn,
}

impl EpochMark {
    /// No epoch: the predecessor of the first one.
    pub const NONE: EpochMark = EpochMark { epoch: Epoch(0), salt: Salt::NONE, begin: Lsn::ZERO };

    /// Encodes the mark for the body of its successor's first record.
    pub(crate) fn encode(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&self.epoch.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.salt.0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.begin.0.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<EpochMark> {
        let bytes: &[u8; 24] = bytes.try_into().ok()?;
        let long = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes of the mark"))
        };
        let epoch = Epoch(u32::try_from(long(0)).ok()?);
        Some(EpochMark { epoch, salt: Salt(long(8)), begin: Lsn(long(16)) })
    }
}

/// The contents of a segment's label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    /// The database.
    pub(crate) database: DatabaseId,
    /// The segment's first LSN.
    pub(crate) first: Lsn,
    /// The epoch in force at the first byte (ID-4).
    pub(crate) epoch: Epoch,
    /// Its salt.
    pub(crate) salt: Salt,
}

impl Label {
    pub(crate) fn encode(&self) -> AlignedBuf {
        let mut block = AlignedBuf::new(LABEL_BYTES as usize);
        block[..8].copy_from_slice(LABEL_MAGIC);
        block[8..24].copy_from_slice(&self.database.0);
        block[24..32].copy_from_slice(&self.first.0.to_le_bytes());
        block[32..40].copy_from_slice(&self.salt.0.to_le_bytes());
        block[40..44].copy_from_slice(&self.epoch.0.to_le_bytes());
        let checksum = crc32c(&block[..CHECKSUM_AT]);
        block[CHECKSUM_AT..SECTOR_SIZE].copy_from_slice(&checksum.to_le_bytes());
        block
    }

    fn decode(block: &[u8]) -> Option<Label> {
        let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("8 bytes"));
        let is_good =
            &block[..8] == LABEL_MAGIC && word(CHECKSUM_AT) == crc32c(&block[..CHECKSUM_AT]);
        is_good.then(|| Label {
            database: DatabaseId(block[8..24].try_into().expect("16 bytes")),
            first: Lsn(long(24)),
            salt: Salt(long(32)),
            epoch: Epoch(word(40)),
        })
    }

    /// Reads the label of a segment file; returns `None` if it has no intact one.
    pub(crate) fn read(file: &dyn File, segment_bytes: u64) -> Result<Option<Label>> {
        let mut block = AlignedBuf::new(LABEL_BYTES as usize);
        let read = file.read_at(&mut block, segment_bytes)?;
        Ok((read == block.len()).then(|| Label::decode(&block)).flatten())
    }

    /// Writes the label of a segment; durable when this returns.
    pub(crate) fn write(&self, file: &dyn File, segment_bytes: u64) -> Result<()> {
        file.write_durable_at(&self.encode(), segment_bytes)
    }
}

/// The source of the salts of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Salts {
    /// Format version 1: there are no salts.
    None,
    /// The salts are derived from the epochs' numbers.
    OfNumber,
    /// The salts are listed, ascending by epoch (ID-2).
    Known(Vec<EpochMark>),
}

/// The identity of a log: its database and the epochs whose records are read and written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lineage {
    database: DatabaseId,
    salts: Salts,
}

impl Lineage {
    /// Returns the lineage of a log of format version 1.
    pub fn version_1() -> Lineage {
        Lineage { database: DatabaseId::NONE, salts: Salts::None }
    }

    /// Returns the lineage of a log that belongs to no database, for tests and experiments: an
    /// epoch's salt is derived from its number.
    pub fn of_no_database() -> Lineage {
        Lineage { database: DatabaseId::NONE, salts: Salts::OfNumber }
    }

    /// Returns the lineage of the log of `database` with these epochs, ascending.
    pub fn new(database: DatabaseId, marks: Vec<EpochMark>) -> Lineage {
        debug_assert!(marks.is_sorted_by(|a, b| a.epoch < b.epoch), "epochs ascend");
        Lineage { database, salts: Salts::Known(marks) }
    }

    /// Returns true if segments have labels: not in version 1.
    pub(crate) fn has_labels(&self) -> bool {
        self.salts != Salts::None
    }

    /// Returns the length of a segment's file.
    pub(crate) fn file_bytes(&self, segment_bytes: u64) -> u64 {
        segment_bytes + if self.has_labels() { LABEL_BYTES } else { 0 }
    }

    /// Returns the salt of an epoch; `None` if it is not known.
    pub(crate) fn salt_of(&self, epoch: Epoch) -> Option<Salt> {
        match &self.salts {
            Salts::None => Some(Salt::NONE),
            Salts::OfNumber => Some(Salt(u64::from(epoch.0).wrapping_mul(0x9E37_79B9_7F4A_7C15))),
            Salts::Known(marks) => {
                marks.iter().rev().find(|mark| mark.epoch == epoch).map(|mark| mark.salt)
            }
        }
    }

    /// Returns the initial checksum state of an epoch (ID-3); `None` if the epoch is not known.
    pub(crate) fn seed_of(&self, epoch: Epoch) -> Option<u32> {
        self.salt_of(epoch).map(seed)
    }

    /// Returns what the first record of `epoch` states about the previous epoch; `None` in
    /// version 1.
    pub(crate) fn predecessor(&self, epoch: Epoch) -> Option<EpochMark> {
        let before = |marks: &[EpochMark]| {
            marks.iter().rev().find(|mark| mark.epoch < epoch).copied().unwrap_or(EpochMark::NONE)
        };
        match &self.salts {
            Salts::None => None,
            Salts::OfNumber => Some(EpochMark::NONE),
            Salts::Known(marks) => Some(before(marks)),
        }
    }

    /// Returns the epochs, ascending; empty for a log without a database.
    pub fn marks(&self) -> &[EpochMark] {
        match &self.salts {
            Salts::Known(marks) => marks,
            Salts::None | Salts::OfNumber => &[],
        }
    }

    /// Returns the label of the segment that begins at `first` and is first written in `epoch`.
    pub(crate) fn label(&self, first: Lsn, epoch: Epoch) -> Option<Label> {
        let salt = self.salt_of(epoch).filter(|_| self.has_labels())?;
        Some(Label { database: self.database, first, epoch, salt })
    }

    pub(crate) fn database(&self) -> DatabaseId {
        self.database
    }
}

/// The checksum's state after the salt; 0 after none.
pub(crate) fn seed(salt: Salt) -> u32 {
    if salt == Salt::NONE { 0 } else { crc32c(&salt.0.to_le_bytes()) }
}

/// The state that the superblock knows of a log: where recovery may begin, and the log's identity.
#[derive(Clone, Debug)]
pub struct Known {
    /// The database.
    pub database: DatabaseId,
    /// The latest opening, whose epoch may have begun.
    pub latest: EpochMark,
    /// The last epoch that the latest opening found in the log.
    pub begun: EpochMark,
    /// True if the first record of `latest` is known to have been durable.
    pub has_begun: bool,
    /// The oldest LSN that is needed.
    pub retention_lsn: Lsn,
    /// Epoch and salt of the label of the segment that holds it.
    pub oldest_label: (Epoch, Salt),
}

/// Returns the error for a log file that belongs to another database or opening.
pub(crate) fn foreign(path: PathBuf, detail: impl Into<String>) -> Error {
    Error::ForeignLog { path, detail: detail.into() }
}

/// Returns the error for a file that names another database, or this one and another opening.
pub(crate) fn stranger(file: &dyn File, found: &Label, database: DatabaseId) -> Error {
    let detail = if found.database == database {
        format!(
            "it was written in epoch {} of a copy of it, or of another state of it",
            found.epoch.0
        )
    } else {
        format!("it is of database {}, and the data of {database}", found.database)
    };
    foreign(file.path(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_from_its_bytes() {
        let mark = EpochMark { epoch: Epoch(7), salt: Salt(u64::MAX - 3), begin: Lsn(1 << 40) };
        assert_eq!(EpochMark::decode(&mark.encode()), Some(mark));
        assert_eq!(EpochMark::decode(&[0; 23]), None);
        assert_eq!(EpochMark::decode(&[0xFF; 24]), None, "no epoch has that many bits");
    }

    #[test]
    fn every_bit_of_a_label_counts() {
        let label = Label {
            database: DatabaseId([3; 16]),
            first: Lsn(1 << 24),
            epoch: Epoch(9),
            salt: Salt(11),
        };
        let block = label.encode();
        assert_eq!(Label::decode(&block), Some(label));
        for bit in 0..SECTOR_SIZE * 8 {
            let mut damaged = block.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Label::decode(&damaged), None, "bit {bit}");
        }
    }
}
