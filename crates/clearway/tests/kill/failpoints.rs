//! The process is killed at failpoints of the engine, in chains of five incarnations. Each
//! incarnation opens what the one before it left, and is killed at another point.
//!
//! `CLEARWAY_KILL_AT=copies-safe:2,change-redone:9` runs one chain, as the report of a failed chain
//! says; `CLEARWAY_KILL_ROUNDS` is the number of chains for each point.

use std::{os::unix::process::ExitStatusExt, path::Path, time::Duration};

use clearway_base::failpoint::Failpoint;
use clearway_testkit::Drawn;
use clearway_testkit::Random;

use super::{Acknowledged, Totals, Victim, directory, options, setting};
use crate::{child::Role, patterned::order_of, restless};

/// Chains for each point, unless the environment says otherwise.
const ROUNDS: u64 = 1;
/// Incarnations between two checks of the directory.
const CHAIN: usize = 5;
/// Upper bound on the time until a child reaches its point; then it is killed where it is.
const PATIENCE: Duration = Duration::from_secs(4);
/// Incarnations in which a point that must be passed may be reached. The points of redo, for
/// example, are passed only if the incarnation before was killed in the middle of its work.
const TRIES: usize = 6;
/// Upper bound on the chains of one incarnation, for orders of keys that the others did not load.
const LATE_CHAINS_MAX: u64 = 60;
const SIGKILL: i32 = 9;

/// The point at which an incarnation is killed, and how often it is passed until then.
#[derive(Clone, Copy)]
struct Stop {
    point: Failpoint,
    passage: u64,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.point.name(), self.passage)
    }
}

impl Stop {
    fn parse(text: &str) -> Stop {
        let (name, passage) = text.split_once(':').expect("point:passage");
        let point = Failpoint::ALL.iter().copied().find(|point| point.name() == name);
        let point = point.unwrap_or_else(|| panic!("there is no failpoint {name}"));
        Stop { point, passage: passage.parse().expect("a number") }
    }

    /// Runs a child until it is killed at this point, or for [`PATIENCE`]. Returns true if it was
    /// killed at the point.
    fn run_child(self, path: &Path, seed: u64, acknowledged: &mut Acknowledged) -> bool {
        let wrapper =
            ["env".to_string(), format!("{}={self}", clearway_testkit::failpoint::VARIABLE)];
        let victim = Victim::start_under(&wrapper, path, Role::Restless, seed);
        let status = victim.die(acknowledged, PATIENCE);
        if let Some(status) = status {
            // No other process sends that signal.
            let killed = status.signal() == Some(SIGKILL);
            assert!(killed, "the child of {self} ended by itself: {status}");
        }
        status.is_some()
    }

    /// Whether at least one of [`TRIES`] children must reach this point.
    fn is_sure(self) -> bool {
        self.passage <= early(self.point)
    }
}

/// Whether the point is passed only once, at the creation of the database.
fn is_of_creation(point: Failpoint) -> bool {
    use Failpoint::{CreationBlank, CreationLogged, CreationUnmarked};
    matches!(point, CreationBlank | CreationLogged | CreationUnmarked)
}

/// Returns the highest passage that a child reaches within about a second.
fn passage_max(point: Failpoint) -> u64 {
    use Failpoint as P;
    match point {
        point if is_of_creation(point) => 1,
        P::PagesRepaired | P::EpochRaised | P::LogAnalysed | P::EpochBegun => 3,
        P::LosersUndone | P::LogNotClosed | P::LogClosed => 3,
        P::CommitLogged | P::CommitReleased | P::ChangeUndone | P::ChangeRedone => 400,
        P::GroupFormed | P::GroupWritten | P::GroupCompleted => 200,
        P::StructureLogged | P::FreeBegun => 40,
        _ => 8,
    }
}

/// Returns the highest passage that one of [`TRIES`] children reaches for certain.
fn early(point: Failpoint) -> u64 {
    (passage_max(point) / 10).max(1)
}

/// Returns chains that contain every point once; in the first round with an early passage, which
/// must be reached.
fn chains(random: &mut Random, round: u64) -> Vec<Vec<Stop>> {
    let mut points: Vec<Failpoint> = Failpoint::ALL.to_vec();
    random.shuffle(&mut points);
    // Points of the creation come first, one after the other in the same directory.
    points.sort_by_key(|point| !is_of_creation(*point));
    let stop = |point| {
        let last = if round == 0 { early(point) } else { passage_max(point) };
        Stop { point, passage: 1 + random.below(last) }
    };
    let stops: Vec<Stop> = points.into_iter().map(stop).collect();
    stops.chunks(CHAIN).map(<[Stop]>::to_vec).collect()
}

