//! The queries of a program that the tool does not see, for messages: those in code that the front
//! end does not represent, such as `try`, lambdas and templates, and those of a guard object.

use std::{collections::BTreeSet, fmt};

use crate::{
    api::{Models, Role},
    flow::calls,
    ir::{Callee, Expression, ExpressionKind as Kind, Function, Program, Statement, StatementKind},
    source::Range,
};

/// Code with calls of the database interface that the tool does not look into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hidden {
    /// The function.
    pub function: String,
    /// The line in which the code begins.
    pub line: usize,
    /// The form of the code.
    pub form: Form,
}

/// The form of code that the tool does not look into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// `try` and `catch`.
    Try,
    /// A lambda.
    Lambda,
    /// The code of a template.
    Template,
    /// An object of a class without a model, whose constructor may begin a transaction and whose
    /// destructor may end one.
    Guard(String),
    /// A function that may be replaced, with the reason.
    Replaceable(String),
    /// Another form, by the words of the front end.
    Other(String),
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hidden { function, line, form } = self;
        match form {
            Form::Try => write!(
                f,
                "line {line}: the queries of `{function}` stand in `try` and `catch`, which the \
                 tool does not look into: move them with begin and commit to a function that is \
                 called there, and that rolls back before it throws or returns a status"
            ),
            Form::Lambda => write!(
                f,
                "line {line}: `{function}` has queries in a lambda, which the tool does not look \
                 into: make it a function"
            ),
            Form::Template => write!(
                f,
                "line {line}: `{function}` is a template, which the tool does not look into: move \
                 the queries to a function without template parameters"
            ),
            Form::Guard(class) => write!(
                f,
                "line {line}: `{function}` makes a `{class}`, whose constructor and destructor \
                 the tool does not follow: if it begins the transaction, pass --function \
                 {function}"
            ),
            Form::Replaceable(reason) => {
                write!(f, "`{function}` (line {line}) {reason}: give it a model")
            }
            Form::Other(reason) => write!(
                f,
                "line {line}: `{function}` has queries in code that the tool does not look into \
                 ({reason}): move them to a function of their own"
            ),
        }
    }
}

/// Returns the code of a program, or of one of its functions, that has calls of the database
/// interface and that the tool does not look into. It is found by the names in its text.
pub(crate) fn find(
    program: &Program,
    models: &Models,
    text: &str,
    function: Option<&str>,
) -> Vec<Hidden> {
    let names = Names::of(program, models, text);
    let chosen = |one: &&Function| function.is_none_or(|name| one.name == name);
    let mut found: Vec<Hidden> = names.replaceable(function, text);
    for function in program.functions.iter().filter(chosen) {
        let mut add = |range: Range, form: Form| {
            let (function, line) = (function.name.clone(), range.line(text));
            found.push(Hidden { function, line, form });
        };
        let opaque = opaque(function);
        let with_queries = opaque.iter().filter(|(range, _)| names.are_in(range.of(text)));
        with_queries.for_each(|(range, reason)| add(*range, form(range.of(text), reason)));
        let begins = names.calls(function, |role| role == Role::Begin);
        if !begins && names.calls(function, |role| role == Role::Query) {
            let guards = guards(function, &names, text);
            guards.into_iter().for_each(|(range, class)| add(range, Form::Guard(class)));
        }
    }
    // Which object the constructor makes says more.
    let guards: Vec<String> = found.iter().filter_map(Hidden::guard).collect();
    found.retain(|one| !guards.iter().any(|class| one.function.starts_with(class)));
    found.dedup();
    found
}

impl Hidden {
    /// Returns the begin of the names of a guard's methods.
    fn guard(&self) -> Option<String> {
        match &self.form {
            Form::Guard(class) => Some(format!("{class}::")),
            _ => None,
        }
    }
}

/// Returns the form of code that the front end does not represent.
fn form(text: &str, reason: &str) -> Form {
    match reason {
        _ if reason.starts_with("`try`") => Form::Try,
        "the code of a template" => Form::Template,
        _ if has_lambda(text) => Form::Lambda,
        _ => Form::Other(reason.to_owned()),
    }
}

/// Returns true if a text has a bracket that begins no index.
fn has_lambda(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| {
        let before = text[..at].trim_end().chars().next_back();
        !before.is_some_and(|one| one == '_' || one.is_alphanumeric() || ")]".contains(one))
    })
}

