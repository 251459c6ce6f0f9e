//! Runs a function before and after its reordering, and compares what the two do.
//!
//! Both programs are linked with a mock of the database interface, which records each query and
//! answers it with rows that depend on the seed, the text and the parameters, but not on the place
//! of the query among others. A generated main function makes the inputs, calls the function and
//! records its result and its outputs. For each seed there is one run without a failure, then one
//! for each query of it in which exactly that query fails, and one for each in which it finds no
//! row:
//!
//! ```text
//!   IR ── harness ──▶ main function ┐
//!   original, rewritten ────────────┼── build ──▶ two programs ── run ──▶ logs ── compare
//!   mock of the interface ──────────┘
//! ```
//!
//! [`Difference`] lists what is compared. A case in which the original breaks is left out. The mock
//! stands in C files that are part of the tool (`runtime/`); a further interface needs its own
//! functions over the recording core, and an [`Interface`] that describes them.

mod build;
mod compare;
mod conflict;
mod error;
mod harness;
mod input;
mod interface;
mod knowledge;
mod log;
mod report;
mod run;
mod transactions;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use self::{
    build::Builder,
    compare::{Questions, compare, is_committed},
    log::{Event, Kind, QueryEvent, Statement},
    run::{Ending, Place, Run, run_both},
    transactions::transactions,
};
pub use self::{
    compare::Difference,
    error::VerifyError,
    input::BadInput,
    interface::{INTERFACES, Interface, LIBPQ},
    knowledge::Knowledge,
    report::{Divergence, Report, Verdict},
    run::{Case, Failure},
};
use crate::{ir, sql::Query};

/// The options of a comparison.
pub struct Options<'a> {
    /// The database interface.
    pub interface: &'static Interface,
    /// The flags with which the program is compiled.
    pub flags: Vec<String>,
    /// Further source files of the program.
    pub sources: Vec<PathBuf>,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of failing runs for each seed, at most.
    pub failures: usize,
    /// The number of differing cases after which the comparison ends.
    pub divergences: usize,
    /// The seconds that a call may take.
    pub limit: u64,
    /// True if the programs run with sanitizers, if the compiler has them.
    pub sanitize: bool,
    /// True if the function is called within a transaction, which it does not begin.
    pub in_transaction: bool,
    /// Functions that are called with the connection beforehand, such as one that prepares
    /// statements.
    pub setup: Vec<String>,
    /// Limits of inputs, by place without indices: `input.lines.amount`.
    pub inputs: BTreeMap<String, Input>,
    /// The table, the name and the type of each column of the schema.
    pub columns: Vec<(String, String, String)>,
    /// The statements that are prepared elsewhere, by name.
    pub prepared: BTreeMap<String, String>,
    /// Returns what a query does; `None` if that is not known, for instance if a trigger may touch
    /// anything. It resolves views, and adds the tables that foreign keys and triggers touch.
    pub analyze: &'a dyn Fn(&str) -> Option<Query>,
    /// Gives the columns of a table's key: rows with different values in one of them are different.
    pub key: &'a dyn Fn(&str) -> Vec<String>,
}

/// Limits of an input.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Input {
    /// The least and the greatest value of a number.
    pub range: Option<(i64, i64)>,
    /// The number of values behind a pointer; for `char *`, the size of the buffer.
    pub elements: Option<usize>,
    /// The texts from which one is chosen.
    pub texts: Vec<String>,
}

impl<'a> Options<'a> {
    /// Returns the options for an interface, with everything else as it is usual.
    pub fn new(
        interface: &'static Interface,
        analyze: &'a dyn Fn(&str) -> Option<Query>,
        key: &'a dyn Fn(&str) -> Vec<String>,
    ) -> Options<'a> {
        Options {
            interface,
            flags: Vec::new(),
            sources: Vec::new(),
            seeds: 12,
            failures: 128,
            divergences: 5,
            limit: 10,
            sanitize: true,
            in_transaction: false,
            setup: Vec::new(),
            inputs: BTreeMap::new(),
            columns: Vec::new(),
            prepared: BTreeMap::new(),
            analyze,
            key,
        }
    }
}

/// Runs the function of both programs and compares what they do. `program` is the IR of the
/// original.
///
/// # Errors
/// [`VerifyError`] if the programs cannot be built or run.
pub fn verify(
    original: &Path,
    rewritten: &Path,
    program: &ir::Program,
    function: &str,
    options: &Options,
) -> Result<Report, VerifyError> {
    let missing =
        || VerifyError::NoFunction { function: function.to_owned(), path: program.path.clone() };
    let found = program.function(function).ok_or_else(missing)?;
    let harness = harness::generate(program, found, options)?;
    let directory = tempfile::tempdir()
        .map_err(|error| VerifyError::File { path: std::env::temp_dir(), error })?;
    let builder = Builder::new(options, directory.path(), program.language, original)?;
    let programs = builder.build([original, rewritten], &harness.text)?;
    let report =
        Report { function: function.to_owned(), notes: harness.notes, ..Report::default() };
    let mut comparison = Comparison {
        programs: [&programs[0], &programs[1]],
        place: place(directory.path(), options)?,
        options,
        report,
    };
    if options.sanitize && !builder.sanitizes() {
        let note = "the compiler has no sanitizers: reads of freed memory may stay unnoticed";
        comparison.report.notes.push(note.to_owned());
    }
    for seed in 0..options.seeds {
        comparison.run_seed(seed)?;
    }
    Ok(comparison.report)
}

