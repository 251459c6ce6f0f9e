//! Memory whose address a prepared statement keeps: parameters that a query reads when it runs, and
//! buffers that a fetch writes.
//!
//! A call that binds memory says which statement keeps its address. From then on each query that
//! may run the statement reads the memory, and each call that fetches a row of it may write the
//! buffers.
//!
//! A statement that exists before the function is called may have been bound by another one. Unless
//! every path of the function binds all of it anew, the query reads what the functions of the
//! program bind to the statement; if they do not bind all of it either, then any memory that other
//! functions know. A call that the tool does not know may bind anything to a statement that it may
//! know.

use std::collections::BTreeSet;

use super::{
    ENTRY, Flow,
    access::{Access, AccessKind, Bound, BoundPart, Fetch, NOTHING, QueryCall},
    graph::{NodeIndex, NodeKind},
    place::{Place, Root},
};
use crate::{api::Role, sql::shape};

/// Returns the accesses that nodes have by way of statements, each with its node.
pub(super) fn accesses<'a>(flow: &Flow<'a, '_>) -> Vec<(NodeIndex, Access<'a>)> {
    let mut found = Vec::new();
    for (node, effects) in flow.effects.iter().enumerate() {
        for bound in effects.bound.iter().filter(|bound| !bound.memory.is_empty()) {
            let behind = flow.graph.reachable(node);
            for (other, point) in flow.effects.iter().enumerate() {
                if !behind[other] && other != node {
                    continue;
                }
                let kind = match bound.results {
                    false if runs(flow, other, bound) => AccessKind::Read,
                    true if point.fetched.iter().any(|one| keeps(flow, bound, &one.statement)) => {
                        AccessKind::WeakWrite
                    }
                    _ => continue,
                };
                let memory = bound.memory.iter().cloned();
                found.extend(memory.map(|place| (other, Access { place, kind, value: None })));
            }
        }
    }
    if flow.around.models.bind_memory() {
        found.extend((0..flow.effects.len()).flat_map(|node| bound_elsewhere(flow, node)));
    }
    found
}

/// Returns true if a node runs a query of the statement that keeps bound memory.
fn runs(flow: &Flow<'_, '_>, node: NodeIndex, bound: &Bound<'_>) -> bool {
    flow.effects[node].queries.iter().any(|query| {
        query.model.role == Role::Query
            && query.statements.iter().any(|statement| keeps(flow, bound, statement))
    })
}

fn keeps(flow: &Flow<'_, '_>, bound: &Bound<'_>, statement: &Place) -> bool {
    bound.statements.iter().any(|one| flow.may_share(one, statement))
}

/// A use of the memory that is bound to a statement.
struct Use<'u> {
    node: NodeIndex,
    /// The statement.
    statement: &'u Place,
    /// The number of the node's own bindings that certainly come before.
    bound_before: usize,
    /// True for a fetch.
    results: bool,
    /// The number of the statement's parameters, if it is known.
    count: Option<usize>,
}

impl<'u> Use<'u> {
    fn of_fetch(fetch: &'u Fetch, node: NodeIndex) -> Use<'u> {
        let Fetch { statement, bound_before, .. } = fetch;
        Use { node, statement, bound_before: *bound_before, results: true, count: None }
    }
}

/// Returns the accesses of a node to memory that others may have bound to a statement.
fn bound_elsewhere<'a>(
    flow: &Flow<'a, '_>,
    node: NodeIndex,
) -> impl Iterator<Item = (NodeIndex, Access<'a>)> {
    let mut read = BTreeSet::new();
    for query in flow.effects[node].queries.iter().filter(|query| !query.is_bound) {
        read.extend(uses(flow, node, query).iter().flat_map(|one| memory(flow, one)));
    }
    let mut written = BTreeSet::new();
    for fetch in flow.effects[node].fetched.iter().filter(|fetch| !fetch.is_bound) {
        written.extend(memory(flow, &Use::of_fetch(fetch, node)));
    }
    let access = |kind, value| move |place| (node, Access { place, kind, value });
    let read = read.into_iter().map(access(AccessKind::Read, None));
    read.chain(written.into_iter().map(access(AccessKind::WeakWrite, Some(&NOTHING))))
}

/// Returns the statements that a query may run, with what is known about their parameters.
fn uses<'u, 'a>(flow: &Flow<'a, '_>, node: NodeIndex, query: &'u QueryCall<'a>) -> Vec<Use<'u>> {
    if query.model.role != Role::Query {
        return Vec::new();
    }
    let of_query = || flow.sql_of(query, node).ok();
    let one = |statement: &'u Place| {
        let texts = match &statement.root {
            Root::Behind(behind) if !behind.texts.is_empty() => Some(behind.texts.clone()),
            _ => of_query(),
        };
        let count = texts.and_then(|texts| {
            let server = flow.server()?;
            let counts = texts.iter().map(|text| shape::parameter_count(text, server));
            counts.collect::<Option<Vec<usize>>>()?.into_iter().max()
        });
        Use { node, statement, bound_before: query.bound_before, results: false, count }
    };
    query.statements.iter().map(one).collect()
}

