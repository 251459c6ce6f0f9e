//! A transaction that is just enough for the tree: the real lock table and the real pool, a log in
//! a vector, an undo list, and a record of every lock that was asked for.

use std::cell::Cell;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clearway_base::{Error, KeyName, Lsn, LsnSpan, PAGE_SIZE, PageId, Result, TreeId};
use clearway_disk::{Disk, MemoryDisk};
use clearway_lock::{LockId, LockOptions, LockOwner, LockTable, Outcome, RangeMode, WaitLimit};
use clearway_pool::{Pool, PoolOptions, Wal};
use clearway_testkit::Random;
use clearway_tree::{
    Direction, Journal, LeafHint, Locks, PAGE_LIMIT, ReadIntent, SPACE_SPAN, SpaceMap, Tree,
    TreeConfig, TreeReport, Upkeep, Wait, redo,
};

pub(crate) type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// A log that is durable at once.
#[derive(Default)]
pub(crate) struct MemoryLog {
    records: Mutex<Vec<(Vec<u8>, LsnSpan)>>,
}

impl MemoryLog {
    fn insert(&self, body: &[u8]) -> LsnSpan {
        let mut records = self.records.lock().unwrap();
        let start = records.last().map_or(Lsn(512), |(_, span)| span.end);
        let span = LsnSpan { start, end: Lsn(start.0 + 32 + body.len() as u64) };
        records.push((body.to_vec(), span));
        span
    }

    pub(crate) fn len(&self) -> usize {
        self.records.lock().unwrap().len()
    }

    /// The number of records with this operation code.
    pub(crate) fn count_of(&self, code: u8) -> usize {
        self.records.lock().unwrap().iter().filter(|(body, _)| body.first() == Some(&code)).count()
    }
}

impl Wal for MemoryLog {
    fn durable(&self) -> Lsn {
        self.end()
    }
    fn make_durable(&self, _: Lsn) -> Result<()> {
        Ok(())
    }
    fn end(&self) -> Lsn {
        self.records.lock().unwrap().last().map_or(Lsn(512), |(_, span)| span.end)
    }
}

/// A database in memory.
pub(crate) struct Database {
    pub(crate) pool: Arc<Pool>,
    pub(crate) space: Arc<SpaceMap>,
    pub(crate) locks: LockTable,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) disk: MemoryDisk,
}

impl Database {
    pub(crate) fn new() -> Database {
        let db = Database::over(Arc::default());
        db.space.create(&mut db.begin()).unwrap();
        db
    }

    fn over(log: Arc<MemoryLog>) -> Database {
        Database::on(log, MemoryDisk::new())
    }

    pub(crate) fn on(log: Arc<MemoryLog>, disk: MemoryDisk) -> Database {
        Database::through(log, &disk.clone(), disk)
    }

    /// In a cache of 64 pages.
    pub(crate) fn small() -> Database {
        Database::of_pages(64)
    }

    /// In a cache of `count` pages.
    pub(crate) fn of_pages(count: u64) -> Database {
        let disk = MemoryDisk::new();
        let cache_bytes = count * PAGE_SIZE as u64;
        let db = Database::with_cache(Arc::default(), &disk.clone(), disk, cache_bytes);
        db.space.create(&mut db.begin()).unwrap();
        db
    }

    /// On `disk`, of which the pool sees what `seen` lets it.
    pub(crate) fn through(log: Arc<MemoryLog>, seen: &dyn Disk, disk: MemoryDisk) -> Database {
        Database::with_cache(log, seen, disk, 64 << 20)
    }

