//! The values of an expression along paths, each with the state behind its evaluation.

use std::collections::BTreeSet;

use super::{Answer, Outcome, State};
use crate::{
    api::{Call, Role},
    flow::{
        Flow,
        failure::failures,
        graph::NodeIndex,
        number::{Number, may_compare_unsigned},
        place::{Place, Root},
        test::integer,
    },
    ir::{Callee, Expression, ExpressionKind as Kind, Type, VariableIndex},
};

pub(super) type Values = Vec<(Number, State)>;
type Truths = Vec<(bool, State)>;

impl<'a> Flow<'a, '_> {
    /// Returns the values that an expression of a node may have, if control comes to the node in
    /// a state.
    pub(super) fn values_at(&self, node: NodeIndex, one: &'a Expression, state: State) -> Values {
        self.evaluated(node, one, state, |at, state| at.values(one, state))
    }

    /// Returns the values of an expression that is a statement. A status that it asks for and does
    /// not use shows nothing: that of `sqlite3_reset`, say.
    pub(super) fn values_of_statement(
        &self,
        node: NodeIndex,
        one: &'a Expression,
        state: State,
    ) -> Values {
        let is_unused = match &one.kind {
            Kind::Call { callee, .. } => {
                let model = self.around.models.call(callee);
                model.is_some_and(|model| !runs(model) && model.open.is_empty())
            }
            _ => false,
        };
        // Nothing keeps the status of a call that runs a query.
        let drops = matches!(one.kind, Kind::Call { .. }) && !self.effects[node].queries.is_empty();
        self.evaluated(node, one, state, |at, state| {
            if is_unused {
                return at.operands(one, state);
            }
            let mut values = at.values(one, state);
            for (_, state) in values.iter_mut().filter(|_| drops) {
                state.failure_is_decided |= state.answer == Answer::Failed;
            }
            values
        })
    }

    /// Returns the truths that a condition of a node may have.
    pub(super) fn truths_at(&self, node: NodeIndex, one: &'a Expression, state: State) -> Truths {
        self.evaluated(node, one, state, |at, state| at.truths(one, state))
    }

    fn evaluated<T>(
        &self,
        node: NodeIndex,
        expression: &'a Expression,
        mut state: State,
        evaluate: impl Fn(&At<'_, 'a, '_>, State) -> Vec<(T, State)>,
    ) -> Vec<(T, State)> {
        let mut blocked: Vec<VariableIndex> = self.written(node).collect();
        if let Some(assigned) = assigned(expression)
            && blocked.iter().filter(|&&one| one == assigned).count() == 1
        {
            blocked.retain(|&one| one != assigned);
        }
        let blocked: BTreeSet<VariableIndex> = blocked.into_iter().collect();
        state.keep(|one| !blocked.contains(&one));
        let rolls_back = self.rolls_back(node);
        let before = (state.answer, state.passes_unchecked, state.failure_is_decided, state.query);
        let mut found = evaluate(&At { flow: self, node, blocked: &blocked }, state);
        for (_, state) in &mut found {
            state.keep(|one| !blocked.contains(&one));
            if rolls_back {
                (state.answer, state.passes_unchecked, state.failure_is_decided, state.query) =
                    before;
            }
        }
        found
    }

    /// Returns values converted to the type of a variable, with the states behind an assignment of
    /// them. `before` is what was known of the last query in front of them.
    pub(super) fn stored(&self, variable: VariableIndex, values: Values, before: Answer) -> Values {
        let ty = &self.around.program.variable(variable).ty;
        let kept = if self.follows(variable) { values } else { without_numbers(values, before) };
        let set = |(number, mut state): (Number, State)| {
            self.set(&mut state, variable, number.clone());
            (number, state)
        };
        converted(kept, ty, before).into_iter().map(set).collect()
    }
}

/// Returns the variable that an expression assigns to before it uses the value.
fn assigned(expression: &Expression) -> Option<VariableIndex> {
    match &expression.kind {
        Kind::Assign { target, .. } => match target.kind {
            Kind::Variable(variable) => Some(variable),
            _ => None,
        },
        Kind::Unary(_, operand) => assigned(operand),
        Kind::Binary(operator, left, _) if operator != "&&" && operator != "||" => assigned(left),
        _ => None,
    }
}

/// The evaluation of a node.
pub(super) struct At<'f, 'a, 'p> {
    pub(super) flow: &'f Flow<'a, 'p>,
    pub(super) node: NodeIndex,
    /// The variables whose values are not followed within the node.
    blocked: &'f BTreeSet<VariableIndex>,
}

