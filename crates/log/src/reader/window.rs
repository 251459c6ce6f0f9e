//! A piece of the log in memory, read from the segment files as needed.
//!
//! Bytes that no segment holds (past the last one, or where one is missing) are not an error here:
//! the window is just shorter. The reader decides what that means.

use std::{path::PathBuf, sync::Arc};

use clearway_base::{RECORD_LEN_MAX, Result};
use clearway_disk::{AlignedBuf, Disk, File, IO_ALIGNMENT, OpenMode};

use crate::{
    identity::Lineage,
    segments::{check_len, list_segments, segment_name},
};

/// Bytes of a window: large reads use the device's full bandwidth. Less for segments of less, so
/// that small logs, which tests open by the thousand, cost little.
const WINDOW_BYTES: usize = 1 << 20;

/// Bytes of a window for random access: a record of any size and something around it.
const WINDOW_BYTES_RANDOM: usize = 4 * RECORD_LEN_MAX;

/// A view of the log's bytes `start .. start + len`.
pub(super) struct Window {
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    lineage: Arc<Lineage>,
    /// The numbers of the existing segments, ascending.
    segments: Vec<u64>,
    open: Option<(u64, Arc<dyn File>)>,
    buf: AlignedBuf,
    start: u64,
    len: usize,
}

impl Window {
    /// Creates an empty window on the segments that are on `disk` now.
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        segment_bytes: u64,
        lineage: Arc<Lineage>,
    ) -> Result<Window> {
        let segments = list_segments(&*disk, segment_bytes)?;
        let bytes = (segment_bytes as usize).clamp(WINDOW_BYTES_RANDOM, WINDOW_BYTES);
        let buf = AlignedBuf::new(bytes);
        Ok(Window { disk, segment_bytes, lineage, segments, open: None, buf, start: 0, len: 0 })
    }

    /// Lists the segments again and discards what was read.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.segments = list_segments(&*self.disk, self.segment_bytes)?;
        self.open = None;
        self.len = 0;
        Ok(())
    }

    /// Returns up to `want` bytes from `at` on; fewer if the log has fewer contiguous bytes.
    pub(super) fn bytes(&mut self, at: u64, want: usize) -> Result<&[u8]> {
        if !self.holds(at, want) {
            self.load(at - at % IO_ALIGNMENT as u64, self.buf.len())?;
        }
        Ok(self.slice(at, want))
    }

    /// Loads the bytes around `at` for a reader that moves backwards in small steps.
    pub(super) fn load_around(&mut self, at: u64, want: usize) -> Result<()> {
        if self.holds(at, want) {
            return Ok(());
        }
        // The record of any size that begins at `at` ends in the window, and most of the window is
        // before it, where the next read will be.
        let before = (WINDOW_BYTES_RANDOM - RECORD_LEN_MAX - IO_ALIGNMENT) as u64;
        // Not before the segment's start: the segment before it may be freed at any time.
        let start = at.saturating_sub(before).max(at - at % self.segment_bytes);
        self.load(start - start % IO_ALIGNMENT as u64, WINDOW_BYTES_RANDOM)
    }

    fn holds(&self, at: u64, want: usize) -> bool {
        at >= self.start && at + want as u64 <= self.start + self.len as u64
    }

    fn slice(&self, at: u64, want: usize) -> &[u8] {
        let from = ((at - self.start) as usize).min(self.len);
        &self.buf[from..(from + want).min(self.len)]
    }

    fn has(&self, index: u64) -> bool {
        self.segments.binary_search(&index).is_ok()
    }

    /// Reads `bytes` bytes from `start`, a multiple of the I/O alignment.
    fn load(&mut self, start: u64, bytes: usize) -> Result<()> {
        self.start = start;
        self.len = 0;
        while self.len < bytes {
            let at = start + self.len as u64;
            let index = at / self.segment_bytes;
            if !self.has(index) {
                break;
            }
            let offset = at % self.segment_bytes;
            let len = (bytes - self.len).min((self.segment_bytes - offset) as usize);
            let file = self.file(index)?;
            let got = file.read_at(&mut self.buf[self.len..self.len + len], offset)?;
            self.len += got;
            if got < len {
                break;
            }
        }
        Ok(())
    }

    /// Returns the log's identity.
    pub(super) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Returns the end of the segment that holds `at`.
    pub(super) fn segment_end(&self, at: u64) -> u64 {
        at - at % self.segment_bytes + self.segment_bytes
    }

    /// The file that holds `at`, for messages.
    pub(super) fn path_at(&mut self, at: u64) -> Result<PathBuf> {
        Ok(self.file(at / self.segment_bytes)?.path())
    }

    fn file(&mut self, index: u64) -> Result<Arc<dyn File>> {
        if let Some((open, file)) = &self.open
            && *open == index
        {
            return Ok(file.clone());
        }
        let name = segment_name(index * self.segment_bytes);
        let file = self.disk.open(&name, OpenMode::Existing)?;
        check_len(&*file, &self.lineage, self.segment_bytes)?;
        self.open = Some((index, file.clone()));
        Ok(file)
    }

    /// Returns true if the segment with this LSN exists.
    pub(super) fn covers(&self, at: u64) -> bool {
        self.has(at / self.segment_bytes)
    }

    /// The next LSN, `at` or later, that a segment holds.
    pub(super) fn next_covered(&self, at: u64) -> Option<u64> {
        let index = at / self.segment_bytes;
        let next = self.segments[self.segments.partition_point(|&i| i < index)..].first()?;
        Some(at.max(next * self.segment_bytes))
    }
}
