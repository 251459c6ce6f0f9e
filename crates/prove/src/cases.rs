//! Runs many independent cases one after the other: counts them, catches their panics, and detects
//! a case that hangs.

use std::{
    cell::RefCell,
    io::{self, IsTerminal},
    panic::{self, AssertUnwindSafe},
    time::{Duration, Instant},
};

use clearway_sync::{
    Broken, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use crate::{
    oracles::{Oracle, Violation},
    shards::Shard,
};

/// A case that takes longer than this counts as hanging. The time is that of the watchdog thread
/// (`WatchTime`).
const CASE_TIME_MAX: Duration = Duration::from_secs(60);
/// The time between two checks of the watchdog thread.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the number of findings after which a lane skips the remaining cases. One finding catches
/// a mutant.
fn findings_max() -> u64 {
    if std::env::var_os(crate::mutants::VARIABLE).is_some() { 1 } else { 10 }
}

/// Numbered cases, and the functions that run and reproduce one of them.
pub(crate) struct Cases<Run, Command> {
    /// The cases that this process runs.
    pub(crate) shard: Shard,
    /// The number of cases of all processes; unlimited if `None`.
    pub(crate) count: Option<u64>,
    /// The time limit.
    pub(crate) time: Option<Duration>,
    /// Runs the case of a given number.
    pub(crate) run: Run,
    /// Returns the command line that reproduces the case of a given number.
    pub(crate) command: Command,
}

/// The result of a run over all cases of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) cases: u64,
    pub(crate) findings: u64,
    /// True if the run was stopped after `findings_max` findings.
    pub(crate) is_given_up: bool,
}

impl Summary {
    /// Returns true if every case was run and passed.
    pub(crate) fn all_passed(&self) -> bool {
        self.findings == 0 && !self.is_given_up
    }
}

/// A violation, and the command line that reproduces it if it differs from that of the case.
pub(crate) struct Finding {
    pub(crate) violation: Violation,
    pub(crate) command: Option<String>,
}

impl From<Violation> for Finding {
    fn from(violation: Violation) -> Finding {
        Finding { violation, command: None }
    }
}

/// The progress of the working thread, shared with the watchdog thread.
struct Progress {
    done: AtomicU64,
    findings: AtomicU64,
    findings_max: u64,
    begun: Instant,
    /// The number of the running case.
    at: Mutex<Option<u64>>,
    has_ended: AtomicBool,
}

impl<Run, Command> Cases<Run, Command>
where
    Run: FnMut(u64) -> Result<(), Finding>,
    Command: Fn(u64) -> String + Sync,
{
    /// Runs all cases, and prints each finding with the command line that reproduces it.
    pub(crate) fn run(self) -> Summary {
        let Cases { shard, count, time, mut run, command } = self;
        let progress = Progress {
            done: AtomicU64::new(0),
            findings: AtomicU64::new(0),
            findings_max: findings_max(),
            begun: Instant::now(),
            at: Mutex::new(None),
            has_ended: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            let watcher = scope.spawn(|| progress.watch(shard, &command));
            for number in shard.numbers().take_while(|number| count.is_none_or(|all| *number < all))
            {
                let is_late = time.is_some_and(|time| progress.begun.elapsed() >= time);
                if is_late || progress.is_given_up() {
                    break;
                }
                progress.case(number, &mut run, &command);
            }
            progress.has_ended.store(true, Ordering::Release);
            watcher.thread().unpark();
        });
        clear_line();
        // Relaxed, here and below: no other data is published through these counters.
        Summary {
            cases: progress.done.load(Ordering::Relaxed),
            findings: progress.findings.load(Ordering::Relaxed),
            is_given_up: progress.is_given_up(),
        }
    }
}

impl Progress {
    fn is_given_up(&self) -> bool {
        // A broken invariant has stopped all engines of the process, those of later cases included.
        let is_stopped = clearway_sync::broken().is_some();
        is_stopped || self.findings.load(Ordering::Relaxed) >= self.findings_max
    }

