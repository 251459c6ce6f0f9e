//! Damage is found and named, by `verify` and, in debug builds, by every descent.

use std::ops::Bound::Unbounded;

use clearway_base::{Error, Lsn, PAGE_SIZE, PageId, Result, TreeId};
use clearway_tree::{Direction, Tree, TreeConfig};

use crate::double::Database;

fn key(n: u64) -> Vec<u8> {
    format!("key {n:03}").into_bytes()
}

/// A tree of two levels.
fn tree() -> (Database, Tree) {
    let db = Database::new();
    let tree = db.tree(7, 512);
    let mut txn = db.begin();
    for n in 0..80 {
        txn.insert(&tree, &key(n), b"some value").unwrap();
    }
    txn.commit(&tree);
    assert_eq!(db.verify_only(&tree).levels.len(), 2);
    (db, tree)
}

/// The places in a page where `bytes` stand.
fn places(page: &[u8], bytes: &[u8]) -> Vec<usize> {
    (24..PAGE_SIZE - bytes.len()).filter(|&at| page[at..].starts_with(bytes)).collect()
}

fn change(db: &Database, page: PageId, work: impl FnOnce(&mut [u8])) {
    let mut page = db.pool.exclusive(page).unwrap();
    page.begin_change();
    let lsn = Lsn(page.page_lsn().0 + 8);
    work(&mut page);
    page.finish_change(lsn);
}

#[track_caller]
fn assert_names<T: std::fmt::Debug>(result: Result<T>, expected: &[PageId], words: &str) {
    match result {
        Err(Error::CorruptPage { page, detail }) => {
            assert!(expected.contains(&page), "{page} named, not {expected:?}: {detail}");
            assert!(detail.contains(words), "{detail}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn fences_that_differ_from_separators_are_found() {
    let (db, tree) = tree();
    let leaves = tree.verify().unwrap().pages;
    let (one, two) = (leaves[2], leaves[4]);
    // The root's pointers to two leaves change places.
    change(&db, tree.root(), |root| {
        let at = |page: PageId, root: &[u8]| *places(root, &page.0.to_le_bytes()).last().unwrap();
        let (first, second) = (at(one, root), at(two, root));
        root[first..first + 4].copy_from_slice(&two.0.to_le_bytes());
        root[second..second + 4].copy_from_slice(&one.0.to_le_bytes());
    });
    assert_names(tree.verify(), &[one, two], "fences differ from the separators");
    // No descent returns a wrong answer.
    let all = db.begin().scan(&tree, (Unbounded, Unbounded), Direction::Ascending);
    assert!(matches!(all, Err(Error::CorruptPage { .. })));
    let wrong = (0..80).filter(|&n| match db.begin().get(&tree, &key(n)) {
        Ok(found) => found.as_deref() != Some(b"some value"),
        Err(error) => !matches!(error, Error::CorruptPage { .. }),
    });
    assert_eq!(wrong.count(), 0);
}

#[test]
fn keys_out_of_order_are_found() {
    let (db, tree) = tree();
    let leaf = tree.verify().unwrap().pages[3];
    change(&db, leaf, |page| {
        // The last records' slots change places: 8 bytes each, after a header of 56.
        let count = usize::from(page[28]);
        let at = 56 + (count - 2) * 8;
        let (left, right) = page[at..at + 16].split_at_mut(8);
        left.swap_with_slice(right);
    });
    assert_names(tree.verify(), &[leaf], "out of order");
}

#[test]
fn foreign_root_is_refused() {
    let (db, tree) = tree();
    let (pool, space) = (db.pool.clone(), db.space.clone());
    let config = TreeConfig { node_bytes: 512 };
    let foreign = Tree::open(pool.clone(), space.clone(), TreeId(8), tree.root(), config);
    assert_names(foreign.verify(), &[tree.root()], "of tree 7");
    assert_names(db.begin().get(&foreign, &key(1)), &[tree.root()], "of tree 7");
    let map = Tree::open(pool, space, TreeId(7), PageId(2), config);
    assert_names(map.verify(), &[PageId(2)], "SpaceMap");
    // Nothing of it is freed.
    foreign.destroy(&mut db.begin()).unwrap();
    map.destroy(&mut db.begin()).unwrap();
    assert_eq!(db.verify_only(&tree).records, 80);
}
