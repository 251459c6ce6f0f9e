//! Making segments: what is found at start, new ones, and spares.
//!
//! A new segment is prepared under a spare's name: allocated, filled with zeros, synced. Then it
//! is renamed and the directory is synced (G1). A crash in between leaves a spare of unknown
//! contents, which the next start removes.

use std::{collections::VecDeque, sync::Arc};

use clearway_base::{Error, Lsn, Result};
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
    /// Segments prepared beyond the tail are kept; older ones become spares.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        options: &LogOptions,
        keep_from: Lsn,
        tail: Lsn,
    ) -> Result<Segments> {
        let segment_bytes = options.segment_bytes;
        disk.create_dir(LOG_DIR)?;
        disk.sync_dir("")?;
        remove_foreign(&*disk, segment_bytes)?;
        let first = keep_from.0 / segment_bytes;
        let segments = Segments {
            segment_bytes,
            spares_max: (options.capacity_bytes / segment_bytes / 2).max(1) as usize,
            directory: Mutex::new(Spares::default()),
            state: Mutex::new(Live { first, files: VecDeque::new() }),
            created: AtomicU64::new(0),
            recycled: AtomicU64::new(0),
            disk,
        };
        segments.adopt(first)?;
        if keep_from < tail && segments.end() < tail {
            let missing = segments.end();
            return Err(Error::corrupt("log", format!("the segment at {missing} is missing")));
        }
        Ok(segments)
    }

    /// Opens the consecutive segments from `first` on; all others become spares.
    fn adopt(&self, first: u64) -> Result<()> {
        let mut spares = self.directory.lock();
        for index in list_segments(&*self.disk, self.segment_bytes)? {
            let name = segment_name(index * self.segment_bytes);
            let file = self.disk.open(&name, OpenMode::Existing)?;
            check_len(&*file, self.segment_bytes)?;
            let next = self.state.lock().end();
            if index >= first && index == next {
                self.state.lock().files.push_back(file);
            } else {
                self.give_back(&mut spares, &name, file)?;
            }
        }
        self.disk.sync_dir(LOG_DIR)
    }

    /// Adds one segment at the end: a spare if there is one, else a new file.
    pub(crate) fn extend(&self) -> Result<()> {
        let mut spares = self.directory.lock();
        let is_recycled = !spares.files.is_empty();
        let (spare, file) = match spares.files.pop() {
            Some(found) => found,
            None => self.create(&mut spares)?,
        };
        let index = self.state.lock().end();
        let name = segment_name(index * self.segment_bytes);
        self.disk.rename(&spare, &name)?;
        self.disk.sync_dir(LOG_DIR)?;
        // Only now may groups be written to it (G1).
        self.state.lock().files.push_back(file);
        let counter = if is_recycled { &self.recycled } else { &self.created };
        // Relaxed: a plain counter.
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
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
