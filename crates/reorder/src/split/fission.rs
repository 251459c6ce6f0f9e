//! Splits `for (h) { A B }` into `for (h) { A } for (h) { B }`.
//!
//! The loop counts with one variable, which nothing in the body writes, so that both loops have
//! the same iterations. After the split, B of an iteration runs behind A of all later iterations
//! instead of before them. So the split is legal if B and A could change places as units of a
//! transaction:
//! - [`values`] has the paper's conditions on values (§3.1);
//! - the rules of [`legality`](crate::legality) on queries, exits and effects are asked about two
//!   units, B before A. A constraint between them forbids the split.
//!
//! **Safe because** all other orders stay: A and B of one iteration, all of A, all of B.

use std::collections::BTreeSet;

use super::{
    Candidate, Refusal, Split, SplitKind, SplitRule,
    declarations::{self, Declarations},
    element::Elements,
    keys::Keys,
    last_line,
    part::{self, Part},
    restore::{self, Head, Restored},
    shape,
    skipped::Jumps,
    values::Values,
};
use crate::{
    flow::{
        access::AccessKind,
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
    },
    ir::{Expression, ExpressionKind, LoopForm, Scope, Statement, StatementKind, VariableIndex},
    legality::{self, Constraint, Context, Demand, Rule, same_table},
    rewrite::Options,
    solve::Before,
    source::{Edit, Range},
    units::{Piece, Unit, Units},
};

/// The rules on the order of units that [`Values`] and the other conditions replace.
pub(super) const REPLACED: [Rule; 5] = [
    Rule::Barrier,
    Rule::Declaration,
    Rule::ReadAfterWrite,
    Rule::WriteAfterWrite,
    Rule::WriteAfterRead,
];

/// A loop that counts.
pub(super) struct Counting<'c, 'a, 'p> {
    context: &'c Context<'c, 'a, 'p>,
    pub(super) piece: &'c Piece<'a>,
    pub(super) body: &'a Statement,
    pub(super) head: Head<'a>,
    /// The node of the condition.
    pub(super) test: NodeIndex,
    /// The nodes outside of the body.
    pub(super) header: Vec<NodeIndex>,
    /// The text before the body.
    pub(super) text: String,
}

/// A split that the rules on values permit.
struct Plan<'a> {
    /// The number of statements in the earlier part.
    at: usize,
    parts: [Part<'a>; 2],
    restored: Restored,
    declared: Declarations,
}

/// Adds the places at which a loop can be split.
pub(super) fn find<'a>(
    context: &Context<'_, 'a, '_>,
    function: &str,
    piece: &Piece<'a>,
    options: &Options,
    found: &mut Vec<Candidate>,
) {
    let StatementKind::Loop { body, .. } = &piece.statement.kind else { return };
    let Some(list) = shape::list(body, context.text) else { return };
    let places = part::places(context, list);
    if places.is_empty() {
        return;
    }
    let counting = Counting::of(context, piece).and_then(|counting| {
        check_questions(context, piece)?;
        Ok(counting)
    });
    for places in places {
        let mut of_gap = Vec::new();
        for at in places {
            let split = Split {
                function: function.to_string(),
                kind: SplitKind::Loop,
                line: piece.range.line(context.text),
                behind: last_line(list[at - 1].range, context.text),
            };
            let plan = match &counting {
                Ok(counting) => counting.plan(list, at),
                Err(refusal) => Err(refusal.clone()),
            };
            of_gap.push((split, plan));
        }
        found.extend(choose(of_gap, |plan| match &counting {
            Ok(counting) => counting.split(list, plan, options),
            Err(refusal) => Err(refusal.clone()),
        }));
    }
}

/// Refuses a loop behind which code may ask for what its last query has left: after the split, that
/// may be another one.
fn check_questions(context: &Context<'_, '_, '_>, piece: &Piece<'_>) -> Result<(), Refusal> {
    let unit = piece.nodes.first().and_then(|&node| context.units.of_node(node));
    match unit.and_then(|unit| legality::asked_behind(context, unit)) {
        Some(reason) => {
            let line = piece.range.line(context.text);
            Err(Refusal { rule: SplitRule::Barrier, line, reason })
        }
        None => Ok(()),
    }
}

