//! Every length of record at every place of the smallest ring there is: by each strategy, and by
//! each way to form a group without other threads.
//!
//! The flusher is the test itself. It seals nothing, so that records stand at every multiple of 8
//! and not only behind sector boundaries, and publishes as durable what it has read back.

use super::*;
use crate::{
    insertion::{
        consolidated::ConsolidatedInsertion, delegated::DelegatedInsertion, hybrid::HybridInsertion,
    },
    record::{RECORD_ALIGN, SEAL_BYTES_MAX},
};

/// The longest record of this ring.
const LONGEST: usize = RING / 2;
const PLACES: usize = RING / RECORD_ALIGN;
const SIZES: Consolidation = Consolidation { places: 2, slots: 4 };

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
type Pair<'a> = &'a dyn Fn(&Draft<'_>, &Draft<'_>) -> Option<[LsnSpan; 2]>;

/// Checks a record that was filled and released, and returns its transaction.
fn check(ring: &Ring, span: LsnSpan, bodies: &Bodies) -> u64 {
    // SAFETY: R4. The callers have awaited the release, and publish durability afterwards.
    let bytes = unsafe { ring.released(span) };
    let head = bytes[..HEADER_BYTES].try_into().unwrap();
    let (header, crc) = Header::decode(head).expect("a record stands here");
    let (len, txn) = (header.len as usize, header.txn.0);
    assert_eq!(header.span_bytes() as usize, bytes.len(), "at {}", span.start);
    let body = &bytes[HEADER_BYTES..len];
    assert!(header.verify(span.start, body, crc, 0), "checksum at {}", span.start);
    assert!(body == bodies.of(txn, len), "{len} bytes at {}", span.start);
    assert!(bytes[len..].iter().all(|&byte| byte == 0), "padding at {}", span.start);
    txn
}

/// Inserts, for each span, at each place a record of that span behind a short one. The lengths
/// within a span alternate, so each of them meets every eighth place.
fn at_every_place(ring: &Ring, insertion: &dyn Insertion, pair: Pair<'_>) {
    let bodies = Bodies::new();
    let mut txn = 0;
    for span in (HEADER_BYTES..=LONGEST).step_by(RECORD_ALIGN) {
        // An odd number of eight bytes from pair to pair, so that all places occur.
        let first = if (span / RECORD_ALIGN).is_multiple_of(2) { 40 } else { 32 };
        let mut met = [false; PLACES];
        for turn in 0..PLACES {
            let missing = if span == HEADER_BYTES { 0 } else { (span + turn) % RECORD_ALIGN };
            let (left, right) = (bodies.of(txn, first), bodies.of(txn + 1, span - missing));
            let spans = with_draft(txn, &[left], &|short| {
                let (head, tail) = right.split_at(right.len() / 3);
                with_draft(txn + 1, &[head, tail], &|long| pair(short, long))
            });
            let [short, long] = spans.expect("what was before is durable");
            assert_eq!((short.end, long.end), (long.start, insertion.end()));
            assert_eq!((long.end.0 - long.start.0) as usize, span);
            insertion.await_released(LsnSpan { start: short.start, end: long.end });
            assert_eq!([check(ring, short, &bodies), check(ring, long, &bodies)], [txn, txn + 1]);
            met[long.start.0 as usize % RING / RECORD_ALIGN] = true;
            ring.set_durable(long.end);
            txn += 2;
        }
        assert!(met.iter().all(|met| *met), "all places, {span} bytes");
    }
}

fn with_draft<T>(txn: u64, body: &[&[u8]], then: &dyn Fn(&Draft<'_>) -> T) -> T {
    let record = Record { kind: 1, txn: TxnId(txn), prev: Lsn(txn), body };
    then(&Draft::new(&record, EPOCH, LONGEST).expect("it is not too long"))
}

fn ring() -> (Arc<Ring>, Cursor) {
    let (ring, cursor) = Ring::new(RING, Lsn::ZERO).unwrap();
    (Arc::new(ring), cursor)
}

#[test]
fn every_strategy_stores_every_length_at_every_place() {
    for kind in Strategy::ALL {
        let (ring, insertion) = new(kind, RING, 0);
        at_every_place(&ring, &*insertion, &|short, long| {
            Some([insertion.insert(short)?, insertion.insert(long)?])
        });
    }
}

#[test]
fn groups_under_a_mutex_store_every_length_at_every_place() {
    let (ring, cursor) = ring();
    let insertion = ConsolidatedInsertion::new(ring.clone(), cursor, SIZES);
    at_every_place(&ring, &insertion, &|short, long| insertion.insert_in_groups([short, long]));
}

#[test]
fn groups_under_a_latch_store_every_length_at_every_place() {
    let (ring, cursor) = ring();
    let insertion = HybridInsertion::new(ring.clone(), cursor, SIZES);
    at_every_place(&ring, &insertion, &|short, long| insertion.insert_in_groups([short, long]));
}

#[test]
fn groups_with_delegated_release_store_every_length_at_every_place() {
    let (ring, cursor) = ring();
    let insertion = DelegatedInsertion::new(ring.clone(), cursor, SIZES);
    at_every_place(&ring, &insertion, &|short, long| insertion.insert_in_groups([short, long]));
}

/// The fill limit of a ring (R2), for records of every span and several durable positions: a record
/// that fits is accepted, one that is a unit too long is not, and the seal fits after it.
#[test]
fn a_ring_takes_exactly_what_fits() {
    let bodies = Bodies::new();
    for kind in Strategy::ALL {
        for (durable, span) in (0..4096 + 512).step_by(512).flat_map(|durable| {
            (HEADER_BYTES..=LONGEST).step_by(RECORD_ALIGN).map(move |span| (durable, span))
        }) {
            let (ring, insertion) = new(kind, RING, durable);
            let insert =
                |txn| with_draft(txn, &[bodies.of(txn, span)], &|draft| insertion.insert(draft));
            let taken: Vec<LsnSpan> = (0..RING as u64).map_while(insert).collect();
            let end = taken.last().expect("an empty ring takes any record").end.0 - durable;
            let limit = RING as u64 - SEAL_BYTES_MAX;
            assert!(end <= limit && end + span as u64 > limit, "{kind:?}, {span}: {end}");
            let group = seal(&*insertion, Lsn(durable), Lsn(durable)).expect("it is not empty");
            assert!(group.end.0 - durable <= RING as u64, "{kind:?}, {span}: no room to seal");
            insertion.await_released(group);
            taken.iter().enumerate().for_each(|(txn, span)| {
                assert_eq!(check(&ring, *span, &bodies), txn as u64);
            });
        }
    }
}
