//! Conditions that compare the result of one call with a constant.
//!
//! Behind such a condition it is known which results the call had, so that what the called function
//! does before it returns other results is left out: a function that reports a failure and returns
//! 1 reports nothing where it returned 0.

use crate::ir::{Callee, Expression, ExpressionKind as Kind, Program, Type};

/// A condition that compares the result of a call with a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Test<'a> {
    /// The call of a function by its name.
    pub call: &'a Expression,
    comparison: Comparison,
    constant: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl<'a> Test<'a> {
    /// Returns the test that a condition consists of.
    pub fn of(condition: &'a Expression, program: &Program) -> Option<Test<'a>> {
        match &condition.kind {
            Kind::Unary(operator, operand) if operator == "!" => {
                let test = Test::of(operand, program)?;
                Some(Test { comparison: test.comparison.negated(), ..test })
            }
            Kind::Binary(operator, left, right) => {
                let comparison = Comparison::of(operator)?;
                match (program.integer(left), program.integer(right)) {
                    (None, Some(constant)) => {
                        Some(Test { call: called(left)?, comparison, constant })
                    }
                    (Some(constant), None) => {
                        let comparison = comparison.mirrored();
                        Some(Test { call: called(right)?, comparison, constant })
                    }
                    _ => None,
                }
            }
            _ => {
                let call = called(condition)?;
                Some(Test { call, comparison: Comparison::NotEqual, constant: 0 })
            }
        }
    }

    /// Returns true if the condition holds for a result of the call.
    pub fn holds(&self, result: i64) -> bool {
        match self.comparison {
            Comparison::Equal => result == self.constant,
            Comparison::NotEqual => result != self.constant,
            Comparison::Less => result < self.constant,
            Comparison::LessOrEqual => result <= self.constant,
            Comparison::Greater => result > self.constant,
            Comparison::GreaterOrEqual => result >= self.constant,
        }
    }
}

impl Comparison {
    fn of(operator: &str) -> Option<Comparison> {
        Some(match operator {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    fn negated(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
        }
    }

    /// Returns the comparison with its operands in the other order.
    fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Equal | Comparison::NotEqual => self,
        }
    }
}

/// Returns the call whose result an expression is: the call itself, or what is assigned.
fn called(expression: &Expression) -> Option<&Expression> {
    match &expression.kind {
        Kind::Call { callee: Callee::Function(_), result: Type::Scalar(ty), .. } => {
            is_signed(ty).then_some(expression)
        }
        Kind::Assign { operator: None, value, .. } => called(value),
        _ => None,
    }
}

/// Returns true for the types whose small values a conversion does not change.
fn is_signed(ty: &str) -> bool {
    matches!(ty, "int" | "long" | "long long")
}

/// Returns the value of an integer constant that fits an `int`, with its sign.
pub(crate) fn integer(expression: &Expression) -> Option<i64> {
    match &expression.kind {
        Kind::Constant(text) => text.parse::<i32>().ok().map(i64::from),
        Kind::Unary(operator, operand) if operator == "-" => Some(-integer(operand)?),
        _ => None,
    }
}

/// Returns true for the null pointer.
pub(crate) fn is_null(expression: &Expression) -> bool {
    matches!(&expression.kind, Kind::Constant(name) if name == "NULL")
        || integer(expression) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Language;

    fn expression(kind: Kind) -> Expression {
        Expression { range: None, kind }
    }

    fn call() -> Expression {
        let callee = Callee::Function("f".to_string());
        let result = Type::Scalar("int".to_string());
        expression(Kind::Call { callee, arguments: Vec::new(), result })
    }

    fn constant(text: &str) -> Expression {
        expression(Kind::Constant(text.to_string()))
    }

    fn binary(operator: &str, left: Expression, right: Expression) -> Expression {
        expression(Kind::Binary(operator.to_string(), Box::new(left), Box::new(right)))
    }

    fn negated(operator: &str, operand: Expression) -> Expression {
        expression(Kind::Unary(operator.to_string(), Box::new(operand)))
    }

    /// A program with the enumerators `FAILED = -1` and `DONE = 0`, and with several `TWO`.
    fn program() -> Program {
        let values = [("FAILED", Some(-1)), ("DONE", Some(0)), ("TWO", None)];
        Program {
            path: "a.c".to_owned(),
            language: Language::C,
            variables: Vec::new(),
            records: Vec::new(),
            functions: Vec::new(),
            macros: Vec::new(),
            directives: Vec::new(),
            enumerators: values.map(|(name, value)| (name.to_owned(), value)).into(),
            sizes: Default::default(),
            left_out: Default::default(),
        }
    }

    /// Returns for which of -1, 0 and 1 a condition holds.
    fn holds(condition: &Expression) -> Option<[bool; 3]> {
        let test = Test::of(condition, &program());
        test.map(|test| [-1, 0, 1].map(|result| test.holds(result)))
    }

    #[test]
    fn call_alone_holds_if_its_result_is_not_zero() {
        assert_eq!(holds(&call()), Some([true, false, true]));
        assert_eq!(holds(&negated("!", call())), Some([false, true, false]));
    }

    #[test]
    fn comparisons_hold_as_in_c() {
        let with_zero = |operator| holds(&binary(operator, call(), constant("0"))).unwrap();
        assert_eq!(with_zero("<"), [true, false, false]);
        assert_eq!(with_zero("<="), [true, true, false]);
        assert_eq!(with_zero(">"), [false, false, true]);
        assert_eq!(with_zero(">="), [false, true, true]);
        assert_eq!(with_zero("=="), [false, true, false]);
        assert_eq!(with_zero("!="), [true, false, true]);
        assert_eq!(holds(&binary("<", constant("0"), call())), Some([false, false, true]));
        let minus_one = negated("-", constant("1"));
        assert_eq!(holds(&binary("==", call(), minus_one)), Some([true, false, false]));
        let below = negated("!", binary("<", call(), constant("0")));
        assert_eq!(holds(&below), Some([false, true, true]));
    }

    #[test]
    fn enumerators_are_their_values() {
        let with = |name| holds(&binary("==", call(), constant(name)));
        assert_eq!(with("FAILED"), Some([true, false, false]));
        assert_eq!(with("DONE"), Some([false, true, false]));
        assert_eq!(with("TWO"), None);
        assert_eq!(with("f"), None);
    }

    #[test]
    fn other_conditions_are_no_tests() {
        assert_eq!(holds(&constant("1")), None);
        assert_eq!(holds(&binary("||", call(), constant("0"))), None);
        assert_eq!(holds(&binary("<", call(), call())), None);
    }
}
