//! A log that is closed while a record waits for room, and what such tests need: writes that take
//! long.

use std::{
    sync::{Arc, Mutex, mpsc},
    task::{Context, Waker},
    time::{Duration, Instant},
};

use clearway_base::{Epoch, Error, Lsn, TxnId};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogOptions, LogReader, Record};
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};

pub(crate) fn faulty() -> (MemoryDisk, Faults, Arc<dyn Disk>) {
    let memory = MemoryDisk::new();
    let faults = Faults::new();
    let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(memory.clone(), faults.clone()));
    (memory, faults, disk)
}

pub(crate) fn is_pending(log: &Log, lsn: Lsn) -> bool {
    log.poll_durable(lsn, &mut Context::from_waker(Waker::noop())).is_pending()
}

/// Blocks log writes from the second on, one message each, until the sender is dropped.
pub(crate) fn stall(faults: &Faults) -> mpsc::Sender<()> {
    let (go, stalled) = mpsc::channel::<()>();
    let stalled = Mutex::new(stalled);
    faults.watch(move |event| {
        if event.operation == Operation::Write && event.name.starts_with("log/") {
            let _ = stalled.lock().unwrap().recv();
        }
        None
    });
    go
}

/// Waits until `is_so`, for some seconds at most.
pub(crate) fn eventually(is_so: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !is_so() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    is_so()
}

/// Closes a log with `options` while a record waits for room: it is durable or refused.
pub(crate) fn a_record_that_waits_for_room_is_durable_or_refused(options: &LogOptions) {
    for _ in 0..10 {
        let (memory, faults, disk) = faulty();
        let (segment_bytes, capacity_bytes) = (1 << 20, 8 << 20);
        let options = LogOptions { segment_bytes, capacity_bytes, ..options.clone() };
        let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
        log.reserve_space(500_000).unwrap();
        let go = stall(&faults);
        let last = std::thread::scope(|scope| {
            let log = &log;
            let inserter = scope.spawn(move || {
                let mut last = None;
                let refusal = loop {
                    let record =
                        Record { kind: 1, txn: TxnId(1), prev: Lsn(1), body: &[&[7; 3000]] };
                    match log.insert(&record) {
                        Ok(span) => last = Some(span),
                        Err(error) => break error,
                    }
                };
                assert!(matches!(refusal, Error::Closed), "{refusal}");
                last.unwrap()
            });
            while log.stats().ring_waits == 0 {
                std::thread::yield_now();
            }
            let closer = scope.spawn(move || log.close());
            std::thread::sleep(Duration::from_millis(2));
            drop(go);
            closer.join().unwrap().unwrap();
            inserter.join().unwrap()
        });
        assert!(last.end <= log.durable(), "{last:?} is after the closing trailer");
        assert_eq!(log.end(), log.durable());
        log.wait_durable(last.end).unwrap();
        assert!(!is_pending(&log, last.end));
        // From now on the log writes nothing.
        let writes = faults.count(Operation::Write, "log/");
        assert!(log.wait_durable(Lsn(log.end().0 + 8)).is_err());
        log.request_flush(Lsn::MAX);
        assert_eq!(faults.count(Operation::Write, "log/"), writes);
        let mut reader = LogReader::open(Arc::new(memory), segment_bytes, Lsn::ZERO).unwrap();
        while reader.next().unwrap().is_some() {}
        assert_eq!(reader.tail(), log.end());
    }
}
