//! Closing, with the background threads, while transactions run.

use std::collections::BTreeSet;

use clearway_sync::schedules::check;

use super::*;

/// Commits until the engine refuses; answers what was acknowledged.
fn commit_until_closed(engine: &Arc<Engine>, table: &Table, thread: u64) -> Vec<u64> {
    let mut acked = Vec::new();
    for n in 0..3 {
        let number = thread * 10 + n;
        match transact(engine, |txn| txn.put(table, &key(number), b"x")) {
            Ok(_) => acked.push(number),
            Err(error) => {
                let known = matches!(
                    error,
                    Error::Closed | Error::Poisoned { .. } | Error::OutcomeUnknown { .. }
                );
                assert!(known, "{error}");
                break;
            }
        }
    }
    acked
}

fn closes(background: bool) {
    let options = || EngineOptions { background, ..options() };
    let (disk, engine, table) = start(options());
    let run = {
        let (engine, table) = (engine.clone(), table.clone());
        move |n: u64| {
            if n < 2 {
                return commit_until_closed(&engine, &table, n);
            }
            engine.close().unwrap();
            Vec::new()
        }
    };
    let acked: BTreeSet<u64> = on_threads(3, run).into_iter().flatten().collect();
    drop((table, engine));
    let engine = Engine::open(Arc::new(disk), options()).unwrap();
    let table = engine.open_table("t").unwrap();
    let found = contents(&engine, &table);
    assert!(acked.iter().all(|&n| found.contains_key(&key(n))), "{acked:?}, {found:?}");
    engine.close().unwrap();
}

#[test]
fn close_keeps_what_was_acknowledged() {
    check("close", 400, || closes(false));
}

#[test]
fn close_ends_the_background_threads() {
    check("close with background", 250, || closes(true));
}