    /// The same in a cache of that size.
    pub(crate) fn with_cache(
        log: Arc<MemoryLog>,
        seen: &dyn Disk,
        disk: MemoryDisk,
        cache_bytes: u64,
    ) -> Database {
        let options = PoolOptions {
            cache_bytes,
            max_bytes: 1 << 30,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        let pool = Pool::open(seen, log.clone(), options).unwrap();
        let options = LockOptions { buckets: 1 << 10, ..LockOptions::default() };
        let locks = LockTable::new(options);
        Database { space: SpaceMap::open(pool.clone()), pool, locks, log, disk }
    }

    /// Redoes the records from `from` on, on `disk`. The database that it returns has a copy of the
    /// log.
    pub(crate) fn recovered_on(&self, disk: MemoryDisk, from: usize) -> Result<Database> {
        let records = self.log.records.lock().unwrap().clone();
        let again = Database::on(Arc::new(MemoryLog { records: Mutex::new(records) }), disk);
        for (body, span) in self.log.records.lock().unwrap()[from..].iter() {
            if !body.is_empty() {
                redo(&again.pool, body, *span)?;
            }
        }
        Ok(again)
    }

    /// Redoes the first `records` records on an empty disk. The log of the database that it returns
    /// continues them.
    pub(crate) fn replayed(&self, records: usize) -> Database {
        let again = Database::over(Arc::default());
        for (body, span) in self.log.records.lock().unwrap()[..records].iter() {
            again.log.records.lock().unwrap().push((body.clone(), *span));
            if !body.is_empty() {
                redo(&again.pool, body, *span).unwrap();
            }
        }
        again
    }

    pub(crate) fn tree(&self, id: u32, node_bytes: usize) -> Tree {
        let (pool, space) = (self.pool.clone(), self.space.clone());
        Tree::create(pool, space, TreeId(id), TreeConfig { node_bytes }, &mut self.begin()).unwrap()
    }

    /// The same tree, in this database.
    pub(crate) fn open(&self, tree: &Tree, node_bytes: usize) -> Tree {
        let (pool, space) = (self.pool.clone(), self.space.clone());
        Tree::open(pool, space, tree.id(), tree.root(), TreeConfig { node_bytes })
    }

    pub(crate) fn begin(&self) -> Txn {
        Txn {
            owner: self.locks.owner(),
            locks: self.locks.clone(),
            log: self.log.clone(),
            pool: self.pool.clone(),
            limit: WaitLimit::Default,
            undo: Vec::new(),
            frees: Vec::new(),
            unlinked: None,
            sparse: Vec::new(),
            leaves_upkeep: false,
            asked: Vec::new(),
            reserved: 0,
            latches_are_checked: false,
            acknowledged: Lsn::ZERO,
            undoing: false,
            refused_system: None,
            accepted_first: 0,
            after_ghost_is_free: None,
            before_wait: None,
            denials: None,
            is_granted: false,
            needs: Needs::default(),
            page_needs: PageNeeds::default(),
        }
    }

    /// Verifies the tree, and that the database has no page but the map's and this tree's.
    pub(crate) fn verify_only(&self, tree: &Tree) -> TreeReport {
        let report = tree.verify().unwrap();
        assert_eq!(report.met_twice, []);
        let mut allocated = Vec::new();
        self.space.for_each_allocated(|page| allocated.push(page)).unwrap();
        allocated.retain(|page| (page.0 - 2) % SPACE_SPAN != 0);
        assert_eq!(allocated, report.pages, "pages allocated, pages reachable");
        report
    }

    /// The first page on which two databases differ, LSN and content.
    pub(crate) fn difference(&self, other: &Database) -> Option<PageId> {
        let mut pages = Vec::new();
        self.space.for_each_allocated(|page| pages.push(page)).unwrap();
        pages.into_iter().find(|&page| {
            let (ours, theirs) = (self.pool.shared(page), other.pool.shared(page));
            ours.unwrap()[8..] != theirs.unwrap()[8..]
        })
    }
}

/// A transaction.
pub(crate) struct Txn {
    pub(crate) owner: LockOwner,
    locks: LockTable,
    log: Arc<MemoryLog>,
    pool: Arc<Pool>,
    pub(crate) limit: WaitLimit,
    pub(crate) undo: Vec<Vec<u8>>,
    pub(crate) frees: Vec<(usize, Vec<u8>)>,
    /// The overflow chain to which no record leads.
    pub(crate) unlinked: Option<[u8; 16]>,
    pub(crate) sparse: Vec<Vec<u8>>,
    /// The test calls upkeep by hand.
    pub(crate) leaves_upkeep: bool,
    /// Every lock asked for or checked, granted or not.
    pub(crate) asked: Vec<(LockId, RangeMode)>,
    reserved: usize,
    /// Whether `wait` and `reserve` make sure that no page is latched. For single threads.
    pub(crate) latches_are_checked: bool,
    /// Up to where commits count as durable.
    pub(crate) acknowledged: Lsn,
    undoing: bool,
    /// The code of a system operation that the log refuses.
    pub(crate) refused_system: Option<u8>,
    /// The number of those that the log accepts before it refuses one.
    pub(crate) accepted_first: usize,
    /// Called after each check whether a ghost is free, before the result is used.
    pub(crate) after_ghost_is_free: Option<Box<dyn Fn() + Send>>,
    /// Called before each wait for a lock or for log space.
    pub(crate) before_wait: Option<Box<dyn Fn() + Send>>,
    /// If set, some requests for locks and log space are denied though they could be granted.
    pub(crate) denials: Option<Random>,
    /// Whether log space was waited for, so that the next reservation is granted.
    is_granted: bool,
    /// The numbers of its waits.
    pub(crate) needs: Needs,
    pub(crate) page_needs: PageNeeds,
}

/// The numbers of a transaction's waits.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Needs {
    pub(crate) locks: u64,
    pub(crate) log_space: u64,
}

