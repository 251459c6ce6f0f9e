//! Every length of record at every place of the smallest ring there is: one record after the other,
//! and in each way to form a group without other threads. The tests of the variants run this file,
//! too.
//!
//! The flusher is the test itself. It ends no group with a trailer, so that records stand at every
//! multiple of 8 and not only behind sector boundaries, and publishes as durable what it has read
//! back.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan, TxnId};
use clearway_log::{
    HEADER_BYTES, KIND_RESERVED, RECORD_ALIGN, Record, RecordView, TRAILER_BYTES_MAX,
    parts::{Buffer, Draft, Insertion, LogParts, Ring},
};

const RING: usize = 4096;
/// The longest record of this ring.
const LONGEST: usize = RING / 2;
const PLACES: usize = RING / RECORD_ALIGN;

/// Bytes of which every record's body is a piece, different for neighbours.
struct Bodies(Vec<u8>);

impl Bodies {
    fn new() -> Bodies {
        Bodies((0..LONGEST + 256).map(|i| ((i * 31) >> 3) as u8 ^ i as u8).collect())
    }

    fn of(&self, txn: u64, len: usize) -> &[u8] {
        &self.0[txn as usize % 251..][..len - HEADER_BYTES]
    }
}

/// A way to insert two records, one directly after the other.
pub(crate) type Pair<I> = fn(&I, [&Draft<'_>; 2]) -> Option<[LsnSpan; 2]>;

/// Checks the body of a record, and returns its transaction.
fn check(record: &RecordView<'_>, bodies: &Bodies) -> u64 {
    let (len, txn) = (HEADER_BYTES + record.body.len(), record.txn.0);
    assert!(record.body == bodies.of(txn, len), "{len} bytes at {}", record.span.start);
    txn
}

/// Inserts, for each span, at each place a record of that span behind a short one. The lengths
/// within a span alternate, so each of them meets every eighth place.
pub(crate) fn at_every_place<I: Insertion + ?Sized>(
    insertion: impl FnOnce(Arc<Ring>) -> Arc<I>,
    pair: Pair<I>,
) {
    let buffer = Buffer::new(RING, Lsn::ZERO, insertion).unwrap();
    let bodies = Bodies::new();
    let mut txn = 0;
    for span in (HEADER_BYTES..=LONGEST).step_by(RECORD_ALIGN) {
        // An odd number of eight bytes from pair to pair, so that all places occur.
        let first = if (span / RECORD_ALIGN).is_multiple_of(2) { 40 } else { 32 };
        let mut met = [false; PLACES];
        for turn in 0..PLACES {
            let missing = if span == HEADER_BYTES { 0 } else { (span + turn) % RECORD_ALIGN };
            let (left, right) = (bodies.of(txn, first), bodies.of(txn + 1, span - missing));
            let (head, tail) = right.split_at(right.len() / 3);
            let (left, right): ([_; 1], [_; 2]) = ([left], [head, tail]);
            let drafts = [record(txn, &left), record(txn + 1, &right)].map(|it| buffer.draft(&it));
            let spans = pair(buffer.insertion(), drafts.each_ref());
            let [short, long] = spans.expect("what was before is durable");
            assert_eq!((short.end, long.end), (long.start, buffer.insertion().end()));
            assert_eq!((long.end.0 - long.start.0) as usize, span);
            let mut found = Vec::new();
            buffer.flush(LsnSpan { start: short.start, end: long.end }, |record| {
                found.push((record.span, check(&record, &bodies)));
            });
            assert_eq!(found, [(short, txn), (long, txn + 1)]);
            met[long.start.0 as usize % RING / RECORD_ALIGN] = true;
            txn += 2;
        }
        assert!(met.iter().all(|met| *met), "all places, {span} bytes");
    }
}

fn record<'a>(txn: u64, body: &'a [&'a [u8]]) -> Record<'a> {
    Record { kind: 1, txn: TxnId(txn), prev: Lsn(txn), body }
}

/// Two records, each by itself.
pub(crate) fn one_after_the_other(parts: &dyn LogParts) {
    at_every_place(
        |ring| parts.insertion(ring),
        |insertion, [short, long]| Some([insertion.insert(short)?, insertion.insert(long)?]),
    );
}

/// The fill limit of a ring (RING-2), for records of every span and several durable positions: a
/// record that fits is accepted, one that is a unit too long is not, and the trailer fits after it.
pub(crate) fn a_ring_takes_exactly_what_fits(parts: &dyn LogParts) {
    let bodies = Bodies::new();
    for (durable, span) in (0..4096 + 512).step_by(512).flat_map(|durable| {
        (HEADER_BYTES..=LONGEST).step_by(RECORD_ALIGN).map(move |span| (durable, span))
    }) {
        let buffer = Buffer::new(RING, Lsn(durable), |ring| parts.insertion(ring)).unwrap();
        let insert = |txn| buffer.insert(&record(txn, &[bodies.of(txn, span)]));
        let taken: Vec<LsnSpan> = (0..RING as u64).map_while(insert).collect();
        let end = taken.last().expect("an empty ring takes any record").end.0 - durable;
        let limit = RING as u64 - TRAILER_BYTES_MAX;
        assert!(end <= limit && end + span as u64 > limit, "{parts:?}, {span}: {end}");
        let group = buffer.end_group(Lsn(durable)).expect("it is not empty");
        assert!(group.end.0 - durable <= RING as u64, "{parts:?}, {span}: no room for the trailer");
        let mut found = Vec::new();
        buffer.flush(group, |record| {
            if record.kind < KIND_RESERVED {
                assert_eq!(check(&record, &bodies), found.len() as u64);
                found.push(record.span);
            }
        });
        assert_eq!(found, taken);
    }
}
