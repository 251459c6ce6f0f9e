//! Reading the log back: forwards for recovery, at one LSN for undo.
//!
//! Invariants:
//! - READER-1. `next` returns records in LSN order without a hole, each with a good checksum, and
//!   never one that a later opening of the database has cut off.
//! - READER-2. The epoch rises only at an epoch's first record, which stands at a sector boundary
//!   and states that its predecessor ended exactly at the current position. A record of a lower
//!   epoch was left behind by an earlier crash, and ends the log like any bad record.
//! - READER-3. A bad record marks the tail, unless there is proof that the record was durable
//!   (`tail.rs`) or its segment is missing; then it is [`Error::Corrupt`].
//! - READER-4. A record of an epoch that the lineage does not know is bad. At the tail it also
//!   shows that an opening unknown to the superblock began an epoch there, and then the log is
//!   foreign (`identity`).
//!
//! ```text
//!   good record ──▶ return it                         own kind ──▶ skip it
//!   bad at P ─┬─ next sector begins a later epoch that continues at P ──▶ go on there
//!             ├─ proof that P was durable ──▶ Corrupt
//!             └─ else ──▶ tail = P
//! ```

mod tail;
mod trace;
mod window;

use std::sync::Arc;

use clearway_base::{Epoch, Error, Lsn, LsnSpan, Result, SECTOR_SIZE};
use clearway_disk::Disk;

use crate::{
    identity::Lineage,
    options::check_segment_bytes,
    record::{HEADER_BYTES, Header, KIND_EPOCH_START, KIND_RESERVED, RECORD_ALIGN, RecordView},
};
pub use trace::{Traced, trace};
use window::Window;

/// A reader of a log that is not being written, or of the durable part of one that is.
pub struct LogReader {
    window: Window,
    at: Lsn,
    /// The epoch of the last record; `None` before the first.
    epoch: Option<Epoch>,
    is_at_tail: bool,
}

/// The contents at a position.
enum Found {
    Record(Header),
    Nothing,
}

impl LogReader {
    /// Opens a reader of a log that belongs to no database: see [`Log::start`](crate::Log::start).
    pub fn open(disk: Arc<dyn Disk>, segment_bytes: u64, from: Lsn) -> Result<LogReader> {
        LogReader::open_as(disk, segment_bytes, Arc::new(Lineage::of_no_database()), from)
    }

    /// Opens a reader of the log of this lineage at `from`, where a record begins (or would begin:
    /// 0 in an empty log).
    pub fn open_as(
        disk: Arc<dyn Disk>,
        segment_bytes: u64,
        lineage: Arc<Lineage>,
        from: Lsn,
    ) -> Result<LogReader> {
        check_segment_bytes(segment_bytes)?;
        let window = Window::new(disk, segment_bytes, lineage)?;
        Ok(LogReader { window, at: from, epoch: None, is_at_tail: false })
    }

    /// Continues at `lsn`, where a record begins.
    pub fn seek(&mut self, lsn: Lsn) {
        self.at = lsn;
        self.epoch = None;
        self.is_at_tail = false;
    }

