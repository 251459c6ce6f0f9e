//! Statements of the earlier part of a loop that are repeated at the begin of the later part,
//! because they compute the same value there.
//!
//! A statement is repeated if
//! - it is an assignment, a call or a declaration of the body's own list, so that each iteration
//!   executes it once;
//! - it does nothing but to write one variable, and its write is the only one that reaches the end
//!   of the earlier part;
//! - what it reads is written by nothing in the loop, or is the variable that counts, an element of
//!   the iteration ([`element`](super::element)) that nothing behind it writes in the earlier part,
//!   or a place that another repeated statement gives its value.
//!
//! **Safe because** it then reads the same values at the begin of the later part as where it
//! stands, and has no other effect.

use std::collections::BTreeSet;

use super::{declarations, restore, values::Values};
use crate::{
    flow::{
        access::AccessKind,
        graph::NodeIndex,
        place::{Place, Root},
    },
    ir::{Expression, ExpressionKind, Statement, StatementKind, VariableIndex},
    units::exposed,
};

/// A statement of the earlier part that the later part begins with.
pub(super) struct Repeated {
    /// Its number in the list.
    pub(super) at: usize,
    /// True if the earlier part does not use the value.
    pub(super) moves: bool,
}

/// The statements that are repeated.
pub(super) struct Plan {
    /// The statements, in the order of the source.
    pub(super) statements: Vec<Repeated>,
    /// The places that they give their values.
    pub(super) places: Vec<Place>,
}

impl Plan {
    /// Returns true if a place gets its value from a repeated statement.
    pub(super) fn gives(&self, place: &Place) -> bool {
        self.places.contains(place)
    }
}

/// Finds the statements that give places their values.
pub(super) fn of(
    values: &Values<'_, '_, '_>,
    counter: VariableIndex,
    needed: &[(NodeIndex, Place)],
) -> Plan {
    let search = Search { values, counter };
    let (mut all, mut places) = (BTreeSet::new(), Vec::new());
    for (_, place) in needed {
        let mut found = BTreeSet::new();
        if search.add(place, None, &mut found) {
            all.extend(found);
            places.push(place.clone());
        }
    }
    let moved = search.moved(&all);
    let repeated = |&at: &usize| Repeated { at, moves: moved.contains(&at) };
    Plan { statements: all.iter().map(repeated).collect(), places }
}

/// Returns true if evaluating the condition of a statement that does nothing else has no effect,
/// and the same value at the begin of the later part.
pub(super) fn is_unchanged_test(
    values: &Values<'_, '_, '_>,
    counter: VariableIndex,
    at: usize,
) -> bool {
    let search = Search { values, counter };
    let effects = &values.context.flow.effects;
    search.nodes(at).all(|node| {
        let mut accesses = effects[node].accesses.iter();
        effects[node].has_only_accesses()
            && accesses.all(|one| {
                one.kind == AccessKind::Read
                    && is_in_program(&one.place)
                    && search.is_unchanged(&one.place, at)
            })
    }) && !has_volatile(values, at)
}

/// Returns true if a statement mentions a volatile variable.
fn has_volatile(values: &Values<'_, '_, '_>, at: usize) -> bool {
    let used = declarations::used([&values.parts[0].statements[at]]);
    used.into_iter().any(|one| values.context.program.variable(one).volatile)
}

/// Returns true for a place that only the program's own statements change.
fn is_in_program(place: &Place) -> bool {
    use Root::{Bound, Last, LastWrite, Outside, Unknown};
    !matches!(place.root, Outside | Last | LastWrite | Unknown | Bound(_))
}

struct Search<'s, 'c, 'a, 'p> {
    values: &'s Values<'c, 'a, 'p>,
    counter: VariableIndex,
}

