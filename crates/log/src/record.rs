//! The bytes of one record: header, body, padding, checksum.
//!
//! ```text
//!  0        4        8        12   13    14       16              24              32
//!  ├─crc────┼─len────┼─epoch──┼kind┼flags┼─zero───┼─txn───────────┼─prev──────────┼─body … ┤ pad
//! ```
//!
//! All numbers are little endian. `len` counts header and body. The record occupies `len` rounded
//! up to a multiple of 8; the padding is zero and is not part of the checksum.
//!
//! Invariants:
//! - RECORD-1. The checksum begins with the epoch's salt (ID-3) and covers the body, every header
//!   field except itself, and the record's LSN, so that bytes of a recycled segment, whose LSN was
//!   different, never pass, nor do those of another database's log.
//! - RECORD-2. Every record starts at a multiple of [`RECORD_ALIGN`] and is at least
//!   [`HEADER_BYTES`] long.
//!
//! The checksum runs over the body first and the header last. So the long part is computed before
//! the record has a position in the log, and only five words remain once the LSN is known.

use clearway_base::{Epoch, Error, Lsn, LsnSpan, Result, SECTOR_SIZE, Salt, TxnId};

use crate::{
    checksum,
    identity::{self, EpochMark, Lineage},
};

/// Bytes of a record's header.
pub const HEADER_BYTES: usize = 32;

/// Records start at multiples of this.
pub const RECORD_ALIGN: usize = 8;

/// Returns the bytes of log that a record with a body of `body_len` bytes takes, for log space
/// reservations.
#[inline]
pub const fn record_bytes(body_len: usize) -> u64 {
    ((HEADER_BYTES + body_len) as u64).next_multiple_of(RECORD_ALIGN as u64)
}

/// The smallest kind that belongs to the log itself; callers use `1..KIND_RESERVED`.
pub const KIND_RESERVED: u8 = 0xF0;

/// The kind of a group trailer, which pads the group to the sector boundary. `prev` is the durable
/// LSN at the time when it was made, `txn` the epoch's salt.
pub(crate) const KIND_TRAILER: u8 = 0xF0;

/// The kind of the record that begins an epoch, at a sector boundary. `prev` is the LSN at which
/// the epoch before it ended, `txn` the salt, and the body names the epoch before it (ID-2).
pub(crate) const KIND_EPOCH_START: u8 = 0xF1;

/// Flag of a group trailer: the log was closed in order. The trailer is alone in its group,
/// everything before it is durable, and nothing of this epoch follows. Recovery does not rely on
/// it; it is for diagnosis.
pub(crate) const FLAG_CLOSED: u8 = 1;

/// Upper bound on the bytes of a group's trailer, for log space reservations: see
/// [`Log::insert_with_trailer`].
///
/// A trailer consists of its header, 32 bytes, and of padding up to the end of a sector. Its header
/// ends at a multiple of 8, so the padding is at most 504 bytes.
///
/// [`Log::insert_with_trailer`]: crate::Log::insert_with_trailer
pub const TRAILER_BYTES_MAX: u64 = (HEADER_BYTES + SECTOR_SIZE - RECORD_ALIGN) as u64;

/// A record to insert.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The caller's kind: `1..KIND_RESERVED`.
    pub kind: u8,
    /// The transaction it belongs to.
    pub txn: TxnId,
    /// The caller's own value, such as the LSN of the change to undo next.
    pub prev: Lsn,
    /// The body, in pieces that are written one after another.
    pub body: &'a [&'a [u8]],
}

/// A record found in the log.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// The position of the record.
    pub span: LsnSpan,
    /// The caller's kind.
    pub kind: u8,
    /// The transaction it belongs to.
    pub txn: TxnId,
    /// The caller's own value.
    pub prev: Lsn,
    /// The body.
    pub body: &'a [u8],
    /// The opening of the database that wrote it.
    pub epoch: Epoch,
}

/// The fields of a header, without the checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) len: u32,
    pub(crate) epoch: Epoch,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) txn: TxnId,
    pub(crate) prev: Lsn,
}

impl Header {
    /// The four words of the header, the checksum's half of the first one zero.
    #[inline]
    fn words(&self) -> [u64; 4] {
        [
            u64::from(self.len) << 32,
            u64::from(self.epoch.0) | u64::from(self.kind) << 32 | u64::from(self.flags) << 40,
            self.txn.0,
            self.prev.0,
        ]
    }

