//! Code that may roll back where control leaves a function, and that is not followed: for messages.

use super::{Flow, graph::NodeKind};
use crate::ir::Type;

impl<'a> Flow<'a, '_> {
    /// Returns the fact that is missing about an exit if such code may roll back, as the end of a
    /// message.
    pub(crate) fn rolled_back_elsewhere(&self) -> String {
        let name = self.name;
        if let Some((object, class)) = self.guard() {
            return format!(
                ", and what the destructor of `{object}`, a `{class}`, does is not followed: roll \
                 back in `{name}` before it leaves"
            );
        }
        match self.callers_roll_back(name) {
            true => format!(
                ", and what its callers do is not followed: roll back in `{name}` itself before it \
                 leaves"
            ),
            false => String::new(),
        }
    }

    /// Returns the first object that the function declares whose destructor is no function of the
    /// C++ library, and its class.
    fn guard(&self) -> Option<(&'a str, &'a str)> {
        let mut nodes = self.graph.nodes.iter();
        nodes.find_map(|node| {
            let NodeKind::Declare(declaration) = node.kind else { return None };
            let variable = self.around.program.variable(declaration.variable);
            match &variable.ty {
                Type::Class(class) if !class.starts_with("std::") => {
                    Some((&*variable.name, &**class))
                }
                _ => None,
            }
        })
    }
}
