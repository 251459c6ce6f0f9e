//! Tries splits, and keeps those that lower the expected cost.
//!
//! The search is greedy: of all legal splits of a transaction it makes the one that lowers the cost
//! most, and goes on with the new text until no split lowers it. Of splits that lower it as much,
//! it makes the first one of the source. A split alone changes the cost too, since the parts of a
//! unit are shorter than the unit; that counts for nothing. The cost of a split order is compared
//! with the cost of the order before, with the parts in the place of the unit.

use super::{Candidate, Split, candidates, trace::Trace};
use crate::{
    api::Models,
    ir::Program,
    rewrite::{self, Options, Refused, Report, Rewritten},
    schema::Schema,
    source::{self, Range},
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

/// Makes the splits that lower the cost, of the functions in `names` or of all; each version is the
/// one before it with one split more.
pub(crate) fn versions<E>(
    parse: &mut dyn FnMut(&str) -> Result<Program, E>,
    program: &Program,
    text: &str,
    before: &[Report],
    setting: (&Models, &Schema, &Options),
    names: Option<&[String]>,
) -> Vec<Version> {
    let (models, schema, options) = setting;
    let mut search = Search { parse, models, schema, options, versions: Vec::new() };
    for name in searched(program, before) {
        if names.is_none_or(|names| names.contains(&name)) {
            search.function(program, text, &name);
        }
    }
    search.versions
}

/// Reorders the transactions of a program, whose source is `text`, like [`rewrite::rewrite`], and
/// splits statements where that lowers the cost. `parse` reads an edited text of the same file.
///
/// The reports have the ranges and lines of `text`; a part of a split statement has those of its
/// own statements.
///
/// # Errors
/// [`Refused`]; then nothing is to be changed.
pub fn rewrite<E>(
    parse: &mut dyn FnMut(&str) -> Result<Program, E>,
    program: &Program,
    text: &str,
    models: &Models,
    schema: &Schema,
    options: &Options,
) -> Result<Rewritten, Refused> {
    let whole = rewrite::rewrite(program, text, models, schema, options)?;
    let setting = (models, schema, options);
    let versions = versions(parse, program, text, &whole.transactions, setting, None);
    let search = Search { parse, models, schema, options, versions };
    let Some(last) = search.versions.last() else { return Ok(whole) };
    let mut rewritten = rewrite::rewrite(&last.program, &last.text, models, schema, options)?;
    for report in &mut rewritten.transactions {
        search.versions.iter().rev().for_each(|version| trace_back(report, &version.trace));
        report.units.iter_mut().for_each(|unit| {
            let end = unit.range.end.saturating_sub(1).max(unit.range.start);
            unit.lines = (unit.range.line(text), Range::new(end, end).line(text));
        });
    }
    rewritten.splits = search.splits(text);
    Ok(rewritten)
}

/// Returns the functions with transactions whose name no other function has.
fn searched(program: &Program, reports: &[Report]) -> Vec<String> {
    let mut names: Vec<String> = reports.iter().map(|report| report.function.clone()).collect();
    names.dedup();
    let count = |name: &String| program.functions.iter().filter(|one| one.name == *name).count();
    names.retain(|name| count(name) == 1);
    names
}

fn trace_back(report: &mut Report, trace: &Trace) {
    for unit in &mut report.units {
        unit.range = trace.range_before(unit.range);
    }
}

struct Search<'s, E> {
    parse: &'s mut dyn FnMut(&str) -> Result<Program, E>,
    models: &'s Models,
    schema: &'s Schema,
    options: &'s Options,
    versions: Vec<Version>,
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

    /// Returns the splits, with the lines of the first text.
    fn splits(&self, text: &str) -> Vec<Split> {
        let mut splits = Vec::new();
        for (at, version) in self.versions.iter().enumerate() {
            let mut split = version.split.clone();
            for place in [&mut split.line, &mut split.behind] {
                let edited = at.checked_sub(1).map_or(text, |before| &self.versions[before].text);
                let mut offset = line_start(edited, *place);
                for earlier in self.versions[..at].iter().rev() {
                    offset = earlier.trace.before(offset);
                }
                *place = Range::new(offset, offset).line(text);
            }
            splits.push(split);
        }
        splits
    }
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
            let gain = gain(self.before, &after.transactions, &trace);
            if gain > best.as_ref().map_or(0, |(most, _)| *most) {
                let split = candidate.split.clone();
                best = Some((gain, Version { program, text, trace, split }));
            }
        }
        best.map(|(_, version)| version)
    }
}

/// Returns by how much the order behind a split is cheaper than the order before it.
fn gain(before: &[Report], after: &[Report], trace: &Trace) -> u128 {
    if before.len() != after.len() {
        return 0;
    }
    let pairs = before.iter().zip(after);
    let (mut kept, mut new) = (0u128, 0u128);
    for (before, after) in pairs {
        kept += after.problem().cost(&kept_order(before, after, trace));
        new += after.solution.cost;
    }
    kept.saturating_sub(new)
}

/// Returns the order of the units before a split, for the units behind it.
fn kept_order(before: &Report, after: &Report, trace: &Trace) -> Vec<usize> {
    let mut position = vec![0; before.units.len()];
    before.solution.order.iter().enumerate().for_each(|(at, &unit)| position[unit] = at);
    let place = |unit: usize| {
        let start = trace.before(after.units[unit].range.start);
        let of = before.units.iter().rposition(|one| one.range.start <= start);
        of.map_or(0, |of| position[of])
    };
    let mut order: Vec<usize> = (0..after.units.len()).collect();
    order.sort_by_key(|&unit| (place(unit), unit));
    order
}
