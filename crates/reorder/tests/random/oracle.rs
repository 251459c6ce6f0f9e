//! Reorders random programs and compares what they do before and after.
//!
//! A file of programs is rewritten, compiled before and after, and run. For each run of a program,
//! - status, printed lines and all rows of the database are equal;
//! - the outputs are equal, if the run commits.
//!
//! Also, the rewritten file compiles without warnings, and rewriting it changes nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use clearway_reorder::{
    api::Models,
    clang::{FrontEnd, FrontEndError},
    ir::Program as Ir,
    legality::Rule,
    rewrite::{self, Options, Refused},
    schema::{self, Schema},
    source, split, transform,
};

use super::{
    database::DDL,
    harness,
    program::{self, Program},
};

/// A mistake that a program has shown.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// The tool broke one of its own constraints, or failed otherwise.
    Tool(String),
    /// A file does not compile without warnings; "original" or "rewritten".
    Compiler(&'static str, String),
    /// A run does not end as in the original.
    Run(String),
    /// The second rewrite changes the file, and gives this one.
    Unstable(String),
}

impl Wrong {
    /// Returns true if both are mistakes of one kind.
    pub(crate) fn is_like(&self, other: &Wrong) -> bool {
        match (self, other) {
            (Wrong::Compiler(one, _), Wrong::Compiler(another, _)) => one == another,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Tool(message) => write!(f, "the tool failed: {message}"),
            Wrong::Compiler(which, message) => write!(f, "{which} does not compile: {message}"),
            Wrong::Run(message) => write!(f, "it does something else:\n{message}"),
            Wrong::Unstable(text) => write!(f, "rewriting it again changes it:\n{text}"),
        }
    }
}

/// The numbers of programs, by what was done with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// The programs.
    pub(crate) programs: u64,
    /// Those that were changed.
    pub(crate) changed: u64,
    /// Those of which a statement was split.
    pub(crate) split: u64,
    /// The splits, by the kind of the statement.
    pub(crate) splits: BTreeMap<String, u64>,
    /// The loops that were sorted.
    pub(crate) sorted: u64,
    /// The names that variables got beside their own.
    pub(crate) renamings: u64,
    /// The units that stand elsewhere than in the source, in all programs.
    pub(crate) moved: u64,
    /// The queries among them.
    pub(crate) moved_queries: u64,
    /// The programs that the tool refused, by the reason.
    pub(crate) refused: BTreeMap<String, u64>,
    /// The runs that committed, and those that rolled back.
    pub(crate) committed: u64,
    /// The runs that rolled back.
    pub(crate) rolled_back: u64,
}

impl Counts {
    /// Adds the numbers of another part.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.programs += other.programs;
        self.changed += other.changed;
        self.split += other.split;
        self.add_splits(&other.splits);
        self.sorted += other.sorted;
        self.renamings += other.renamings;
        self.moved += other.moved;
        self.moved_queries += other.moved_queries;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        for (reason, count) in &other.refused {
            *self.refused.entry(reason.clone()).or_default() += count;
        }
    }
}

