//! The bytes of one file at one instant, shared between copies until one of them changes.
//!
//! Invariants:
//! - SIM-IMAGE-1. A missing chunk stands for zeros, so allocating space takes no memory.
//! - SIM-IMAGE-2. Bytes at or past `len` are zeros, except while a crash image is computed.
//! - SIM-IMAGE-3. A copy shares every chunk with its original; a writer copies the chunk that it
//!   changes.

use std::{ops::Range, sync::Arc};

/// Half a page of the engine: small enough to copy for one sector, large enough for short tables.
const CHUNK_BYTES: usize = 4096;

type Chunk = [u8; CHUNK_BYTES];

#[derive(Clone, Default)]
pub(super) struct Image {
    pub(super) len: u64,
    chunks: Arc<Vec<Option<Arc<Chunk>>>>,
}

/// The pieces of a byte range: the index of the chunk, the range within the chunk, and the range
/// within the byte range.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = offset + done as u64;
        let (index, start) = ((at / CHUNK_BYTES as u64) as usize, at as usize % CHUNK_BYTES);
        let count = (CHUNK_BYTES - start).min(len - done);
        let piece = (index, start..start + count, done..done + count);
        done += count;
        Some(piece)
    })
}

/// Returns true if all bytes are zeros. The comparison of the slice with itself, shifted by one
/// byte, is fast because it is a `memcmp`.
pub(super) fn is_zeros(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|&first| first == 0 && bytes[1..] == bytes[..bytes.len() - 1])
}

impl Image {
    fn chunk(&self, index: usize) -> Option<&Chunk> {
        self.chunks.get(index)?.as_deref()
    }

    /// The chunks that are not all zeros (SIM-IMAGE-1), by number.
    pub(super) fn stored(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let chunks = self.chunks.iter().enumerate();
        chunks.filter_map(|(index, chunk)| {
            let bytes = chunk.as_deref()?.as_slice();
            (!is_zeros(bytes)).then_some((index, bytes))
        })
    }

    /// Returns a chunk for modification, and creates it if it is missing.
    fn chunk_mut(&mut self, index: usize) -> &mut Chunk {
        let chunks = Arc::make_mut(&mut self.chunks);
        if index >= chunks.len() {
            chunks.resize(index + 1, None);
        }
        Arc::make_mut(chunks[index].get_or_insert_with(|| Arc::new([0; CHUNK_BYTES])))
    }

    /// Fills `buf` from `offset` on, with zeros past the end.
    pub(super) fn copy_to(&self, buf: &mut [u8], offset: u64) {
        for (index, within, part) in pieces(offset, buf.len()) {
            match self.chunk(index) {
                Some(chunk) => buf[part].copy_from_slice(&chunk[within]),
                None => buf[part].fill(0),
            }
        }
    }

    /// Sets bytes. The caller maintains the length.
    pub(super) fn put(&mut self, bytes: &[u8], offset: u64) {
        for (index, within, part) in pieces(offset, bytes.len()) {
            if self.chunk(index).is_some() || !is_zeros(&bytes[part.clone()]) {
                self.chunk_mut(index)[within].copy_from_slice(&bytes[part]);
            }
        }
    }

    /// Sets `len` bytes to zeros. The caller maintains the length of the file.
    pub(super) fn put_zeros(&mut self, len: usize, offset: u64) {
        for (index, within, _) in pieces(offset, len) {
            if index >= self.chunks.len() {
                return; // SIM-IMAGE-1
            }
            if self.chunk(index).is_some() {
                self.chunk_mut(index)[within].fill(0);
            }
        }
    }

    /// Copies a range of `from`.
    pub(super) fn put_from(&mut self, from: &Image, range: Range<u64>) {
        // SIM-IMAGE-1.
        let stored = self.chunks.len().max(from.chunks.len()) as u64 * CHUNK_BYTES as u64;
        let (offset, end) = (range.start, range.end.min(stored));
        let len = end.saturating_sub(offset) as usize;
        for (index, within, _) in pieces(offset, len) {
            match from.chunk(index) {
                Some(chunk) => {
                    self.chunk_mut(index)[within.clone()].copy_from_slice(&chunk[within]);
                }
                None if self.chunk(index).is_some() => self.chunk_mut(index)[within].fill(0),
                None => (),
            }
        }
    }

    /// Cuts the file to at most `len` bytes, and removes all stored bytes past `len`, even those
    /// that were past the end before.
    pub(super) fn cut(&mut self, len: u64) {
        self.len = self.len.min(len);
        let (whole, rest) = ((len / CHUNK_BYTES as u64) as usize, len as usize % CHUNK_BYTES);
        if self.chunks.len() > whole {
            let kept = whole + usize::from(rest > 0);
            Arc::make_mut(&mut self.chunks).truncate(kept);
            if rest > 0 && self.chunk(whole).is_some_and(|chunk| !is_zeros(&chunk[rest..])) {
                self.chunk_mut(whole)[rest..].fill(0);
            }
        }
    }

    pub(super) fn grow(&mut self, len: u64) {
        self.len = self.len.max(len);
    }
}
