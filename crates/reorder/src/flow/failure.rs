//! Conditions that hold only if a query has failed, or only if it has succeeded.

use super::{
    Flow,
    access::{AccessKind, QueryCall},
    graph::NodeIndex,
    number::Number,
    place::{Place, Root},
    test::integer,
    text,
};
use crate::{
    api::{Call, Role, Success},
    ir::{Expression, ExpressionKind as Kind, Type},
};

/// A call that may leave an error on the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fallible<'a> {
    call: &'a Expression,
    model: &'a Call,
    node: NodeIndex,
}

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

    /// Returns true if a condition that holds, or does not hold, shows that a call which binds
    /// memory to a statement has failed.
    pub(crate) fn fails_to_bind(&self, condition: &'a Expression, holds: bool) -> bool {
        match &condition.kind {
            Kind::Unary(operator, operand) if operator == "!" => {
                self.fails_to_bind(operand, !holds)
            }
            Kind::Binary(operator, call, constant) if integer(constant) == Some(0) => {
                operator == if holds { "!=" } else { "==" } && self.binds(call)
            }
            _ => holds && self.binds(condition),
        }
    }

    /// Returns true for a call that only binds memory to a statement.
    fn binds(&self, expression: &Expression) -> bool {
        let Kind::Call { callee, .. } = &expression.kind else { return false };
        self.around.models.call(callee).is_some_and(|model| {
            let binds = !model.binds_parameters.is_empty() || !model.binds_results.is_empty();
            binds && model.role == Role::None && !model.reads_last
        })
    }

    /// Returns true if a comparison that holds, or does not hold, shows that a query has failed.
    pub(super) fn comparison(
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
        let Some((call, model)) = self.status_of(call) else { return false };
        self.successes_of(call, model).is_some_and(|all| {
            all.iter().all(|one| one.compared(operator, constant) == Some(!holds))
        })
    }

    /// Returns the results of a call that mean success; `None` if they are not known. Those that
    /// mean a row are none of a query that certainly returns no rows.
    pub(super) fn successes_of(&self, call: &'a Expression, model: &Call) -> Option<Vec<Number>> {
        let mut all = successes(&model.success)?;
        if !model.row.is_empty() && self.call_returns_no_rows(call) {
            all.retain(|one| !model.row.iter().any(|&row| *one == Number::Is(row)));
        }
        Some(all)
    }

    /// Returns true if a node runs queries, and all of them certainly return no rows.
    pub(super) fn returns_no_rows(&self, node: NodeIndex) -> bool {
        let queries = &self.effects[node].queries;
        !queries.is_empty() && queries.iter().all(|query| self.has_no_rows(query, node))
    }

    /// Returns true if the query that a call runs certainly returns no rows.
    fn call_returns_no_rows(&self, call: &'a Expression) -> bool {
        let nodes = self.effects.iter().enumerate();
        let mut queries = nodes.flat_map(|(at, one)| one.queries.iter().map(move |q| (q, at)));
        let its = queries.find(|(query, _)| std::ptr::eq(query.expression, call));
        its.is_some_and(|(query, node)| self.has_no_rows(query, node))
    }

    /// Returns true if the SQL of a query is known, and returns no rows.
    fn has_no_rows(&self, query: &QueryCall<'a>, node: NodeIndex) -> bool {
        let texts = self.sql_of(query, node).unwrap_or_default();
        !texts.is_empty() && texts.iter().all(|text| text::returns_no_rows(text))
    }

    /// Returns true if rows of a result may still be on the way behind a node. A query that returns
    /// no rows leaves none.
    pub(crate) fn may_stream(&self, node: NodeIndex) -> bool {
        let effects = &self.effects[node];
        let mut queries = effects.queries.iter().filter(|query| query.model.streams);
        effects.streams || queries.any(|query| !self.has_no_rows(query, node))
    }

    /// Returns a call that reports whether a query succeeded, with its model.
    pub(super) fn status_of(
        &self,
        expression: &'a Expression,
    ) -> Option<(&'a Expression, &'a Call)> {
        match &expression.kind {
            Kind::Call { callee, .. } => {
                let model = self.around.models.call(callee).filter(|one| one.status);
                model.map(|model| (expression, model))
            }
            Kind::Assign { operator: None, target, value } => {
                let (call, model) = self.status_of(value)?;
                keeps(model, call, self.around.type_of(target)).then_some((call, model))
            }
            _ => None,
        }
    }

    /// Returns the calls of a node that may leave an error on the connection; `None` if a called
    /// function may do that.
    pub(crate) fn fallible_calls(&self, node: NodeIndex) -> Option<Vec<Fallible<'a>>> {
        let accesses = &self.effects[node].accesses;
        // Each call writes all of it, at least perhaps.
        let is_write = |place: &Place| *place == Place::whole(Root::Last);
        let writes = accesses.iter().filter(|one| one.kind != AccessKind::Read);
        let writes = writes.filter(|one| is_write(&one.place)).count();
        if writes == 0 {
            return Some(Vec::new());
        }
        let mut calls = Vec::new();
        self.expression_of(node)?.walk(&mut |call| {
            let Kind::Call { callee, .. } = &call.kind else { return };
            let Some(model) = self.around.models.call(callee) else { return };
            let runs =
                matches!(model.role, Role::Query | Role::Begin | Role::Commit | Role::Rollback);
            if runs || model.writes_last {
                calls.push(Fallible { call, model, node });
            }
        });
        let are_all = calls.len() == writes;
        calls.retain(|one| !one.model.releases);
        are_all.then_some(calls)
    }

    /// Returns true if a condition of a node shows by its outcome that a call has succeeded, whose
    /// last execution came before.
    pub(crate) fn succeeds(&self, at: NodeIndex, holds: bool, of: &Fallible<'a>) -> bool {
        let condition = self.expression_of(at);
        condition.is_some_and(|condition| self.shows_success(condition, holds, at, of))
    }

    fn shows_success(
        &self,
        condition: &'a Expression,
        holds: bool,
        at: NodeIndex,
        of: &Fallible<'a>,
    ) -> bool {
        let status = |one: &'a Expression| self.status_of_call(one, at, of);
        match &condition.kind {
            Kind::Unary(operator, operand) if operator == "!" => {
                self.shows_success(operand, !holds, at, of)
            }
            Kind::Binary(operator, left, right) => {
                let Some(model) = status(left) else { return false };
                match (&right.kind, integer(right)) {
                    (_, Some(constant)) => {
                        let failure = failures(model);
                        failure.is_some_and(|one| one.compared(operator, constant) == Some(!holds))
                    }
                    // An enumerator: only its name is known.
                    (Kind::Constant(name), None) => {
                        operator == if holds { "==" } else { "!=" } && name.ends_with("_OK")
                    }
                    _ => false,
                }
            }
            // Its result is zero.
            _ => !holds && status(condition).is_some_and(|model| model.success.contains(0)),
        }
    }

    /// Returns the model of the call that an expression has the result of, if it is the status of
    /// another call, or of itself.
    fn status_of_call(
        &self,
        expression: &'a Expression,
        at: NodeIndex,
        of: &Fallible<'a>,
    ) -> Option<&'a Call> {
        match &expression.kind {
            Kind::Assign { operator: None, target, value } => {
                let model = self.status_of_call(value, at, of)?;
                keeps(model, value, self.around.type_of(target)).then_some(model)
            }
            Kind::Variable(variable) => {
                let (value, by) = self.value_of(*variable, at)?;
                let ty = &self.around.program.variable(*variable).ty;
                (by == of.node && std::ptr::eq(value, of.call) && keeps(of.model, value, Some(ty)))
                    .then_some(of.model)
                    .filter(|m| m.status)
            }
            Kind::Call { callee, arguments, .. } => {
                let model = self.around.models.call(callee).filter(|model| model.status)?;
                let is_of_result = || {
                    let made = Place::whole(Root::Object(of.node));
                    let first = arguments.first().filter(|_| model.role == Role::None);
                    first.is_some_and(|first| self.targets(first, at) == [made])
                };
                let is_of_last = || {
                    let last = self.reaching(at, &Place::error());
                    model.reads_last
                        && !last.is_empty()
                        && last.iter().all(|&one| self.definitions.all[one].node == of.node)
                };
                let is_own = std::ptr::eq(expression, of.call);
                let is_its = is_own || is_of_result() || is_of_last();
                is_its.then_some(model)
            }
            _ => None,
        }
    }
}