impl<'a> Search<'_, '_, 'a, '_> {
    /// Adds the statements that give a place its value at the end of the earlier part, or at the
    /// statement `reader` of it; returns false if there are none.
    fn add(&self, place: &Place, reader: Option<usize>, found: &mut BTreeSet<usize>) -> bool {
        let Some(at) = self.writer(place) else { return false };
        if reader.is_some_and(|reader| at >= reader) {
            return false;
        }
        if found.contains(&at) {
            return true;
        }
        found.insert(at);
        let reads: Vec<Place> = self.accesses(at, AccessKind::Read).cloned().collect();
        reads.iter().all(|read| self.is_unchanged(read, at) || self.add(read, Some(at), found))
    }

    fn nodes(&self, at: usize) -> impl Iterator<Item = NodeIndex> + '_ {
        let range = self.values.parts[0].statements[at].range;
        self.values.context.flow.graph.within(range)
    }

    fn accesses(&self, at: usize, kind: AccessKind) -> impl Iterator<Item = &Place> + '_ {
        let flow = self.values.context.flow;
        let all = self.nodes(at).flat_map(|node| &flow.effects[node].accesses);
        all.filter(move |one| one.kind == kind).map(|one| &one.place)
    }

    /// Returns the statement whose write of a place is the only one that reaches the end of the
    /// earlier part, if it may be repeated.
    fn writer(&self, place: &Place) -> Option<usize> {
        let flow = self.values.context.flow;
        let variable = place.variable()?;
        let reaching = flow.reaching(self.values.split(), place);
        let [definition] = &reaching[..] else { return None };
        let definition = &flow.definitions.all[*definition];
        let at = self.statement_of(definition.node)?;
        let covers = definition.place.covers(place);
        (covers && self.is_pure(at, variable) && !self.is_hidden(at)).then_some(at)
    }

    /// Returns true if a statement does nothing but to write a variable.
    fn is_pure(&self, at: usize, variable: VariableIndex) -> bool {
        let statement = &self.values.parts[0].statements[at];
        let is_plain = match &statement.kind {
            StatementKind::Evaluate(_) => true,
            StatementKind::Declare(all) => {
                matches!(&all[..], [one] if one.initial.is_some())
                    && !statement.range.of(self.values.context.text).contains('{')
            }
            _ => false,
        };
        is_plain
            && restore::is_local(self.values, variable)
            && !self.values.context.flow.is_escaped(variable)
            && self.nodes(at).count() == 1
            && self.nodes(at).all(|node| {
                let effects = &self.values.context.flow.effects[node];
                let is_own = |one: &crate::flow::access::Access<'_>| match one.kind {
                    AccessKind::Read => is_in_program(&one.place),
                    AccessKind::Write => one.place.root == Root::Variable(variable),
                    AccessKind::WeakWrite | AccessKind::End => false,
                };
                effects.accesses.iter().all(is_own) && effects.has_only_accesses()
            })
    }

    /// Returns true if a declaration behind a statement hides a name that the statement uses.
    fn is_hidden(&self, at: usize) -> bool {
        let program = self.values.context.program;
        let [first, second] = self.values.parts;
        let written = first.statements[at].range.of(self.values.context.text);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = written.split(|c: char| !is_part(c)).collect();
        let behind = first.statements[at + 1..].iter().chain(second.statements);
        behind.into_iter().any(|statement| match &statement.kind {
            StatementKind::Declare(all) => {
                all.iter().any(|one| words.contains(program.variable(one.variable).name.as_str()))
            }
            _ => false,
        })
    }

    /// Returns true if a place that a statement reads has the same value at the begin of the later
    /// part.
    fn is_unchanged(&self, read: &Place, at: usize) -> bool {
        let flow = self.values.context.flow;
        let writes = |node: NodeIndex| {
            let mut accesses = flow.effects[node].accesses.iter();
            accesses.any(|one| one.kind != AccessKind::Read && flow.may_share(&one.place, read))
        };
        if *read == Place::whole(Root::Variable(self.counter)) {
            return true;
        }
        let [first, second] = self.values.parts;
        let mut all = first.nodes.iter().chain(&second.nodes);
        if !all.any(|&node| writes(node)) {
            return true;
        }
        let mut behind = first.statements[at..].iter().flat_map(|one| flow.graph.within(one.range));
        self.values.elements.are_of_iteration(read) && !behind.any(writes)
    }

    /// Returns the repeated statements that the earlier part does not need: nothing uses what they
    /// write but later ones of them that the earlier part does not need either.
    fn moved(&self, all: &BTreeSet<usize>) -> BTreeSet<usize> {
        let flow = self.values.context.flow;
        let reads: Vec<(NodeIndex, &Place, Option<usize>)> =
            exposed(flow, &self.values.parts[0].piece)
                .into_iter()
                .map(|(node, place)| (node, place, self.statement_of(node)))
                .collect();
        let mut moved = BTreeSet::new();
        for &at in all.iter().rev() {
            let own: Vec<NodeIndex> = self.nodes(at).collect();
            let is_own = |one: &usize| own.contains(&flow.definitions.all[*one].node);
            let writes: Vec<&Place> = own
                .iter()
                .flat_map(|&node| &flow.effects[node].accesses)
                .filter(|one| one.kind != AccessKind::Read)
                .map(|one| &one.place)
                .collect();
            let is_used = reads.iter().any(|(node, place, reader)| {
                !reader.is_some_and(|reader| reader > at && moved.contains(&reader))
                    && writes.iter().any(|write| flow.may_share(write, place))
                    && flow.reaching(*node, place).iter().any(is_own)
            });
            if !is_used && !self.is_mentioned(at, all) {
                moved.insert(at);
            }
        }
        moved
    }

    /// Returns the number of the earlier part's statement that contains a node.
    fn statement_of(&self, node: NodeIndex) -> Option<usize> {
        let flow = self.values.context.flow;
        let statements = self.values.parts[0].statements;
        statements.iter().position(|one| {
            one.range.contains(flow.graph.nodes[node].range)
                && flow.graph.within(one.range).any(|inner| inner == node)
        })
    }

    /// Returns true if the earlier part mentions a variable that a statement declares.
    fn is_mentioned(&self, at: usize, all: &BTreeSet<usize>) -> bool {
        let statements: &'a [Statement] = self.values.parts[0].statements;
        let StatementKind::Declare(declared) = &statements[at].kind else { return false };
        let variables: Vec<VariableIndex> = declared.iter().map(|one| one.variable).collect();
        let behind = statements.iter().enumerate().skip(at + 1);
        behind.filter(|(other, _)| !all.contains(other)).any(|(_, statement)| {
            let mut found = false;
            statement.walk(&mut |inner| {
                let mentions = |part: &Expression| {
                    matches!(part.kind, ExpressionKind::Variable(one) if variables.contains(&one))
                };
                for expression in inner.expressions() {
                    expression.walk(&mut |part| found |= mentions(part));
                }
            });
            found
        })
    }
}
