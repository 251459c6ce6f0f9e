//! Progress of loading and running, on standard error.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use clearway_sync::atomic::{AtomicU64, Ordering};
use clearway_workloads::Tick;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{output::print_status, units::grouped};

/// The progress of loading: a bar on a terminal, a line for each fifth elsewhere.
pub(crate) struct Loading {
    bar: Option<ProgressBar>,
    rows: AtomicU64,
    total: u64,
}

/// The number of lines printed if standard error is no terminal.
const LINES: u64 = 5;

impl Loading {
    /// Starts without drawing: data that are already there need no bar.
    pub(crate) fn start(total: u64) -> Loading {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = "loading {bar:40} {human_pos}/{human_len} rows, {per_sec}, {eta} left";
            let bar = ProgressBar::new(total);
            bar.set_style(
                ProgressStyle::with_template(style)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar
        });
        Loading { bar, rows: AtomicU64::new(0), total }
    }

    /// Adds to the number of loaded rows.
    pub(crate) fn add(&self, rows: u64) {
        // Relaxed: a count, which is read after the loaders were joined.
        let before = self.rows.fetch_add(rows, Ordering::Relaxed);
        let after = before + rows;
        match &self.bar {
            Some(bar) => bar.set_position(after),
            None if before * LINES / self.total != after * LINES / self.total => {
                print_status(format_args!(
                    "loading: {} of {} rows",
                    grouped(after),
                    grouped(self.total)
                ));
            }
            None => {}
        }
    }

    /// Removes the bar and returns the number of rows.
    pub(crate) fn finish(self) -> u64 {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.rows.into_inner()
    }
}

/// Prints the state of a running benchmark: one line, rewritten on a terminal, or a line each
/// second elsewhere.
pub(crate) fn live(tick: &Tick) {
    // The previous tick's elapsed time and commits. Only the main thread calls this function.
    static LAST: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
    let nanos = tick.elapsed.as_nanos() as u64;
    let since = nanos - LAST[0].swap(nanos, Ordering::Relaxed).min(nanos);
    let commits = tick.commits - LAST[1].swap(tick.commits, Ordering::Relaxed).min(tick.commits);
    let tps = commits as f64 / Duration::from_nanos(since).as_secs_f64().max(1e-9);
    let line = format!(
        "{:>4} s {:>12} tps {:>14} commits {:>8} aborts",
        tick.elapsed.as_secs(),
        grouped(tps as u64),
        grouped(tick.commits),
        grouped(tick.aborts),
    );
    let mut stderr = std::io::stderr().lock();
    let _ = match stderr.is_terminal() {
        true => write!(stderr, "\r{line}"),
        false => writeln!(stderr, "{line}"),
    };
}

/// Ends the live line.
pub(crate) fn live_end() {
    if std::io::stderr().is_terminal() {
        print_status("");
    }
}