/// The number of waits for pages.
#[derive(Clone, Default, Debug)]
pub(crate) struct PageNeeds(Cell<u64>);

impl PageNeeds {
    pub(crate) fn count(&self) -> u64 {
        self.0.get()
    }
}

impl Txn {
    /// Commits: tags, frees what was dropped, looks after sparse leaves.
    pub(crate) fn commit(mut self, tree: &Tree) {
        self.free_unlinked(tree);
        let lsn = self.log.insert(&[]).end;
        self.locks.release_all(&mut self.owner, Some(lsn));
        for (_, reference) in std::mem::take(&mut self.frees) {
            tree.free_value(&mut self, &reference).unwrap();
        }
        self.upkeep(tree);
    }

    pub(crate) fn rollback(mut self, tree: &Tree) {
        self.rollback_to(tree, 0);
        self.locks.release_all(&mut self.owner, None);
        self.upkeep(tree);
    }

    /// Undoes all but the first `savepoint` operations.
    pub(crate) fn rollback_to(&mut self, tree: &Tree, savepoint: usize) {
        self.free_unlinked(tree);
        self.undoing = true;
        while self.undo.len() > savepoint {
            let body = self.undo.pop().unwrap();
            tree.undo(self, &body).unwrap();
            self.free_unlinked(tree);
        }
        self.undoing = false;
        self.frees.retain(|(at, _)| *at <= savepoint);
    }

    /// Frees the chain that an operation has left: to be called when it has failed, and after an
    /// undo.
    pub(crate) fn free_unlinked(&mut self, tree: &Tree) {
        if let Some(chain) = self.unlinked.take() {
            tree.free_value(self, &chain).unwrap();
        }
    }

    fn upkeep(&mut self, tree: &Tree) {
        if self.leaves_upkeep {
            return;
        }
        self.visit_reported(tree);
    }

    /// Upkeep at the keys that were reported by now.
    pub(crate) fn visit_reported(&mut self, tree: &Tree) {
        for key in std::mem::take(&mut self.sparse) {
            tree.maintain(self, &key).unwrap();
        }
    }

    pub(crate) fn scan(
        &mut self,
        tree: &Tree,
        range: Range,
        direction: Direction,
    ) -> Result<Records> {
        let mut cursor = tree.cursor(range.0, range.1, direction, ReadIntent::Read);
        let mut records = Vec::new();
        while let Some(record) = cursor.next(tree, self)? {
            records.push(record);
        }
        Ok(records)
    }

    pub(crate) fn get(&mut self, tree: &Tree, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut out = Vec::new();
        let found = tree.get(self, &mut LeafHint::default(), key, ReadIntent::Read, &mut out)?;
        Ok(found.then_some(out))
    }

    pub(crate) fn insert(&mut self, tree: &Tree, key: &[u8], value: &[u8]) -> Result<()> {
        tree.insert(self, &mut LeafHint::default(), key, value)
    }

    pub(crate) fn delete(&mut self, tree: &Tree, key: &[u8]) -> Result<()> {
        tree.delete(self, &mut LeafHint::default(), key)
    }

    fn denies(&mut self) -> bool {
        self.denials.as_mut().is_some_and(|random| random.one_in(4))
    }

    fn check_no_latch(&self) {
        if self.latches_are_checked {
            for page in 2..self.pool.page_count().min(400) {
                let latch = self.pool.try_exclusive(PageId(page)).unwrap();
                assert!(latch.is_some(), "page {page} is latched where the context may block");
            }
        }
    }

