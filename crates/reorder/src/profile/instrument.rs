//! Writes a program that measures its queries.
//!
//! Each call that runs queries becomes an argument of `CLEARWAY_QUERY`; all other text stays. What
//! the macro needs is inserted behind the first `#include` that stands under no condition, since
//! macros such as `_GNU_SOURCE` must be defined before the first header of the system. A `#line`
//! behind it keeps the numbers of lines.

use std::fmt::Write;

use super::{
    Key,
    calls::{self, Call, Ordinals},
};
use crate::{
    api::Models,
    flow::{Flow, summary::Summaries},
    ir::Program,
    source::{Edit, Range, apply},
    transaction::{self, NoTransaction},
};

/// A program that measures its queries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instrumented {
    /// The text.
    pub text: String,
    /// The queries that it measures.
    pub measured: Vec<Key>,
    /// The queries that it does not measure, with the reason.
    pub left_out: Vec<(Key, &'static str)>,
}

/// Adds the measurement of each query to a program whose source is `text`: to the transactions of
/// the named function, or to all.
///
/// # Errors
/// [`NoTransaction`] if there is none.
pub fn instrument(
    program: &Program,
    text: &str,
    models: &Models,
    function: Option<&str>,
) -> Result<Instrumented, NoTransaction> {
    let summaries = Summaries::of_program(program, models);
    let mut ordinals = Ordinals::default();
    let mut all = Vec::new();
    for transaction in &transaction::find(program, models, &summaries, function, text)? {
        let flow = Flow::of(program, models, &summaries, transaction.function);
        let source = calls::Source { program, summaries: &summaries, transaction };
        all.extend(calls::calls(&flow, &source, &mut ordinals));
    }
    let (mut measured, mut left_out) = (Vec::new(), Vec::new());
    let mut calls: Vec<(Range, usize)> = Vec::new();
    for Call { key, range, .. } in all {
        match place(range, &calls, program) {
            Ok(range) => {
                calls.push((range, measured.len()));
                measured.push(key);
            }
            Err(reason) => left_out.push((key, reason)),
        }
    }
    let mut edits = wrapped(calls);
    if !measured.is_empty() {
        edits.push(prologue(program, text, &measured));
    }
    Ok(Instrumented { text: apply(text, &edits), measured, left_out })
}

/// Returns the range of a call that a macro can take as its argument.
fn place(
    range: Option<Range>,
    calls: &[(Range, usize)],
    program: &Program,
) -> Result<Range, &'static str> {
    let range = range.ok_or("its call does not stand in the transaction")?;
    if calls.iter().any(|(other, _)| *other == range) {
        return Err("another query has the same call");
    }
    match program.directives.iter().any(|&directive| range.contains(directive)) {
        true => Err("a preprocessor directive stands in its call"),
        false => Ok(range),
    }
}

/// Returns the edits that make each call an argument of the macro.
fn wrapped(mut calls: Vec<(Range, usize)>) -> Vec<Edit> {
    // Of calls that begin at the same place, the outer one comes first.
    calls.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let insert = |at, text| Edit { range: Range::new(at, at), text };
    let begin = |(range, id): &(Range, usize)| {
        insert(range.start, format!("CLEARWAY_QUERY(clearway_query_ids[{id}], "))
    };
    let end = |(range, _): &(Range, usize)| insert(range.end, ")".to_owned());
    calls.iter().map(begin).chain(calls.iter().map(end)).collect()
}

/// Returns the edit that declares and registers the queries.
fn prologue(program: &Program, text: &str, queries: &[Key]) -> Edit {
    let mut code = String::from("#include \"clearway_profile.h\"\n\n");
    let _ = writeln!(code, "static int clearway_query_ids[{}];\n", queries.len());
    code.push_str("__attribute__((constructor)) static void clearway_register_queries(void)\n{\n");
    for (id, key) in queries.iter().enumerate() {
        let (function, sql) = (quoted(&key.function), quoted(&key.sql));
        let _ = writeln!(code, "    clearway_query_ids[{id}] = clearway_profile_register(");
        let _ = writeln!(code, "        {function}, {sql}, {});", key.ordinal);
    }
    code.push_str("}\n");
    match first_include(program, text) {
        Some(include) => {
            let line = Range::new(include.end, include.end).line(text) + 1;
            let code = format!("\n\n{code}#line {line}");
            Edit { range: Range::new(include.end, include.end), text: code }
        }
        None => Edit { range: Range::new(0, 0), text: format!("{code}#line 1\n") },
    }
}

/// Returns the first `#include` before all functions that stands under no condition.
fn first_include(program: &Program, text: &str) -> Option<Range> {
    let end = program.functions.first().map_or(text.len(), |function| function.range.start);
    let mut depth = 0;
    for &directive in program.directives.iter().filter(|directive| directive.end <= end) {
        let word = directive.of(text).trim_start_matches('#').trim_start();
        match word.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default() {
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" => depth -= 1,
            "include" if depth == 0 => return Some(directive),
            _ => {}
        }
    }
    None
}

/// Returns a text as a C string literal.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => {
                literal.push('\\');
                literal.push(char::from(byte));
            }
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_has_no_byte_that_c_reads_in_another_way() {
        assert_eq!(
            quoted("a \"b\" \\ ??/ \n1 ä"),
            "\"a \\\"b\\\" \\\\ \\?\\?/ \\0121 \\303\\244\""
        );
    }

    #[test]
    fn outer_call_contains_the_inner_one() {
        let (outer, inner) = ((Range::new(0, 6), 0), (Range::new(0, 3), 1));
        let text = apply("f()(g)", &wrapped(vec![inner, outer]));
        let id = |id| format!("CLEARWAY_QUERY(clearway_query_ids[{id}], ");
        assert_eq!(text, format!("{}{}f())(g))", id(0), id(1)));
    }
}
