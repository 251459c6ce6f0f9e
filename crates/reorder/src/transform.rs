//! Changes of the source that allow a better order: statements are split ([`split`]),
//! and variables that are used for several values get several names ([`rename`]).
//!
//! Each change is an edit of the text that does the same as the text before it, in the order of
//! the source; the front end reads the new text. A change is kept if the best order then costs
//! less. Variables are renamed first; then statements are split, and if that or the renaming
//! changed something, the other is tried again. So a second run finds nothing more to change. At
//! the end, in the new order, loops are sorted by a key, if the user wants it (`sorting`); that
//! must not cost more.

mod sorting;

use crate::{
    api::Models,
    ir::Program,
    rename::{self, Conflict, Refusal, Renamed, Renaming, Setting},
    rewrite::{self, Options, Refused, Report, Rewritten},
    schema::Schema,
    source::Range,
    split::{self, Sorted, Split, trace::Trace},
};

/// The number of times that each kind of change is searched for, at most.
const ROUNDS_MAX: usize = 4;

/// A changed text.
struct Version {
    text: String,
    /// The way back to the version before.
    trace: Trace,
    change: Change,
}

/// The program with all changes so far.
struct Changed {
    program: Program,
    text: String,
    rewritten: Result<Rewritten, Refused>,
}

/// A change, by places in the version before.
enum Change {
    Split(Split),
    Renamed(Vec<rename::Found>),
    Sorted(Sorted),
    Reordered,
}

/// A function that reads an edited text of the file; several threads call it.
pub type Parse<'p, E> = &'p (dyn Fn(&str) -> Result<Program, E> + Sync);

/// Reorders the transactions of a program, whose source is `text`, like
/// [`rewrite`](crate::rewrite::rewrite), and changes the source where that lowers the cost and the
/// options allow it. `parse` reads an edited text of the same file.
///
/// The reports have the ranges and lines of `text`; a part of a split statement has those of its
/// own statements.
///
/// # Errors
/// [`Refused`]; then nothing is to be changed.
pub fn rewrite<E>(
    parse: Parse<'_, E>,
    program: &Program,
    text: &str,
    models: &Models,
    schema: &Schema,
    options: &Options,
) -> Result<Rewritten, Refused> {
    let whole = rewrite::rewrite(program, text, models, schema, options)?;
    let first = (program, text);
    let mut search =
        Search { parse, first, last: None, versions: Vec::new(), unstated: Vec::new() };
    let refusals = search.run(&whole.transactions, models, schema, options);
    let mut rewritten = match search.last.take() {
        Some(Changed { rewritten, .. }) => search.in_first_text(rewritten?),
        None => whole,
    };
    let mut unsorted = search.sort(&mut rewritten, Setting { models, schema, options });
    let Search { versions, unstated, .. } = search;
    let places = Places { text, versions: &versions };
    let (splits, renamings, sorted) = (places.splits(), places.renamings(), places.sorted());
    unsorted.retain(|one| sorted.iter().all(|other| other.line != one.line));
    Ok(Rewritten { splits, renamings, refusals, unstated, sorted, unsorted, ..rewritten })
}

struct Search<'s, E> {
    parse: Parse<'s, E>,
    /// The program as the user wrote it.
    first: (&'s Program, &'s str),
    /// The program with all changes; `None` if there are none.
    last: Option<Changed>,
    versions: Vec<Version>,
    /// The splits of the user's text that lack a fact which the user could state.
    unstated: Vec<String>,
}

