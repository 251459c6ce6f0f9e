//! Tries splits, and keeps those that lower the expected cost.
//!
//! The search is greedy: of all legal splits of a transaction it makes the one that lowers the cost
//! most, and goes on with the new text until no split lowers it. Of splits that lower it as much,
//! it makes the first one of the source. A split alone changes the cost too, since the parts of a
//! unit are shorter than the unit; that counts for nothing. The cost of a split order is compared
//! with the cost of the order before, with the parts in the place of the unit. The iterations of a
//! loop take turns between the parts, which costs what is in the middle between one part before the
//! other and the other before the one: each query of an iteration stands before half of the queries
//! of the other part, and behind the other half.

use super::{Candidate, Split, SplitKind, candidates, trace::Trace};
use crate::{
    api::Models,
    ir::Program,
    rewrite::{self, Options, Report},
    schema::Schema,
    source,
};

/// The bytes of source that are read for the splits of one function, at most: a long source is read
/// less often.
const MOST_BYTES: usize = 2_000_000;

/// The number of splits that are tried in one function, at least and at most.
const LEAST_TRIES: usize = 6;
const MOST_TRIES: usize = 48;

/// A program that has been split.
pub(crate) struct Version {
    pub(crate) program: Program,
    pub(crate) text: String,
    /// The way back to the version before.
    pub(crate) trace: Trace,
    pub(crate) split: Split,
}

/// The splits of a program.
pub(crate) struct Found {
    /// The versions, each the one before it with one split more.
    pub(crate) versions: Vec<Version>,
    /// The splits of the first text that lack a fact which the user could state.
    pub(crate) unstated: Vec<String>,
}

/// Makes the splits that lower the cost, of the functions in `names` or of all.
pub(crate) fn versions<E>(
    parse: &mut dyn FnMut(&str) -> Result<Program, E>,
    program: &Program,
    text: &str,
    before: &[Report],
    setting: (&Models, &Schema, &Options),
    names: Option<&[String]>,
) -> Found {
    let (models, schema, options) = setting;
    let mut search =
        Search { parse, models, schema, options, versions: Vec::new(), unstated: Vec::new() };
    for name in searched(program, before) {
        if names.is_none_or(|names| names.contains(&name)) {
            search.function(program, text, &name);
        }
    }
    Found { versions: search.versions, unstated: search.unstated }
}

/// Returns the functions with transactions whose name no other function has.
fn searched(program: &Program, reports: &[Report]) -> Vec<String> {
    let mut names: Vec<String> = reports.iter().map(|report| report.function.clone()).collect();
    names.dedup();
    let count = |name: &String| program.functions.iter().filter(|one| one.name == *name).count();
    names.retain(|name| count(name) == 1);
    names
}

struct Search<'s, E> {
    parse: &'s mut dyn FnMut(&str) -> Result<Program, E>,
    models: &'s Models,
    schema: &'s Schema,
    options: &'s Options,
    versions: Vec<Version>,
    /// The splits of the first text that lack a fact which the user could state.
    unstated: Vec<String>,
}

impl<E> Search<'_, E> {
    /// Makes the splits of a function that lower its cost.
    fn function(&mut self, program: &Program, text: &str, name: &str) {
        let options = Options { function: Some(name.to_string()), ..self.options.clone() };
        let mut tries = (MOST_BYTES / text.len().max(1)).clamp(LEAST_TRIES, MOST_TRIES);
        loop {
            let best = {
                let (program, text) = match self.versions.last() {
                    Some(last) => (&last.program, last.text.as_str()),
                    None => (program, text),
                };
                let (models, schema) = (self.models, self.schema);
                let Ok(found) = candidates(program, text, models, schema, &options) else { return };
                if self.versions.is_empty() {
                    self.unstated.extend(unstated(name, &found));
                }
                if found.iter().all(|one| one.outcome.is_err()) {
                    return;
                }
                let before = rewrite::rewrite(program, text, models, schema, &options);
                let Ok(before) = before else { return };
                let mut trial = Trial {
                    parse: &mut *self.parse,
                    text,
                    models,
                    schema,
                    options: &options,
                    before: &before.transactions,
                };
                trial.best(&found, &mut tries)
            };
            match best {
                Some(version) => self.versions.push(version),
                None => return,
            }
        }
    }
}

