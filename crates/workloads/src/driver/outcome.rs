//! The measurements of a run, in total and by transaction type.

use std::time::Duration;

use crate::Histogram;

/// The measurements of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Transactions that became durable.
    pub commits: u64,
    /// Transactions that the workload itself rolled back.
    pub rollbacks: u64,
    /// Attempts that were rolled back because of a conflict and run again.
    pub aborts: u64,
    /// Transactions given up because conflicts outlasted the store's retries.
    pub failures: u64,
    /// From the first submission to the last acknowledgement.
    pub elapsed: Duration,
    /// Nanoseconds from submission to acknowledgement.
    pub latency: Histogram,
    /// The same by transaction type, in the workload's order.
    pub types: Vec<TypeOutcome>,
    /// Agent threads that ran.
    pub threads: usize,
    /// Whether it was ended before its time was up.
    pub interrupted: bool,
}

impl Outcome {
    /// Commits per second.
    pub fn tps(&self) -> f64 {
        self.commits as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The measurements of one transaction type.
#[derive(Clone, Debug)]
pub struct TypeOutcome {
    /// The type's name.
    pub name: &'static str,
    /// Transactions that became durable.
    pub commits: u64,
    /// Transactions that the workload itself rolled back.
    pub rollbacks: u64,
    /// Transactions given up because conflicts outlasted the store's retries.
    pub failures: u64,
    /// Nanoseconds from submission to acknowledgement.
    pub latency: Histogram,
}

impl TypeOutcome {
    fn new(name: &'static str) -> TypeOutcome {
        TypeOutcome { name, commits: 0, rollbacks: 0, failures: 0, latency: Histogram::new() }
    }

    fn merge(&mut self, other: &TypeOutcome) {
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.failures += other.failures;
        self.latency.merge(&other.latency);
    }
}

/// The measurements of one agent so far.
pub(super) struct Measured {
    pub(super) types: Vec<TypeOutcome>,
    /// Commits of all types.
    pub(super) commits: u64,
}

impl Measured {
    pub(super) fn new(types: &[&'static str]) -> Measured {
        Measured { types: types.iter().map(|name| TypeOutcome::new(name)).collect(), commits: 0 }
    }

    pub(super) fn merge(&mut self, other: &Measured) {
        self.commits += other.commits;
        self.types.iter_mut().zip(&other.types).for_each(|(mine, its)| mine.merge(its));
    }

    /// The whole run's outcome, once all agents are merged.
    pub(super) fn outcome(
        self,
        aborts: u64,
        elapsed: Duration,
        threads: usize,
        interrupted: bool,
    ) -> Outcome {
        let mut latency = Histogram::new();
        self.types.iter().for_each(|kind| latency.merge(&kind.latency));
        let total = |count: fn(&TypeOutcome) -> u64| self.types.iter().map(count).sum();
        Outcome {
            commits: self.commits,
            rollbacks: total(|kind| kind.rollbacks),
            aborts,
            failures: total(|kind| kind.failures),
            elapsed,
            latency,
            threads,
            interrupted,
            types: self.types,
        }
    }
}
