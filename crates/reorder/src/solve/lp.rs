//! A problem as an integer linear program, in CPLEX's `.lp` format, to solve it with another
//! solver.
//!
//! The formulation is the paper's (section 4.2). With `n` units and `pᵢ` the position of unit `i`
//! from 1 to `n`:
//!
//! - `pᵢ ≠ pⱼ`, for each pair of units: a binary `xᵢⱼ` is 1 if `i` stands before `j`, with
//!   `pᵢ − pⱼ + n xᵢⱼ ≤ n − 1` and `pⱼ − pᵢ − n xᵢⱼ ≤ −1`.
//! - `pᵢ < pⱼ`, for each precedence: `pᵢ − pⱼ ≤ −1`.
//! - `pₖ < pᵢ` or `pₖ > pⱼ`, for each range: a binary `y` is 1 if `k` stands before the range, with
//!   `pₖ − pᵢ + n y ≤ n − 1` and `pⱼ − pₖ − n y ≤ −1`.
//!
//! If all units have the same length, the objective is the paper's: maximize Σ weight × position.
//! Otherwise that is not the cost, and the objective is: minimize Σ weightᵢ × lengthⱼ × xᵢⱼ, over
//! all pairs with `i` before `j`. The paper maximizes Σ weight × position for units without a query
//! too; then its optimum depends on where they stand, which changes no cost.

use std::fmt::{self, Display, Write};

use super::{Before, Outside, Problem, UnitIndex, project::Projection};

/// Returns the program for all units. `p3` is the position of the unit 3.
pub fn export(problem: &Problem) -> String {
    let names: Vec<UnitIndex> = (0..problem.units.len()).collect();
    Program::of(problem, &names).to_string()
}

/// Returns the program for the units that have a weight or a length or occur in a range, with the
/// precedences that follow from those of the other units (the paper's section 4.4). The numbers in
/// the names are those of the whole problem.
pub fn export_projected(problem: &Problem) -> String {
    let projection = Projection::of(problem);
    Program::of(&projection.problem, &projection.kept).to_string()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Variable {
    /// The position of a unit.
    Position(UnitIndex),
    /// 1 if the first unit stands before the second.
    Pair(UnitIndex, UnitIndex),
    /// 1 if the unit of the range of this number stands before it.
    Range(usize),
}

impl Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variable::Position(unit) => write!(f, "p{unit}"),
            Variable::Pair(one, other) => write!(f, "x{one}_{other}"),
            Variable::Range(number) => write!(f, "y{number}"),
        }
    }
}

/// A sum of multiples of variables.
type Sum = Vec<(i128, Variable)>;

/// The sum is at most `most`.
struct Row {
    name: String,
    sum: Sum,
    most: i128,
}

/// An integer linear program.
struct Program {
    is_maximized: bool,
    objective: Sum,
    /// The cost of an order is this ± `scale` × the objective.
    constant: i128,
    scale: i128,
    rows: Vec<Row>,
    positions: Vec<Variable>,
    binaries: Vec<Variable>,
}

impl Program {
    /// Returns the program of a problem whose units have the numbers `names`, in ascending order.
    fn of(problem: &Problem, names: &[UnitIndex]) -> Program {
        let mut program = Program::with_objective(problem, names);
        let count = names.len() as i128;
        let position = |unit: usize| Variable::Position(names[unit]);
        for later in 0..names.len() {
            for first in 0..later {
                let pair = Variable::Pair(names[first], names[later]);
                let name = format!("{}_{}", names[first], names[later]);
                program.either((position(first), position(later)), pair, count, &name);
            }
        }
        for (number, &Before { first, later }) in problem.before.iter().enumerate() {
            let sum = vec![(1, position(first)), (-1, position(later))];
            program.rows.push(Row { name: format!("before{number}"), sum, most: -1 });
        }
        for (number, &Outside { unit, from, to }) in problem.outside.iter().enumerate() {
            let choice = Variable::Range(number);
            let sum = vec![(1, position(unit)), (-1, position(from)), (count, choice)];
            program.rows.push(Row { name: format!("ahead{number}"), sum, most: count - 1 });
            let sum = vec![(1, position(to)), (-1, position(unit)), (-count, choice)];
            program.rows.push(Row { name: format!("behind{number}"), sum, most: -1 });
            program.binaries.push(choice);
        }
        program
    }

