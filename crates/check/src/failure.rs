//! Why the program could not do what it was asked.

use std::{fmt, path::Path, process::ExitCode};

/// A failure, whose exit code depends on whose fault it is.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is at fault.
    Input(String),
    /// The work could not be done.
    Work(String),
}

impl Failure {
    /// Something is wrong with what is in `path`.
    pub(crate) fn input(path: &Path, error: &dyn fmt::Display) -> Failure {
        Failure::Input(format!("{}: {error}", path.display()))
    }

    /// Something could not be done with `path`.
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
