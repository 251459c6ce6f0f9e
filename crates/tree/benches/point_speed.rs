//! The cost of point operations in a tree of three levels: an update-intent read and a put of a
//! known key, an insert, and a read. One thread; the log is a counter.
//!
//! ```text
//! cargo bench -p clearway-tree --bench point_speed [-- OPERATIONS [get-put|insert|read]]
//! ```
//! `valgrind --tool=callgrind --toggle-collect='point_speed::get_put' …` counts the instructions of
//! one kind of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use clearway_base::{KeyName, Lsn, LsnSpan, Result, TreeId};
use clearway_disk::MemoryDisk;
use clearway_lock::{LockId, LockOptions, LockOwner, LockTable, Outcome, RangeMode, WaitLimit};
use clearway_pool::{Pool, PoolOptions, Wal};
use clearway_tree::{
    Journal, LeafHint, Locks, ReadIntent, SpaceMap, Tree, TreeConfig, Upkeep, Wait,
};

/// A log that counts bytes.
#[derive(Default)]
struct Counter(AtomicU64);

impl Wal for Counter {
    fn durable(&self) -> Lsn {
        self.end()
    }
    fn make_durable(&self, _: Lsn) -> Result<()> {
        Ok(())
    }
    fn end(&self) -> Lsn {
        Lsn(self.0.load(Relaxed))
    }
}

struct Transaction {
    locks: LockTable,
    owner: LockOwner,
    log: Arc<Counter>,
}

impl Transaction {
    fn log(&self, body: &[u8]) -> Result<LsnSpan> {
        let len = body.len() as u64 + 40;
        let start = self.log.0.fetch_add(len, Relaxed);
        Ok(LsnSpan { start: Lsn(start), end: Lsn(start + len) })
    }

    fn commit(&mut self) {
        let lsn = self.log.end();
        self.locks.release_all(&mut self.owner, Some(lsn));
    }
}

impl Locks for Transaction {
    fn request(&mut self, id: LockId, mode: RangeMode) -> Outcome {
        self.locks.try_acquire(&mut self.owner, id, mode)
    }
    fn check(&mut self, id: LockId, mode: RangeMode) -> Outcome {
        self.locks.check(&mut self.owner, id, mode)
    }
    fn release(&mut self, id: LockId) {
        self.locks.release(&mut self.owner, id);
    }
    fn holds(&self, id: LockId, mode: RangeMode) -> bool {
        self.owner.holds(id, mode)
    }
    fn inherit_tag(&mut self, from: LockId, to: LockId) -> bool {
        self.locks.inherit_tag(&mut self.owner, from, to, Lsn::MAX)
    }
    fn pass_tag(&mut self, before: LockId, key: LockId) {
        self.locks.pass_tag(before, key);
    }
}

impl Journal for Transaction {
    fn is_undoing(&self) -> bool {
        false
    }
    fn reserve(&mut self, _: usize) -> Outcome {
        Outcome::Granted
    }
    fn log_user(&mut self, body: &[u8]) -> Result<LsnSpan> {
        self.log(body)
    }
    fn log_system(&mut self, body: &[u8]) -> Result<LsnSpan> {
        self.log(body)
    }
    fn log_compensation(&mut self, body: &[u8]) -> Result<LsnSpan> {
        self.log(body)
    }
}

impl Upkeep for Transaction {
    fn ghost_is_free(&self, ghost: LockId) -> bool {
        self.locks.is_idle(ghost)
    }
    fn defer_free(&mut self, _: TreeId, _: &[u8]) {}
    fn defer_maintenance(&mut self, _: TreeId, _: &[u8]) {}
    fn note_unlinked(&mut self, _: Option<(TreeId, [u8; 16])>) {}
}

impl Wait for Transaction {
    fn wait_for_lock(&mut self, id: LockId, mode: RangeMode, _: &KeyName) -> Result<()> {
        self.locks.acquire(&mut self.owner, id, mode, WaitLimit::Default)
    }
    fn wait_for_log_space(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
}

const RECORDS: u64 = 200_000;

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let arguments: Vec<String> = arguments.collect();
    let operations: u64 = arguments.first().map_or(1_000_000, |n| n.parse().expect("a number"));
    let only = arguments.get(1).map(String::as_str);
    let log = Arc::new(Counter::default());
    let pool = Pool::open(&MemoryDisk::new(), log.clone(), PoolOptions::default())?;
    let space = SpaceMap::open(pool.clone());
    let locks = LockTable::new(LockOptions::default());
    let mut txn = Transaction { owner: locks.owner(), locks, log };
    space.create(&mut txn)?;
    let tree = Tree::create(pool, space, TreeId(7), TreeConfig::default(), &mut txn)?;
    let (mut hint, mut value) = (LeafHint::default(), vec![7u8; 100]);
    let start = Instant::now();
    for n in 0..RECORDS {
        tree.insert(&mut txn, &mut hint, &(n * 2).to_be_bytes(), &value)?;
        txn.commit();
    }
    report("load in order", RECORDS, start);
    println!("{:?}", tree.verify()?.levels);
    for kind in ["get-put", "insert", "read"] {
        if only.is_some_and(|only| only != kind) {
            continue;
        }
        let start = Instant::now();
        for n in 0..operations {
            let at = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) % RECORDS * 2;
            match kind {
                "get-put" => get_put(&tree, &mut txn, &mut hint, at, &mut value)?,
                "insert" => insert(&tree, &mut txn, &mut hint, RECORDS * 2 + n, &value[..50])?,
                _ => read(&tree, &mut txn, &mut hint, at, &mut value)?,
            }
            txn.commit();
        }
        report(kind, operations, start);
    }
    Ok(())
}

// The functions below are not inlined, so that a profiler can be restricted to one of them.

#[inline(never)]
fn get_put(
    tree: &Tree,
    txn: &mut Transaction,
    hint: &mut LeafHint,
    at: u64,
    value: &mut Vec<u8>,
) -> Result<()> {
    let key = at.to_be_bytes();
    tree.get(txn, hint, &key, ReadIntent::Update, value)?;
    let sum = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) + 77_777;
    value[..8].copy_from_slice(&sum.to_le_bytes());
    tree.put(txn, hint, &key, value).map(drop)
}

#[inline(never)]
fn insert(
    tree: &Tree,
    txn: &mut Transaction,
    hint: &mut LeafHint,
    at: u64,
    value: &[u8],
) -> Result<()> {
    tree.insert(txn, hint, &at.to_be_bytes(), value)
}

#[inline(never)]
fn read(
    tree: &Tree,
    txn: &mut Transaction,
    hint: &mut LeafHint,
    at: u64,
    value: &mut Vec<u8>,
) -> Result<()> {
    tree.get(txn, hint, &at.to_be_bytes(), ReadIntent::Read, value).map(drop)
}

fn report(what: &str, operations: u64, start: Instant) {
    let ns = start.elapsed().as_nanos() as u64 / operations.max(1);
    println!("{what}: {ns} ns each");
}
