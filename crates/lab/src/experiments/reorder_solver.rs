//! The time to find the best order: table 5 of the paper.

mod sources;

use std::{
    cell::RefCell,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use clearway_reorder::solve::{Before, Limits, Problem, UnitCost, lp};
use clearway_testkit::Random;

use super::reorder::{
    formulation,
    rewriting::Tool,
    workload::{System, examples},
};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::greatest,
};

#[derive(Args)]
pub(super) struct Solver {
    /// The time that the other solver has for a program, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    limit: f64,
    /// Also give all generated instances to the other solver, which takes ten minutes
    #[arg(long)]
    full: bool,
    /// The tool for MariaDB with TPC-C.
    #[arg(skip)]
    tool: RefCell<Option<Tool>>,
}

/// The generated instances: seeds, units, queries among them, and pairwise constraints.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
const UNITS: usize = 121;
const QUERIES: usize = 25;
const CONSTRAINTS: std::ops::RangeInclusive<u32> = 3_000..=4_000;
/// The greatest times in milliseconds.
const TRADE_ORDER_MS: f64 = 10.0;
const INSTANCE_MS: f64 = 1_000.0;
const FILE_MS: f64 = 5_000.0;

/// The work that is measured.
pub(super) enum Point {
    /// The order of a transaction's units.
    Order(Problem),
    /// The rewriting of a whole file.
    File(String),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Variant {
    /// The crate's own solver.
    Own,
    /// The paper's program, of all units (4.2).
    Formulation,
    /// The same of the units that matter (4.4).
    Projected,
    /// The whole tool.
    Tool,
}

impl Experiment for Solver {
    const ABOUT: About = About {
        name: "reorder_solver",
        source: "the QURO paper, 6.8, table 5",
        shows: "the best order is found in milliseconds, and proved to be the best",
        seconds: 0.3,
        repetitions: 1,
    };
    type Point = Point;
    type Variant = Variant;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let trade_order = trade_order()?;
        self.tool.replace(Some(Tool::new(System::MariaDb, "tpcc/schema-mysql.sql", &[])?));
        found.setting("trade order, units", trade_order.units.len());
        found.setting("trade order, constraints", trade_order.before.len());
        found.setting("limit of the other solver (microlp) in seconds", self.limit);
        found.setting(
            "the paper's times",
            "121 units: over 2 hours; after inference 1 s (gurobi), over 2 hours (lpsolve)",
        );
        Ok(self.grids(trade_order, [sources::large(), sources::long()]))
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let limit = Duration::from_secs_f64(self.limit);
        match (run.point, *run.variant) {
            (Point::Order(problem), Variant::Formulation) => other(&lp::export(problem), limit),
            (Point::Order(problem), Variant::Projected) => {
                other(&lp::export_projected(problem), limit)
            }
            (Point::Order(problem), _) => own(problem, run.lab.time),
            (Point::File(text), _) => self.rewrite(text),
        }
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let own = &seen.grids[0];
        let ms = |point: usize| own.spread(point, 0, "ms").max;
        let what = "milliseconds for the order of trade order, as it is written";
        found.at_most(what, TRADE_ORDER_MS, ms(0));
        let what = "milliseconds for a generated instance of 121 units";
        found.at_most(what, INSTANCE_MS, greatest((1..own.points.len()).map(ms)));
        let proved = (0..own.points.len()).filter(|&at| own.median(at, 0, "optimal") == 1.0);
        let what = "orders that are proved to be the best";
        found.at_least(what, own.points.len() as f64, proved.count() as f64);
        let files = &seen.grids[2];
        for (point, name) in files.points.iter().enumerate() {
            let what = format!("milliseconds of the whole tool for {name}");
            found.at_most(what, FILE_MS, files.spread(point, 0, "ms").max);
        }
    }
}

impl Solver {
    fn grids(&self, trade_order: Problem, files: [String; 2]) -> Grids<Self> {
        let instances = || SEEDS.map(|seed| (format!("instance {seed}"), instance(seed)));
        let orders = |instances: &mut dyn Iterator<Item = (String, Problem)>| {
            let first = (String::from("trade order"), trade_order.clone());
            let orders = [first].into_iter().chain(instances);
            orders.map(|(name, problem)| (name, Point::Order(problem))).collect::<Vec<_>>()
        };
        let compared = if self.full { SEEDS.len() } else { 1 };
        let others = [
            ("this solver", Variant::Own),
            ("the paper's program", Variant::Formulation),
            ("the same after inference", Variant::Projected),
        ];
        let of_lines = |text: String| format!("a file of {} lines", text.lines().count());
        let [large, long] = files;
        let names = [
            of_lines(large.clone()),
            format!("{}, 40 queries in one function", of_lines(long.clone())),
        ];
        let files = names.into_iter().zip([large, long].map(Point::File));
        let all = orders(&mut instances().into_iter());
        let some = orders(&mut instances().into_iter().take(compared));
        vec![
            Grid::new("the order", "ms", all, [("this solver", Variant::Own)]),
            Grid::new("beside the paper's formulation", "ms", some, others),
            Grid::new("the whole tool, with splitting", "ms", files, [("tool", Variant::Tool)]),
        ]
    }

