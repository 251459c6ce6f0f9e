//! Standard output and standard error for the programs around the engine.
//!
//! Either may be closed: by `| head`, which reads a few lines and exits, or by a parent that died.
//! `println!` panics in that case, in the middle of the work. These macros do not: [`say!`] ends
//! the process as the signal `SIGPIPE` would, since no further result would be read; [`offer!`] and
//! [`tell!`] continue without a reader.
//!
//! With the feature `table`, `table` makes text tables.

#[cfg(feature = "table")]
mod table;

#[cfg(feature = "table")]
pub use table::table;

use std::{
    fmt::Arguments,
    io::{self, ErrorKind, Write},
    process,
};

/// The exit code of a program that has lost its reader: 128 + 13, as shells report `SIGPIPE`.
const READER_GONE: i32 = 141;
/// The exit code of a program that cannot write its results, on a full disk for example.
const CANNOT_WRITE: i32 = 3;

/// Prints a line on standard output. If the reader is gone, the process exits.
#[macro_export]
macro_rules! say {
    () => { $crate::say_line(format_args!("")) };
    ($($argument:tt)*) => { $crate::say_line(format_args!($($argument)*)) };
}

/// Prints a line on standard output, and ignores a missing reader: for a program whose exit code
/// carries the same result.
#[macro_export]
macro_rules! offer {
    ($($argument:tt)*) => { $crate::offer_line(format_args!($($argument)*)) };
}

/// Prints a line on standard error, and ignores a missing reader.
#[macro_export]
macro_rules! tell {
    ($($argument:tt)*) => { $crate::tell_line(format_args!($($argument)*)) };
}

#[doc(hidden)]
pub fn say_line(line: Arguments<'_>) {
    match write_line(&mut io::stdout().lock(), line) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => process::exit(READER_GONE),
        Err(error) => cannot_write(&error),
    }
}

#[doc(hidden)]
pub fn offer_line(line: Arguments<'_>) {
    match write_line(&mut io::stdout().lock(), line) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => cannot_write(&error),
        _ => {}
    }
}

#[doc(hidden)]
pub fn tell_line(line: Arguments<'_>) {
    // Messages on standard error matter only to a reader who watches them, so a failed write is
    // ignored.
    let _ = write_line(&mut io::stderr().lock(), line);
}

/// Writes a part of a progress line on standard error. The line ends where it began.
pub fn tell_part(text: Arguments<'_>) {
    let mut output = io::stderr().lock();
    let _ = output.write_fmt(text).and_then(|()| output.flush());
}

fn write_line(output: &mut impl Write, line: Arguments<'_>) -> io::Result<()> {
    writeln!(output, "{line}")?;
    output.flush()
}

fn cannot_write(error: &io::Error) -> ! {
    tell_line(format_args!("cannot write to standard output: {error}"));
    process::exit(CANNOT_WRITE)
}
