//! Tests of an insertion, on rings so small that everything wraps. The tests of the variants run
//! this file, too.

use std::sync::atomic::{AtomicBool, Ordering};

use clearway_base::{Lsn, LsnSpan, SECTOR_SIZE, TxnId};
use clearway_log::{
    HEADER_BYTES, KIND_RESERVED, Record,
    parts::{Buffer, LogParts},
};

const RING: usize = 4096;

fn new(parts: &dyn LogParts, bytes: usize, start: u64) -> Buffer {
    Buffer::new(bytes, Lsn(start), |ring| parts.insertion(ring)).unwrap()
}

/// Inserts a record that takes `span` bytes in all.
fn insert(buffer: &Buffer, txn: u64, span: usize) -> Option<LsnSpan> {
    let bytes: Vec<u8> = (0..span - HEADER_BYTES).map(|i| (i as u64 * 31 + txn) as u8).collect();
    let (left, right) = bytes.split_at(bytes.len() / 3);
    buffer.insert(&Record { kind: 1, txn: TxnId(txn), prev: Lsn(txn), body: &[left, right] })
}

/// Flushes a group and checks its records, trailer included. Returns the transactions that wrote
/// them.
fn flush(buffer: &Buffer, group: LsnSpan) -> Vec<u64> {
    let mut txns = Vec::new();
    let mut last = None;
    buffer.flush(group, |record| {
        if record.kind < KIND_RESERVED {
            let txn = record.txn.0;
            txns.push(txn);
            let expected = |i: usize| (i as u64 * 31 + txn) as u8;
            assert!(record.body.iter().enumerate().all(|(i, &byte)| byte == expected(i)));
        }
        last = Some(record.kind);
    });
    assert_eq!(last, Some(KIND_RESERVED), "a trailer");
    txns
}

pub(crate) fn groups_are_stored_whole_wherever_their_records_stand(parts: &dyn LogParts) {
    let buffer = new(parts, RING, 0);
    let mut start = Lsn(0);
    let mut txn = 0;
    // Groups end at sectors, so offsets inside a sector are reached by a first record.
    for first in (32..512 + 32).step_by(24) {
        for size in (32..=2048).step_by(40) {
            txn += 2;
            insert(&buffer, txn, first).expect("an empty ring has room");
            let span = insert(&buffer, txn + 1, size).expect("and for a second record");
            assert_eq!(span.end.0 - span.start.0, size as u64);
            let group = buffer.end_group(start).unwrap();
            assert_eq!(flush(&buffer, group), [txn, txn + 1]);
            start = group.end;
        }
    }
}

pub(crate) fn a_full_ring_refuses_and_still_takes_the_trailer(parts: &dyn LogParts) {
    // All starts within a sector, so that the last record ends anywhere before the limit.
    for size in (32..=512).step_by(8) {
        let buffer = new(parts, RING, 512);
        let mut inserted = Vec::new();
        while insert(&buffer, 5, size).is_some() {
            inserted.push(5);
        }
        assert!(insert(&buffer, 5, size).is_none(), "still full");
        let group = buffer.end_group(Lsn(512)).unwrap();
        assert!(group.end.0 - group.start.0 <= RING as u64, "the group fits the ring");
        assert_eq!(flush(&buffer, group), inserted);
        assert!(insert(&buffer, 6, size).is_some(), "room again");
    }
}

pub(crate) fn groups_begin_and_end_at_sectors_and_empty_ones_get_no_trailer(parts: &dyn LogParts) {
    let buffer = new(parts, RING, 0);
    assert!(buffer.end_group(Lsn(0)).is_none());
    let mut start = Lsn(0);
    for size in (32..=512).step_by(8) {
        insert(&buffer, 1, size).unwrap();
        let group = buffer.end_group(start).unwrap();
        assert_eq!(group.end.0 % SECTOR_SIZE as u64, 0);
        assert!(buffer.end_group(group.end).is_none());
        flush(&buffer, group);
        start = group.end;
    }
}

pub(crate) fn the_end_is_where_the_next_record_starts(parts: &dyn LogParts) {
    let buffer = new(parts, RING, 1024);
    for size in [32, 40, 100usize.next_multiple_of(8)] {
        let end = buffer.insertion().end();
        assert_eq!(insert(&buffer, 1, size).unwrap().start, end);
    }
}

/// Signals the end of a thread, also after a panic, so that no thread waits for it any more.
struct RaisedAtEnd<'a>(&'a AtomicBool);

impl Drop for RaisedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn concurrent_inserters_leave_no_hole_and_lose_no_record(parts: &dyn LogParts) {
    const THREADS: u64 = 4;
    const EACH: u64 = 3000;
    let buffer = new(parts, 1 << 14, 0);
    let (is_done, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        let inserter = |thread: u64| {
            let (buffer, is_over) = (&buffer, &is_over);
            move || {
                for i in 0..EACH {
                    let size = (32 + (i * 56 + thread * 8) % 1000).next_multiple_of(8);
                    while insert(buffer, thread << 32 | i, size as usize).is_none() {
                        assert!(!is_over.load(Ordering::SeqCst), "there is no flusher");
                        std::thread::yield_now();
                    }
                }
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|i| scope.spawn(inserter(i))).collect();
        let flusher = scope.spawn(|| {
            let _signal = RaisedAtEnd(&is_over);
            let mut seen = Vec::new();
            let mut start = Lsn(0);
            loop {
                let was_done = is_done.load(Ordering::SeqCst);
                match buffer.end_group(start) {
                    Some(group) => {
                        seen.extend(flush(&buffer, group));
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
