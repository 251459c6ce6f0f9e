//! Measures how the order and the length of keys affect a table: loads in every order over loads in
//! ascending order. Each load is read back, verified, reopened and read again.

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

use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct KeyOrders {
    /// Rows of 16 + 100 bytes in each order, for runs of a second; shorter runs have fewer
    #[arg(long, default_value_t = 1_000_000, value_parser = count())]
    rows: u64,
    /// Rows in each order with each mixture of lengths, unless they reach 1 GiB before
    #[arg(long, default_value_t = 100_000, value_parser = count())]
    mixed_rows: u64,
}

/// Returns the parser of a number of rows, which is limited to the number of keys that a pattern
/// has.
fn count() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..1 << 24)
}

/// The bytes of a key and of a value in the loads of equal rows.
const KEY_LEN: usize = 16;
const VALUE_LEN: usize = 100;
/// The number of rows that one transaction writes.
const BATCH: usize = 200;
/// A load ends when it has written this number of bytes.
const BYTES_MAX: u64 = 1 << 30;
/// The maximum ratio of the time of a load in any order to that of an ascending one.
const TIMES_MAX: f64 = 3.0;
/// The same ratio with mixtures of lengths, for the same number of bytes.
const MIXED_TIMES_MAX: f64 = 4.0;
/// A cache that holds all rows of equal length: the default of a database.
const LARGE_CACHE: u64 = 1 << 30;
/// A cache that does not hold all loaded data, so that pages are written and read again.
const SMALL_CACHE: u64 = 64 << 20;
const LOG_BYTES: u64 = 512 << 20;

/// The loaded rows, and the cache of the database.
pub(super) struct Point {
    lengths: Lengths,
    limits: Limits,
    /// The length of all values; if `None`, they have the pattern's own lengths.
    value_len: Option<usize>,
    rows: u64,
    cache: u64,
}

/// Returns the number of rows, which is smaller for runs that are shorter than a second.
fn scaled(lab: &Lab, rows: u64) -> u64 {
    ((rows as f64 * lab.time.as_secs_f64().min(1.0)) as u64).max(1)
}

/// Returns the orders, the ascending one first.
fn orders() -> Vec<(&'static str, Order)> {
    let distinct = Order::ALL.into_iter().filter(|order| order.is_distinct());
    distinct.map(|order| (order.name(), order)).collect()
}

impl KeyOrders {
    fn equal(&self, lab: &Lab) -> [(String, Point); 2] {
        [LARGE_CACHE, SMALL_CACHE].map(|cache| {
            let point = Point {
                lengths: Lengths::Longest,
                limits: Limits { key_len_max: KEY_LEN, ..Limits::of_node(PAGE_SIZE) },
                value_len: Some(VALUE_LEN),
                rows: scaled(lab, self.rows),
                cache,
            };
            (format!("cache of {} MiB", cache >> 20), point)
        })
    }

    fn mixed(&self, lab: &Lab) -> Vec<(&'static str, Point)> {
        let rows = scaled(lab, self.mixed_rows);
        let point = |lengths: Lengths| {
            let limits = Limits::of_node(PAGE_SIZE);
            (lengths.name(), Point { lengths, limits, value_len: None, rows, cache: SMALL_CACHE })
        };
        Lengths::ALL.into_iter().map(point).collect()
    }
}

impl Experiment for KeyOrders {
    const ABOUT: About = About {
        name: "key_orders",
        source: "nothing: a guarantee for applications that load tables",
        shows: "rows in any order load in at most 3 times the time of ascending ones, if the cache \
                holds them or the order is not random, and with keys and values of any lengths at \
                no less than a quarter of the bytes a second",
        seconds: 1.0,
        repetitions: 1,
    };
    type Point = Point;
    type Variant = Order;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("rows of equal length", scaled(lab, self.rows));
        found.setting("rows of mixed lengths", scaled(lab, self.mixed_rows));
        Ok(vec![
            Grid::new("rows of equal length", "rows/s", self.equal(lab), orders()),
            Grid::new("mixtures of lengths", "MB/s", self.mixed(lab), orders()),
        ])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let Point { lengths, limits, value_len, rows, cache } = *run.point;
        load(pattern(*run.variant, lengths, run.repetition, limits), rows, value_len, cache)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let (equal, mixed) = (&seen.grids[0], &seen.grids[1]);
        for (at, (name, point)) in self.equal(seen.lab).iter().enumerate() {
            for (variant, (order_name, order)) in orders().into_iter().enumerate() {
                // Each row in random order needs a leaf that a small cache has evicted.
                if point.cache == SMALL_CACHE && order == Order::Random {
                    continue;
                }
                let what = format!("{order_name}, {name}");
                found.at_least(what, 1.0 / TIMES_MAX, equal.over(at, variant, 0));
            }
        }
        for (at, lengths) in mixed.points.iter().enumerate() {
            for (variant, order) in mixed.variants.iter().enumerate() {
                let what = format!("{order}, {lengths}");
                found.at_least(what, 1.0 / MIXED_TIMES_MAX, mixed.over(at, variant, 0));
            }
        }
    }
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

/// The expected rows of a load: the length and checksum of each value.
type Rows = BTreeMap<Vec<u8>, (usize, u32)>;

/// Loads `rows` rows of a pattern, with values of `value_len` bytes or of the pattern's own
/// lengths, and checks the contents afterwards.
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

/// Checks that the database passes verification and has exactly the expected rows, in a scan and in
/// single reads.
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
