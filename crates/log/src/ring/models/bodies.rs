//! The models of each insertion, which the crate of variants runs, too. Each 32 bytes of the ring
//! have a witness, so loom fails if a flusher reads bytes whose fill it is not ordered after, or an
//! inserter writes bytes whose flush it is not ordered after.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan, TxnId};
use clearway_log::{
    HEADER_BYTES, KIND_RESERVED, Record, TRAILER_BYTES_MAX,
    parts::{Buffer, LogParts},
};
use clearway_sync::{
    atomic::{AtomicU64, Ordering},
    thread,
};

/// The smallest ring that can be mapped.
const RING: usize = 4096;

/// A log without files, which the threads of a model share.
pub(crate) struct Log {
    buffer: Buffer,
}

impl Log {
    pub(crate) fn new(parts: &dyn LogParts) -> Arc<Log> {
        let buffer = Buffer::new(RING, Lsn::ZERO, |ring| parts.insertion(ring)).unwrap();
        Arc::new(Log { buffer })
    }

    /// Inserts a record that takes `bytes` bytes.
    pub(crate) fn insert(&self, txn: u64, bytes: usize) -> Option<LsnSpan> {
        let body = vec![txn as u8; bytes - HEADER_BYTES];
        self.buffer.insert(&Record { kind: 1, txn: TxnId(txn), prev: Lsn::ZERO, body: &[&body] })
    }

    /// Flushes one group as a flusher does, and returns the transactions in it.
    pub(crate) fn flush(&self, from: Lsn) -> Option<(Vec<u64>, Lsn)> {
        let group = self.buffer.end_group(from)?;
        let mut found = Vec::new();
        self.buffer.flush(group, |record| {
            if record.kind < KIND_RESERVED {
                found.push(record.txn.0);
            }
        });
        Some((found, group.end))
    }
}

pub(crate) fn group_holds_only_filled_records(parts: &dyn LogParts) {
    let log = Log::new(parts);
    let inserter = {
        let log = log.clone();
        thread::spawn(move || log.insert(1, 64).expect("room for both").end)
    };
    log.insert(2, 64).expect("room for both");
    let (mut found, at) = log.flush(Lsn::ZERO).expect("one record at the least");
    let end = inserter.join().unwrap();
    assert_eq!(found.contains(&1), end <= log.buffer.durable());
    if let Some((rest, _)) = log.flush(at) {
        found.extend(rest);
    }
    found.sort_unstable();
    assert_eq!(found, [1, 2]);
}

pub(crate) fn room_is_handed_back_after_the_flush(parts: &dyn LogParts) {
    let log = Log::new(parts);
    // 3 × 1,152 of 4,096 − 536: a fourth does not fit before the first group is durable.
    for _ in 0..3 {
        log.insert(9, 1152).unwrap();
    }
    let inserter = {
        let log = log.clone();
        thread::spawn(move || {
            let first = log.insert(5, 1152);
            first.or_else(|| {
                thread::yield_now();
                log.insert(5, 1152)
            })
        })
    };
    let (found, durable) = log.flush(Lsn::ZERO).unwrap();
    assert_eq!(found, [9, 9, 9], "the fourth had no room before");
    if let Some(span) = inserter.join().unwrap() {
        let room = RING as u64 - TRAILER_BYTES_MAX;
        assert!(span.start >= durable && span.end.0 - durable.0 <= room, "RING-2");
    }
}

/// A thread that inserts after a record sees what its inserter did before.
pub(crate) fn an_earlier_record_happens_before_a_later_one(parts: &dyn LogParts) {
    let log = Log::new(parts);
    let flag = Arc::new(AtomicU64::new(0));
    let inserter = {
        let (log, flag) = (log.clone(), flag.clone());
        thread::spawn(move || {
            flag.store(1, Ordering::Relaxed);
            log.insert(1, 64).expect("room for both").start
        })
    };
    let mine = log.insert(2, 64).expect("room for both").start;
    let was_set = flag.load(Ordering::Relaxed) == 1;
    let others = inserter.join().unwrap();
    assert!(others > mine || was_set);
}

pub(crate) fn nothing_comes_behind_a_close(parts: &dyn LogParts) {
    let log = Log::new(parts);
    let inserter = {
        let log = log.clone();
        thread::spawn(move || log.insert(1, 64))
    };
    log.buffer.insertion().close();
    let end = log.buffer.insertion().end();
    let span = inserter.join().unwrap();
    assert!(span.is_none_or(|span| span.end <= end), "RING-5");
    assert_eq!(log.insert(2, 64), None);
}
