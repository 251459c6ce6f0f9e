//! Making segments: what is found at start, new ones, and spares.
//!
//! A new segment is prepared under a spare's name: allocated, filled with zeros, synced. Then it
//! is renamed and the directory is synced (G1). A crash in between leaves a spare of unknown
//! contents, which the next start removes.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, OnceLock},
};

use clearway_base::{
    Error, Lsn, Result,
    failpoint::{self, Failpoint},
    zoo::{self, Bug},
};
use clearway_disk::{AlignedBuf, Disk, File, OpenMode};
use clearway_sync::{Mutex, atomic::AtomicU64, atomic::Ordering};

use super::{
    LOG_DIR, Live, Segments, Spares, index_of_name, layout::spare_name, list_segments, segment_name,
};
use crate::options::LogOptions;

/// Zeros are written in pieces of this size: large enough for the device's full bandwidth.
const FILL_BYTES: usize = 1 << 20;

impl Segments {
    /// Takes over what `disk` holds: the segments from `keep_from` to `tail` must be there.
    /// Segments prepared beyond the tail are kept; older ones become spares. If anything is not as
    /// it must be, nothing was touched (G3).
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        options: &LogOptions,
        keep_from: Lsn,
        tail: Lsn,
    ) -> Result<Segments> {
        let segment_bytes = options.segment_bytes;
        disk.create_dir(LOG_DIR)?;
        disk.sync_dir("")?;
        let first = keep_from.0 / segment_bytes;
        let end = if keep_from < tail { tail.0.div_ceil(segment_bytes) } else { first };
        let (old, files) = survey(&*disk, segment_bytes, first..end)?;
        let segments = Segments {
            segment_bytes,
            spares_max: (options.capacity_bytes / segment_bytes / 2).max(1) as usize,
            directory: Mutex::new(Spares::default()),
            state: Mutex::new(Live { first, files }),
            broken: OnceLock::new(),
            created: AtomicU64::new(0),
            recycled: AtomicU64::new(0),
            disk,
        };
        segments.clear(old)?;
        Ok(segments)
    }

    /// Removes an earlier opening's spares and gives back the segments that nobody needs.
    fn clear(&self, old: Vec<(String, Arc<dyn File>)>) -> Result<()> {
        let mut spares = self.directory.lock();
        remove_foreign(&*self.disk, self.segment_bytes)?;
        for (name, file) in old {
            self.give_back(&mut spares, &name, file)?;
        }
        self.disk.sync_dir(LOG_DIR)
    }

    /// Adds one segment at the end: a spare if there is one, else a new file.
    pub(crate) fn extend(&self) -> Result<()> {
        let mut spares = self.directory.lock();
        if let Some(cause) = self.broken.get() {
            return Err(cause.clone());
        }
        let is_recycled = !spares.files.is_empty();
        let (spare, file) = match spares.files.pop() {
            Some(found) => found,
            None => self.create(&mut spares)?,
        };
        let index = self.state.lock().end();
        let name = segment_name(index * self.segment_bytes);
        if let Err(error) = self.name_durably(&spare, &name) {
            spares.files.push((spare, file));
            return Err(error);
        }
        // Only now may groups be written to it (G1).
        self.state.lock().files.push_back(file);
        let counter = if is_recycled { &self.recycled } else { &self.created };
        // Relaxed: a plain counter.
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Gives a spare a segment's name. After a failure it has its old one, or the log stops (G4).
    fn name_durably(&self, spare: &str, name: &str) -> Result<()> {
        self.disk.rename(spare, name)?;
        failpoint::pass(Failpoint::SegmentNamed);
        if zoo::has(Bug::DirectoryNotSynced) {
            return Ok(());
        }
        self.sync_names().inspect_err(|_| {
            if let Err(error) = self.disk.rename(name, spare) {
                let _ = self.broken.set(error);
            }
        })
    }

    /// A new file of full length, its zeros durable.
    fn create(&self, spares: &mut Spares) -> Result<(String, Arc<dyn File>)> {
        let name = next_spare_name(spares);
        let file = self.disk.open(&name, OpenMode::CreateNew)?;
        let made = self.fill_with_zeros(&*file);
        if let Err(error) = made {
            // A full disk most likely: give the space back. The first error is the one to report.
            let _ = self.disk.remove(&name);
            return Err(error);
        }
        failpoint::pass(Failpoint::SegmentFilled);
        Ok((name, file))
    }

    fn fill_with_zeros(&self, file: &dyn File) -> Result<()> {
        file.allocate(0, self.segment_bytes)?;
        let zeros = AlignedBuf::new(FILL_BYTES.min(self.segment_bytes as usize));
        let mut at = 0;
        while at < self.segment_bytes {
            let len = (self.segment_bytes - at).min(zeros.len() as u64);
            file.write_at(&zeros[..len as usize], at)?;
            at += len;
        }
        file.sync_all()
    }

    /// Turns a file that was a segment into a spare, or removes it if there are enough. The caller
    /// syncs the directory.
    pub(super) fn give_back(
        &self,
        spares: &mut Spares,
        name: &str,
        file: Arc<dyn File>,
    ) -> Result<()> {
        if spares.files.len() >= self.spares_max {
            return self.disk.remove(name);
        }
        let spare = next_spare_name(spares);
        self.disk.rename(name, &spare)?;
        spares.files.push((spare, file));
        Ok(())
    }
}

fn next_spare_name(spares: &mut Spares) -> String {
    spares.next += 1;
    spare_name(spares.next)
}

/// Old segments with their names, and the live ones.
type Survey = (Vec<(String, Arc<dyn File>)>, VecDeque<Arc<dyn File>>);

/// Opens every segment there is and checks that none is missing: neither of the `needed` ones nor
/// in front of a later one. Changes nothing.
fn survey(disk: &dyn Disk, segment_bytes: u64, needed: Range<u64>) -> Result<Survey> {
    let (mut old, mut live) = (Vec::new(), VecDeque::new());
    let mut next = needed.start;
    let missing = |index: u64| {
        let name = segment_name(index * segment_bytes);
        Error::corrupt("log", format!("the segment {name} is missing"))
    };
    for index in list_segments(disk, segment_bytes)? {
        let name = segment_name(index * segment_bytes);
        let file = disk.open(&name, OpenMode::Existing)?;
        check_len(&*file, segment_bytes)?;
        if index < needed.start {
            old.push((name, file));
        } else if index == next {
            live.push_back(file);
            next += 1;
        } else {
            return Err(missing(next));
        }
    }
    if next < needed.end { Err(missing(next)) } else { Ok((old, live)) }
}

/// Removes what is no segment: spares of an earlier opening. (They may be half filled, and making
/// them again costs less than telling which are whole.)
fn remove_foreign(disk: &dyn Disk, segment_bytes: u64) -> Result<()> {
    for name in disk.list(LOG_DIR)? {
        if index_of_name(&name, segment_bytes).is_none() && name.starts_with("spare-") {
            disk.remove(&format!("{LOG_DIR}/{name}"))?;
        }
    }
    Ok(())
}

/// A segment is full length from its first moment on (G1).
pub(crate) fn check_len(file: &dyn File, segment_bytes: u64) -> Result<()> {
    let len = file.len()?;
    if len != segment_bytes {
        let path = file.path();
        let detail = format!("{} has {len} bytes, not {segment_bytes}", path.display());
        return Err(Error::corrupt("log segment", detail));
    }
    Ok(())
}
