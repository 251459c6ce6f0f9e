//! The state of a tree after the log, the disk or a page has failed under it.

use std::{sync::mpsc::channel, thread, time::Duration};

use clearway_base::{Error, PAGE_SIZE, PageId};
use clearway_disk::{Disk, OpenMode};
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation, forge_page};
use clearway_tree::{LeafHint, ReadIntent, Tree};

use crate::double::Database;

const SPLIT: u8 = 36;

fn key(n: u64) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

fn fill(db: &Database, tree: &Tree, keys: std::ops::Range<u64>) {
    let mut txn = db.begin();
    for n in keys {
        txn.insert(tree, &key(n), &[n as u8; 20]).unwrap();
    }
    txn.commit(tree);
}

/// Fills the disk up with another tree.
fn fill_disk(db: &Database) {
    db.disk.set_capacity(db.disk.used_bytes());
    let other = db.tree(8, 512);
    let error = (0..).find_map(|n| {
        let mut txn = db.begin();
        let inserted = txn.insert(&other, &key(n), &[1; 50]);
        txn.commit(&other);
        inserted.err()
    });
    assert!(matches!(error, Some(Error::DiskFull { .. })), "{error:?}");
}

#[test]
fn refused_record_leaves_pages_that_redo_can_use() {
    for refused in [None, Some(SPLIT)] {
        let db = Database::new();
        let tree = db.tree(7, 512);
        fill(&db, &tree, 0..200);
        db.pool.clean_all().unwrap();
        let checkpoint = db.log.len(); // Redo starts here.
        let mut txn = db.begin();
        for n in 0..200 {
            txn.delete(&tree, &key(n)).unwrap();
        }
        txn.commit(&tree); // Merges free pages.
        db.pool.clean_all().unwrap(); // The redo point stays where it was.
        if refused.is_some() {
            let mut txn = db.begin();
            txn.refused_system = refused;
            let mut keys = 1000..;
            while txn.insert(&tree, &key(keys.next().unwrap()), &[1; 20]).is_ok() {}
            std::mem::forget(txn);
        }
        db.pool.clean_all().unwrap();
        db.recovered_on(db.disk.fork(), checkpoint).map(drop).unwrap();
    }
}

#[test]
fn undo_splits_leaves_on_a_full_disk() {
    let db = Database::new();
    let tree = db.tree(7, 512);
    let mut one = db.begin();
    for n in [1, 2, 3] {
        one.insert(&tree, &key(n * 100), &[7; 50]).unwrap();
    }
    one.commit(&tree);
    let mut one = db.begin();
    for n in [1, 2, 3] {
        tree.update(&mut one, &mut LeafHint::default(), &key(n * 100), b"").unwrap();
    }
    fill_disk(&db);
    // What fits is still accepted.
    let mut two = db.begin();
    for n in 101..110 {
        let _ = two.insert(&tree, &key(n), &[n as u8; 20]);
    }
    two.commit(&tree);
    assert_eq!(tree.verify().unwrap().levels[0].pages, 1);
    one.rollback(&tree);
    assert!(tree.verify().unwrap().levels[0].pages > 1);
    let mut out = db.begin();
    assert_eq!(out.get(&tree, &key(200)).unwrap(), Some(vec![7; 50]));
}

#[test]
fn full_disk_does_not_matter_where_a_ghost_gives_room() {
    let db = Database::new();
    let tree = db.tree(7, 512);
    let mut one = db.begin();
    // One full leaf: 6 records of 68 bytes.
    for n in 1..=6 {
        one.insert(&tree, &key(n * 100), &[7; 50]).unwrap();
    }
    one.commit(&tree);
    assert_eq!(tree.verify().unwrap().pages.len(), 1);
    fill_disk(&db);
    let mut two = db.begin();
    two.delete(&tree, &key(300)).unwrap();
    two.commit(&tree);
    let mut three = db.begin();
    three.insert(&tree, &key(301), &[7; 50]).unwrap();
    three.commit(&tree);
}

#[test]
fn damaged_page_that_only_a_stale_hint_leads_to_is_not_needed() {
    let db = Database::new();
    let tree = db.tree(7, 512);
    fill(&db, &tree, 0..100);
    let mut hint = LeafHint::default();
    let mut out = Vec::new();
    tree.get(&mut db.begin(), &mut hint, &key(99), ReadIntent::Read, &mut out).unwrap();
    let mut txn = db.begin();
    for n in 0..100 {
        txn.delete(&tree, &key(n)).unwrap();
    }
    txn.commit(&tree);
    (0..100).rev().for_each(|n| tree.maintain(&mut db.begin(), &key(n)).unwrap());
    let pages = tree.verify().unwrap().pages;
    assert_eq!(pages.len(), 1);
    db.pool.close().unwrap();
    let disk = db.disk.fork();
    disk.remove("doublewrite").unwrap(); // Or opening repairs the pages.
    let data = disk.open("data", OpenMode::Existing).unwrap();
    for page in (3..db.pool.page_count()).map(PageId).filter(|page| !pages.contains(page)) {
        data.write_at(&[0xEE; 64], u64::from(page.0) * 8192 + 100).unwrap();
    }
    let again = Database::on(db.log.clone(), disk);
    let tree = again.open(&tree, 512);
    let found = tree.get(&mut again.begin(), &mut hint, &key(1), ReadIntent::Read, &mut out);
    assert!(!found.unwrap());
}

