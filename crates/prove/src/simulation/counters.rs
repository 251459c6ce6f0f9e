//! The event counts of a run, for the summary.

use std::{fmt, ops::AddAssign};

use crate::shards::Counts;

/// Counts over one seed, or over many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounters {
    /// Seeds run.
    pub seeds: u64,
    /// Steps of the driver.
    pub steps: u64,
    /// Commits that changed something.
    pub commits: u64,
    /// Commits that only read.
    pub readers: u64,
    /// Results acknowledged.
    pub acknowledged: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Requests for a lock that was held.
    pub blocked: u64,
    /// Polls of tasks that went on waiting.
    pub waits: u64,
    /// Polls of tasks that were not woken.
    pub spurious: u64,
    /// Polls of tasks that were left waiting for a page.
    pub page_waits: u64,
    /// Page reads that completed after the poll that began them.
    pub late_reads: u64,
    /// Of these, the reads that woke several tasks.
    pub shared_reads: u64,
    /// Of these, the reads that failed.
    pub failed_reads: u64,
    /// Operations of tasks that were left waiting for log space.
    pub space_waits: u64,
    /// Operations of tasks that were left waiting for a longer file, or for pages to be freed.
    pub length_waits: u64,
    /// Rollbacks to savepoints that were done late.
    pub late_partial: u64,
    /// Rollbacks of deadlocks' victims that were done late.
    pub late_victims: u64,
    /// Rollbacks of dropped transactions that were done late.
    pub late_drops: u64,
    /// Commits that were done late.
    pub late_commits: u64,
    /// Of these, the commits whose futures were dropped.
    pub dropped_commits: u64,
    /// Requested rollbacks that were done late.
    pub late_rollbacks: u64,
    /// Operations of tasks dropped while they waited for one of these.
    pub jobs_dropped: u64,
    /// Operations of tasks dropped while they waited.
    pub cancelled: u64,
    /// Transactions of tasks dropped.
    pub dropped: u64,
    /// Transactions that ended within the write of a large value, after they had written another.
    pub chains_left: u64,
    /// Victims of deadlocks.
    pub victims: u64,
    /// Transactions whose deferred deallocations were done by a later step.
    pub late_deallocations: u64,
    /// Fetch stages that have ended and were followed by operate stages.
    pub fetches: u64,
    /// Of these, the ones that had to read pages.
    pub fetches_with_reads: u64,
    /// Of these, the ones that began as operate stages.
    pub conversions: u64,
    /// Of these, the ones that ended before their programs.
    pub fetches_cut: u64,
    /// Fetch stages whose transactions were dropped.
    pub fetches_dropped: u64,
    /// Fetch stages after whose end no transaction ran, so that nothing could be held.
    pub fetches_alone: u64,
    /// Judged answers of fetch stages.
    pub fetched_answers: u64,
    /// Commits of operate stages after fetch stages that waited for no page.
    pub operated_from_memory: u64,
    /// Operations refused for lack of space.
    pub full: u64,
    /// Checks that no page has become unreachable.
    pub reachable: u64,
    /// Power cuts.
    pub crashes: u64,
    /// Power cuts and failures during recovery.
    pub crashes_in_recovery: u64,
    /// Kills and orderly reopenings.
    pub reopenings: u64,
    /// Recoveries that succeeded.
    pub recoveries: u64,
    /// Page images with which a recovery compared its redo.
    pub images: u64,
    /// I/O faults planned.
    pub faults: u64,
    /// The number of times the engine stopped itself because of an I/O fault.
    pub poisoned: u64,
    /// Checkpoints taken.
    pub checkpoints: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Torn pages repaired.
    pub repaired: u64,
}

