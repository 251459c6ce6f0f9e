//! The decisions of the policy `Hybrid`: how the next runs of a type of transaction are executed,
//! from what its last runs needed.
//!
//! ```text
//!                    fewer than 5 % of the runs read
//!             ┌───────────────────────────────────────► optimistic
//!   two-stage │◄──────────────────────────────────────┘  ▲
//!      ▲   │     more than 10 % read                     │ fewer than 5 % read
//!      │   └────► probed: conventional, but for one run in 64 ┘
//!      └────────┘ at most a quarter of the waits of the probes is under locks
//! ```
//! To *probed* it goes if more of the waits for pages are in operate stages than in fetch stages.
//!
//! Invariant: HYBRID-1. A decision is made from the runs since the one before it, at least
//! [`WINDOW`] of them. So a type that has changed is executed otherwise soon, whatever it did
//! before; and the bounds of opposite changes differ, so a type between two of them stays as it is.
//!
//! Algorithm
//! : "High-Performance Transaction Processing in Charm", section 3.3 (HTSTE), with its threshold of
//!   95 % for types that rarely read.
//!
//! Differences
//! : The paper accumulates the ratios for ever, gives no threshold for mis-prefetches, and never
//!   tries again a type that it has found unfit. Its mis-prefetch ratio is that of all accesses;
//!   here it is that of the waits for pages, since hits are no evidence.

use clearway_sync::plain::{AtomicU32, Ordering};

/// The runs after which a decision is made.
pub(super) const WINDOW: u32 = 64;
/// The same for a type that is probed: enough for four probes.
const WINDOW_PROBED: u32 = 256;
/// One run in this number has a fetch stage, of a type that is probed.
const PROBE_ONE_IN: u32 = 64;
/// Waits in operate stages that are evidence enough to give up fetch stages.
const MISSES_MIN: u32 = 16;

/// The execution of the runs of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Execution {
    Conventional,
    TwoStage,
    Optimistic,
    /// Conventional, but for one run in [`PROBE_ONE_IN`], which is two-stage.
    Probed,
}

impl Execution {
    pub(super) fn of_code(code: u8) -> Execution {
        match code {
            1 => Execution::TwoStage,
            2 => Execution::Optimistic,
            3 => Execution::Probed,
            _ => Execution::Conventional,
        }
    }
}

/// The runs of a type since the last decision.
#[derive(Default)]
pub(super) struct RunWindow {
    runs: AtomicU32,
    /// Of these, those that waited for pages.
    reading: AtomicU32,
    /// Waits for pages in fetch stages.
    fetch_waits: AtomicU32,
    /// Waits for pages in operate stages that had a fetch stage.
    operate_waits: AtomicU32,
    /// Runs of a type that is probed.
    turn: AtomicU32,
}

/// The outcome of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HybridDecision {
    /// The execution of the next runs.
    pub(super) next: Execution,
    /// True if none of the runs has waited for pages.
    pub(super) has_read_nothing: bool,
}

/// The sums of a window.
#[derive(Clone, Copy, Default, Debug)]
struct WindowSums {
    runs: u32,
    reading: u32,
    fetch_waits: u32,
    operate_waits: u32,
}

// Relaxed everywhere: statistics of several threads. A decision that is made of sums which belong
// to slightly different runs is as good.
impl RunWindow {
    /// Returns true if the run that begins now is a probe.
    pub(super) fn is_probe(&self) -> bool {
        self.turn.fetch_add(1, Ordering::Relaxed).is_multiple_of(PROBE_ONE_IN)
    }

    /// Counts the waits for pages of a fetch stage.
    pub(super) fn count_fetch(&self, waits: u32) {
        self.fetch_waits.fetch_add(waits, Ordering::Relaxed);
    }

    /// Counts the waits for pages of an operate stage that had a fetch stage.
    pub(super) fn count_operate(&self, waits: u32) {
        self.operate_waits.fetch_add(waits, Ordering::Relaxed);
    }

    /// Counts runs that ended, all of which have waited for pages or none. Returns the decision, if
    /// it is time for one.
    pub(super) fn count_runs(
        &self,
        runs: u32,
        have_read: bool,
        now: Execution,
    ) -> Option<HybridDecision> {
        if have_read {
            self.reading.fetch_add(runs, Ordering::Relaxed);
        }
        let before = self.runs.fetch_add(runs, Ordering::Relaxed);
        let window = if now == Execution::Probed { WINDOW_PROBED } else { WINDOW };
        let is_full = before < window && before + runs >= window;
        is_full.then(|| {
            let sums = self.take();
            HybridDecision { next: decide(now, sums), has_read_nothing: sums.reading == 0 }
        })
    }