    fn log(&mut self, body: &[u8]) -> Result<LsnSpan> {
        assert!(self.reserved >= body.len(), "{} bytes logged, not reserved", body.len());
        self.reserved -= body.len();
        Ok(self.log.insert(body))
    }
}

pub(crate) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl Drop for Txn {
    fn drop(&mut self) {
        self.locks.release_all(&mut self.owner, None);
    }
}

impl Locks for Txn {
    fn request(&mut self, id: LockId, mode: RangeMode) -> Outcome {
        self.asked.push((id, mode));
        if self.denies() {
            return Outcome::Denied;
        }
        self.locks.try_acquire(&mut self.owner, id, mode)
    }
    fn check(&mut self, id: LockId, mode: RangeMode) -> Outcome {
        self.asked.push((id, mode));
        self.locks.check(&mut self.owner, id, mode)
    }
    fn release(&mut self, id: LockId) {
        self.locks.release(&mut self.owner, id);
    }
    fn holds(&self, id: LockId, mode: RangeMode) -> bool {
        self.owner.holds(id, mode)
    }
    fn inherit_tag(&mut self, from: LockId, to: LockId) -> bool {
        self.locks.inherit_tag(&mut self.owner, from, to, self.acknowledged)
    }
    fn pass_tag(&mut self, before: LockId, key: LockId) {
        self.locks.pass_tag(before, key);
    }
}

impl Journal for Txn {
    fn is_undoing(&self) -> bool {
        self.undoing
    }
    fn reserve(&mut self, bytes: usize) -> Outcome {
        if !std::mem::take(&mut self.is_granted) && self.denies() {
            return Outcome::Denied;
        }
        self.reserved = self.reserved.max(bytes);
        Outcome::Granted
    }
    fn log_user(&mut self, body: &[u8]) -> Result<LsnSpan> {
        self.undo.push(body.to_vec());
        self.log(body)
    }
    fn log_system(&mut self, body: &[u8]) -> Result<LsnSpan> {
        if self.refused_system == Some(body[0]) {
            let Some(left) = self.accepted_first.checked_sub(1) else { return Err(Error::Closed) };
            self.accepted_first = left;
        }
        self.log(body)
    }
    fn log_compensation(&mut self, body: &[u8]) -> Result<LsnSpan> {
        self.log(body)
    }
}

impl Upkeep for Txn {
    fn ghost_is_free(&self, ghost: LockId) -> bool {
        let is_free = self.locks.is_idle(ghost);
        self.after_ghost_is_free.iter().for_each(|happens| happens());
        is_free
    }
    fn defer_free(&mut self, _: TreeId, reference: &[u8]) {
        self.frees.push((self.undo.len(), reference.to_vec()));
    }
    fn defer_maintenance(&mut self, _: TreeId, key: &[u8]) {
        self.sparse.push(key.to_vec());
    }
    fn note_unlinked(&mut self, chain: Option<(TreeId, [u8; 16])>) {
        self.unlinked = chain.map(|(_, chain)| chain);
    }
}

impl Wait for Txn {
    fn wait_for_lock(&mut self, id: LockId, mode: RangeMode, _: &KeyName) -> Result<()> {
        self.check_no_latch();
        self.before_wait.iter().for_each(|happens| happens());
        self.needs.locks += 1;
        self.locks.acquire(&mut self.owner, id, mode, self.limit)
    }
    fn wait_for_log_space(&mut self, bytes: usize) -> Result<()> {
        self.check_no_latch();
        self.before_wait.iter().for_each(|happens| happens());
        self.needs.log_space += 1;
        self.is_granted = true;
        self.reserved = self.reserved.max(bytes);
        Ok(())
    }
    fn page_limit(&self) -> Duration {
        let PageNeeds(count) = &self.page_needs;
        count.set(count.get() + 1);
        PAGE_LIMIT
    }
}

/// Whether an operation would have had to wait.
pub(crate) fn would_block<T: std::fmt::Debug>(result: Result<T>) -> bool {
    match result {
        Err(Error::WouldBlock { .. }) => true,
        Ok(_) => false,
        Err(error) => panic!("{error}"),
    }
}
