//! The files of the log.
//!
//! The log is cut into segments of equal size. Segment `i` holds the bytes from LSN `i ×
//! segment_bytes` on, at offset 0, and is the file `log/<first LSN, 16 hex digits>`. These bytes
//! are followed by its *label*, which identifies the database and the opening (`identity`, ID-4).
//! (It follows, instead of preceding as a header, so that a byte's offset in the file is its offset
//! in the segment.)
//!
//! Invariants:
//! - SEGMENTS-1. A file gets a segment's name only when it has its full length, its blocks are
//!   written (zeros, or an earlier segment's bytes) and both are durable. Groups are written to it
//!   only once the name is durable, too. So a group write changes no metadata and never finds the
//!   disk full, and a short segment is damage.
//! - SEGMENTS-2. The segments in use are consecutive: `first .. first + files.len()`.
//! - SEGMENTS-3. Only segments wholly below the retention LSN lose their name. They become reserved
//!   segments (`log/spare-<n>`) and later, by a rename, a segment at the end; or they are removed.
//!   At start no file loses its name before all needed segments were found.
//! - SEGMENTS-4. A failed sync of the directory is never tried again, unless the disk was full: the
//!   thread that meets it stops the log (`broken`). Every other failure leaves the files as they
//!   were.
//! - SEGMENTS-5. A label is durable before its file gets a segment's name. The label of a segment
//!   that has one is written again only while no needed byte is in the segment: by an opening that
//!   will begin its epoch at or before the segment's first byte.
//!
//! Latch order: `directory` (held across directory operations and I/O; taken by the preparer, by
//! threads that found no room for a reservation, and by truncation; never by an insert) → `state`
//! (short). A flusher takes `state`, and `directory` only if the segment of its group does not
//! exist (see `Segments::file`).

mod layout;
mod prepare;

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use clearway_base::{
    Epoch, Error, Lsn, LsnSpan, Result, Salt,
    failpoint::{self, Failpoint},
};
use clearway_disk::{Disk, File};
use clearway_sync::{Counter, Mutex};

use crate::identity::{Label, Lineage};
pub use layout::is_log_file;
pub(crate) use layout::{LOG_DIR, index_of_name, list_segments, segment_name};
pub(crate) use prepare::check_len;

/// The segments of a log, with operations to add and to free them.
pub(crate) struct Segments {
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    lineage: Arc<Lineage>,
    /// The epoch that new segments are labelled with.
    epoch: Epoch,
    /// Upper bound on the number of reserved segments.
    reserved_segments_max: usize,
    /// Held by a thread that adds or removes files.
    directory: Mutex<ReservedSegments>,
    state: Mutex<SegmentsInUse>,
    /// The failure after which it is unknown which names are durable (SEGMENTS-4).
    broken: OnceLock<Error>,
    created: Counter,
    recycled: Counter,
}

/// The reserved segments: files without a segment's name, ready to get one (SEGMENTS-3).
#[derive(Default)]
struct ReservedSegments {
    files: Vec<(String, Arc<dyn File>)>,
    /// The next unused number for a name.
    next: u64,
}

/// The segments in use (SEGMENTS-2).
struct SegmentsInUse {
    first: u64,
    files: VecDeque<Arc<dyn File>>,
    /// One for each file; `None` in version 1.
    labels: VecDeque<Option<Label>>,
}

impl SegmentsInUse {
    fn end(&self) -> u64 {
        self.first + self.files.len() as u64
    }
}

/// Numbers of segments, by origin.
#[derive(Clone, Copy)]
pub(crate) struct SegmentCounts {
    pub(crate) in_use: u64,
    pub(crate) created: u64,
    pub(crate) recycled: u64,
}

impl Segments {
    /// Returns the end of the prepared part of the log.
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.state.lock().end() * self.segment_bytes)
    }

    /// Returns the start of the oldest segment.
    pub(crate) fn start(&self) -> Lsn {
        Lsn(self.state.lock().first * self.segment_bytes)
    }

    /// Returns epoch and salt of the label of the segment that holds `lsn`.
    pub(crate) fn label_at(&self, lsn: Lsn) -> Option<(Epoch, Salt)> {
        let in_use = self.state.lock();
        let place = (lsn.0 / self.segment_bytes).checked_sub(in_use.first)?;
        let label = (*in_use.labels.get(place as usize)?)?;
        Some((label.epoch, label.salt))
    }

    /// Returns the size of a segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Returns figures for [`LogStats`](crate::LogStats).
    pub(crate) fn counts(&self) -> SegmentCounts {
        SegmentCounts {
            in_use: self.state.lock().files.len() as u64,
            created: self.created.get(),
            recycled: self.recycled.get(),
        }
    }

    /// Writes the bytes of a group and returns once they are durable.
    pub(crate) fn write_durable(&self, group: LsnSpan, mut bytes: &[u8]) -> Result<()> {
        let mut at = group.start.0;
        while !bytes.is_empty() {
            let offset = at % self.segment_bytes;
            let len = bytes.len().min((self.segment_bytes - offset) as usize);
            let (here, rest) = bytes.split_at(len);
            self.file(at / self.segment_bytes)?.write_durable_at(here, offset)?;
            at += len as u64;
            bytes = rest;
            if !rest.is_empty() {
                failpoint::pass(Failpoint::GroupHalfWritten);
            }
        }
        Ok(())
    }

    /// Returns the file of a segment in use. Adds the segment if it does not exist, which log space
    /// reservations prevent unless unpaid trailers used up the reserve.
    fn file(&self, index: u64) -> Result<Arc<dyn File>> {
        loop {
            {
                let in_use = self.state.lock();
                let place = index.checked_sub(in_use.first).ok_or_else(|| {
                    Error::corrupt("log", format!("segment {index} was freed too early"))
                })?;
                if let Some(file) = in_use.files.get(place as usize) {
                    return Ok(file.clone());
                }
            }
            self.extend()?;
        }
    }

    /// Returns the failure that must stop the log (SEGMENTS-4).
    pub(crate) fn broken(&self) -> Option<&Error> {
        self.broken.get()
    }

    /// Makes the directory's names durable (SEGMENTS-4).
    fn sync_names(&self) -> Result<()> {
        if let Some(cause) = self.broken.get() {
            return Err(cause.clone());
        }
        self.disk.sync_dir(LOG_DIR).inspect_err(|error| {
            if !matches!(error, Error::DiskFull { .. }) {
                let _ = self.broken.set(error.clone());
            }
        })
    }

    /// Frees the segments wholly below `retention_lsn` (SEGMENTS-3). Returns true if there were
    /// any.
    pub(crate) fn truncate(&self, retention_lsn: Lsn) -> Result<bool> {
        let mut reserved = self.directory.lock();
        let first_needed = retention_lsn.0 / self.segment_bytes;
        let mut is_changed = false;
        // One by one: a segment that cannot be freed stays in use.
        while let Some((index, file)) = self.oldest().filter(|(index, _)| *index < first_needed) {
            self.give_back(&mut reserved, &segment_name(index * self.segment_bytes), file)?;
            failpoint::pass(Failpoint::SegmentGivenBack);
            let mut in_use = self.state.lock();
            in_use.files.pop_front();
            in_use.labels.pop_front();
            in_use.first += 1;
            is_changed = true;
        }
        if is_changed {
            self.sync_names()?;
        }
        Ok(is_changed)
    }

    fn oldest(&self) -> Option<(u64, Arc<dyn File>)> {
        let in_use = self.state.lock();
        Some((in_use.first, in_use.files.front()?.clone()))
    }
}
