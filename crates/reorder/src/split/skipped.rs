//! Iterations that a `continue` ends in the earlier part of a loop: the later part skips them.
//!
//! 1. A statement `if (c) continue;` is repeated at the begin of the later part, if evaluating `c`
//!    has no effect and nothing in the loop changes what it reads.
//! 2. Otherwise an array keeps which iterations came to the end of the earlier part:
//!
//! ```text
//!   for (h) { A: … continue; … B }  ──▶  char reached_at[10] = {0};
//!                                        for (h) { A: … continue; … reached_at[i] = 1; }
//!                                        for (h) { if (!reached_at[i]) continue; B }
//! ```
//!
//! **Safe because** the later part runs in the iterations in which control comes to the place of
//! the split, as in the source. An iteration that takes an exit instead of a `continue` leaves both
//! loops.

use super::{
    Refusal, SplitRule, expansion,
    length::{self, Iterations},
    repetition,
    restore::Head,
    values::Values,
};
use crate::{
    ir::{Language, Statement, StatementKind},
    source::{Edit, Range},
};

/// The jumps of a loop's body that do not lead to an exit of the transaction.
#[derive(Default)]
pub(super) struct Jumps {
    /// The `continue`s of the loop itself.
    pub(super) continues: Vec<Range>,
    /// The first `break` of the loop itself, or label.
    pub(super) other: Option<Range>,
}

impl Jumps {
    /// Returns the jumps of statements.
    pub(super) fn of<'a>(statements: impl IntoIterator<Item = &'a Statement>) -> Jumps {
        let mut found = Jumps::default();
        statements.into_iter().for_each(|one| found.add(one, false, false));
        found
    }

    /// Adds the jumps of a statement, which may stand in an inner loop or in a `switch`.
    fn add(&mut self, statement: &Statement, in_loop: bool, in_switch: bool) {
        let (mut inner_loop, mut inner_switch) = (in_loop, in_switch);
        match &statement.kind {
            StatementKind::Continue if !in_loop => self.continues.push(statement.range),
            StatementKind::Break if in_loop || in_switch => {}
            StatementKind::Break | StatementKind::Label(..) => {
                self.other.get_or_insert(statement.range);
            }
            StatementKind::Loop { .. } => inner_loop = true,
            StatementKind::Switch { .. } => inner_switch = true,
            _ => {}
        }
        for child in statement.children() {
            self.add(child, inner_loop, inner_switch);
        }
    }
}

/// The text that lets the later part skip iterations.
#[derive(Default)]
pub(super) struct Skips {
    /// The declaration of the array, for the place before the loop.
    pub(super) array: Option<String>,
    /// The statement that ends the earlier part.
    pub(super) save: Option<String>,
    /// The statements before all others of the later part.
    pub(super) tests: Vec<String>,
    /// The header that the array needs, if the source lacks it.
    pub(super) edit: Option<Edit>,
}

/// Returns true if a `continue` stands in the earlier part.
pub(super) fn are_in(values: &Values<'_, '_, '_>) -> bool {
    !Jumps::of(values.parts[0].statements).continues.is_empty()
}

/// Finds how the later part skips iterations.
pub(super) fn of(values: &Values<'_, '_, '_>, head: Head<'_>) -> Result<Skips, Refusal> {
    let first = values.parts[0].statements;
    let continues = |one: &Statement| !Jumps::of([one]).continues.is_empty();
    let skipping: Vec<usize> = (0..first.len()).filter(|&at| continues(&first[at])).collect();
    let text = values.context.text;
    let is_repeatable = |at: &usize| {
        is_plain(&first[*at]) && repetition::is_unchanged_test(values, head.counter, *at)
    };
    if skipping.iter().all(is_repeatable) {
        let tests = skipping.iter().map(|&at| first[at].range.of(text).to_string());
        return Ok(Skips { tests: tests.collect(), ..Skips::default() });
    }
    let array = length::of(values, head).and_then(|iterations| array(values, &iterations));
    array.map_err(|reason| {
        let jump = Jumps::of(first).continues.first().copied().unwrap_or(first[0].range);
        let reason = format!(
            "the later part must skip the iterations that this `continue` ends, and no array can \
             keep which: {reason}"
        );
        Refusal { rule: SplitRule::Jump, line: jump.line(text), reason }
    })
}

/// Makes the array.
fn array(values: &Values<'_, '_, '_>, iterations: &Iterations) -> Result<Skips, String> {
    let length = iterations.length;
    if length > expansion::MOST_BYTES {
        let most = expansion::MOST_BYTES;
        return Err(format!("the array would take {length} bytes, more than {most}"));
    }
    let name = expansion::unused_name("reached_at", values.context);
    let at = format!("{name}[{}]", iterations.index);
    // C++ allows no jump past a declaration with an initializer.
    let (declaration, edit) = match values.context.program.language {
        Language::C => (format!("char {name}[{length}] = {{0}};"), None),
        Language::Cpp => {
            let clear = format!("memset({name}, 0, sizeof {name});");
            (format!("char {name}[{length}]; {clear}"), expansion::header(values)?)
        }
    };
    Ok(Skips {
        array: Some(declaration),
        save: Some(format!("{at} = 1;")),
        tests: vec![format!("if (!{at}) continue;")],
        edit,
    })
}

/// Returns true for `if (c) continue;`, with braces or without.
fn is_plain(statement: &Statement) -> bool {
    let StatementKind::If { then, otherwise: None, .. } = &statement.kind else { return false };
    match &then.kind {
        StatementKind::Continue => true,
        StatementKind::Block(list) => {
            matches!(&list[..], [one] if one.kind == StatementKind::Continue)
        }
        _ => false,
    }
}
