//! The project's own tasks, run as `cargo xtask <chore>`.

mod mutants;
mod prove;
mod tidy;

use std::{path::Path, process::ExitCode};

const USAGE: &str = "\
usage: cargo xtask <chore>

  tidy                                             check the house rules: sizes, layers, forbidden
                                                   APIs, words and links
  language [crate]                                 list what breaks the rules of the language, which
                                                   tidy checks too
  mutants                                          copy the sources with all planted bugs to
                                                   target/mutants
  prove [--minutes M] [--seed S] [--lane L]... [--no-run]
                                                   run the lanes of the proof harness; without
                                                   minutes, what every CI run does; --no-run only
                                                   builds their programs";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tidy"] => run_tidy(),
        ["language"] => list_language(None),
        ["language", area] if !area.starts_with('-') => list_language(Some(area)),
        ["mutants"] => plant_mutants(),
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

fn list_language(area: Option<&str>) -> ExitCode {
    match tidy::language_violations(root(), area) {
        Ok(found) => {
            for violation in &found {
                clearway_console::say!("{violation}");
            }
            clearway_console::say!("language: {} findings", found.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            clearway_console::tell!("language: {error}");
            ExitCode::FAILURE
        }
    }
}

fn plant_mutants() -> ExitCode {
    match mutants::plant(root()) {
        Ok((copy, count)) => {
            clearway_console::say!("mutants: {count} planted in {}", copy.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            clearway_console::tell!("mutants: {error}");
            ExitCode::FAILURE
        }
    }
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
