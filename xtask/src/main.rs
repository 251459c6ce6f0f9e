//! The project's own chores, run as `cargo xtask <chore>`.

mod prove;
mod tidy;

use std::{path::Path, process::ExitCode};

const USAGE: &str = "\
usage: cargo xtask <chore>

  tidy                                             check the house rules: sizes, layers, doors,
                                                   words and links
  prove [--minutes M] [--seed S] [--lane L]...     run the lanes of the proof harness; without
                                                   minutes, what every CI run does";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tidy"] => run_tidy(),
        ["prove", ref options @ ..] => match prove::parse(options) {
            Ok(request) => prove::run(root(), &request),
            Err(error) => {
                clearway_console::tell!("{error}\n{USAGE}");
                ExitCode::from(2)
            }
        },
        ["help" | "--help" | "-h"] => {
            clearway_console::say!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            clearway_console::tell!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent")
}

fn run_tidy() -> ExitCode {
    match tidy::check(root()) {
        Ok(report) => {
            for violation in &report.violations {
                clearway_console::say!("{violation}");
            }
            clearway_console::say!("tidy: {}", report.summary);
            if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            clearway_console::tell!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}
