//! The cheapest order if some units must stay out of ranges.
//!
//! Without the [`Outside`] constraints, the order of the Sidney blocks, each with its cheapest
//! order, is cheapest. If it obeys the constraints nevertheless, as is usual, it is the solution.
//! Otherwise one that it breaks is replaced by a precedence, once by "before the range" and once by
//! "after it", and both problems are solved. A problem whose cost without the constraints is no
//! less than that of the best order found needs no further branches.

use super::{Before, Limits, Outside, Problem, Solution, UnitIndex, ideals, reach, sidney};

/// Solves a problem whose source order is legal.
pub(super) fn solve(problem: &Problem, limits: Limits) -> Solution {
    let source: Vec<UnitIndex> = (0..problem.units.len()).collect();
    let cost = problem.cost(&source);
    let mut search = Search {
        limits,
        best: Solution { order: source, cost, bound: 0 },
        branches: 0,
        bound: u128::MAX,
    };
    let whole = search.relaxed(problem.clone());
    whole.into_iter().for_each(|whole| search.visit(whole));
    Solution { bound: search.bound.min(search.best.cost), ..search.best }
}

struct Search {
    limits: Limits,
    best: Solution,
    branches: usize,
    /// The least lower bound of the problems that were not branched on.
    bound: u128,
}

/// A problem, and the cheapest order without its [`Outside`] constraints.
struct Relaxed {
    problem: Problem,
    solution: Solution,
}

impl Search {
    fn visit(&mut self, Relaxed { problem, solution }: Relaxed) {
        if solution.bound >= self.best.cost {
            return;
        }
        let broken = broken(&problem, &solution.order);
        let Some(outside) = broken.filter(|_| self.branches < self.limits.branches) else {
            self.bound = self.bound.min(solution.bound);
            if broken.is_none() && solution.cost < self.best.cost {
                self.best = solution;
            }
            return;
        };
        self.branches += 1;
        let Outside { unit, from, to } = outside;
        let choices = [Before { first: unit, later: from }, Before { first: to, later: unit }];
        let mut parts: Vec<Relaxed> = choices
            .into_iter()
            .filter_map(|choice| {
                let mut problem = problem.clone();
                problem.outside.retain(|other| *other != outside);
                problem.before.push(choice);
                self.relaxed(problem)
            })
            .collect();
        parts.sort_by_key(|part| part.solution.bound);
        parts.into_iter().for_each(|part| self.visit(part));
    }

    /// Returns the cheapest order without the [`Outside`] constraints that the precedences leave
    /// open; `None` if no order obeys all constraints.
    fn relaxed(&self, mut problem: Problem) -> Option<Relaxed> {
        if !reach::infer(&mut problem) {
            return None;
        }
        let (mut order, mut slack) = (Vec::new(), 0);
        for block in sidney::blocks(&problem) {
            let solved = ideals::solve(&problem, &block, self.limits.states);
            if let Some(bound) = solved.bound {
                slack += problem.cost(&solved.order).saturating_sub(bound);
            }
            order.extend(solved.order);
        }
        let cost = problem.cost(&order);
        Some(Relaxed { problem, solution: Solution { order, cost, bound: cost - slack } })
    }
}

pub(super) fn broken(problem: &Problem, order: &[UnitIndex]) -> Option<Outside> {
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &unit)| place[unit] = at);
    let is_broken = |outside: &&Outside| {
        place[outside.from] <= place[outside.unit] && place[outside.unit] <= place[outside.to]
    };
    problem.outside.iter().find(is_broken).copied()
}
