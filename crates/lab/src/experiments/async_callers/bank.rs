//! The bank of TPC-B, and its clients on a pipeline.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway::{
    Database, EngineStats, LentTransaction, Options, Pipeline, PipelineOptions, Result, Staging,
    StagingStats, Table, Transaction,
};
use clearway_disk::MemoryDisk;
use clearway_testkit::{
    Random,
    disk::{QueueingDisk, ReadServers, ServerStats},
};
use tempfile::TempDir;

use super::bare::Work;
use crate::experiment::{Outcome, Sample};

const ROW_BYTES: usize = 100;
/// A row with its key and its slot, about.
const BYTES_FOR_EACH: u64 = 120;
const TELLERS: u64 = 1_000;
const BRANCHES: u64 = 100;
const CACHED_ACCOUNTS: u64 = 100_000;
const LOADED_TOGETHER: u64 = 10_000;
/// The type of the transactions.
const DEPOSIT: &str = "deposit";
const LOG_BYTES: u64 = 256 << 20;

/// The callers of a run.
#[derive(Clone, Copy)]
pub(in super::super) struct Callers {
    pub(in super::super) agents: usize,
    pub(in super::super) clients: u32,
    pub(in super::super) is_async: bool,
    pub(in super::super) staging: Staging,
    /// True if a deposit changes its branch first, and its account last.
    pub(in super::super) branch_first: bool,
}

/// A bank on a disk, closed between runs, or one in memory.
pub(in super::super) struct Bank {
    directory: Option<TempDir>,
    /// The servers for which the reads of a run wait, if the disk is not a real one.
    servers: Option<ReadServers>,
    options: Options,
    accounts: u64,
}

/// The tables of an open bank.
struct Tables {
    accounts: Table,
    tellers: Table,
    branches: Table,
    history: Table,
}

/// One transaction's parameters.
#[derive(Clone, Copy)]
struct Deposit {
    account: u64,
    teller: u64,
    branch: u64,
    number: u64,
    amount: u64,
    branch_first: bool,
}

fn row(balance: u64) -> [u8; ROW_BYTES] {
    let mut row = [0; ROW_BYTES];
    row[..8].copy_from_slice(&balance.to_be_bytes());
    row
}

fn raised(row: Option<Vec<u8>>, amount: u64) -> [u8; ROW_BYTES] {
    let balance = row.and_then(|row| row.first_chunk().copied()).map_or(0, u64::from_be_bytes);
    self::row(balance.wrapping_add(amount))
}

impl Tables {
    fn open(db: &Database) -> Result<Tables> {
        let [accounts, tellers, branches, history] =
            ["accounts", "tellers", "branches", "history"].map(|name| db.table(name));
        Ok(Tables {
            accounts: accounts?,
            tellers: tellers?,
            branches: branches?,
            history: history?,
        })
    }

    fn load(&self, db: &Database, accounts: u64) -> Result<()> {
        for (table, count) in
            [(&self.accounts, accounts), (&self.tellers, TELLERS), (&self.branches, BRANCHES)]
        {
            for first in (0..count).step_by(LOADED_TOGETHER as usize) {
                let mut keys = first..count.min(first + LOADED_TOGETHER);
                db.transact("load", |tx| {
                    keys.by_ref()
                        .try_for_each(|key| tx.put(table, key.to_be_bytes(), row(0)).map(drop))
                })?;
            }
        }
        Ok(())
    }

    /// Reads all accounts, so that no page frame of the cache counts as memory of the clients.
    fn fill_cache(&self, db: &Database, accounts: u64) -> Result<()> {
        (0..accounts).step_by(LOADED_TOGETHER as usize).try_for_each(|first| {
            let keys = first.to_be_bytes()..(first + LOADED_TOGETHER).to_be_bytes();
            db.transact("fill the cache", |tx| tx.scan(&self.accounts, keys.clone()).count())?;
            Ok(())
        })
    }

    fn rows(&self, deposit: Deposit) -> [(&Table, u64); 3] {
        let Deposit { account, teller, branch, .. } = deposit;
        let mut rows =
            [(&self.accounts, account), (&self.tellers, teller), (&self.branches, branch)];
        if deposit.branch_first {
            rows.reverse();
        }
        rows
    }

