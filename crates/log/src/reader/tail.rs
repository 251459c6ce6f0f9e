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
//! Groups begin at sector boundaries, so the search tries each boundary as the start of a group,
//! follows a group to its trailer, and continues to the end of the last segment. Prepared segments
//! are few, and most positions in them fail the check of the header.
//!
//! Damage remains undetected if no whole group after it has a trailer that proves it. A single
//! damaged group is one of the last `flushes_in_flight` then. Damage to all later groups destroys
//! their trailers, too, so it can cost any number of groups: see `docs/log-format.md`, "What damage
//! at the end can cost", also for what bounds it.

use clearway_base::{Epoch, Lsn, Result, SECTOR_SIZE};

use super::{Found, examine, window::Window};
use crate::record::KIND_TRAILER;

const SECTOR: u64 = SECTOR_SIZE as u64;

/// Searches for a proof that the log once reached beyond `bad`, where reading in `epoch` stopped.
/// Returns the position of the proof.
pub(super) fn proof_beyond(window: &mut Window, bad: Lsn, epoch: Epoch) -> Result<Option<Lsn>> {
    let mut at = (bad.0 + 1).next_multiple_of(SECTOR);
    while let Some(covered) = window.next_covered(at) {
        at = covered;
        let (proof, next) = search_group(window, at, bad, epoch)?;
        if proof.is_some() {
            return Ok(proof);
        }
        at = next;
    }
    Ok(None)
}

/// Follows the group that begins at `start`, if one does. Returns the proof in it, and the position
/// at which the search continues.
fn search_group(
    window: &mut Window,
    start: u64,
    bad: Lsn,
    epoch: Epoch,
) -> Result<(Option<Lsn>, u64)> {
    let mut at = start;
    loop {
        let Found::Record(header) = examine(window, Lsn(at))? else {
            // A torn group: another may begin at any boundary after its start.
            return Ok((None, start + SECTOR));
        };
        if header.epoch < epoch {
            return Ok((None, start + SECTOR));
        }
        let end = at + header.span_bytes();
        if header.kind == KIND_TRAILER {
            return Ok(((header.prev > bad).then_some(Lsn(at)), end));
        }
        at = end;
    }
}
