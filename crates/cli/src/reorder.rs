//! `clearway reorder`: reorders the queries of transactions in C and C++ sources.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use clap::{Args as Group, Subcommand, ValueEnum};
use clearway_reorder::{
    api::{self, Models},
    clang::{self, FrontEnd},
    explain,
    legality::Isolation,
    rewrite::{self, Rewritten},
    schema::{self, Schema},
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
    Explain(InputArgs),
    /// Write the source with the queries in their new order
    #[command(after_help = "Example: clearway reorder rewrite payment.c --schema schema.sql \
                            --api libpq -o reordered.c -- -I/usr/include/postgresql")]
    Rewrite(RewriteArgs),
}

/// The options that both commands have.
#[derive(Group, Debug)]
struct InputArgs {
    /// The C or C++ source
    file: PathBuf,
    /// The tables, as SQL (pg_dump --schema-only, mysqldump --no-data)
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// The database interface: libpq, mysql or sqlite
    #[arg(long, value_name = "NAME")]
    api: String,
    /// A model of further functions; may be repeated
    #[arg(long, value_name = "FILE")]
    model: Vec<PathBuf>,
    /// The function with the transaction [default: all transactions of the file]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// The isolation level of the transaction [default: the server's default]
    #[arg(long, value_enum)]
    isolation: Option<IsolationArg>,
    /// Let reads of different rows change places below serializable
    #[arg(long)]
    relaxed_reads: bool,
    /// The compiler's flags
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

#[derive(Group, Debug)]
struct RewriteArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The new source [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum IsolationArg {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// Runs the command.
pub(crate) fn run(args: &ReorderArgs) -> Outcome {
    match &args.command {
        ReorderCommand::Explain(input) => {
            let rewritten = reorder(input)?;
            let texts: Vec<String> = rewritten.transactions.iter().map(explain::explain).collect();
            print(texts.join("\n"))
        }
        ReorderCommand::Rewrite(args) => {
            let rewritten = reorder(&args.input)?;
            for report in &rewritten.transactions {
                print_status(format_args!(
                    "{}: expected cost {} before, {} after",
                    report.function, report.cost_before, report.solution.cost
                ));
            }
            match &args.output {
                Some(path) => fs::write(path, &rewritten.text)
                    .with_context(|| format!("cannot write {}", path.display())),
                None => print(&rewritten.text),
            }
        }
    }
}

fn reorder(input: &InputArgs) -> Outcome<Rewritten> {
    let attempt = || format!("cannot reorder {}", input.file.display());
    let models = models(input)?;
    let schema = schema(input, &models)?;
    let text = read(&input.file)?;
    clang::prepare().with_context(attempt)?;
    let front_end = FrontEnd::load().with_context(attempt)?;
    let program = front_end.parse(&input.file, Some(&text), &input.flags).with_context(attempt)?;
    let options = rewrite::Options {
        function: input.function.clone(),
        isolation: input.isolation.map(|level| match level {
            IsolationArg::ReadCommitted => Isolation::ReadCommitted,
            IsolationArg::RepeatableRead => Isolation::RepeatableRead,
            IsolationArg::Serializable => Isolation::Serializable,
        }),
        relaxed_reads: input.relaxed_reads,
        without: Vec::new(),
    };
    rewrite::rewrite(&program, &text, &models, &schema, &options).with_context(attempt)
}

fn models(input: &InputArgs) -> Outcome<Models> {
    let mut own = Vec::new();
    for path in &input.model {
        let text = read(path)?;
        let model = api::load(&text, &path.display().to_string());
        own.push(model.with_context(|| format!("cannot use the model {}", path.display()))?);
    }
    let chosen = [input.api.as_str()];
    Models::new(&chosen, &own).with_context(|| format!("cannot use the interface {}", input.api))
}

fn schema(input: &InputArgs, models: &Models) -> Outcome<Schema> {
    let attempt = || format!("cannot use the schema {}", input.schema.display());
    let server = models.server().ok_or(NoServer).with_context(attempt)?;
    schema::parse(&read(&input.schema)?, server).with_context(attempt)
}

fn read(path: &Path) -> Outcome<String> {
    let text: io::Result<String> = fs::read_to_string(path);
    text.with_context(|| format!("cannot read {}", path.display()))
}

/// The chosen interface has no queries.
#[derive(Debug)]
struct NoServer;

impl fmt::Display for NoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("choose a database interface: --api libpq, --api mysql or --api sqlite")
    }
}

impl std::error::Error for NoServer {}