    fn deposit(&self, tx: &mut Transaction, deposit: Deposit) -> Result<()> {
        for (table, key) in self.rows(deposit) {
            let old = tx.get_for_update(table, key.to_be_bytes())?;
            tx.put(table, key.to_be_bytes(), raised(old, deposit.amount))?;
        }
        tx.insert(&self.history, deposit.number.to_be_bytes(), [0; 50])
    }

    async fn deposit_as_task(&self, tx: &mut LentTransaction, deposit: Deposit) -> Result<()> {
        for (table, key) in self.rows(deposit) {
            let old = tx.get_for_update(table, key.to_be_bytes()).await?;
            tx.put(table, key.to_be_bytes(), raised(old, deposit.amount)).await?;
        }
        tx.insert(&self.history, deposit.number.to_be_bytes(), [0; 50]).await
    }
}

impl Bank {
    /// Loads a bank that is ten times a cache of `cache` bytes.
    pub(super) fn load(cache: u64) -> Outcome<Bank> {
        let directory = tempfile::tempdir()?;
        let options = Options::new().cache_size(cache);
        let accounts = 10 * cache / BYTES_FOR_EACH;
        let db = options.clone().cache_size(1 << 30).open(directory.path())?;
        Tables::open(&db)?.load(&db, accounts)?;
        db.close()?;
        Ok(Bank { directory: Some(directory), servers: None, options, accounts })
    }

    /// Loads a bank in memory that is ten times a cache of `cache` bytes, behind a disk whose reads
    /// wait for servers.
    pub(in super::super) fn behind(servers: ReadServers, cache: u64) -> Outcome<Bank> {
        let disk = MemoryDisk::new();
        let accounts = 10 * cache / BYTES_FOR_EACH;
        let options = Options::new().log_capacity(LOG_BYTES);
        let loads = options.clone().cache_size(1 << 30).on_disk(Arc::new(disk.clone()));
        let db = loads.open("bank")?;
        Tables::open(&db)?.load(&db, accounts)?;
        db.close()?;
        let disk = QueueingDisk::new(disk, servers.clone());
        let options = options.cache_size(cache).on_disk(Arc::new(disk));
        Ok(Bank { directory: None, servers: Some(servers), options, accounts })
    }

    /// A bank that the cache holds.
    pub(super) fn in_memory() -> Outcome<Bank> {
        let options = Options::in_memory().cache_size(256 << 20);
        let db = options.clone().open("bank")?;
        Tables::open(&db)?.load(&db, CACHED_ACCOUNTS)?;
        db.close()?;
        Ok(Bank { directory: None, servers: None, options, accounts: CACHED_ACCOUNTS })
    }

    pub(in super::super) fn accounts(&self) -> u64 {
        self.accounts
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// Runs deposits for `time`.
    pub(in super::super) fn run(&self, callers: Callers, time: Duration) -> Outcome<Ran> {
        let db = self.options.clone().open(self.directory())?;
        let tables = Tables::open(&db)?;
        tables.fill_cache(&db, self.accounts)?;
        db.set_staging(DEPOSIT, Some(callers.staging));
        let clients = Arc::new(Clients {
            tables,
            accounts: self.accounts,
            // The history of earlier runs has smaller numbers.
            numbers: AtomicU64::new(since_1970_ns()),
            commits: AtomicU64::new(0),
            stops: AtomicBool::new(false),
            is_async: callers.is_async,
            branch_first: callers.branch_first,
        });
        let options = PipelineOptions::new().agents(callers.agents).tasks(1 << 16);
        let pipeline = Arc::new(options.start(&db)?);
        let (before, memory) = (db.stats().engine, resident_bytes());
        self.set_reads_wait(true);
        let started = Instant::now();
        for client in 0..callers.clients {
            clients.submit(&pipeline, Random::new(u64::from(client)));
        }
        let mut in_flight = (0, 0u64);
        while started.elapsed() < time {
            thread::sleep(Duration::from_millis(5));
            in_flight =
                (in_flight.0 + db.stats().engine.pool.queued_reads_in_flight, in_flight.1 + 1);
        }
        let grown = resident_bytes().saturating_sub(memory);
        let (after, elapsed) = (db.stats().engine, started.elapsed());
        let commits = clients.commits.load(Ordering::Relaxed);
        let disk = self.servers.as_ref().map(ReadServers::stats);
        let types = db.type_stats();
        let staged = types.iter().find(|kind| kind.name == DEPOSIT).map(|kind| kind.staging);
        clients.stops.store(true, Ordering::Relaxed);
        // The callbacks hold the pipeline.
        while Arc::strong_count(&pipeline) > 1 {
            thread::sleep(Duration::from_millis(1));
        }
        drop(pipeline);
        self.set_reads_wait(false);
        db.close()?;
        let mean_in_flight = in_flight.0 as f64 / in_flight.1.max(1) as f64;
        let kib_for_each = grown as f64 / 1024.0 / f64::from(callers.clients);
        let staged = staged.unwrap_or_default();
        Ok(Ran { commits, elapsed, before, after, mean_in_flight, kib_for_each, disk, staged })
    }

    fn set_reads_wait(&self, wait: bool) {
        if let Some(servers) = &self.servers {
            servers.set_on(wait);
            servers.reset_stats();
        }
    }
}

fn since_1970_ns() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_nanos() as u64
}

