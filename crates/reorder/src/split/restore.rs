//! Values that the later part of a loop takes from the earlier part of the same iteration.
//!
//! The earlier parts of all iterations run before the later ones, so each later part begins by
//! giving such a place the value that it had at the end of the earlier part of its iteration:
//! 1. A place that has one constant value at both ends of the parts needs nothing.
//! 2. A statement of the earlier part that computes the value from what nothing changes is repeated
//!    in the later part ([`repetition`](super::repetition)); it moves there if the earlier part
//!    does not use the value itself.
//! 3. Otherwise the value is kept in an array with an element for each iteration
//!    ([`expansion`](super::expansion): scalar expansion).
//!
//! ```text
//!   for (h) { v = A(); B(v); }  ──▶  int v_at[15];
//!                                    for (h) { v = A(); v_at[i] = v; }
//!                                    for (h) { v = v_at[i]; B(v); }
//! ```
//!
//! Case 2 comes first: it takes no memory, and the code is shorter. It is not used for a value that
//! itself depends on one of case 3.
//!
//! **Safe because** no write of a later part reaches the end of an earlier part. So the earlier
//! parts alone leave the same values at their ends as in the source, and each later part begins
//! with the values of its iteration. Behind the last one, the places have the values of the source.

use std::collections::BTreeSet;

use super::{
    Refusal, SplitRule, declarations,
    expansion::{self, Expansion},
    length,
    repetition::{self, Plan},
    shape, skipped,
    values::Values,
};
use crate::{
    flow::{Flow, graph::NodeIndex, place::Place},
    ir::{Expression, Scope, Statement, StatementKind, VariableIndex},
    source::Edit,
};

/// A loop, as far as restoring needs it.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    /// The variable that counts.
    pub(super) counter: VariableIndex,
    pub(super) initial: &'a Statement,
    pub(super) condition: &'a Expression,
    pub(super) step: &'a Expression,
}

/// The edits that give the later part its values.
#[derive(Default)]
pub(super) struct Restored {
    /// The declarations of arrays, for the place before the loop.
    pub(super) arrays: Vec<String>,
    /// The statements that end the earlier part.
    pub(super) saves: Vec<String>,
    /// The statements before all others of the later part, which skip iterations.
    pub(super) skips: Vec<String>,
    /// The statements that begin the later part.
    pub(super) loads: Vec<String>,
    /// The statements of the earlier part that move to the later one, by their number.
    pub(super) moved: BTreeSet<usize>,
    /// The variables of the body that `loads` declares.
    pub(super) declared: BTreeSet<VariableIndex>,
    /// The edits of other parts of the text.
    pub(super) edits: Vec<Edit>,
    /// The statements that the later part repeats, by their number; those that move among them.
    pub(super) statements: BTreeSet<usize>,
    /// The variables with an array.
    expanded: BTreeSet<VariableIndex>,
    /// The places that repeated statements give their values.
    repeated: Vec<Place>,
}

impl Restored {
    /// Returns a number for what the split adds to the text: arrays count more than statements.
    pub(super) fn cost(&self) -> (usize, usize) {
        (self.arrays.len(), self.statements.len() - self.moved.len())
    }

    /// Returns true if the later part may begin by writing a part of a place.
    pub(super) fn may_write(&self, flow: &Flow<'_, '_>, place: &Place) -> bool {
        self.gives(place) || self.repeated.iter().any(|one| flow.may_share(one, place))
    }

    /// Returns true if the later part begins by giving a place its value.
    pub(super) fn gives(&self, place: &Place) -> bool {
        place.variable().is_some_and(|variable| self.expanded.contains(&variable))
            || self.repeated.contains(place)
    }
}

