//! Conditions that hold only if a query has failed.

use super::{Flow, test::integer};
use crate::{
    api::Call,
    ir::{Expression, ExpressionKind as Kind},
};

impl<'a> Flow<'a, '_> {
    /// Returns true if a condition that holds, or does not hold, shows that a query has failed.
    pub fn fails(&self, condition: &'a Expression, holds: bool) -> bool {
        match &condition.kind {
            Kind::Unary(operator, operand) if operator == "!" => self.fails(operand, !holds),
            Kind::Assign { operator: None, value, .. } => self.fails(value, holds),
            Kind::Call { .. } => self.compared(condition, "!=", 0, holds),
            Kind::Binary(operator, left, right) => {
                let (one, other) = (|| self.fails(left, holds), || self.fails(right, holds));
                match (operator.as_str(), holds) {
                    ("||", true) | ("&&", false) => one() && other(),
                    ("||", false) | ("&&", true) => one() || other(),
                    _ => self.comparison(operator, left, right, holds),
                }
            }
            _ => false,
        }
    }

    fn comparison(
        &self,
        operator: &str,
        left: &'a Expression,
        right: &'a Expression,
        holds: bool,
    ) -> bool {
        if let Some(constant) = integer(right) {
            return self.compared(left, operator, constant, holds);
        }
        // An enumerator: only its name is known, and that it is the result of a success or not.
        let Kind::Constant(name) = &right.kind else { return false };
        let is_failure = ["ERROR", "FATAL", "BAD", "FAIL"].iter().any(|word| name.contains(word));
        let is_equal = match operator {
            "==" => holds,
            "!=" => !holds,
            _ => return false,
        };
        self.status_of(left).is_some() && is_equal == is_failure
    }

    /// Returns true if no result that means success lets a comparison hold, or not hold.
    fn compared(&self, call: &'a Expression, operator: &str, constant: i64, holds: bool) -> bool {
        let Some(model) = self.status_of(call) else { return false };
        let holds_for = |result: i64| match operator {
            "==" => result == constant,
            "!=" => result != constant,
            "<" => result < constant,
            "<=" => result <= constant,
            ">" => result > constant,
            ">=" => result >= constant,
            _ => holds,
        };
        !model.success.is_empty() && model.success.iter().all(|&one| holds_for(one) != holds)
    }

    /// Returns the model of a call that reports whether a query succeeded.
    fn status_of(&self, expression: &'a Expression) -> Option<&'a Call> {
        match &expression.kind {
            Kind::Call { callee, .. } => self.around.models.call(callee).filter(|one| one.status),
            Kind::Assign { operator: None, value, .. } => self.status_of(value),
            _ => None,
        }
    }
}
