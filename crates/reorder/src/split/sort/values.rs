//! The values of a loop that may be sorted: none goes from one iteration to another, or to code
//! outside of the loop.
//!
//! - The body writes only local variables whose address is not kept, and what its queries return.
//! - A read of the body that sees a write of the body sees one of the same iteration: each path
//!   from the condition to the read passes one that overwrites the whole place.
//! - Code outside of the loop, and code of an exit, reads nothing that an iteration has written.
//!   The number of the iteration is among that. It may free what the queries of the iteration
//!   returned.

use super::{Loop, Obstacle};
use crate::{
    api::Role,
    flow::{
        access::{Access, AccessKind},
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
    },
    ir::{Scope, Type},
    legality::place_name,
};

/// Refuses a value that leaves its iteration.
pub(super) fn check(looping: &Loop<'_, '_, '_, '_>) -> Result<(), Obstacle> {
    for node in looping.part.continuing() {
        looping.check_effects(node)?;
    }
    looping.check_carried()?;
    looping.check_behind()
}

impl Loop<'_, '_, '_, '_> {
    /// Refuses an effect that is none on the iteration's own variables or on rows.
    fn check_effects(&self, node: NodeIndex) -> Result<(), Obstacle> {
        let flow = self.context.flow;
        let effects = &flow.effects[node];
        let refused = |reason: String| Err(self.obstacle(self.range_of(node), reason));
        if let Some(barrier) = effects.barriers.first() {
            return refused(barrier.clone());
        }
        if effects.writes_anything {
            return refused("it is not known what it writes".to_string());
        }
        let streams = effects.streams || effects.queries.iter().any(|one| one.model.streams);
        if effects.binds_memory() || !effects.fetched.is_empty() || streams {
            return refused("it uses a prepared statement or rows on the way".to_string());
        }
        let is_query = |role: Role| !matches!(role, Role::Rollback | Role::Prepare);
        if !effects.queries.iter().all(|query| is_query(flow.role_of(query, node))) {
            return refused("it rolls back and goes on, or prepares a statement".to_string());
        }
        for access in &effects.accesses {
            let place = &access.place;
            if place.root == Root::Outside {
                return refused("it has an effect outside, or depends on something there".into());
            }
            if access.kind != AccessKind::Read && !self.is_own(place) {
                let name = place_name(self.context, place);
                return refused(format!("it writes {name}, which is no plain local variable"));
            }
        }
        Ok(())
    }

    /// Returns true for a place that only the loop's own code can mean.
    fn is_own(&self, place: &Place) -> bool {
        match &place.root {
            Root::Variable(index) => {
                let variable = self.context.program.variable(*index);
                variable.scope == Scope::Local
                    && !variable.volatile
                    && is_plain(&variable.ty)
                    && !self.context.flow.is_leaked(*index)
            }
            Root::Object(maker) => self.part.nodes.contains(maker),
            Root::Last | Root::LastWrite => true,
            _ => false,
        }
    }

    /// Refuses a read that may see what an earlier iteration has written.
    fn check_carried(&self) -> Result<(), Obstacle> {
        let flow = self.context.flow;
        let own: Vec<NodeIndex> = self.part.continuing().collect();
        for &node in &own {
            for place in flow.exposed_reads(node) {
                let by = flow.reaching(node, place).into_iter();
                let mut by = by.map(|one| flow.definitions.all[one].node);
                if !by.any(|one| own.contains(&one)) || self.is_of_server(node, place) {
                    continue;
                }
                let overwrites = |one: &NodeIndex| {
                    let mut accesses = flow.effects[*one].accesses.iter();
                    accesses.any(|one| one.kind == AccessKind::Write && one.place.covers(place))
                };
                let over: Vec<NodeIndex> = own.iter().copied().filter(overwrites).collect();
                if !flow.graph.passes(self.counting.test, node, &over) {
                    let name = place_name(self.context, place);
                    let reason = format!("it reads {name}, which an earlier iteration may write");
                    return Err(self.obstacle(self.range_of(node), reason));
                }
            }
        }
        Ok(())
    }

    /// Refuses a read outside of the loop, or at an exit of it, of what the loop has written.
    fn check_behind(&self) -> Result<(), Obstacle> {
        let flow = self.context.flow;
        let own: Vec<NodeIndex> =
            self.part.continuing().chain(self.counting.header.iter().copied()).collect();
        let others = (0..flow.graph.nodes.len()).filter(|node| !own.contains(node));
        for node in others.filter(|&node| !self.frees(node)) {
            for place in flow.exposed_reads(node) {
                let is_own = |one: usize| {
                    let node = flow.definitions.all[one].node;
                    let declares = matches!(flow.graph.nodes[node].kind,
                        NodeKind::Declare(one) if one.initial.is_none());
                    own.contains(&node) && !declares
                };
                if flow.reaching(node, place).into_iter().any(is_own)
                    && !self.is_of_server(node, place)
                {
                    let name = place_name(self.context, place);
                    let reason = format!("it reads {name}, which the loop has written");
                    return Err(self.obstacle(self.range_of(node), reason));
                }
            }
        }
        Ok(())
    }

    /// Returns true if a node does nothing but to free an object.
    fn frees(&self, node: NodeIndex) -> bool {
        let effects = &self.context.flow.effects[node];
        let is_own = |access: &Access<'_>| match access.kind {
            AccessKind::Read => access.place.variable().is_some() || access.place.root.is_object(),
            AccessKind::End => true,
            AccessKind::Write | AccessKind::WeakWrite => false,
        };
        effects.accesses.iter().any(|one| one.kind == AccessKind::End)
            && effects.accesses.iter().all(is_own)
            && effects.has_only_accesses()
    }

    /// Returns true if only the server reads a place: the state of the connection, by a query.
    fn is_of_server(&self, node: NodeIndex, place: &Place) -> bool {
        matches!(place.root, Root::Last | Root::LastWrite)
            && !self.context.flow.effects[node].queries.is_empty()
            && !self.context.flow.effects[node].status
    }
}

/// Returns true for numbers, pointers, and arrays of numbers.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Pointer { .. } => true,
        Type::Array { of, .. } => matches!(**of, Type::Scalar(_)) || is_plain(of),
        _ => false,
    }
}
