//! Integers as far as a path through a function shows them.

use std::{collections::BTreeSet, ops::RangeInclusive};

use crate::ir::Type;

/// An integer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Number {
    /// This one.
    Is(i64),
    /// Any but these.
    Not(BTreeSet<i64>),
    /// This one or a larger one.
    AtLeast(i64),
    /// A smaller one than this.
    Below(i64),
}

impl Number {
    /// Returns an integer of which nothing is known.
    pub(crate) fn any() -> Number {
        Number::Not(BTreeSet::new())
    }

    /// Returns an integer that is not zero.
    pub(crate) fn not_zero() -> Number {
        Number::Not(BTreeSet::from([0]))
    }

    /// Returns true if it is not zero, and false if it is; `None` if both may be.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self {
            Number::Is(value) => Some(*value != 0),
            Number::Not(_) | Number::AtLeast(_) | Number::Below(_) => self.compared("!=", 0),
        }
    }

    /// Returns true if a comparison with a constant holds, and false if it does not; `None` if both
    /// may be.
    pub(crate) fn compared(&self, operator: &str, with: i64) -> Option<bool> {
        match self {
            Number::Is(value) => Some(match operator {
                "==" => *value == with,
                "!=" => *value != with,
                "<" => *value < with,
                "<=" => *value <= with,
                ">" => *value > with,
                ">=" => *value >= with,
                _ => return None,
            }),
            Number::Not(others) if others.contains(&with) => match operator {
                "==" => Some(false),
                "!=" => Some(true),
                _ => None,
            },
            Number::Not(_) => None,
            Number::AtLeast(least) => match operator {
                "==" | "<=" if with < *least => Some(false),
                "!=" | ">" if with < *least => Some(true),
                "<" if with <= *least => Some(false),
                ">=" if with <= *least => Some(true),
                _ => None,
            },
            // A number below another is none that is at least as large.
            Number::Below(bound) => match operator {
                "==" | ">=" if with >= *bound => Some(false),
                "!=" | "<" if with >= *bound => Some(true),
                ">" if with.checked_add(1).is_none_or(|with| with >= *bound) => Some(false),
                "<=" if with.checked_add(1).is_none_or(|with| with >= *bound) => Some(true),
                _ => None,
            },
        }
    }

    /// Returns what is known of the number if a comparison of it with a constant holds, or does
    /// not hold.
    pub(crate) fn narrowed(&self, operator: &str, with: i64, holds: bool) -> Number {
        let others = match (self, operator, holds) {
            (Number::Not(others), ..) => others,
            (Number::AtLeast(_) | Number::Below(_), "==", true)
            | (Number::AtLeast(_) | Number::Below(_), "!=", false) => return Number::Is(with),
            _ => return self.clone(),
        };
        let but = |value: i64| Number::Not(others.iter().copied().chain([value]).collect());
        let zero_holds = Number::Is(0).compared(operator, with);
        match (operator, holds) {
            ("==", true) | ("!=", false) => Number::Is(with),
            ("==", false) | ("!=", true) => but(with),
            _ if zero_holds == Some(!holds) => but(0),
            _ => self.clone(),
        }
    }

    /// Returns the number that `|` makes.
    pub(crate) fn or(&self, other: &Number) -> Number {
        match (self, other) {
            (Number::Is(one), Number::Is(other)) => Number::Is(one | other),
            _ if self.truth() == Some(true) || other.truth() == Some(true) => Number::not_zero(),
            _ => Number::any(),
        }
    }

    /// Returns the number converted to a type.
    pub(crate) fn converted(self, ty: &Type) -> Number {
        match ty {
            Type::Scalar(name) if is_truth(name) => {
                self.truth().map_or_else(Number::any, |truth| Number::Is(truth.into()))
            }
            Type::Scalar(name) if name == "int" => self,
            // Of a larger number, a conversion back may keep nothing.
            Type::Scalar(name) if is_long(name) => match self {
                Number::Is(_) => self,
                _ => Number::any(),
            },
            Type::Scalar(name) if is_enumeration(name) => match self {
                Number::Is(value) if IN_ANY_ENUMERATION.contains(&value) => self,
                _ => Number::any(),
            },
            _ => Number::any(),
        }
    }
}

/// The values that an enumeration keeps with any underlying type but `bool`, with which it is no
/// scalar type of the IR.
const IN_ANY_ENUMERATION: RangeInclusive<i64> = 0..=127;

/// The arithmetic types whose values are not followed.
const NOT_FOLLOWED: &[&str] = &[
    "__float128",
    "__int128",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "double",
    "float",
    "long double",
    "short",
    "signed char",
    "unsigned __int128",
    "unsigned char",
    "unsigned int",
    "unsigned long",
    "unsigned long long",
    "unsigned short",
    "wchar_t",
];

/// Returns true if the values of a type are followed.
pub(super) fn is_followed(ty: &Type) -> bool {
    let is = |name: &str| name == "int" || is_long(name) || is_truth(name) || is_enumeration(name);
    matches!(ty, Type::Scalar(name) if is(name))
}

/// Returns true if a value of a type may be compared with a negative constant as numbers without
/// sign: the underlying type of an enumeration may have none.
pub(super) fn may_compare_unsigned(ty: &Type, operator: &str, with: i64) -> bool {
    let is_order = !matches!(operator, "==" | "!=");
    with < 0 && is_order && matches!(ty, Type::Scalar(name) if is_enumeration(name))
}

/// Returns true if a scalar type is none of the language's own: an enumeration.
fn is_enumeration(name: &str) -> bool {
    name != "int" && !is_long(name) && !is_truth(name) && !NOT_FOLLOWED.contains(&name)
}

fn is_truth(name: &str) -> bool {
    matches!(name, "bool" | "_Bool")
}

fn is_long(name: &str) -> bool {
    matches!(name, "long" | "long long")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATORS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

    #[test]
    fn comparison_of_a_range_is_that_of_each_of_its_numbers() {
        for bound in -2..=2 {
            let ranges = [
                (Number::AtLeast(bound), (bound..=9).collect::<Vec<i64>>()),
                (Number::Below(bound), (-9..bound).collect()),
            ];
            for ((range, members), operator) in
                ranges.iter().flat_map(|one| OPERATORS.map(|operator| (one, operator)))
            {
                for with in -5..=5 {
                    let each = members.iter().map(|&one| Number::Is(one).compared(operator, with));
                    let each: BTreeSet<Option<bool>> = each.collect();
                    let same = if each.len() == 1 { each.first().copied().flatten() } else { None };
                    assert_eq!(range.compared(operator, with), same, "{range:?} {operator} {with}");
                }
            }
        }
    }

    #[test]
    fn range_that_equals_a_number_is_that_number() {
        assert_eq!(Number::AtLeast(0).narrowed("==", 3, true), Number::Is(3));
        assert_eq!(Number::Below(0).narrowed("!=", -1, false), Number::Is(-1));
        assert_eq!(Number::AtLeast(0).narrowed("<", 3, true), Number::AtLeast(0));
    }

    #[test]
    fn range_of_long_is_not_kept() {
        let long = Type::Scalar("long".to_owned());
        assert_eq!(Number::AtLeast(0).converted(&long), Number::any());
    }
}
