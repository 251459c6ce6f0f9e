//! A declaration stands before all that mentions the name that it declares, and behind all that
//! mentioned the name before. In C++ a `goto` out of the transaction does not come before a
//! declaration with an initializer that it stood behind, since the compiler refuses a jump into the
//! scope of such a variable. No exit comes before the declaration of an object that it stood behind
//! if the program has defined the destructor, which may roll back.
//!
//! A statement that declares a type declares all names in it. A unit mentions each word of its
//! text, even one that is the name of something else.
//!
//! **Safe because** the program compiles as before, and each name means the same: the statements
//! of one list share one scope, and a declaration within a statement moves with it.

use std::collections::BTreeSet;

use super::{Context, Found, Rule};
use crate::{
    ir::{Expression, ExpressionKind, Statement, StatementKind, Type, VariableIndex},
    units::Unit,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    let mentioned: Vec<BTreeSet<&str>> =
        units.iter().map(|unit| mentioned(context, unit)).collect();
    for (at, unit) in units.iter().enumerate() {
        for name in unit.pieces.iter().flat_map(|piece| declared(context, piece.statement)) {
            for (other, names) in mentioned.iter().enumerate() {
                if names.contains(name) {
                    let (first, later) = (at.min(other), at.max(other));
                    let reason = format!(
                        "`{name}` is declared; declare it in front of the transaction to lift this"
                    );
                    found.before(first, later, Rule::Declaration, reason);
                }
            }
        }
    }
    if context.is_cpp() {
        keep_behind_jumps(context, found);
    }
}

/// The words that begin the declaration of a type.
const TYPES: [&str; 6] = ["class", "enum", "struct", "typedef", "union", "using"];

/// Words that are no names.
const KEYWORDS: [&str; 22] = [
    "auto", "bool", "char", "class", "const", "double", "enum", "extern", "float", "int", "long",
    "register", "short", "signed", "static", "struct", "typedef", "union", "unsigned", "using",
    "void", "volatile",
];

/// Returns the names that a statement of the list declares for those behind it.
fn declared<'c>(context: &'c Context<'_, '_, '_>, statement: &'c Statement) -> Vec<&'c str> {
    match &statement.kind {
        StatementKind::Declare(declarations) => {
            let text = statement.range.of(context.text);
            let variables = declarations.iter().map(|one| name(context, one.variable));
            let with_type = words(text).any(|word| TYPES.contains(&word));
            let of_types = words(text).filter(|word| with_type && !KEYWORDS.contains(word));
            variables.chain(of_types).collect()
        }
        StatementKind::Expanded(statements) => {
            statements.iter().flat_map(|one| declared(context, one)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the words of a unit's text, and the names of its variables.
fn mentioned<'c>(context: &'c Context<'_, '_, '_>, unit: &Unit<'_>) -> BTreeSet<&'c str> {
    let texts = unit.pieces.iter().map(|piece| piece.range.of(context.text));
    let mut names: BTreeSet<&str> = texts.flat_map(words).collect();
    for_each_mentioned(unit, &mut |variable| {
        names.insert(name(context, variable));
    });
    names
}

fn name<'c>(context: &'c Context<'_, '_, '_>, variable: VariableIndex) -> &'c str {
    &context.program.variable(variable).name
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn keep_behind_jumps(context: &Context<'_, '_, '_>, found: &mut Found) {
    for (first, later) in context.pairs() {
        let units = &context.units.units;
        if units[later].exits().next().is_none() {
            continue;
        }
        let declares = units[first].pieces.iter().any(|piece| initializes(piece.statement));
        if declares && units[later].pieces.iter().any(|piece| jumps(piece.statement)) {
            let reason = "a jump must not enter the scope of an initialized variable";
            found.before(first, later, Rule::Declaration, reason.to_string());
        }
        let mut objects =
            units[first].pieces.iter().flat_map(|piece| objects(context, piece.statement));
        if let Some((name, class)) = objects.next() {
            let reason = format!(
                "the destructor of `{class}` may do anything, and must run for `{name}` where the \
                 transaction is left"
            );
            found.before(first, later, Rule::Declaration, reason);
        }
    }
}

/// Returns true if a statement has a `goto`.
fn jumps(statement: &Statement) -> bool {
    let mut found = false;
    statement.walk(&mut |inner| found |= matches!(inner.kind, StatementKind::Goto(_)));
    found
}

/// Returns the objects that a statement of the list declares whose destructor is no function of the
/// C++ library, each with its class.
fn objects<'c>(
    context: &'c Context<'_, '_, '_>,
    statement: &'c Statement,
) -> Vec<(&'c str, &'c str)> {
    match &statement.kind {
        StatementKind::Declare(declarations) => {
            let variables = declarations.iter().map(|one| context.program.variable(one.variable));
            let classes = variables.filter_map(|one| Some((one.name.as_str(), class(&one.ty)?)));
            classes.filter(|(_, class)| !class.starts_with("std::")).collect()
        }
        StatementKind::Expanded(statements) => {
            statements.iter().flat_map(|one| objects(context, one)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the class of an object, or of the elements of an array.
fn class(ty: &Type) -> Option<&str> {
    match ty {
        Type::Class(name) => Some(name),
        Type::Array { of, .. } => class(of),
        _ => None,
    }
}

/// Returns true if a statement of the list declares a variable with an initializer.
fn initializes(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Declare(declarations) => {
            declarations.iter().any(|declaration| declaration.initial.is_some())
        }
        StatementKind::Expanded(statements) => statements.iter().any(initializes),
        _ => false,
    }
}

fn for_each_mentioned(unit: &Unit<'_>, visit: &mut impl FnMut(VariableIndex)) {
    let mut expression = |expression: &Expression| {
        expression.walk(&mut |inner| {
            if let ExpressionKind::Variable(variable) = inner.kind {
                visit(variable);
            }
        });
    };
    for piece in &unit.pieces {
        piece.statement.walk(&mut |statement| {
            statement.expressions().into_iter().for_each(&mut expression);
        });
    }
}