/// Descents latch a page and the page it points to, so a damaged pointer must not make one wait for
/// itself, and `destroy` goes from page to page, so none must lead it round in a circle.
#[test]
fn pointer_to_its_own_page_or_upwards_is_damage() {
    let db = Database::new();
    let tree = db.tree(7, 512);
    fill(&db, &tree, 0..400);
    db.pool.close().unwrap();
    let pages = tree.verify().unwrap().pages;
    let (sent, ended) = channel();
    let (log, disk, root) = (db.log.clone(), db.disk.clone(), tree.root());
    thread::spawn(move || {
        let mut damaged = 0;
        for (&page, target) in pages.iter().flat_map(|page| [(page, *page), (page, root)]) {
            let image = disk.fork();
            let pointers = pointers_in(&image, page, &pages);
            for at in [24].into_iter().chain(pointers) {
                let image = image.fork();
                image.remove("doublewrite").unwrap(); // Or opening repairs the page.
                forge_page(&image, page.0, |bytes| {
                    bytes[at..at + 4].copy_from_slice(&target.0.to_le_bytes());
                })
                .unwrap();
                use_all(&Database::on(log.clone(), image), &tree);
                damaged += 1;
            }
        }
        sent.send(damaged).unwrap();
    });
    let damaged = ended.recv_timeout(Duration::from_secs(120));
    assert!(damaged.unwrap() > 200, "{damaged:?}");
}

/// The offsets in a page at which the ids of other pages are.
fn pointers_in(disk: &dyn Disk, page: PageId, pages: &[PageId]) -> Vec<usize> {
    let mut bytes = [0; PAGE_SIZE];
    let data = disk.open("data", OpenMode::Existing).unwrap();
    data.read_at(&mut bytes, u64::from(page.0) * PAGE_SIZE as u64).unwrap();
    let is_id = |at: &usize| {
        let word = u32::from_le_bytes(bytes[*at..at + 4].try_into().unwrap());
        pages.contains(&PageId(word))
    };
    (28..PAGE_SIZE - 4).filter(is_id).collect()
}

/// Reads, writes, maintains, verifies and destroys a tree in a damaged database.
fn use_all(db: &Database, tree: &Tree) {
    let (tree, mut hint, mut out) = (db.open(tree, 512), LeafHint::default(), Vec::new());
    for n in (0..400).step_by(9) {
        let mut txn = db.begin();
        txn.leaves_upkeep = true;
        let _ = tree.get(&mut txn, &mut hint, &key(n), ReadIntent::Read, &mut out);
        let _ = txn.insert(&tree, &key(n), &[3; 30]);
        let _ = txn.delete(&tree, &key(n));
        txn.commit(&tree);
        let _ = tree.maintain(&mut db.begin(), &key(n));
    }
    let _ = tree.verify();
    let _ = tree.destroy(&mut db.begin());
}

/// A chain that is read while its value is replaced by itself, in the same pages, seems damaged for
/// a moment.
#[test]
fn verify_looks_at_a_damaged_chain_again() {
    let db = Database::new();
    let tree = db.tree(7, 8192);
    let mut txn = db.begin();
    txn.insert(&tree, b"k", &[1; 30_000]).unwrap();
    txn.commit(&tree);
    let pages = tree.verify().unwrap().pages;
    db.pool.close().unwrap();
    for (lasting, fails) in [(Lasting::Once, false), (Lasting::Forever, true)] {
        let faults = Faults::new();
        let disk = FaultyDisk::new(db.disk.fork(), faults.clone());
        let again = Database::through(db.log.clone(), &disk, db.disk.fork());
        let tree = again.open(&tree, 8192);
        // The root, and its map page; then the first page of the chain cannot be read.
        for page in [PageId(2), tree.root()] {
            drop(again.pool.shared(page).unwrap());
        }
        faults.fail(Operation::Read, "data", 1, std::io::ErrorKind::Other, lasting);
        let found = tree.verify();
        assert_eq!(found.is_err(), fails, "{found:?}");
        assert!(fails || found.unwrap().pages == pages);
    }
}
