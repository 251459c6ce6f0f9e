//! Runs a function before and after its reordering, and compares what the two do.
//!
//! Both programs are linked with a mock of the database interface, which records each query and
//! answers it with rows that depend on the seed, the text and the parameters, but not on the place
//! of the query among others, nor on what an attempt ran before it was rolled back. Rows and inputs
//! often have values that the program treats in a way of their own: 0, 1, -1, an input, a constant
//! with which the source compares. A generated main function makes the inputs, calls the function
//! and records its result and its outputs. For each seed there is one run without a failure, then
//! one for each query of it in which exactly that query fails, and one for each in which it finds
//! no row. If no run has committed, or a call that runs a query has not been reached, further seeds
//! are tried:
//!
//! ```text
//!   IR ── harness ──▶ main function ┐
//!   original, rewritten ────────────┼── build ──▶ two programs ── run ──▶ logs ── compare
//!   mock of the interface ──────────┘
//! ```
//!
//! [`Difference`] lists what is compared. A case in which the original breaks is left out. Without
//! a committed run there is no verdict, and calls that never ran qualify it ([`Verdict`]). The mock
//! stands in C files that are part of the tool (`runtime/`); a further interface needs its own
//! functions over the recording core, and an [`Interface`] that describes them.

mod build;
mod compare;
mod conflict;
mod constants;
mod error;
mod harness;
mod input;
mod interface;
mod knowledge;
mod lines;
mod log;
mod report;
mod run;
mod sites;
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
    constants::{Constants, constants},
    log::{Event, Kind, QueryEvent, State, Statement},
    run::{Ending, Place, Run, run_alone, run_both},
    sites::{Reached, marked},
    transactions::transactions,
};
pub use self::{
    compare::Difference,
    error::VerifyError,
    input::BadInput,
    interface::{INTERFACES, Interface, LIBPQ, MYSQL, SQLITE},
    knowledge::Knowledge,
    report::{Divergence, Report, Verdict},
    run::{Case, Failure},
    sites::{Site, sites},
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
    /// The IR of further source files, as far as functions of the setup stand in them.
    pub others: Vec<ir::Program>,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of further seeds that are tried if no run has committed, or if a call that runs a
    /// query has not been reached.
    pub search: u64,
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
    /// The table and the columns of each key.
    pub keys: Vec<(String, Vec<String>)>,
    /// The calls of the original that run queries; those that never ran qualify the verdict.
    pub sites: Vec<Site>,
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
            others: Vec::new(),
            seeds: 12,
            search: 200,
            failures: 128,
            divergences: 5,
            limit: 10,
            sanitize: true,
            in_transaction: false,
            setup: Vec::new(),
            inputs: BTreeMap::new(),
            columns: Vec::new(),
            keys: Vec::new(),
            sites: Vec::new(),
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
    if found.method {
        return Err(VerifyError::Method { function: function.to_owned() });
    }
    let directory = tempfile::tempdir()
        .map_err(|error| VerifyError::File { path: std::env::temp_dir(), error })?;
    let mut builder = Builder::new(options, directory.path(), program.language, original)?;
    let built = build(&mut builder, [original, rewritten], program, found, options)?;
    let mut notes = built.notes;
    if options.sanitize && !builder.sanitizes() {
        let note = "the compiler has no sanitizers: reads of freed memory may stay unnoticed";
        notes.push(note.to_owned());
    }
    let mut comparison = Comparison {
        programs: [&built.programs[0], &built.programs[1]],
        place: place(directory.path(), options)?,
        options,
        report: Report { function: function.to_owned(), notes, ..Report::default() },
        reached: Reached::default(),
        marks: built.marks,
    };
    for seed in 0..options.seeds {
        comparison.run_seed(seed)?;
    }
    comparison.search()?;
    Ok(comparison.finish())
}

/// The programs of a comparison.
struct Built {
    programs: [PathBuf; 2],
    notes: Vec<String>,
    /// True if the original has marks at its calls.
    marks: bool,
}

