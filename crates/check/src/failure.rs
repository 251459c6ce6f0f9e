//! Failures of the program and their exit codes.

use std::{fmt, path::Path, process::ExitCode};

/// A failure. The exit code depends on its cause.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is wrong.
    Input(String),
    /// The work could not be done.
    Work(String),
}

impl Failure {
    /// Reports an error in the contents of `path`.
    pub(crate) fn input(path: &Path, error: &dyn fmt::Display) -> Failure {
        Failure::Input(format!("{}: {error}", path.display()))
    }

    /// Reports an operation on `path` that failed.
    pub(crate) fn work(path: &Path, error: &dyn fmt::Display) -> Failure {
        Failure::Work(format!("{}: {error}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Input(_) => ExitCode::from(2),
            Failure::Work(_) => ExitCode::from(3),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(text) | Failure::Work(text) => f.write_str(text),
        }
    }
}