impl<'a> At<'_, 'a, '_> {
    fn values(&self, one: &'a Expression, state: State) -> Values {
        if let Some(constant) = self.flow.around.program.integer(one) {
            return vec![(Number::Is(constant), state)];
        }
        match &one.kind {
            Kind::Variable(variable) => {
                let known = state.numbers.get(variable).cloned();
                vec![(known.unwrap_or_else(Number::any), state)]
            }
            Kind::Assign { operator, target, value } => match target.kind {
                Kind::Variable(variable) => {
                    self.assign(variable, operator.as_deref(), value, state)
                }
                _ => self.operands(one, state),
            },
            Kind::Unary(operator, _) if operator == "!" => numbers(self.truths(one, state)),
            Kind::Binary(operator, ..) if is_condition(operator) => {
                numbers(self.truths(one, state))
            }
            Kind::Binary(operator, left, right) if operator == "|" => {
                self.each(self.values(left, state), |first, state| {
                    let values = self.values(right, state).into_iter();
                    values.map(|(second, state)| (first.or(&second), state)).collect()
                })
            }
            Kind::Conditional(condition, yes, no) => {
                let truths = self.truths(condition, state).into_iter();
                let chosen = truths
                    .flat_map(|(truth, state)| self.values(if truth { yes } else { no }, state));
                chosen.collect()
            }
            Kind::Comma(first, last) => {
                self.each(self.values(first, state), |_, state| self.values(last, state))
            }
            Kind::Cast(ty, operand) => {
                let values = self.values(operand, state).into_iter();
                values.map(|(number, state)| (number.converted(ty), state)).collect()
            }
            Kind::Call { arguments, result, .. } => {
                self.call(one, arguments, result, self.operands(one, state))
            }
            _ => self.operands(one, state),
        }
    }

    /// Returns the states behind the evaluation of all operands, with a number that may be any.
    fn operands(&self, one: &'a Expression, state: State) -> Values {
        let mut operands = Vec::new();
        one.for_each_child(&mut |child| operands.push(child));
        let start = vec![(Number::any(), state)];
        operands.into_iter().fold(start, |values, operand| {
            let behind = self.each(values, |_, state| {
                let before = state.answer;
                without_numbers(self.values(operand, state), before)
            });
            let states: BTreeSet<State> = behind.into_iter().map(|(_, state)| state).collect();
            states.into_iter().map(|state| (Number::any(), state)).collect()
        })
    }

    fn each(&self, values: Values, next: impl Fn(Number, State) -> Values) -> Values {
        values.into_iter().flat_map(|(number, state)| next(number, state)).collect()
    }

    fn assign(
        &self,
        variable: VariableIndex,
        operator: Option<&str>,
        value: &'a Expression,
        state: State,
    ) -> Values {
        let old = state.numbers.get(&variable).cloned().unwrap_or_else(Number::any);
        let before = state.answer;
        let of = |number: Number| match operator {
            None => number,
            Some("|") => old.or(&number),
            Some(_) => Number::any(),
        };
        let values = self.values(value, state).into_iter();
        let values = values.map(|(number, state)| (of(number), state)).collect();
        self.flow.stored(variable, values, before)
    }

    pub(super) fn truths(&self, one: &'a Expression, state: State) -> Truths {
        match &one.kind {
            Kind::Unary(operator, operand) if operator == "!" => {
                let truths = self.truths(operand, state).into_iter();
                truths.map(|(truth, state)| (!truth, state)).collect()
            }
            Kind::Binary(operator, left, right) if operator == "&&" || operator == "||" => {
                let decides = operator == "||";
                let truths = self.truths(left, state).into_iter();
                let all = truths.flat_map(|(truth, state)| match truth == decides {
                    true => vec![(truth, state)],
                    false => self.truths(right, state),
                });
                all.collect()
            }
            Kind::Binary(operator, left, right) if is_condition(operator) => {
                self.comparison(one, operator, left, right, state)
            }
            _ => self.compared(one, "!=", 0, self.values(one, state)),
        }
    }

