//! Repetition of system calls that a signal has interrupted.

use std::io;

use clearway_sync::thread;
use rustix::io::Errno;

/// The number of times that a call is made before an interruption by a signal counts as an error. A
/// process that is interrupted at each of 1,000 calls in a row would never make progress.
const CALLS_MAX: u32 = 1_000;
/// The number of times that a call is repeated at the kernel's request (`EAGAIN`) before that
/// request counts as an error.
const REPEATS_MAX: u32 = 10_000;

/// Repeats a system call that a signal has interrupted, or that the kernel asks to repeat, up to
/// [`CALLS_MAX`] and [`REPEATS_MAX`] times.
pub(super) fn repeating<T>(
    mut call: impl FnMut() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    let (mut interrupted, mut repeats) = (0, 0);
    loop {
        match call() {
            Err(Errno::INTR) if interrupted < CALLS_MAX - 1 => interrupted += 1,
            Err(Errno::AGAIN) if repeats < REPEATS_MAX => {
                repeats += 1;
                thread::yield_now();
            }
            other => return other,
        }
    }
}

/// Converts the error of a call that was made by [`repeating`].
pub(super) fn io_error(errno: Errno) -> io::Error {
    match errno {
        Errno::INTR => {
            let text = format!("signals interrupted it {CALLS_MAX} times in a row");
            io::Error::new(io::ErrorKind::Interrupted, text)
        }
        errno => errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_calls_are_repeated() {
        let mut left = vec![Ok(5), Err(Errno::AGAIN), Err(Errno::INTR), Err(Errno::INTR)];
        assert_eq!(repeating(|| left.pop().unwrap()), Ok(5));
        let forever: rustix::io::Result<()> = repeating(|| Err(Errno::AGAIN));
        assert_eq!(forever, Err(Errno::AGAIN));
    }

    #[test]
    fn a_call_that_is_always_interrupted_ends_in_an_error() {
        let mut calls = 0;
        let result: rustix::io::Result<()> = repeating(|| {
            calls += 1;
            Err(Errno::INTR)
        });
        assert_eq!((result, calls), (Err(Errno::INTR), CALLS_MAX));
        let error = io_error(Errno::INTR);
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(error.to_string().contains("1000 times"), "{error}");
        assert_eq!(io_error(Errno::NOSPC).kind(), io::ErrorKind::StorageFull);
    }
}
