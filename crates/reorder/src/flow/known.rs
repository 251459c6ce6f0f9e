//! Facts that the rules ask for again and again, kept once they were found.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use super::{Flow, access::Sql, graph::NodeIndex, summary::for_each_expression};
use crate::{
    api::{Role, Server},
    ir::{Callee, ExpressionKind, LastSeen, Program, plain},
    sql::{self, QueryKind},
};

/// The facts.
#[derive(Default)]
pub(super) struct Known {
    /// The caller that asks what the last query has left, and of which queries.
    pub(super) asked_by_caller: OnceCell<Option<(String, LastSeen)>>,
    /// The names that the program uses.
    names: OnceCell<BTreeSet<String>>,
    /// True if a caller reads the error of a connection.
    pub(super) callers_read_error: OnceCell<bool>,
    /// True if the file shows that the function may be called again.
    pub(super) called_again: OnceCell<bool>,
    /// The roles of SQL texts.
    roles: RefCell<HashMap<String, Role>>,
}

impl<'a> Flow<'a, '_> {
    /// Returns the names of the variables, functions and enumerators that the program uses, those
    /// that only the expansion of a macro has among them.
    pub(crate) fn names_of_program(&self) -> &BTreeSet<String> {
        self.known.names.get_or_init(|| names_of(self.around.program))
    }

    /// Returns the roles of the SQL texts that a query of a node may run; none if they are not
    /// known.
    pub(super) fn roles_of_texts(
        &self,
        sql: &Sql<'a>,
        node: NodeIndex,
        own: &Range<usize>,
    ) -> Vec<Role> {
        let texts = self.texts_of(sql, node, own).unwrap_or_default();
        texts.into_iter().map(|text| self.role_of_text(text)).collect()
    }

    fn role_of_text(&self, text: String) -> Role {
        if let Some(&role) = self.known.roles.borrow().get(&text) {
            return role;
        }
        let role = match sql::kind(&text, self.server().unwrap_or(Server::Postgresql)) {
            Some(QueryKind::Begin) => Role::Begin,
            Some(QueryKind::Commit) => Role::Commit,
            Some(QueryKind::Rollback) => Role::Rollback,
            _ => Role::Query,
        };
        self.known.roles.borrow_mut().insert(text, role);
        role
    }
}

fn names_of(program: &Program) -> BTreeSet<String> {
    let mut names: BTreeSet<&str> = program.enumerators.keys().map(String::as_str).collect();
    names.extend(program.variables.iter().map(|variable| plain(&variable.name)));
    for function in &program.functions {
        for_each_expression(function, &mut |expression| match &expression.kind {
            ExpressionKind::Call { callee: Callee::Function(name), .. }
            | ExpressionKind::Constant(name) => {
                names.insert(plain(name));
            }
            _ => {}
        });
    }
    names.into_iter().map(str::to_owned).collect()
}
