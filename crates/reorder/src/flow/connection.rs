//! The connection of a query, as far as two of them can be compared.

use super::{
    Flow,
    access::{Connection, QueryCall},
    graph::NodeIndex,
    place::{Place, Root},
};
use crate::ir::{Callee, Expression, ExpressionKind as Kind};

impl<'a> Flow<'a, '_> {
    /// Returns a text for the connection that a query uses: two queries with the same text use the
    /// same connection. `None` if the call has no such argument, as one that runs a statement.
    pub fn connection_of(&self, query: &QueryCall<'a>, node: NodeIndex) -> Option<String> {
        match query.connection {
            Connection::Argument(expression) => {
                let mut text = String::new();
                expression.walk(&mut |inner| text.push_str(&self.part(inner, node)));
                Some(text)
            }
            // The parameter of a helper function, and what a helper function computes.
            Connection::Parameter(number) => Some(format!("parameter {number}")),
            Connection::Hidden => Some("hidden".to_string()),
            Connection::None => None,
        }
    }

    fn part(&self, expression: &Expression, node: NodeIndex) -> String {
        match &expression.kind {
            Kind::Variable(variable) => {
                let place = Place::whole(Root::Variable(*variable));
                format!("{}{:?};", variable.0, self.reaching(node, &place))
            }
            Kind::Field { record, name, .. } => format!("{record}.{name};"),
            Kind::Constant(text) | Kind::Text(text) => format!("{text:?};"),
            Kind::Call { callee: Callee::Function(name), .. } => format!("{name}();"),
            // A cast of the same connection.
            Kind::Cast(..) => String::new(),
            kind => format!("{:?};", std::mem::discriminant(kind)),
        }
    }
}
