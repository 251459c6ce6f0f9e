//! Operations that wait: they keep nothing that other operations may need meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use clearway_testkit::Random;
use clearway_tree::Tree;

use crate::double::Database;

const KEYS: u32 = 4000;

fn key(n: u32) -> Vec<u8> {
    format!("{n:05}").into_bytes()
}

/// A tree of several times as many leaves as the cache has pages.
fn large() -> (Database, Tree) {
    let db = Database::small();
    let tree = db.tree(7, 256);
    let mut txn = db.begin();
    (0..KEYS).for_each(|n| txn.insert(&tree, &key(n), b"value").unwrap());
    txn.commit(&tree);
    (db, tree)
}

/// Reads the keys, so that other pages are evicted.
fn read(db: &Database, tree: &Tree, keys: std::ops::Range<u32>) {
    let mut txn = db.begin();
    keys.for_each(|n| assert!(txn.get(tree, &key(n)).unwrap().is_some()));
}

/// Two operations that have needed pages wait for locks. In this cache no third operation may keep
/// pins beside two that do. The holder of the locks needs pages too before it ends (PINS-3).
#[test]
fn operation_gives_its_pins_back_before_it_waits_for_a_lock() {
    let (db, tree) = large();
    let mut holder = db.begin();
    holder.delete(&tree, &key(10)).unwrap();
    holder.delete(&tree, &key(3000)).unwrap();
    read(&db, &tree, 500..2500);
    let waiting = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        let waiters = [10, 3000].map(|n| {
            let (db, tree, waiting) = (&db, &tree, waiting.clone());
            scope.spawn(move || {
                let reads = db.pool.stats().reads;
                let mut txn = db.begin();
                let pool = db.pool.clone();
                txn.before_wait = Some(Box::new(move || {
                    assert!(pool.stats().reads > reads, "it needed a page before");
                    waiting.fetch_add(1, SeqCst);
                }));
                txn.get(tree, &key(n))
            })
        });
        while waiting.load(SeqCst) < waiters.len() && !waiters.iter().any(|it| it.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(db.pool.held_pages(), 0, "pins are kept over a wait for a lock");
        for n in 3500..3900 {
            assert!(holder.get(&tree, &key(n)).unwrap().is_some());
        }
        holder.rollback(&tree);
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap().unwrap().unwrap(), b"value");
        }
    });
}

#[test]
fn operation_gives_its_pins_back_before_it_waits_for_log_space() {
    let (db, tree) = large();
    let mut txn = db.begin();
    let pool = db.pool.clone();
    txn.before_wait = Some(Box::new(move || assert_eq!(pool.held_pages(), 0)));
    txn.denials = Some(Random::new(0x1234));
    let reads = db.pool.stats().reads;
    for n in (0..KEYS).step_by(20) {
        txn.delete(&tree, &key(n)).unwrap();
        txn.insert(&tree, &key(n), b"another value").unwrap();
    }
    let needs = txn.needs;
    txn.commit(&tree);
    assert!(needs.locks > 50 && needs.log_space > 50, "{needs:?}");
    assert!(db.pool.stats().reads > reads + 100);
}
