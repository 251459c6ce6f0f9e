//! Declarations in a body that a split would take from a later part.
//!
//! A declaration without initializer is copied to the later part if both parts use the variable,
//! and moved there if only the later part does. Any other declaration whose variable the later part
//! uses forbids the split.
//!
//! A declaration with an initializer is left to [`restore`](super::restore), which declares the
//! variable in the later part with the value that it had.
//!
//! **Safe because** such a declaration gives the variable no value, and the rules on values forbid
//! that a value goes from one part to the other, unless the later part begins by restoring it.

use std::collections::BTreeSet;

use super::{Refusal, SplitRule, part::Part, restore::Restored, shape};
use crate::{
    ir::{Declaration, ExpressionKind, Scope, Statement, StatementKind, Type, VariableIndex},
    legality::Context,
    source::{Edit, Range},
};

/// The declarations of the first part that the second needs.
#[derive(Default)]
pub(super) struct Declarations {
    /// The edits that take away what is moved.
    pub(super) edits: Vec<Edit>,
    /// The text of the declarations, for the second part.
    pub(super) text: String,
    /// The variables of which both parts have one.
    pub(super) variables: BTreeSet<VariableIndex>,
}

/// Finds the declarations that the second part needs.
pub(super) fn of(
    context: &Context<'_, '_, '_>,
    [first, second]: [&Part<'_>; 2],
    restored: &Restored,
    indent: &str,
) -> Result<Declarations, Refusal> {
    let mut found = Declarations::default();
    let repeated = restored.statements.iter().map(|&at| &first.statements[at]);
    let later = used(second.statements.iter().chain(repeated));
    for (at, statement) in first.statements.iter().enumerate() {
        let Some(declared) = declared(context, statement)? else { continue };
        let is_needed = |one: &&Declaration| later.contains(&one.variable);
        let needed = declared.iter().filter(is_needed).count();
        if needed == 0 {
            continue;
        }
        if let [only] = declared
            && restored.declared.contains(&only.variable)
        {
            continue;
        }
        let name = &context.program.variable(declared[0].variable).name;
        let refused = |reason: &str| {
            let line = statement.range.line(context.text);
            let reason = format!("the declaration of `{name}` {reason}");
            Err(Refusal { rule: SplitRule::Declaration, line, reason })
        };
        if !declared.iter().all(|one| is_plain(context, one)) {
            return refused("is used behind the split, and gives a value or is no plain variable");
        }
        let earlier = used_without(first.statements, at, &restored.moved);
        let kept = declared.iter().filter(|one| earlier.contains(&one.variable)).count();
        if needed < declared.len() || kept != 0 && kept < declared.len() {
            return refused("has variables of which only some are used behind the split");
        }
        if kept == 0 && at + 1 == first.statements.len() {
            return refused("would be moved: split before it");
        }
        if kept == 0 {
            let range = whole_line(statement.range, context.text);
            found.edits.push(Edit { range, text: String::new() });
        }
        let (newline, text) = (shape::newline(context.text), statement.range.of(context.text));
        found.text.push_str(&format!("{newline}{indent}{text}"));
        found.variables.extend(declared.iter().map(|one| one.variable));
    }
    Ok(found)
}

/// Returns the variables that a statement of a list declares for those behind it.
fn declared<'a>(
    context: &Context<'_, '_, '_>,
    statement: &'a Statement,
) -> Result<Option<&'a [Declaration]>, Refusal> {
    let refused = |reason: &str| {
        let line = statement.range.line(context.text);
        Err(Refusal { rule: SplitRule::Declaration, line, reason: reason.to_string() })
    };
    match &statement.kind {
        StatementKind::Declare(all) => {
            let is_object = |one: &Declaration| {
                let variable = context.program.variable(one.variable);
                matches!(variable.ty, Type::Class(_) | Type::Other(_)) || variable.owner.is_some()
            };
            if all.iter().any(is_object) {
                return refused("an object would be destroyed at the end of the first part");
            }
            if statement.range.of(context.text).contains('{')
                && all.iter().any(|one| one.initial.is_none())
            {
                return refused("a declaration may declare a type");
            }
            Ok(Some(all))
        }
        StatementKind::Expanded(inner) => {
            let declares = |one: &Statement| matches!(one.kind, StatementKind::Declare(_));
            if inner.iter().any(declares) {
                return refused("a macro declares a variable");
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

fn is_plain(context: &Context<'_, '_, '_>, declaration: &Declaration) -> bool {
    let variable = context.program.variable(declaration.variable);
    declaration.initial.is_none()
        && variable.scope == Scope::Local
        && !variable.constant
        && !matches!(variable.ty, Type::Reference { .. } | Type::Array { length: None, .. })
}

/// Returns the variables that statements mention.
pub(super) fn used<'a>(
    statements: impl IntoIterator<Item = &'a Statement>,
) -> BTreeSet<VariableIndex> {
    let mut found = BTreeSet::new();
    for statement in statements {
        statement.walk(&mut |inner| {
            for expression in inner.expressions() {
                expression.walk(&mut |part| {
                    if let ExpressionKind::Variable(variable) = part.kind {
                        found.insert(variable);
                    }
                });
            }
        });
    }
    found
}

fn used_without(
    statements: &[Statement],
    without: usize,
    moved: &BTreeSet<usize>,
) -> BTreeSet<VariableIndex> {
    let all = statements.iter().enumerate();
    used(all.filter(|(at, _)| *at != without && !moved.contains(at)).map(|(_, one)| one))
}

/// Returns the line of a statement, if nothing else stands on it, and else the statement.
pub(super) fn whole_line(statement: Range, text: &str) -> Range {
    let start = statement.start - shape::indent(statement, text).len();
    let rest = &text[statement.end..];
    let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
    let is_alone = (start == 0 || text[..start].ends_with('\n')) && rest[..line].trim().is_empty();
    if is_alone { Range::new(start, statement.end + line) } else { statement }
}
