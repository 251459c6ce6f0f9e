//! The text around the place of a split: what is copied, and where it is put.

use super::{Refusal, SplitRule};
use crate::{
    ir::{Program, Statement, StatementKind},
    source::Range,
};

/// Returns the statements of a body in braces.
pub(super) fn list<'a>(body: &'a Statement, text: &str) -> Option<&'a [Statement]> {
    let inner = body.range.of(text);
    match &body.kind {
        StatementKind::Block(list) if inner.starts_with('{') && inner.ends_with('}') => Some(list),
        _ => None,
    }
}

/// Returns the text from the keyword of a statement to the begin of its body, without the blanks
/// before the body; `None` if it is not the statement's own text.
pub(super) fn head<'t>(
    statement: Range,
    body: Range,
    keyword: &str,
    text: &'t str,
) -> Option<&'t str> {
    let head = text.get(statement.start..body.start)?.trim_end();
    let inner = head.strip_prefix(keyword)?.trim_start();
    (inner.starts_with('(') && inner.ends_with(')')).then_some(head)
}

/// Returns the condition of an `if` as it is written, without its parentheses, and its place.
pub(super) fn condition(statement: Range, body: Range, text: &str) -> Option<Range> {
    let head = head(statement, body, "if", text)?;
    if ["//", "/*", ";"].iter().any(|one| head.contains(one)) {
        return None;
    }
    let open = head.find('(')?;
    Some(Range::new(statement.start + open + 1, statement.start + head.len() - 1))
}

/// Returns the blanks before a statement, if nothing else stands before it on its line.
pub(super) fn indent(statement: Range, text: &str) -> &str {
    let line = text[..statement.start].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line..statement.start];
    if before.trim().is_empty() { before } else { "" }
}

/// Returns the end of a line, as the text has it.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the place behind a statement and the comment that stands behind it on its line.
pub(super) fn behind(statement: Range, text: &str) -> Range {
    let rest = &text[statement.end..];
    let line = rest.find(['\n', '\r']).map_or(rest, |at| &rest[..at]);
    let trimmed = line.trim();
    let is_comment = trimmed.starts_with("//")
        || trimmed.starts_with("/*") && trimmed.find("*/") == Some(trimmed.len() - 2);
    let end = statement.end + if is_comment { line.trim_end().len() } else { 0 };
    Range::new(end, end)
}

/// Refuses a statement of which a macro makes a part that a split separates, or which contains a
/// directive of the preprocessor.
pub(super) fn check(
    program: &Program,
    statement: Range,
    bodies: &[Range],
    text: &str,
) -> Result<(), Refusal> {
    let refused = |at: Range, reason: String| {
        Err(Refusal { rule: SplitRule::Form, line: at.line(text), reason })
    };
    if let Some(one) = program.directives.iter().find(|one| statement.contains(**one)) {
        return refused(*one, "a preprocessor directive stands in it".to_string());
    }
    let overlaps = |one: Range, other: Range| one.start < other.end && other.start < one.end;
    let tears = |used: Range| {
        let within = |outer: Range| used != outer && outer.contains(used);
        overlaps(used, statement)
            && (!within(statement)
                || bodies.iter().any(|body| overlaps(used, *body) && !within(*body)))
    };
    match program.macros.iter().find(|used| tears(used.range)) {
        Some(used) => refused(used.range, format!("the macro `{}` makes a part of it", used.name)),
        None => Ok(()),
    }
}
