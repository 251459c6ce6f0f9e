//! The identity check before recovery: verifies that this is the log of this database, as its
//! superblock last recorded it.
//!
//! [`trace`] follows the epochs back from those that the superblock names (ID-2) and compares the
//! label of each segment with the epoch that must have written it (ID-4). Nothing is written.
//! `check_stranger` handles the case that only a reader can detect, an unknown epoch after the
//! tail.
//!
//! Invariants:
//! - TRACE-1. An epoch that is known to have begun has its first record at the position in its
//!   mark, or that part of the log is not needed any more.
//! - TRACE-2. Only evidence makes a log *foreign*: an intact label or record of another database or
//!   opening. Other unexpected bytes are damage, if they are needed.

use std::sync::Arc;

use clearway_base::{Epoch, Error, Lsn, Result, SECTOR_SIZE};
use clearway_disk::{Disk, OpenMode};

use super::{Found, examine, window::Window};
use crate::{
    identity::{self, EpochMark, Known, LABEL_BYTES, Label, Lineage},
    options::check_segment_bytes,
    record::{
        HEADER_BYTES, Header, KIND_EPOCH_START, RECORD_ALIGN, is_self_consistent, predecessor_in,
    },
    segments::{check_len, list_segments, segment_name},
};

/// The result of [`trace`].
#[derive(Clone, Debug)]
pub struct Traced {
    /// All epochs whose log may be needed, and the latest opening's, which need not have begun.
    pub lineage: Lineage,
    /// The last epoch of which the log has the first record.
    pub begun: EpochMark,
}

/// Checks that the log on `disk` is the one that the superblock knows.
///
/// # Errors
///
/// [`Error::ForeignLog`] if it belongs to another database, or to a copy; [`Error::Corrupt`] for
/// damage to the identifying data.
pub fn trace(disk: &Arc<dyn Disk>, segment_bytes: u64, known: &Known) -> Result<Traced> {
    check_segment_bytes(segment_bytes)?;
    let named = Lineage::new(known.database, vec![known.begun, known.latest]);
    check_database(&**disk, &named, segment_bytes)?;
    let mut window = Window::new(disk.clone(), segment_bytes, Arc::new(named))?;
    let has_begun = has_begun(&mut window, known)?;
    let begun = if has_begun { known.latest } else { known.begun };
    let mut marks = predecessors(&mut window, begun, known.retention_lsn)?;
    check_labels(&**disk, segment_bytes, known, &marks, has_begun)?;
    if !has_begun {
        marks.push(known.latest);
    }
    Ok(Traced { lineage: Lineage::new(known.database, marks), begun })
}

/// Returns true if the latest opening has begun its epoch.
fn has_begun(window: &mut Window, known: &Known) -> Result<bool> {
    let latest = known.latest;
    match start_at(window, &latest)? {
        Start::Ours(_) => Ok(true),
        Start::Foreign => Err(foreign_at(window, latest.begin)?),
        Start::Other if known.has_begun => Err(foreign_at(window, latest.begin)?),
        // Log before the retention LSN was freed, or may be damaged.
        Start::Nothing if known.has_begun && latest.begin < known.retention_lsn => Ok(true),
        Start::Nothing if known.has_begun => Err(missing(&latest)),
        Start::Other | Start::Nothing => Ok(false),
    }
}

/// Returns the epochs that may have log at or after `retention_lsn`, ascending; the newest is
/// `begun` (ID-2).
fn predecessors(
    window: &mut Window,
    begun: EpochMark,
    retention_lsn: Lsn,
) -> Result<Vec<EpochMark>> {
    let mut marks = vec![begun];
    let mut mark = begun;
    while mark.begin > retention_lsn {
        let before = match start_at(window, &mark)? {
            Start::Ours(before) => before,
            Start::Foreign | Start::Other => return Err(foreign_at(window, mark.begin)?),
            Start::Nothing => return Err(missing(&mark)),
        };
        if before.epoch >= mark.epoch || before.begin >= mark.begin {
            return Err(missing(&mark));
        }
        marks.push(before);
        mark = before;
    }
    marks.reverse();
    Ok(marks)
}

/// The contents at the start of an epoch.
enum Start {
    /// Its first record, which names the epoch before it.
    Ours(EpochMark),
    /// The first record of another epoch that begins there.
    Foreign,
    /// Another whole record.
    Other,
    /// Nothing whole.
    Nothing,
}

fn start_at(window: &mut Window, mark: &EpochMark) -> Result<Start> {
    let Some((header, body, is_good)) = own_record_at(window, mark.begin)? else {
        // Of an epoch that the superblock knows, perhaps.
        return Ok(match examine(window, mark.begin)? {
            Found::Record(_) => Start::Other,
            Found::Nothing => Start::Nothing,
        });
    };
    Ok(match predecessor_in(&header, &body) {
        _ if !is_good => Start::Nothing,
        Some(before) if header.epoch == mark.epoch && header.salt() == mark.salt => {
            Start::Ours(before)
        }
        Some(_) => Start::Foreign,
        None => Start::Other,
    })
}

