//! The same tests for each strategy, on rings so small that everything wraps.

mod every_place;

use std::sync::atomic::{AtomicBool, Ordering};

use clearway_base::{Epoch, SECTOR_SIZE, TxnId};

use super::*;
use crate::record::{HEADER_BYTES, Header, KIND_SEAL, Record};

const EPOCH: Stamp = Stamp::unsalted(Epoch(9));
const RING: usize = 4096;

fn new(kind: Strategy, bytes: usize, start: u64) -> (Arc<Ring>, Arc<dyn Insertion>) {
    let (ring, cursor) = Ring::new(bytes, Lsn(start)).unwrap();
    let ring = Arc::new(ring);
    (ring.clone(), strategy(kind, Consolidation { places: 2, slots: 4 }, ring, cursor))
}

/// Inserts a record that takes `span` bytes in all.
fn insert(insertion: &dyn Insertion, txn: u64, span: usize) -> Option<LsnSpan> {
    let bytes: Vec<u8> = (0..span - HEADER_BYTES).map(|i| (i as u64 * 31 + txn) as u8).collect();
    let (left, right) = bytes.split_at(bytes.len() / 3);
    let record = Record { kind: 1, txn: TxnId(txn), prev: Lsn(txn), body: &[left, right] };
    insertion.insert(&Draft::new(&record, EPOCH, 1 << 15).unwrap())
}

fn seal(insertion: &dyn Insertion, from: Lsn, durable: Lsn) -> Option<LsnSpan> {
    let words = SealWords { stamp: EPOCH, durable, flags: 0, even_empty: false };
    let seal = insertion.seal(from, words)?;
    Some(LsnSpan { start: from, end: seal.span.end })
}

/// Checks the records of a group, seal included, and returns the transactions that wrote them.
fn check_group(ring: &Ring, group: LsnSpan) -> Vec<u64> {
    // SAFETY: R4. The callers have awaited the release of the group and publish its durability
    // after this function.
    let bytes = unsafe { ring.released(group) };
    let mut at = 0;
    let mut txns = Vec::new();
    let mut last = None;
    while at < bytes.len() {
        let lsn = Lsn(group.start.0 + at as u64);
        let head = bytes[at..at + HEADER_BYTES].try_into().unwrap();
        let (header, crc) = Header::decode(head).expect("a record begins where the last ended");
        let body = &bytes[at + HEADER_BYTES..at + header.len as usize];
        assert!(header.verify(lsn, body, crc, 0), "checksum at {lsn}");
        if header.kind != KIND_SEAL {
            let txn = header.txn.0;
            txns.push(txn);
            let expected = |i: usize| (i as u64 * 31 + txn) as u8;
            assert!(body.iter().enumerate().all(|(i, &byte)| byte == expected(i)));
        }
        last = Some(header.kind);
        at += header.span_bytes() as usize;
    }
    assert_eq!(at, bytes.len());
    assert_eq!(last, Some(KIND_SEAL));
    txns
}

#[test]
fn groups_are_stored_whole_wherever_their_records_stand() {
    for kind in Strategy::ALL {
        let (ring, insertion) = new(kind, RING, 0);
        let mut start = Lsn(0);
        let mut txn = 0;
        // Groups end at sectors, so offsets inside a sector are reached by a first record.
        for first in (32..512 + 32).step_by(24) {
            for size in (32..=2048).step_by(40) {
                txn += 2;
                insert(&*insertion, txn, first).expect("an empty ring has room");
                let span = insert(&*insertion, txn + 1, size).expect("and for a second record");
                assert_eq!(span.end.0 - span.start.0, size as u64);
                let group = seal(&*insertion, start, ring.durable()).unwrap();
                insertion.await_released(group);
                assert_eq!(check_group(&ring, group), [txn, txn + 1]);
                ring.set_durable(group.end);
                start = group.end;
            }
        }
    }
}

