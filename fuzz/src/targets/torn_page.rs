//! The optimistic reader on torn mixes of two versions of a page.
//!
//! The pages of a tree are overwritten, in memory, with word-by-word mixes of their contents at two
//! times, and with mutations of these; then keys are looked up and scanned. Branches are read
//! without a latch, so their readers must tolerate arbitrary bytes. Must hold: no panic, no endless
//! loop, and every error is typed.

use std::{
    cell::{Cell, RefCell},
    ops::Bound,
    sync::Arc,
};

use clearway_base::{KeyName, Lsn, LsnSpan, PAGE_SIZE, PageId, Result, TreeId};
use clearway_disk::MemoryDisk;
use clearway_lock::{LockId, LockOptions, LockOwner, LockTable, Outcome, RangeMode, WaitLimit};
use clearway_pool::{Pool, PoolOptions};
use clearway_tree::{
    Cursor, Direction, Journal, LeafHint, Locks, ReadIntent, SpaceMap, Tree, TreeConfig, Upkeep,
    Wait,
};

use super::durable::Durable;
use crate::{mutate::Mutator, target::Target};

pub(crate) fn target() -> Target {
    Target { name: "torn-page", examples: || vec![vec![0; 16]], take, must_fail: false }
}

/// Where a page's own header ends and the tree's begins (`docs/page-format.md`).
const PAGE_HEADER: usize = 16;
const KEYS: u32 = 400;

/// A transaction without concurrent ones.
struct Alone {
    locks: LockTable,
    owner: LockOwner,
}

thread_local! {
    /// The end of the log, which grows from one transaction and one damaged page to the next.
    static LOG_END: Cell<u64> = const { Cell::new(512) };
}

/// Returns the place of the next record of `bytes` bytes.
fn next_span(bytes: u64) -> LsnSpan {
    let start = LOG_END.get();
    LOG_END.set(start + bytes);
    LsnSpan { start: Lsn(start), end: Lsn(start + bytes) }
}

impl Alone {
    fn span(&mut self, body: &[u8]) -> LsnSpan {
        next_span(64 + body.len() as u64)
    }
}

impl Locks for Alone {
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
    fn inherit_tag(&mut self, _: LockId, _: LockId) -> bool {
        true
    }
    fn pass_tag(&mut self, _: LockId, _: LockId) {}
}

impl Journal for Alone {
    fn is_undoing(&self) -> bool {
        false
    }
    fn reserve(&mut self, _: usize) -> Outcome {
        Outcome::Granted
    }
    fn log_user(&mut self, body: &[u8]) -> Result<LsnSpan> {
        Ok(self.span(body))
    }
    fn log_system(&mut self, body: &[u8]) -> Result<LsnSpan> {
        Ok(self.span(body))
    }
    fn log_compensation(&mut self, body: &[u8]) -> Result<LsnSpan> {
        Ok(self.span(body))
    }
}

impl Upkeep for Alone {
    fn ghost_is_free(&self, _: LockId) -> bool {
        true
    }
    fn defer_free(&mut self, _: TreeId, _: &[u8]) {}
    fn defer_maintenance(&mut self, _: TreeId, _: &[u8]) {}
    fn note_unlinked(&mut self, _: Option<(TreeId, [u8; 16])>) {}
}

