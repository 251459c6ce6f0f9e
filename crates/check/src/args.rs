//! The command line.

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use clearway_check::workload::Workload;

const EXIT_CODES: &str = "Exit codes: 0 strictly serializable; 1 an anomaly; 2 bad input or wrong \
                          usage; 3 could not be decided, or could not do its work.";

/// Checks histories of concurrent transactions for strict serializability.
#[derive(Parser, Debug)]
#[command(name = "clearway-check", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check a recorded history (see docs/history-format.md)
    History(HistoryArgs),
    /// Record histories of a fresh database and check them
    Run(RunArgs),
    /// The child process that `run --crashes` starts and kills
    #[command(hide = true)]
    Incarnation(IncarnationArgs),
}

#[derive(Group, Debug)]
pub(crate) struct HistoryArgs {
    /// The history to check
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write it as EDN too; histories of list-append only
    #[arg(long, value_name = "OUT")]
    pub(crate) edn: Option<PathBuf>,
    /// Use at most about this much memory; report `undecided` where that is too little
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes)]
    pub(crate) memory: usize,
}

/// A number of bytes, or of KiB, MiB or GiB.
fn parse_bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit: usize = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => return Err(format!("{unit:?} is no unit: use KiB, MiB or GiB")),
    };
    let number = digits.parse::<usize>().map_err(|error| error.to_string())?;
    number.checked_mul(unit).ok_or_else(|| "too large".to_owned())
}

#[derive(Clone, Copy, ValueEnum, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Append,
    Register,
    Range,
    Sum,
    Mixed,
    /// One after the other
    All,
}

impl Kind {
    /// The workload of the history `number`.
    pub(crate) fn workload(self, number: u64) -> Workload {
        match self {
            Kind::Append => Workload::Append,
            Kind::Register => Workload::Register,
            Kind::Range => Workload::Range,
            Kind::Sum => Workload::Sum,
            Kind::Mixed => Workload::Mixed,
            Kind::All => Workload::ALL[(number % Workload::ALL.len() as u64) as usize],
        }
    }
}

#[derive(Group, Debug)]
pub(crate) struct RunArgs {
    /// Number of histories [default: 4, or as many as there is time for]
    #[arg(long, value_name = "N")]
    pub(crate) histories: Option<u64>,
    /// Transactions in each history
    #[arg(long, value_name = "N", default_value_t = 5_000,
          value_parser = clap::value_parser!(u64).range(1..400_000))]
    pub(crate) transactions: u64,
    /// The first history's seed; the others follow
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Begin no further history after this many minutes
    #[arg(long, value_name = "M")]
    pub(crate) minutes: Option<f64>,
    /// The workload
    #[arg(long, value_enum, default_value_t = Kind::All)]
    pub(crate) workload: Kind,
    /// Run in a child process and kill it this many times
    #[arg(long, value_name = "K", default_value_t = 0,
          value_parser = clap::value_parser!(u64).range(..1_000))]
    pub(crate) crashes: u64,
    /// Keep all histories here, not only those with an anomaly
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Group, Debug)]
pub(crate) struct IncarnationArgs {
    #[arg(long)]
    pub(crate) database: PathBuf,
    #[arg(long)]
    pub(crate) events: PathBuf,
    #[arg(long, value_enum)]
    pub(crate) workload: Kind,
    #[arg(long)]
    pub(crate) seed: u64,
    #[arg(long)]
    pub(crate) incarnation: u64,
    #[arg(long)]
    pub(crate) issued_before: u64,
}