/// Returns true if every path of the function to a query binds all parameters of the statements
/// that it may run.
pub(super) fn binds_all<'a>(flow: &Flow<'a, '_>, query: &QueryCall<'a>, node: NodeIndex) -> bool {
    let uses = uses(flow, node, query);
    query.is_bound || !uses.is_empty() && uses.iter().all(|one| is_bound_here(flow, one))
}

/// The same of the columns of a statement of which a row is fetched.
pub(super) fn binds_all_columns(flow: &Flow<'_, '_>, fetch: &Fetch, node: NodeIndex) -> bool {
    is_bound_here(flow, &Use::of_fetch(fetch, node))
}

fn is_bound_here(flow: &Flow<'_, '_>, one: &Use<'_>) -> bool {
    let others = others(flow, one);
    !others.before && !others.unknown
}

/// Returns the memory that others may have bound for a use.
///
/// **Safe because** what is bound here last is among [`accesses`], and of what was bound before the
/// function was called, no local variable of the function is a part.
fn memory(flow: &Flow<'_, '_>, one: &Use<'_>) -> Vec<Place> {
    let others = others(flow, one);
    if others.unknown {
        return vec![Place::whole(Root::Unknown)];
    }
    if !others.before {
        return Vec::new();
    }
    let prepared = flow.around.summaries.prepared();
    prepared.bindings.of(flow, one.statement, one.results, one.count)
}

/// The code, other than the function's own, that may have bound memory for a use.
#[derive(Default)]
struct Others {
    /// The caller, before the function was called.
    before: bool,
    /// A call that the tool does not know.
    unknown: bool,
}

fn others(flow: &Flow<'_, '_>, one: &Use<'_>) -> Others {
    let mut others = Others::default();
    match one.count.filter(|_| !one.results) {
        Some(count) => (1..=count as u64).for_each(|number| {
            find_others(flow, one, Some(number), &mut others);
        }),
        None => find_others(flow, one, None, &mut others),
    }
    others
}

/// Goes back from a use to what binds a parameter, by its number, or all parameters or columns.
fn find_others(flow: &Flow<'_, '_>, one: &Use<'_>, number: Option<u64>, others: &mut Others) {
    let is_bound = |bound: &Bound<'_>| {
        let is_all = match bound.part {
            BoundPart::All => true,
            BoundPart::One(None) => one.count == Some(1),
            BoundPart::One(bound) => bound == number,
        };
        is_all
            && bound.certain
            && bound.results == one.results
            && matches!(&bound.statements[..], [only] if only == one.statement)
            && one.statement.root.is_single()
    };
    let own = &flow.effects[one.node];
    if own.bound[..one.bound_before].iter().any(is_bound) {
        return;
    }
    others.unknown |= may_be_bound_by(flow, one.node, one.statement);
    let mut seen = vec![false; flow.effects.len()];
    let mut open = flow.definitions.before(one.node).to_vec();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut seen[node], true) || makes(flow, node, one.statement) {
            continue;
        }
        others.before |= node == ENTRY;
        others.unknown |= may_be_bound_by(flow, node, one.statement);
        if !flow.effects[node].bound.iter().any(is_bound) {
            open.extend(flow.definitions.before(node));
        }
    }
}

/// Returns true if a node makes a statement, to which nothing is bound then.
fn makes(flow: &Flow<'_, '_>, node: NodeIndex, statement: &Place) -> bool {
    match statement.root {
        Root::Object(maker) => node == maker,
        Root::Variable(variable) => matches!(flow.graph.nodes[node].kind,
            NodeKind::Declare(declaration) if declaration.variable == variable),
        _ => false,
    }
}

/// Returns true if a node calls what the tool does not know and what may bind memory to a
/// statement.
fn may_be_bound_by(flow: &Flow<'_, '_>, node: NodeIndex, statement: &Place) -> bool {
    flow.effects[node].writes_anything
        && match statement.root {
            Root::Object(_) => is_shared(flow, statement),
            Root::Variable(variable) => flow.is_leaked(variable) || flow.is_outer(variable),
            _ => true,
        }
}

/// Returns true if code outside of the function may know a statement that the function has made.
fn is_shared(flow: &Flow<'_, '_>, statement: &Place) -> bool {
    flow.definitions.all.iter().any(|definition| {
        let is_kept = match definition.place.root {
            Root::Variable(variable) => !flow.is_leaked(variable) && !flow.is_outer(variable),
            _ => false,
        };
        let led_to = |value| flow.targets(value, definition.node).contains(statement);
        let is_made_here = Root::Object(definition.node) == statement.root;
        let is_itself = definition.place.root == statement.root;
        !is_kept && !is_itself && (is_made_here || definition.value.is_some_and(led_to))
    })
}