    /// Reads a header and the checksum stored in it. Returns `None` if no record can start like
    /// this.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<(Header, u32)> {
        let word = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes of the header"))
        };
        let (first, second) = (word(0), word(8));
        let header = Header {
            len: (first >> 32) as u32,
            epoch: Epoch(second as u32),
            kind: (second >> 32) as u8,
            flags: (second >> 40) as u8,
            txn: TxnId(word(16)),
            prev: Lsn(word(24)),
        };
        let plausible = header.len as usize >= HEADER_BYTES
            && header.len as usize <= clearway_base::RECORD_LEN_MAX
            && header.kind != 0
            && second >> 48 == 0;
        plausible.then_some((header, first as u32))
    }

    /// Bytes the record occupies.
    #[inline]
    pub(crate) fn span_bytes(&self) -> u64 {
        u64::from(self.len).next_multiple_of(RECORD_ALIGN as u64)
    }

    /// Returns true if `stored` is the checksum, begun with `seed`, of the record at `lsn` that has
    /// this header and `body` (RECORD-1).
    pub(crate) fn verify(&self, lsn: Lsn, body: &[u8], stored: u32, seed: u32) -> bool {
        record_checksum(checksum::append_parts(seed, &[body]), &self.words(), lsn) == stored
    }

    /// The salt that a record of the log itself names.
    pub(crate) fn salt(&self) -> Salt {
        Salt(self.txn.0)
    }
}

/// The stamp of the log's records: the epoch, and the initial state of their checksums (ID-3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub(crate) epoch: Epoch,
    salt: Salt,
    seed: u32,
}

impl Stamp {
    /// The stamp of `epoch`, which the lineage must know.
    pub(crate) fn of(lineage: &Lineage, epoch: Epoch) -> Result<Stamp> {
        match (lineage.salt_of(epoch), lineage.seed_of(epoch)) {
            (Some(salt), Some(seed)) => Ok(Stamp { epoch, salt, seed }),
            _ => Err(Error::corrupt("log", format!("epoch {} has no salt", epoch.0))),
        }
    }

    /// The stamp of an epoch without a salt.
    pub(crate) const fn unsalted(epoch: Epoch) -> Stamp {
        Stamp { epoch, salt: Salt::NONE, seed: 0 }
    }
}

/// Continues the body's checksum over the LSN and the header, whose checksum bits are zero.
#[inline]
fn record_checksum(body_crc: u32, words: &[u64; 4], lsn: Lsn) -> u32 {
    checksum::append_words(body_crc, [lsn.0, words[0], words[1], words[2], words[3]])
}

/// Returns the predecessor named in the body of an epoch's first record; `None` if it is not such a
/// record.
pub(crate) fn predecessor_in(header: &Header, body: &[u8]) -> Option<EpochMark> {
    if header.kind == KIND_EPOCH_START { EpochMark::decode(body) } else { None }
}

/// Returns true if a record of the log itself is good under the salt that it names.
pub(crate) fn is_self_consistent(header: &Header, lsn: Lsn, body: &[u8], crc: u32) -> bool {
    matches!(header.kind, KIND_TRAILER | KIND_EPOCH_START)
        && header.verify(lsn, body, crc, identity::seed(header.salt()))
}

/// A record ready to be inserted: everything except its LSN is known.
pub struct Draft<'a> {
    /// The header without its checksum.
    words: [u64; 4],
    body_crc: u32,
    pub(crate) body: &'a [&'a [u8]],
    /// True if space for the trailer of its group was reserved with it.
    pub(crate) pays_trailer: bool,
}