    fn rewrite(&self, text: &str) -> Outcome<Sample> {
        let tool = self.tool.borrow();
        let tool = tool.as_ref().ok_or("the experiment has no plan")?;
        let file = examples().join("tpcc/mariadb/generated.c");
        let begun = Instant::now();
        let rewritten = tool.reorder(&file, text, None)?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        let is_best = |report: &clearway_reorder::rewrite::Report| {
            report.solution.bound == report.solution.cost
        };
        let optimal = rewritten.transactions.iter().all(is_best);
        Ok(vec![
            ("ms", ms),
            ("optimal", f64::from(optimal)),
            ("transactions", rewritten.transactions.len() as f64),
            ("splits", rewritten.splits.len() as f64),
        ])
    }
}

/// Returns the order of trade order's units as a problem.
fn trade_order() -> Outcome<Problem> {
    let tool = Tool::new(System::MariaDb, "tpce/schema-mysql.sql", &[])?;
    let file: PathBuf = examples().join("tpce/mariadb/trade_order.c");
    let rewritten = tool.reorder(&file, &std::fs::read_to_string(&file)?, None)?;
    let report = rewritten.transactions.first().ok_or("trade order has no transaction")?;
    Ok(report.problem())
}

/// Solves a problem as often as `time` permits, at least once. Returns the mean time.
fn own(problem: &Problem, time: Duration) -> Outcome<Sample> {
    let (begun, mut rounds) = (Instant::now(), 0);
    let solution = loop {
        let solution = problem.solve(Limits::default()).map_err(|broken| broken.to_string())?;
        rounds += 1;
        if begun.elapsed() >= time {
            break solution;
        }
    };
    let ms = begun.elapsed().as_secs_f64() * 1e3 / f64::from(rounds);
    let optimal = f64::from(solution.bound == solution.cost);
    let (units, constraints) = (problem.units.len(), problem.before.len());
    Ok(sample(ms, optimal, units, constraints + problem.outside.len()))
}

fn other(program: &str, limit: Duration) -> Outcome<Sample> {
    let solved = formulation::solve(program, limit)?;
    let ms = solved.time.as_secs_f64() * 1e3;
    Ok(sample(ms, f64::from(solved.is_optimal), solved.variables, solved.rows))
}

fn sample(ms: f64, optimal: f64, variables: usize, constraints: usize) -> Sample {
    vec![
        ("ms", ms),
        ("optimal", optimal),
        ("variables", variables as f64),
        ("constraints", constraints as f64),
    ]
}

/// Draws an instance: precedences and those that follow from them, until their number is that of
/// the paper's second transaction, about. `units` fit the bits of a set.
fn instance(seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let mut before = [0u128; UNITS];
    let count = |before: &[u128]| before.iter().map(|set| set.count_ones()).sum::<u32>();
    let target = (CONSTRAINTS.start() + CONSTRAINTS.end()) / 2;
    while count(&before) < target {
        let later = 1 + random.below(UNITS as u64 - 1) as usize;
        let first = random.below(later as u64) as usize;
        let mut tried = before;
        tried[later] |= before[first] | 1 << first;
        for unit in later + 1..UNITS {
            if tried[unit] & (1 << later) != 0 {
                tried[unit] |= tried[later];
            }
        }
        if count(&tried) <= *CONSTRAINTS.end() {
            before = tried;
        }
    }
    let pairs = (0..UNITS).flat_map(|later| (0..later).map(move |first| (first, later)));
    let pairs = pairs.filter(|&(first, later)| before[later] & (1 << first) != 0);
    let mut units = vec![UnitCost::default(); UNITS];
    let mut queries = 0;
    while queries < QUERIES {
        let unit = &mut units[random.below(UNITS as u64) as usize];
        if unit.length == 0 {
            *unit = UnitCost { weight: random.below(1000), length: 1 };
            queries += 1;
        }
    }
    let before = pairs.map(|(first, later)| Before { first, later }).collect();
    Problem { units, before, outside: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callgrind::Counts, variants::Samples};

    #[test]
    fn instances_have_the_size_of_the_papers_and_are_solved() {
        for seed in SEEDS {
            let problem = instance(seed);
            assert_eq!(problem.units.len(), UNITS);
            assert!(CONSTRAINTS.contains(&(problem.before.len() as u32)));
            let queries = problem.units.iter().filter(|unit| unit.length > 0).count();
            assert_eq!(queries, QUERIES);
            let solution = problem.solve(Limits::default()).unwrap();
            assert_eq!(solution.cost, solution.bound);
        }
    }

    #[test]
    fn claims_are_on_the_slowest_of_all() {
        let lab = Lab { time: Duration::ZERO, repetitions: 1, counts: Counts::default() };
        let solver = Solver { limit: 1.0, full: false, tool: RefCell::default() };
        for (ms, holds) in [(1.0, true), (6_000.0, false)] {
            let grids = solver.grids(instance(1), [String::new(), String::new()]);
            assert_eq!(grids.iter().map(|grid| grid.points.len()).collect::<Vec<_>>(), [6, 2, 2]);
            let take = |grid: &Grid<Point, Variant>| {
                Samples::take(grid, 1, |_, _, _| Ok(vec![("ms", ms), ("optimal", 1.0)]))
            };
            let grids = grids.iter().map(take).collect::<Outcome<Vec<_>>>().unwrap();
            let mut found = Findings::default();
            solver.claims(&Seen { lab: &lab, counted: None, grids }, &mut found);
            assert_eq!((found.claims.len(), found.all_shown()), (5, holds));
        }
    }
}
