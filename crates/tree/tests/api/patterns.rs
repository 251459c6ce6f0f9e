//! Every order of keys with every mixture of lengths, against an ordered map, on small pages and on
//! pages of the default size. Valid input is never refused, the tree stays sound, and redo makes
//! the same pages.

use std::{collections::BTreeMap, ops::Bound};

use clearway_base::Error;
use clearway_testkit::{Limits, Order, Pattern, Random, Step, Values};
use clearway_tree::{Direction, LeafHint, Tree};

use crate::double::{Database, Txn};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Insertions on small pages: more leaves in a chain than a descent follows.
const INSERTIONS: u64 = 360;
/// Insertions on pages of the default size.
const INSERTIONS_LARGE: u64 = 90;
/// Steps in a transaction.
const AT_ONCE: usize = 24;

fn take(tree: &Tree, txn: &mut Txn, hint: &mut LeafHint, step: &Step) {
    match step {
        Step::Put { key, value } => tree.put(txn, hint, key, value).map(drop),
        Step::Delete { key } => tree.delete(txn, hint, key),
    }
    .unwrap_or_else(|error| panic!("{error}, at {step:?}"));
}

fn note(model: &mut Model, step: Step) {
    match step {
        Step::Put { key, value } => drop(model.insert(key, value)),
        Step::Delete { key } => drop(model.remove(&key)),
    }
}

/// A run of the pattern; now and then the next transaction is rolled back before it is committed.
fn run(pattern: Pattern, node_bytes: usize, insertions: u64) {
    let db = Database::new();
    let tree = db.tree(7, node_bytes);
    let (mut model, mut hint) = (Model::new(), LeafHint::default());
    let mut steps = pattern.steps(insertions);
    for round in 1.. {
        let some: Vec<Step> = steps.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        if round % 8 == 0 {
            let mut txn = db.begin();
            some.iter().for_each(|step| take(&tree, &mut txn, &mut hint, step));
            txn.rollback(&tree);
        }
        let mut txn = db.begin();
        some.iter().for_each(|step| take(&tree, &mut txn, &mut hint, step));
        txn.commit(&tree);
        some.into_iter().for_each(|step| note(&mut model, step));
    }
    let records: Vec<_> = model.into_iter().collect();
    let all = || (Bound::Unbounded, Bound::Unbounded);
    let found = db.begin().scan(&tree, all(), Direction::Ascending).unwrap();
    assert!(found == records, "ascending: {} of {} records", found.len(), records.len());
    let mut found = db.begin().scan(&tree, all(), Direction::Descending).unwrap();
    found.reverse();
    assert!(found == records, "descending: {} of {} records", found.len(), records.len());
    assert_eq!(db.verify_only(&tree).records, records.len() as u64);
    let again = db.replayed(db.log.len());
    assert_eq!(db.difference(&again), None);
}

/// Runs the patterns of one order: all mixtures of lengths, and all kinds of values in turn.
fn run_all(order: Order) {
    for (node_bytes, insertions) in [(256, INSERTIONS), (8192, INSERTIONS_LARGE)] {
        let patterns = Pattern::all(&mut Random::new(3), Limits::of_node(node_bytes));
        let of_order = patterns.into_iter().filter(|pattern| pattern.order == order);
        for (pattern, nth) in of_order.zip(order as usize..) {
            let values = Values::ALL[nth % Values::ALL.len()];
            let pattern = Pattern { values, ..pattern };
            // Printed if the run fails.
            println!("{pattern} on pages of {node_bytes} bytes, {insertions} insertions");
            run(pattern, node_bytes, insertions);
        }
    }
}

#[test]
fn keys_in_ascending_order_keep_the_tree_sound() {
    for order in [Order::Ascending, Order::WindowUp, Order::GrowingPrefixes] {
        run_all(order);
    }
}

#[test]
fn keys_in_descending_order_keep_the_tree_sound() {
    for order in [Order::Descending, Order::WindowDown, Order::GroupsDescending] {
        run_all(order);
    }
}

#[test]
fn keys_from_several_sides_keep_the_tree_sound() {
    for order in [Order::ZigzagOut, Order::ZigzagIn, Order::Interleaved] {
        run_all(order);
    }
}

#[test]
fn one_key_and_random_ones_keep_the_tree_sound() {
    for order in [Order::OneKey, Order::Random] {
        run_all(order);
    }
}

#[test]
fn the_limits_of_the_patterns_are_those_of_the_tree() {
    for node_bytes in [256, 320, 512, 1024, 4096, 8192] {
        let Limits { key_len_max, inline_len_max } = Limits::of_node(node_bytes);
        let db = Database::new();
        let tree = db.tree(7, node_bytes);
        let insert = |key_len: usize, value_len: usize| {
            let mut txn = db.begin();
            let inserted = txn.insert(&tree, &vec![b'k'; key_len], &vec![1; value_len]);
            txn.commit(&tree);
            inserted
        };
        insert(key_len_max, inline_len_max - key_len_max).unwrap();
        insert(0, inline_len_max).unwrap();
        assert_eq!(db.verify_only(&tree).overflow_pages, 0);
        insert(1, inline_len_max).unwrap();
        assert_eq!(db.verify_only(&tree).overflow_pages, 1);
        match insert(key_len_max + 1, 0) {
            Err(Error::KeyTooLarge { max, .. }) => assert_eq!(max, key_len_max),
            other => panic!("{other:?}"),
        }
    }
}
