//! The check of an order against all constraints. The search shares no code with it.

use std::fmt;

use super::{Before, Outside, Problem, UnitIndex};

/// A constraint that an order breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broken {
    /// A unit does not occur exactly once.
    NotAnOrder(UnitIndex),
    /// A precedence.
    Before(Before),
    /// A range that a unit stays out of.
    Outside(Outside),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::NotAnOrder(unit) => write!(f, "unit {unit} does not occur exactly once"),
            Broken::Before(Before { first, later }) => {
                write!(f, "unit {first} must stand before unit {later}")
            }
            Broken::Outside(Outside { unit, from, to }) => {
                write!(f, "unit {unit} must not stand between units {from} and {to}")
            }
        }
    }
}

impl std::error::Error for Broken {}

/// Checks that `order` has each unit once and obeys all constraints.
///
/// # Errors
/// The first constraint that it breaks.
pub fn check(problem: &Problem, order: &[UnitIndex]) -> Result<(), Broken> {
    let mut place = vec![None; problem.units.len()];
    for (at, &unit) in order.iter().enumerate() {
        match place.get_mut(unit) {
            Some(free @ None) => *free = Some(at),
            _ => return Err(Broken::NotAnOrder(unit)),
        }
    }
    if let Some(missing) = place.iter().position(Option::is_none) {
        return Err(Broken::NotAnOrder(missing));
    }
    for &before in &problem.before {
        if place[before.first] >= place[before.later] {
            return Err(Broken::Before(before));
        }
    }
    for &outside in &problem.outside {
        let Outside { unit, from, to } = outside;
        if place[from] <= place[unit] && place[unit] <= place[to] {
            return Err(Broken::Outside(outside));
        }
    }
    Ok(())
}