    fn comparison(
        &self,
        one: &'a Expression,
        operator: &str,
        left: &'a Expression,
        right: &'a Expression,
        state: State,
    ) -> Truths {
        if let Some(constant) = integer(right) {
            return self.compared(left, operator, constant, self.values(left, state));
        }
        // Of a status, the name of the enumerator shows more than its value: one that means
        // success may be none of this query.
        let asked = self.flow.status_of(left);
        let is_status = asked.is_some() || self.kept_status(left, &state).is_some();
        let enumerator = self.flow.around.program.integer(right).filter(|_| !is_status);
        // With which of its values the status lets the comparison hold is not known.
        let shown = asked.map(|(_, model)| if runs(model) { Answer::Open } else { state.answer });
        let values = match enumerator {
            Some(_) => self.values(left, state),
            None => self.operands(one, state),
        };
        let truths = values.into_iter().flat_map(|(number, state)| {
            let known = enumerator.and_then(|value| number.compared(operator, value));
            if let Some(truth) = known {
                return vec![(truth, state)];
            }
            let both = [true, false].map(|holds| {
                let mut state = state.clone();
                state.answer = shown.unwrap_or(state.answer);
                let status = self.kept_status(left, &state);
                let fails_late = |status| self.flow.comparison(operator, status, right, holds);
                if self.flow.fails(one, holds) || status.is_some_and(fails_late) {
                    state.answer = Answer::Failed;
                } else if self.shows_success(operator, status.unwrap_or(left), right, holds, &state)
                {
                    state.answer = Answer::Succeeded;
                }
                (holds, state)
            });
            both.into()
        });
        truths.collect()
    }

