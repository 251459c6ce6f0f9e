//! Reasons why the two programs could not be compared.

use std::{fmt, io, path::PathBuf};

/// A reason why the original and the rewritten program could not be compared.
#[derive(Debug)]
pub enum VerifyError {
    /// The file does not define the function.
    NoFunction {
        /// The name that was asked for.
        function: String,
        /// The path of the file.
        path: String,
    },
    /// The function is a method, and no object can be made to call it.
    Method {
        /// The qualified name.
        function: String,
    },
    /// A parameter has a type of which no inputs can be made.
    Parameter {
        /// The place of the value: `input.lines`.
        place: String,
        /// The error in it.
        reason: String,
    },
    /// The header of the database interface is missing.
    Header {
        /// The name of the header.
        header: &'static str,
        /// The command that installs it.
        install: &'static str,
    },
    /// A compiler or another program could not be started.
    Start {
        /// The program.
        program: String,
        /// The reason.
        error: io::Error,
    },
    /// A program does not compile or link.
    Compile {
        /// The program or file that was compiled: `the original program, payment.c,`.
        what: String,
        /// The message of the compiler.
        message: String,
    },
    /// A program does what the mock cannot do.
    Unsupported(String),
    /// A file of the comparison could not be written or read.
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A log has a line that is not one of the mock's.
    Log {
        /// The line.
        line: String,
        /// The error in it.
        reason: String,
    },
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFunction { function, path } => {
                write!(f, "{path}: no function `{function}` is defined; name one with --function")
            }
            Self::Method { function } => write!(
                f,
                "`{function}` is a method, and verify makes no object to call it: add a function \
                 to the file that gets the connection and the parameters, makes the object and \
                 calls the method; reorder this file with --function {function} and -o, and then \
                 compare the two by `verify --function` with the name of the new function and \
                 --against with the reordered file"
            ),
            Self::Parameter { place, reason } => {
                write!(f, "no inputs can be made for `{place}`: {reason}")
            }
            Self::Header { header, install } => write!(f, "{header} is not found: {install}"),
            Self::Start { program, error } => {
                write!(f, "{program} cannot be started: {error}; set CC or CXX to a compiler")
            }
            Self::Compile { what, message } => {
                let hint = compile_hint(message);
                write!(f, "{what} does not compile with the mock: {hint}\n{message}")
            }
            Self::Unsupported(what) => write!(f, "the mock cannot run the program: {what}"),
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Log { line, reason } => {
                write!(f, "the mock's log has a bad line ({reason}): {line}")
            }
        }
    }
}

/// Returns what to do about a message of the compiler, which stands below it.
fn compile_hint(message: &str) -> &'static str {
    if message.contains("undefined reference") {
        "name the files that define the functions below with --source"
    } else if message.contains("No such file or directory") {
        "give the flags with which it finds its headers behind `--`, such as -I"
    } else {
        "correct it, or give the flags of its build behind `--`; if it is a wrapper that needs \
         more of the database's interface than the mock has, write one for the comparison that \
         calls what the mock has, and name that with --source"
    }
}

impl std::error::Error for VerifyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start { error, .. } | Self::File { error, .. } => Some(error),
            _ => None,
        }
    }
}
