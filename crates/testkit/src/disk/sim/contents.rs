//! The bytes of one file: those that reads see, those that are durable, and the unsynced changes
//! between the two.
//!
//! Invariants:
//! - SIM-CONTENTS-1. The live bytes are the durable ones with all unsynced changes applied in
//!   order, until a failed sync drops unsynced writes or a write is lost.
//! - SIM-CONTENTS-2. No unsynced change may undo what is durable: a durable write removes its range
//!   from every earlier unsynced write, and makes every earlier unsynced cut below its end durable.
//! - SIM-CONTENTS-3. After a data sync no write is unsynced, nor is a cut before the last write.
//!   Growth without bytes in it stays unsynced until `sync_all`, because it is not needed to read
//!   the written bytes.
//! - SIM-CONTENTS-4. Where a sector was overwritten, `old` holds what it held before.

use std::{ops::Range, sync::Arc};

use clearway_base::SECTOR_SIZE;

use super::image::{Image, is_zeros};

#[derive(Clone, Default)]
pub(super) struct Contents {
    pub(super) live: Image,
    pub(super) durable: Image,
    pub(super) old: Image,
    pub(super) unsynced: Vec<Unsynced>,
    pub(super) handles: usize,
}

/// A change that a crash may lose.
#[derive(Clone)]
pub(super) struct Unsynced {
    pub(super) sequence: u64,
    pub(super) change: Change,
}

#[derive(Clone)]
pub(super) enum Change {
    Write(UnsyncedWrite),
    /// The file is at least this long.
    Grow(u64),
    /// The file was cut to this length.
    Cut(u64),
}

#[derive(Clone)]
pub(super) struct UnsyncedWrite {
    pub(super) offset: u64,
    pub(super) len: usize,
    /// True if the write reached past the end of the file at the time.
    pub(super) grows: bool,
    /// The bytes from `start` on; `None` if all of them are zeros.
    bytes: Option<Arc<[u8]>>,
    start: usize,
}

impl UnsyncedWrite {
    fn new(bytes: &[u8], offset: u64, grows: bool) -> UnsyncedWrite {
        let stored = (!is_zeros(bytes)).then(|| Arc::from(bytes));
        UnsyncedWrite { offset, len: bytes.len(), grows, bytes: stored, start: 0 }
    }

    pub(super) fn end(&self) -> u64 {
        self.offset + self.len as u64
    }

    /// Puts the part of this write that lies in `range` into `image`.
    pub(super) fn put(&self, image: &mut Image, range: Range<u64>) {
        let Some(part) = self.part(range) else { return };
        match &part.bytes {
            Some(bytes) => {
                image.put(&bytes[part.start..part.start + part.len], part.offset);
            }
            None => image.put_zeros(part.len, part.offset),
        }
    }

    /// The part of this write that lies in `range`.
    fn part(&self, range: Range<u64>) -> Option<UnsyncedWrite> {
        let (from, to) = (range.start.max(self.offset), range.end.min(self.end()));
        (from < to).then(|| UnsyncedWrite {
            offset: from,
            len: (to - from) as usize,
            start: self.start + (from - self.offset) as usize,
            ..self.clone()
        })
    }
}

/// The sectors that a range of bytes touches, as ranges of bytes.
pub(super) fn sectors(offset: u64, end: u64) -> impl Iterator<Item = Range<u64>> {
    let size = SECTOR_SIZE as u64;
    (offset / size..end.div_ceil(size)).map(move |sector| sector * size..(sector + 1) * size)
}

impl Contents {
    /// The contents of a file after a crash, all of them durable.
    pub(super) fn after_crash(image: Image, old: Image) -> Contents {
        Contents { live: image.clone(), durable: image, old, ..Contents::default() }
    }

    /// Changes the live bytes and records the write as unsynced.
    pub(super) fn write(&mut self, bytes: &[u8], offset: u64, sequence: u64) {
        let end = offset + bytes.len() as u64;
        let change = Change::Write(UnsyncedWrite::new(bytes, offset, end > self.live.len));
        self.write_live(bytes, offset);
        self.unsynced.push(Unsynced { sequence, change });
    }

    fn write_live(&mut self, bytes: &[u8], offset: u64) {
        let end = offset + bytes.len() as u64;
        let size = SECTOR_SIZE as u64;
        let (first, last) = (offset / size * size, end.div_ceil(size) * size);
        self.old.put_from(&self.live, first..last); // SIM-CONTENTS-4
        self.live.put(bytes, offset);
        self.live.grow(end);
    }

