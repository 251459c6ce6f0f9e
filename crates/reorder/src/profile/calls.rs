//! The calls of a transaction that an instrumented program measures, each with the key of its
//! query.
//!
//! A call of the database is measured where the transaction has it. If a function of the file makes
//! the call, the transaction's call of that function is measured, since the same code may run
//! several queries. If a macro makes the whole statement with the call, the use of the macro is
//! measured. Queries of one measured call have one key, with all their texts.
//!
//! Instrumenting a source and reordering it find the same keys, since both read the same text.

use std::collections::BTreeMap;

use super::Key;
use crate::{
    api::Role,
    flow::{
        Flow,
        graph::{NodeIndex, NodeKind},
        summary::Summaries,
    },
    ir::{Callee, Expression, ExpressionKind, Program, StatementKind},
    source::Range,
    transaction::Transaction,
};

/// A call that runs queries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    /// The key of its queries.
    pub key: Key,
    /// The call, or the use of the macro that makes it; `None` if it cannot be measured.
    pub range: Option<Range>,
    /// The node at which it is executed.
    pub node: NodeIndex,
    /// True if it may be executed several times in one transaction.
    pub repeats: bool,
    /// True if it begins the transaction.
    pub begins: bool,
}

/// The number of times that each text of a function occurred so far.
#[derive(Default)]
pub(crate) struct Ordinals(BTreeMap<(String, String), u32>);

impl Ordinals {
    fn key(&mut self, function: &str, texts: &[String]) -> Key {
        let mut key = Key::new(function, &texts.join("; "), 0);
        let next = self.0.entry((key.function.clone(), key.sql.clone())).or_default();
        key.ordinal = *next;
        *next += 1;
        key
    }
}

/// The transaction whose calls are wanted, with its program.
pub(crate) struct Source<'c, 'a> {
    pub program: &'a Program,
    pub summaries: &'c Summaries<'a>,
    pub transaction: &'c Transaction<'a>,
}

/// Queries of one call, before they have a key.
struct Group {
    range: Option<Range>,
    node: NodeIndex,
    texts: Vec<String>,
    begins: bool,
}

/// Returns the calls of a transaction in the order of the source. Rollbacks are not among them, nor
/// queries whose text is not known.
pub(crate) fn calls<'a>(
    flow: &Flow<'a, '_>,
    source: &Source<'_, 'a>,
    ordinals: &mut Ordinals,
) -> Vec<Call> {
    let mut groups: Vec<Group> = Vec::new();
    for statement in source.transaction.statements {
        if !source.transaction.range.contains(statement.range) {
            continue;
        }
        for node in flow.graph.within(statement.range) {
            add_groups(flow, source, node, &mut groups);
        }
    }
    groups.sort_by_key(|group| (group.range, group.node));
    let function = &source.transaction.function.name;
    let call = |group: Group| Call {
        key: ordinals.key(function, &group.texts),
        range: group.range,
        node: group.node,
        repeats: is_in_loop(source, flow.graph.nodes[group.node].range),
        begins: group.begins,
    };
    groups.into_iter().map(call).collect()
}

/// Adds the queries of a node to those with the same call.
fn add_groups<'a>(
    flow: &Flow<'a, '_>,
    source: &Source<'_, 'a>,
    node: NodeIndex,
    groups: &mut Vec<Group>,
) {
    for query in &flow.effects[node].queries {
        let role = flow.role_of(query, node);
        let fixed = match role {
            Role::Begin => Some("BEGIN"),
            Role::Commit => Some("COMMIT"),
            Role::Query => None,
            _ => continue,
        };
        let fixed = fixed.map(|text| vec![text.to_owned()]);
        let Some(texts) = flow.sql_of(query, node).ok().or(fixed) else { continue };
        let place = &flow.graph.nodes[node];
        let range = call_in(place.kind, query.expression)
            .or_else(|| helper_call(source, place.kind))
            .or_else(|| macro_use(source, place.range));
        let begins = role == Role::Begin;
        match groups.iter_mut().find(|group| range.is_some() && group.range == range) {
            Some(group) => {
                group.texts.extend(texts);
                group.begins |= begins;
            }
            None => groups.push(Group { range, node, texts, begins }),
        }
    }
}

/// Returns the range of a call, if it is part of the node.
fn call_in(kind: NodeKind<'_>, call: &Expression) -> Option<Range> {
    let mut found = None;
    if let Some(expression) = expression_of(kind) {
        expression.walk(&mut |inner| {
            if std::ptr::eq(inner, call) {
                found = inner.range;
            }
        });
    }
    found
}

/// Returns the range of the node's only call of a function of the file that runs queries.
fn helper_call(source: &Source<'_, '_>, kind: NodeKind<'_>) -> Option<Range> {
    let mut found = Vec::new();
    expression_of(kind)?.walk(&mut |inner| {
        if let ExpressionKind::Call { callee: Callee::Function(name), .. } = &inner.kind
            && source.program.function(name).is_some()
            && let Some(Ok(summary)) = source.summaries.of(name)
            && summary.queries().next().is_some()
        {
            found.push(inner.range);
        }
    });
    let [only] = found[..] else { return None };
    only
}

/// Returns the use of a macro that makes the whole statement.
fn macro_use(source: &Source<'_, '_>, statement: Range) -> Option<Range> {
    let uses = source.program.macros.iter().map(|used| used.range);
    let makes = |used: &Range| used.start == statement.start && statement.contains(*used);
    uses.filter(makes).max_by_key(|used| used.end)
}

fn expression_of(kind: NodeKind<'_>) -> Option<&Expression> {
    match kind {
        NodeKind::Evaluate(expression) => Some(expression),
        NodeKind::Declare(declaration) => declaration.initial.as_ref(),
        NodeKind::Return(value) | NodeKind::Throw(value) => value,
        NodeKind::Nothing | NodeKind::Opaque(_) | NodeKind::Outcome { .. } => None,
    }
}

/// Returns true if a loop of the transaction contains the range.
fn is_in_loop(source: &Source<'_, '_>, range: Range) -> bool {
    let mut found = false;
    for statement in source.transaction.statements {
        statement.walk(&mut |inner| {
            let is_loop = matches!(inner.kind, StatementKind::Loop { .. });
            found |= is_loop && inner.range.contains(range);
        });
    }
    found
}
