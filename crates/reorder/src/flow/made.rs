//! The objects that calls make, and store through a pointer: `asprintf(&text, …)`.

use super::{
    Flow,
    access::AccessKind,
    escape::plain_variable,
    graph::NodeIndex,
    place::{Place, Root},
};
use crate::ir::{Expression, ExpressionKind, VariableIndex};

impl<'a> Flow<'a, '_> {
    /// Returns true if a node makes an object.
    pub(crate) fn makes_object(&self, node: NodeIndex) -> bool {
        let made = Place::whole(Root::Object(node));
        let mut accesses = self.effects[node].accesses.iter();
        accesses.any(|one| one.kind != AccessKind::Read && one.place == made)
    }

    /// Returns true if the only write of a variable by a node is that of a call which stores a new
    /// object there.
    pub(super) fn stores_new(&self, place: &Place, node: NodeIndex) -> bool {
        let Some(variable) = place.variable().filter(|_| place.path.is_empty()) else {
            return false;
        };
        let accesses = self.effects[node].accesses.iter();
        let writes = accesses
            .filter(|one| one.kind != AccessKind::Read && self.may_share(&one.place, place));
        let is_its = |call: &'a Expression| match &call.kind {
            ExpressionKind::Call { callee, arguments, .. } => {
                let made = self.around.models.call(callee).and_then(|model| model.makes);
                let argument = made.and_then(|made| arguments.get(made));
                argument.is_some_and(|one| address_of(one) == Some(variable))
            }
            _ => false,
        };
        let mut makes = false;
        if let Some(expression) = self.expression_of(node) {
            expression.walk(&mut |inner| makes |= is_its(inner));
        }
        makes && writes.count() == 1
    }
}

/// Returns the variable of which an expression is the address.
fn address_of(expression: &Expression) -> Option<VariableIndex> {
    match &expression.kind {
        ExpressionKind::Address(operand) => plain_variable(operand),
        ExpressionKind::Cast(_, operand) => address_of(operand),
        _ => None,
    }
}
