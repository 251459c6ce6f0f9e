//! The text of a sorted loop.
//!
//! An insertion sort needs no function of a library and is stable. The head of the source counts
//! the iterations, so that the array has one element for each.

use std::collections::BTreeSet;

use super::{Loop, Obstacle, filled::Filled};
use crate::{
    ir::{Expression, ExpressionKind, StatementKind, Type, VariableIndex},
    source::{Edit, Range},
    split::{
        expansion::{self, MOST_BYTES},
        shape,
    },
};

/// Returns the edits that sort the loop, with the text of the key.
pub(super) fn edits(
    looping: &Loop<'_, '_, '_, '_>,
    key: &Expression,
    filled: &Filled,
) -> Result<(String, Vec<Edit>), Obstacle> {
    let (text, range) = (looping.context.text, looping.counting.piece.range);
    let counter = looping.context.program.variable(looping.counter());
    let missing = |reason: &str| looping.obstacle(range, reason);
    let Type::Scalar(ty) = &counter.ty else { return Err(missing("it counts by no number")) };
    if filled.length.saturating_mul(8) > MOST_BYTES {
        return Err(missing("the array of the iterations would be too large"));
    }
    let name = &counter.name;
    let names = [&format!("sorted_{name}"), "sorted_count", "sorted_at", "sorted_next"];
    let [array, count, at, next] = expansion::unused_names(names, looping.context);
    let earlier = format!("{array}[{at} - 1]");
    let with = |index: &str| with_counter(key, looping.counter(), name, index, text);
    let (Some(own), Some(other)) = (with(name), with(&earlier)) else {
        return Err(missing("a macro makes a part of the key"));
    };
    let (newline, indent) = (shape::newline(text), shape::indent(range, text));
    let deep = format!("{indent}{}", unit_of(indent));
    let deeper = format!("{deep}{}", unit_of(indent));
    let lines = [
        (indent, format!("{ty} {array}[{}];", filled.length)),
        (indent, format!("int {count};")),
        (indent, format!("{count} = 0;")),
        (indent, format!("{} {{", looping.counting.text)),
        (&deep, format!("int {at} = {count}++;")),
        (&deep, format!("for (; {at} > 0 && {other} > {own}; {at}--)")),
        (&deeper, format!("{array}[{at}] = {earlier};")),
        (&deep, format!("{array}[{at}] = {name};")),
        (indent, "}".to_string()),
    ];
    let all: Vec<String> = lines.iter().map(|(indent, line)| format!("{indent}{line}")).collect();
    let before = format!("{}{newline}{indent}", all.join(newline).trim_start());
    let start = Range::new(range.start, range.start);
    let head = Range::new(range.start, range.start + looping.counting.text.len());
    let body = looping.counting.body.range.start + 1;
    let is_declared = matches!(looping.counting.head.initial.kind, StatementKind::Declare(_));
    let declared = if is_declared { format!("{ty} ") } else { String::new() };
    let edits = vec![
        Edit { range: start, text: before },
        Edit { range: head, text: format!("for (int {next} = 0; {next} < {count}; {next}++)") },
        Edit {
            range: Range::new(body, body),
            text: format!("{newline}{deep}{declared}{name} = {array}[{next}];"),
        },
    ];
    Ok((own, edits))
}

/// Returns the blanks of one more level of statements.
fn unit_of(indent: &str) -> &'static str {
    if indent.contains('\t') { "\t" } else { "    " }
}

/// Returns the text of an expression with another index in the place of the counter; `None` if a
/// part is not written in the source.
fn with_counter(
    expression: &Expression,
    counter: VariableIndex,
    name: &str,
    index: &str,
    text: &str,
) -> Option<String> {
    let range = expression.range?;
    let mut places = BTreeSet::new();
    let mut is_written = true;
    expression.walk(&mut |inner| {
        let ExpressionKind::Variable(variable) = inner.kind else { return };
        let place = inner.range.filter(|&inner| range.contains(inner));
        is_written &= place.is_some();
        if let Some(place) = place.filter(|_| variable == counter) {
            is_written &= place.of(text) == name;
            places.insert((place.start, place.end));
        }
    });
    let (mut found, mut from) = (String::new(), range.start);
    for (start, end) in places {
        found.push_str(text.get(from..start)?);
        found.push_str(index);
        from = end;
    }
    found.push_str(text.get(from..range.end)?);
    let is_plain = !found.contains(['\n', '"', '\'']) && !found.contains("/*");
    (is_written && is_plain).then_some(found)
}
