//! The `clearway-check` program: checks histories, and records histories to check.
//!
//! | exit code | meaning |
//! | --- | --- |
//! | 0 | strictly serializable |
//! | 1 | an anomaly |
//! | 2 | bad input or wrong usage |
//! | 3 | undecided, or the program could not do its work |

mod args;
mod failure;
mod incarnations;
mod run;

use std::{
    fs::File,
    io::{BufReader, BufWriter},
    process::ExitCode,
};

use clap::Parser;
use clearway_check::{Level, Report, check_within, edn, format};

use args::{Args, Command, HistoryArgs};
use failure::Failure;

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::History(args) => check_file(&args),
        Command::Run(args) => run::run(&args),
        Command::Incarnation(args) => incarnations::work(&args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            clearway_console::tell!("clearway-check: {failure}");
            failure.exit_code()
        }
    }
}

/// The exit code for a report.
fn exit_code(report: &Report) -> u8 {
    match (report.is_valid(), report.undecided) {
        (false, _) => 1,
        (true, 0) => 0,
        (true, _) => 3,
    }
}

fn check_file(args: &HistoryArgs) -> Result<u8, Failure> {
    let file = File::open(&args.file).map_err(|error| Failure::input(&args.file, &error))?;
    let wrong = |error: format::FormatError| Failure::input(&args.file, &error);
    let history = format::read(BufReader::new(file)).map_err(wrong)?;
    if let Some(path) = &args.edn {
        let out = File::create(path).map_err(|error| Failure::work(path, &error))?;
        edn::write(&history, BufWriter::new(out)).map_err(|error| match error {
            edn::EdnError::Io(_) => Failure::work(path, &error),
            edn::EdnError::NotListAppend(_) => Failure::input(&args.file, &error),
        })?;
    }
    let level = Level::StrictSerializable;
    let report = check_within(&history, level, args.memory).map_err(wrong)?;
    clearway_console::offer!("{report}");
    Ok(exit_code(&report))
}