    /// Changes live and durable bytes.
    pub(super) fn write_durable(&mut self, bytes: &[u8], offset: u64) {
        let end = offset + bytes.len() as u64;
        self.write_live(bytes, offset);
        while let Some(at) = self.unsynced.iter().rposition(|one| one.cuts_below(end)) {
            self.commit_cut(at);
        }
        self.forget(offset..end, self.unsynced.len());
        self.durable.put(bytes, offset);
        self.durable.grow(end);
    }

    pub(super) fn grow(&mut self, len: u64, sequence: u64) {
        self.live.grow(len);
        self.unsynced.push(Unsynced { sequence, change: Change::Grow(len) });
    }

    pub(super) fn cut(&mut self, len: u64, sequence: u64) {
        self.old.put_from(&self.live, len..self.live.len); // SIM-CONTENTS-4
        self.live.cut(len);
        self.unsynced.push(Unsynced { sequence, change: Change::Cut(len) });
    }

    /// Makes the first `limit` unsynced changes durable. Changes of the length become durable only
    /// as far as they are needed to read the bytes (SIM-CONTENTS-3), unless `all` is set.
    pub(super) fn sync(&mut self, all: bool, limit: usize) {
        let unsynced = std::mem::take(&mut self.unsynced);
        let writes = unsynced.iter().take(limit).rposition(|one| one.is_write());
        for (index, one) in unsynced.into_iter().enumerate() {
            let needed = all || writes.is_some_and(|last| index <= last);
            match &one.change {
                _ if index >= limit => self.unsynced.push(one),
                Change::Write(write) => {
                    write.put(&mut self.durable, 0..u64::MAX);
                    self.durable.grow(write.end());
                }
                Change::Cut(len) if needed => {
                    self.durable.cut(*len);
                    self.bound_growth(*len, self.unsynced.len());
                }
                Change::Grow(len) if all => self.durable.grow(*len),
                _ => self.unsynced.push(one),
            }
        }
    }

    /// Makes every unsynced change of the length durable, and no bytes, as the commit of a journal
    /// does.
    pub(super) fn commit_lengths(&mut self) {
        while let Some(at) = self.unsynced.iter().position(|one| !one.is_write()) {
            match self.unsynced[at].change {
                Change::Grow(len) => {
                    self.durable.grow(len);
                    self.unsynced.remove(at);
                }
                _ => self.commit_cut(at),
            }
        }
    }

    /// Makes one unsynced cut durable, before the changes that came earlier: they can no longer
    /// reach past it.
    fn commit_cut(&mut self, at: usize) {
        let Change::Cut(len) = self.unsynced[at].change else { return };
        self.durable.cut(len);
        self.bound_growth(len, at);
        self.unsynced.remove(at);
        self.forget(len..u64::MAX, at);
    }

    /// Limits the growth in the first `count` unsynced changes to `len`.
    fn bound_growth(&mut self, len: u64, count: usize) {
        for one in &mut self.unsynced[..count] {
            if let Change::Grow(grown) = &mut one.change {
                *grown = len.min(*grown);
            }
        }
    }

    /// Removes a range from the writes among the first `count` unsynced changes (SIM-CONTENTS-2).
    fn forget(&mut self, range: Range<u64>, count: usize) {
        let overlaps = |one: &Unsynced| match &one.change {
            Change::Write(write) => write.offset < range.end && range.start < write.end(),
            _ => false,
        };
        if !self.unsynced[..count].iter().any(overlaps) {
            return;
        }
        let mut kept = Vec::with_capacity(self.unsynced.len() + 1);
        for (index, one) in std::mem::take(&mut self.unsynced).into_iter().enumerate() {
            match &one.change {
                Change::Write(write) if index < count && overlaps(&one) => {
                    let parts = [write.part(0..range.start), write.part(range.end..u64::MAX)];
                    kept.extend(parts.into_iter().flatten().map(|part| Unsynced {
                        sequence: one.sequence,
                        change: Change::Write(part),
                    }));
                }
                _ => kept.push(one),
            }
        }
        self.unsynced = kept;
    }

    /// Drops the unsynced writes, as a kernel does after a failed write-back. Reads still see them.
    pub(super) fn drop_writes(&mut self) {
        self.unsynced.retain(|one| !one.is_write());
    }

    /// Returns true if there is an unsynced change of the length, which a journal would hold.
    pub(super) fn has_unsynced_length(&self) -> bool {
        self.unsynced.iter().any(|one| !one.is_write())
    }
}

impl Unsynced {
    pub(super) fn is_write(&self) -> bool {
        matches!(self.change, Change::Write(_))
    }

    fn cuts_below(&self, end: u64) -> bool {
        matches!(self.change, Change::Cut(len) if len < end)
    }
}
