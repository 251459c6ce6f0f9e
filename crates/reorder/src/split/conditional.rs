//! Splits `if (c) { A B }` into `if (c) { A } if (c) { B }`, and an `if` with `else` between its
//! bodies or within one of them.
//!
//! The paper has two conditions (§3.1): no part affects the condition, and the condition has no
//! side effect. Where one of them does not hold, the condition is evaluated once, into a variable
//! that stands before the first `if`.
//!
//! **Safe because** each part runs if and only if it ran before, and in the same order: between the
//! two evaluations of the condition nothing runs that changes what it reads, or it is evaluated
//! once. A part that leaves the statement leaves both.

use super::{
    Candidate, Refusal, Split, SplitKind, SplitRule, declarations, last_line,
    part::{self, Part},
    restore::Restored,
    shape,
};
use crate::{
    flow::{
        access::AccessKind,
        graph::{NodeIndex, NodeKind},
        place::Root,
    },
    ir::{Expression, ExpressionKind, Language, Statement, StatementKind},
    legality::Context,
    source::{Edit, Range},
    units::Piece,
};

/// An `if` with its parts.
struct Conditional<'c, 'a, 'p> {
    context: &'c Context<'c, 'a, 'p>,
    piece: &'c Piece<'a>,
    condition: &'a Expression,
    then: &'a Statement,
    otherwise: Option<&'a Statement>,
}

/// Adds the places at which an `if` can be split.
pub(super) fn find<'a>(
    context: &Context<'_, 'a, '_>,
    function: &str,
    piece: &Piece<'a>,
    found: &mut Vec<Candidate>,
) {
    let StatementKind::If { condition, then, otherwise } = &piece.statement.kind else { return };
    let one = Conditional { context, piece, condition, then, otherwise: otherwise.as_deref() };
    let text = context.text;
    let candidate = |kind, behind: Range, outcome| {
        let (line, behind) = (piece.range.line(text), last_line(behind, text));
        let split = Split { function: function.to_string(), kind, line, behind };
        Candidate { split, outcome }
    };
    for (body, is_else) in [(Some(one.then), false), (one.otherwise, true)] {
        let Some(body) = body else { continue };
        let Some(list) = shape::list(body, text) else { continue };
        for places in part::places(context, list) {
            let mut of_gap = Vec::new();
            for at in places {
                let outcome = one.within(list, at, is_else);
                let split = candidate(SplitKind::Conditional, list[at - 1].range, outcome);
                // Parts that no value connects are the ones that may move apart.
                if split.outcome.is_ok() && !one.is_connected(list, at) {
                    of_gap = vec![split];
                    break;
                }
                of_gap.push(split);
            }
            found.extend(of_gap);
        }
    }
    if let Some(otherwise) = one.otherwise
        && part::has_query(context, one.then.range)
        && part::has_query(context, otherwise.range)
    {
        let outcome = one.between(otherwise);
        found.push(candidate(SplitKind::Alternatives, one.then.range, outcome));
    }
}

impl<'a> Conditional<'_, 'a, '_> {
    /// Splits a body behind its first statements.
    fn within(
        &self,
        list: &'a [Statement],
        at: usize,
        is_else: bool,
    ) -> Result<Vec<Edit>, Refusal> {
        let text = self.context.text;
        let place = self.check()?;
        let parts = [
            Part::of(self.context, self.piece, &list[..at])?,
            Part::of(self.context, self.piece, &list[at..])?,
        ];
        let indent = shape::indent(self.piece.range, text);
        let inner = shape::indent(list[0].range, text);
        let declared =
            declarations::of(self.context, [&parts[0], &parts[1]], &Restored::default(), inner)?;
        self.check_values(&parts, &declared)?;
        let mut first: Vec<NodeIndex> = parts[0].continuing().collect();
        if is_else {
            first.extend(self.context.flow.graph.within(self.then.range));
        }
        let (mut edits, condition) = self.condition(place, &first);
        edits.extend(declared.edits);
        let condition = if is_else { format!("!({condition})") } else { condition };
        let newline = shape::newline(text);
        let inserted =
            format!("{newline}{indent}}}{newline}{indent}if ({condition}) {{{}", declared.text);
        edits.push(Edit { range: shape::behind(list[at - 1].range, text), text: inserted });
        Ok(edits)
    }

    /// Splits the statement between its bodies.
    fn between(&self, otherwise: &'a Statement) -> Result<Vec<Edit>, Refusal> {
        let text = self.context.text;
        let place = self.check()?;
        let joint = Range::new(self.then.range.end, otherwise.range.start);
        if joint.of(text).trim() != "else" || shape::list(otherwise, text).is_none() {
            return self.refused(SplitRule::Form, "the bodies are not `{ … } else { … }`");
        }
        let first: Vec<NodeIndex> = self.context.flow.graph.within(self.then.range).collect();
        let (mut edits, condition) = self.condition(place, &first);
        let (newline, indent) = (shape::newline(text), shape::indent(self.piece.range, text));
        let inserted = format!("{newline}{indent}if (!({condition})) ");
        edits.push(Edit { range: joint, text: inserted });
        Ok(edits)
    }