    /// Begins a new window. Returns the sums of the one that has ended.
    fn take(&self) -> WindowSums {
        let take = |counter: &AtomicU32| counter.swap(0, Ordering::Relaxed);
        WindowSums {
            runs: take(&self.runs),
            reading: take(&self.reading),
            fetch_waits: take(&self.fetch_waits),
            operate_waits: take(&self.operate_waits),
        }
    }

    /// Forgets what was counted.
    pub(super) fn reset(&self) {
        self.take();
    }
}

/// Decides how the next runs are executed.
fn decide(now: Execution, sums: WindowSums) -> Execution {
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1));
    let reading = share(sums.reading, sums.runs);
    let is_unfit = sums.operate_waits >= MISSES_MIN && sums.operate_waits > sums.fetch_waits;
    match now {
        Execution::Conventional => Execution::Conventional,
        Execution::TwoStage | Execution::Optimistic if is_unfit => Execution::Probed,
        Execution::TwoStage | Execution::Probed if reading < 0.05 => Execution::Optimistic,
        Execution::Optimistic if reading > 0.10 => Execution::TwoStage,
        Execution::Probed if sums.fetch_waits > 0 && sums.operate_waits * 3 <= sums.fetch_waits => {
            Execution::TwoStage
        }
        _ => now,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Counts runs until a decision is made. Returns it.
    fn decision(
        now: Execution,
        reads_one_in: u32,
        fetch_waits: u32,
        operate_waits: u32,
    ) -> Execution {
        let window = RunWindow::default();
        for run in 1..=2 * WINDOW_PROBED {
            let has_fetch = now == Execution::TwoStage
                || now == Execution::Probed && window.is_probe()
                || now == Execution::Optimistic && run % reads_one_in == 0;
            if has_fetch {
                window.count_fetch(fetch_waits);
                window.count_operate(operate_waits);
            }
            let decision = window.count_runs(1, run % reads_one_in == 0, now);
            if let Some(HybridDecision { next, has_read_nothing }) = decision {
                assert_eq!(has_read_nothing, reads_one_in > run);
                assert_eq!(run, if now == Execution::Probed { WINDOW_PROBED } else { WINDOW });
                return next;
            }
        }
        panic!("no decision");
    }

    #[test]
    fn type_that_reads_fetches_first_and_one_that_rarely_reads_operates_first() {
        use Execution::{Optimistic, TwoStage};
        assert_eq!(decision(TwoStage, 1, 3, 0), TwoStage);
        assert_eq!(decision(TwoStage, 15, 1, 0), TwoStage);
        assert_eq!(decision(TwoStage, 32, 0, 0), Optimistic);
        assert_eq!(decision(Optimistic, 32, 1, 0), Optimistic);
        // Between 5 and 10 % both stay.
        assert_eq!(decision(Optimistic, 15, 1, 0), Optimistic);
        assert_eq!(decision(Optimistic, 8, 1, 0), TwoStage);
    }

    #[test]
    fn type_whose_fetch_stages_miss_operates_and_is_probed_until_they_hit() {
        use Execution::{Optimistic, Probed, TwoStage};
        assert_eq!(decision(TwoStage, 1, 3, 2), TwoStage);
        assert_eq!(decision(TwoStage, 1, 2, 3), Probed);
        assert_eq!(decision(Optimistic, 2, 1, 2), Probed);
        assert_eq!(decision(Probed, 1, 2, 3), Probed);
        assert_eq!(decision(Probed, 1, 3, 2), Probed);
        assert_eq!(decision(Probed, 1, 3, 1), TwoStage);
        assert_eq!(decision(Probed, 64, 0, 0), Optimistic);
    }

    #[test]
    fn runs_that_are_counted_in_groups_lead_to_a_decision_as_well() {
        let window = RunWindow::default();
        let count = |runs| window.count_runs(runs, false, Execution::TwoStage);
        let next = |runs| count(runs).map(|decision| decision.next);
        assert_eq!((next(63), next(100)), (None, Some(Execution::Optimistic)));
        assert_eq!((next(63), next(1)), (None, Some(Execution::Optimistic)));
        assert_eq!((next(64), next(63)), (Some(Execution::Optimistic), None));
    }
}