/// Returns the refusals of loops of a function that lack a fact which the user could state, each
/// once.
fn unstated(name: &str, found: &[Candidate]) -> Vec<String> {
    let refusals = found.iter().filter_map(|one| one.outcome.as_ref().err());
    let unstated = refusals.filter(|one| one.is_for_unstated_fact());
    let mut all: Vec<String> = unstated.map(|one| format!("{name}: {one}")).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the offset of the first character of a line that is no blank.
pub(crate) fn line_start(text: &str, line: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let blanks = text[before..].find(|c: char| !c.is_whitespace()).unwrap_or(0);
    before + blanks
}

/// The trial of the splits of one text.
struct Trial<'t, E> {
    parse: &'t mut dyn FnMut(&str) -> Result<Program, E>,
    text: &'t str,
    models: &'t Models,
    schema: &'t Schema,
    options: &'t Options,
    /// The reports on the text.
    before: &'t [Report],
}

impl<E> Trial<'_, E> {
    /// Returns the text with the split that lowers the cost most.
    fn best(&mut self, found: &[Candidate], tries: &mut usize) -> Option<Version> {
        let mut best: Option<(u128, Version)> = None;
        for candidate in found {
            let Ok(edits) = &candidate.outcome else { continue };
            if *tries == 0 {
                break;
            }
            *tries -= 1;
            let text = source::apply(self.text, edits);
            let Ok(program) = (self.parse)(&text) else { continue };
            let after = rewrite::rewrite(&program, &text, self.models, self.schema, self.options);
            let Ok(after) = after else { continue };
            let trace = Trace::of(edits);
            let kind = candidate.split.kind;
            let gain = gain(self.before, &after.transactions, &trace, kind);
            if gain > best.as_ref().map_or(0, |(most, _)| *most) {
                let split = candidate.split.clone();
                best = Some((gain, Version { program, text, trace, split }));
            }
        }
        best.map(|(_, version)| version)
    }
}

/// Returns by how much the order behind a split is cheaper than the order before it.
fn gain(before: &[Report], after: &[Report], trace: &Trace, kind: SplitKind) -> u128 {
    if before.len() != after.len() {
        return 0;
    }
    let pairs = before.iter().zip(after);
    let (mut kept, mut new) = (0u128, 0u128);
    for (before, after) in pairs {
        let mut order = kept_order(before, after, trace);
        let problem = after.problem();
        let source = problem.cost(&order);
        if kind == SplitKind::Loop {
            let of = |unit| place(before, after, trace, unit);
            swap_parts(&mut order, of, |unit| !after.units[unit].queries.is_empty());
        }
        kept += (source + problem.cost(&order)) / 2;
        new += after.solution.cost;
    }
    kept.saturating_sub(new)
}

/// Returns the order of the units before a split, for the units behind it.
fn kept_order(before: &Report, after: &Report, trace: &Trace) -> Vec<usize> {
    let mut order: Vec<usize> = (0..after.units.len()).collect();
    order.sort_by_key(|&unit| (place(before, after, trace, unit), unit));
    order
}

/// Returns the place of a unit in the order before a split, which is that of the unit that it is a
/// part of.
fn place(before: &Report, after: &Report, trace: &Trace, unit: usize) -> usize {
    let start = trace.before(after.units[unit].range.start);
    let of = before.units.iter().rposition(|one| one.range.start <= start);
    let position = |of| before.solution.order.iter().position(|&unit| unit == of);
    of.and_then(position).unwrap_or(0)
}

/// Exchanges the units with queries that are the two parts of one. The declaration of an array may
/// be a unit of its own before them.
fn swap_parts(
    order: &mut [usize],
    place: impl Fn(usize) -> usize,
    has_query: impl Fn(usize) -> bool,
) {
    for parts in order.chunk_by_mut(|&one, &other| place(one) == place(other)) {
        let mut loops = (0..parts.len()).filter(|&at| has_query(parts[at]));
        if let (Some(first), Some(second), None) = (loops.next(), loops.next(), loops.next()) {
            parts.swap(first, second);
        }
    }
}
