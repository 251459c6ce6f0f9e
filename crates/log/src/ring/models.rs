//! Models of reservation, release and room in the ring, with decoupled insertion. Each 32 bytes of
//! the ring have a witness, so loom fails if a flusher reads bytes whose fill it is not ordered
//! after, or an inserter writes bytes whose flush it is not ordered after.
//!
//! What was broken on purpose, and which model was seen to fail:
//!
//! - `group_holds_only_filled_records`: `Relaxed` in `Links::mark`; `mark` before `fill`;
//!   `Relaxed` in `Links::follow`; no `await_released`.
//! - `room_is_handed_back_after_the_flush`: `Relaxed` in `set_durable`; `Relaxed` in `durable`;
//!   a limit that is one record too high (R2).

use std::sync::Arc;

use clearway_base::{Epoch, TxnId};
use clearway_sync::{check, thread};

use super::*;
use crate::{
    insertion::{Insertion, SealWords, strategy},
    options::Strategy,
    record::{Header, Record},
};

const EPOCH: Epoch = Epoch(3);
/// The smallest that can be mapped.
const RING: usize = 4096;

struct Log {
    ring: Arc<Ring>,
    insertion: Arc<dyn Insertion>,
}

impl Log {
    fn new() -> Arc<Log> {
        let (ring, cursor) = Ring::new(RING, Lsn::ZERO).unwrap();
        let ring = Arc::new(ring);
        Arc::new(Log { insertion: strategy(Strategy::Decoupled, ring.clone(), cursor), ring })
    }

    /// Inserts a record that takes `bytes` bytes.
    fn insert(&self, txn: u64, bytes: usize) -> Option<LsnSpan> {
        let body = vec![txn as u8; bytes - HEADER_BYTES];
        let record = Record { kind: 1, txn: TxnId(txn), prev: Lsn::ZERO, body: &[&body] };
        self.insertion.insert(&Draft::new(&record, EPOCH, RING).unwrap())
    }

    /// Flies one group as a flusher does, and returns the transactions in it.
    fn fly(&self, from: Lsn) -> Option<(Vec<u64>, Lsn)> {
        let durable = self.ring.durable();
        let words = SealWords { epoch: EPOCH, durable, flags: 0, even_empty: false };
        let group = LsnSpan { start: from, end: self.insertion.seal(from, words)?.span.end };
        self.insertion.await_released(group);
        // SAFETY: R4: released, and made durable below.
        let bytes = unsafe { self.ring.released(group) };
        let (mut found, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let (head, _) = Header::decode(bytes[at..at + HEADER_BYTES].try_into().unwrap())
                .expect("a record begins where the last ended");
            if head.kind == 1 {
                found.push(head.txn.0);
            }
            at += head.span_bytes() as usize;
        }
        self.ring.set_durable(group.end);
        Some((found, group.end))
    }
}

#[test]
fn group_holds_only_filled_records() {
    check(4, || {
        let log = Log::new();
        let inserter = {
            let log = log.clone();
            thread::spawn(move || log.insert(1, 64).expect("room for both").end)
        };
        log.insert(2, 64).expect("room for both");
        let (mut found, at) = log.fly(Lsn::ZERO).expect("one record at the least");
        let end = inserter.join().unwrap();
        assert_eq!(found.contains(&1), end <= log.ring.durable());
        if let Some((rest, _)) = log.fly(at) {
            found.extend(rest);
        }
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
    });
}

#[test]
fn room_is_handed_back_after_the_flush() {
    check(4, || {
        let log = Log::new();
        // 3 × 1,152 of 4,096 − 536: a fourth does not fit before the first group is durable.
        (0..3).for_each(|_| drop(log.insert(9, 1152).unwrap()));
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
        let (found, durable) = log.fly(Lsn::ZERO).unwrap();
        assert_eq!(found, [9, 9, 9], "the fourth had no room before");
        if let Some(span) = inserter.join().unwrap() {
            let room = RING as u64 - SEAL_ROOM;
            assert!(span.start >= durable && span.end.0 - durable.0 <= room, "R2");
        }
    });
}
