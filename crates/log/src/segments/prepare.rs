//! Creates segments: takes over existing ones at start, and makes new and reserved ones.
//!
//! A new segment is prepared under the name of a reserved segment: allocated, filled with zeros,
//! synced, labelled (SEGMENTS-5). Then it is renamed and the directory is synced (SEGMENTS-1). A
//! crash in between leaves a reserved segment of unknown contents, which the next start removes.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, OnceLock},
};

use clearway_base::{
    Epoch, Error, Lsn, Result,
    failpoint::{self, Failpoint},
};
use clearway_disk::{AlignedBuf, Disk, File, OpenMode};
use clearway_sync::{Counter, Mutex};

use super::{
    LOG_DIR, ReservedSegments, Segments, SegmentsInUse, index_of_name,
    layout::reserved_segment_name, list_segments, segment_name,
};
use crate::{
    identity::{self, LABEL_BYTES, Label, Lineage},
    options::LogOptions,
};

/// Zeros are written in pieces of this size: large enough for the device's full bandwidth.
const FILL_BYTES: usize = 1 << 20;

impl Segments {
    /// Takes over the segments on `disk`: those from `retention_lsn` to `tail` must exist. Segments
    /// prepared beyond the tail are kept; older ones become reserved segments. On an error, no file
    /// was changed (SEGMENTS-3).
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        options: &LogOptions,
        (lineage, epoch): (Arc<Lineage>, Epoch),
        retention_lsn: Lsn,
        tail: Lsn,
    ) -> Result<Segments> {
        let segment_bytes = options.segment_bytes;
        disk.create_dir(LOG_DIR)?;
        disk.sync_dir("")?;
        let first = retention_lsn.0 / segment_bytes;
        let end = if retention_lsn < tail { tail.0.div_ceil(segment_bytes) } else { first };
        let Survey { old, outdated, files } = survey(&*disk, &lineage, segment_bytes, first..end)?;
        let labels = read_labels(&lineage, &files, segment_bytes)?;
        let segments = Segments {
            segment_bytes,
            lineage,
            epoch,
            reserved_segments_max: (options.capacity_bytes / segment_bytes / 2).max(1) as usize,
            directory: Mutex::new(ReservedSegments::default()),
            state: Mutex::new(SegmentsInUse { first, files, labels }),
            broken: OnceLock::new(),
            created: Counter::default(),
            recycled: Counter::default(),
            disk,
        };
        segments.clear(old, outdated)?;
        segments.label_from(tail)?;
        Ok(segments)
    }

    /// Labels the segments that begin at or behind `tail`, where the epoch will begin (ID-4).
    fn label_from(&self, tail: Lsn) -> Result<()> {
        let (first, end) = {
            let in_use = self.state.lock();
            (in_use.first, in_use.end())
        };
        for index in tail.0.div_ceil(self.segment_bytes).max(first)..end {
            let label = self.label(index, &*self.file(index)?)?;
            self.state.lock().labels[(index - first) as usize] = label;
        }
        Ok(())
    }

    /// Labels a file that becomes the segment `index`, or is it and holds nothing that is needed.
    fn label(&self, index: u64, file: &dyn File) -> Result<Option<Label>> {
        let label = self.lineage.label(Lsn(index * self.segment_bytes), self.epoch);
        if let Some(label) = &label {
            label.write(file, self.segment_bytes)?;
        }
        Ok(label)
    }

    /// Removes an earlier opening's reserved segments and unneeded segments of an older format, and
    /// frees the other unneeded segments.
    fn clear(&self, old: Vec<(String, Arc<dyn File>)>, outdated: Vec<String>) -> Result<()> {
        let mut reserved = self.directory.lock();
        remove_reserved(&*self.disk, self.segment_bytes)?;
        outdated.iter().try_for_each(|name| self.disk.remove(name))?;
        for (name, file) in old {
            self.give_back(&mut reserved, &name, file)?;
        }
        self.disk.sync_dir(LOG_DIR)
    }

    /// Adds one segment at the end: a reserved segment if there is one, else a new file.
    pub(crate) fn extend(&self) -> Result<()> {
        let mut reserved = self.directory.lock();
        if let Some(cause) = self.broken.get() {
            return Err(cause.clone());
        }
        let is_recycled = !reserved.files.is_empty();
        let (old_name, file) = match reserved.files.pop() {
            Some(found) => found,
            None => self.create(&mut reserved)?,
        };
        let index = self.state.lock().end();
        let name = segment_name(index * self.segment_bytes);
        let labelled = self.label(index, &*file);
        let label =
            match labelled.and_then(|label| self.name_durably(&old_name, &name).map(|()| label)) {
                Ok(label) => label,
                Err(error) => {
                    reserved.files.push((old_name, file));
                    return Err(error);
                }
            };
        // Only now may groups be written to it (SEGMENTS-1).
        let mut in_use = self.state.lock();
        in_use.files.push_back(file);
        in_use.labels.push_back(label);
        drop(in_use);
        let counter = if is_recycled { &self.recycled } else { &self.created };
        counter.add(1);
        Ok(())
    }

    /// Renames a reserved segment to a segment's name. After a failure it has its old name, or the
    /// log stops (SEGMENTS-4).
    fn name_durably(&self, old_name: &str, name: &str) -> Result<()> {
        self.disk.rename(old_name, name)?;
        failpoint::pass(Failpoint::SegmentNamed);
        self.sync_names().inspect_err(|_| {
            if let Err(error) = self.disk.rename(name, old_name) {
                let _ = self.broken.set(error);
            }
        })
    }

    /// Creates a file of full length, whose zeros are durable.
    fn create(&self, reserved: &mut ReservedSegments) -> Result<(String, Arc<dyn File>)> {
        let name = next_reserved_name(reserved);
        let file = self.disk.open(&name, OpenMode::CreateNew)?;
        let made = self.fill_with_zeros(&*file);
        if let Err(error) = made {
            // Most likely the disk is full: free the space. The first error is the one to report.
            let _ = self.disk.remove(&name);
            return Err(error);
        }
        failpoint::pass(Failpoint::SegmentFilled);
        Ok((name, file))
    }

    fn fill_with_zeros(&self, file: &dyn File) -> Result<()> {
        file.allocate(0, self.lineage.file_bytes(self.segment_bytes))?;
        let zeros = AlignedBuf::new(FILL_BYTES.min(self.segment_bytes as usize));
        let mut at = 0;
        while at < self.segment_bytes {
            let len = (self.segment_bytes - at).min(zeros.len() as u64);
            file.write_at(&zeros[..len as usize], at)?;
            at += len;
        }
        file.sync_all()
    }

    /// Turns a file that was a segment into a reserved segment, or removes it if there are enough.
    /// The caller syncs the directory.
    pub(super) fn give_back(
        &self,
        reserved: &mut ReservedSegments,
        name: &str,
        file: Arc<dyn File>,
    ) -> Result<()> {
        if reserved.files.len() >= self.reserved_segments_max {
            return self.disk.remove(name);
        }
        let new_name = next_reserved_name(reserved);
        self.disk.rename(name, &new_name)?;
        reserved.files.push((new_name, file));
        Ok(())
    }
}

