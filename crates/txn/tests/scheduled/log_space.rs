//! Log space: writers fill the log, and the checkpointer makes room. Time does not pass here, so a
//! request or a wake-up that is lost is a hang, and so is a wait for a checkpoint that no thread
//! takes.

use clearway_sync::schedules::check;

use super::*;

/// A log of three segments, and threads that make room in it.
fn small() -> EngineOptions {
    let log = LogOptions { capacity_bytes: 96 << 10, ..options().log };
    EngineOptions { log, background: true, ..options() }
}

/// Commits rows of this thread. Those of two threads fill the log about twice. Returns the first
/// error.
fn fill(engine: &Arc<Engine>, table: &Table, thread: u64) -> Result<()> {
    (0..50).try_for_each(|n| {
        let mut txn = engine.begin();
        txn.put(table, &key(10 * thread + n % 4), &[n as u8; 1_500])?;
        commit(engine, txn)
    })
}

#[test]
fn writers_wait_for_room_and_none_is_refused() {
    check("log space", 400, || {
        let (_disk, engine, table) = start(small());
        let run = {
            let (engine, table) = (engine.clone(), table.clone());
            move |n| fill(&engine, &table, n)
        };
        for result in on_threads(2, run) {
            assert!(result.is_ok(), "{result:?}");
        }
        assert!(engine.log().stats().segments_recycled > 0, "or it shows nothing");
        engine.close().unwrap();
    });
}

/// The close ends the waits, and the writers learn of it.
#[test]
fn a_close_ends_the_waits_for_room() {
    check("log space, closed", 600, || {
        let (_disk, engine, table) = start(small());
        let run = {
            let engine = engine.clone();
            move |n| {
                if n == 2 {
                    while engine.log().end().0 < 80 << 10 {
                        thread::yield_now();
                    }
                    return engine.close();
                }
                fill(&engine, &table, n)
            }
        };
        for result in on_threads(3, run) {
            assert!(matches!(result, Ok(()) | Err(Error::Closed)), "{result:?}");
        }
    });
}
