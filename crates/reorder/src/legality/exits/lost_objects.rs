//! No exit moves to where it leaves what the code behind it does not clean up: an object that the
//! transaction makes, or a statement that has run and that the function resets before the next run.
//!
//! An object has to be ended from the unit that makes it to the last one of the transaction that
//! ends it. If no unit does, code behind the transaction ends it, or the caller gets it. Likewise,
//! the run of a statement has to be reset, unless the unit that runs it resets it first.
//!
//! **Safe because** each exit then leaves the objects that it left in the source, and statements
//! that are ready to run.

use std::collections::BTreeSet;

use super::super::{Context, Found, Rule};
use crate::{
    flow::{
        access::AccessKind,
        cleanup::null_test,
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
        reaching::Definition,
    },
    ir::{Expression, ExpressionKind, Scope, VariableIndex},
    solve::{Outside, UnitIndex},
    units::{Barrier, Piece},
};

/// Something that a unit leaves to be cleaned up.
struct Life {
    place: Place,
    /// True for an object that is to be ended; false for a statement that is to be reset or ended.
    made: bool,
    /// The unit that leaves it.
    from: UnitIndex,
    /// The last unit that cleans it up; `None` if that happens behind the transaction.
    to: Option<UnitIndex>,
}

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for life in lives(context) {
        for unit in (0..context.units.units.len()).filter(|&unit| life.may_lose(context, unit)) {
            let reason = match life.made {
                true => "it leaves without ending what is made here",
                false => "it leaves without resetting the statement that runs here",
            };
            let (from, reason) = (life.from, reason.to_string());
            match life.to {
                Some(to) => found.outside(Outside { unit, from, to }, Rule::Exit, reason),
                None => found.before(unit, from, Rule::Exit, reason),
            }
        }
    }
}

/// Returns the lives that span several units.
fn lives(context: &Context<'_, '_, '_>) -> Vec<Life> {
    let units = &context.units.units;
    let mut lives: Vec<Life> = Vec::new();
    for (from, unit) in units.iter().enumerate() {
        for node in unit.continuing_nodes() {
            let place = Place::whole(Root::Object(node));
            if context.flow.makes_object(node)
                && !is_owned(context, node)
                && (is_ended(context, &place) || leaves(context, &place, node))
            {
                lives.push(Life { place, made: true, from, to: None });
            }
            for place in run_statements(context, node) {
                if !is_reset_before(context, from, node, &place) {
                    lives.push(Life { place, made: false, from, to: None });
                }
            }
        }
    }
    for life in &mut lives {
        let cleans = |&unit: &UnitIndex| {
            units[unit].continuing_nodes().any(|node| life.is_cleaned_by(context, node))
        };
        life.to = (life.from..units.len()).rev().find(cleans);
    }
    lives.retain(|life| life.to != Some(life.from));
    lives
}

/// Returns true if the function ends an object.
fn is_ended(context: &Context<'_, '_, '_>, object: &Place) -> bool {
    let flow = context.flow;
    let mut accesses = flow.effects.iter().flat_map(|effects| &effects.accesses);
    accesses.any(|one| one.kind == AccessKind::End && flow.may_share(&one.place, object))
}

/// Returns true if the function may return an object, or pass on its address in another way than
/// to calls that a model describes. If it does not, no code behind the function can end it.
fn leaves(context: &Context<'_, '_, '_>, object: &Place, maker: NodeIndex) -> bool {
    let flow = context.flow;
    let is_local = |place: &Place| match place.variable() {
        Some(variable) => {
            place.path.is_empty() && context.program.variable(variable).scope == Scope::Local
        }
        None => place.root.is_object() || matches!(place.root, Root::Last | Root::LastWrite),
    };
    let holds = |one: &&Definition<'_>| {
        let is_it = |value| flow.targets(value, one.node).contains(object);
        one.node == maker || one.value.is_some_and(is_it)
    };
    let stored: Vec<&Place> =
        flow.definitions.all.iter().filter(holds).map(|one| &one.place).collect();
    let holders: BTreeSet<VariableIndex> =
        stored.iter().filter_map(|place| place.variable()).collect();
    let is_returned = matches!(flow.graph.nodes[maker].kind, NodeKind::Return(_));
    is_returned
        || !stored.into_iter().all(is_local)
        || (0..flow.graph.nodes.len()).any(|node| !only_passes(context, node, &holders, maker))
}

/// Returns true if a node does no more with the pointers in some variables than to pass them to
/// calls that a model describes, to compare them with null, and to store them in these variables.
fn only_passes(
    context: &Context<'_, '_, '_>,
    node: NodeIndex,
    holders: &BTreeSet<VariableIndex>,
    maker: NodeIndex,
) -> bool {
    let flow = context.flow;
    let Some(whole) = flow.expression_of(node) else { return true };
    let holder = |one: &Expression| match one.without_casts().kind {
        ExpressionKind::Variable(variable) => holders.contains(&variable),
        _ => false,
    };
    let address = |one: &Expression| match &one.without_casts().kind {
        ExpressionKind::Address(operand) => node == maker && holder(operand),
        _ => false,
    };
    let is_test = flow.graph.nodes[node].successors.len() > 1 && holder(whole);
    let (mut uses, mut allowed) = (0, usize::from(is_test));
    whole.walk(&mut |one| match &one.kind {
        ExpressionKind::Variable(variable) => uses += usize::from(holders.contains(variable)),
        ExpressionKind::Call { arguments, .. } if flow.has_model(one) => {
            let given = arguments.iter().filter(|argument| {
                let is_result = flow.type_of(argument) == flow.type_of(one);
                address(argument) || holder(argument) && !is_result
            });
            allowed += given.count();
        }
        ExpressionKind::Assign { operator: None, target, value } if holder(target) => {
            allowed += 1 + usize::from(holder(value));
        }
        ExpressionKind::Unary(operator, operand) if operator == "!" => {
            allowed += usize::from(holder(operand));
        }
        ExpressionKind::Binary(operator, left, right)
            if matches!(operator.as_str(), "==" | "!=" | "&&" | "||") =>
        {
            allowed += usize::from(holder(left)) + usize::from(holder(right));
        }
        _ => {}
    });
    uses == allowed
}

