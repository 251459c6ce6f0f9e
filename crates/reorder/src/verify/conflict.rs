//! Conflicts between operations on the same row.
//!
//! Two operations conflict if one writes what the other reads or writes, in a table where both may
//! reach the same row. They reach different rows if a column of the table's key must have different
//! values in them, and neither writes that column. A query that is not understood conflicts with
//! all.

use std::collections::BTreeMap;

use super::log::QueryEvent;
use crate::sql::{Columns, Query, QueryKind, TableAccess, Value};

/// An operation with what is known of its query.
pub(crate) struct Operation<'a> {
    pub event: &'a QueryEvent,
    pub query: Option<Query>,
}

/// Returns true if the order of the two operations matters. `key` gives the columns of a table's
/// key.
pub(crate) fn conflict(a: &Operation, b: &Operation, key: &dyn Fn(&str) -> Vec<String>) -> bool {
    let (Some(first), Some(second)) = (&a.query, &b.query) else {
        return true;
    };
    if first.kind == QueryKind::Other || second.kind == QueryKind::Other {
        return true;
    }
    first.tables.iter().any(|(table, one)| {
        second.tables.get(table).is_some_and(|other| {
            touch_same_columns(one, other)
                && !key(table).iter().any(|column| {
                    let values = [(a, one), (b, other)].map(|(operation, access)| {
                        fixed_value(column, access, &operation.event.parameters)
                    });
                    matches!(&values, [Some(left), Some(right)] if differ(left, right))
                })
        })
    })
}

/// Returns true if one access writes what the other reads or writes.
fn touch_same_columns(a: &TableAccess, b: &TableAccess) -> bool {
    let changes_rows = |access: &TableAccess| access.inserts || access.deletes;
    changes_rows(a)
        || changes_rows(b)
        || overlap(&a.writes, &b.writes)
        || overlap(&a.writes, &b.reads)
        || overlap(&a.reads, &b.writes)
}

fn overlap(a: &Columns, b: &Columns) -> bool {
    let some = |columns: &Columns| !matches!(columns, Columns::Some(set) if set.is_empty());
    match (a, b) {
        (Columns::Some(a), Columns::Some(b)) => !a.is_disjoint(b),
        _ => some(a) && some(b),
    }
}

/// Returns the value that a column has in all rows of an access, before and after it.
fn fixed_value(
    column: &str,
    access: &TableAccess,
    parameters: &[Option<String>],
) -> Option<String> {
    if writes(&access.writes, column) {
        return None;
    }
    match access.equal.get(column)? {
        Value::Parameter(index) => parameters.get(*index).cloned().flatten(),
        Value::Constant(text) => constant(text),
    }
}

fn writes(columns: &Columns, column: &str) -> bool {
    match columns {
        Columns::Some(set) => set.contains(column),
        Columns::All => true,
    }
}

/// Returns the value of a constant; `None` unless it is a number or a plain string.
fn constant(text: &str) -> Option<String> {
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match quoted {
        Some(inner) if !inner.contains('\\') => Some(inner.replace("''", "'")),
        Some(_) => None,
        None => number(text).map(|_| text.to_owned()),
    }
}

/// Returns true if two values differ whatever the type of the column is: `1` and `01` are the same
/// number, `a` and `A ` may be the same text, `t` and `yes` the same truth value, `2020-1-2` and
/// `2020-01-02` the same date.
fn differ(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    match (number(a), number(b)) {
        // Integers that one floating-point number stands for are compared as texts.
        (Some(x), Some(y)) if x == y => {
            let digits = |text: &str| text.len() > 15 && text.bytes().all(|b| b.is_ascii_digit());
            digits(a) && digits(b) && a.trim_start_matches('0') != b.trim_start_matches('0')
        }
        (Some(_), Some(_)) => true,
        _ if !a.is_ascii() || !b.is_ascii() || a.eq_ignore_ascii_case(b) => false,
        _ if is_truth_value(a) && is_truth_value(b) => false,
        _ if without_leading_zeros(a).eq_ignore_ascii_case(&without_leading_zeros(b)) => false,
        _ => a.len() == b.len() || !(has_digit(a) || has_digit(b)),
    }
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns a text without the zeros that begin its groups of digits: `2020-01-2` is `2020-1-02`.
fn without_leading_zeros(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut kept, mut within) = (String::new(), false);
    for (at, character) in text.char_indices() {
        if character == '0' && !within && digit(at + 1) {
            continue;
        }
        within = character.is_ascii_digit();
        kept.push(character);
    }
    kept
}

/// Returns true if a text may stand for a truth value.
fn is_truth_value(text: &str) -> bool {
    let words = ["t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"]
        .iter()
        .chain(&["f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"]);
    words.into_iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns the value of a decimal number.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse().ok().filter(|_| plain)
}

/// Returns the first pair of conflicting operations that stand in the other order in `new`, as
/// indices in `old`. Operations are the same if their keys are.
pub(crate) fn first_swap(
    old: &[Operation],
    new: &[Operation],
    key: &dyn Fn(&str) -> Vec<String>,
) -> Option<(usize, usize)> {
    let places: BTreeMap<&str, usize> =
        new.iter().enumerate().map(|(at, one)| (one.event.key.as_str(), at)).collect();
    let place = |operation: &Operation| places.get(operation.event.key.as_str()).copied();
    (0..old.len()).flat_map(|i| (i + 1..old.len()).map(move |j| (i, j))).find(|&(i, j)| {
        let swapped = matches!((place(&old[i]), place(&old[j])), (Some(a), Some(b)) if a > b);
        swapped && conflict(&old[i], &old[j], key)
    })
}

#[cfg(test)]
mod tests;
