//! The `clearway` program: runs benchmarks on a database, verifies it, shows its statistics, dumps
//! its contents and copies it; reorders the queries of C and C++ transactions.
//!
//! Data goes to standard output, progress and errors to standard error. Exit codes:
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | success |
//! | 1 | the data is inconsistent or damaged; `reorder verify`: the programs differ |
//! | 2 | wrong usage |
//! | 3 | the command failed |
//! | 4 | `reorder verify`: no difference, but some queries never ran |
//! | 130 | it was interrupted before there was a result |

mod args;
mod units;

mod backup;
mod bench;
mod contention;
mod dump;
mod failure;
mod output;
mod reorder;
mod stats;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Bench(args) => bench::run(&args.workload),
        Command::Verify(args) => verify::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Reorder(args) => reorder::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.exit_code()
        }
    }
}