/// Returns true if the object that a node makes is ended without a call of the program: where the
/// scope of a variable ends, or by a function that the call gets along with it.
fn is_owned(context: &Context<'_, '_, '_>, node: NodeIndex) -> bool {
    let flow = context.flow;
    let mut written = flow.effects[node].accesses.iter().filter_map(|one| one.place.variable());
    let has_owner = written.any(|variable| context.program.variable(variable).owner.is_some());
    let mut is_passed_on = false;
    if let Some(expression) = flow.expression_of(node) {
        expression.walk(&mut |call| is_passed_on |= flow.passes_destructor(call));
    }
    has_owner || is_passed_on
}

/// Returns the statements that a node runs which exist before the transaction, if the function
/// resets them.
fn run_statements(context: &Context<'_, '_, '_>, node: NodeIndex) -> Vec<Place> {
    let flow = context.flow;
    let queries = &flow.effects[node].queries;
    let is_made_inside = |place: &Place| match place.root {
        Root::Object(maker) => context.units.of_node(maker).is_some(),
        _ => false,
    };
    let is_reset = |place: &Place| (0..flow.effects.len()).any(|node| flow.resets(node, place));
    let statements = queries.iter().flat_map(|query| &query.statements);
    let mut found: Vec<Place> =
        statements.filter(|one| !is_made_inside(one) && is_reset(one)).cloned().collect();
    found.dedup();
    found
}

/// Returns true if a unit resets a statement in front of the node that runs it.
fn is_reset_before(
    context: &Context<'_, '_, '_>,
    unit: UnitIndex,
    run: NodeIndex,
    statement: &Place,
) -> bool {
    let mut before = context.units.units[unit].continuing_nodes().filter(|&node| node < run);
    before.any(|node| context.flow.resets(node, statement))
}

impl Life {
    /// Returns true if a unit outside of the life has an exit that does not clean up.
    fn may_lose(&self, context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
        let is_outside = match self.to {
            Some(to) => !(self.from..=to).contains(&unit),
            None => unit < self.from,
        };
        is_outside
            && context.units.units[unit].pieces.iter().any(|piece| self.is_lost(context, piece))
    }

    /// Returns true if the exits of a piece do not clean up on all ways.
    fn is_lost(&self, context: &Context<'_, '_, '_>, piece: &Piece<'_>) -> bool {
        let graph = &context.flow.graph;
        let goes_on = |node: &&NodeIndex| !piece.leaving.contains(node);
        let begins =
            piece.nodes.iter().filter(goes_on).flat_map(|&node| &graph.nodes[node].successors);
        let leaving = begins.copied().filter(|node| piece.leaving.contains(node));
        let others = piece.exits.iter().map(|exit| exit.node);
        let others = others.filter(|node| !piece.leaving.contains(node));
        let ways: BTreeSet<NodeIndex> = leaving.chain(others).collect();
        !piece.exits.is_empty()
            && !ways.into_iter().all(|node| self.is_cleaned_behind(context, node))
    }

    /// Returns true if each way from a node cleans up before the function returns, or before the
    /// transaction begins again.
    fn is_cleaned_behind(&self, context: &Context<'_, '_, '_>, from: NodeIndex) -> bool {
        let flow = context.flow;
        let goes_on = |node: NodeIndex| {
            let unit = context.units.of_node(node).map(|unit| &context.units.units[unit]);
            unit.is_some_and(|unit| {
                let is_outside = unit.barriers().any(|one| *one == Barrier::Outside);
                !is_outside && !unit.pieces.iter().any(|one| one.leaving.contains(&node))
            })
        };
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if !seen.insert(node) || self.is_cleaned_by(context, node) {
                continue;
            }
            // Behind its return, a statement of the function itself runs no more.
            let ends = flow.graph.nodes[node].successors.is_empty();
            let is_own = !self.made && matches!(self.place.root, Root::Object(_));
            if ends && !is_own || node != from && goes_on(node) {
                return false;
            }
            open.extend(self.ways_behind(context, node));
        }
        true
    }

    /// Returns the nodes that control may reach from a node while there is something to clean up:
    /// the pointer to it is not null.
    fn ways_behind(&self, context: &Context<'_, '_, '_>, node: NodeIndex) -> Vec<NodeIndex> {
        let flow = context.flow;
        let successors = &flow.graph.nodes[node].successors;
        let test = flow.expression_of(node).filter(|_| successors.len() > 1).and_then(null_test);
        let test = test.filter(|(variable, _)| {
            let pointer = Place::whole(Root::Variable(*variable));
            flow.led_to_at(&pointer, node).contains(&self.place)
        });
        let is_possible = |next: &NodeIndex| match (test, &flow.graph.nodes[*next].kind) {
            (Some((_, if_true)), NodeKind::Outcome { holds, .. }) => *holds == if_true,
            _ => true,
        };
        successors.iter().copied().filter(is_possible).collect()
    }

    fn is_cleaned_by(&self, context: &Context<'_, '_, '_>, node: NodeIndex) -> bool {
        let flow = context.flow;
        let mut accesses = flow.effects[node].accesses.iter();
        let ends = accesses
            .any(|one| one.kind == AccessKind::End && flow.may_share(&one.place, &self.place));
        ends || !self.made && flow.resets(node, &self.place)
    }
}