/// Returns the results that mean success; `None` if they are not known.
fn successes(success: &Success) -> Option<Vec<Number>> {
    match success {
        Success::Listed(numbers) if numbers.is_empty() => None,
        Success::Listed(numbers) => Some(numbers.iter().copied().map(Number::Is).collect()),
        Success::AtLeast(least) => Some(vec![Number::AtLeast(*least)]),
    }
}

/// Returns a result that means failure; `None` if it is not known which do.
pub(super) fn failures(model: &Call) -> Option<Number> {
    if let Some(failure) = model.failure {
        return Some(Number::Is(failure));
    }
    match &model.success {
        Success::Listed(numbers) if numbers.is_empty() => None,
        Success::Listed(numbers) => {
            Some(Number::Not(numbers.iter().chain(&model.never).copied().collect()))
        }
        Success::AtLeast(least) => Some(Number::Below(*least)),
    }
}

/// Returns true if a variable of a type keeps what the result of a call shows. A range of numbers
/// is kept by a signed type that is no narrower than that of the result.
fn keeps(model: &Call, call: &Expression, variable: Option<&Type>) -> bool {
    let name = |ty: &Type| match ty {
        Type::Scalar(name) => Some(name.clone()),
        _ => None,
    };
    let result = match &call.kind {
        Kind::Call { result, .. } => name(result),
        _ => None,
    };
    let width = |name: &str| ["int", "long", "long long"].iter().position(|one| *one == name);
    let width = |name: Option<String>| name.and_then(|name| width(&name));
    match model.success {
        Success::Listed(_) => true,
        Success::AtLeast(_) => {
            let (result, variable) = (width(result), width(variable.and_then(name)));
            result.is_some() && variable >= result
        }
    }
}
