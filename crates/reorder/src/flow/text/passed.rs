//! The text of a parameter that a function runs by way of a call: `sql.c_str()`, where `sql` is a
//! `const std::string &`.

use crate::{
    api::Builds,
    flow::{
        ENTRY, Flow,
        access::{QueryCall, Sql, variable},
        graph::NodeIndex,
        place::{Place, Root},
    },
    ir::{Expression, ExpressionKind as Kind, Function, Type, VariableIndex},
};

impl<'a> Flow<'a, '_> {
    /// Returns the parameter of the function that has the text of an SQL expression at a node, if
    /// the expression is no plain variable.
    ///
    /// **Safe because** each call on the way makes the same text again, and no write comes between
    /// the begin of the function and the node, so that the text is that of the caller.
    pub(in crate::flow) fn text_of_parameter(
        &self,
        query: &QueryCall<'a>,
        node: NodeIndex,
        function: &Function,
    ) -> Option<Sql<'a>> {
        let Sql::Expression(expression) = query.sql else { return None };
        let copied = self.copied(expression)?;
        let number = function.parameters.iter().position(|&one| one == copied)?;
        let root = match &self.around.program.variable(copied).ty {
            Type::Class(_) => Root::Variable(copied),
            Type::Reference { to, .. } if matches!(**to, Type::Class(_)) => Root::Pointee(copied),
            Type::Pointer { .. } if !self.around.summaries.is_assigned(copied) => {
                Root::Pointee(copied)
            }
            _ => return None,
        };
        let place = Place::whole(root);
        let is_initial = |&one: &usize| self.definitions.all[one].node == ENTRY;
        let is_kept = self.reaching(node, &place).iter().all(is_initial)
            && !self.behind_barrier[node]
            && !self.writes_beside(node, &query.own, &place);
        is_kept.then_some(Sql::Parameter { number, statement: false })
    }

    /// Returns the variable whose text a call makes again.
    pub(in crate::flow) fn copied(&self, expression: &'a Expression) -> Option<VariableIndex> {
        let (model, arguments) = match &expression.kind {
            Kind::Cast(_, operand) => return self.copied(operand),
            Kind::Call { callee, arguments, .. } => (self.around.models.call(callee)?, arguments),
            Kind::Construct(class, arguments) => (self.around.models.construct(class)?, arguments),
            _ => return None,
        };
        let Builds { to: None, from, format: false, arguments: count, .. } =
            model.builds.as_ref()?
        else {
            return None;
        };
        let &[from] = from.as_slice() else { return None };
        if count.is_some_and(|count| count != arguments.len()) {
            return None;
        }
        let copied = arguments.get(from)?;
        variable(copied).or_else(|| self.copied(copied))
    }
}