impl RunCounters {
    /// Returns every count with its name.
    fn fields(&mut self) -> [(&'static str, &mut u64); 47] {
        [
            ("seeds", &mut self.seeds),
            ("steps", &mut self.steps),
            ("commits", &mut self.commits),
            ("readers", &mut self.readers),
            ("acknowledged", &mut self.acknowledged),
            ("rollbacks", &mut self.rollbacks),
            ("blocked", &mut self.blocked),
            ("waits", &mut self.waits),
            ("spurious", &mut self.spurious),
            ("page_waits", &mut self.page_waits),
            ("late_reads", &mut self.late_reads),
            ("shared_reads", &mut self.shared_reads),
            ("failed_reads", &mut self.failed_reads),
            ("space_waits", &mut self.space_waits),
            ("length_waits", &mut self.length_waits),
            ("late_partial", &mut self.late_partial),
            ("late_victims", &mut self.late_victims),
            ("late_drops", &mut self.late_drops),
            ("late_commits", &mut self.late_commits),
            ("dropped_commits", &mut self.dropped_commits),
            ("late_rollbacks", &mut self.late_rollbacks),
            ("jobs_dropped", &mut self.jobs_dropped),
            ("cancelled", &mut self.cancelled),
            ("dropped", &mut self.dropped),
            ("chains_left", &mut self.chains_left),
            ("victims", &mut self.victims),
            ("late_deallocations", &mut self.late_deallocations),
            ("fetches", &mut self.fetches),
            ("fetches_with_reads", &mut self.fetches_with_reads),
            ("conversions", &mut self.conversions),
            ("fetches_cut", &mut self.fetches_cut),
            ("fetches_dropped", &mut self.fetches_dropped),
            ("fetches_alone", &mut self.fetches_alone),
            ("fetched_answers", &mut self.fetched_answers),
            ("operated_from_memory", &mut self.operated_from_memory),
            ("full", &mut self.full),
            ("reachable", &mut self.reachable),
            ("crashes", &mut self.crashes),
            ("crashes_in_recovery", &mut self.crashes_in_recovery),
            ("reopenings", &mut self.reopenings),
            ("recoveries", &mut self.recoveries),
            ("images", &mut self.images),
            ("faults", &mut self.faults),
            ("poisoned", &mut self.poisoned),
            ("checkpoints", &mut self.checkpoints),
            ("evictions", &mut self.evictions),
            ("repaired", &mut self.repaired),
        ]
    }

    pub(super) fn into_counts(mut self) -> Counts {
        let mut counts = Counts::default();
        self.fields().into_iter().for_each(|(name, count)| counts.add(name, *count));
        counts
    }

    pub(super) fn from_counts(counts: &Counts) -> RunCounters {
        let mut counters = RunCounters::default();
        counters.fields().into_iter().for_each(|(name, count)| *count = counts.get(name));
        counters
    }
}

impl AddAssign for RunCounters {
    fn add_assign(&mut self, mut other: RunCounters) {
        for ((_, count), (_, more)) in self.fields().into_iter().zip(other.fields()) {
            *count += *more;
        }
    }
}

impl fmt::Display for RunCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seeds         {:>12}", self.seeds)?;
        writeln!(f, "steps         {:>12}", self.steps)?;
        writeln!(f, "commits       {:>12}   readers {}", self.commits, self.readers)?;
        writeln!(f, "acknowledged  {:>12}   rollbacks {}", self.acknowledged, self.rollbacks)?;
        writeln!(f, "blocked       {:>12}   full {}", self.blocked, self.full)?;
        let (cancelled, dropped) = (self.cancelled, self.dropped);
        writeln!(f, "tasks waited  {:>12}   deadlocks {}", self.waits, self.victims)?;
        writeln!(f, "not woken     {:>12}", self.spurious)?;
        let (shared, failed) = (self.shared_reads, self.failed_reads);
        writeln!(f, "for pages     {:>12}   reads late {}", self.page_waits, self.late_reads)?;
        writeln!(f, "reads shared  {shared:>12}   failed {failed}")?;
        let (space, length) = (self.space_waits, self.length_waits);
        writeln!(f, "log space late{space:>12}   longer files {length}")?;
        let (partial, victims, drops) = (self.late_partial, self.late_victims, self.late_drops);
        writeln!(f, "undone late   {drops:>12}   victims {victims}, to savepoints {partial}")?;
        let (commits, forsaken) = (self.late_commits, self.dropped_commits);
        writeln!(
            f,
            "rollbacks late{:>12}   operations dropped {}",
            self.late_rollbacks, self.jobs_dropped
        )?;
        writeln!(f, "commits late  {commits:>12}   dropped {forsaken}")?;
        writeln!(f, "freed late    {:>12}", self.late_deallocations)?;
        writeln!(f, "dropped       {cancelled:>12}   whole transactions {dropped}")?;
        let (with_reads, converted) = (self.fetches_with_reads, self.conversions);
        let (cut, lost) = (self.fetches_cut, self.fetches_dropped);
        let (alone, answers) = (self.fetches_alone, self.fetched_answers);
        let fetched = self.fetches;
        writeln!(f, "fetch stages  {fetched:>12}   with reads {with_reads}, cut short {cut}")?;
        writeln!(f, "conversions   {converted:>12}   fetches dropped {lost}, alone {alone}")?;
        let in_memory = self.operated_from_memory;
        writeln!(f, "fetch answers {answers:>12}   operated from memory {in_memory}")?;
        let within = self.crashes_in_recovery;
        writeln!(f, "crashes       {:>12}   in recovery {within}", self.crashes)?;
        writeln!(f, "recoveries    {:>12}   reopenings {}", self.recoveries, self.reopenings)?;
        writeln!(f, "I/O faults    {:>12}   poisoned {}", self.faults, self.poisoned)?;
        let (evictions, repaired) = (self.evictions, self.repaired);
        writeln!(f, "evictions     {evictions:>12}   torn pages repaired {repaired}")?;
        writeln!(f, "checkpoints   {:>12}   images compared {}", self.checkpoints, self.images)?;
        let chains = self.chains_left;
        write!(f, "no page lost  {:>12}   chains left {chains}", self.reachable)
    }
}
