//! The demand that all transactions lock tables in one order.
//!
//! For an order of the tables, each transaction gets precedences: the unit that locks table A
//! first in the source stands before all units that lock the next table B. They are sufficient,
//! not necessary. The order of the tables is the one with the least sum of costs: of all orders for
//! up to [`TABLES_MAX`] tables, and for more the best that swaps of neighbours lead to. A
//! transaction's cost depends on the order of its own tables alone, so each is solved once.

use std::collections::{BTreeMap, HashMap};

use super::{Imposed, first_locks, shared};
use crate::{
    rewrite::Report,
    solve::{Before, Limits, Solution, UnitIndex},
};

/// The number of tables up to which all orders are tried.
const TABLES_MAX: usize = 6;

/// The limits of one solution.
const LIMITS: Limits = Limits { states: 20_000, branches: 200 };

/// A transaction's precedences for an order of its tables, and the cheapest order that obeys them.
type Solved = Option<(Vec<Before>, Solution)>;

/// The number of transactions that cannot obey, and the sum of the others' costs.
type Badness = (usize, u128);

/// Gives the transactions orders in which they lock tables in one order, if there are such.
pub(crate) fn impose(reports: &mut [Report]) -> Imposed {
    let source = |report: &Report| (0..report.units.len()).collect::<Vec<UnitIndex>>();
    let locks: Vec<_> = reports.iter().map(|report| first_locks(report, &source(report))).collect();
    let tables = shared(&locks);
    let mut search = Search { reports, solved: HashMap::new() };
    let is_best = tables.len() <= TABLES_MAX;
    let (badness, best) = if is_best {
        permutations(&tables)
            .into_iter()
            .map(|order| (search.badness(&order), order))
            .min_by_key(|(badness, _)| *badness)
            .unwrap_or_default()
    } else {
        search.by_swaps(tables)
    };
    if badness.0 > 0 {
        return Imposed::Impossible;
    }
    let chosen: Vec<Solved> = (0..search.reports.len()).map(|at| search.solve(at, &best)).collect();
    let cost = |reports: &[Report]| reports.iter().map(|report| report.solution.cost).sum();
    let cost_before = cost(reports);
    for (report, solved) in reports.iter_mut().zip(chosen) {
        let Some((before, solution)) = solved else { return Imposed::Impossible };
        report.lock_order = before;
        report.solution = solution;
    }
    Imposed::Order { cost_before, cost: cost(reports), is_best }
}

struct Search<'r> {
    reports: &'r [Report],
    solved: HashMap<(usize, Vec<String>), Solved>,
}

impl Search<'_> {
    fn badness(&mut self, tables: &[String]) -> Badness {
        let (mut impossible, mut cost) = (0, 0);
        for at in 0..self.reports.len() {
            match self.solve(at, tables) {
                Some((_, solution)) => cost += solution.cost,
                None => impossible += 1,
            }
        }
        (impossible, cost)
    }

    /// Returns the cheapest order of a transaction that locks its tables in a given order.
    fn solve(&mut self, at: usize, tables: &[String]) -> Solved {
        let report = &self.reports[at];
        let own = |table: &&String| {
            report.units.iter().flat_map(|unit| &unit.locks).any(|lock| lock.table == **table)
        };
        let own: Vec<String> = tables.iter().filter(own).cloned().collect();
        if let Some(known) = self.solved.get(&(at, own.clone())) {
            return known.clone();
        }
        let solved = solve(report, &own);
        self.solved.insert((at, own), solved.clone());
        solved
    }

    /// Swaps neighbours for as long as that makes the order better.
    fn by_swaps(&mut self, tables: Vec<String>) -> (Badness, Vec<String>) {
        let mut best = tables;
        let mut badness = self.badness(&best);
        loop {
            let before = badness;
            for at in 1..best.len() {
                best.swap(at - 1, at);
                let swapped = self.badness(&best);
                if swapped < badness {
                    badness = swapped;
                } else {
                    best.swap(at - 1, at);
                }
            }
            if badness == before {
                return (badness, best);
            }
        }
    }
}

fn solve(report: &Report, tables: &[String]) -> Solved {
    let before = precedences(report, tables)?;
    let mut problem = report.problem();
    problem.before.extend(&before);
    let start = problem.legal_order()?;
    // The order without the demand is a better start, if it obeys.
    let usual = &report.solution.order;
    let solution = problem.solve_from(usual, LIMITS);
    let solution = solution.or_else(|_| problem.solve_from(&start, LIMITS)).ok()?;
    Some((before, solution))
}

/// Returns the precedences by which a transaction locks tables in a given order; `None` if one
/// unit locks two of them in another order.
fn precedences(report: &Report, tables: &[String]) -> Option<Vec<Before>> {
    let mut units_of: BTreeMap<&str, Vec<UnitIndex>> = BTreeMap::new();
    for (unit, one) in report.units.iter().enumerate() {
        one.locks.iter().for_each(|lock| units_of.entry(&lock.table).or_default().push(unit));
    }
    let place = |unit: UnitIndex, table: &str| {
        report.units[unit].locks.iter().position(|lock| lock.table == table)
    };
    let mut found = Vec::new();
    for pair in tables.windows(2) {
        let first = *units_of.get(pair[0].as_str())?.first()?;
        for &later in units_of.get(pair[1].as_str())? {
            if first != later {
                found.push(Before { first, later });
            } else if place(first, &pair[0]) > place(first, &pair[1]) {
                return None;
            }
        }
    }
    found.dedup();
    Some(found)
}

/// Returns all orders of some tables, the given one first.
fn permutations(tables: &[String]) -> Vec<Vec<String>> {
    if tables.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for at in 0..tables.len() {
        let mut rest = tables.to_vec();
        let first = rest.remove(at);
        for mut order in permutations(&rest) {
            order.insert(0, first.clone());
            all.push(order);
        }
    }
    all
}