    fn with_objective(problem: &Problem, names: &[UnitIndex]) -> Program {
        let weight = |unit: usize| i128::from(problem.units[unit].weight);
        let length = |unit: usize| i128::from(problem.units[unit].length);
        let units = || 0..names.len();
        let is_maximized = units().all(|unit| length(unit) == length(0));
        let (mut objective, constant, scale): (Sum, i128, i128);
        if is_maximized {
            // A unit at position p holds its lock for n + 1 − p lengths.
            scale = units().next().map_or(1, length);
            constant = scale * (names.len() as i128 + 1) * units().map(weight).sum::<i128>();
            objective = units().map(|u| (weight(u), Variable::Position(names[u]))).collect();
        } else {
            // With the terms of `j` before `i` as those of 1 − xᵢⱼ.
            let pairs = || units().flat_map(|later| (0..later).map(move |first| (first, later)));
            scale = 1;
            constant = units().map(|unit| weight(unit) * length(unit)).sum::<i128>()
                + pairs().map(|(first, later)| weight(later) * length(first)).sum::<i128>();
            let term = |(i, j)| {
                let difference = weight(i) * length(j) - weight(j) * length(i);
                (difference, Variable::Pair(names[i], names[j]))
            };
            objective = pairs().map(term).collect();
        }
        objective.retain(|&(factor, _)| factor != 0);
        Program {
            is_maximized,
            objective,
            constant,
            scale,
            rows: Vec::new(),
            positions: names.iter().map(|&name| Variable::Position(name)).collect(),
            binaries: Vec::new(),
        }
    }

    /// Requires that two positions differ; `choice` is 1 if the first is the smaller one.
    fn either(&mut self, two: (Variable, Variable), choice: Variable, count: i128, name: &str) {
        let (one, other) = two;
        let sum = vec![(1, one), (-1, other), (count, choice)];
        self.rows.push(Row { name: format!("less{name}"), sum, most: count - 1 });
        let sum = vec![(1, other), (-1, one), (-count, choice)];
        self.rows.push(Row { name: format!("more{name}"), sum, most: -1 });
        self.binaries.push(choice);
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, sense) = if self.is_maximized { ('-', "Maximize") } else { ('+', "Minimize") };
        writeln!(f, "\\ The cost of the order is {} {sign} {} obj.", self.constant, self.scale)?;
        writeln!(f, "{sense}")?;
        write_sum(f, "obj", &self.objective)?;
        writeln!(f, "\nSubject To")?;
        for Row { name, sum, most } in &self.rows {
            write_sum(f, name, sum)?;
            writeln!(f, " <= {most}")?;
        }
        writeln!(f, "Bounds")?;
        for position in &self.positions {
            writeln!(f, " 1 <= {position} <= {}", self.positions.len())?;
        }
        write_list(f, "Generals", &self.positions)?;
        write_list(f, "Binaries", &self.binaries)?;
        writeln!(f, "End")
    }
}

/// The number of terms of a line; readers of the format limit the length of lines.
const TERMS: usize = 8;

fn write_sum(f: &mut fmt::Formatter<'_>, name: &str, sum: &Sum) -> fmt::Result {
    write!(f, " {name}:")?;
    for (at, (factor, variable)) in sum.iter().enumerate() {
        let sign = if *factor < 0 { '-' } else { '+' };
        f.write_str(if at > 0 && at % TERMS == 0 { "\n  " } else { " " })?;
        match factor.unsigned_abs() {
            1 => write!(f, "{sign} {variable}")?,
            factor => write!(f, "{sign} {factor} {variable}")?,
        }
    }
    Ok(())
}

fn write_list(f: &mut fmt::Formatter<'_>, head: &str, variables: &[Variable]) -> fmt::Result {
    if variables.is_empty() {
        return Ok(());
    }
    writeln!(f, "{head}")?;
    for line in variables.chunks(TERMS) {
        line.iter().try_for_each(|variable| write!(f, " {variable}"))?;
        f.write_char('\n')?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
