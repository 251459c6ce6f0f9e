//! Repeating system calls that a signal has interrupted.

use std::io;

use clearway_sync::thread;
use rustix::io::Errno;

/// How often a call that signals interrupt is made before that counts as an error. A process that
/// is interrupted at each of 1,000 calls in a row would never get further.
const CALLS_MAX: u32 = 1_000;
/// How often a call that the kernel asks to make again is repeated before that counts as an error.
const REPEATS_MAX: u32 = 10_000;

/// Repeats a system call that a signal has interrupted, or that the kernel asks to repeat: so often
/// and no more.
pub(super) fn patiently<T>(
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

/// The error of a call that was made [`patiently`].
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
        assert_eq!(patiently(|| left.pop().unwrap()), Ok(5));
        let forever: rustix::io::Result<()> = patiently(|| Err(Errno::AGAIN));
        assert_eq!(forever, Err(Errno::AGAIN));
    }

    #[test]
    fn a_call_that_is_always_interrupted_ends_in_an_error() {
        let mut calls = 0;
        let result: rustix::io::Result<()> = patiently(|| {
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
