//! The input of the commands: the source, its flags, the models and the schema.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use clap::{Args as Group, ValueEnum};
use clearway_reorder::{
    api::{self, Models, Server},
    clang::{self, FrontEnd},
    compile_commands,
    ir::Program,
    legality::Isolation,
    rewrite::{self, Rewritten},
    schema::{self, Schema, live},
    transform,
};

use super::costs::CostArgs;
use crate::failure::{Context, Outcome};

/// A source and what its calls do.
#[derive(Group, Debug)]
pub(super) struct SourceArgs {
    /// The C or C++ source
    pub(super) file: PathBuf,
    /// The database interface: libpq, mysql or sqlite
    #[arg(long, value_name = "NAME")]
    pub(super) api: String,
    /// A model of further functions; may be repeated
    #[arg(long, value_name = "FILE")]
    model: Vec<PathBuf>,
    /// A function that touches neither the database nor the outside; may be repeated
    #[arg(long, value_name = "NAME")]
    pure: Vec<String>,
    /// The function with the transaction [default: all transactions of the file]
    #[arg(long, value_name = "NAME")]
    pub(super) function: Option<String>,
    /// The compile_commands.json that has the compiler's flags
    #[arg(long, value_name = "FILE", conflicts_with_all = ["build", "flags"])]
    compile_commands: Option<PathBuf>,
    /// The folder with compile_commands.json
    #[arg(short = 'p', value_name = "DIR", conflicts_with = "flags")]
    build: Option<PathBuf>,
    /// The compiler's flags
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// A source, its schema, and what orders its queries.
#[derive(Group, Debug)]
pub(super) struct TransactionArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// The tables: a file with their SQL (pg_dump --schema-only, mysqldump --no-data --routines),
    /// or the address of a server that has them (postgresql://USER@HOST/DATABASE, mysql://...;
    /// with ?host=DIR or ?socket=FILE for a socket)
    #[arg(long, value_name = "FILE|ADDRESS")]
    schema: String,
    /// The isolation level of the transaction [default: the server's default]
    #[arg(long, value_enum)]
    isolation: Option<IsolationArg>,
    /// Let reads of different rows change places below serializable, and locks with the reads that
    /// they may protect (docs/reorder-isolation.md)
    #[arg(long)]
    relaxed_reads: bool,
    /// An array, or a field of an array's elements, whose values differ from one another; may be
    /// repeated
    #[arg(long, value_name = "NAME")]
    distinct: Vec<String>,
    /// Let all transactions of the file lock tables in one order, so that they do not deadlock
    #[arg(long)]
    lock_order: bool,
    /// Let loops that change rows by a key run in the order of the key, where that is legal, so
    /// that they do not deadlock
    #[arg(long)]
    sort_keys: bool,
    /// Leave loops and conditional statements whole
    #[arg(long)]
    no_split: bool,
    /// Leave variables their names
    #[arg(long)]
    no_rename: bool,
    #[command(flatten)]
    costs: CostArgs,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum IsolationArg {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// A source that was read.
pub(super) struct Source {
    pub(super) text: String,
    pub(super) program: Program,
    pub(super) models: Models,
    pub(super) flags: Vec<String>,
}

/// A source that was read, with its schema.
pub(super) struct Input {
    pub(super) source: Source,
    pub(super) schema: Schema,
    pub(super) server: Server,
}

impl SourceArgs {
    /// Reads the models, the flags and the source.
    pub(super) fn read(&self) -> Outcome<Source> {
        let attempt = || format!("cannot read {}", self.file.display());
        let models = self.models()?;
        let text = read(&self.file)?;
        let flags = self.flags()?;
        clang::prepare().with_context(attempt)?;
        let front_end = FrontEnd::load().with_context(attempt)?;
        let program = front_end.parse(&self.file, Some(&text), &flags).with_context(attempt)?;
        Ok(Source { text, program, models, flags })
    }

    fn models(&self) -> Outcome<Models> {
        let mut own = Vec::new();
        for path in &self.model {
            let text = read(path)?;
            let model = api::load(&text, &path.display().to_string());
            own.push(model.with_context(|| format!("cannot use the model {}", path.display()))?);
        }
        own.push(api::pure(&self.pure));
        let chosen = [self.api.as_str()];
        Models::new(&chosen, &own).with_context(|| format!("cannot use the interface {}", self.api))
    }

    /// Returns the compiler's flags for the source.
    fn flags(&self) -> Outcome<Vec<String>> {
        let in_folder = self.build.as_ref().map(|build| build.join("compile_commands.json"));
        match self.compile_commands.as_ref().or(in_folder.as_ref()) {
            None => Ok(self.flags.clone()),
            Some(path) => compile_commands::flags(&read(path)?, path, &self.file)
                .with_context(|| format!("cannot find the flags of {}", self.file.display())),
        }
    }
}

impl TransactionArgs {
    /// Reads the source and the schema.
    pub(super) fn read(&self) -> Outcome<Input> {
        // An address may have a password in it.
        let attempt = || match live::is_address(&self.schema) {
            true => "cannot use the schema of the server of --schema".to_owned(),
            false => format!("cannot use the schema {}", self.schema),
        };
        let source = self.source.read()?;
        let server = source.models.server().ok_or(NoServer).with_context(attempt)?;
        let ddl = self.ddl(server)?;
        let schema = schema::parse(&ddl, server).with_context(attempt)?;
        if schema.is_empty() {
            return Err(NoTables).with_context(attempt);
        }
        Ok(Input { source, schema, server })
    }

    /// Returns the DDL, from a file or from a server.
    fn ddl(&self, server: Server) -> Outcome<String> {
        if live::is_address(&self.schema) {
            return live::dump(&self.schema, server)
                .with_context(|| "cannot read the schema from the server of --schema".to_owned());
        }
        read(Path::new(&self.schema))
    }

    fn options(&self) -> Outcome<rewrite::Options> {
        Ok(rewrite::Options {
            function: self.source.function.clone(),
            isolation: self.isolation.map(|level| match level {
                IsolationArg::ReadCommitted => Isolation::ReadCommitted,
                IsolationArg::RepeatableRead => Isolation::RepeatableRead,
                IsolationArg::Serializable => Isolation::Serializable,
            }),
            relaxed_reads: self.relaxed_reads,
            distinct: self.distinct.clone(),
            costing: self.costs.read()?,
            lock_order: self.lock_order,
            sort_keys: self.sort_keys,
            no_split: self.no_split,
            no_rename: self.no_rename,
            without: Vec::new(),
        })
    }
}

impl Input {
    /// Reorders the transactions.
    pub(super) fn rewritten(&self, args: &TransactionArgs) -> Outcome<Rewritten> {
        let options = args.options()?;
        let Source { text, program, models, flags } = &self.source;
        let file = &args.source.file;
        let attempt = || format!("cannot reorder {}", file.display());
        if args.no_split && args.no_rename && !args.sort_keys {
            return rewrite::rewrite(program, text, models, &self.schema, &options)
                .with_context(attempt);
        }
        let front_end = FrontEnd::load().with_context(attempt)?;
        let parse = |text: &str| front_end.parse(file, Some(text), flags);
        transform::rewrite(&parse, program, text, models, &self.schema, &options)
            .with_context(attempt)
    }
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
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

/// The schema has no table.
#[derive(Debug)]
struct NoTables;

impl fmt::Display for NoTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "it defines no table: pass the DDL of the program's tables, as pg_dump --schema-only \
             or mysqldump --no-data writes it",
        )
    }
}

impl std::error::Error for NoTables {}
