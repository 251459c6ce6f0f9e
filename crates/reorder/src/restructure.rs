//! Writes the units in their new order, by edits of the source.
//!
//! Each piece takes with it the comments and blank lines above it and a comment behind it on its
//! line. The text between the first and the last unit that changes its place is replaced; all other
//! bytes stay.

use crate::{
    solve::UnitIndex,
    source::{Edit, Range},
    units::Units,
};

/// An edit that moves parts of the text.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) edit: Edit,
    /// The offsets of the parts, ascending: in the new text of the edit, and in the text before.
    pub(crate) parts: Vec<(usize, usize)>,
}

/// Returns the edits that bring units into an order, by the texts that move with them; none if it
/// is the order of the source.
pub fn edits(chunks: &[Range], order: &[UnitIndex], text: &str) -> Vec<Edit> {
    moves(chunks, order, text).into_iter().map(|one| one.edit).collect()
}

/// Returns the edit that brings units into an order, with the places of its parts.
pub(crate) fn moves(chunks: &[Range], order: &[UnitIndex], text: &str) -> Option<Move> {
    let moved = |at: &usize| order[*at] != *at;
    let first = (0..order.len()).find(moved)?;
    let last = (0..order.len()).rfind(moved).expect("a permutation moves two or none");
    let range = Range::new(chunks[first].start, chunks[last].end);
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (mut moved, mut parts) = (String::new(), Vec::new());
    for &unit in &order[first..=last] {
        parts.push((moved.len(), chunks[unit].start));
        moved.push_str(chunks[unit].of(text));
        if !moved.ends_with('\n') {
            moved.push_str(newline);
        }
    }
    // What follows on the line must not come behind a comment that ends with the line.
    let rest = text[range.end..].lines().next().unwrap_or_default();
    let last = moved.trim_end().lines().next_back().unwrap_or_default();
    let swallows = !rest.trim().is_empty() && (last.contains("//") || last.ends_with('\\'));
    if !range.of(text).ends_with('\n') && !swallows {
        moved.truncate(moved.trim_end_matches(['\n', '\r']).len());
    }
    Some(Move { edit: Edit { range, text: moved }, parts })
}

/// Returns the text that moves with each unit; together they are one range without holes.
pub fn chunks(units: &Units<'_>, text: &str) -> Vec<Range> {
    let mut chunks = Vec::new();
    let mut start = units.units.first().map_or(0, |unit| line_start(text, unit.range().start));
    for unit in &units.units {
        let end = chunk_end(text, unit.range().end);
        chunks.push(Range::new(start, end));
        start = end;
    }
    chunks
}

/// Returns the start of the line of a statement, if nothing but blanks stands before it there.
fn line_start(text: &str, statement: usize) -> usize {
    let line = text[..statement].rfind('\n').map_or(0, |at| at + 1);
    let is_alone = text[line..statement].trim().is_empty();
    if is_alone { line } else { statement }
}

/// Returns the end of what moves with a statement: the end of its line, if only a comment stands
/// behind it there.
fn chunk_end(text: &str, statement_end: usize) -> usize {
    let rest = &text[statement_end..];
    let line_length = rest.find('\n').map_or(rest.len(), |at| at + 1);
    let line = rest[..line_length].trim();
    let is_comment = line.starts_with("//")
        || line.starts_with("/*") && line.find("*/").is_some_and(|at| at + 2 == line.len());
    if line.is_empty() || is_comment { statement_end + line_length } else { statement_end }
}