    /// Returns the call whose status a variable has, if it is that of the last query.
    fn kept_status(&self, one: &'a Expression, state: &State) -> Option<&'a Expression> {
        let Kind::Variable(variable) = &one.kind else { return None };
        let (value, by) = self.flow.value_of(*variable, self.node)?;
        let Kind::Call { callee, arguments, .. } = &value.kind else { return None };
        let model = self.flow.around.models.call(callee).filter(|model| model.status)?;
        let is_last = match runs(model) {
            true => state.query == Some(by),
            false => self.is_last_result(arguments, by, state),
        };
        is_last.then_some(value)
    }

    /// Returns true if a status is compared with an enumerator that means success, whose value is
    /// not known, and is that.
    fn shows_success(
        &self,
        operator: &str,
        left: &'a Expression,
        right: &'a Expression,
        holds: bool,
        state: &State,
    ) -> bool {
        let Kind::Constant(name) = &right.kind else { return false };
        let Kind::Call { callee, arguments, .. } = &left.kind else { return false };
        let model = self.flow.around.models.call(callee).filter(|model| model.status);
        name.ends_with("_OK")
            && operator == if holds { "==" } else { "!=" }
            && model.is_some_and(|model| self.is_of_last(model, arguments, state))
    }

    /// Returns the truths of a comparison with a constant, for each value of the left side.
    fn compared(
        &self,
        left: &'a Expression,
        operator: &str,
        constant: i64,
        values: Values,
    ) -> Truths {
        let variable = match &left.kind {
            Kind::Variable(variable) => Some(*variable),
            _ => assigned(left).filter(|_| matches!(left.kind, Kind::Assign { .. })),
        };
        let ty = self.flow.around.type_of(left);
        let is_unsigned = ty.is_some_and(|ty| may_compare_unsigned(ty, operator, constant));
        let variable = variable.filter(|variable| !self.blocked.contains(variable));
        let mut truths = Truths::new();
        for (number, state) in values {
            match number.compared(operator, constant).filter(|_| !is_unsigned) {
                Some(truth) => truths.push((truth, state)),
                None => truths.extend([true, false].map(|truth| {
                    let mut state = state.clone();
                    if let Some(variable) = variable {
                        let known = number.narrowed(operator, constant, truth);
                        self.flow.set(&mut state, variable, known);
                    }
                    (truth, state)
                })),
            }
        }
        truths
    }

    /// Returns the results of a call, for each state behind its arguments.
    fn call(
        &self,
        call: &'a Expression,
        arguments: &'a [Expression],
        result: &Type,
        states: Values,
    ) -> Values {
        let Kind::Call { callee, .. } = &call.kind else { return states };
        if let Some(model) = self.flow.around.models.call(callee) {
            return self.each(states, |_, state| {
                let states = self.behind_call(call, state).into_iter();
                states.flat_map(|state| self.modelled(call, model, result, state)).collect()
            });
        }
        let Callee::Function(name) = callee else { return states };
        let Some(Ok(summary)) = self.flow.around.summaries.of(name) else { return states };
        self.each(states, |_, mut state| match &summary.outcomes {
            Some(outcomes) => {
                let before = state.answer;
                let is_possible =
                    |one: &&Outcome| !one.has_row || !self.flow.returns_no_rows(self.node);
                let behind = outcomes.iter().filter(is_possible).flat_map(|outcome| {
                    let mut state = state.clone();
                    if summary.queries().next().is_some() && outcome.answer != Answer::None {
                        self.run(&mut state);
                    }
                    if outcome.answer != Answer::None {
                        (state.answer, state.has_row) = (outcome.answer, outcome.has_row);
                    }
                    state.passes_unchecked |= outcome.passes_unchecked;
                    state.passes_failure |= outcome.passes_failure;
                    state.failure_is_decided |=
                        outcome.answer == Answer::Failed && matches!(outcome.number, Number::Is(_));
                    let states = self.behind_function(summary, outcome, arguments, state);
                    states.into_iter().map(|state| (outcome.number.clone(), state))
                });
                converted(behind.collect(), result, before)
            }
            None => {
                self.run(&mut state);
                state.passes_unchecked = true;
                let states = self.behind_unknown_paths(state).into_iter();
                states.map(|state| (Number::any(), state)).collect()
            }
        })
    }

    fn modelled(
        &self,
        call: &'a Expression,
        model: &'a Call,
        result: &Type,
        mut state: State,
    ) -> Values {
        let Kind::Call { arguments, .. } = &call.kind else { return Vec::new() };
        if runs(model) {
            self.run(&mut state);
        }
        if !model.open.is_empty() {
            let over = Number::Not(model.open.iter().copied().collect());
            let over = (over, state.clone().rolled_back());
            let open = model.open.iter().map(|&one| (Number::Is(one), state.clone()));
            return open.chain([over]).collect();
        }
        let results = (self.flow.successes_of(call, model), failures(model));
        let (Some(successes), Some(failure), true) = (results.0, results.1, model.status) else {
            return vec![(Number::any(), state)];
        };
        let is_of_last = self.is_of_last(model, arguments, &state);
        let success = |number: Number| {
            let mut state = state.clone();
            if is_of_last {
                state.answer = Answer::Succeeded;
                state.has_row = model.row.iter().any(|&row| number == Number::Is(row));
                state.failure_is_decided = false;
            }
            (number.converted(result), state)
        };
        let mut values: Values = successes.into_iter().map(success).collect();
        state.answer = Answer::Failed;
        state.failure_is_decided = false;
        values.push((failure.converted(result), state));
        values
    }

    /// Records that a query runs.
    fn run(&self, state: &mut State) {
        state.passes_unchecked |= matches!(state.answer, Answer::Open | Answer::Failed);
        // Where a failed query makes the next one fail, that one shows it.
        state.passes_failure |= !self.flow.failure_aborts() && state.hides_failure();
        state.answer = Answer::Open;
        (state.has_row, state.failure_is_decided) = (false, false);
        state.query = Some(self.node);
    }

    /// Returns true if a call reports the status of the last query.
    fn is_of_last(&self, model: &Call, arguments: &'a [Expression], state: &State) -> bool {
        runs(model)
            || state.query.is_some() && model.reads_last
            || self.is_last_result(arguments, self.node, state)
    }

    /// Returns true if the first argument of a call at a node is the result of the last query.
    fn is_last_result(&self, arguments: &'a [Expression], at: NodeIndex, state: &State) -> bool {
        let made = state.query.map(|query| Place::whole(Root::Object(query)));
        let targets = arguments.first().map(|first| self.flow.targets(first, at));
        made.is_some_and(|made| targets == Some(vec![made]))
    }
}

/// Returns values converted to a type. `before` is what was known of the last query in front of
/// them.
fn converted(mut values: Values, ty: &Type, before: Answer) -> Values {
    let is_lost =
        |number: &Number| *number != Number::any() && number.clone().converted(ty) == Number::any();
    if values.iter().any(|(number, _)| is_lost(number)) {
        values = without_numbers(values, before);
    }
    values.into_iter().map(|(number, state)| (number.converted(ty), state)).collect()
}

/// Returns values whose numbers nothing keeps that the path knows of. A number that the call also
/// returns behind a success hides the failure; another one may show it later, so that the answer is
/// open.
fn without_numbers(mut values: Values, before: Answer) -> Values {
    let succeeded: Vec<Number> = values
        .iter()
        .filter(|(number, state)| state.answer == Answer::Succeeded && *number != Number::any())
        .map(|(number, _)| number.clone())
        .collect();
    let is_failed = |state: &State| state.answer == Answer::Failed && before != Answer::Failed;
    for (number, state) in values.iter_mut().filter(|(_, state)| is_failed(state)) {
        state.failure_is_decided = match *number {
            Number::Is(failed) => {
                succeeded.iter().any(|one| one.compared("==", failed) != Some(false))
            }
            _ => false,
        };
        if !state.failure_is_decided {
            state.answer = Answer::Open;
        }
    }
    values
}

/// Returns true for a call that runs or prepares a query.
fn runs(model: &Call) -> bool {
    matches!(model.role, Role::Query | Role::Prepare | Role::Begin | Role::Commit | Role::Rollback)
}

fn is_condition(operator: &str) -> bool {
    matches!(operator, "&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">=")
}

fn numbers(truths: Truths) -> Values {
    truths.into_iter().map(|(truth, state)| (Number::Is(truth.into()), state)).collect()
}
