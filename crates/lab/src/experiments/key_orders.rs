//! Whether a table cares in which order its keys come, and how long they are: loads in every order
//! over loads in ascending order. Each load is read back, verified, reopened and read again.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::{Args, builder::RangedU64ValueParser};
use clearway::{AbsoluteMode, Database, Options as DatabaseOptions};
use clearway_base::{KEY_LEN_MAX, PAGE_SIZE, crc32c};
use clearway_disk::MemoryDisk;
use clearway_testkit::{Lengths, Limits, Order, Pattern, Random, Removal, Step, Values};

use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "key_orders",
    source: "nothing: a promise to those who load tables",
    shows: "rows in any order load in at most 3 times the time of ascending ones, if the cache \
            holds them or the order is not random, and with keys and values of any lengths at no \
            less than a quarter of the bytes a second",
    seconds: 1.0,
    repetitions: 1,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Rows of 16 + 100 bytes in each order, for runs of a second; fewer in shorter ones
    #[arg(long, default_value_t = 1_000_000, value_parser = count())]
    rows: u64,
    /// Rows in each order with each mixture of lengths, if they do not come to 1 GiB before
    #[arg(long, default_value_t = 100_000, value_parser = count())]
    mixed_rows: u64,
}

/// As many rows as a pattern has keys for.
fn count() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..1 << 24)
}

/// Bytes of a key and of a value in the loads of equal rows.
const KEY_LEN: usize = 16;
const VALUE_LEN: usize = 100;
/// Rows of one transaction.
const BATCH: usize = 200;
/// A load ends when it has written this much.
const BYTES_MAX: u64 = 1 << 30;
/// A load in any order takes at most this many times the time of an ascending one.
const TIMES_MAX: f64 = 3.0;
/// The same with mixtures of lengths, by bytes.
const MIXED_TIMES_MAX: f64 = 4.0;
/// More than the rows of equal length take: the default of a database.
const LARGE_CACHE: u64 = 1 << 30;
/// Less than what is loaded, so that pages are written and read again.
const SMALL_CACHE: u64 = 64 << 20;
const LOG_BYTES: u64 = 512 << 20;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let share = lab.time.as_secs_f64().min(1.0);
    let scaled = |rows: u64| ((rows as f64 * share) as u64).max(1);
    let orders: Vec<Order> = Order::ALL.into_iter().filter(|order| order.is_distinct()).collect();
    let names: Vec<String> = orders.iter().map(|order| order.name().to_string()).collect();

    let equal_limits = Limits { key_len_max: KEY_LEN, ..Limits::of_node(PAGE_SIZE) };
    let caches = [LARGE_CACHE, SMALL_CACHE];
    let points = caches.map(|bytes| format!("cache of {} MiB", bytes >> 20)).to_vec();
    let equal = Samples::take(points, names.clone(), lab.repetitions, |cache, order, n| {
        let pattern = pattern(orders[order], Lengths::Longest, n, equal_limits);
        load(pattern, scaled(options.rows), Some(VALUE_LEN), caches[cache])
    })?;
    let mixtures: Vec<String> = Lengths::ALL.iter().map(|l| l.name().to_string()).collect();
    let mixed = Samples::take(mixtures, names, lab.repetitions, |lengths, order, repetition| {
        let limits = Limits::of_node(PAGE_SIZE);
        let pattern = pattern(orders[order], Lengths::ALL[lengths], repetition, limits);
        load(pattern, scaled(options.mixed_rows), None, SMALL_CACHE)
    })?;

    let mut claims = Vec::new();
    for (cache, point) in equal.points.iter().enumerate() {
        for (order, variant) in equal.variants.iter().enumerate() {
            // Each row in random order needs a leaf that a small cache has given up.
            if caches[cache] == SMALL_CACHE && orders[order] == Order::Random {
                continue;
            }
            let ratio = equal.ratio(cache, order, 0, "rows/s").median;
            let what = format!("{variant}, {point}");
            claims.push(Claim::at_least(&what, 1.0 / TIMES_MAX, ratio));
        }
    }
    for (lengths, point) in mixed.points.iter().enumerate() {
        for (order, variant) in mixed.variants.iter().enumerate() {
            let ratio = mixed.ratio(lengths, order, 0, "MB/s").median;
            let what = format!("{variant}, {point}");
            claims.push(Claim::at_least(&what, 1.0 / MIXED_TIMES_MAX, ratio));
        }
    }
    Ok(Findings {
        settings: vec![
            ("rows of equal length", scaled(options.rows).into()),
            ("rows of mixed lengths", scaled(options.mixed_rows).into()),
        ],
        claims,
        grids: vec![
            Grid { title: "rows of equal length", samples: equal, measure: "rows/s", baseline: 0 },
            Grid { title: "mixtures of lengths", samples: mixed, measure: "MB/s", baseline: 0 },
        ],
    })
}