    /// Returns true if the later part reads a local variable that the earlier part writes.
    fn is_connected(&self, list: &'a [Statement], at: usize) -> bool {
        let flow = self.context.flow;
        let nodes = |part: &'a [Statement]| -> Vec<NodeIndex> {
            part.iter().flat_map(|one| flow.graph.within(one.range)).collect()
        };
        let earlier = nodes(&list[..at]);
        nodes(&list[at..]).into_iter().any(|node| {
            let reads = flow.exposed_reads(node).into_iter();
            reads.filter(|place| place.variable().is_some()).any(|place| {
                let mut reaching = flow.reaching(node, place).into_iter();
                reaching.any(|one| earlier.contains(&flow.definitions.all[one].node))
            })
        })
    }

    fn refused<T>(&self, rule: SplitRule, reason: &str) -> Result<T, Refusal> {
        let line = self.piece.range.line(self.context.text);
        Err(Refusal { rule, line, reason: reason.to_string() })
    }

    /// Refuses a statement that cannot be split at all; returns the place of the condition's text.
    fn check(&self) -> Result<Range, Refusal> {
        let (text, piece) = (self.context.text, self.piece);
        if let Some(barrier) = piece.barriers.first() {
            return self.refused(SplitRule::Barrier, &barrier.to_string());
        }
        let bodies = [Some(self.then), self.otherwise].into_iter().flatten();
        let bodies: Vec<Range> = bodies.map(|body| body.range).collect();
        shape::check(self.context.program, piece.range, &bodies, text)?;
        let place = shape::condition(piece.range, self.then.range, text)
            .filter(|_| shape::list(self.then, text).is_some());
        let Some(place) = place else {
            return self.refused(SplitRule::Form, "it is not written as `if (…) { … }`");
        };
        let mut labelled = false;
        piece.statement.walk(&mut |inner| {
            labelled |= matches!(inner.kind, StatementKind::Label(..));
        });
        if labelled {
            return self.refused(SplitRule::Jump, "a label stands in it");
        }
        Ok(place)
    }

    /// Refuses parts of which the first leaves a value in a variable that both will declare.
    fn check_values(
        &self,
        parts: &[Part<'a>; 2],
        declared: &declarations::Declarations,
    ) -> Result<(), Refusal> {
        let flow = self.context.flow;
        for &node in &parts[1].nodes {
            for place in flow.exposed_reads(node) {
                let Some(variable) = place.variable() else { continue };
                if !declared.variables.contains(&variable) {
                    continue;
                }
                let gives = |one: usize| {
                    let definition = &flow.definitions.all[one];
                    let kind = &flow.graph.nodes[definition.node].kind;
                    parts[0].nodes.contains(&definition.node)
                        && !matches!(kind, NodeKind::Declare(_))
                };
                if flow.reaching(node, place).into_iter().any(gives) {
                    let name = &self.context.program.variable(variable).name;
                    let reason = format!("the value of `{name}` is used behind the split");
                    return self.refused(SplitRule::Declaration, &reason);
                }
            }
        }
        Ok(())
    }

    /// Returns the condition of both parts, and the edits that evaluate it once if it must be.
    fn condition(&self, place: Range, first: &[NodeIndex]) -> (Vec<Edit>, String) {
        let text = self.context.text;
        let written = place.of(text).to_string();
        if self.is_pure() && !self.is_changed(first) {
            return (Vec::new(), written);
        }
        let name = unused_name(text);
        let (newline, indent) = (shape::newline(text), shape::indent(self.piece.range, text));
        // C++ allows no jump past a declaration with an initializer.
        let declared = match self.context.program.language {
            Language::C => format!("int {name} = ({written}) ? 1 : 0;"),
            Language::Cpp => {
                format!("int {name};{newline}{indent}{name} = ({written}) ? 1 : 0;")
            }
        };
        let start = self.piece.range.start;
        let before =
            Edit { range: Range::new(start, start), text: format!("{declared}{newline}{indent}") };
        (vec![before, Edit { range: place, text: name.clone() }], name)
    }

    /// Returns the nodes of the condition, and of its outcomes. The operands of `&&` and `||` have
    /// nodes of their own.
    fn nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let graph = &self.context.flow.graph;
        let is_part = |expression: &Expression| {
            let mut found = false;
            self.condition.walk(&mut |part| found |= std::ptr::eq(expression, part));
            found
        };
        graph.within(self.piece.range).filter(move |&node| match graph.nodes[node].kind {
            NodeKind::Evaluate(expression) => is_part(expression),
            NodeKind::Outcome { condition, .. } => graph.nodes[condition].range == self.piece.range,
            _ => false,
        })
    }

    /// Returns true if evaluating the condition changes nothing, and depends on nothing outside.
    fn is_pure(&self) -> bool {
        let mut plain = true;
        self.condition.walk(&mut |inner| {
            use ExpressionKind as Kind;
            plain &= match inner.kind {
                Kind::Assign { .. } | Kind::Increment(..) => false,
                Kind::Construct(..) | Kind::Opaque(_) => false,
                Kind::Variable(variable) => !self.context.program.variable(variable).volatile,
                _ => true,
            };
        });
        plain
            && self.nodes().all(|node| {
                let effects = &self.context.flow.effects[node];
                let is_read = |one: &crate::flow::access::Access<'_>| {
                    one.kind == AccessKind::Read && one.place.root != Root::Outside
                };
                effects.queries.is_empty() && effects.accesses.iter().all(is_read)
            })
    }

    /// Returns true if one of the nodes may write what the condition reads.
    fn is_changed(&self, first: &[NodeIndex]) -> bool {
        let flow = self.context.flow;
        let read: Vec<_> = self
            .nodes()
            .flat_map(|node| &flow.effects[node].accesses)
            .map(|one| &one.place)
            .collect();
        first.iter().flat_map(|&node| &flow.effects[node].accesses).any(|access| {
            access.kind != AccessKind::Read
                && read.iter().any(|place| flow.may_share(place, &access.place))
        })
    }
}

/// Returns a name that the source does not use.
fn unused_name(text: &str) -> String {
    let names = (1..).map(|number| format!("clearway_condition{number}"));
    names.into_iter().find(|name| !text.contains(name.as_str())).unwrap_or_default()
}