#[test]
fn a_full_ring_refuses_and_still_takes_the_seal() {
    for kind in Strategy::ALL {
        // All starts within a sector, so that the last record ends anywhere before the limit.
        for size in (32..=512).step_by(8) {
            let (ring, insertion) = new(kind, RING, 512);
            let mut inserted = Vec::new();
            while insert(&*insertion, 5, size).is_some() {
                inserted.push(5);
            }
            assert!(insert(&*insertion, 5, size).is_none(), "still full");
            let group = seal(&*insertion, Lsn(512), Lsn(512)).unwrap();
            assert!(group.end.0 - group.start.0 <= RING as u64, "the group fits the ring");
            insertion.await_released(group);
            assert_eq!(check_group(&ring, group), inserted);
            ring.set_durable(group.end);
            assert!(insert(&*insertion, 6, size).is_some(), "room again");
        }
    }
}

#[test]
fn groups_begin_and_end_at_sectors_and_empty_ones_are_not_sealed() {
    for kind in Strategy::ALL {
        let (ring, insertion) = new(kind, RING, 0);
        assert!(seal(&*insertion, Lsn(0), Lsn(0)).is_none());
        let mut start = Lsn(0);
        for size in (32..=512).step_by(8) {
            insert(&*insertion, 1, size).unwrap();
            let group = seal(&*insertion, start, start).unwrap();
            assert_eq!(group.end.0 % SECTOR_SIZE as u64, 0);
            assert!(seal(&*insertion, group.end, start).is_none());
            insertion.await_released(group);
            ring.set_durable(group.end);
            start = group.end;
        }
    }
}

#[test]
fn the_end_is_where_the_next_record_starts() {
    for kind in Strategy::ALL {
        let (_ring, insertion) = new(kind, RING, 1024);
        for size in [32, 40, 100usize.next_multiple_of(8)] {
            let end = insertion.end();
            assert_eq!(insert(&*insertion, 1, size).unwrap().start, end);
        }
    }
}

/// Signals the end of a thread, also after a panic, so that no thread waits for it any more.
struct RaisedAtEnd<'a>(&'a AtomicBool);

impl Drop for RaisedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn concurrent_inserters_leave_no_hole_and_lose_no_record() {
    const THREADS: u64 = 4;
    const EACH: u64 = 3000;
    for kind in Strategy::ALL {
        let (ring, insertion) = new(kind, 1 << 14, 0);
        let (is_done, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            let inserter = |thread: u64| {
                let (insertion, is_over) = (&insertion, &is_over);
                move || {
                    for i in 0..EACH {
                        let size = (32 + (i * 56 + thread * 8) % 1000).next_multiple_of(8);
                        while insert(&**insertion, thread << 32 | i, size as usize).is_none() {
                            assert!(!is_over.load(Ordering::SeqCst), "there is no flusher");
                            std::thread::yield_now();
                        }
                    }
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|i| scope.spawn(inserter(i))).collect();
            let flusher = scope.spawn(|| {
                let _tell = RaisedAtEnd(&is_over);
                let mut seen = Vec::new();
                let mut start = Lsn(0);
                loop {
                    let was_done = is_done.load(Ordering::SeqCst);
                    match seal(&*insertion, start, ring.durable()) {
                        Some(group) => {
                            insertion.await_released(group);
                            seen.extend(check_group(&ring, group));
                            ring.set_durable(group.end);
                            start = group.end;
                        }
                        None if was_done => return seen,
                        None => std::thread::yield_now(),
                    }
                }
            });
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            is_done.store(true, Ordering::SeqCst);
            seen = flusher.join().unwrap();
            ends.into_iter().for_each(|end| end.unwrap());
        });
        for thread in 0..THREADS {
            let own: Vec<u64> = seen.iter().copied().filter(|txn| txn >> 32 == thread).collect();
            let expected: Vec<u64> = (0..EACH).map(|i| thread << 32 | i).collect();
            assert_eq!(own, expected, "each thread's records, in its own order");
        }
        assert_eq!(seen.len() as u64, THREADS * EACH);
    }
}