impl<'a> Draft<'a> {
    /// Computes length and body checksum of `record`, which may be `len_max` long in all.
    #[inline]
    pub(crate) fn new(record: &Record<'a>, stamp: Stamp, len_max: usize) -> Result<Draft<'a>> {
        debug_assert!((1..KIND_RESERVED).contains(&record.kind), "a caller's kind");
        let Record { kind, txn, prev, body } = *record;
        let len = HEADER_BYTES + body.iter().map(|part| part.len()).sum::<usize>();
        if len > len_max {
            return Err(too_long(len, len_max));
        }
        let header = Header { len: len as u32, epoch: stamp.epoch, kind, flags: 0, txn, prev };
        Ok(Draft::with_header(&header, stamp.seed, body))
    }

    #[inline]
    fn with_header(header: &Header, seed: u32, body: &'a [&'a [u8]]) -> Draft<'a> {
        let body_crc = checksum::append_parts(seed, body);
        Draft { words: header.words(), body_crc, body, pays_trailer: false }
    }

    /// A record of the log itself.
    fn own(kind: u8, flags: u8, stamp: Stamp, prev: Lsn, body: &'a [&'a [u8]]) -> Draft<'a> {
        let len = (HEADER_BYTES + body.iter().map(|part| part.len()).sum::<usize>()) as u32;
        let Stamp { epoch, salt, seed } = stamp;
        let header = Header { len, epoch, kind, flags, txn: TxnId(salt.0), prev };
        Draft::with_header(&header, seed, body)
    }

    /// The first record of an epoch; the one before it ended at `tail`, and `body` names it.
    pub(crate) fn epoch_start(stamp: Stamp, tail: Lsn, body: &'a [&'a [u8]]) -> Draft<'a> {
        Draft::own(KIND_EPOCH_START, 0, stamp, tail, body)
    }

    /// The last record of a group, padded by `padding`.
    pub(crate) fn trailer(
        stamp: Stamp,
        durable: Lsn,
        flags: u8,
        padding: &'a Padding,
    ) -> Draft<'a> {
        Draft::own(KIND_TRAILER, flags, stamp, durable, &padding.0)
    }

    /// Bytes the record occupies.
    #[inline]
    pub fn span_bytes(&self) -> u64 {
        (self.len() as u64).next_multiple_of(RECORD_ALIGN as u64)
    }

    /// Returns 1 if space for the trailer of its group was reserved with the record, otherwise 0.
    #[inline]
    pub fn trailers_paid(&self) -> u64 {
        u64::from(self.pays_trailer)
    }

    /// Header and body without the padding.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.words[0] >> 32) as usize
    }

    /// The header at its final place.
    #[inline]
    pub(crate) fn header_at(&self, lsn: Lsn) -> [u8; HEADER_BYTES] {
        let mut words = self.words;
        words[0] |= u64::from(record_checksum(self.body_crc, &self.words, lsn));
        let mut bytes = [0; HEADER_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

#[cold]
fn too_long(len: usize, max: usize) -> Error {
    Error::ValueTooLarge { len, max }
}

/// The zeros that fill a trailer up to the end of its sector.
pub(crate) struct Padding([&'static [u8]; 1]);

impl Padding {
    /// The padding of a trailer that occupies `span_bytes` in all.
    pub(crate) fn of(span_bytes: u64) -> Padding {
        static ZEROS: [u8; SECTOR_SIZE] = [0; SECTOR_SIZE];
        Padding([&ZEROS[..span_bytes as usize - HEADER_BYTES]])
    }
}

/// Returns the end of the trailer of a group whose records end at `lsn`: the first sector boundary
/// before which the trailer's header fits.
///
/// The trailer takes 32 to 32 + 504 bytes: `lsn` is a multiple of 8, so at most 504 bytes are left
/// in the sector after the header.
#[inline]
pub(crate) fn trailer_end(lsn: u64) -> u64 {
    (lsn + HEADER_BYTES as u64).next_multiple_of(SECTOR_SIZE as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { epoch: Epoch(3), salt: Salt(5), seed: 1234 };

    fn draft_bytes(record: &Record<'_>, lsn: Lsn) -> Vec<u8> {
        stamped_bytes(record, lsn, STAMP)
    }

    fn stamped_bytes(record: &Record<'_>, lsn: Lsn, stamp: Stamp) -> Vec<u8> {
        let draft = Draft::new(record, stamp, 1 << 15).unwrap();
        let mut bytes = draft.header_at(lsn).to_vec();
        record.body.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }

    fn is_valid(bytes: &[u8], lsn: Lsn) -> bool {
        let header: &[u8; HEADER_BYTES] = bytes[..HEADER_BYTES].try_into().unwrap();
        let Some((header, crc)) = Header::decode(header) else { return false };
        header.len as usize <= bytes.len()
            && header.verify(lsn, &bytes[HEADER_BYTES..header.len as usize], crc, STAMP.seed)
    }

    #[test]
    fn checksum_covers_every_bit_and_the_position() {
        let record =
            Record { kind: 7, txn: TxnId(11), prev: Lsn(96), body: &[b"left ", b"", b"right"] };
        let bytes = draft_bytes(&record, Lsn(4096));
        assert!(is_valid(&bytes, Lsn(4096)));
        assert!(!is_valid(&bytes, Lsn(4104)), "another position");
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_valid(&damaged, Lsn(4096)), "bit {bit} is not covered");
        }
    }

    #[test]
    fn records_of_another_salt_are_not_valid() {
        let record = Record { kind: 7, txn: TxnId(11), prev: Lsn(96), body: &[b"body"] };
        for bit in 0..32 {
            let stamp = Stamp { seed: STAMP.seed ^ 1 << bit, ..STAMP };
            assert!(!is_valid(&stamped_bytes(&record, Lsn(4096), stamp), Lsn(4096)));
        }
    }

    #[test]
    fn pieces_of_the_body_do_not_change_the_record() {
        let whole = Record { kind: 1, txn: TxnId(2), prev: Lsn(3), body: &[b"abcdef"] };
        let parts = Record { body: &[b"abc", b"d", b"ef"], ..whole };
        assert_eq!(draft_bytes(&whole, Lsn(8)), draft_bytes(&parts, Lsn(8)));
    }

    #[test]
    fn zeros_are_no_record() {
        assert!(Header::decode(&[0; HEADER_BYTES]).is_none());
    }

    #[test]
    fn too_long_a_record_is_refused() {
        let body = [0; 100];
        let record = Record { kind: 1, txn: TxnId(2), prev: Lsn(3), body: &[&body] };
        assert!(Draft::new(&record, STAMP, 132).is_ok());
        assert!(matches!(
            Draft::new(&record, STAMP, 131),
            Err(Error::ValueTooLarge { len: 132, max: 131 })
        ));
    }

    #[test]
    fn a_trailer_always_fits_before_the_end_of_its_group() {
        for end in (0..2048u64).step_by(RECORD_ALIGN) {
            let trailer = trailer_end(end) - end;
            assert!((32..=TRAILER_BYTES_MAX).contains(&trailer), "{trailer} bytes after {end}");
            let padding = Padding::of(trailer);
            let draft = Draft::trailer(STAMP, Lsn(0), 0, &padding);
            assert_eq!(draft.span_bytes(), trailer);
        }
    }
}
