//! Measures the speed of the log. Run by hand, on a quiet machine: `cargo bench -p clearway-log
//! --bench log_speed`.
//!
//! Prints nanoseconds of an insert, commits per second of pipelined clients,
//! commits per second of blocking threads, and the latency of a lone committer beside that of a raw
//! write of the same size. Arguments: a directory for the log (default: a fresh one in the
//! temporary directory), which is removed afterwards.

use std::{
    collections::VecDeque,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Epoch, Lsn, Result, TxnId};
use clearway_disk::{AlignedBuf, Disk, MemoryDisk, OpenMode, OsDisk};
use clearway_log::{Log, LogOptions, Record, record_bytes};

const RUN: Duration = Duration::from_millis(700);

fn main() -> Result<()> {
    let default = || env::temp_dir().join(format!("clearway-log-speed-{}", std::process::id()));
    // `cargo bench` adds `--bench`.
    let given = env::args().skip(1).find(|argument| argument != "--bench");
    let dir = given.map_or_else(default, PathBuf::from);
    for threads in [1, 2] {
        let ns = insert_ns(threads)?;
        println!("insert of 100 bytes, {threads} threads: {ns:.1} ns each");
    }
    for (threads, in_flight) in [(1, 64), (2, 64), (2, 256), (2, 1024)] {
        let log = start(&dir)?;
        let rate = pipelined(&log, threads, in_flight)?;
        let stats = log.stats();
        let each = stats.records as f64 / stats.flushes as f64 - 1.0;
        println!("pipelined, {threads} threads, {in_flight} open: {rate:.0}/s, {each:.1} a group");
        log.close()?;
    }
    for threads in [1, 2, 4, 16, 64] {
        let log = start(&dir)?;
        let rate = blocking(&log, threads)?;
        let stats = log.stats();
        let each = stats.records as f64 / stats.flushes as f64 - 1.0;
        println!("blocking, {threads} threads: {rate:.0}/s, {each:.1} a group");
        log.close()?;
    }
    for _ in 0..3 {
        let log = start(&dir)?;
        let (lone, raw) = lone_commit_and_raw_write_us(&log, &dir)?;
        log.close()?;
        println!("lone commit {lone:.1} µs, raw write {raw:.1} µs, more by {:.1}", lone - raw);
    }
    let _ = fs::remove_dir_all(&dir);
    Ok(())
}

fn start(dir: &Path) -> Result<Arc<Log>> {
    let _ = fs::remove_dir_all(dir);
    let disk = Arc::new(OsDisk::open_dir(dir, true)?);
    let options = LogOptions { capacity_bytes: 4 << 30, ..LogOptions::default() };
    Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO)
}

fn commit(log: &Log, body: &[u8]) -> Result<Lsn> {
    log.reserve_space(record_bytes(body.len()))?;
    let record = Record { kind: 1, txn: TxnId(1), prev: Lsn::ZERO, body: &[body] };
    Ok(log.insert(&record)?.end)
}

/// Without a device: a memory disk, groups in the background.
fn insert_ns(threads: usize) -> Result<f64> {
    const INSERTS: u32 = 1_000_000;
    const ROOM: u64 = 400 << 20;
    let options =
        LogOptions { capacity_bytes: 1 << 30, ring_bytes: 1 << 28, ..LogOptions::default() };
    let log = Log::start(Arc::new(MemoryDisk::new()), options, Lsn::ZERO, Epoch(1), Lsn::ZERO)?;
    log.reserve_space(ROOM)?;
    let body = [7; 68];
    let run = |count: u32| {
        let record = Record { kind: 1, txn: TxnId(1), prev: Lsn::ZERO, body: &[&body] };
        (0..count).try_for_each(|_| log.insert(&record).map(drop))
    };
    // The first lap touches the ring's memory for the first time.
    while log.end().0 < 1 << 28 {
        run(INSERTS / 10)?;
    }
    log.wait_durable(log.end())?;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| run(INSERTS))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let taken = begun.elapsed();
    log.close()?;
    Ok(taken.as_nanos() as f64 / f64::from(INSERTS) / threads as f64)
}

/// Each thread keeps its share of `in_flight` commits under way and waits for the oldest.
fn pipelined(log: &Log, threads: usize, in_flight: usize) -> Result<f64> {
    let begun = Instant::now();
    let agent = || -> Result<u64> {
        let mut pending = VecDeque::new();
        let mut count = 0;
        while begun.elapsed() < RUN {
            while pending.len() < in_flight / threads {
                let lsn = commit(log, &[7; 600 - 32])?;
                log.request_flush(lsn);
                pending.push_back(lsn);
            }
            log.wait_durable(pending.pop_front().expect("it is full"))?;
            count += 1;
            let durable = log.durable();
            while pending.front().is_some_and(|&lsn| lsn <= durable) {
                pending.pop_front();
                count += 1;
            }
        }
        Ok(count)
    };
    rate(threads, agent, begun)
}

fn blocking(log: &Log, threads: usize) -> Result<f64> {
    let begun = Instant::now();
    let agent = || -> Result<u64> {
        let mut count = 0;
        while begun.elapsed() < RUN {
            log.wait_durable(commit(log, &[7; 600 - 32])?)?;
            count += 1;
        }
        Ok(count)
    };
    rate(threads, agent, begun)
}

fn rate(threads: usize, agent: impl Fn() -> Result<u64> + Sync, begun: Instant) -> Result<f64> {
    let total: u64 = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..threads).map(|_| scope.spawn(&agent)).collect();
        agents.into_iter().map(|agent| agent.join().expect("no panic")).sum::<Result<u64>>()
    })?;
    Ok(total as f64 / begun.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Medians, taken in turn so that both meet the same machine.
fn lone_commit_and_raw_write_us(log: &Log, dir: &Path) -> Result<(f64, f64)> {
    let disk = OsDisk::open_dir(dir, true)?;
    let file = disk.open("raw", OpenMode::Create)?;
    file.write_at(&AlignedBuf::new(4 << 20), 0)?;
    file.sync_all()?;
    let buf = AlignedBuf::new(1024);
    let (mut lone, mut raw) = (Vec::new(), Vec::new());
    for i in 0..2000 {
        let begun = Instant::now();
        log.wait_durable(commit(log, &[7; 600 - 32])?)?;
        lone.push(begun.elapsed().as_nanos() as f64 / 1000.0);
        let begun = Instant::now();
        file.write_durable_at(&buf, i * 1024)?;
        raw.push(begun.elapsed().as_nanos() as f64 / 1000.0);
    }
    Ok((median(lone), median(raw)))
}