impl<'c, 'a, 'p> Counting<'c, 'a, 'p> {
    /// Checks what does not depend on the place of the split.
    pub(super) fn of(
        context: &'c Context<'c, 'a, 'p>,
        piece: &'c Piece<'a>,
    ) -> Result<Counting<'c, 'a, 'p>, Refusal> {
        let (text, line) = (context.text, piece.range.line(context.text));
        let refused = |rule, reason: &str| Err(Refusal { rule, line, reason: reason.to_string() });
        let form = |reason: &str| refused(SplitRule::Form, reason);
        if let Some(barrier) = piece.barriers.first() {
            return refused(SplitRule::Barrier, &barrier.to_string());
        }
        let StatementKind::Loop {
            form: LoopForm::For,
            initial: Some(initial),
            condition: Some(condition),
            step: Some(step),
            body,
        } = &piece.statement.kind
        else {
            return form("it is no `for` with an initial value, a condition and a step");
        };
        shape::check(context.program, piece.range, &[body.range], text)?;
        let Some(head) = shape::head(piece.range, body.range, "for", text) else {
            return form("it is not written as `for (…) { … }`");
        };
        let Some(counter) = counter(context, initial, step) else {
            return form("it does not count with one variable that its head initializes");
        };
        if let Some(jump) = Jumps::of([&**body]).other {
            let reason = "a `break` of the loop or a label stands in it".to_string();
            return Err(Refusal { rule: SplitRule::Jump, line: jump.line(text), reason });
        }
        let graph = &context.flow.graph;
        let outside = |node: &NodeIndex| !body.range.contains(graph.nodes[*node].range);
        let header: Vec<NodeIndex> = graph.within(piece.range).filter(outside).collect();
        let is_test = |node: &&NodeIndex| match graph.nodes[**node].kind {
            NodeKind::Evaluate(one) => std::ptr::eq(one, condition),
            _ => false,
        };
        let Some(&test) = header.iter().find(is_test) else {
            return form("its condition is not known");
        };
        let text = head.to_string();
        let head = Head { counter, initial, condition, step };
        let counting = Counting { context, piece, body, head, test, header, text };
        counting.check_header([condition, step])?;
        Ok(counting)
    }

    fn refused<T>(&self, rule: SplitRule, reason: String) -> Result<T, Refusal> {
        let line = self.piece.range.line(self.context.text);
        Err(Refusal { rule, line, reason })
    }

    /// Refuses a head that does more than to count.
    fn check_header(&self, parts: [&Expression; 2]) -> Result<(), Refusal> {
        let flow = self.context.flow;
        let mut volatile = false;
        for part in parts {
            part.walk(&mut |inner| {
                if let ExpressionKind::Variable(variable) = inner.kind {
                    volatile |= self.context.program.variable(variable).volatile;
                }
            });
        }
        let counter = Place::whole(Root::Variable(self.head.counter));
        let counts = self.header.iter().all(|&node| {
            let effects = &flow.effects[node];
            effects.queries.is_empty()
                && effects.accesses.iter().all(|access| {
                    access.place.root != Root::Outside
                        && (access.kind == AccessKind::Read || access.place == counter)
                })
        });
        match counts && !volatile {
            true => Ok(()),
            false => {
                let reason = "the head of the loop does more than to count".to_string();
                self.refused(SplitRule::Condition, reason)
            }
        }
    }

    /// Finds what a split of the body behind its first statements needs, by the rules on values.
    fn plan(&self, list: &'a [Statement], at: usize) -> Result<Plan<'a>, Refusal> {
        let context = self.context;
        let parts = [
            Part::of(context, self.piece, &list[..at])?,
            Part::of(context, self.piece, &list[at..])?,
        ];
        self.check_condition(&parts)?;
        let nodes = parts.iter().flat_map(|part| part.nodes.iter().copied()).collect();
        let values = Values {
            context,
            parts: [&parts[0], &parts[1]],
            test: self.test,
            elements: Elements::of(context, self.head.counter, self.test, nodes),
        };
        let needed = values.check_reads()?;
        let restored = restore::of(&values, self.head, &needed)?;
        values.check_last(&restored)?;
        let inner = shape::indent(list[0].range, context.text);
        let declared = declarations::of(context, [&parts[0], &parts[1]], &restored, inner)?;
        Ok(Plan { at, parts, restored, declared })
    }

    /// Splits the body by a plan.
    fn split(
        &self,
        list: &'a [Statement],
        plan: Plan<'a>,
        options: &Options,
    ) -> Result<Vec<Edit>, Refusal> {
        let text = self.context.text;
        let Plan { at, parts, restored, declared } = plan;
        self.check_order(parts, options)?;
        let (newline, indent) = (shape::newline(text), shape::indent(self.piece.range, text));
        let inner = shape::indent(list[0].range, text);
        let inserted = format!(
            "{}{newline}{indent}}}{newline}{indent}{} {{{}{}{}",
            restore::lines(&restored.saves, inner, text),
            self.text,
            restore::lines(&restored.skips, inner, text),
            declared.text,
            restore::lines(&restored.loads, inner, text),
        );
        let mut edits = declared.edits;
        edits.extend(restored.edits);
        edits.push(Edit { range: shape::behind(list[at - 1].range, text), text: inserted });
        if !restored.arrays.is_empty() {
            let start = self.piece.range.start;
            let lines = restored.arrays.iter().map(|one| format!("{one}{newline}{indent}"));
            edits.push(Edit { range: Range::new(start, start), text: lines.collect() });
        }
        Ok(edits)
    }

    /// Refuses a body that may change what the head of the loop reads or writes.
    fn check_condition(&self, parts: &[Part<'a>; 2]) -> Result<(), Refusal> {
        let flow = self.context.flow;
        let of_header: Vec<&Place> = self
            .header
            .iter()
            .flat_map(|&node| &flow.effects[node].accesses)
            .map(|access| &access.place)
            .collect();
        for &node in parts.iter().flat_map(|part| &part.nodes) {
            for access in &flow.effects[node].accesses {
                let shared = of_header.iter().any(|place| flow.may_share(place, &access.place));
                if access.kind != AccessKind::Read && shared {
                    let name = legality::place_name(self.context, &access.place);
                    let line = flow.graph.nodes[node].range.line(self.context.text);
                    let reason = format!("it writes {name}, which the head of the loop uses");
                    return Err(Refusal { rule: SplitRule::Condition, line, reason });
                }
            }
        }
        Ok(())
    }

    /// Asks the rules on the order of units about the later part before the earlier one.
    fn check_order(&self, parts: [Part<'a>; 2], options: &Options) -> Result<(), Refusal> {
        let [earlier, later] = parts;
        let line = earlier.piece.range.line(self.context.text);
        let nodes: BTreeSet<NodeIndex> = earlier.nodes.union(&later.nodes).copied().collect();
        let units = self.two_units(&nodes, [later.piece, earlier.piece]);
        let context = Context { units: &units, ..*self.context };
        let replaced: Vec<Rule> = REPLACED.iter().chain(&options.without).copied().collect();
        let swapped = Demand::Before(Before { first: 1, later: 2 });
        let without: Vec<Rule> = replaced.iter().copied().chain([Rule::SameTable]).collect();
        let constraints = legality::constraints(&context, &without);
        let mut found = constraints.into_iter().find(|one| one.demand == swapped);
        if !replaced.contains(&Rule::SameTable)
            && found.as_ref().is_none_or(|one| one.rule > Rule::SameTable)
        {
            let same = self.same_table(&context, nodes, &options.distinct);
            let rule = Rule::SameTable;
            found = same.map(|reason| Constraint { demand: swapped, rule, reason }).or(found);
        }
        match found {
            Some(one) => {
                let reason =
                    format!("between the later part and the next iteration: {}", one.reason);
                Err(Refusal { rule: SplitRule::Order(one.rule), line, reason })
            }
            None => Ok(()),
        }
    }

    /// Makes two pieces of the body the units 1 and 2. All other code is a unit as well: the rules
    /// follow values through it.
    pub(super) fn two_units(
        &self,
        nodes: &BTreeSet<NodeIndex>,
        pieces: [Piece<'a>; 2],
    ) -> Units<'a> {
        let flow = self.context.flow;
        let other = Piece {
            statement: self.piece.statement,
            range: self.body.range,
            nodes: (0..flow.graph.nodes.len()).filter(|node| !nodes.contains(node)).collect(),
            leaving: Default::default(),
            only_ended: Default::default(),
            queries: Vec::new(),
            exits: Vec::new(),
            checks: Vec::new(),
            barriers: Vec::new(),
            asks: None,
        };
        let units = std::iter::once(other).chain(pieces).map(|one| Unit { pieces: vec![one] });
        Units::of_units(flow, units.collect())
    }

    /// Returns the reason why the later part of an iteration and the earlier part of another one,
    /// units 1 and 2, keep their order because of a table.
    fn same_table(
        &self,
        context: &Context<'_, 'a, '_>,
        nodes: BTreeSet<NodeIndex>,
        distinct: &[String],
    ) -> Option<String> {
        let (counter, test) = (self.head.counter, self.test);
        let missing = Default::default();
        let keys = Keys { context, counter, test, nodes, distinct, sorted_by: None, missing };
        let reason = same_table::between(context, (1, 2), &keys)?;
        Some(match keys.missing() {
            Some(fact) => format!("{reason}, and {fact}"),
            None => reason,
        })
    }
}

/// Chooses, of the splits between the same two queries, the legal ones that add the least to the
/// text: of these the first, which leaves the statements between the queries to the later part, and
/// the last, which leaves them to the earlier part. Returns all if none is legal.
fn choose<'a>(
    of_gap: Vec<(Split, Result<Plan<'a>, Refusal>)>,
    mut split: impl FnMut(Plan<'a>) -> Result<Vec<Edit>, Refusal>,
) -> Vec<Candidate> {
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    for (at, (place, plan)) in of_gap.into_iter().enumerate() {
        match plan {
            Ok(plan) => planned.push((plan.restored.cost(), at, place, plan)),
            Err(refusal) => refused.push((at, Candidate { split: place, outcome: Err(refusal) })),
        }
    }
    planned.sort_by_key(|(cost, at, ..)| (*cost, *at));
    let mut planned = planned.into_iter().peekable();
    while let Some((cost, at, place, plan)) = planned.next() {
        let outcome = split(plan);
        if outcome.is_err() {
            refused.push((at, Candidate { split: place, outcome }));
            continue;
        }
        let mut alike = Vec::new();
        while let Some((_, _, place, plan)) = planned.next_if(|(other, ..)| *other == cost) {
            alike.push((place, plan));
        }
        let last = alike.into_iter().rev().find_map(|(place, plan)| {
            let outcome = split(plan);
            outcome.is_ok().then_some(Candidate { split: place, outcome })
        });
        return std::iter::once(Candidate { split: place, outcome }).chain(last).collect();
    }
    refused.sort_by_key(|(at, _)| *at);
    refused.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Returns the variable that the head of a loop gives a value, and to which its step adds a
/// constant.
fn counter(
    context: &Context<'_, '_, '_>,
    initial: &Statement,
    step: &Expression,
) -> Option<VariableIndex> {
    use ExpressionKind as Kind;
    let (counter, value) = match &initial.kind {
        StatementKind::Declare(all) => match &all[..] {
            [one] => (one.variable, one.initial.as_ref()?),
            _ => return None,
        },
        StatementKind::Evaluate(expression) => match &expression.kind {
            Kind::Assign { operator: None, target, value } => match target.kind {
                Kind::Variable(variable) => (variable, &**value),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let is_counter = |one: &Expression| matches!(one.kind, Kind::Variable(v) if v == counter);
    let mut mentioned = false;
    value.walk(&mut |inner| mentioned |= is_counter(inner));
    let steps = match &step.kind {
        Kind::Increment(_, target) => is_counter(target),
        Kind::Assign { operator: Some(operator), target, value } => {
            let number = match &value.kind {
                Kind::Constant(number) => number.parse::<i64>().ok(),
                _ => None,
            };
            matches!(operator.as_str(), "+" | "-")
                && is_counter(target)
                && number.is_some_and(|number| number != 0)
        }
        _ => false,
    };
    let variable = context.program.variable(counter);
    let is_own = matches!(variable.scope, Scope::Local | Scope::Parameter)
        && matches!(variable.ty, crate::ir::Type::Scalar(_))
        && !variable.volatile
        && !context.flow.is_escaped(counter);
    (steps && !mentioned && is_own).then_some(counter)
}