/// Finds how the later part gets the values of places that it reads and the earlier part writes.
pub(super) fn of(
    values: &Values<'_, '_, '_>,
    head: Head<'_>,
    needed: &[(NodeIndex, Place)],
) -> Result<Restored, Refusal> {
    let plan = repetition::of(values, head.counter, needed);
    let mut restored = Restored::default();
    let mut iterations = None;
    for (node, place) in needed {
        if plan.gives(place) {
            continue;
        }
        let Some(variable) = place.variable() else {
            return Err(refused(values, *node, place, "it is no variable of the function"));
        };
        if restored.expanded.insert(variable) {
            let iterations = iterations.get_or_insert_with(|| length::of(values, head));
            let array = match iterations {
                Ok(iterations) => expansion::of(values, variable, iterations),
                Err(reason) => Err(reason.clone()),
            };
            let array = array.map_err(|reason| refused(values, *node, place, &reason))?;
            restored.add(array);
        }
    }
    if skipped::are_in(values) {
        let skips = skipped::of(values, head)?;
        restored.arrays.extend(skips.array);
        restored.saves.extend(skips.save);
        restored.skips = skips.tests;
        restored.include(skips.edit);
    }
    if !restored.arrays.is_empty() {
        check_names(values, head.counter, &restored.expanded)?;
    }
    restored.repeat(values, plan)?;
    Ok(restored)
}

impl Restored {
    fn add(&mut self, array: Expansion) {
        self.arrays.push(array.declaration);
        self.saves.push(array.save);
        self.loads.push(array.load);
        self.include(array.edits);
        self.declared.extend(array.declared);
    }

    /// Adds the edit that includes a header, once.
    fn include(&mut self, edit: Option<Edit>) {
        self.edits.extend(edit.filter(|edit| !self.edits.contains(edit)));
    }

    /// Adds the statements of a plan.
    fn repeat(&mut self, values: &Values<'_, '_, '_>, plan: Plan) -> Result<(), Refusal> {
        let first = values.parts[0];
        let text = values.context.text;
        for repeated in plan.statements {
            let statement = &first.statements[repeated.at];
            self.loads.push(statement.range.of(text).to_string());
            self.statements.insert(repeated.at);
            if let StatementKind::Declare(all) = &statement.kind {
                self.declared.extend(all.iter().map(|one| one.variable));
            }
            if !repeated.moves {
                continue;
            }
            if repeated.at + 1 == first.statements.len() {
                let line = statement.range.line(text);
                let reason = "the statement would be moved: split before it".to_string();
                return Err(Refusal { rule: SplitRule::Form, line, reason });
            }
            let range = declarations::whole_line(statement.range, text);
            self.edits.push(Edit { range, text: String::new() });
            self.moved.insert(repeated.at);
        }
        self.repeated = plan.places;
        Ok(())
    }
}

fn refused(values: &Values<'_, '_, '_>, node: NodeIndex, place: &Place, why: &str) -> Refusal {
    let name = values.name(place);
    let line = values.context.flow.graph.nodes[node].range.line(values.context.text);
    let reason = format!(
        "it reads {name}, which the earlier part writes in each iteration, and no array can keep \
         the values: {why}"
    );
    Refusal { rule: SplitRule::OverwrittenValue, line, reason }
}

/// Refuses names that mean something else at the ends of the parts: those that the body declares
/// again.
fn check_names(
    values: &Values<'_, '_, '_>,
    counter: VariableIndex,
    expanded: &BTreeSet<VariableIndex>,
) -> Result<(), Refusal> {
    let program = values.context.program;
    let statements = values.parts.iter().flat_map(|part| part.statements);
    for statement in statements {
        let StatementKind::Declare(all) = &statement.kind else { continue };
        for one in all {
            let name = &program.variable(one.variable).name;
            let hides = |&used: &VariableIndex| {
                used != one.variable && program.variable(used).name == *name
            };
            if hides(&counter) || expanded.iter().any(hides) {
                let line = statement.range.line(values.context.text);
                let reason = format!("`{name}` hides a variable of the same name");
                return Err(Refusal { rule: SplitRule::Declaration, line, reason });
            }
        }
    }
    Ok(())
}

/// Returns the statements before the later part of the text, each on a line of its own.
pub(super) fn lines(statements: &[String], indent: &str, text: &str) -> String {
    let newline = shape::newline(text);
    statements.iter().map(|one| format!("{newline}{indent}{one}")).collect()
}

/// Returns true for a local variable whose name is known.
pub(super) fn is_local(values: &Values<'_, '_, '_>, variable: VariableIndex) -> bool {
    let variable = values.context.program.variable(variable);
    variable.scope == Scope::Local && !variable.volatile
}
