//! Solutions of problems whose constraints the order of the source need not obey: those of a
//! transaction that gets constraints which do not come from its source.

use super::{Before, Broken, Limits, Outside, Problem, Solution, UnitIndex, branch::broken};

/// The maximum number of times that the search for a legal order branches.
const BRANCHES: usize = 1_000;

impl Problem {
    /// Returns the cheapest legal order, like [`Problem::solve`]; `start` takes the place of the
    /// source's order.
    ///
    /// # Errors
    /// The constraint that `start` breaks.
    pub fn solve_from(&self, start: &[UnitIndex], limits: Limits) -> Result<Solution, Broken> {
        super::check(self, start)?;
        let mut number = vec![0; start.len()];
        start.iter().enumerate().for_each(|(new, &old)| number[old] = new);
        let before = |one: &Before| Before { first: number[one.first], later: number[one.later] };
        let outside = |one: &Outside| Outside {
            unit: number[one.unit],
            from: number[one.from],
            to: number[one.to],
        };
        let renumbered = Problem {
            units: start.iter().map(|&unit| self.units[unit]).collect(),
            before: self.before.iter().map(before).collect(),
            outside: self.outside.iter().map(outside).collect(),
        };
        let solution = renumbered.solve(limits)?;
        let order = solution.order.iter().map(|&unit| start[unit]).collect();
        Ok(Solution { order, ..solution })
    }

    /// Returns a legal order that is like the order of the source; `None` if there is none, or if
    /// the search for one becomes too long.
    pub fn legal_order(&self) -> Option<Vec<UnitIndex>> {
        search(self.clone(), &mut 0)
    }
}

fn search(problem: Problem, branches: &mut usize) -> Option<Vec<UnitIndex>> {
    let order = topological(&problem)?;
    let Some(outside) = broken(&problem, &order) else { return Some(order) };
    let Outside { unit, from, to } = outside;
    [Before { first: unit, later: from }, Before { first: to, later: unit }].into_iter().find_map(
        |choice| {
            *branches += 1;
            let mut problem = problem.clone();
            problem.outside.retain(|other| *other != outside);
            problem.before.push(choice);
            (*branches <= BRANCHES).then(|| search(problem, branches)).flatten()
        },
    )
}

/// Returns an order that obeys the precedences, with the ranges' ends as further ones: of the units
/// that may stand next, the first in the source does.
fn topological(problem: &Problem) -> Option<Vec<UnitIndex>> {
    let count = problem.units.len();
    let (mut later, mut earlier) = (vec![Vec::new(); count], vec![0usize; count]);
    let ranges = problem.outside.iter().map(|one| Before { first: one.from, later: one.to });
    for Before { first, later: next } in problem.before.iter().copied().chain(ranges) {
        later[first].push(next);
        earlier[next] += 1;
    }
    let mut free: std::collections::BTreeSet<UnitIndex> =
        (0..count).filter(|&unit| earlier[unit] == 0).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(unit) = free.pop_first() {
        order.push(unit);
        for &next in &later[unit] {
            earlier[next] -= 1;
            if earlier[next] == 0 {
                free.insert(next);
            }
        }
    }
    (order.len() == count).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::UnitCost;

    fn problem(weights: &[u64]) -> Problem {
        let cost = |&weight: &u64| UnitCost { weight, length: 1 };
        Problem { units: weights.iter().map(cost).collect(), ..Problem::default() }
    }

    #[test]
    fn problem_that_the_source_breaks_is_solved_from_a_legal_order() {
        let mut problem = problem(&[1, 5, 9]);
        problem.before = vec![Before { first: 2, later: 0 }];
        assert!(problem.solve(Limits::default()).is_err());
        let start = problem.legal_order().unwrap();
        assert_eq!(start, [1, 2, 0]);
        let solution = problem.solve_from(&start, Limits::default()).unwrap();
        assert_eq!((solution.order, solution.cost), (vec![1, 2, 0], 15 + 18 + 1));
        assert!(problem.solve_from(&[0, 1, 2], Limits::default()).is_err());
    }

    #[test]
    fn legal_order_stays_out_of_ranges() {
        let mut problem = problem(&[0, 0, 0]);
        problem.outside = vec![Outside { unit: 1, from: 0, to: 2 }];
        problem.before = vec![Before { first: 0, later: 1 }];
        assert_eq!(problem.legal_order().unwrap(), [0, 2, 1]);
        problem.before.push(Before { first: 1, later: 2 });
        assert_eq!(problem.legal_order(), None);
    }
}
