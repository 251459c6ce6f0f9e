//! Victims of deadlocks commit after a bounded number of attempts.

use clearway::{Database, Options, TypeStats};
use clearway_sync::{
    atomic::{AtomicU64, Ordering},
    thread,
};

fn type_stats(db: &Database, name: &str) -> TypeStats {
    db.type_stats().into_iter().find(|kind| kind.name == name).unwrap_or_default()
}

/// Runs a long transaction against short ones that close cycles with it whenever they can. However
/// the machine schedules them, no transaction uses up its attempts.
pub(crate) fn storm(options: Options) {
    const KEYS: u8 = 10;
    let options = options.cache_size(8 << 20).attempts(50);
    let db = options.open("storm").unwrap();
    let t = db.table("t").unwrap();
    db.transact("fill", |tx| (0..KEYS).try_for_each(|k| tx.put(&t, [k], [0]).map(drop))).unwrap();
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for n in 0..3u8 {
            let (db, t, done) = (&db, &t, &done);
            scope.spawn(move || {
                let mut upper = n;
                while done.load(Ordering::Relaxed) == 0 {
                    upper = upper % (KEYS - 1) + 1;
                    let short = db.submit("short", |tx| {
                        tx.put(t, [upper], [n])?;
                        thread::yield_now();
                        tx.put(t, [upper - 1], [n])
                    });
                    short.expect("it commits within its attempts").wait().unwrap();
                }
            });
        }
        for _ in 0..10 {
            let long = db.transact("long", |tx| {
                (0..KEYS).try_for_each(|k| {
                    thread::yield_now();
                    tx.put(&t, [k], [9]).map(drop)
                })
            });
            long.expect("it commits within its attempts");
        }
        done.store(1, Ordering::Relaxed);
    });
    let (long, short) = (type_stats(&db, "long"), type_stats(&db, "short"));
    assert!(long.commits == 10 && long.rollbacks + short.rollbacks == 0, "{long:?} {short:?}");
    assert!(long.retries <= 10 * 10, "{long:?}");
}

#[test]
fn victims_of_deadlocks_get_through_a_storm() {
    storm(Options::in_memory());
}
