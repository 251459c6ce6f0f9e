//! Models of reservation, release and room in the ring, for each strategy of insertion. Each 32
//! bytes of the ring have a witness, so loom fails if a flusher reads bytes whose fill it is not
//! ordered after, or an inserter writes bytes whose flush it is not ordered after.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `group_holds_only_filled_records`: `Relaxed` in `Links::mark`; `mark` before `fill`; `Relaxed`
//!   in `Links::follow`; no `await_released`; `Relaxed` where `Releases` publishes the released
//!   LSN, or in its exchanges.
//! - `groups_of_two_and_one`: `Relaxed` in `Array::notify`; a group that is not closed; a slot that
//!   is freed while a thread waits in it.
//! - `groups_are_flown_while_others_fill`: `Relaxed` in `Array::release`.
//! - `nothing_comes_behind_a_close`: a close without a latch that inserters do not check.
//! - `an_earlier_record_happens_before_a_later_one`: `Release` alone in the reservation without a
//!   latch.
//! - `room_is_handed_back_after_the_flush`: `Relaxed` in `set_durable`; `Relaxed` in `durable`;
//!   a limit that is one record too high (R2).

use std::sync::Arc;

use clearway_base::{Epoch, TxnId};
use clearway_sync::{check, thread};

use super::*;
use crate::{
    insertion::{Insertion, SealWords, strategy},
    options::{Consolidation, Strategy},
    record::{Header, Record, Stamp},
};

const EPOCH: Stamp = Stamp::unsalted(Epoch(3));
/// The smallest ring that can be mapped.
const RING: usize = 4096;

struct Log {
    ring: Arc<Ring>,
    insertion: Arc<dyn Insertion>,
}

impl Log {
    fn new(kind: Strategy) -> Arc<Log> {
        let sizes = Consolidation { places: 1, slots: 2 };
        let (ring, cursor) = Ring::new(RING, Lsn::ZERO).unwrap();
        let ring = Arc::new(ring);
        let insertion = strategy(kind, sizes, ring.clone(), cursor);
        Arc::new(Log { insertion, ring })
    }

    /// Inserts a record that takes `bytes` bytes.
    fn insert(&self, txn: u64, bytes: usize) -> Option<LsnSpan> {
        let body = vec![txn as u8; bytes - HEADER_BYTES];
        let record = Record { kind: 1, txn: TxnId(txn), prev: Lsn::ZERO, body: &[&body] };
        self.insertion.insert(&Draft::new(&record, EPOCH, RING).unwrap())
    }

    /// Flushes one group as a flusher does, and returns the transactions in it.
    fn flush(&self, from: Lsn) -> Option<(Vec<u64>, Lsn)> {
        let durable = self.ring.durable();
        let words = SealWords { stamp: EPOCH, durable, flags: 0, even_empty: false };
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

/// A test of each strategy; the number is how many preemptions loom tries.
macro_rules! models {
    ($($model:ident: $($kind:ident $preemptions:literal)*;)*) => {
        $(mod $model {
            use super::*;

            $(#[test]
            #[allow(non_snake_case)]
            fn $kind() {
                check($preemptions, || super::$model(Strategy::$kind));
            })*
        })*
    };
}

models! {
    group_holds_only_filled_records:
        Mutex 3 Consolidated 2 Decoupled 4 Hybrid 2 Delegated 2 LockFree 4;
    groups_of_two_and_one: Consolidated 2 Hybrid 2 Delegated 1;
    groups_are_flown_while_others_fill: Consolidated 2 Hybrid 2 Delegated 2;
    room_is_handed_back_after_the_flush:
        Mutex 3 Consolidated 2 Decoupled 4 Hybrid 2 Delegated 2 LockFree 4;
    nothing_comes_behind_a_close: Decoupled 3 Hybrid 2 LockFree 4;
    an_earlier_record_happens_before_a_later_one:
        Mutex 3 Consolidated 2 Decoupled 3 Hybrid 2 Delegated 2 LockFree 4;
}

fn group_holds_only_filled_records(kind: Strategy) {
    let log = Log::new(kind);
    let inserter = {
        let log = log.clone();
        thread::spawn(move || log.insert(1, 64).expect("room for both").end)
    };
    log.insert(2, 64).expect("room for both");
    let (mut found, at) = log.flush(Lsn::ZERO).expect("one record at the least");
    let end = inserter.join().unwrap();
    assert_eq!(found.contains(&1), end <= log.ring.durable());
    if let Some((rest, _)) = log.flush(at) {
        found.extend(rest);
    }
    found.sort_unstable();
    assert_eq!(found, [1, 2]);
}

/// Three inserters of records of different sizes, of which two may form a group: there is one
/// place.
fn groups_of_two_and_one(kind: Strategy) {
    let log = Log::new(kind);
    let inserters: Vec<_> = [(1, 64), (2, 96)]
        .map(|(txn, bytes)| {
            let log = log.clone();
            thread::spawn(move || log.insert(txn, bytes).expect("room for all"))
        })
        .into();
    let mine = log.insert(3, 32).expect("room for all");
    let mut spans: Vec<LsnSpan> = inserters.into_iter().map(|one| one.join().unwrap()).collect();
    spans.push(mine);
    spans.sort_unstable_by_key(|span| span.start);
    assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start), "no hole, no overlap");
    let (mut found, _) = log.flush(Lsn::ZERO).expect("there are records");
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3]);
}

/// Two inserters that may form a group while the flusher has the cursor, and a flush of their
/// records before they are done.
fn groups_are_flown_while_others_fill(kind: Strategy) {
    let log = Log::new(kind);
    let inserters = [(1, 64), (2, 96)].map(|(txn, bytes)| {
        let log = log.clone();
        thread::spawn(move || log.insert(txn, bytes).expect("room for all"))
    });
    let (mut found, mut at) = (Vec::new(), Lsn::ZERO);
    let mut flush = || {
        if let Some((more, end)) = log.flush(at) {
            found.extend(more);
            at = end;
        }
    };
    flush();
    flush();
    inserters.into_iter().for_each(|one| {
        one.join().unwrap();
    });
    flush();
    found.sort_unstable();
    assert_eq!(found, [1, 2]);
}

fn room_is_handed_back_after_the_flush(kind: Strategy) {
    let log = Log::new(kind);
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
        let room = RING as u64 - SEAL_ROOM;
        assert!(span.start >= durable && span.end.0 - durable.0 <= room, "R2");
    }
}

/// A thread that inserts after a record sees what its inserter did before.
fn an_earlier_record_happens_before_a_later_one(kind: Strategy) {
    let log = Log::new(kind);
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

fn nothing_comes_behind_a_close(kind: Strategy) {
    let log = Log::new(kind);
    let inserter = {
        let log = log.clone();
        thread::spawn(move || log.insert(1, 64))
    };
    log.insertion.close();
    let end = log.insertion.end();
    let span = inserter.join().unwrap();
    assert!(span.is_none_or(|span| span.end <= end), "R5");
    assert_eq!(log.insert(2, 64), None);
}
