//! Splits conditional statements and loops of a transaction into parts, so that the queries of each
//! part can be moved alone (the paper's §3.1).
//!
//! ```text
//!   if (c) { A B }          ──▶  if (c) { A } if (c) { B }
//!   if (c) { A } else { B } ──▶  if (c) { A } if (!(c)) { B }
//!   for (h) { A B }         ──▶  for (h) { A } for (h) { B }
//! ```
//!
//! A value that goes from A to B within an iteration of a loop is computed again in B, or kept in
//! an array with an element for each iteration (`restore`). B skips the iterations that a
//! `continue` in A ends (`skipped`).
//!
//! A split is a change of the source that does the same as the source before any unit is moved. It
//! is made by edits of the text, and the front end reads the new text: everything behind the front
//! end works on the program that the user could have written. [`candidates`] lists the splits of a
//! program, each with its edits or with the rule that forbids it;
//! [`transform`](crate::transform) tries them.
//!
//! Invariants:
//! - SPLIT-1. A split program does what the program did, in the order of its source, but that an
//!   exit of a loop may be taken before or behind queries that it then rolls back.
//! - SPLIT-2. A split that does not lower the expected cost leaves no trace in the text.

mod conditional;
mod declarations;
mod element;
mod excerpt;
mod expansion;
mod fission;
mod keys;
mod length;
mod number;
mod part;
mod repetition;
mod restore;
mod search;
mod shape;
mod skipped;
pub(crate) mod sort;
pub(crate) mod trace;
mod values;
mod versions;

use std::fmt;

pub use self::sort::{Obstacle, Sorted, Unsorted};
pub(crate) use self::{
    excerpt::Excerpt,
    search::{Found, line_start, search},
    versions::Version,
};
use crate::{
    api::Models,
    flow::summary::Summaries,
    ir::{Program, StatementKind},
    legality,
    rewrite::{Options, Refused, Source, for_each_transaction_with},
    schema::Schema,
    source::{Edit, Range},
};

/// A rule that a split obeys, by the name that the user sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SplitRule {
    /// The statement has a form whose text can be split: a `for` that counts with one variable, or
    /// an `if`, with braces, and without macros and directives at the place of the split.
    Form,
    /// The statement is none that nothing moves across.
    Barrier,
    /// No `break` or label makes the parts depend on each other, and no `continue`, unless the
    /// later part can skip the iterations that it ends.
    Jump,
    /// No part uses what another declares, unless the declaration can be copied.
    Declaration,
    /// No value goes from one iteration of a loop to an earlier part of a later one: the paper's
    /// "loop carry dependency".
    CarriedValue,
    /// No value that a later part of the loop reads is written again by the earlier part in a later
    /// iteration, unless it can be computed again or kept in an array: the paper's second
    /// condition.
    OverwrittenValue,
    /// No part affects the condition: the paper's third condition for loops, and its first for
    /// conditional statements.
    Condition,
    /// The last writer of what is read behind the loop stays the same.
    LastValue,
    /// A rule on the order of units, applied to parts of different iterations.
    Order(legality::Rule),
}

impl fmt::Display for SplitRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SplitRule::Form => "form",
            SplitRule::Barrier => "barrier",
            SplitRule::Jump => "jump",
            SplitRule::Declaration => "declaration",
            SplitRule::CarriedValue => "carried value",
            SplitRule::OverwrittenValue => "overwritten value",
            SplitRule::Condition => "condition",
            SplitRule::LastValue => "last value",
            SplitRule::Order(rule) => rule.name(),
        })
    }
}

/// The reason why a statement cannot be split at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The rule.
    pub rule: SplitRule,
    /// The line of the statement or of the code that forbids the split.
    pub line: usize,
    /// The fact that forbids it, or that is missing.
    pub reason: String,
}

impl Refusal {
    /// Returns true if the user could state the fact that is missing.
    pub fn is_for_unstated_fact(&self) -> bool {
        self.rule == SplitRule::Order(legality::Rule::SameTable)
            && self.reason.contains(keys::STATE)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} ({})", self.line, self.reason, self.rule)
    }
}

/// The statements that can be split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitKind {
    /// An `if`, within one of its bodies.
    Conditional,
    /// An `if`, between its two bodies.
    Alternatives,
    /// A loop.
    Loop,
}

/// A split of a statement, by lines of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    /// The name of the function.
    pub function: String,
    /// The kind of the statement.
    pub kind: SplitKind,
    /// The first line of the statement.
    pub line: usize,
    /// The last line of the first part.
    pub behind: usize,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statement = match self.kind {
            SplitKind::Conditional | SplitKind::Alternatives => "conditional statement",
            SplitKind::Loop => "loop",
        };
        let Split { function, line, behind, .. } = self;
        write!(f, "{function}: the {statement} at line {line} is split behind line {behind}")
    }
}

/// A place at which a statement of a transaction could be split.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The split.
    pub split: Split,
    /// The edits that make it, or the reason why it is not made.
    pub outcome: Result<Vec<Edit>, Refusal>,
}

/// Lists the splits of the statements of all transactions that the options choose: those that leave
/// a query in both parts. Of several places between the same two queries, it lists those that are
/// legal: of an `if` the first one whose parts no value connects, of a loop the first and the last
/// one of those that add the least to the text. If there is none, it lists all.
///
/// # Errors
/// [`Refused`] if there is no transaction.
pub fn candidates(
    program: &Program,
    text: &str,
    models: &Models,
    schema: &Schema,
    options: &Options,
) -> Result<Vec<Candidate>, Refused> {
    let summaries = Summaries::of_program(program, models);
    candidates_with(&Source { program, text, models, schema, options }, &summaries)
}

/// Like [`candidates`], with the summaries of the program.
fn candidates_with<'s>(
    source: &Source<'s>,
    summaries: &Summaries<'s>,
) -> Result<Vec<Candidate>, Refused> {
    let (options, mut found) = (source.options, Vec::new());
    for_each_transaction_with(source, summaries, &mut |context, _, transaction| {
        for piece in context.units.units.iter().flat_map(|unit| &unit.pieces) {
            if !transaction.range.contains(piece.range) {
                continue;
            }
            let function = &transaction.function.name;
            match &piece.statement.kind {
                StatementKind::If { .. } => {
                    conditional::find(context, function, piece, &mut found);
                }
                StatementKind::Loop { .. } => {
                    fission::find(context, function, piece, options, &mut found);
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the line of the end of a range.
fn last_line(range: Range, text: &str) -> usize {
    let end = range.end.saturating_sub(1).max(range.start);
    Range::new(end, end).line(text)
}
