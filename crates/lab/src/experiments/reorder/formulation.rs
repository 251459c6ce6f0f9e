//! The paper's integer linear program of a problem, solved by another solver, `microlp`.
//!
//! The program is read from the text that the tool exports (CPLEX's `.lp` format), as a user with a
//! solver of another kind would.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use microlp::{ComparisonOp, OptimizationDirection, SolutionStatus, SolveOutcome, Variable};

use crate::experiment::Outcome;

/// The result of the other solver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Solved {
    pub(crate) time: Duration,
    /// True if the solver has proved that its order is the best one.
    pub(crate) is_optimal: bool,
    pub(crate) variables: usize,
    pub(crate) rows: usize,
}

/// A part of the format.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Objective,
    Rows,
    Bounds,
    Generals,
    Binaries,
}

/// The program in a text.
#[derive(Default, Debug)]
struct Program {
    is_maximized: bool,
    objective: BTreeMap<String, f64>,
    /// Each row is a sum that is at most a number.
    rows: Vec<(Vec<(f64, String)>, f64)>,
    generals: Vec<String>,
    binaries: Vec<String>,
}

/// Solves an exported program within about `limit`.
pub(crate) fn solve(text: &str, limit: Duration) -> Outcome<Solved> {
    let program = Program::read(text)?;
    let direction = match program.is_maximized {
        true => OptimizationDirection::Maximize,
        false => OptimizationDirection::Minimize,
    };
    let mut problem = microlp::Problem::new(direction);
    problem.set_time_limit(limit);
    let mut variables: BTreeMap<&str, Variable> = BTreeMap::new();
    let factor = |name: &str| program.objective.get(name).copied().unwrap_or(0.0);
    let positions = program.generals.len() as i32;
    for name in &program.generals {
        variables.insert(name, problem.add_integer_var(factor(name), (1, positions)));
    }
    for name in &program.binaries {
        variables.insert(name, problem.add_binary_var(factor(name)));
    }
    for (sum, most) in &program.rows {
        let sum: Vec<_> = sum.iter().map(|(by, name)| (variables[name.as_str()], *by)).collect();
        problem.add_constraint(&sum[..], ComparisonOp::Le, *most);
    }
    let begun = Instant::now();
    let outcome = problem.solve()?;
    let time = begun.elapsed();
    let is_optimal = match outcome {
        SolveOutcome::Solution(solution) => matches!(solution.status(), SolutionStatus::Optimal),
        SolveOutcome::Interrupted(_) => false,
    };
    Ok(Solved { time, is_optimal, variables: variables.len(), rows: program.rows.len() })
}

impl Program {
    /// Reads what `clearway_reorder::solve::lp` writes.
    fn read(text: &str) -> Outcome<Program> {
        let mut program = Program::default();
        let mut section = None;
        // A sum may go on in the next line; it ends where the next one begins.
        let mut statement = String::new();
        for line in text.lines().filter(|line| !line.starts_with('\\')) {
            let next = match line.trim() {
                "Maximize" => Some(Section::Objective),
                "Minimize" => Some(Section::Objective),
                "Subject To" => Some(Section::Rows),
                "Bounds" | "End" => Some(Section::Bounds),
                "Generals" => Some(Section::Generals),
                "Binaries" => Some(Section::Binaries),
                _ => None,
            };
            if next.is_some() || line.contains(':') {
                program.add(section, &std::mem::take(&mut statement))?;
            }
            match (next, section) {
                (Some(next), _) => {
                    program.is_maximized |= line == "Maximize";
                    section = Some(next);
                }
                (None, Some(Section::Generals)) => program.generals.extend(words(line)),
                (None, Some(Section::Binaries)) => program.binaries.extend(words(line)),
                _ => statement = format!("{statement} {line}"),
            }
        }
        Ok(program)
    }

    /// Adds the objective or a row.
    fn add(&mut self, section: Option<Section>, statement: &str) -> Outcome<()> {
        let Some((_, sum)) = statement.split_once(':') else { return Ok(()) };
        match section {
            Some(Section::Objective) => {
                self.objective = terms(sum)?.into_iter().map(|(by, name)| (name, by)).collect();
            }
            Some(Section::Rows) => {
                let (sum, most) = sum.split_once("<=").ok_or("a row has no bound")?;
                self.rows.push((terms(sum)?, most.trim().parse()?));
            }
            _ => {}
        }
        Ok(())
    }
}

fn words(line: &str) -> impl Iterator<Item = String> {
    line.split_whitespace().map(str::to_string)
}

/// Reads a sum: signs, factors and names.
fn terms(sum: &str) -> Outcome<Vec<(f64, String)>> {
    let (mut terms, mut factor) = (Vec::new(), 1.0);
    for word in sum.split_whitespace() {
        match word {
            "+" => factor = 1.0,
            "-" => factor = -1.0,
            _ if word.starts_with(|first: char| first.is_ascii_digit()) => {
                factor *= word.parse::<f64>()?;
            }
            _ => terms.push((factor, word.to_string())),
        }
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_reorder::solve::{Before, Problem, UnitCost, lp};

    #[test]
    fn an_exported_program_is_read_and_solved() {
        let unit = |weight| UnitCost { weight, length: 1 };
        let units = vec![unit(9), unit(1), unit(5)];
        let before = vec![Before { first: 0, later: 2 }];
        let text = lp::export(&Problem { units, before, outside: Vec::new() });
        let program = Program::read(&text).unwrap();
        assert!(program.is_maximized);
        assert_eq!((program.generals.len(), program.binaries.len()), (3, 3));
        assert_eq!(program.rows.len(), 7);
        assert_eq!(program.objective["p0"], 9.0);
        let solved = solve(&text, Duration::from_secs(10)).unwrap();
        assert!(solved.is_optimal);
        assert_eq!((solved.variables, solved.rows), (6, 7));
    }
}
