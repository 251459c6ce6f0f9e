//! Standard output and standard error, either of which may be closed or full.
//!
//! What is written to standard output is the command's result, so failing to write it is a failure;
//! but if nobody reads on, as behind `| head`, the command just ends. What is written to standard
//! error is for a person who watches; failing to write it is no failure.

use std::{
    fmt::Display,
    io::{self, Write},
};

use crate::failure::{Doing, Failure, Outcome};

/// Writes the command's result.
pub(crate) fn print(text: impl Display) -> Outcome {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::NobodyReads),
        result => result.doing(|| "cannot write to standard output".into()),
    }
}

/// Writes a line for the person who watches.
pub(crate) fn tell(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
