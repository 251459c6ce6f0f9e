//! The connection of a query, as far as two of them can be compared.

use super::{
    Flow,
    access::{Connection, QueryCall},
    graph::NodeIndex,
    place::{Place, Root, Step},
};
use crate::ir::{Callee, Expression, ExpressionKind as Kind};

impl<'a> Flow<'a, '_> {
    /// Returns true if the interface to the database is one of the user's models.
    pub(crate) fn has_own_interface(&self) -> bool {
        self.around.models.has_own_interface()
    }

    /// Returns texts for the connection that a query uses: two queries with a text in common use
    /// the same connection. `None` if the call has no such argument, as one that runs a statement.
    ///
    /// One text is that of the argument, with the definitions of its variables. Another one is the
    /// place that it leads to, if that is a single object: a function of the file may name it in
    /// another way than its caller.
    pub fn connection_of(&self, query: &QueryCall<'a>, node: NodeIndex) -> Option<Vec<String>> {
        let mut found = vec![self.argument_of(query, node)?];
        found.extend(texts(&query.connections));
        Some(found)
    }

    fn argument_of(&self, query: &QueryCall<'a>, node: NodeIndex) -> Option<String> {
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

/// Returns the text of the connection that is one of some objects; none if there are several.
pub(crate) fn texts(connections: &[Place]) -> Vec<String> {
    let is_one =
        |place: &Place| place.root.is_single() && !place.path.contains(&Step::Element(None));
    match connections {
        [place] if is_one(place) => vec![format!("{place:?}")],
        _ => Vec::new(),
    }
}