/// The resident memory of the process, without pages of files.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// The clients of a run: each submits its next deposit when the last one is durable.
struct Clients {
    tables: Tables,
    accounts: u64,
    numbers: AtomicU64,
    commits: AtomicU64,
    stops: AtomicBool,
    is_async: bool,
    branch_first: bool,
}

impl Clients {
    fn submit(self: &Arc<Clients>, pipeline: &Arc<Pipeline>, mut random: Random) {
        if self.stops.load(Ordering::Relaxed) {
            return;
        }
        let deposit = Deposit {
            account: random.below(self.accounts),
            teller: random.below(TELLERS),
            branch: random.below(BRANCHES),
            number: self.numbers.fetch_add(1, Ordering::Relaxed),
            amount: random.below(1_000),
            branch_first: self.branch_first,
        };
        let (next, again) = (Arc::clone(self), Arc::clone(pipeline));
        let done = move |result: Result<()>| {
            next.commits.fetch_add(u64::from(result.is_ok()), Ordering::Relaxed);
            next.submit(&again, random);
        };
        let body = Arc::clone(self);
        // After the close nothing is accepted, and the client ends.
        let _ = if self.is_async {
            pipeline.submit_async_then(
                DEPOSIT,
                async move |mut tx| body.tables.deposit_as_task(&mut tx, deposit).await,
                done,
            )
        } else {
            pipeline.submit_then(DEPOSIT, move |tx| body.tables.deposit(tx, deposit), done)
        };
    }
}

/// The measurements of a run.
pub(in super::super) struct Ran {
    commits: u64,
    elapsed: Duration,
    before: EngineStats,
    after: EngineStats,
    mean_in_flight: f64,
    kib_for_each: f64,
    /// Of the servers, if there are any.
    disk: Option<ServerStats>,
    staged: StagingStats,
}

impl Ran {
    /// The work of the disk for each transaction.
    pub(super) fn work(&self) -> Work {
        let each = |count: fn(&EngineStats) -> u64| {
            (count(&self.after) - count(&self.before)) as f64 / self.commits.max(1) as f64
        };
        Work {
            reads: each(|stats| stats.pool.reads),
            writes: each(|stats| stats.pool.pages_written),
            batches: each(|stats| stats.pool.batches),
            log_bytes: each(|stats| stats.log.flushed_bytes),
        }
    }

    pub(super) fn sample(&self) -> Sample {
        let work = self.work();
        vec![
            ("tps", self.commits as f64 / self.elapsed.as_secs_f64()),
            ("reads/tx", work.reads),
            ("in flight", self.mean_in_flight),
            ("KiB/client", self.kib_for_each),
        ]
    }

    /// The measures of runs behind servers. In flight are all reads, those of threads included.
    pub(in super::super) fn staged_sample(&self) -> Sample {
        let in_flight = self
            .disk
            .as_ref()
            .map_or(0.0, |disk| disk.utilisation() * disk.servers as f64 + disk.waiting_mean);
        let operates = self.staged.operates.max(1) as f64;
        vec![
            ("tps", self.commits as f64 / self.elapsed.as_secs_f64()),
            ("in flight", in_flight),
            ("reads/tx", self.work().reads),
            ("reruns/tx", self.staged.fetch_reruns as f64 / self.commits.max(1) as f64),
            ("mis %", 100.0 * self.staged.mis_prefetches as f64 / operates),
        ]
    }
}

impl fmt::Debug for Bank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bank({} accounts)", self.accounts)
    }
}