/// Returns a stop at a later passage than those of the first round.
fn late(random: &mut Random) -> Stop {
    let points: Vec<Failpoint> =
        Failpoint::ALL.iter().copied().filter(|point| early(*point) > 1).collect();
    let point = points[random.below(points.len() as u64) as usize];
    let (from, to) = (early(point), passage_max(point));
    Stop { point, passage: from + random.below(to - from) + 1 }
}

/// A chain of stops. Prints how to run it again if it fails.
struct Chain {
    stops: Vec<Stop>,
    seed: u64,
}

impl Drop for Chain {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let stops: Vec<String> = self.stops.iter().map(Stop::to_string).collect();
            eprintln!(
                "to repeat it: CLEARWAY_KILL_AT={} CLEARWAY_KILL_SEED={} cargo test --profile \
                 prove -p clearway --test kill failpoints -- --ignored",
                stops.join(","),
                self.seed
            );
        }
    }
}

impl Chain {
    /// Runs all incarnations and checks the database. Returns the number that were killed at their
    /// point, the number of acknowledged transactions, and the patterns of keys that were loaded.
    fn run(&self) -> (u64, Totals, Drawn) {
        let (place, mut acknowledged) = (directory(), Acknowledged::default());
        let path = place.path().join("db");
        let mut hits = 0;
        for (number, stop) in self.stops.iter().enumerate() {
            let seed = self.seed + number as u64;
            let tries = if stop.is_sure() { TRIES } else { 1 };
            let is_hit = (0..tries).any(|_| stop.run_child(&path, seed, &mut acknowledged));
            assert!(is_hit || !stop.is_sure(), "{stop} is never passed");
            hits += u64::from(is_hit);
        }
        let db = options(Role::Restless, self.seed).open(&path).unwrap();
        let drawn = restless::check(&db, &acknowledged);
        db.verify().unwrap();
        db.close().unwrap();
        (hits, acknowledged.totals(), drawn)
    }
}

#[test]
#[ignore = "a lane of its own: cargo xtask prove --lane kill"]
fn killed_at_a_failpoint_a_database_keeps_every_acknowledged_transaction() {
    let seed = setting("CLEARWAY_KILL_SEED", 1);
    if let Ok(line) = std::env::var("CLEARWAY_KILL_AT") {
        let chain = Chain { stops: line.split(',').map(Stop::parse).collect(), seed };
        let (hits, acknowledged, _) = chain.run();
        println!("{hits} kills, {acknowledged}, all found");
        return;
    }
    let mut random = Random::new(seed ^ 0xFA11);
    let (mut runs, mut hits, mut acknowledged) = (0, 0, Totals::default());
    let mut drawn = Drawn::default();
    for round in 0..setting("CLEARWAY_KILL_ROUNDS", ROUNDS).max(1) {
        for stops in chains(&mut random, round) {
            runs += stops.len();
            let chain = Chain { stops, seed: seed + runs as u64 };
            let (chain_hits, chain_acknowledged, met) = chain.run();
            drawn.merge(&met);
            hits += chain_hits;
            acknowledged.add(chain_acknowledged);
        }
    }
    // Incarnations that end early load little, so some orders may be missing yet.
    for _ in 0..LATE_CHAINS_MAX {
        let Some(order) = drawn.missing_orders().into_iter().next() else { break };
        let first =
            (seed + runs as u64..).find(|number| order_of(*number).name() == order).unwrap();
        let chain = Chain { stops: vec![late(&mut random)], seed: first };
        let (chain_hits, chain_acknowledged, met) = chain.run();
        drawn.merge(&met);
        runs += 1;
        hits += chain_hits;
        acknowledged.add(chain_acknowledged);
    }
    let points = Failpoint::ALL.len();
    println!("{drawn}");
    assert_eq!(drawn.missing_orders(), Vec::<&str>::new(), "orders that no incarnation has loaded");
    println!(
        "{hits} of {runs} processes died at one of {points} failpoints, {acknowledged}, all found"
    );
    assert!(hits * 2 > runs as u64, "most passages were never reached");
    acknowledged.assert_both_drivers();
    assert!(acknowledged.all > hits, "the load acknowledged next to nothing");
}