    fn case(
        &self,
        number: u64,
        run: &mut impl FnMut(u64) -> Result<(), Finding>,
        command: &impl Fn(u64) -> String,
    ) {
        *self.at.lock() = Some(number);
        let result = caught(|| run(number)).and_then(|()| check_invariants());
        *self.at.lock() = None;
        self.done.fetch_add(1, Ordering::Relaxed);
        if let Err(finding) = result {
            clear_line();
            let line = finding.command.unwrap_or_else(|| command(number));
            clearway_console::say!("{}\n  {line}", finding.violation);
            self.findings.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Shows progress, and exits the process if a case hangs.
    fn watch(&self, shard: Shard, command: &impl Fn(u64) -> String) {
        let mut time = WatchTime::new(Instant::now());
        while !self.has_ended.load(Ordering::Acquire) {
            thread::park_timeout(WATCH_INTERVAL);
            let running = *self.at.lock();
            if let Some(number) = running
                && time.of_case(number, Instant::now()) > CASE_TIME_MAX
            {
                clear_line();
                clearway_console::say!("Liveness: the case does not end\n  {}", command(number));
                clearway_console::say!("given up because of a case that hangs");
                std::process::exit(2);
            }
            if shard.is_first() && io::stderr().is_terminal() {
                let (done, findings) =
                    (self.done.load(Ordering::Relaxed), self.findings.load(Ordering::Relaxed));
                let seconds = self.begun.elapsed().as_secs();
                clearway_console::tell_part(format_args!(
                    "\r{seconds} s: {done} cases in the first shard, {findings} findings "
                ));
            }
        }
    }
}

/// The time for which the watchdog thread has seen one case run.
///
/// It is not the elapsed time: while the process is stopped, or the machine runs other processes,
/// the watchdog thread stands still as the case does, and an interval between two checks counts for
/// at most twice its planned length. It is not the processor time either, which a case that waits
/// for ever does not use.
struct WatchTime {
    case: Option<u64>,
    seen: Duration,
    last: Instant,
}

impl WatchTime {
    fn new(now: Instant) -> WatchTime {
        WatchTime { case: None, seen: Duration::ZERO, last: now }
    }

    /// Returns the time for which case `number`, which runs `now`, has been seen.
    fn of_case(&mut self, number: u64, now: Instant) -> Duration {
        if self.case == Some(number) {
            self.seen += now.duration_since(self.last).min(WATCH_INTERVAL * 2);
        } else {
            (self.case, self.seen) = (Some(number), Duration::ZERO);
        }
        self.last = now;
        self.seen
    }
}

/// Checks that no invariant was broken. Where a case expects that the engine stops, as after an I/O
/// error, it does not see that this was the cause.
fn check_invariants() -> Result<(), Finding> {
    match clearway_sync::broken() {
        None => Ok(()),
        Some(Broken { what, place }) => {
            let detail = format!("broken: \"{what}\" ({place})");
            Err(Violation::new(Oracle::Invariant, detail).into())
        }
    }
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook that stores the panic message for the verdict instead of printing it.
pub(crate) fn catch_panics() {
    panic::set_hook(Box::new(|info| {
        let detail = info.to_string();
        LAST_PANIC.with_borrow_mut(|last| *last = detail);
    }));
}

/// Runs `case` and returns its result; a panic becomes a violation.
pub(crate) fn caught<T, E: From<Violation>>(case: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    panic::catch_unwind(AssertUnwindSafe(case)).unwrap_or_else(|_| {
        let detail = LAST_PANIC.with_borrow_mut(std::mem::take);
        Err(Violation::new(Oracle::Panic, detail).into())
    })
}

/// A value that is leaked instead of dropped while a panic unwinds the stack: an engine cannot be
/// closed in that state, nor a transaction be rolled back.
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
    if io::stderr().is_terminal() {
        clearway_console::tell_part(format_args!("\r\x1b[K"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_the_process_is_stopped_does_not_count_for_the_case() {
        let mut now = Instant::now();
        let mut time = WatchTime::new(now);
        assert_eq!(time.of_case(7, now), Duration::ZERO);
        now += Duration::from_secs(3600);
        assert_eq!(time.of_case(7, now), WATCH_INTERVAL * 2);
        let mut checks = 0;
        while time.of_case(7, now) <= CASE_TIME_MAX {
            now += WATCH_INTERVAL;
            checks += 1;
        }
        // 60 s are 1,200 intervals, of which the hour was two; one more is beyond the limit.
        assert_eq!(checks, 1199);
        assert_eq!(time.of_case(8, now), Duration::ZERO);
    }

    #[test]
    fn findings_and_panics_are_counted_and_other_cases_run() {
        let run = |number| match number {
            3 => Err(Violation::new(Oracle::Answer, "three").into()),
            5 => panic!("five"),
            _ => Ok(()),
        };
        let cases = |shard| {
            let command = |number| format!("case {number}");
            Cases { shard, count: Some(50), time: None, run, command }.run()
        };
        let summary = cases(Shard::WHOLE);
        assert_eq!((summary.cases, summary.findings, summary.all_passed()), (50, 2, false));
        let odd = cases("1/2".parse().unwrap());
        assert_eq!((odd.cases, odd.findings), (25, 2));
        assert!(cases("0/2".parse().unwrap()).all_passed());
    }
}
