//! Tries splits, and keeps those that lower the expected cost.
//!
//! Each function is searched in an [`Excerpt`] of the text. The splits of all functions are then
//! made in the whole text ([`versions`](super::versions)), which is read once more.
//!
//! The search is greedy: of all legal splits of a transaction it makes the one that lowers the cost
//! most, and goes on with the new text until no split lowers it. Of splits that lower it as much,
//! it makes the first one of the source. A split alone changes the cost too, since the parts of a
//! unit are shorter than the unit; that counts for nothing. The cost of a split order is compared
//! with the cost of the order before, with the parts in the place of the unit. The iterations of a
//! loop take turns between the parts, which costs what is in the middle between one part before the
//! other and the other before the one: each query of an iteration stands before half of the queries
//! of the other part, and behind the other half.

use super::{
    Candidate, SplitKind, candidates_with,
    excerpt::Excerpt,
    trace::Trace,
    versions::{Step, Version, Versions},
};
use crate::{
    flow::summary::Summaries,
    ir::{Function, LeftOut, Program},
    parallel,
    rename::Setting,
    rewrite::{self, Options, Report, Source},
    source,
    transform::Parse,
};

/// The number of splits that are tried in one function, at most.
const TRIES_MAX: usize = 48;

/// The splits of a program.
pub(crate) struct Found {
    /// The versions, each the one before it with one split more.
    pub(crate) versions: Vec<Version>,
    /// The program of the last version.
    pub(crate) program: Program,
    /// The splits of the first text that lack a fact which the user could state.
    pub(crate) unstated: Vec<String>,
}

/// Searches the splits that lower the cost, of the functions in `names` or of all. Returns `Err`
/// with what [`Found::unstated`] says if there are none.
///
/// The splits of one function change nothing in another one, so several are searched at a time.
pub(crate) fn search<E>(
    parse: Parse<'_, E>,
    program: &Program,
    text: &str,
    before: &[Report],
    setting: Setting<'_>,
    names: Option<&[String]>,
) -> Result<Found, Vec<String>> {
    let mut functions = searched(program, before);
    functions.retain(|one| names.is_none_or(|names| names.contains(&one.name)));
    let parse_one = |text: &str| parse(text).ok();
    let summaries = Summaries::of_program(program, setting.models);
    let steps = parallel::map(&functions, &|function: &&Function| {
        let own = before.iter().filter(|report| report.function == function.name);
        let first = First { program, text, summaries: &summaries, reports: own.collect() };
        Search::of(&parse_one, setting, &function.name).run(&first)
    });
    let first = program.functions.iter().map(|one| one.range.start).min().unwrap_or(0);
    let mut versions = Versions::of(text, first);
    let mut unstated = Vec::new();
    for (function, found) in functions.iter().zip(steps) {
        unstated.extend(found.unstated);
        versions.add(function.range, found.steps);
    }
    let versions = versions.versions;
    match versions.last().and_then(|last| parse(&last.text).ok()) {
        Some(program) => Ok(Found { versions, program, unstated }),
        None => Err(unstated),
    }
}

/// The splits of one function.
struct Steps {
    steps: Vec<Step>,
    /// The splits of the first text that lack a fact which the user could state.
    unstated: Vec<String>,
}

/// Returns the functions with transactions whose name no other function has, in the order of the
/// source.
fn searched<'p>(program: &'p Program, reports: &[Report]) -> Vec<&'p Function> {
    let is_reported = |one: &&Function| reports.iter().any(|report| report.function == one.name);
    let is_single = |one: &&Function| {
        program.functions.iter().filter(|other| other.name == one.name).count() == 1
    };
    let mut found: Vec<&Function> =
        program.functions.iter().filter(is_reported).filter(is_single).collect();
    found.sort_by_key(|one| one.range);
    found
}

/// The text before the first split.
struct First<'f> {
    program: &'f Program,
    text: &'f str,
    summaries: &'f Summaries<'f>,
    /// The reports on the transactions of the function.
    reports: Vec<&'f Report>,
}

/// The search for the splits of one function.
struct Search<'s> {
    parse: &'s dyn Fn(&str) -> Option<Program>,
    setting: Setting<'s>,
    /// The options for the function.
    options: Options,
    name: &'s str,
    /// The facts of the functions that are left out of the excerpt.
    left_out: LeftOut,
    /// The number of splits that may still be tried.
    tries: usize,
    /// True if a text with a split was read.
    has_read: bool,
}

