use std::collections::BTreeMap;

use clearway_testkit::Random;
use microlp::{ComparisonOp, OptimizationDirection};

use super::*;
use crate::solve::{Limits, UnitCost};

fn unit(weight: u64, length: u64) -> UnitCost {
    UnitCost { weight, length }
}

/// Returns the cost of the optimum that another solver finds.
fn optimum(program: &Program) -> i128 {
    let direction = match program.is_maximized {
        true => OptimizationDirection::Maximize,
        false => OptimizationDirection::Minimize,
    };
    let factor: BTreeMap<Variable, i128> =
        program.objective.iter().map(|&(factor, variable)| (variable, factor)).collect();
    let factor = |variable: &Variable| factor.get(variable).map_or(0.0, |&factor| factor as f64);
    let mut solver = microlp::Problem::new(direction);
    let count = program.positions.len() as i32;
    let mut variables = BTreeMap::new();
    for position in &program.positions {
        variables.insert(*position, solver.add_integer_var(factor(position), (1, count)));
    }
    for binary in &program.binaries {
        variables.insert(*binary, solver.add_binary_var(factor(binary)));
    }
    for Row { sum, most, .. } in &program.rows {
        let sum: Vec<_> = sum.iter().map(|(factor, of)| (variables[of], *factor as f64)).collect();
        solver.add_constraint(&sum[..], ComparisonOp::Le, *most as f64);
    }
    let microlp::SolveOutcome::Solution(solution) = solver.solve().expect("an order is legal")
    else {
        panic!("there is no limit");
    };
    assert!(matches!(solution.status(), microlp::SolutionStatus::Optimal));
    let objective = solution.objective().round() as i128;
    let sign = if program.is_maximized { -1 } else { 1 };
    program.constant + sign * program.scale * objective
}

/// Draws a problem whose source order is legal: with the lengths of the objective *position* if
/// `is_position`, and otherwise any.
fn draw(random: &mut Random, count: usize, is_position: bool) -> Problem {
    let units = (0..count).map(|_| match (random.one_in(3), is_position) {
        (true, _) => unit(0, 0),
        (_, true) => unit(random.below(500), 1),
        _ => unit(random.below(50), random.below(50)),
    });
    let mut problem = Problem { units: units.collect(), ..Problem::default() };
    for later in 0..count {
        for first in (0..later).filter(|_| random.one_in(4)) {
            problem.before.push(Before { first, later });
        }
    }
    for _ in 0..4 {
        let [unit, from, to] = [0; 3].map(|_| random.below(count as u64) as usize);
        if from < to && !(from..=to).contains(&unit) {
            problem.outside.push(Outside { unit, from, to });
        }
    }
    problem
}

#[test]
fn another_solver_finds_the_same_optimum() {
    let mut random = Random::new(5);
    let mut maximized = 0;
    for number in 0..100 {
        let problem = draw(&mut random, 2 + number % 7, number % 2 == 0);
        let cost = problem.solve(Limits::default()).unwrap().cost as i128;
        let names: Vec<_> = (0..problem.units.len()).collect();
        let whole = Program::of(&problem, &names);
        assert_eq!(optimum(&whole), cost, "{problem:?}\n{whole}");
        let projection = Projection::of(&problem);
        let projected = Program::of(&projection.problem, &projection.kept);
        assert_eq!(optimum(&projected), cost, "{problem:?}\n{projected}");
        maximized += usize::from(projected.is_maximized && !projection.kept.is_empty());
    }
    assert!((20..90).contains(&maximized), "both objectives occur: {maximized}");
}

/// A transaction of which unit 1 has no query and stands between units 0 and 2.
fn chain() -> Problem {
    Problem {
        units: vec![unit(7, 1), unit(0, 0), unit(5, 1), unit(1, 1)],
        before: vec![Before { first: 0, later: 1 }, Before { first: 1, later: 2 }],
        outside: vec![Outside { unit: 3, from: 0, to: 2 }],
    }
}

#[test]
fn projected_program_is_the_formulation_of_the_paper() {
    let expected = "\
\\ The cost of the order is 52 - 1 obj.
Maximize
 obj: + 7 p0 + 5 p2 + p3
Subject To
 less0_2: + p0 - p2 + 3 x0_2 <= 2
 more0_2: + p2 - p0 - 3 x0_2 <= -1
 less0_3: + p0 - p3 + 3 x0_3 <= 2
 more0_3: + p3 - p0 - 3 x0_3 <= -1
 less2_3: + p2 - p3 + 3 x2_3 <= 2
 more2_3: + p3 - p2 - 3 x2_3 <= -1
 before0: + p0 - p2 <= -1
 ahead0: + p3 - p0 + 3 y0 <= 2
 behind0: + p2 - p3 - 3 y0 <= -1
Bounds
 1 <= p0 <= 3
 1 <= p2 <= 3
 1 <= p3 <= 3
Generals
 p0 p2 p3
Binaries
 x0_2 x0_3 x2_3 y0
End
";
    assert_eq!(export_projected(&chain()), expected);
}

#[test]
fn units_of_different_lengths_are_weighed_by_pairs() {
    let text = export(&chain());
    let start = "\
\\ The cost of the order is 20 + 1 obj.
Minimize
 obj: + 2 x0_2 + 6 x0_3 + 4 x2_3
Subject To
";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains(" 1 <= p1 <= 4\n") && text.contains(" before1: + p1 - p2 <= -1\n"));
}

#[test]
fn problem_without_units_is_exported() {
    let text = export(&Problem::default());
    assert!(text.ends_with("Maximize\n obj:\nSubject To\nBounds\nEnd\n"), "{text}");
}

#[test]
fn lines_stay_short() {
    let problem = Problem { units: vec![unit((1 << 48) - 1, 1); 50], ..Problem::default() };
    let text = export(&problem);
    assert!(text.lines().all(|line| line.len() < 250));
    assert_eq!(text.matches("281474976710655 p").count(), 50);
}
