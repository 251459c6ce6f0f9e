//! Functions of the program that a database interface calls while it runs a query, since some
//! function of the file has registered them: hooks, traces, handlers of notices.
//!
//! Which connection a hook belongs to is not asked: each query of the file may run it. A hook that
//! looks at nothing but its arguments, and does nothing, is none.

use super::{Flow, summary::for_each_expression, test};
use crate::{
    api::{Call, Models},
    ir::{Callee, Expression, ExpressionKind as Kind, Function, Program, StatementKind},
};

/// Returns why a query may run code of the program; `None` if the file registers no hook.
pub(super) fn reason(program: &Program, models: &Models) -> Option<String> {
    program.functions.iter().find_map(|function| {
        let name = registers(program, models, function)?;
        Some(format!(
            "a query may call code of the program, which `{}` registers by `{name}`",
            function.name
        ))
    })
}

/// Returns the call by which a function registers a hook.
pub(super) fn registers<'a>(
    program: &Program,
    models: &Models,
    function: &'a Function,
) -> Option<&'a str> {
    let mut found = None;
    for_each_expression(function, &mut |expression| {
        let Kind::Call { callee, arguments, .. } = &expression.kind else { return };
        let (Callee::Function(name) | Callee::Field(name)) = callee else { return };
        let Some(model) = models.call(callee) else { return };
        let given = model.hooks.iter().filter_map(|&one| arguments.get(one));
        let may_call = |hook: &&Expression| {
            !is_special(hook) && !only_ends(models, hook) && !does_nothing(program, hook)
        };
        if given.into_iter().any(|hook| may_call(&hook)) {
            found = Some(name.as_str());
        }
    });
    found
}

impl Flow<'_, '_> {
    /// Returns true for a call that gets, with an object, a function that only ends it:
    /// `sqlite3_bind_text(statement, 1, text, -1, free)`.
    pub(crate) fn passes_destructor(&self, call: &Expression) -> bool {
        let Kind::Call { callee, arguments, .. } = &call.kind else { return false };
        let models = self.around.models;
        let Some(model) = models.call(callee) else { return false };
        let mut hooks = model.hooks.iter().filter_map(|&one| arguments.get(one));
        hooks.any(|hook| only_ends(models, hook))
    }
}

/// Returns the name of the function that an argument is.
fn function_name(hook: &Expression) -> Option<&str> {
    match &hook.kind {
        Kind::Cast(_, inner) | Kind::Address(inner) => function_name(inner),
        Kind::Constant(name) => Some(name),
        _ => None,
    }
}

/// Returns true for a number in place of a function: null, or `SQLITE_TRANSIENT`.
fn is_special(hook: &Expression) -> bool {
    let hook = hook.without_casts();
    test::is_null(hook) || test::integer(hook) == Some(-1)
}

/// Returns true for the name of a function that does nothing but to end an object: `free`.
fn only_ends(models: &Models, hook: &Expression) -> bool {
    let Some(name) = function_name(hook) else { return false };
    models.call(&Callee::Function(name.to_owned())).is_some_and(Call::only_ends)
}

/// Returns true for the name of a function of the file without effects, whose result depends on
/// nothing but the values of its arguments.
fn does_nothing(program: &Program, hook: &Expression) -> bool {
    let Some(name) = function_name(hook) else { return false };
    let mut functions = program.functions.iter().filter(|one| one.name == name);
    let (Some(function), None) = (functions.next(), functions.next()) else { return false };
    let mut nothing = function.replaceable.is_none();
    function.body.walk(&mut |statement| {
        nothing &= !matches!(statement.kind, StatementKind::Opaque(_) | StatementKind::Throw(_));
    });
    for_each_expression(function, &mut |expression| {
        nothing &= match &expression.kind {
            Kind::Variable(variable) => !program.variable(*variable).is_lasting(),
            Kind::Constant(_)
            | Kind::Text(_)
            | Kind::Unary(..)
            | Kind::Binary(..)
            | Kind::Conditional(..)
            | Kind::Cast(..) => true,
            _ => false,
        };
    });
    nothing
}
