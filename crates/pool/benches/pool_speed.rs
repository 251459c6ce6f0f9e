//! Measures the cost of the pool's operations.
//!
//! ```text
//! cargo bench -p clearway-pool --bench pool_speed               # everything
//! valgrind --tool=callgrind … pool_speed optimistic 1000000     # one hit operation
//! ```
//!
//! Hits are measured on one thread over resident pages; misses with data ten times the cache, on
//! files in a temporary directory. Hits print the best of five rounds.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Lsn, PAGE_SIZE, PageId, Result};
use clearway_disk::{MemoryDisk, OsDisk};
use clearway_pool::{Pool, PoolOptions, Wal};
use clearway_testkit::Random;

/// A log that is always durable.
struct NoLog(AtomicU64);

impl NoLog {
    fn insert(&self) -> Lsn {
        Lsn(self.0.fetch_add(100, Ordering::Relaxed) + 100)
    }
}

impl Wal for NoLog {
    fn durable(&self) -> Lsn {
        self.end()
    }

    fn make_durable(&self, _: Lsn) -> Result<()> {
        Ok(())
    }

    fn end(&self) -> Lsn {
        Lsn(self.0.load(Ordering::Relaxed))
    }
}

/// Pages of the hit measurements: 512 KiB, about the second-level cache.
const HOT_PAGES: u32 = 64;

fn page(round: u64) -> PageId {
    PageId((round as u32).wrapping_mul(2_654_435_761) % HOT_PAGES)
}

const HITS: [&str; 8] =
    ["nothing", "optimistic", "validate", "read_key", "shared", "exclusive", "change", "upgrade"];

/// Runs one hit operation `rounds` times.
fn hit(pool: &Pool, operation: &str, rounds: u64) -> u64 {
    let mut sum = 0;
    match operation {
        "nothing" => (0..rounds).for_each(|round| sum += u64::from(black_box(page(round)).0)),
        "optimistic" => (0..rounds).for_each(|round| {
            black_box(pool.optimistic(page(round)).unwrap());
        }),
        "validate" => (0..rounds).for_each(|round| {
            let page = pool.optimistic(page(round)).unwrap();
            sum += u64::from(page.read_u32(32));
            page.validate().unwrap();
        }),
        "read_key" => (0..rounds).for_each(|round| {
            let page = pool.optimistic(page(round)).unwrap();
            let order = page.compare(4000 + (round as usize & 7), 16, b"0123456789abcdef");
            sum += order as u64;
            page.validate().unwrap();
        }),
        "shared" => {
            (0..rounds).for_each(|round| sum += pool.shared(page(round)).unwrap()[40] as u64)
        }
        "exclusive" => (0..rounds).for_each(|round| {
            pool.exclusive(page(round)).unwrap()[40] += 1;
        }),
        "change" => (0..rounds).for_each(|round| {
            let mut page = pool.exclusive(page(round)).unwrap();
            page.begin_change();
            page[40] += 1;
            page.finish_change(Lsn(round));
        }),
        "upgrade" => (0..rounds).for_each(|round| {
            let page = pool.optimistic(page(round)).unwrap();
            page.latch_exclusive().unwrap()[40] += 1;
        }),
        other => panic!("no operation {other}; there are {HITS:?}"),
    }
    sum
}

fn hits(pool: &Pool) {
    println!("hits, one thread            ns");
    let mut empty = 0.0;
    for operation in HITS {
        let rounds = 2_000_000;
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            black_box(hit(pool, operation, rounds));
            best = best.min(start.elapsed());
        }
        let ns = best.as_nanos() as f64 / rounds as f64;
        if operation == "nothing" {
            empty = ns;
        }
        println!("  {operation:20} {:8.1}", ns - empty);
    }
}

/// Uniform accesses to ten times the cache, half of them changes.
fn misses(cache_bytes: u64, threads: u64, seconds: u64) {
    let directory = tempfile::tempdir().unwrap();
    let disk = OsDisk::open_dir(directory.path(), true).unwrap();
    let wal = Arc::new(NoLog(AtomicU64::new(1)));
    let options = PoolOptions { cache_bytes, ..PoolOptions::default() };
    let pool = Pool::open(&disk, wal.clone(), options).unwrap();
    let pages = (10 * cache_bytes / PAGE_SIZE as u64) as u32;
    let load = Instant::now();
    for id in 0..pages {
        pool.ensure_len(PageId(id)).unwrap();
        let mut page = pool.format(PageId(id)).unwrap();
        page.begin_change();
        page[100] = id as u8;
        page.finish_change(wal.insert());
    }
    let loaded = load.elapsed();
    let before = pool.stats();
    let start = Instant::now();
    thread::scope(|scope| {
        for seed in 1..=threads {
            let (pool, wal) = (&pool, &wal);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                while start.elapsed() < Duration::from_secs(seconds) {
                    let id = PageId(random.below(u64::from(pages)) as u32);
                    if random.one_in(2) {
                        let mut page = pool.exclusive(id).unwrap();
                        assert_eq!(page[100], id.0 as u8);
                        page.begin_change();
                        page[101] = page[101].wrapping_add(1);
                        page.finish_change(wal.insert());
                    } else {
                        assert_eq!(pool.shared(id).unwrap()[100], id.0 as u8);
                    }
                }
            });
        }
    });
    let after = pool.stats();
    let per_second = |count: u64| count as f64 / start.elapsed().as_secs_f64();
    println!("data ten times the cache ({threads} threads, half changes)");
    println!("  load            {:10.0} pages/s", f64::from(pages) / loaded.as_secs_f64());
    println!("  misses          {:10.0} /s", per_second(after.misses - before.misses));
    println!(
        "  pages written   {:10.0} /s",
        per_second(after.pages_written - before.pages_written)
    );
    println!("  batches         {:10}", after.batches - before.batches);
    println!("  by threads in need {:7}", after.foreground_batches - before.foreground_batches);
    println!("  resident        {:10} of {cache_bytes} bytes", pool.resident_bytes());
    println!("  process         {:10} bytes", resident_bytes_of_process());
    pool.close().unwrap();
}

fn resident_bytes_of_process() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|field| field.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let arguments: Vec<String> = arguments.collect();
    let wal = Arc::new(NoLog(AtomicU64::new(1)));
    let pool = Pool::open(&MemoryDisk::new(), wal, PoolOptions::default()).unwrap();
    for id in 0..HOT_PAGES {
        pool.format(PageId(id)).unwrap().begin_change();
    }
    if let [operation, rounds] = &arguments[..] {
        black_box(hit(&pool, operation, rounds.parse().unwrap()));
        return;
    }
    hits(&pool);
    misses(64 << 20, 2, 3);
}
