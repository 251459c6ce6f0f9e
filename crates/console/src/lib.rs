//! Standard output and standard error of the programs around the engine.
//!
//! Either may be closed: by `| head`, which reads a few lines and ends, or by a parent that died.
//! `println!` panics then, in the middle of the work. These macros do not: [`say!`] ends the
//! process as the signal `SIGPIPE` would, since nothing it still finds would be read; [`offer!`]
//! and [`tell!`] go on without their reader.

use std::{
    fmt::Arguments,
    io::{self, ErrorKind, Write},
    process,
};

/// The exit code of a program that has lost its reader: what shells report for `SIGPIPE`, 128 + 13.
const READER_GONE: i32 = 141;
/// The exit code of a program that cannot write its results, on a full disk for example.
const CANNOT_WRITE: i32 = 3;

/// Prints a line on standard output. If nobody reads it, the process ends.
#[macro_export]
macro_rules! say {
    () => { $crate::say_line(format_args!("")) };
    ($($argument:tt)*) => { $crate::say_line(format_args!($($argument)*)) };
}

/// Prints a line on standard output, if somebody reads it: for a program whose exit code says the
/// same.
#[macro_export]
macro_rules! offer {
    ($($argument:tt)*) => { $crate::offer_line(format_args!($($argument)*)) };
}

/// Prints a line on standard error, if somebody reads it.
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
    // What is told there matters to nobody else than who watches.
    let _ = write_line(&mut io::stderr().lock(), line);
}

/// Writes the parts of a progress line, which ends where it began, on standard error.
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