impl Wait for Alone {
    fn wait_for_lock(&mut self, id: LockId, mode: RangeMode, _: &KeyName) -> Result<()> {
        self.locks.acquire(&mut self.owner, id, mode, WaitLimit::NoWait)
    }
    fn wait_for_log_space(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
}

type Pages = Vec<(PageId, Vec<u8>)>;

/// A tree and its pages at two times.
struct Subject {
    pool: Arc<Pool>,
    tree: Tree,
    early: Pages,
    late: Pages,
}

thread_local! {
    static SUBJECT: RefCell<Option<Subject>> = const { RefCell::new(None) };
}

fn alone() -> Alone {
    let locks = LockTable::new(LockOptions { buckets: 1 << 8, ..LockOptions::default() });
    let owner = locks.owner();
    Alone { locks, owner }
}

fn make() -> Subject {
    let options = PoolOptions {
        cache_bytes: 4 << 20,
        max_bytes: 64 << 20,
        background_cleaner: false,
        ..PoolOptions::default()
    };
    let pool = Pool::open(&MemoryDisk::new(), Arc::new(Durable), options).unwrap();
    let space = SpaceMap::open(pool.clone());
    let mut txn = alone();
    space.create(&mut txn).unwrap();
    let config = TreeConfig { node_bytes: 512 };
    let tree = Tree::create(pool.clone(), space, TreeId(5), config, &mut txn).unwrap();
    let mut hint = LeafHint::default();
    let mut fill = |from: u32| {
        for key in (from..KEYS).step_by(2) {
            tree.insert(&mut txn, &mut hint, &key.to_be_bytes(), &[7; 20]).unwrap();
        }
    };
    fill(0);
    let early = pages(&pool, &tree);
    fill(1);
    let late = pages(&pool, &tree);
    Subject { pool, tree, early, late }
}

fn pages(pool: &Pool, tree: &Tree) -> Pages {
    let report = tree.verify().unwrap();
    report.pages.iter().map(|&page| (page, pool.shared(page).unwrap().to_vec())).collect()
}

fn take(input: &[u8]) -> std::result::Result<(), String> {
    let number = input.iter().fold(0u64, |n, &byte| n.rotate_left(7) ^ u64::from(byte));
    let mut random = Mutator::new(number);
    SUBJECT.with_borrow_mut(|subject| {
        let subject = subject.get_or_insert_with(make);
        let torn = subject.tear(&mut random);
        let outcome = subject.read(&mut random);
        subject.restore(&torn);
        outcome
    })
}

impl Subject {
    /// Overwrites a few pages with mixes, and returns their indexes.
    fn tear(&self, random: &mut Mutator) -> Vec<usize> {
        let mut torn = Vec::new();
        for _ in 0..=random.below(3) {
            let at = random.below(self.late.len());
            let (page, late) = &self.late[at];
            let early = self.early.iter().find(|(id, _)| id == page).map(|(_, bytes)| bytes);
            let mut mix = late.clone();
            if let Some(early) = early {
                for word in (0..PAGE_SIZE).step_by(8).filter(|_| random.below(3) == 0) {
                    mix[word..word + 8].copy_from_slice(&early[word..word + 8]);
                }
            }
            if random.below(2) == 0 {
                let other = self.late[random.below(self.late.len())].1.clone();
                let mut mutated = random.mutate(&[mix.clone(), other]);
                mutated.resize(PAGE_SIZE, 0);
                mix = mutated;
            }
            self.put(*page, &mix);
            torn.push(at);
        }
        torn
    }

    fn put(&self, page: PageId, bytes: &[u8]) {
        let mut latched = self.pool.exclusive(page).expect("resident");
        latched.begin_change();
        latched[PAGE_HEADER..].copy_from_slice(&bytes[PAGE_HEADER..]);
        latched.finish_change(next_span(64).end);
    }

    fn read(&self, random: &mut Mutator) -> std::result::Result<(), String> {
        let mut txn = alone();
        let mut value = Vec::new();
        for _ in 0..30 {
            let key = (random.next() as u32 % (KEYS + 20)).to_be_bytes();
            let mut hint = LeafHint::default();
            let _ = self.tree.get(&mut txn, &mut hint, &key, ReadIntent::Read, &mut value);
        }
        let _ = self.tree.verify();
        for direction in [Direction::Ascending, Direction::Descending] {
            let ends = (Bound::Unbounded, Bound::Unbounded);
            let mut cursor: Cursor = self.tree.cursor(ends.0, ends.1, direction, ReadIntent::Read);
            let mut entries = 0;
            while let Ok(Some(_)) = cursor.next(&self.tree, &mut txn) {
                entries += 1;
                if entries > 20_000 {
                    return Err("a scan without end".into());
                }
            }
        }
        Ok(())
    }

    fn restore(&self, torn: &[usize]) {
        for &at in torn {
            let (page, late) = &self.late[at];
            self.put(*page, late);
        }
    }
}