impl Counts {
    fn add_splits(&mut self, splits: &BTreeMap<String, u64>) {
        for (kind, count) in splits {
            *self.splits.entry(kind.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { programs, changed, split, splits, moved, moved_queries, .. } = self;
        let Counts { committed, rolled_back, refused, renamings, sorted, .. } = self;
        write!(
            f,
            "{programs} programs, {changed} changed, {split} with splits {splits:?}, \
             {sorted} loops sorted, {renamings} renamings, {moved} units moved ({moved_queries} \
             queries), {committed} runs committed, {rolled_back} rolled back, refused {refused:?}"
        )
    }
}

/// The tools with which programs are checked.
pub(crate) struct Oracle {
    front_end: FrontEnd,
    models: Models,
    schema: Schema,
    /// The rules that do not apply.
    pub(crate) without: Vec<Rule>,
    /// True if statements are split wherever that is legal, before the programs are reordered.
    pub(crate) splits: bool,
    /// True if variables may get several names.
    pub(crate) renames: bool,
    /// True if loops may run in the order of a key.
    pub(crate) sorts: bool,
    /// The arrays whose elements differ.
    pub(crate) distinct: Vec<String>,
    /// True if warnings of the compiler are mistakes.
    pub(crate) warnings: bool,
}

/// The number of splits of one program, at most.
const ROUNDS: usize = 4;

/// A rewritten file.
#[derive(Default)]
struct Rewritten {
    text: String,
    changed: BTreeSet<String>,
    counts: Counts,
}

impl Oracle {
    /// Makes an oracle, or returns the reason why there is none.
    pub(crate) fn new() -> Result<Oracle, String> {
        let front_end = FrontEnd::load().map_err(|error| error.to_string())?;
        let header = "/usr/include/sqlite3.h";
        if !Path::new(header).exists() {
            return Err(format!("{header} is missing"));
        }
        let compiler = Command::new("gcc").arg("--version").output();
        compiler.map_err(|error| format!("gcc: {error}"))?;
        let models = Models::new(&["sqlite"], &[]).expect("the models are right");
        let server = models.server().expect("a model names its server");
        let schema = schema::parse(DDL, server).expect("the DDL is right");
        let (without, splits, renames) = (Vec::new(), false, false);
        let (sorts, distinct, warnings) = (false, Vec::new(), true);
        Ok(Oracle {
            front_end,
            models,
            schema,
            without,
            splits,
            renames,
            sorts,
            distinct,
            warnings,
        })
    }

    /// Checks programs, with databases and inputs from a seed. Returns the programs with mistakes,
    /// by their index.
    pub(crate) fn check(
        &self,
        programs: &[Program],
        seed: u64,
        counts: &mut Counts,
    ) -> Vec<(usize, Wrong)> {
        match self.check_together(programs, seed, counts) {
            Ok(wrong) => wrong,
            Err(wrong) if programs.len() == 1 => vec![(0, wrong)],
            Err(_) => {
                let each = programs.iter().enumerate().flat_map(|(at, one)| {
                    let wrong = self.check(std::slice::from_ref(one), seed, counts);
                    wrong.into_iter().map(move |(_, wrong)| (at, wrong))
                });
                each.collect()
            }
        }
    }

    /// Checks programs in one file; an error if it is not known which of them is wrong.
    fn check_together(
        &self,
        programs: &[Program],
        seed: u64,
        counts: &mut Counts,
    ) -> Result<Vec<(usize, Wrong)>, Wrong> {
        let text = program::file(programs);
        let mut made = BTreeMap::new();
        let parts = self.split(&text, &mut made)?;
        let mut rewritten = self.rewrite(programs, &parts)?;
        rewritten.counts.add_splits(&made);
        let again = match self.without.is_empty() {
            true => self.rewrite(programs, &rewritten.text)?,
            false => Rewritten::default(),
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let main = harness::main_function(programs, seed);
        let [before, after] =
            run_both(folder.path(), [&text, &rewritten.text], &main, self.warnings)?;
        let mut counted = rewritten.counts;
        let mut wrong = Vec::new();
        for (at, one) in programs.iter().enumerate() {
            let runs = |all: &BTreeMap<Key, Run>| -> Vec<(Key, Run)> {
                let own = all.iter().filter(|(key, _)| key.0 == one.name);
                own.map(|(key, run)| (key.clone(), run.clone())).collect()
            };
            let (before, after) = (runs(&before), runs(&after));
            counted.committed += before.iter().filter(|(_, run)| run.committed()).count() as u64;
            counted.rolled_back += before.iter().filter(|(_, run)| !run.committed()).count() as u64;
            if let Some(message) = difference(&before, &after) {
                wrong.push((at, Wrong::Run(message)));
            } else if again.changed.contains(&one.name) {
                wrong.push((at, Wrong::Unstable(again.text.clone())));
            }
        }
        counts.add(&counted);
        Ok(wrong)
    }

    /// Returns the rewritten text of programs.
    pub(crate) fn rewritten(&self, programs: &[Program]) -> Result<String, Wrong> {
        let parts = self.split(&program::file(programs), &mut BTreeMap::new())?;
        self.rewrite(programs, &parts).map(|rewritten| rewritten.text)
    }

    /// Splits a statement of each program, some times, if statements are to be split.
    fn split(&self, text: &str, made: &mut BTreeMap<String, u64>) -> Result<String, Wrong> {
        let mut text = text.to_string();
        for round in 0..if self.splits { ROUNDS } else { 0 } {
            let parsed = self.parse(&text).map_err(|error| Wrong::Tool(error.to_string()))?;
            let options = self.options();
            let (models, schema) = (&self.models, &self.schema);
            let Ok(found) = split::candidates(&parsed, &text, models, schema, &options) else {
                return Ok(text);
            };
            let mut legal: BTreeMap<&str, Vec<_>> = BTreeMap::new();
            for one in found.iter().filter(|one| one.outcome.is_ok()) {
                legal.entry(&one.split.function).or_default().push(one);
            }
            let mut edits = Vec::new();
            for (function, all) in legal {
                let one = all[(function.len() * 7 + round * 3 + all.len()) % all.len()];
                *made.entry(format!("{:?}", one.split.kind)).or_default() += 1;
                let keeps = |edit: &source::Edit| edit.text.contains("_at[");
                if one.outcome.iter().flatten().any(keeps) {
                    *made.entry("Loop with an array".to_string()).or_default() += 1;
                }
                edits.extend(one.outcome.clone().unwrap_or_default());
            }
            text = source::apply(&text, &edits);
        }
        Ok(text)
    }

    fn rewrite(&self, programs: &[Program], text: &str) -> Result<Rewritten, Wrong> {
        let parsed = self.parse(text).map_err(|error| Wrong::Tool(error.to_string()))?;
        let mut result = Rewritten { text: text.to_string(), ..Rewritten::default() };
        result.counts.programs = programs.len() as u64;
        let options = self.options();
        match self.reorder(&parsed, text, &options) {
            Ok(rewritten) => result.take(rewritten, None),
            Err(_) => programs
                .iter()
                .rev()
                .try_for_each(|one| self.rewrite_one(&parsed, &one.name, text, &mut result))?,
        }
        Ok(result)
    }

    /// Reorders a program, with the changes that are wanted.
    fn reorder(
        &self,
        parsed: &Ir,
        text: &str,
        options: &Options,
    ) -> Result<rewrite::Rewritten, Refused> {
        let parse = |text: &str| self.parse(text);
        let (models, schema) = (&self.models, &self.schema);
        if !self.splits && !self.renames && !self.sorts {
            return rewrite::rewrite(parsed, text, models, schema, options);
        }
        let (no_split, no_rename) = (!self.splits, !self.renames);
        let options = Options { no_split, no_rename, ..options.clone() };
        transform::rewrite(&parse, parsed, text, models, schema, &options)
    }

    fn options(&self) -> Options {
        let (without, distinct) = (self.without.clone(), self.distinct.clone());
        Options { without, distinct, sort_keys: self.sorts, ..Options::default() }
    }

    fn parse(&self, text: &str) -> Result<Ir, FrontEndError> {
        self.front_end.parse(Path::new("programs.c"), Some(text), &[])
    }

    /// Rewrites one function; those behind it may have been rewritten.
    fn rewrite_one(
        &self,
        parsed: &Ir,
        name: &str,
        text: &str,
        result: &mut Rewritten,
    ) -> Result<(), Wrong> {
        let options = Options { function: Some(name.to_string()), ..self.options() };
        match self.reorder(parsed, text, &options) {
            Ok(rewritten) => {
                let range = parsed.function(name).expect("the file defines the function").range;
                let end = rewritten.text.len() - (text.len() - range.end);
                let mut whole = result.text.clone();
                whole.replace_range(range.start..range.end, &rewritten.text[range.start..end]);
                result.take(rewritten, Some(whole));
            }
            Err(refused @ Refused::Broken(..)) => return Err(Wrong::Tool(refused.to_string())),
            Err(refused) => {
                let reason = format!("{refused:?}");
                let reason = reason.split(['(', ' ']).next().unwrap_or_default().to_string();
                *result.counts.refused.entry(reason).or_default() += 1;
            }
        }
        Ok(())
    }
}

impl Rewritten {
    fn take(&mut self, rewritten: rewrite::Rewritten, whole: Option<String>) {
        self.text = whole.unwrap_or(rewritten.text);
        let functions = rewritten.splits.iter().map(|split| &split.function);
        self.counts.split += functions.collect::<BTreeSet<_>>().len() as u64;
        for split in &rewritten.splits {
            *self.counts.splits.entry(format!("{:?}", split.kind)).or_default() += 1;
        }
        self.counts.renamings += rewritten.renamings.len() as u64;
        self.counts.sorted += rewritten.sorted.len() as u64;
        self.changed.extend(rewritten.sorted.iter().map(|sorted| sorted.function.clone()));
        for report in rewritten.transactions {
            let order = report.solution.order.iter().enumerate();
            let moved: Vec<usize> =
                order.filter(|(at, unit)| at != *unit).map(|(_, &unit)| unit).collect();
            let queries = moved.iter().map(|&unit| report.units[unit].queries.len() as u64);
            self.counts.moved += moved.len() as u64;
            self.counts.moved_queries += queries.sum::<u64>();
            if !moved.is_empty() {
                self.counts.changed += 1;
                self.changed.insert(report.function);
            }
        }
    }
}

/// A program, a database and an input.
type Key = (String, usize, usize);

/// The output of a run.
#[derive(Clone, PartialEq, Debug, Default)]
struct Run {
    /// The text that the program printed, the status and the rows.
    always: Vec<String>,
    outputs: Vec<String>,
}

impl Run {
    fn committed(&self) -> bool {
        self.always.iter().any(|line| line.starts_with("status committed"))
    }
}

/// Compiles and runs both texts.
fn run_both(
    folder: &Path,
    texts: [&str; 2],
    main: &str,
    warnings: bool,
) -> Result<[BTreeMap<Key, Run>; 2], Wrong> {
    let names = ["original", "rewritten"];
    let flags: &[&str] =
        if warnings { &["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"] } else { &["-w"] };
    let compilers: Vec<Child> = names
        .iter()
        .zip(texts)
        .map(|(name, text)| compile(folder, name, &format!("{text}{main}"), flags))
        .collect();
    let compiled: Vec<Output> = compilers
        .into_iter()
        .map(|compiler| compiler.wait_with_output().expect("gcc ends"))
        .collect();
    for (name, output) in names.into_iter().zip(compiled) {
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            let message: Vec<&str> = message.lines().take(12).collect();
            return Err(Wrong::Compiler(name, message.join("\n")));
        }
    }
    let run = |name: &str| {
        let output = Command::new(folder.join(name)).output().expect("the program starts");
        parse(&output)
    };
    Ok(names.map(run))
}

fn compile(folder: &Path, name: &str, text: &str, flags: &[&str]) -> Child {
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, text).expect("the folder is writable");
    let mut command = Command::new("gcc");
    command.args(flags).args(["-O0", "-pipe"]).arg(&source);
    command.arg("-o").arg(folder.join(name)).arg("-lsqlite3");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("gcc starts")
}

/// Reads what runs have printed. A run that a signal has ended says so.
fn parse(output: &Output) -> BTreeMap<Key, Run> {
    let mut runs: BTreeMap<Key, Run> = BTreeMap::new();
    let mut last = Key::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(header) = line.strip_prefix("run ") {
            let mut words = header.split(' ');
            let mut next = || words.next().unwrap_or_default();
            last = (next().to_string(), next().parse().unwrap(), next().parse().unwrap());
            runs.insert(last.clone(), Run::default());
            continue;
        }
        let run = runs.entry(last.clone()).or_default();
        let part = if line.starts_with("out ") { &mut run.outputs } else { &mut run.always };
        part.push(line.to_string());
    }
    if !output.status.success() {
        runs.entry(last).or_default().always.push(format!("ended by {}", output.status));
    }
    runs
}

/// Returns the first difference between runs of one program.
fn difference(before: &[(Key, Run)], after: &[(Key, Run)]) -> Option<String> {
    for (key, run) in before {
        let Some((_, other)) = after.iter().find(|(other, _)| other == key) else {
            return Some(format!("{key:?} did not run"));
        };
        let is_same =
            run.always == other.always && (!run.committed() || run.outputs == other.outputs);
        if !is_same {
            let lines = |run: &Run| [run.always.clone(), run.outputs.clone()].concat();
            let (one, another) = (lines(run), lines(other));
            let only = |a: &[String], b: &[String], mark: &str| {
                let lines = a.iter().filter(|line| !b.contains(line));
                lines.map(|line| format!("  {mark} {line}\n")).collect::<String>()
            };
            return Some(format!(
                "database {}, input {}, original `-`, rewritten `+` (lines may differ in their \
                 order alone):\n{}{}",
                key.1,
                key.2,
                only(&one, &another, "-"),
                only(&another, &one, "+")
            ));
        }
    }
    None
}
