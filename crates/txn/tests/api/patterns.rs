//! Every order of keys with every mixture of lengths, with rollbacks, checkpoints, crashes and
//! orderly reopenings, and a table beside it that keeps its contents.

use std::sync::Arc;

use clearway_disk::MemoryDisk;
use clearway_testkit::{Limits, Order, Pattern, Random, Step};
use clearway_txn::{Engine, EngineOptions, Table, Transaction};

use crate::rig::{Contents, check, commit, contents, open_with, options};

const INSERTIONS: u64 = 120;
const INSERTIONS_LARGE: u64 = 50;
/// Steps in a transaction.
const AT_ONCE: usize = 20;

struct Run {
    disk: MemoryDisk,
    engine: Arc<Engine>,
    table: Table,
    beside: Table,
    /// The committed rows, in the table and beside it.
    model: Contents,
    other: Contents,
    node_bytes: usize,
}

fn engine_options(node_bytes: usize) -> EngineOptions {
    EngineOptions { node_bytes, ..options() }
}

fn take(txn: &mut Transaction, table: &Table, step: &Step) {
    match step {
        Step::Put { key, value } => txn.put(table, key, value).map(drop),
        Step::Delete { key } => txn.delete(table, key),
    }
    .unwrap_or_else(|error| panic!("{error}, at {step:?}"));
}

impl Run {
    fn new(node_bytes: usize) -> Run {
        let disk = MemoryDisk::with_crashes();
        let engine = open_with(disk.clone(), engine_options(node_bytes));
        let beside = engine.create_table("beside").unwrap();
        let table = engine.create_table("t").unwrap();
        let (model, other) = (Contents::new(), Contents::new());
        Run { disk, engine, table, beside, model, other, node_bytes }
    }

    fn steps(&mut self, steps: &[Step], round: u64) {
        let mut txn = self.engine.begin();
        steps.iter().for_each(|step| take(&mut txn, &self.table, step));
        let (key, value) = ((round % 5).to_be_bytes().to_vec(), round.to_be_bytes().to_vec());
        txn.put(&self.beside, &key, &value).unwrap();
        commit(&self.engine, txn);
        self.other.insert(key, value);
        for step in steps {
            match step.clone() {
                Step::Put { key, value } => drop(self.model.insert(key, value)),
                Step::Delete { key } => drop(self.model.remove(&key)),
            }
        }
    }

    /// The same steps in a transaction that is rolled back, or that a crash ends.
    fn take_back(&mut self, steps: &[Step], is_crash: bool) {
        let mut txn = self.engine.begin();
        steps.iter().for_each(|step| take(&mut txn, &self.table, step));
        if !is_crash {
            txn.rollback().unwrap();
            return;
        }
        self.engine.log().wait_durable(self.engine.log().end()).unwrap();
        let image = self.disk.fork_durable();
        drop(txn);
        self.reopen(image);
    }

    fn reopen(&mut self, disk: MemoryDisk) {
        self.engine = open_with(disk.clone(), engine_options(self.node_bytes));
        self.disk = disk;
        self.table = self.engine.open_table("t").unwrap();
        self.beside = self.engine.open_table("beside").unwrap();
        self.check();
    }

    fn check(&self) {
        assert!(contents(&self.engine, &self.table) == self.model, "the table's contents");
        assert!(contents(&self.engine, &self.beside) == self.other, "the contents beside it");
    }
}

fn run(pattern: Pattern, node_bytes: usize, insertions: u64) {
    println!("{pattern} on pages of {node_bytes} bytes, {insertions} insertions");
    let mut run = Run::new(node_bytes);
    let mut steps = pattern.steps(insertions);
    for round in 1.. {
        let some: Vec<Step> = steps.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        match round % 7 {
            2 => run.take_back(&some, false),
            4 => run.take_back(&some, true),
            6 => run.engine.checkpoint().unwrap(),
            _ => {}
        }
        run.steps(&some, round);
    }
    run.check();
    check(&run.engine);
    run.engine.close().unwrap();
    run.reopen(run.disk.fork());
}

/// All mixtures of lengths of the given orders; small and large pages in turn.
fn run_all(orders: &[Order]) {
    for (order, at) in orders.iter().zip(0..) {
        let of_node = |node_bytes| {
            let patterns = Pattern::all(&mut Random::new(at), Limits::of_node(node_bytes));
            patterns.into_iter().filter(|pattern| pattern.order == *order).collect::<Vec<_>>()
        };
        let (small, large) = (of_node(256), of_node(8192));
        for (nth, (small, large)) in small.into_iter().zip(large).enumerate() {
            match (nth + at as usize) % 2 {
                0 => run(small, 256, INSERTIONS),
                _ => run(large, 8192, INSERTIONS_LARGE),
            }
        }
    }
}

#[test]
fn the_first_half_of_the_orders_survives_rollbacks_and_crashes() {
    run_all(&Order::ALL[..6]);
}

#[test]
fn the_second_half_of_the_orders_survives_rollbacks_and_crashes() {
    run_all(&Order::ALL[6..]);
}
