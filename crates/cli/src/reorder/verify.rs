//! `clearway reorder verify`.

use std::{fmt, io::Write, path::PathBuf};

use clap::Args as Group;
use clearway_reorder::{
    clang::{FrontEnd, FrontEndError},
    ir::Program,
    transaction,
    verify::{self, INTERFACES, Interface, Knowledge, Options, Report, Verdict},
};

use super::input::{Input, Source, TransactionArgs};
use crate::{
    failure::{Context, Failure, Outcome},
    output::print,
};

#[derive(Group, Debug)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    input: TransactionArgs,
    /// The reordered source [default: the source as this tool reorders it]
    #[arg(long, value_name = "REWRITTEN")]
    against: Option<PathBuf>,
    /// The number of different inputs and contents of the database
    #[arg(long, value_name = "N", default_value_t = 12)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// A further source file of the program; may be repeated
    #[arg(long = "source", value_name = "FILE")]
    sources: Vec<PathBuf>,
    /// A function that is called with the connection beforehand, such as one that prepares
    /// statements; what it returns is the argument for a parameter of that type; may be repeated
    #[arg(long, value_name = "FN")]
    setup: Vec<String>,
    /// Limits of an input: in.count=1..15, lines=*4 (elements), in.name=SMITH|JONES; may be
    /// repeated
    #[arg(long = "input", value_name = "PLACE=LIMITS", value_parser = verify::Input::of_place)]
    inputs: Vec<(String, verify::Input)>,
}

/// Compares each transaction of the source with its reordered form.
pub(super) fn run(args: &VerifyArgs) -> Outcome {
    let file = &args.input.source.file;
    let attempt = || format!("cannot compare {}", file.display());
    let interface = interface(&args.input.source.api).with_context(attempt)?;
    let input = args.input.read()?;
    let source = &input.source;
    let name = args.input.source.function.as_deref();
    let functions = transaction::functions(&source.program, &source.models, name, &source.text)
        .with_context(attempt)?;
    let place = tempfile::tempdir().with_context(attempt)?;
    let rewritten = match &args.against {
        Some(path) => path.clone(),
        None => {
            let name = file.file_name().unwrap_or(file.as_os_str());
            let path = place.path().join(name);
            let text = input.rewritten(&args.input)?.text;
            std::fs::write(&path, text).with_context(attempt)?;
            path
        }
    };
    let knowledge = Knowledge::new(&input.schema, input.server);
    let (analyze, key) = (|sql: &str| knowledge.analyze(sql), |table: &str| knowledge.key(table));
    let mut options = options(args, &input, Options::new(interface, &analyze, &key));
    options.columns = knowledge.columns();
    options.keys = knowledge.keys();
    options.others = others(args, source).with_context(attempt)?;
    let mut reports = Vec::new();
    for (function, begins) in functions {
        options.in_transaction = !begins;
        options.sites = verify::sites(&source.program, &source.models, &source.text, &function);
        let compared = verify::verify(file, &rewritten, &source.program, &function, &options);
        let report = compared.with_context(attempt)?;
        print(&report)?;
        reports.push(report);
    }
    std::io::stdout().flush().with_context(attempt)?;
    verdict(&reports).with_context(attempt)?.map_or(Ok(()), Err)
}

/// Reads the further source files if functions of the setup do not stand in the source. Those that
/// libclang cannot read are left out: the compiler says what is wrong with them.
fn others(args: &VerifyArgs, source: &Source) -> Result<Vec<Program>, FrontEndError> {
    if args.setup.iter().all(|name| source.program.function(name).is_some()) {
        return Ok(Vec::new());
    }
    let front_end = FrontEnd::load()?;
    let read = |path: &PathBuf| front_end.parse(path, None, &source.flags).ok();
    Ok(args.sources.iter().filter_map(read).collect())
}

fn options<'a>(args: &VerifyArgs, input: &Input, usual: Options<'a>) -> Options<'a> {
    Options {
        flags: input.source.flags.clone(),
        sources: args.sources.clone(),
        seeds: args.seeds,
        setup: args.setup.clone(),
        inputs: args.inputs.iter().cloned().collect(),
        ..usual
    }
}

/// Returns the failure of a comparison that found a difference, or that left out calls.
fn verdict(reports: &[Report]) -> Result<Option<Failure>, Inconclusive> {
    let with = |verdict| reports.iter().find(|report| report.verdict() == verdict);
    if let Some(report) = with(Verdict::Different) {
        let text = format!("the reordered `{}` differs from the original", report.function);
        return Ok(Some(Failure::Inconsistent(text)));
    }
    if let Some(report) = with(Verdict::Inconclusive) {
        return Err(Inconclusive(report.function.clone()));
    }
    Ok(with(Verdict::Incomplete).map(|report| {
        let (function, count) = (&report.function, report.unreached.len());
        Failure::Incomplete(format!(
            "no difference was found, but {count} calls of `{function}` that run queries never ran"
        ))
    }))
}

fn interface(name: &str) -> Result<&'static Interface, NoMock> {
    Interface::named(name).ok_or_else(|| NoMock(name.to_owned()))
}

/// There is no mock of this interface.
#[derive(Debug)]
struct NoMock(String);

impl fmt::Display for NoMock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = INTERFACES.iter().map(|interface| interface.name).collect();
        write!(f, "there is no mock of `{}`, only of {}", self.0, known.join(", "))
    }
}

impl std::error::Error for NoMock {}

/// This function never committed.
#[derive(Debug)]
struct Inconclusive(String);

impl fmt::Display for Inconclusive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no run of `{}` has committed, so nothing is known; limit its inputs with --input",
            self.0
        )
    }
}

impl std::error::Error for Inconclusive {}
