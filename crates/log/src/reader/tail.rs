//! The tail check: decides whether a bad record is the end of the log or damage in its middle.
//!
//! Group writes overlap, so after a crash there may be good groups after a hole, which were never
//! acknowledged: the hole is the tail. But if a good record after the bad one proves that the bad
//! one *was* durable, its bytes were damaged later, and stopping here would lose acknowledged work.
//! The proof is a trailer, of this epoch or a later one, that names a durable LSN greater than the
//! bad position. (The closing trailer names the start of its own group, and so does the trailer of
//! an epoch's first group: the log before it had been read.)
//!
//! Records of lower epochs prove nothing: they were left behind by an earlier crash.
//!
//! What a trailer says does not depend on the rest of its group, so the trailer of a torn group
//! proves as much as any other. The search takes each position at which one may begin, whatever
//! stands around it: a body cannot contain a good trailer, whose checksum depends on the epoch's
//! salt and on its own LSN (RECORD-1). Prepared segments are few.
//!
//! Damage remains undetected if no trailer after it proves it. A single damaged group is one of the
//! last `flushes_in_flight` then. Damage to all later trailers can cost any number of groups: see
//! `docs/log-format.md`, "What damage at the end can cost", also for what bounds it.

use clearway_base::{Epoch, Lsn, Result, SECTOR_SIZE};

use super::{Found, examine, window::Window};
use crate::record::{HEADER_BYTES, Header, KIND_TRAILER, RECORD_ALIGN};

const SECTOR: u64 = SECTOR_SIZE as u64;

/// Searches for a proof that the log once reached beyond `bad`, where reading in `epoch` stopped.
/// Returns the position of the proof.
pub(super) fn proof_beyond(window: &mut Window, bad: Lsn, epoch: Epoch) -> Result<Option<Lsn>> {
    // A trailer in the sector of `bad` is of the group of `bad`, or of one before it.
    let mut sector = (bad.0 + 1).next_multiple_of(SECTOR);
    while let Some(covered) = window.next_covered(sector) {
        if let Some(proof) = proof_in_sector(window, covered, bad, epoch)? {
            return Ok(Some(proof));
        }
        sector = covered + SECTOR;
    }
    Ok(None)
}

/// Returns a trailer that begins in the sector at `sector` and proves that `bad` was durable.
fn proof_in_sector(
    window: &mut Window,
    sector: u64,
    bad: Lsn,
    epoch: Epoch,
) -> Result<Option<Lsn>> {
    let bytes = window.bytes(sector, SECTOR_SIZE + HEADER_BYTES)?;
    let heads = bytes.windows(HEADER_BYTES).step_by(RECORD_ALIGN);
    let offsets = (sector..sector + SECTOR).step_by(RECORD_ALIGN);
    let begins =
        offsets.zip(heads).filter(|(_, head)| is_trailer_head(head)).map(|(at, _)| Lsn(at));
    // Examining a record may load another part of the log into the window.
    for at in begins.collect::<Vec<Lsn>>() {
        if let Found::Record(header) = examine(window, at)?
            && header.epoch >= epoch
            && header.prev > bad
        {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn is_trailer_head(head: &[u8]) -> bool {
    let head = head.try_into().expect("a header's bytes");
    Header::decode(head).is_some_and(|(header, _)| header.kind == KIND_TRAILER)
}
