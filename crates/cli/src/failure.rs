//! Why a command failed: what was attempted, and the chain of causes.

use std::{error::Error, fmt, process::ExitCode};

use crate::output::tell;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The data is wrong: exit code 1.
    Unsound(String),
    /// The reader of standard output has gone, which is no failure.
    NobodyReads,
    /// Interrupted before there was a result: exit code 130, 128 + SIGINT as shells expect.
    Interrupted,
    /// The work could not be done: exit code 3; 1 if the cause is damage, 2 if it is an option.
    Failed {
        /// What was attempted.
        doing: String,
        /// Why it did not work.
        cause: Box<dyn Error>,
    },
}

/// What to do about a database that a program uses.
const ALONE: &str = "; this command needs it alone (a program can copy a database that it uses \
                     with Database::backup)";

/// `Result` with a [`Failure`].
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Adds what was attempted to an error.
pub(crate) trait Doing<T> {
    /// Names what was attempted.
    fn doing(self, what: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: Error + 'static> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| Failure::Failed { doing: what(), cause: Box::new(error) })
    }
}

impl Failure {
    /// The documented code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::NobodyReads => ExitCode::SUCCESS,
            Failure::Interrupted => ExitCode::from(130),
            Failure::Unsound(_) => ExitCode::from(1),
            Failure::Failed { cause, .. } if is_damage(cause.as_ref()) => ExitCode::from(1),
            Failure::Failed { cause, .. } if is_usage(cause.as_ref()) => ExitCode::from(2),
            Failure::Failed { .. } => ExitCode::from(3),
        }
    }

    /// Whether the data is damaged.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Failure::Failed { cause, .. } if is_damage(cause.as_ref()))
    }

    /// Says on standard error what went wrong, in one line.
    pub(crate) fn report(&self) {
        if !matches!(self, Failure::NobodyReads) {
            tell(format_args!("clearway: {self}"));
        }
    }
}

/// Whether the error, or what stopped the engine, is damage.
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
            Failure::Unsound(what) => f.write_str(what),
            Failure::NobodyReads => f.write_str("nobody reads the output"),
            Failure::Interrupted => f.write_str("interrupted"),
            Failure::Failed { doing, cause } => {
                let mut line = cause.to_string();
                // Some messages begin with what was attempted themselves.
                if !line.starts_with(doing.as_str()) {
                    line = format!("{doing}: {line}");
                }
                let mut next = cause.source();
                while let Some(cause) = next {
                    // Many messages name their cause themselves.
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
        let failure = Err::<(), _>(error).doing(|| "cannot dump bank".into()).unwrap_err();
        assert_eq!(failure.to_string(), "cannot dump bank: cannot read data: the cable is out");
    }

    #[test]
    fn a_database_in_use_is_told_with_what_to_do() {
        let error = clearway::Error::AlreadyOpen { path: "bank".into(), process: Some(1) };
        let failure = Err::<(), _>(error).doing(|| "cannot open bank".into()).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "cannot open bank: bank is in use by process 1; this command needs it alone (a program \
             can copy a database that it uses with Database::backup)"
        );
    }

    #[test]
    fn damage_and_failure_have_their_own_exit_codes() {
        let code = |error: clearway::Error| {
            Err::<(), _>(error).doing(String::new).unwrap_err().exit_code()
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
