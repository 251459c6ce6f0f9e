//! A pool on a disk in memory, and a transaction that keeps its log in a vector.

use std::sync::{Arc, Mutex};

use clearway_base::{Error, KeyName, Lsn, LsnSpan, Result, TreeId};
use clearway_disk::MemoryDisk;
use clearway_lock::{LockId, Outcome, RangeMode};
use clearway_pool::{Pool, PoolOptions, Wal};

use crate::op::redo;
use crate::space::SpaceMap;
use crate::{Journal, Locks, Upkeep, Wait};

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

/// Pool, space map and log of a database in memory.
pub(crate) struct Memory {
    pub(crate) pool: Arc<Pool>,
    pub(crate) space: Arc<SpaceMap>,
    log: Arc<MemoryLog>,
}

impl Memory {
    /// A database with nothing but its first map page.
    pub(crate) fn new() -> Memory {
        let memory = Memory::open(Arc::default());
        memory.space.create(&mut memory.context()).unwrap();
        memory
    }

    fn open(log: Arc<MemoryLog>) -> Memory {
        let options = PoolOptions { cache_bytes: 8 << 20, ..PoolOptions::default() };
        let pool = Pool::open(&MemoryDisk::new(), log.clone(), options).unwrap();
        Memory { space: SpaceMap::open(pool.clone()), pool, log }
    }

    /// A transaction.
    pub(crate) fn context(&self) -> TestContext {
        TestContext { log: self.log.clone(), reserves_left: None, unlinked: None }
    }

    /// Redoes the log on an empty disk. Then redoes it once more, but for the first map page's
    /// format, so that redo must recognise by page LSN what it has done already.
    pub(crate) fn replayed(&self) -> Memory {
        let again = Memory::open(self.log.clone());
        let records = self.log.records.lock().unwrap().clone();
        for skipped in 0..2 {
            for (body, span) in &records[skipped..] {
                redo(&again.pool, body, *span).unwrap();
            }
        }
        again
    }
}

/// A transaction without locks.
pub(crate) struct TestContext {
    log: Arc<MemoryLog>,
    /// The number of further requests for log space that are granted; `None`: all of them.
    pub(crate) reserves_left: Option<usize>,
    /// The overflow chain to which no record leads.
    pub(crate) unlinked: Option<(TreeId, [u8; 16])>,
}

impl Locks for TestContext {
    fn request(&mut self, _: LockId, _: RangeMode) -> Outcome {
        Outcome::Granted
    }
    fn check(&mut self, _: LockId, _: RangeMode) -> Outcome {
        Outcome::Granted
    }
    fn release(&mut self, _: LockId) {}
    fn holds(&self, _: LockId, _: RangeMode) -> bool {
        true
    }
    fn inherit_tag(&mut self, _: LockId, _: LockId) -> bool {
        true
    }
    fn pass_tag(&mut self, _: LockId, _: LockId) {}
}

impl Journal for TestContext {
    fn is_undoing(&self) -> bool {
        false
    }
    fn reserve(&mut self, _: usize) -> Outcome {
        match &mut self.reserves_left {
            Some(0) => Outcome::Denied,
            left => {
                left.iter_mut().for_each(|left| *left -= 1);
                Outcome::Granted
            }
        }
    }
    fn log_user(&mut self, body: &[u8]) -> Result<LsnSpan> {
        Ok(self.log.insert(body))
    }
    fn log_system(&mut self, body: &[u8]) -> Result<LsnSpan> {
        Ok(self.log.insert(body))
    }
    fn log_compensation(&mut self, body: &[u8]) -> Result<LsnSpan> {
        Ok(self.log.insert(body))
    }
}

impl Upkeep for TestContext {
    fn defer_free(&mut self, _: TreeId, _: &[u8]) {}
    fn defer_maintenance(&mut self, _: TreeId, _: &[u8]) {}
    fn ghost_is_free(&self, _: LockId) -> bool {
        true
    }
    fn note_unlinked(&mut self, chain: Option<(TreeId, [u8; 16])>) {
        self.unlinked = chain;
    }
}

impl Wait for TestContext {
    fn wait_for_lock(&mut self, _: LockId, _: RangeMode, _: &KeyName) -> Result<()> {
        Ok(())
    }
    /// Fails once; the log then has room, so that the failed operation can clean up.
    fn wait_for_log_space(&mut self, bytes: usize) -> Result<()> {
        self.reserves_left = None;
        Err(Error::LogFull { wanted_bytes: bytes as u64, capacity_bytes: 0, keeper: None })
    }
}
