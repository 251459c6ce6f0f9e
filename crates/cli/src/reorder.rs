//! `clearway reorder`: reorders the queries of transactions in C and C++ sources.

mod costs;
mod input;
mod profile;
mod verify;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use clap::{Args as Group, Subcommand};
use clearway_reorder::{explain, rewrite::Rewritten, solve::lp};

use self::{
    input::TransactionArgs,
    profile::{InstrumentArgs, ProfileArgs},
    verify::VerifyArgs,
};
use crate::{
    failure::{Context, Outcome},
    output::{print, print_status},
};

#[derive(Group, Debug)]
pub(crate) struct ReorderArgs {
    #[command(subcommand)]
    command: ReorderCommand,
}

#[derive(Subcommand, Debug)]
enum ReorderCommand {
    /// Show the new order of a transaction's queries, and what holds each of them back
    #[command(after_help = "Example: clearway reorder explain payment.c --schema schema.sql \
                            --api libpq -- -I/usr/include/postgresql")]
    Explain(ExplainArgs),
    /// Write the source with the queries in their new order
    #[command(after_help = "Example: clearway reorder rewrite payment.c --schema schema.sql \
                            --api libpq -o reordered.c -- -I/usr/include/postgresql")]
    Rewrite(RewriteArgs),
    /// Run the source and the reordered source on a mock of the interface, and compare them
    #[command(
        after_help = "There are mocks of libpq, mysql (MySQL and MariaDB) and sqlite. Equal \
                            means, for runs that commit: the order of conflicting queries of each \
                            row, all outputs, the result; for runs that roll back: both do, with \
                            the same result.\n\nExit codes: 0 no difference, and each query ran; \
                            1 the programs differ; 2 wrong usage; 3 they cannot be compared, or \
                            no run has committed; 4 no difference, but some queries never \
                            ran.\n\nExample: clearway reorder verify payment.c --schema \
                            schema.sql --api libpq -- -I/usr/include/postgresql"
    )]
    Verify(VerifyArgs),
    /// Write the source with code that measures each query of its transactions
    #[command(after_help = "Example: clearway reorder instrument payment.c --api libpq \
                            -o measured.c --runtime build -- -I/usr/include/postgresql\n\nCompile \
                            the output with build/clearway_profile.c, -Ibuild and -pthread. At \
                            its end the program writes the file that CLEARWAY_PROFILE names.")]
    Instrument(InstrumentArgs),
    /// Merge the profiles that instrumented programs have written
    #[command(after_help = "Example: clearway reorder profile run1.json run2.json --single \
                            alone.json -o p.json")]
    Profile(ProfileArgs),
}

#[derive(Group, Debug)]
struct ExplainArgs {
    #[command(flatten)]
    input: TransactionArgs,
    /// Write the search for the order as an integer linear program, of one transaction
    #[arg(long, value_name = "FILE")]
    lp: Option<PathBuf>,
    /// Draw both orders as timelines, in one HTML file
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

#[derive(Group, Debug)]
struct RewriteArgs {
    #[command(flatten)]
    input: TransactionArgs,
    /// The new source [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &ReorderArgs) -> Outcome {
    match &args.command {
        ReorderCommand::Explain(args) => explain(args),
        ReorderCommand::Rewrite(args) => {
            let rewritten = args.input.read()?.rewritten(&args.input)?;
            print_changes(&rewritten);
            print_costs(&rewritten);
            write_or_print(args.output.as_deref(), &rewritten.text)
        }
        ReorderCommand::Verify(args) => verify::run(args),
        ReorderCommand::Instrument(args) => profile::instrument(args),
        ReorderCommand::Profile(args) => profile::merge(args),
    }
}

fn explain(args: &ExplainArgs) -> Outcome {
    let rewritten = args.input.read()?.rewritten(&args.input)?;
    print_changes(&rewritten);
    if let Some(path) = &args.lp {
        let attempt = || format!("cannot write {}", path.display());
        let [report] = &rewritten.transactions[..] else {
            return Err(SeveralTransactions(rewritten.transactions.len())).with_context(attempt);
        };
        fs::write(path, lp::export(&report.problem())).with_context(attempt)?;
    }
    let file = args.input.source.file.display().to_string();
    if let Some(path) = &args.html {
        let attempt = || format!("cannot write {}", path.display());
        fs::write(path, explain::html(&file, &rewritten)).with_context(attempt)?;
    }
    print(explain::explain_all(&file, &rewritten))
}

fn print_changes(rewritten: &Rewritten) {
    for split in &rewritten.splits {
        print_status(format_args!("{split}"));
    }
    for renaming in &rewritten.renamings {
        print_status(format_args!("{renaming}"));
    }
    for sorted in &rewritten.sorted {
        print_status(format_args!("{sorted}"));
    }
    for reason in &rewritten.unstated {
        print_status(format_args!("not split: {reason}"));
    }
    for open in &rewritten.left_open {
        print_status(format_args!("left as it is: {open}"));
    }
}

fn print_costs(rewritten: &Rewritten) {
    for report in &rewritten.transactions {
        print_status(format_args!(
            "{}: expected cost {} before, {} after",
            report.function, report.cost_before, report.solution.cost
        ));
    }
    if let Some(imposed) = &rewritten.lock_order {
        let scale = rewritten.transactions.first().map(|report| report.scale).unwrap_or_default();
        print_status(format_args!("{}", explain::imposed_order(imposed, scale).trim_end()));
    }
}

fn write_or_print(path: Option<&Path>, text: &str) -> Outcome {
    match path {
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        }
        None => print(text),
    }
}

/// A linear program is of one transaction, and the source has this many.
#[derive(Debug)]
struct SeveralTransactions(usize);

impl fmt::Display for SeveralTransactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the source has {} transactions; choose one with --function", self.0)
    }
}

impl std::error::Error for SeveralTransactions {}
