//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use clearway::{CommitMode, Staging};
use clearway_workloads::Commit;

use crate::bench::{TatpArgs, TpcbArgs, TpccArgs};
use crate::reorder::ReorderArgs;
use crate::units::{parse_duration, parse_seconds, parse_size};

const EXIT_CODES: &str = "Exit codes: 0 success; 1 the data is inconsistent or damaged; \
                          2 wrong usage; 3 the command failed.";

/// A durable, serializable transaction engine: benchmark, verify, inspect and copy databases
#[derive(Parser, Debug)]
#[command(name = "clearway", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a benchmark on a database and check the data afterwards
    Bench(BenchArgs),
    /// Check every page, tree and free-space map of a database
    Verify(InspectArgs),
    /// Report what is in a database and what opening it had to recover
    Stats(InspectArgs),
    /// Write a database's contents as stable text
    #[command(
        after_help = "Format: a line `table NAME`, then a line `KEY VALUE` for each entry in \
                            key order, then a line `end`. Bytes other than graphic ASCII, and the \
                            backslash, are written \\xNN.\n\nExample: clearway dump bank -t account"
    )]
    Dump(DumpArgs),
    /// Copy a database to an absent or empty directory
    #[command(after_help = "Example: clearway backup bank bank-monday")]
    Backup(BackupArgs),
    /// Reorder the queries of C and C++ transactions, so that contended rows are locked late
    Reorder(Box<ReorderArgs>),
}

#[derive(Group, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) workload: BenchWorkload,
}

#[derive(Subcommand, Debug)]
pub(crate) enum BenchWorkload {
    /// TPC-B: debit and credit on accounts, tellers, branches and a history
    #[command(after_help = "Example, one hot row in every transaction:\n  \
                            clearway bench tpcb --branches 1 --clients 256")]
    Tpcb(BenchOf<TpcbArgs>),
    /// TATP: seven very short transactions on a mobile network's subscribers
    #[command(after_help = "Example, updates only:\n  \
                            clearway bench tatp --only update-location")]
    Tatp(BenchOf<TatpArgs>),
    /// TPC-C: orders, payments and deliveries of a wholesale supplier
    #[command(after_help = "Example, one warehouse that all pay at:\n  \
                            clearway bench tpcc --warehouses 1 --only payment")]
    Tpcc(BenchOf<TpccArgs>),
}

/// A benchmark: the options of its workload, then the options that all benchmarks have.
#[derive(Group, Debug)]
pub(crate) struct BenchOf<W: Group> {
    #[command(flatten)]
    pub(crate) workload: W,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// The options that all benchmarks have.
#[derive(Group, Debug)]
pub(crate) struct RunArgs {
    /// Directory of the database; data that are already there are reused [default: a temporary one,
    /// removed afterwards]
    #[arg(long, value_name = "D")]
    pub(crate) dir: Option<PathBuf>,
    /// Clients, spread over the threads; each has one transaction in flight, except while it thinks
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..1 << 24))]
    pub(crate) clients: u32,
    /// Agent threads [default: one for each processor if pipelined, for each client if blocking]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Duration of the run, in seconds
    #[arg(long, default_value = "10", value_parser = parse_seconds)]
    pub(crate) seconds: Duration,
    /// Run exactly this number of transactions, over all clients, instead of for a time.
    ///
    /// Each client runs a fixed share of them and draws them from the seed, so a single client runs
    /// the same sequence of transactions every time. The number of instructions of a transaction is
    /// the difference between two such runs under callgrind, of N and of 2 N transactions, divided
    /// by N; it includes the transaction's part of the check of the data. The program may wait up
    /// to a second after the last transaction; no reported time includes that wait.
    #[arg(long, value_name = "N", conflicts_with = "seconds",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Way of waiting for commits
    #[arg(long, value_enum, default_value_t = CommitArg::Pipelined)]
    pub(crate) commit: CommitArg,
    /// Make every log flush take at least this long, such as 1ms
    #[arg(long, value_name = "T", default_value = "0", hide_default_value = true,
          value_parser = parse_duration)]
    pub(crate) log_delay: Duration,
    /// Group-commit delay: time after the start of a flush in which commits without a waiter start
    /// no other flush
    #[arg(long, value_name = "T", default_value = "100us", value_parser = parse_duration)]
    pub(crate) group_commit_delay: Duration,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    pub(crate) cache: u64,
    /// Disk space for the log
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    pub(crate) log_capacity: u64,
    /// Execution of transactions: whether they read their pages before they lock rows
    #[arg(long, value_enum, default_value_t = StagingArg::Automatic)]
    pub(crate) staging: StagingArg,
    /// Keep everything in memory: no disk, no durability, for comparison
    #[arg(long, conflicts_with = "dir")]
    pub(crate) memory: bool,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object instead of the report
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub(crate) enum CommitArg {
    /// A thread runs other clients while a commit is flushed
    Pipelined,
    /// A thread waits for each commit
    Blocking,
    /// No client waits: a crash can lose the commits that were acknowledged last
    Lazy,
}

