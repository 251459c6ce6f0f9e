//! The failure of a command: what was attempted, and the chain of causes.

use std::{error::Error, fmt, process::ExitCode};

use crate::output::print_status;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The data are inconsistent: exit code 1.
    Inconsistent(String),
    /// Nothing was found to be wrong, but not everything was examined: exit code 4.
    Incomplete(String),
    /// The reader of standard output is gone: exit code 0.
    OutputClosed,
    /// Interrupted before there was a result: exit code 130, 128 + SIGINT as shells expect.
    Interrupted,
    /// The work could not be done: exit code 3; 1 if the cause is damage, 2 if it is an option.
    Failed {
        /// The attempted operation.
        attempt: String,
        /// The error that ended it.
        cause: Box<dyn Error>,
    },
}

/// The remedy for a database that another program has open.
const ALONE: &str = "; this command needs it alone (a program can copy a database that it uses \
                     with Database::backup)";

/// `Result` with a [`Failure`].
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Adds the attempted operation to an error.
pub(crate) trait Context<T> {
    /// Converts an error to a [`Failure`] that names the attempted operation.
    fn with_context(self, attempt: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: Error + 'static> Context<T> for Result<T, E> {
    fn with_context(self, attempt: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| Failure::Failed { attempt: attempt(), cause: Box::new(error) })
    }
}

impl Failure {
    /// Returns the documented exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::OutputClosed => ExitCode::SUCCESS,
            Failure::Interrupted => ExitCode::from(130),
            Failure::Inconsistent(_) => ExitCode::from(1),
            Failure::Incomplete(_) => ExitCode::from(4),
            Failure::Failed { cause, .. } if is_damage(cause.as_ref()) => ExitCode::from(1),
            Failure::Failed { cause, .. } if is_usage(cause.as_ref()) => ExitCode::from(2),
            Failure::Failed { .. } => ExitCode::from(3),
        }
    }

    /// Returns true if the cause is damage to the database.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Failure::Failed { cause, .. } if is_damage(cause.as_ref()))
    }

    /// Reports the failure on standard error, in one line.
    pub(crate) fn report(&self) {
        if !matches!(self, Failure::OutputClosed) {
            print_status(format_args!("clearway: {self}"));
        }
    }
}

/// Returns true if the error is damage to the database, or has such a cause, for example the error
/// that stopped the engine.
pub(crate) fn is_damage(error: &(dyn Error + 'static)) -> bool {
    use clearway::Error::{Corrupt, CorruptPage, ForeignLog};
    let mut next = Some(error);
    while let Some(error) = next {
        if matches!(
            error.downcast_ref(),
            Some(Corrupt { .. } | CorruptPage { .. } | ForeignLog { .. })
        ) {
            return true;
        }
        next = error.source();
    }
    false
}

fn is_usage(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(clearway::Error::BadOption { .. }))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Inconsistent(what) | Failure::Incomplete(what) => f.write_str(what),
            Failure::OutputClosed => f.write_str("standard output is closed"),
            Failure::Interrupted => f.write_str("interrupted"),
            Failure::Failed { attempt, cause } => {
                let mut line = cause.to_string();
                // Some causes already begin with the attempted operation.
                if !line.starts_with(attempt.as_str()) {
                    line = format!("{attempt}: {line}");
                }
                let mut next = cause.source();
                while let Some(cause) = next {
                    // Many messages already contain their cause.
                    let text = cause.to_string();
                    if !line.contains(&text) {
                        line.push_str(": ");
                        line.push_str(&text);
                    }
                    next = cause.source();
                }
                if matches!(cause.downcast_ref(), Some(clearway::Error::AlreadyOpen { .. })) {
                    line.push_str(ALONE);
                }
                f.write_str(&line)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_named_once() {
        let io = std::io::Error::other("the cable is out");
        let error = clearway::Error::Io {
            operation: "read",
            path: "data".into(),
            source: std::sync::Arc::new(io),
        };
        let failure = Err::<(), _>(error).with_context(|| "cannot dump bank".into()).unwrap_err();
        assert_eq!(failure.to_string(), "cannot dump bank: cannot read data: the cable is out");
    }

    #[test]
    fn a_database_in_use_is_reported_with_a_remedy() {
        let error = clearway::Error::AlreadyOpen { path: "bank".into(), process: Some(1) };
        let failure = Err::<(), _>(error).with_context(|| "cannot open bank".into()).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "cannot open bank: bank is in use by process 1; this command needs it alone (a program \
             can copy a database that it uses with Database::backup)"
        );
    }

    #[test]
    fn damage_and_failure_have_their_own_exit_codes() {
        let code = |error: clearway::Error| {
            Err::<(), _>(error).with_context(String::new).unwrap_err().exit_code()
        };
        let damage = clearway::Error::Corrupt { what: "page", detail: "torn".into() };
        assert_eq!(code(damage), ExitCode::from(1));
        assert_eq!(code(clearway::Error::Closed), ExitCode::from(3));
        let damage = clearway::Error::Corrupt { what: "page", detail: "torn".into() };
        let stopped = clearway::Error::Poisoned { cause: std::sync::Arc::new(damage) };
        assert_eq!(code(stopped), ExitCode::from(1));
        let usage = clearway::Error::BadOption { option: "cache_size", detail: "tiny".into() };
        assert_eq!(code(usage), ExitCode::from(2));
    }
}