/// Writes the files that the mock reads.
fn place(directory: &Path, options: &Options) -> Result<Place, VerifyError> {
    let write = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| VerifyError::File { path: path.clone(), error })?;
        Ok(path)
    };
    let (mut columns, mut prepared) = (String::new(), String::new());
    for (table, column, ty) in &options.columns {
        let _ = writeln!(columns, "{table} {column} {ty}");
    }
    for (name, sql) in &options.prepared {
        let words: Vec<&str> = sql.split_whitespace().collect();
        let _ = writeln!(prepared, "{name}\t{}", words.join(" "));
    }
    Ok(Place {
        columns: write("columns.txt", columns.to_lowercase())?,
        prepared: write("prepared.txt", prepared)?,
        directory: directory.to_owned(),
        limit: options.limit,
    })
}

/// A comparison that goes on.
struct Comparison<'a> {
    programs: [&'a Path; 2],
    place: Place,
    options: &'a Options<'a>,
    report: Report,
}

impl Comparison<'_> {
    /// Runs a seed without a failure, then with each failure.
    fn run_seed(&mut self, seed: u64) -> Result<(), VerifyError> {
        if self.is_over() {
            return Ok(());
        }
        let case = Case { seed, failure: None };
        let Some(base) = self.run_case(&case, None)? else { return Ok(()) };
        let mut failures = failures(&base, seed, self.options.interface.codes);
        self.report.left_out += failures.len().saturating_sub(self.options.failures);
        failures.truncate(self.options.failures);
        let base = Base::of(&base);
        for failure in failures {
            if self.is_over() {
                break;
            }
            self.run_case(&Case { seed, failure: Some(failure) }, Some(&base))?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.report.divergences.len() >= self.options.divergences
    }

    /// Runs a case and compares; returns the original's run unless it breaks.
    fn run_case(&mut self, case: &Case, base: Option<&Base>) -> Result<Option<Run>, VerifyError> {
        let [original, rewritten] = run_both(self.programs, case, &self.place)?;
        if let Ending::Broke(reason) = &original.ending {
            self.report.skipped.push((case.clone(), reason.clone()));
            return Ok(None);
        }
        self.report.cases += 1;
        if is_committed(&transactions(&original.events)) {
            self.report.committed += 1;
        } else {
            self.report.rolled_back += 1;
        }
        // Without a connection all later queries fail as well.
        let lost = case.failure.as_ref().is_some_and(|failure| failure.code == "LOST");
        let single = match base {
            None => Base::of(&original).clean,
            Some(base) => base.clean && base.covers(&original) && !lost,
        };
        let questions = Questions { analyze: self.options.analyze, key: self.options.key };
        let differences = compare(&original, &rewritten, single, &questions);
        if !differences.is_empty() {
            let divergence = Divergence::new(case, &original, &rewritten, differences);
            self.report.divergences.push(divergence);
        }
        Ok(Some(original))
    }
}

/// The facts from the run without a failure that the runs with one need.
struct Base {
    /// True if every transaction was committed: nothing went wrong.
    clean: bool,
    keys: BTreeSet<String>,
}

impl Base {
    fn of(run: &Run) -> Base {
        let keys = queries(run).map(|query| query.key.clone()).collect();
        let clean = transactions(&run.events).iter().all(|one| one.outcome.stays());
        Base { clean, keys }
    }

    /// Returns true if the run executes nothing new besides the end of transactions, so that
    /// nothing else can have gone wrong than the failure that was made.
    fn covers(&self, run: &Run) -> bool {
        let ends =
            |query: &QueryEvent| matches!(query.statement, Statement::Commit | Statement::Rollback);
        queries(run)
            .all(|query| ends(query) || query.failed.is_some() || self.keys.contains(&query.key))
    }
}

fn queries(run: &Run) -> impl Iterator<Item = &QueryEvent> {
    run.call().iter().filter_map(|event| match event {
        Event::Query(query) => Some(query),
        _ => None,
    })
}

/// Returns the failures of the queries of a run: an error for each, and no row for those that can
/// find none. A statement that cannot fail by itself fails by the loss of the connection.
fn failures(run: &Run, seed: u64, codes: &[&'static str]) -> Vec<Failure> {
    let failure = |query: &QueryEvent, code| {
        let (key, sql) = (query.key.clone(), query.to_string());
        Failure { key, code, sql }
    };
    let mut all = Vec::new();
    let first = usize::try_from(seed).unwrap_or(0);
    for (index, query) in queries(run).enumerate() {
        let robust = matches!(
            query.statement,
            Statement::Begin | Statement::Rollback | Statement::Savepoint | Statement::Release
        );
        let code = if robust { "LOST" } else { codes[(first + index) % codes.len()] };
        all.push(failure(query, code));
        if query.kind == Kind::Query
            && matches!(query.statement, Statement::Rows | Statement::Change)
        {
            all.push(failure(query, "EMPTY"));
        }
    }
    all
}
