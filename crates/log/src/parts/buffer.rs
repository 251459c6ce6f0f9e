//! A log buffer without files and threads, for tests of insertions: the test takes the place of
//! the flusher, and reads what was inserted.

use std::sync::Arc;

use clearway_base::{Epoch, Lsn, LsnSpan, Result};

use super::{Draft, Insertion, Ring, TrailerFields};
use crate::record::{HEADER_BYTES, Header, Record, RecordView, Stamp};

/// The stamp of all records.
const STAMP: Stamp = Stamp::unsalted(Epoch(9));

/// A ring and its insertion.
pub struct Buffer<I: Insertion + ?Sized = dyn Insertion> {
    ring: Arc<Ring>,
    insertion: Arc<I>,
}

impl<I: Insertion + ?Sized> Buffer<I> {
    /// Creates an empty ring of `bytes`, a power of two of at least 4096, which begins at `start`,
    /// and its insertion.
    pub fn new(
        bytes: usize,
        start: Lsn,
        insertion: impl FnOnce(Arc<Ring>) -> Arc<I>,
    ) -> Result<Buffer<I>> {
        let ring = Arc::new(Ring::new(bytes, start)?);
        Ok(Buffer { insertion: insertion(ring.clone()), ring })
    }

    /// Returns the insertion.
    pub fn insertion(&self) -> &I {
        &self.insertion
    }

    /// Returns the durable LSN.
    pub fn durable(&self) -> Lsn {
        self.ring.durable()
    }

    /// Returns a record ready to be inserted. Panics if it is longer than half the ring.
    pub fn draft<'a>(&self, record: &Record<'a>) -> Draft<'a> {
        let len_max = self.ring.bytes() as usize / 2;
        Draft::new(record, STAMP, len_max).expect("a record of at most half the ring")
    }

    /// Inserts a record. Returns `None` if there is no room.
    pub fn insert(&self, record: &Record<'_>) -> Option<LsnSpan> {
        self.insertion.insert(&self.draft(record))
    }

    /// Ends the group that began at `start` with a trailer, and returns its position, trailer
    /// included. Returns `None` if the group is empty.
    pub fn end_group(&self, start: Lsn) -> Option<LsnSpan> {
        let durable = self.ring.durable();
        let fields = TrailerFields { stamp: STAMP, durable, flags: 0, even_empty: false };
        let trailer = self.insertion.end_group(start, fields)?;
        Some(LsnSpan { start, end: trailer.span.end })
    }

    /// Waits until the records in `group` are filled, passes them to `each` in their order,
    /// trailers included, and makes them durable.
    ///
    /// `group` begins at the durable LSN and ends where a record ends. The calling thread has
    /// inserted its records or ended it. One thread flushes at a time.
    ///
    /// Panics if there is anything other than whole records.
    pub fn flush(&self, group: LsnSpan, mut each: impl FnMut(RecordView<'_>)) {
        assert_eq!(group.start, self.durable(), "groups are flushed in their order");
        self.insertion.await_released(group);
        // SAFETY: RING-4. `await_released` has returned; the durable LSN, which only this function
        // raises, passes the group after the last use of the bytes.
        let mut bytes = unsafe { self.ring.released(group) };
        let mut at = group.start;
        while !bytes.is_empty() {
            let record = decode(bytes, at);
            bytes = &bytes[(record.span.end.0 - at.0) as usize..];
            at = record.span.end;
            each(record);
        }
        self.ring.set_durable(group.end);
    }
}

/// Reads the record that `bytes` begin with.
fn decode(bytes: &[u8], lsn: Lsn) -> RecordView<'_> {
    let head = bytes[..HEADER_BYTES].try_into().expect("it has this length");
    let (header, crc) = Header::decode(head).expect("a record begins where the last ended");
    let (len, span_bytes) = (header.len as usize, header.span_bytes());
    let body = &bytes[HEADER_BYTES..len];
    assert!(header.verify(lsn, body, crc, 0), "checksum at {lsn}");
    assert!(bytes[len..span_bytes as usize].iter().all(|&byte| byte == 0), "padding at {lsn}");
    let Header { kind, txn, prev, epoch, .. } = header;
    RecordView {
        span: LsnSpan { start: lsn, end: Lsn(lsn.0 + span_bytes) },
        kind,
        txn,
        prev,
        body,
        epoch,
    }
}
