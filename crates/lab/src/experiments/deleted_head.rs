//! Reads the first row of a table after the rows in front of it have been deleted, or after their
//! insertion has been rolled back. The consumer of a queue reads in this way all the time. Once
//! upkeep has reclaimed the ghosts, a read costs the same as in a table without deletions; the
//! claim allows a factor of two.

use std::{
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use clearway::{Database, Options as DatabaseOptions, Table};

use crate::{
    callgrind::Case,
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
};

#[derive(Args, Debug)]
pub(super) struct DeletedHead {
    /// Rows in front of the first, for runs of half a second; shorter runs have fewer
    #[arg(long, default_value_t = GHOSTS, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
}

/// The history of the rows in front of the first row.
#[derive(Clone, Copy)]
pub(super) enum History {
    Nothing,
    Deleted,
    RolledBack,
}

const HISTORIES: [(&str, History); 3] = [
    ("nothing deleted", History::Nothing),
    ("deleted", History::Deleted),
    ("insertion rolled back", History::RolledBack),
];

const GHOSTS: u64 = 100_000;
/// The number of rows behind those.
const ROWS: u64 = 1_000;
/// The number of rows that one transaction writes.
const BATCH: u64 = 200;
/// The number of searches whose instructions are counted.
const ROUNDS: u64 = 20_000;
/// The maximum ratio of a search's instructions after deletions to those without.
const TIMES_MAX: f64 = 2.0;
const IDLE_MAX: Duration = Duration::from_secs(120);

impl DeletedHead {
    /// Returns the number of rows in front of the first.
    fn ghosts(&self, lab: &Lab) -> u64 {
        let share = (lab.time.as_secs_f64() / Self::ABOUT.seconds).min(1.0);
        ((self.rows as f64 * share) as u64).max(1)
    }
}

impl Experiment for DeletedHead {
    const ABOUT: About = About {
        name: "deleted_head",
        source: "nothing: a guarantee for applications that use a table as a queue",
        shows: "once upkeep is idle, the first row behind 100,000 deleted ones is found with at \
                most twice the instructions of the same search without deletions",
        seconds: 0.5,
        repetitions: 5,
    };
    const CASES: &'static [Case] = &[
        case("nothing-deleted", |rounds| first_rows(History::Nothing, rounds)),
        case("deleted", |rounds| first_rows(History::Deleted, rounds)),
        case("rolled-back", |rounds| first_rows(History::RolledBack, rounds)),
    ];
    type Point = ();
    type Variant = History;

    fn counted(&self) -> Option<Grid<(), ()>> {
        let title = "instructions of a search (counted once)";
        let variants = HISTORIES.map(|(name, _)| (name, ()));
        Some(Grid::new(title, "instructions", [("first row", ())], variants))
    }

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("rows in front", self.ghosts(lab));
        Ok(vec![Grid::new("searches", "searches/s", [("first row", ())], HISTORIES)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        measure(*run.variant, self.ghosts(run.lab), run.lab.time)
    }

    /// Compares instructions, or throughput if instructions were not counted.
    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for (n, (variant, _)) in HISTORIES.iter().enumerate().skip(1) {
            if let Some(counted) = &seen.counted {
                let what = format!("{variant}, instructions");
                found.at_most(what, TIMES_MAX, counted.over(0, n, 0));
            } else {
                let what = format!("{variant}, searches/s");
                found.at_least(what, 1.0 / TIMES_MAX, seen.grids[0].over(0, n, 0));
            }
        }
    }
}

const fn case(name: &'static str, run: fn(u64) -> Outcome<()>) -> Case {
    Case { name, rounds: ROUNDS, run }
}

fn prepare(history: History, ghosts: u64) -> Outcome<(Database, Table)> {
    let options = DatabaseOptions::in_memory().cache_size(64 << 20).log_capacity(256 << 20);
    let db = options.open("lab")?;
    let table = db.table("queue")?;
    put(&db, &table, ghosts..ghosts + ROWS)?;
    match history {
        History::Nothing => {}
        History::Deleted => {
            put(&db, &table, 0..ghosts)?;
            for first in (0..ghosts).step_by(BATCH as usize) {
                let mut rows = first..ghosts.min(first + BATCH);
                db.transact("delete", |tx| {
                    rows.try_for_each(|row| tx.delete(&table, row.to_be_bytes()))
                })?;
            }
        }
        History::RolledBack => {
            let mut tx = db.begin();
            (0..ghosts).try_for_each(|row| tx.put(&table, row.to_be_bytes(), [7; 20]).map(drop))?;
            tx.rollback()?;
        }
    }
    wait_for_upkeep(&db)?;
    Ok((db, table))
}

fn put(db: &Database, table: &Table, rows: std::ops::Range<u64>) -> Outcome<()> {
    for first in rows.clone().step_by(BATCH as usize) {
        let mut batch = first..rows.end.min(first + BATCH);
        db.transact("put", |tx| {
            batch.try_for_each(|row| tx.put(table, row.to_be_bytes(), [7; 20]).map(drop))
        })?;
    }
    Ok(())
}

/// Waits until no upkeep is pending.
fn wait_for_upkeep(db: &Database) -> Outcome<()> {
    let begun = Instant::now();
    loop {
        let engine = db.stats().engine;
        if engine.upkeep_leaves == 0 && engine.upkeep_walks == 0 {
            return Ok(());
        }
        if begun.elapsed() > IDLE_MAX {
            return Err(format!("upkeep is still pending after {IDLE_MAX:?}").into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Reads the first row in a transaction of its own.
fn first_row(db: &Database, table: &Table, expected: u64) -> Outcome<()> {
    let first = db.transact("first", |tx| tx.scan(table, ..).next().transpose())?;
    match first {
        Some((key, _)) if key == expected.to_be_bytes() => Ok(()),
        other => Err(format!("row {expected} is not the first: {other:?}").into()),
    }
}

fn measure(history: History, ghosts: u64, time: Duration) -> Outcome<Sample> {
    let (db, table) = prepare(history, ghosts)?;
    let (begun, mut searches) = (Instant::now(), 0);
    while begun.elapsed() < time {
        first_row(&db, &table, ghosts)?;
        searches += 1;
    }
    Ok(vec![("searches/s", f64::from(searches) / begun.elapsed().as_secs_f64())])
}

fn first_rows(history: History, rounds: u64) -> Outcome<()> {
    let (db, table) = prepare(history, GHOSTS)?;
    (0..rounds).try_for_each(|_| first_row(&db, &table, GHOSTS))
}