fn pattern(order: Order, lengths: Lengths, repetition: u32, limits: Limits) -> Pattern {
    Pattern {
        lengths,
        values: Values::Mixed,
        removal: Removal::Nothing,
        has_empty_key: limits.key_len_max == KEY_LEN_MAX,
        has_long_prefix: false,
        ..Pattern::with_order(order, &mut Random::new(u64::from(repetition) + 1), limits)
    }
}

/// What the rows of a load are: the length and checksum of each value.
type Rows = BTreeMap<Vec<u8>, (usize, u32)>;

/// Loads `rows` rows of a pattern, with values of `value_len` bytes or of the pattern's own
/// lengths, and checks what is there then.
fn load(pattern: Pattern, rows: u64, value_len: Option<usize>, cache: u64) -> Outcome<Sample> {
    let disk = MemoryDisk::new();
    let db = open(&disk, cache)?;
    let table = db.create_table("rows")?;
    let mut steps = pattern.steps(rows).peekable();
    let mut expected = Rows::new();
    let (mut time, mut count, mut bytes) = (Duration::ZERO, 0, 0);
    while steps.peek().is_some() && bytes < BYTES_MAX {
        let mut batch: Vec<Step> = steps.by_ref().take(BATCH).collect();
        for step in &mut batch {
            match step {
                Step::Put { key, value } => {
                    value.resize(value_len.unwrap_or(value.len()), 7);
                    bytes += (key.len() + value.len()) as u64;
                    expected.insert(key.clone(), (value.len(), crc32c(value)));
                }
                Step::Delete { key } => drop(expected.remove(key)),
            }
        }
        count += batch.len();
        let started = Instant::now();
        db.transact("load", |tx| {
            batch.iter().try_for_each(|step| match step {
                Step::Put { key, value } => tx.put(&table, key, value).map(drop),
                Step::Delete { key } => tx.delete(&table, key),
            })
        })?;
        time += started.elapsed();
    }
    check(&db, &expected)?;
    db.close()?;
    check(&open(&disk, cache)?, &expected)?;
    let seconds = time.as_secs_f64();
    let megabytes = bytes as f64 / 1e6;
    Ok(vec![("rows/s", count as f64 / seconds), ("MB/s", megabytes / seconds)])
}

fn open(disk: &MemoryDisk, cache: u64) -> Outcome<Database> {
    let options = DatabaseOptions::new().cache_size(cache).log_capacity(LOG_BYTES);
    Ok(options.on_disk(Arc::new(disk.clone())).open("lab")?)
}

/// That the database is sound and has exactly the expected rows, in a scan and one by one.
fn check(db: &Database, expected: &Rows) -> Outcome<()> {
    db.verify()?;
    let table = db.open_table("rows")?;
    db.transact("check", |tx| {
        tx.lock_table(&table, AbsoluteMode::Shared)?;
        let mut rows = expected.iter();
        for row in tx.scan(&table, ..) {
            let (key, value) = row?;
            let found = (&key, &(value.len(), crc32c(&value)));
            assert_eq!(rows.next(), Some(found), "a row differs, is missing, or is too many");
        }
        assert_eq!(rows.next(), None, "a row is missing");
        for (key, row) in expected {
            let value = tx.get(&table, key)?;
            let found = value.map(|value| (value.len(), crc32c(&value)));
            assert_eq!(found, Some(*row), "the row of {key:02x?}");
        }
        Ok(())
    })?;
    Ok(())
}
