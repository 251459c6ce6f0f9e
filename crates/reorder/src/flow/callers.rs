//! The callers of a function: their questions for what its last query or write has left on the
//! connection, and whether they may call it again.
//!
//! SQLite keeps the number of the row that was inserted last, and of the rows that were changed
//! last, over the commit. A function of the file that calls the transaction's function, directly or
//! by way of others, and asks for such a number then, gets that of the transaction's last write,
//! unless a later insert of its own replaces it. With the other servers the commit replaces such
//! numbers: there only the queries count behind which the function may return without a commit or
//! rollback, so that a caller ends the transaction.
//!
//! A function may be called again if a call leads to another one in a function of the file, or if a
//! function or a variable of the file has its address.

use std::collections::BTreeSet;

use super::{
    Flow,
    calls::Calls,
    graph::{NodeIndex, NodeKind},
    place::{Place, Root},
    summary::{Summary, for_each_expression},
};
use crate::{
    api::{Call, Role, Server},
    ir::{Callee, Callers, Expression, ExpressionKind, Function, Language, LastSeen, Type},
};

impl<'a> Flow<'a, '_> {
    /// Returns the function of the file that asks, behind a call of this one, what a query has left
    /// on the connection, and the queries of which it does.
    pub(crate) fn asked_by_caller(&self) -> Option<(&str, LastSeen)> {
        let found = self.known.asked_by_caller.get_or_init(|| {
            let found = self.find_asking_caller();
            let found = found.map(|(caller, seen)| (caller.to_string(), seen));
            let left_out = self.around.program.left_out.callers.asking.clone();
            found.into_iter().chain(left_out).max_by_key(|(_, seen)| *seen)
        });
        found.as_ref().map(|(caller, seen)| (caller.as_str(), *seen))
    }

    fn find_asking_caller(&self) -> Option<(&'a str, LastSeen)> {
        if self.server() != Some(Server::Sqlite) && !self.leaves_transaction_open() {
            return None;
        }
        let leading = self.leading();
        let any_calls = self.any_may_call(&leading);
        let functions = self.around.program.functions.iter();
        let callers = functions.filter(|one| {
            let mut called = self.calls().may_be_called_by(one);
            called.any(|name| leading.contains(name)) || any_calls && one.name != self.name
        });
        let asking = callers.filter_map(|one| {
            let seen = self.questions_of(one, &mut BTreeSet::new())?;
            let asks = any_calls || !one.hidden.is_empty() || self.asks_behind(one, &leading);
            asks.then_some((one.name.as_str(), seen))
        });
        asking.max_by_key(|(_, seen)| *seen)
    }

    /// Returns true if any function of the file may call one of the leading functions or run behind
    /// such a call: by an address, or since C++ calls constructors, destructors and operators that
    /// the IR does not show.
    fn any_may_call(&self, leading: &BTreeSet<&str>) -> bool {
        self.around.program.language == Language::Cpp || self.is_addressed(leading)
    }

    /// Returns true if a variable or a function of the file has the address of one of the leading
    /// functions, so that any function may call it.
    fn is_addressed(&self, leading: &BTreeSet<&str>) -> bool {
        self.is_in_variable(leading) || self.calls().address_is_taken(leading)
    }

    /// Returns true if the function may return behind a query without a commit or rollback.
    fn leaves_transaction_open(&self) -> bool {
        let nodes = 0..self.graph.nodes.len();
        let has = |node: NodeIndex, is: &dyn Fn(Role) -> bool| {
            self.effects[node].queries.iter().any(|query| is(self.role_of(query, node)))
        };
        let ends = |role: Role| matches!(role, Role::Commit | Role::Rollback);
        let over: Vec<NodeIndex> = nodes.clone().filter(|&node| has(node, &ends)).collect();
        let returns = |node: &NodeIndex| self.graph.nodes[*node].successors.is_empty();
        nodes.clone().filter(|&node| has(node, &|role| role == Role::Query)).any(|query| {
            let mut last = nodes.clone().filter(returns);
            last.any(|last| query == last || !self.graph.passes(query, last, &over))
        })
    }

    /// Returns the function and those of the file that call it, directly or by way of others.
    fn leading(&self) -> BTreeSet<&'a str> {
        self.calls().leading_to([self.name].into_iter())
    }

    fn calls(&self) -> &Calls<'a> {
        self.around.summaries.calls()
    }

    /// Returns true if the file shows that the function may be called again behind a call of it.
    pub(crate) fn is_called_again(&self) -> bool {
        *self.known.called_again.get_or_init(|| {
            let leading = self.leading();
            self.around.program.left_out.callers.again
                || self.is_addressed(&leading)
                || self.calls().calling(&leading).any(|one| self.calls_again(one, &leading))
        })
    }

    /// Returns true if a variable of the file has the address of one of the leading functions.
    fn is_in_variable(&self, leading: &BTreeSet<&str>) -> bool {
        let initials = self.around.program.variables.iter().filter_map(|one| one.initial.as_ref());
        let mut found = false;
        initials.for_each(|initial| {
            initial.walk(&mut |one| {
                found |= matches!(&one.kind, ExpressionKind::Constant(name)
                    if leading.contains(name.as_str()));
            });
        });
        found
    }

    /// Returns the facts of the function's callers.
    pub(crate) fn callers(&self) -> Callers {
        let asking = self.asked_by_caller();
        let asking = asking.map(|(caller, seen)| (caller.to_owned(), seen));
        let read_error = self.callers_read_error();
        Callers { again: self.is_called_again(), asking, read_error }
    }

    /// Returns true if a function of the file that calls this one, directly or by way of others,
    /// reads the error of a connection, or calls one that may; or if this one does in front of its
    /// first query, which finds what its last call has left.
    pub(crate) fn callers_read_error(&self) -> bool {
        *self.known.callers_read_error.get_or_init(|| {
            let (leading, mut seen) = (self.leading(), BTreeSet::from([self.name]));
            let any_calls = self.any_may_call(&leading);
            let is_caller = |one: &&Function| any_calls || leading.contains(one.name.as_str());
            let mut callers = self.around.program.functions.iter().filter(is_caller);
            self.around.program.left_out.callers.read_error
                || self.reads_error_at_first()
                || callers.any(|one| self.reads_error(one, &mut seen))
        })
    }

    /// Returns true if the function may read an error that a query of its caller, or of its last
    /// call, has left.
    fn reads_error_at_first(&self) -> bool {
        let live = self.live_at(&Place::error());
        self.graph.nodes[0].successors.iter().any(|&first| live[first])
    }

    /// Returns true if a function may read the error of a connection. One of another file may if it
    /// gets a structure, or a pointer to one.
    fn reads_error(&self, function: &'a Function, seen: &mut BTreeSet<&'a str>) -> bool {
        if !seen.insert(&function.name) {
            return false;
        }
        let is_reader = |name: &str| {
            let model = self.around.models.call(&Callee::Function(name.to_owned()));
            model.is_some_and(|model| model.reads_last && model.status)
        };
        let mut reads = function.hidden.iter().any(|name| is_reader(name));
        for_each_expression(function, &mut |one| match &one.kind {
            ExpressionKind::Call { callee, arguments, .. } => {
                reads |= match (self.around.models.call(callee), callee) {
                    (Some(model), _) => model.reads_last && model.status,
                    (None, Callee::Function(name)) if self.is_defined(name) => false,
                    (None, _) => arguments.iter().any(|argument| self.is_structure(argument)),
                };
            }
            ExpressionKind::Constant(name) => reads |= is_reader(name),
            _ => {}
        });
        let called = self.calls().may_be_called_by(function);
        let mut called = called.filter_map(|name| self.around.program.function(name));
        reads || called.any(|one| self.reads_error(one, seen))
    }

    fn is_defined(&self, name: &str) -> bool {
        self.around.program.function(name).is_some()
    }

    /// Returns true for a structure or an object of a class, or a pointer or reference to one.
    fn is_structure(&self, argument: &'a Expression) -> bool {
        let ty = match self.type_of(argument) {
            Some(Type::Pointer { to, .. } | Type::Reference { to, .. }) => Some(&**to),
            ty => ty,
        };
        match ty {
            Some(Type::Record(_)) => true,
            Some(Type::Class(name)) => !name.starts_with("std::"),
            _ => false,
        }
    }

    /// Returns true if a function of the file that calls a function may roll back, as its text
    /// shows: for a message.
    pub(super) fn callers_roll_back(&self, name: &str) -> bool {
        let rolls_back = |function: &Function| {
            let (mut calls, mut found) = (false, false);
            for_each_expression(function, &mut |one| match &one.kind {
                ExpressionKind::Call { callee, .. } => {
                    let model = self.around.models.call(callee);
                    found |= model.is_some_and(|model| model.role == Role::Rollback);
                    calls |= matches!(callee, Callee::Function(called) if called == name);
                }
                ExpressionKind::Text(text) => {
                    found |= text.trim_start().to_ascii_uppercase().starts_with("ROLLBACK");
                }
                _ => {}
            });
            calls && found
        };
        self.around.program.functions.iter().any(rolls_back)
    }

    /// Returns true if a function may call one of the leading functions behind a call of one.
    fn calls_again(&self, function: &'a Function, leading: &BTreeSet<&str>) -> bool {
        let around = self.around;
        let flow = Flow::of(around.program, around.models, around.summaries, function);
        let calls = |node: &NodeIndex| {
            let expression = flow.expression_of(*node);
            expression.is_some_and(|one| number_of_calls(one, leading) > 0)
        };
        let nodes: Vec<NodeIndex> = (0..flow.graph.nodes.len()).filter(calls).collect();
        nodes.iter().any(|&node| {
            let behind = flow.graph.reachable(node);
            let own = flow.expression_of(node).map_or(0, |one| number_of_calls(one, leading));
            own > 1 || nodes.iter().any(|&other| behind[other])
        })
    }

    /// Returns the queries for which a function asks, or one that it calls.
    fn questions_of(
        &self,
        function: &'a Function,
        known: &mut BTreeSet<&'a str>,
    ) -> Option<LastSeen> {
        let mut found: BTreeSet<LastSeen> = BTreeSet::new();
        let question = |callee: &Callee| {
            let model = self.around.models.call(callee).filter(|one| self.is_asked(one))?;
            let of_insert = matches!(callee, Callee::Function(name) if name.ends_with("rowid"));
            Some(match model.last_write {
                false => LastSeen::Queries,
                true if of_insert => LastSeen::Inserts,
                true => LastSeen::Writes,
            })
        };
        let hidden = function.hidden.iter().map(|name| Callee::Function(name.clone()));
        found.extend(hidden.filter_map(|callee| question(&callee)));
        for_each_expression(function, &mut |one| match &one.kind {
            ExpressionKind::Call { callee, .. } => found.extend(question(callee)),
            ExpressionKind::Constant(name) => {
                found.extend(question(&Callee::Function(name.clone())));
            }
            _ => {}
        });
        known.insert(&function.name);
        for name in self.calls().may_be_called_by(function) {
            let called = self.around.program.function(name).filter(|_| !known.contains(name));
            found.extend(called.and_then(|called| self.questions_of(called, known)));
        }
        found.last().copied()
    }

    /// Returns true if a call asks for what a query has left, other than an error: what a write has
    /// left, if the server is SQLite.
    fn is_asked(&self, model: &Call) -> bool {
        model.last_write
            || self.server() != Some(Server::Sqlite) && model.reads_last && !model.status
    }

    /// Returns true if a function asks for what a call of one of the leading functions has left.
    fn asks_behind(&self, function: &'a Function, leading: &BTreeSet<&str>) -> bool {
        let around = self.around;
        let flow = Flow::of(around.program, around.models, around.summaries, function);
        let nodes = 0..flow.graph.nodes.len();
        let calls: BTreeSet<NodeIndex> =
            nodes.clone().filter(|&node| flow.calls_any(node, leading)).collect();
        // A call of a function without a summary writes what is not known.
        let is_known = |name: &&str| matches!(around.summaries.of(name), Some(Ok(Summary { .. })));
        let all_known = leading.iter().filter(|name| **name != function.name).all(is_known);
        nodes.into_iter().any(|node| {
            let asked = flow.exposed_reads(node).into_iter();
            let is_asked = |place: &&Place| {
                place.root == Root::LastWrite
                    || self.server() != Some(Server::Sqlite) && **place == Place::whole(Root::Last)
            };
            let mut asked = asked.filter(is_asked).peekable();
            let asks = asked.peek().is_some();
            let comes_from_call = || {
                asked
                    .flat_map(|place| flow.reaching(node, place))
                    .any(|definition| calls.contains(&flow.definitions.all[definition].node))
            };
            let follows = || calls.iter().any(|&call| flow.graph.reachable(call)[node]);
            asks && (calls.contains(&node) && flow.asks(node)
                || comes_from_call()
                || !all_known && follows())
        })
    }

    /// Returns true if a node calls one of some functions.
    fn calls_any(&self, node: NodeIndex, names: &BTreeSet<&str>) -> bool {
        self.has_call(
            node,
            &|callee| matches!(callee, Callee::Function(name) if names.contains(name.as_str())),
        )
    }

    /// Returns true if a node itself asks for what a query has left.
    fn asks(&self, node: NodeIndex) -> bool {
        self.has_call(node, &|callee| {
            self.around.models.call(callee).is_some_and(|model| self.is_asked(model))
        })
    }

    fn has_call(&self, node: NodeIndex, is_it: &dyn Fn(&Callee) -> bool) -> bool {
        let expression: Option<&Expression> = match self.graph.nodes[node].kind {
            NodeKind::Evaluate(expression) | NodeKind::Return(Some(expression)) => Some(expression),
            NodeKind::Declare(declaration) => declaration.initial.as_ref(),
            _ => None,
        };
        let mut found = false;
        if let Some(expression) = expression {
            expression.walk(&mut |one| {
                found |= matches!(&one.kind, ExpressionKind::Call { callee, .. } if is_it(callee));
            });
        }
        found
    }
}

/// Returns the number of calls of some functions in an expression.
fn number_of_calls(expression: &Expression, names: &BTreeSet<&str>) -> usize {
    let mut count = 0;
    expression.walk(&mut |one| {
        let ExpressionKind::Call { callee: Callee::Function(name), .. } = &one.kind else { return };
        count += usize::from(names.contains(name.as_str()));
    });
    count
}
