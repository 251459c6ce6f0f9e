//! The project's own chores, run as `cargo xtask <chore>`.

mod tidy;

use std::{path::Path, process::ExitCode};

const USAGE: &str = "usage: cargo xtask tidy\n\n  tidy   check the house rules: sizes, layers, \
                     doors, words and links";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tidy"] => run_tidy(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent");
    match tidy::check(root) {
        Ok(report) => {
            for violation in &report.violations {
                println!("{violation}");
            }
            println!("tidy: {}", report.summary);
            if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}