/// Returns a record of the log itself at `lsn`, with its body, and whether it is good under the
/// salt that it names. Returns `None` if the bytes are not such a record.
fn own_record_at(window: &mut Window, lsn: Lsn) -> Result<Option<(Header, Vec<u8>, bool)>> {
    let Ok(head) = <&[u8; HEADER_BYTES]>::try_from(window.bytes(lsn.0, HEADER_BYTES)?) else {
        return Ok(None);
    };
    let Some((header, crc)) = Header::decode(head) else { return Ok(None) };
    if header.kind < crate::record::KIND_RESERVED {
        return Ok(None);
    }
    let bytes = window.bytes(lsn.0, header.len as usize)?;
    let body = bytes.get(HEADER_BYTES..header.len as usize).map(<[u8]>::to_vec);
    let Some(body) = body else { return Ok(None) };
    let is_good = is_self_consistent(&header, lsn, &body, crc);
    Ok(Some((header, body, is_good)))
}

fn missing(mark: &EpochMark) -> Error {
    let EpochMark { epoch: Epoch(epoch), begin, .. } = mark;
    let detail = format!(
        "at {begin} the first record of epoch {epoch} is missing: the log is damaged there, or it \
         is of a copy or an earlier state of this database"
    );
    Error::corrupt("log", detail)
}

fn foreign_at(window: &mut Window, lsn: Lsn) -> Result<Error> {
    let detail = format!(
        "what it holds at {lsn} was not written by the opening that the data name; it is of a copy \
         of this database, or of another state of it"
    );
    Ok(identity::foreign(window.path_at(lsn.0)?, detail))
}

/// Checks that no segment names another database, whether it is needed or not.
fn check_database(disk: &dyn Disk, lineage: &Lineage, segment_bytes: u64) -> Result<()> {
    for index in list_segments(disk, segment_bytes)? {
        let file = disk.open(&segment_name(index * segment_bytes), OpenMode::Existing)?;
        if let Some(label) = Label::read(&*file, file.len()?.saturating_sub(LABEL_BYTES))?
            && label.database != lineage.database()
        {
            return Err(identity::stranger(&*file, &label, lineage.database()));
        }
    }
    Ok(())
}

/// Checks that every needed segment was labelled in the epoch that is in force at its first byte
/// (ID-4).
fn check_labels(
    disk: &dyn Disk,
    segment_bytes: u64,
    known: &Known,
    begun: &[EpochMark],
    has_begun: bool,
) -> Result<()> {
    let oldest = known.retention_lsn.0 / segment_bytes;
    let lineage = Lineage::new(known.database, begun.to_vec());
    for index in list_segments(disk, segment_bytes)?.into_iter().filter(|&index| index >= oldest) {
        let first = Lsn(index * segment_bytes);
        // Nothing has been written there since an opening that left no other trace may have
        // labelled it.
        if !has_begun && first >= known.latest.begin {
            continue;
        }
        let in_force = begun.iter().rev().find(|mark| mark.begin <= first);
        let (epoch, salt) = match in_force {
            _ if index == oldest => known.oldest_label,
            Some(mark) => (mark.epoch, mark.salt),
            None => continue,
        };
        let file = disk.open(&segment_name(first.0), OpenMode::Existing)?;
        check_len(&*file, &lineage, segment_bytes)?;
        let wanted = Label { database: known.database, first, epoch, salt };
        match Label::read(&*file, segment_bytes)? {
            Some(found) if found == wanted => {}
            Some(found) if found.first == first => {
                return Err(identity::stranger(&*file, &found, known.database));
            }
            Some(found) => {
                let path = file.path();
                let detail = format!("{} is the segment of {}", path.display(), found.first);
                return Err(Error::corrupt("log segment", detail));
            }
            None => {
                let detail = format!("the label of {} is damaged", file.path().display());
                return Err(Error::corrupt("log segment", detail));
            }
        }
    }
    Ok(())
}

/// Refuses a log that continues at `bad` in an epoch outside its lineage, after reading in `epoch`
/// (READER-4). If nothing was read yet, any record of such an epoch in the rest of the segment is
/// evidence.
pub(super) fn check_stranger(window: &mut Window, bad: Lsn, epoch: Option<Epoch>) -> Result<()> {
    let Some(oldest) = window.lineage().marks().first().map(|mark| mark.epoch) else {
        return Ok(());
    };
    let boundary = bad.0.next_multiple_of(SECTOR_SIZE as u64);
    let (end, step) = match epoch {
        Some(_) => (boundary + 1, SECTOR_SIZE),
        None => (window.segment_end(bad.0), RECORD_ALIGN),
    };
    for at in (boundary..end).step_by(step) {
        let Some((header, _, is_good)) = own_record_at(window, Lsn(at))? else { continue };
        let is_late = header.epoch > epoch.unwrap_or(oldest);
        let is_known = window.lineage().salt_of(header.epoch) == Some(header.salt());
        let is_start = header.kind == KIND_EPOCH_START || epoch.is_none();
        if is_good && is_late && !is_known && is_start {
            return Err(foreign_at(window, Lsn(at))?);
        }
    }
    Ok(())
}