fn next_reserved_name(reserved: &mut ReservedSegments) -> String {
    reserved.next += 1;
    reserved_segment_name(reserved.next)
}

/// The segments found on disk.
struct Survey {
    /// Unneeded segments, with their names.
    old: Vec<(String, Arc<dyn File>)>,
    /// Unneeded segments of format version 1, which have no room for a label.
    outdated: Vec<String>,
    /// The segments in use.
    files: VecDeque<Arc<dyn File>>,
}

/// Opens all existing segments and checks that none is missing, neither among the `needed` ones nor
/// before a later one. Changes nothing.
fn survey(
    disk: &dyn Disk,
    lineage: &Lineage,
    segment_bytes: u64,
    needed: Range<u64>,
) -> Result<Survey> {
    let mut found = Survey { old: Vec::new(), outdated: Vec::new(), files: VecDeque::new() };
    let mut next = needed.start;
    let missing = |index: u64| {
        let name = segment_name(index * segment_bytes);
        Error::corrupt("log", format!("the segment {name} is missing"))
    };
    for index in list_segments(disk, segment_bytes)? {
        let name = segment_name(index * segment_bytes);
        let file = disk.open(&name, OpenMode::Existing)?;
        if !needed.contains(&index) && lineage.has_labels() && file.len()? == segment_bytes {
            found.outdated.push(name);
            continue;
        }
        check_len(&*file, lineage, segment_bytes)?;
        if index < needed.start {
            found.old.push((name, file));
        } else if index == next {
            found.files.push_back(file);
            next += 1;
        } else {
            return Err(missing(next));
        }
    }
    if next < needed.end { Err(missing(next)) } else { Ok(found) }
}

/// Reads the labels of the segments in use.
fn read_labels(
    lineage: &Lineage,
    files: &VecDeque<Arc<dyn File>>,
    segment_bytes: u64,
) -> Result<VecDeque<Option<Label>>> {
    let read = |file: &Arc<dyn File>| match lineage.has_labels() {
        true => Label::read(&**file, segment_bytes),
        false => Ok(None),
    };
    files.iter().map(read).collect()
}

/// Removes the reserved segments of an earlier opening. (They may be half filled, and making them
/// again is cheaper than checking which are complete.)
fn remove_reserved(disk: &dyn Disk, segment_bytes: u64) -> Result<()> {
    for name in disk.list(LOG_DIR)? {
        if index_of_name(&name, segment_bytes).is_none() && name.starts_with("spare-") {
            disk.remove(&format!("{LOG_DIR}/{name}"))?;
        }
    }
    Ok(())
}

/// Checks a segment's length. A segment has its full length from the start (SEGMENTS-1); one of
/// another length is damaged, or has another format or segment size and does not belong to this
/// log.
pub(crate) fn check_len(file: &dyn File, lineage: &Lineage, segment_bytes: u64) -> Result<()> {
    let (len, wanted) = (file.len()?, lineage.file_bytes(segment_bytes));
    if len == wanted {
        return Ok(());
    }
    if let Some(label) = Label::read(file, len.saturating_sub(LABEL_BYTES))?
        && label.database != lineage.database()
    {
        return Err(identity::stranger(file, &label, lineage.database()));
    }
    if lineage.has_labels() && len == segment_bytes {
        let detail = "it is of format version 1, and the data of a later one";
        return Err(identity::foreign(file.path(), detail));
    }
    let path = file.path();
    let detail = format!("{} has {len} bytes, not {wanted}", path.display());
    Err(Error::corrupt("log segment", detail))
}