impl<'s> Search<'s> {
    fn of(
        parse: &'s dyn Fn(&str) -> Option<Program>,
        setting: Setting<'s>,
        name: &'s str,
    ) -> Search<'s> {
        let options = Options { function: Some(name.to_string()), ..setting.options.clone() };
        let left_out = LeftOut::default();
        Search { parse, setting, options, name, left_out, tries: TRIES_MAX, has_read: false }
    }

    /// Makes the splits of the function that lower its cost.
    fn run(mut self, first: &First<'_>) -> Steps {
        let mut found = Steps { steps: Vec::new(), unstated: Vec::new() };
        let candidates = self.candidates(first.program, first.text, first.summaries);
        found.unstated = unstated(self.name, &candidates);
        if candidates.iter().all(|one| one.outcome.is_err()) {
            return found;
        }
        let mut next = self.first(first, &candidates);
        while let Some((step, trial)) = next {
            found.steps.push(step);
            let summaries = Summaries::of_program(&trial.program, self.setting.models);
            let candidates = self.candidates(&trial.program, &trial.text, &summaries);
            let before: Vec<&Report> = trial.reports.iter().collect();
            next = self.best(&trial.text, &before, &candidates);
        }
        found
    }

    /// Returns the best split of the first text, by its excerpt if that compiles.
    fn first(&mut self, first: &First<'_>, candidates: &[Candidate]) -> Option<(Step, Trial)> {
        let First { program, text, summaries, .. } = *first;
        let own_reports;
        let before = if self.options.lock_order {
            // The order of locks is that of the function alone.
            own_reports = self.reports(program, text)?;
            &own_reports.iter().collect()
        } else {
            &first.reports
        };
        if let Some(excerpt) = Excerpt::of(program, text, self.setting.models, summaries, self.name)
        {
            self.left_out = excerpt.left_out;
            let best = self.best(&excerpt.text, before, candidates);
            // If it does not compile, it does not with any of the splits.
            if self.has_read || (self.parse)(&excerpt.text).is_some() {
                return best;
            }
            (self.left_out, self.tries) = (LeftOut::default(), TRIES_MAX);
        }
        self.best(text, before, candidates)
    }

    fn candidates<'p>(
        &'p self,
        program: &'p Program,
        text: &'p str,
        summaries: &Summaries<'p>,
    ) -> Vec<Candidate> {
        let Setting { models, schema, .. } = self.setting;
        let source = Source { program, text, models, schema, options: &self.options };
        candidates_with(&source, summaries).unwrap_or_default()
    }

    fn parse(&self, text: &str) -> Option<Program> {
        let program = (self.parse)(text)?;
        Some(Program { left_out: self.left_out.clone(), ..program })
    }

    fn reports(&self, program: &Program, text: &str) -> Option<Vec<Report>> {
        let Setting { models, schema, .. } = self.setting;
        let rewritten = rewrite::rewrite(program, text, models, schema, &self.options).ok()?;
        Some(rewritten.transactions)
    }

    /// Returns the split that lowers the cost most.
    fn best(
        &mut self,
        text: &str,
        before: &[&Report],
        candidates: &[Candidate],
    ) -> Option<(Step, Trial)> {
        let mut best: Option<(u128, Step, Trial)> = None;
        for Candidate { split, outcome } in candidates {
            let Ok(edits) = outcome else { continue };
            if self.tries == 0 {
                break;
            }
            self.tries -= 1;
            let text = source::apply(text, edits);
            let Some(program) = self.parse(&text) else { continue };
            self.has_read = true;
            let Some(reports) = self.reports(&program, &text) else { continue };
            let gain = gain(before, &reports, &Trace::of(edits), split.kind);
            if gain > best.as_ref().map_or(0, |(most, ..)| *most) {
                let step = Step { split: split.clone(), edits: edits.clone() };
                best = Some((gain, step, Trial { program, text, reports }));
            }
        }
        best.map(|(_, step, trial)| (step, trial))
    }
}

/// A text with a split.
struct Trial {
    program: Program,
    text: String,
    reports: Vec<Report>,
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

/// Returns by how much the order behind a split is cheaper than the order before it.
fn gain(before: &[&Report], after: &[Report], trace: &Trace, kind: SplitKind) -> u128 {
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
