//! Scalar expansion: an array with an element for each iteration keeps the value of a variable from
//! the earlier part of a loop to the later part.
//!
//! Variables are numbers and arrays of numbers (text buffers among them), never pointers or
//! objects. The variable itself stays: the earlier part ends by storing its value, and the later
//! part begins by loading it, so that pointers to it stay right.
//!
//! **Safe because** the index of the array is in its range in each iteration
//! ([`length`](super::length)), and differs from those of other iterations.

use super::{length::Iterations, shape, values::Values};
use crate::{
    flow::graph::NodeKind,
    ir::{Declaration, Scope, StatementKind, Type, VariableIndex},
    legality::Context,
    source::{Edit, Range},
};

/// The bytes of an array, at most: it lies on the stack.
pub(super) const MOST_BYTES: u64 = 16_384;

/// An array, with the statements that use it.
pub(super) struct Expansion {
    pub(super) declaration: String,
    pub(super) save: String,
    pub(super) load: String,
    /// The header of `memcpy`, if the source lacks it.
    pub(super) edits: Option<Edit>,
    /// The variable, if `load` declares it.
    pub(super) declared: Option<VariableIndex>,
}

/// Makes the array of a variable.
///
/// # Errors
/// The fact that forbids it, or that is missing.
pub(super) fn of(
    values: &Values<'_, '_, '_>,
    index: VariableIndex,
    iterations: &Iterations,
) -> Result<Expansion, String> {
    let variable = values.context.program.variable(index);
    let name = &variable.name;
    if variable.scope != Scope::Local || variable.volatile {
        return Err(format!("`{name}` is no plain local variable"));
    }
    let Some((element, lengths)) = numbers(&variable.ty) else {
        return Err(format!("`{name}` is no number and no array of numbers"));
    };
    check_value(values, index, lengths.is_empty())?;
    let bytes = lengths.iter().fold(size(element) * iterations.length, |all, one| all * one);
    if bytes > MOST_BYTES {
        return Err(format!("the array would take {bytes} bytes, more than {MOST_BYTES}"));
    }
    let array = unused_name(&format!("{name}_at"), values.context);
    let at = format!("{array}[{}]", iterations.index);
    let all: String = lengths.iter().map(|length| format!("[{length}]")).collect();
    let declaration = format!("{element} {array}[{}]{all};", iterations.length);
    let given = initial_of(values, index);
    if lengths.is_empty() {
        let (save, mut load) = (format!("{at} = {name};"), format!("{name} = {at};"));
        if given {
            load = format!("{element} {load}");
        } else if variable.constant {
            return Err(format!("`{name}` is constant"));
        }
        let declared = given.then_some(index);
        return Ok(Expansion { declaration, save, load, edits: None, declared });
    }
    if given || variable.constant {
        return Err(format!("the declaration of `{name}` gives it a value"));
    }
    Ok(Expansion {
        declaration,
        save: format!("memcpy({at}, {name}, sizeof {name});"),
        load: format!("memcpy({name}, {at}, sizeof {name});"),
        edits: header(values)?,
        declared: None,
    })
}

/// Refuses a variable that may have no value at the end of the earlier part, or one of a later
/// part.
fn check_value(
    values: &Values<'_, '_, '_>,
    variable: VariableIndex,
    is_number: bool,
) -> Result<(), String> {
    let flow = values.context.flow;
    let program = values.context.program;
    let whole = values.whole(variable);
    for definition in flow.reaching(values.split(), &whole) {
        let node = flow.definitions.all[definition].node;
        let name = &program.variable(variable).name;
        if values.parts[1].nodes.contains(&node) {
            return Err(format!(
                "`{name}` may still have a value that the later part wrote in an earlier iteration"
            ));
        }
        let declares = matches!(flow.graph.nodes[node].kind, NodeKind::Declare(one)
            if one.initial.is_none());
        if declares && is_number {
            return Err(format!("`{name}` may have no value at the end of the earlier part"));
        }
    }
    Ok(())
}

/// Returns true if the body declares a variable with an initializer.
fn initial_of(values: &Values<'_, '_, '_>, variable: VariableIndex) -> bool {
    let gives = |one: &Declaration| one.variable == variable && one.initial.is_some();
    values.parts[0].statements.iter().any(|statement| match &statement.kind {
        StatementKind::Declare(all) => all.iter().any(gives),
        _ => false,
    })
}

/// Returns the type of the numbers of a variable, and the lengths of its arrays, outermost first.
fn numbers(ty: &Type) -> Option<(&str, Vec<u64>)> {
    match ty {
        // An enumeration without a name has no type that a declaration could repeat.
        Type::Scalar(name) => {
            let is_part = |c: char| c.is_alphanumeric() || "_: ".contains(c);
            (name.chars().all(is_part) && !name.contains("unnamed")).then_some((name, Vec::new()))
        }
        Type::Array { of, length: Some(length) } => {
            let (name, mut lengths) = numbers(of)?;
            lengths.insert(0, *length);
            Some((name, lengths))
        }
        _ => None,
    }
}

/// Returns a bound on the number of bytes of a number.
fn size(name: &str) -> u64 {
    match name {
        "char" | "signed char" | "unsigned char" | "_Bool" | "bool" => 1,
        "short" | "unsigned short" => 2,
        "int" | "unsigned int" | "float" => 4,
        "long double" | "__int128" | "unsigned __int128" => 16,
        name if name.contains("_Complex") => 32,
        _ => 8,
    }
}

/// Returns the edit that includes the header of `memcpy` and `memset`, unless the source has it.
pub(super) fn header(values: &Values<'_, '_, '_>) -> Result<Option<Edit>, String> {
    let text = values.context.text;
    let directives = &values.context.program.directives;
    let word = |range: &Range| range.of(text).trim_start_matches('#').trim_start();
    let includes = |range: &&Range| word(range).starts_with("include");
    let is_header =
        |range: &Range| ["<string.h>", "<cstring>"].iter().any(|one| range.of(text).contains(one));
    let is_conditional = |range: &Range| word(range).starts_with("if");
    // Each function can use a header that stands before all of them.
    let first = values.context.program.functions.iter().map(|one| one.range.start).min();
    let is_in_front = |range: &Range| first.is_none_or(|first| range.end <= first);
    let plain = directives.iter().take_while(|range| is_in_front(range) && !is_conditional(range));
    let plain = plain.filter(includes);
    let plain: Vec<&Range> = plain.collect();
    if plain.iter().any(|range| is_header(range)) {
        return Ok(None);
    }
    let Some(last) = plain.last() else {
        return Err("the copy of an array needs <string.h>, which is not included".to_string());
    };
    let line = format!("{}#include <string.h>", shape::newline(text));
    Ok(Some(Edit { range: Range::new(last.end, last.end), text: line }))
}

/// Returns a name that neither the source nor a macro that it uses has: the given one, perhaps with
/// a number.
pub(super) fn unused_name(name: &str, context: &Context<'_, '_, '_>) -> String {
    let [name] = unused_names([name], context);
    name
}

/// The same for several names, which differ from each other.
pub(super) fn unused_names<const COUNT: usize>(
    names: [&str; COUNT],
    context: &Context<'_, '_, '_>,
) -> [String; COUNT] {
    let text = context.text;
    let expanded = context.flow.names_of_program();
    let mut given: Vec<String> = Vec::new();
    names.map(|name| {
        let is_used =
            |name: &String| text.contains(name) || expanded.contains(name) || given.contains(name);
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut all = std::iter::once(name.to_string()).chain(numbered);
        let unused = all.find(|name| !is_used(name)).unwrap_or_default();
        given.push(unused.clone());
        unused
    })
}