impl<E> Search<'_, E> {
    /// Makes the changes that lower the cost. Returns the variables that cannot be renamed.
    fn run(
        &mut self,
        reports: &[Report],
        models: &Models,
        schema: &Schema,
        options: &Options,
    ) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        let setting = Setting { models, schema, options };
        for round in 0..ROUNDS_MAX {
            let renamed = self.rename(reports, setting, &mut refusals);
            if options.no_split || round > 0 && renamed.is_empty() {
                break;
            }
            if !self.split(reports, setting, (round > 0).then_some(&renamed[..])) {
                break;
            }
        }
        refusals
    }

    /// Renames variables; returns the functions in which it does.
    fn rename(
        &mut self,
        reports: &[Report],
        setting: Setting<'_>,
        refusals: &mut Vec<Refusal>,
    ) -> Vec<String> {
        if setting.options.no_rename {
            return Vec::new();
        }
        refusals.clear();
        let (program, text, reports) = latest(self.first, &self.last, reports);
        let renamed = rename::pass(self.parse, program, text, reports, setting, refusals);
        let Some(renamed) = renamed else { return Vec::new() };
        let Renamed { program, text, trace, found, rewritten, is_whole } = renamed;
        let functions = found.iter().map(|one| one.function.clone()).collect();
        let change = Change::Renamed(found);
        self.versions.push(Version { text: text.clone(), trace, change });
        if is_whole {
            self.last = Some(Changed { program, text, rewritten: Ok(rewritten) });
        } else {
            self.change(program, text, setting);
        }
        functions
    }

    /// Splits statements of functions, or of all; returns true if it does.
    fn split(
        &mut self,
        reports: &[Report],
        setting: Setting<'_>,
        functions: Option<&[String]>,
    ) -> bool {
        let (program, text, reports) = latest(self.first, &self.last, reports);
        let found = split::search(self.parse, program, text, reports, setting, functions);
        let (is_first, mut is_split) = (self.versions.is_empty(), false);
        let unstated = match found {
            Err(unstated) => unstated,
            Ok(split::Found { versions, program, unstated }) => {
                self.versions.extend(versions.into_iter().map(|one| {
                    let split::Version { text, trace, split } = one;
                    Version { text, trace, change: Change::Split(split) }
                }));
                let text = self.versions.last().map(|last| last.text.clone()).unwrap_or_default();
                self.change(program, text, setting);
                is_split = true;
                unstated
            }
        };
        // Lines of a changed text mean nothing to the user.
        if is_first {
            self.unstated = unstated;
        }
        is_split
    }

    /// Returns the result for the latest text, with places of the user's text.
    fn in_first_text(&self, mut rewritten: Rewritten) -> Rewritten {
        let text = self.first.1;
        let units = rewritten.transactions.iter_mut().flat_map(|report| &mut report.units);
        for unit in units {
            for version in self.versions.iter().rev() {
                unit.range = version.trace.range_before(unit.range);
            }
            let end = unit.range.end.saturating_sub(1).max(unit.range.start);
            unit.lines = (unit.range.line(text), Range::new(end, end).line(text));
        }
        rewritten
    }

    /// Takes a changed text for the latest one.
    fn change(&mut self, program: Program, text: String, setting: Setting<'_>) {
        let Setting { models, schema, options } = setting;
        let rewritten = rewrite::rewrite(&program, &text, models, schema, options);
        self.last = Some(Changed { program, text, rewritten });
    }
}

/// Returns the program and the text with all changes, and the reports on it. `first` and `reports`
/// are those of the user's text.
fn latest<'v>(
    first: (&'v Program, &'v str),
    last: &'v Option<Changed>,
    reports: &'v [Report],
) -> (&'v Program, &'v str, &'v [Report]) {
    match last {
        None => (first.0, first.1, reports),
        Some(Changed { program, text, rewritten }) => {
            let reports = rewritten.as_ref().map_or(&[][..], |one| &one.transactions);
            (program, text, reports)
        }
    }
}

/// The places of changes in the text of the user.
struct Places<'v> {
    text: &'v str,
    versions: &'v [Version],
}

impl Places<'_> {
    /// Returns the line of an offset in the text that a change is made in.
    fn line(&self, change: usize, mut offset: usize) -> usize {
        for earlier in self.versions[..change].iter().rev() {
            offset = earlier.trace.before(offset);
        }
        Range::new(offset, offset).line(self.text)
    }

    fn splits(&self) -> Vec<Split> {
        let mut splits = Vec::new();
        for (at, version) in self.versions.iter().enumerate() {
            let Change::Split(split) = &version.change else { continue };
            let (line, behind) = (self.user_line(at, split.line), self.user_line(at, split.behind));
            splits.push(Split { line, behind, ..split.clone() });
        }
        splits
    }

    /// Returns the loops that were sorted, in the order of the source.
    fn sorted(&self) -> Vec<Sorted> {
        let mut sorted: Vec<Sorted> = Vec::new();
        for (at, version) in self.versions.iter().enumerate() {
            let Change::Sorted(one) = &version.change else { continue };
            let line = self.user_line(at, one.line);
            sorted.push(Sorted { line, ..one.clone() });
        }
        sorted.sort_by_key(|one| one.line);
        sorted
    }

    /// Returns the line in the text of the user for a line of the text that a change is made in.
    fn user_line(&self, change: usize, line: usize) -> usize {
        let edited = change.checked_sub(1).map_or(self.text, |before| &self.versions[before].text);
        self.line(change, split::line_start(edited, line))
    }

    fn renamings(&self) -> Vec<Renaming> {
        let mut renamings = Vec::new();
        for (at, version) in self.versions.iter().enumerate() {
            let Change::Renamed(found) = &version.change else { continue };
            renamings.extend(found.iter().map(|one| {
                let mut lines: Vec<usize> =
                    one.tokens.iter().map(|&token| self.line(at, token)).collect();
                lines.sort_unstable();
                lines.dedup();
                let reason =
                    Conflict { write: self.line(at, one.write), read: self.line(at, one.read) };
                let (function, variable) = (one.function.clone(), one.variable.clone());
                Renaming { function, variable, name: one.name.clone(), lines, reason }
            }));
        }
        renamings
    }
}