    /// Returns the next record of a caller's kind; `None` at the tail.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] for damage before the tail, [`Error::ForeignLog`] for a log that
    /// continues in an epoch outside its lineage.
    #[allow(clippy::should_implement_trait)] // Lends from the reader, which `Iterator` cannot.
    pub fn next(&mut self) -> Result<Option<RecordView<'_>>> {
        let found = loop {
            if self.is_at_tail {
                return Ok(None);
            }
            let start = self.at;
            match self.accept(start)? {
                Some(header) => {
                    self.epoch = Some(header.epoch);
                    self.at = Lsn(start.0 + header.span_bytes());
                    if header.kind < KIND_RESERVED {
                        break (start, header);
                    }
                }
                None => self.pass_bad_record()?,
            }
        };
        let (start, header) = found;
        Ok(Some(view(&mut self.window, start, header)?))
    }

    /// Returns the header of the record at `lsn` if it is good and belongs here (READER-2).
    fn accept(&mut self, lsn: Lsn) -> Result<Option<Header>> {
        let Found::Record(header) = examine(&mut self.window, lsn)? else { return Ok(None) };
        match self.epoch {
            Some(epoch) if header.epoch < epoch => Ok(None),
            Some(epoch) if header.epoch > epoch => {
                self.check_continues(lsn, &header)?;
                Ok(Some(header))
            }
            _ => Ok(Some(header)),
        }
    }

    /// Checks a record of a later epoch, which is good only if it begins that epoch at the current
    /// position.
    fn check_continues(&self, lsn: Lsn, header: &Header) -> Result<()> {
        let is_start = header.kind == KIND_EPOCH_START && lsn.0.is_multiple_of(SECTOR_SIZE as u64);
        if is_start && header.prev == self.at {
            return Ok(());
        }
        let Epoch(epoch) = header.epoch;
        Err(Error::corrupt(
            "log",
            format!("at {lsn} epoch {epoch} goes on, but reading has only come to {}", self.at),
        ))
    }

    /// Handles a bad record at the current position: continues in the next epoch, or stops
    /// (READER-3).
    fn pass_bad_record(&mut self) -> Result<()> {
        let bad = self.at;
        let boundary = Lsn(bad.0.next_multiple_of(SECTOR_SIZE as u64));
        if boundary != bad
            && let Found::Record(header) = examine(&mut self.window, boundary)?
            && header.kind == KIND_EPOCH_START
            && self.epoch.is_some_and(|epoch| header.epoch > epoch)
        {
            self.check_continues(boundary, &header)?;
            self.at = boundary;
            self.epoch = Some(header.epoch);
            return Ok(());
        }
        trace::check_stranger(&mut self.window, bad, self.epoch)?;
        self.check_tail(bad)?;
        self.is_at_tail = true;
        Ok(())
    }

    fn check_tail(&mut self, bad: Lsn) -> Result<()> {
        let epoch = self.epoch.unwrap_or(Epoch(0));
        if let Some(proof) = tail::proof_beyond(&mut self.window, bad, epoch)? {
            return Err(Error::corrupt(
                "log record",
                format!("the record at {bad} is bad, and {proof} shows that it was durable"),
            ));
        }
        if self.epoch.is_none() && bad.0 > 0 && !self.window.covers(bad.0) {
            let detail = format!("there is no segment that holds {bad}");
            return Err(Error::corrupt("log", detail));
        }
        Ok(())
    }

    /// Returns the end of the log once [`next`](LogReader::next) has returned `None`; before that,
    /// the current position. [`Log::start`](crate::Log::start) accepts it unchanged.
    pub fn tail(&self) -> Lsn {
        self.at
    }

    /// The epoch of the last record; `None` before the first.
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Returns the record at `lsn`, for undo. Does not change the position of
    /// [`next`](LogReader::next).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if no good record of a caller's kind begins there.
    pub fn read_at(&mut self, lsn: Lsn) -> Result<RecordView<'_>> {
        let found = match self.find(lsn) {
            Ok(Some(header)) => Some(header),
            // The window, or the list of segments, may be older than the record, or than the last
            // truncation.
            Ok(None) | Err(_) => {
                self.window.refresh()?;
                self.find(lsn)?
            }
        };
        match found {
            Some(header) => view(&mut self.window, lsn, header),
            None => Err(Error::corrupt("log record", format!("there is no record at {lsn}"))),
        }
    }

    fn find(&mut self, lsn: Lsn) -> Result<Option<Header>> {
        self.window.load_around(lsn.0, HEADER_BYTES)?;
        Ok(match examine(&mut self.window, lsn)? {
            Found::Record(header) if header.kind < KIND_RESERVED => Some(header),
            _ => None,
        })
    }
}

/// Examines the record at `lsn`, which is good if its checksum is, in any epoch of the lineage.
fn examine(window: &mut Window, lsn: Lsn) -> Result<Found> {
    if !lsn.0.is_multiple_of(RECORD_ALIGN as u64) {
        return Ok(Found::Nothing);
    }
    let Ok(head) = <&[u8; HEADER_BYTES]>::try_from(window.bytes(lsn.0, HEADER_BYTES)?) else {
        return Ok(Found::Nothing);
    };
    let Some((header, crc)) = Header::decode(head) else { return Ok(Found::Nothing) };
    let Some(seed) = window.lineage().seed_of(header.epoch) else { return Ok(Found::Nothing) };
    let bytes = window.bytes(lsn.0, header.len as usize)?;
    let is_whole = bytes.len() == header.len as usize;
    let is_good = is_whole && header.verify(lsn, &bytes[HEADER_BYTES..], crc, seed);
    Ok(if is_good { Found::Record(header) } else { Found::Nothing })
}

/// The view of a record that was examined.
fn view(window: &mut Window, start: Lsn, header: Header) -> Result<RecordView<'_>> {
    let bytes = window.bytes(start.0, header.len as usize)?;
    Ok(RecordView {
        span: LsnSpan { start, end: Lsn(start.0 + header.span_bytes()) },
        kind: header.kind,
        txn: header.txn,
        prev: header.prev,
        body: &bytes[HEADER_BYTES..],
        epoch: header.epoch,
    })
}