/// Builds both programs. If the sources do not compile with marks, numbers of lines and constants,
/// they are built without them.
fn build(
    builder: &mut Builder,
    sources: [&Path; 2],
    program: &ir::Program,
    function: &ir::Function,
    options: &Options,
) -> Result<Built, VerifyError> {
    let texts = sources.map(|source| fs::read_to_string(source).ok());
    if let [Some(original), Some(rewritten)] = texts {
        let constants = constants(program, &original);
        let harness = harness::generate(program, function, &constants, options)?;
        let marked = marked(&original, &options.sites);
        let marks = marked.is_some();
        let texts = [marked.unwrap_or(original), rewritten];
        match builder.build(sources, &harness.text, Some(texts)) {
            Ok(programs) => return Ok(Built { programs, notes: harness.notes, marks }),
            Err(VerifyError::Compile { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let harness = harness::generate(program, function, &Constants::default(), options)?;
    let programs = builder.build(sources, &harness.text, None)?;
    let mut notes = harness.notes;
    let note = "the source does not compile with marks at its calls; it ran without, and a \
                printed `__LINE__` is a difference";
    notes.push(note.to_owned());
    Ok(Built { programs, notes, marks: false })
}

/// Writes the files that the mock reads.
fn place(directory: &Path, options: &Options) -> Result<Place, VerifyError> {
    let write = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| VerifyError::File { path: path.clone(), error })?;
        Ok(path)
    };
    let (mut columns, mut keys, mut prepared) = (String::new(), String::new(), String::new());
    for (table, column, ty) in &options.columns {
        let _ = writeln!(columns, "{table} {column} {ty}");
    }
    for (table, names) in options.keys.iter().filter(|(_, names)| !names.is_empty()) {
        let _ = writeln!(keys, "{table} {}", names.join(" "));
    }
    for (name, sql) in &options.prepared {
        let words: Vec<&str> = sql.split_whitespace().collect();
        let _ = writeln!(prepared, "{name}\t{}", words.join(" "));
    }
    Ok(Place {
        columns: write("columns.txt", columns.to_lowercase())?,
        keys: write("keys.txt", keys.to_lowercase())?,
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
    reached: Reached,
    marks: bool,
}

impl Comparison<'_> {
    /// Runs a seed without a failure, then with each failure.
    fn run_seed(&mut self, seed: u64) -> Result<(), VerifyError> {
        if self.is_over() {
            return Ok(());
        }
        let case = Case { seed, failure: None };
        let Some(base) = self.run_case(&case, None)? else { return Ok(()) };
        let mut failures = failures(&base, seed, self.options.interface);
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

    /// Tries further seeds until one of the original's runs has committed and each call has run.
    fn search(&mut self) -> Result<(), VerifyError> {
        let first = self.options.seeds;
        for seed in first..first + self.options.search {
            let nothing_missing = self.missing().is_empty();
            if self.is_over() || (self.report.committed > 0 && nothing_missing) {
                break;
            }
            let case = Case { seed, failure: None };
            let run = run_alone(self.programs[0], &case, &self.place)?;
            if matches!(run.ending, Ending::Broke(_)) {
                continue;
            }
            let sites = &self.options.sites;
            let new = self.reached.clone().add(run.call(), sites, self.marks);
            if new || (commits(&run) && self.report.committed == 0) {
                self.run_seed(seed)?;
            }
        }
        Ok(())
    }

    fn missing(&self) -> Vec<&Site> {
        self.reached.missing(&self.options.sites, self.marks).0
    }

    /// Returns the report, with the calls that never ran.
    fn finish(mut self) -> Report {
        let (missing, unknown) = self.reached.missing(&self.options.sites, self.marks);
        self.report.unreached = missing.into_iter().cloned().collect();
        if let [first, ..] = unknown[..] {
            let count = unknown.len();
            let first = format!("line {}: {}", first.line, first.call);
            let note = format!("it is not known whether {count} calls ran; the first: {first}");
            self.report.notes.push(note);
        }
        self.report
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
        if let Some(failure) = &case.failure
            && goes_on_outside(&original, failure, self.options.interface)
        {
            self.report.unchecked.push(case.clone());
            return Ok(Some(original));
        }
        self.report.cases += 1;
        self.reached.add(original.call(), &self.options.sites, self.marks);
        if commits(&original) {
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

/// Returns true if the last transaction of a run is committed. A run whose transaction did not even
/// begin shows nothing.
fn commits(run: &Run) -> bool {
    let transactions = transactions(&run.events);
    !transactions.is_empty() && is_committed(&transactions)
}

/// Returns true if the program asks for a commit although the failure has ended its transaction, or
/// has kept it from beginning: it does not check the query. The database then commits each of the
/// further queries by itself, so that what stays depends on their order.
fn goes_on_outside(run: &Run, failure: &Failure, interface: &Interface) -> bool {
    let mut after = queries(run).skip_while(|query| !query.injected);
    let Some(failing) = after.next() else { return false };
    let begins = failing.statement == Statement::Begin && failing.state == State::Idle;
    let ended = interface.rolls_back.contains(&failure.code) && failing.kind == Kind::Query;
    (begins || ended) && after.any(|query| query.statement == Statement::Commit)
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
fn failures(run: &Run, seed: u64, interface: &Interface) -> Vec<Failure> {
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
        let codes = interface.codes;
        let usual = codes[(first + index) % codes.len()];
        let code = if robust { interface.last_resort } else { usual };
        all.push(failure(query, code));
        if query.kind == Kind::Query
            && !query.always
            && matches!(query.statement, Statement::Rows | Statement::Change)
        {
            all.push(failure(query, "EMPTY"));
        }
    }
    all
}