/// Returns the parts of a function that the front end does not represent, each with its reason.
fn opaque(function: &Function) -> Vec<(Range, &str)> {
    let mut found: Vec<(Range, &str)> = Vec::new();
    function.body.walk(&mut |statement| {
        if let StatementKind::Opaque(reason) = &statement.kind {
            found.push((statement.range, reason));
        }
        for expression in statement.expressions() {
            expression.walk(&mut |inner| {
                if let Kind::Opaque(reason) = &inner.kind {
                    found.push((inner.range.unwrap_or(statement.range), reason));
                }
            });
        }
    });
    found
}

/// Returns the objects that a function declares of classes which the file defines a method of with
/// calls of the database interface, or that are made of a call's connection.
fn guards(function: &Function, names: &Names<'_>, text: &str) -> Vec<(Range, String)> {
    let mut found = Vec::new();
    let mut visit = |statement: &Statement| {
        let StatementKind::Declare(declarations) = &statement.kind else { return };
        let initials = declarations.iter().filter_map(|one| one.initial.as_ref());
        for initial in initials {
            if let Kind::Construct(class, _) = &initial.kind
                && names.models.construct(class).is_none()
                && names.of_class(class, text)
            {
                found.push((statement.range, class.clone()));
            }
        }
    };
    function.body.walk(&mut visit);
    found
}

/// The names of the calls that use the database: those with models, and the functions of the file
/// that call them.
struct Names<'p> {
    program: &'p Program,
    models: &'p Models,
    functions: BTreeSet<&'p str>,
}

impl<'p> Names<'p> {
    fn of(program: &'p Program, models: &'p Models, text: &str) -> Names<'p> {
        let mut names = Names { program, models, functions: BTreeSet::new() };
        loop {
            let known = names.functions.len();
            let mut functions = names.functions.clone();
            for function in &program.functions {
                if names.are_in(function.body.range.of(text)) {
                    functions.insert(last_name(&function.name));
                }
            }
            names.functions = functions;
            if names.functions.len() == known {
                return names;
            }
        }
    }

    /// Returns the functions with queries that may be replaced and have no model, as far as the
    /// program, or one of its functions, calls them.
    fn replaceable(&self, caller: Option<&str>, text: &str) -> Vec<Hidden> {
        let callers = self.program.functions.iter();
        let callers = callers.filter(|one| caller.is_none_or(|name| one.name == name));
        let mut open: Vec<&Function> = callers.collect();
        let mut called = BTreeSet::new();
        while let Some(function) = open.pop() {
            for name in calls::called(function) {
                let first = called.insert(name);
                open.extend(self.program.function(name).filter(|_| first));
            }
        }
        let called = called.into_iter().filter_map(|name| self.program.function(name));
        let without_model = called.filter(|one| {
            self.are_in(one.body.range.of(text))
                && self.models.call(&Callee::Function(one.name.clone())).is_none()
        });
        let hidden = without_model.filter_map(|one| {
            let form = Form::Replaceable(one.replaceable.clone()?);
            Some(Hidden { function: one.name.clone(), line: one.range.line(text), form })
        });
        hidden.collect()
    }

    /// Returns true if a text has one of the names.
    fn are_in(&self, text: &str) -> bool {
        let mut words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
        words.any(|word| self.functions.contains(word) || self.models.uses_database(word))
    }

    /// Returns true if a function calls one with a model of a role.
    fn calls(&self, function: &Function, is_meant: impl Fn(Role) -> bool) -> bool {
        let mut found = false;
        let mut visit = |expression: &Expression| {
            if let Kind::Call { callee: callee @ Callee::Function(name), .. } = &expression.kind {
                let role = self.models.call(callee).map(|call| call.role);
                let of_file = self.functions.contains(last_name(name));
                found |= role.is_some_and(&is_meant) || of_file && is_meant(Role::Query);
            }
        };
        function.body.walk(&mut |statement| {
            statement.expressions().into_iter().for_each(|one| one.walk(&mut visit));
        });
        found
    }

    /// Returns true if the file defines a method of a class that uses the database.
    fn of_class(&self, class: &str, text: &str) -> bool {
        let prefix = format!("{class}::");
        let methods = self.program.functions.iter().filter(|one| one.name.starts_with(&prefix));
        methods.map(|one| one.range.of(text)).any(|text| self.are_in(text))
    }
}

fn last_name(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
