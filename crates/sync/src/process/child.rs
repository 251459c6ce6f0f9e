//! A forked child for tests: runs a closure in it and returns its report.

use std::{
    io::{self, PipeReader, Read, Write, pipe},
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork},
};

/// Interval at which a waiting parent checks for its child's end.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A forked child. One that is dropped without a [`wait`](Child::wait) is killed.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    report: PipeReader,
    is_over: bool,
}

impl Child {
    /// Forks, and runs `body` in the child, whose only thread is a copy of the calling one. The
    /// child ends with `body`, without destructors of anything that `body` does not own and
    /// without the program's exit handlers. An error or a panic becomes its report, which must be
    /// shorter than a pipe's buffer (64 KiB).
    ///
    /// In the child, latches that another thread held at the fork are never released: `body` must
    /// neither print nor use anything that other threads use.
    ///
    /// # Errors
    /// The system's, if there is no pipe or no process.
    pub fn start(body: impl FnOnce() -> Result<(), String>) -> io::Result<Child> {
        let (report, mut writer) = pipe()?;
        // SAFETY: the child allocates, which glibc and musl allow after a fork, runs `body`, and
        // ends without returning to the caller.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Child { pid: child, report, is_over: false }),
            ForkResult::Child => {
                let panicked = |_| Err("the body panicked".to_owned());
                let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(panicked);
                let text = result.as_ref().err().map_or("", String::as_str);
                let is_reported = writer.write_all(text.as_bytes()).is_ok();
                // SAFETY: ends the process; nothing is left that relies on being run.
                unsafe { nix::libc::_exit(i32::from(result.is_err() || !is_reported)) }
            }
        }
    }

    /// The child's process id.
    pub fn id(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Waits for the child's end, at most as long as `limit`; then it is killed.
    ///
    /// # Errors
    /// The child's report, its exit status if it did not end with its body, or a time-out.
    pub fn wait(mut self, limit: Duration) -> Result<(), String> {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => thread::sleep(LOOK_EVERY),
                Ok(WaitStatus::Exited(_, 0)) => {
                    self.is_over = true;
                    return Ok(());
                }
                Ok(WaitStatus::Exited(..)) => {
                    self.is_over = true;
                    let mut text = String::new();
                    let read = self.report.read_to_string(&mut text);
                    return Err(read.map_or_else(|error| error.to_string(), |_| text));
                }
                Ok(other) => {
                    self.is_over = true;
                    return Err(format!("the child ended otherwise: {other:?}"));
                }
                Err(errno) => return Err(format!("cannot wait for the child: {errno}")),
            }
        }
        Err(format!("the child did not end within {limit:?}"))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_over {
            // Best effort: a child that has ended in between is only reaped.
            let _ = kill(self.pid, Signal::SIGKILL);
            let _ = waitpid(self.pid, None);
        }
    }
}
