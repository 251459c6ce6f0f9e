//! Standard output and standard error, either of which may be closed or full.
//!
//! Standard output carries the command's result, so failing to write to it is a failure. If its
//! reader is gone, as behind `| head`, the command ends without an error. Standard error carries
//! status lines for a user who watches; failing to write to it is no failure.

use std::{
    fmt::Display,
    io::{self, Write},
};

use crate::failure::{Context, Failure, Outcome};

/// Writes the command's result.
pub(crate) fn print(text: impl Display) -> Outcome {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::OutputClosed),
        result => result.with_context(|| "cannot write to standard output".into()),
    }
}

/// Writes a status line to standard error.
pub(crate) fn print_status(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
