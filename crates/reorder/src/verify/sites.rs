//! The calls of a source that run queries, so that a comparison can say which of them never ran.
//!
//! In the original program each call `f(x)` becomes `(mockdb_site(3), f(x))`. A call that stands in
//! the use of a macro is not edited, since the macro may print its argument's text or expand to a
//! statement; the SQL text that the call names stands for it.

use std::collections::BTreeSet;

use super::log::Event;
use crate::{
    api::{Models, Role},
    ir::{Callee, Expression, ExpressionKind, Function, Program},
    source::{Edit, Range, apply},
};

/// The number of characters of a call that a report shows.
const SHOWN: usize = 90;

/// A call that runs a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The line, counted from 1.
    pub line: usize,
    /// The text of the call, in one line.
    pub call: String,
    /// The place of the call, if it can be edited.
    range: Option<Range>,
    /// The begin of the SQL text, as far as the call names it.
    sql: Option<String>,
}

/// Returns the calls that run queries in a function and in those that it calls. Rollbacks are not
/// among them: they run in failing cases alone.
pub fn sites(program: &Program, models: &Models, text: &str, function: &str) -> Vec<Site> {
    let mut functions: Vec<&Function> = program.function(function).into_iter().collect();
    let mut found: Vec<(Range, Site)> = Vec::new();
    let mut next = 0;
    while let Some(&function) = functions.get(next) {
        next += 1;
        function.body.walk(&mut |statement| {
            for expression in statement.expressions() {
                expression.walk(&mut |inner| {
                    let ExpressionKind::Call { callee, arguments, .. } = &inner.kind else {
                        return;
                    };
                    if let Callee::Function(name) = callee
                        && let Some(called) = program.function(name)
                        && functions.iter().all(|known| known.name != called.name)
                    {
                        functions.push(called);
                    }
                    if runs_query(models, callee, arguments) {
                        let range = inner.range.unwrap_or(statement.range);
                        let site = site(program, text, inner, range, arguments);
                        found.push((range, site));
                    }
                });
            }
        });
    }
    found.sort_by_key(|(range, _)| *range);
    found.dedup_by(|(a, one), (b, other)| a == b && one == other);
    found.into_iter().map(|(_, site)| site).collect()
}

fn runs_query(models: &Models, callee: &Callee, arguments: &[Expression]) -> bool {
    let role = models.call(callee).map(|call| call.role);
    let rolls_back = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.eq_ignore_ascii_case("rollback") || word.eq_ignore_ascii_case("abort")
    };
    matches!(role, Some(Role::Query | Role::Begin | Role::Commit))
        && !texts(arguments).any(rolls_back)
}

fn texts(arguments: &[Expression]) -> impl Iterator<Item = &str> {
    arguments.iter().filter_map(|argument| match &argument.kind {
        ExpressionKind::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

fn site(
    program: &Program,
    text: &str,
    call: &Expression,
    range: Range,
    arguments: &[Expression],
) -> Site {
    let words: Vec<&str> = range.of(text).split_whitespace().collect();
    let mut shown = words.join(" ");
    if shown.chars().count() > SHOWN {
        shown = shown.chars().take(SHOWN - 1).collect::<String>() + "…";
    }
    let in_macro = program.macros.iter().any(|used| used.range.contains(range));
    let torn = program.directives.iter().any(|&directive| range.contains(directive));
    let whole = range.of(text).ends_with(')');
    Site {
        line: range.line(text),
        call: shown,
        range: call.range.filter(|_| !in_macro && !torn && whole),
        sql: texts(arguments).next().map(fixed_begin),
    }
}

/// Returns the text up to its first format, with single spaces.
fn fixed_begin(text: &str) -> String {
    let begin = text.split('%').next().unwrap_or_default();
    begin.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the source with a mark at each call, and `None` if there is nothing to mark.
pub(crate) fn marked(text: &str, sites: &[Site]) -> Option<String> {
    let insert = |at, text| Edit { range: Range::new(at, at), text };
    let mut ranges: Vec<(Range, usize)> = sites
        .iter()
        .enumerate()
        .filter_map(|(number, site)| site.range.map(|range| (range, number)))
        .collect();
    // Of calls that begin at the same place, the outer one comes first.
    ranges.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    ranges.dedup_by_key(|(range, _)| *range);
    let begin = |&(range, number): &(Range, usize)| {
        insert(range.start, format!("(mockdb_site({number}), "))
    };
    let end = |&(range, _): &(Range, usize)| insert(range.end, ")".to_owned());
    let edits: Vec<Edit> = ranges.iter().map(begin).chain(ranges.iter().map(end)).collect();
    (!edits.is_empty()).then(|| apply(text, &edits))
}

/// The calls that ran so far.
#[derive(Clone, Default, Debug)]
pub(crate) struct Reached(BTreeSet<usize>);

impl Reached {
    /// Adds the calls of a run; returns true if one of them is new. `marks` says that the program
    /// has marks.
    pub(crate) fn add(&mut self, events: &[Event], sites: &[Site], marks: bool) -> bool {
        let before = self.0.len();
        for event in events {
            match event {
                Event::Site { number } => drop(self.0.insert(*number)),
                Event::Query(query) => {
                    let words: Vec<&str> = query.sql.split_whitespace().collect();
                    let sql = words.join(" ");
                    let by_text = |site: &Site| {
                        let begin = site.sql.as_deref().filter(|begin| !begin.is_empty());
                        (site.range.is_none() || !marks)
                            && begin.is_some_and(|begin| sql.starts_with(begin))
                    };
                    let all = sites.iter().enumerate().filter(|(_, site)| by_text(site));
                    self.0.extend(all.map(|(number, _)| number));
                }
                _ => {}
            }
        }
        self.0.len() > before
    }

    /// Returns the calls that never ran, and those of which that is not known.
    pub(crate) fn missing<'s>(
        &self,
        sites: &'s [Site],
        marks: bool,
    ) -> (Vec<&'s Site>, Vec<&'s Site>) {
        let missing = sites.iter().enumerate().filter(|(number, _)| !self.0.contains(number));
        missing.map(|(_, site)| site).partition(|site| {
            (site.range.is_some() && marks) || site.sql.as_ref().is_some_and(|sql| !sql.is_empty())
        })
    }
}

#[cfg(test)]
mod tests;