impl From<CommitArg> for CommitMode {
    fn from(arg: CommitArg) -> CommitMode {
        match arg {
            CommitArg::Pipelined | CommitArg::Blocking => CommitMode::Durable,
            CommitArg::Lazy => CommitMode::Lazy,
        }
    }
}

impl From<CommitArg> for Commit {
    fn from(arg: CommitArg) -> Commit {
        match arg {
            // A lazy commit is acknowledged at once, so there is nothing to wait for.
            CommitArg::Pipelined | CommitArg::Lazy => Commit::Pipelined,
            CommitArg::Blocking => Commit::Blocking,
        }
    }
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub(crate) enum StagingArg {
    /// Hybrid for types that read, while transactions wait for locks behind reads
    Automatic,
    /// Once, under locks
    Conventional,
    /// First without locks, to read the pages, and then for good
    TwoStage,
    /// Under locks, and in two stages from the first page on that is not in memory
    Optimistic,
    /// By the last runs of the type
    Hybrid,
}

impl From<StagingArg> for Staging {
    fn from(arg: StagingArg) -> Staging {
        match arg {
            StagingArg::Automatic => Staging::Automatic,
            StagingArg::Conventional => Staging::Conventional,
            StagingArg::TwoStage => Staging::TwoStage,
            StagingArg::Optimistic => Staging::Optimistic,
            StagingArg::Hybrid => Staging::Hybrid,
        }
    }
}

/// Options for opening an existing database.
#[derive(Group, Debug)]
pub(crate) struct OpenArgs {
    /// Directory of the database
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = parse_size)]
    pub(crate) cache: u64,
}

#[derive(Group, Debug)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Group, Debug)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Only this table
    #[arg(short, long, value_name = "T")]
    pub(crate) table: Option<String>,
}

#[derive(Group, Debug)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Target: an absent or empty directory
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
}

impl OpenArgs {
    /// Opens the database, which must exist.
    pub(crate) fn open(&self) -> crate::failure::Outcome<clearway::Database> {
        use crate::failure::Context;
        clearway::Options::new()
            .create(clearway::Creation::Never)
            .cache_size(self.cache)
            .open(&self.dir)
            .with_context(|| format!("cannot open {}", self.dir.display()))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clearway_workloads::{Skew, TatpTransaction, TpccThink, TpccTransaction};

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_documented_options_are_read() {
        let line = "clearway bench tpcb --dir d --branches 2 --clients 8 --threads 2 --seconds 0.5 \
                    --skew zipf=0.9 --commit blocking --log-delay 1ms \
                    --cache 64MiB --seed 7 --json";
        let Command::Bench(bench) = Args::parse_from(line.split(' ')).command else {
            panic!("not bench")
        };
        let BenchWorkload::Tpcb(BenchOf { workload: tpcb, run }) = bench.workload else {
            panic!("not TPC-B")
        };
        assert_eq!((tpcb.branches, tpcb.skew), (2, Skew::Zipf(0.9)));
        assert_eq!((run.clients, run.threads), (8, Some(2)));
        assert_eq!(run.seconds, Duration::from_millis(500));
        assert_eq!(run.log_delay, Duration::from_millis(1));
        assert_eq!(run.group_commit_delay, Duration::from_micros(100));
        assert_eq!(run.cache, 64 << 20);
        assert!(run.json);
    }

    #[test]
    fn the_other_benchmarks_take_the_same_options_and_their_own() {
        let line = "clearway bench tatp --subscribers 500 --only update-location --clients 8";
        let Command::Bench(bench) = Args::parse_from(line.split(' ')).command else {
            panic!("not bench")
        };
        let BenchWorkload::Tatp(BenchOf { workload: tatp, run }) = bench.workload else {
            panic!("not TATP")
        };
        assert_eq!((tatp.subscribers, run.clients), (500, 8));
        assert_eq!(tatp.only, Some(TatpTransaction::UpdateLocation));
        let line = "clearway bench tpcc --warehouses 3 --small --only payment --think spec";
        let Command::Bench(bench) = Args::parse_from(line.split(' ')).command else {
            panic!("not bench")
        };
        let BenchWorkload::Tpcc(BenchOf { workload: tpcc, .. }) = bench.workload else {
            panic!("not TPC-C")
        };
        assert_eq!((tpcc.warehouses, tpcc.small), (3, true));
        assert_eq!(tpcc.only, Some(TpccTransaction::Payment));
        assert_eq!(TpccThink::from(tpcc.think), TpccThink::Spec);
    }

    #[test]
    fn invalid_options_are_refused() {
        for line in [
            "clearway bench tpcb --branches 0",
            "clearway bench tpcb --skew hot",
            "clearway bench tpcb --cache lots",
            "clearway bench tpcb --log-delay 5",
            "clearway bench tpcb --count 0",
            "clearway bench tatp --count 5 --seconds 2",
            "clearway bench tatp --subscribers 0",
            "clearway bench tatp --only something",
            "clearway bench tatp --branches 2",
            "clearway bench tpcc --warehouses 0",
            "clearway bench tpcc --only update-location",
            "clearway bench tpcc --think hard",
            "clearway verify",
        ] {
            assert!(Args::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
