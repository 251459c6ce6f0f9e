//! Many independent cases on some threads: counted, caught when they panic, watched for hanging.

use std::{
    cell::RefCell,
    io::{IsTerminal, Write},
    panic::{self, AssertUnwindSafe},
    time::{Duration, Instant},
};

use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use crate::oracles::{Oracle, Violation};

/// A case that takes longer than this hangs.
const CASE_TIME_MAX: Duration = Duration::from_secs(60);
/// Findings that are reported before the rest is given up.
const FINDINGS_MAX: usize = 20;

/// Cases by number, and what is done with each.
pub(crate) struct Cases<Run, Command> {
    /// How many.
    pub(crate) count: usize,
    /// On how many threads.
    pub(crate) jobs: usize,
    /// Runs one.
    pub(crate) run: Run,
    /// The line that repeats one.
    pub(crate) command: Command,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) cases: usize,
    pub(crate) findings: usize,
    pub(crate) took: Duration,
}

/// A violation, and the line that repeats it if it is not the case's.
pub(crate) struct Finding {
    pub(crate) violation: Violation,
    pub(crate) command: Option<String>,
}

impl From<Violation> for Finding {
    fn from(violation: Violation) -> Finding {
        Finding { violation, command: None }
    }
}

struct Progress {
    next: AtomicUsize,
    done: AtomicUsize,
    findings: AtomicUsize,
    stopping: AtomicBool,
    begun: Instant,
    /// What each thread is at, and since when.
    at: Vec<Mutex<Option<(usize, Instant)>>>,
}

impl<Run, Command> Cases<Run, Command>
where
    Run: Fn(usize) -> Result<(), Finding> + Sync,
    Command: Fn(usize) -> String + Sync,
{
    /// Runs all of them, and prints what is found, with the line that repeats it.
    pub(crate) fn run(&self) -> Summary {
        let progress = Progress {
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            findings: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            begun: Instant::now(),
            at: (0..self.jobs).map(|_| Mutex::new(None)).collect(),
        };
        thread::scope(|scope| {
            let work = |at| self.work(&progress, at);
            let workers: Vec<_> =
                progress.at.iter().map(|at| scope.spawn(move || work(at))).collect();
            while !workers.iter().all(|worker| worker.is_finished()) {
                thread::sleep(Duration::from_millis(20));
                self.watch(&progress);
            }
        });
        clear_line();
        // Relaxed, here and below: counters that nothing else hangs on.
        let (cases, findings) =
            (progress.done.load(Ordering::Relaxed), progress.findings.load(Ordering::Relaxed));
        Summary { cases, findings, took: progress.begun.elapsed() }
    }

    fn work(&self, progress: &Progress, at: &Mutex<Option<(usize, Instant)>>) {
        while !progress.stopping.load(Ordering::Relaxed) {
            let number = progress.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                break;
            }
            *at.lock() = Some((number, Instant::now()));
            let result = caught(|| (self.run)(number));
            *at.lock() = None;
            progress.done.fetch_add(1, Ordering::Relaxed);
            let Err(Finding { violation, command }) = result else { continue };
            clear_line();
            println!("{violation}\n  {}", command.unwrap_or_else(|| (self.command)(number)));
            if progress.findings.fetch_add(1, Ordering::Relaxed) + 1 >= FINDINGS_MAX {
                progress.stopping.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Shows progress, and ends everything if a case hangs.
    fn watch(&self, progress: &Progress) {
        for at in &progress.at {
            let Some((number, since)) = *at.lock() else { continue };
            if since.elapsed() > CASE_TIME_MAX {
                clear_line();
                println!("Liveness: the case does not end\n  {}", (self.command)(number));
                println!("given up because of a case that hangs");
                std::process::exit(2);
            }
        }
        if std::io::stderr().is_terminal() {
            let (done, count) = (progress.done.load(Ordering::Relaxed), self.count);
            let findings = progress.findings.load(Ordering::Relaxed);
            let seconds = progress.begun.elapsed().as_secs();
            eprint!("\r{seconds} s: {done} of {count} cases, {findings} findings ");
            let _ = std::io::stderr().flush();
        }
    }
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on panics are kept for the verdicts, instead of being printed.
pub(crate) fn catch_panics() {
    panic::set_hook(Box::new(|info| {
        let detail = info.to_string();
        LAST_PANIC.with_borrow_mut(|last| *last = detail);
    }));
}

/// What `case` says; a panic is a violation.
pub(crate) fn caught<T, E: From<Violation>>(case: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    panic::catch_unwind(AssertUnwindSafe(case)).unwrap_or_else(|_| {
        let detail = LAST_PANIC.with_borrow_mut(std::mem::take);
        Err(Violation::new(Oracle::Panic, detail).into())
    })
}

/// Something that must not be dropped while a panic goes through: an engine is in no state to be
/// closed then, nor a transaction in one to be rolled back.
pub(crate) struct Held<T>(Option<T>);

impl<T> Held<T> {
    pub(crate) fn new(held: T) -> Held<T> {
        Held(Some(held))
    }

    pub(crate) fn into_inner(mut self) -> T {
        self.0.take().expect("it is taken once")
    }
}

impl<T> std::ops::Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is held until it is taken")
    }
}

impl<T> std::ops::DerefMut for Held<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("it is held until it is taken")
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(self.0.take());
        }
    }
}

fn clear_line() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_and_panics_are_counted_and_the_others_run() {
        let run = |number| match number {
            3 => Err(Violation::new(Oracle::Answer, "three").into()),
            5 => panic!("five"),
            _ => Ok(()),
        };
        let summary = Cases { count: 50, jobs: 2, run, command: |n| format!("case {n}") }.run();
        assert_eq!((summary.cases, summary.findings), (50, 2));
    }
}
