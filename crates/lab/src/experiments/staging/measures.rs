//! The measures of a run. Times are means in milliseconds, over transactions if nothing else is
//! said.

use std::time::Duration;

use super::{
    counters::{Counters, Staged},
    observed::TypeRuns,
    point::Ran,
};
use crate::variants::Sample;

/// The type whose throughput and waits the paper reports.
pub(in super::super) const NEW_ORDER: &str = "new-order";

/// The operations of a transaction of TPC-C, on average: 47 of a new-order, 11 of a payment, 8 of
/// an order-status, 260 of a delivery and 200 of a stock-level.
const OPERATIONS_EACH: f64 = 45.0;
/// The pages that an operation requests: from the root to a leaf.
const PAGES_OF_OPERATION: f64 = 3.0;

impl Ran {
    /// Returns throughput, waits, aborts, mis-prefetches and the load of the disk, for TPC-C.
    pub(in super::super) fn sample(&self) -> Sample {
        let mut sample = self.short_sample();
        sample.splice(
            1..1,
            [
                ("new-orders/min", self.per_minute(NEW_ORDER)),
                ("its lock ms", self.lock_ms(Some(NEW_ORDER))),
                ("its read ms", self.read_ms(Some(NEW_ORDER))),
                ("hit %", self.hit_percent()),
            ],
        );
        sample
    }

    /// Returns the same without those that only TPC-C has.
    pub(in super::super) fn short_sample(&self) -> Sample {
        vec![
            ("tps", self.tps()),
            ("lock %", self.lock_percent()),
            ("behind reads %", self.behind_reads_percent()),
            ("aborts %", self.aborts_percent()),
            ("reads/tx", self.reads_each()),
            ("mis %", self.mis_percent(None)),
            ("disk busy %", self.disk_busy_percent()),
            ("disk queue", self.disk.waiting_mean),
            ("ms/read", millis(self.disk.response_mean)),
        ]
    }

    pub(in super::super) fn tps(&self) -> f64 {
        self.outcome.tps()
    }

    /// Returns the commits of a type in a minute.
    fn per_minute(&self, name: &str) -> f64 {
        let of_type = self.outcome.types.iter().filter(|kind| kind.name == name);
        let commits: u64 = of_type.map(|kind| kind.commits).sum();
        60.0 * commits as f64 / self.outcome.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the transactions of a type, or of all types together.
    pub(in super::super) fn of(&self, name: Option<&str>) -> TypeRuns {
        let mut sum = TypeRuns::default();
        let types = self.types.iter().filter(|(kind, _)| name.is_none_or(|name| **kind == name));
        types.for_each(|(_, runs)| sum.add(runs));
        sum
    }

    /// Returns the stages that the engine has counted.
    pub(in super::super) fn staged(&self, name: Option<&str>) -> Staged {
        self.after.staged(name).since(self.before.staged(name))
    }

    fn lock_wait(&self, name: Option<&str>) -> Duration {
        let us = self.after.lock_wait_us(name) - self.before.lock_wait_us(name);
        Duration::from_micros(us)
    }

    /// Returns the time that a transaction waits for locks.
    pub(in super::super) fn lock_ms(&self, name: Option<&str>) -> f64 {
        each(self.lock_wait(name), self.of(name).transactions)
    }

    /// Returns the share of the lock waits in which the holder of the lock read.
    pub(in super::super) fn behind_reads_percent(&self) -> f64 {
        let us =
            |of: fn(&Counters, Option<&str>) -> u64| of(&self.after, None) - of(&self.before, None);
        percent(us(Counters::behind_reads_us), us(Counters::lock_wait_us))
    }

    /// Returns the share of the transactions' time in which they wait for locks.
    pub(in super::super) fn lock_percent(&self) -> f64 {
        let time = self.of(None).time.as_secs_f64();
        100.0 * self.lock_wait(None).as_secs_f64() / time.max(1e-9)
    }

    /// Returns the time that a transaction reads.
    pub(in super::super) fn read_ms(&self, name: Option<&str>) -> f64 {
        let runs = self.of(name);
        each(runs.reads.time, runs.transactions)
    }

    /// Returns the share of the servers' time in which they are busy.
    pub(in super::super) fn disk_busy_percent(&self) -> f64 {
        100.0 * self.disk.utilisation()
    }

    /// Returns the share of attempts that were rolled back because of a conflict.
    fn aborts_percent(&self) -> f64 {
        percent(self.outcome.aborts, self.outcome.aborts + self.outcome.commits)
    }

    /// Returns the reads of a transaction, those of read-ahead and of fetch stages included.
    pub(in super::super) fn reads_each(&self) -> f64 {
        self.disk.served as f64 / self.of(None).transactions.max(1) as f64
    }

    /// Returns the share of the requests for pages that found the page in memory.
    fn hit_percent(&self) -> f64 {
        100.0 * (1.0 - self.reads_each() / (OPERATIONS_EACH * PAGES_OF_OPERATION))
    }

    /// Returns the share of operate stages after a fetch stage that had to wait for a page.
    pub(in super::super) fn mis_percent(&self, name: Option<&str>) -> f64 {
        let staged = self.staged(name);
        percent(staged.mis_prefetches, staged.operates)
    }

    /// Returns the share of transactions that read.
    pub(in super::super) fn reading_percent(&self, name: Option<&str>) -> f64 {
        let runs = self.of(name);
        percent(runs.reading, runs.transactions)
    }
}

/// Returns the mean of a time, in milliseconds.
pub(in super::super) fn each(time: Duration, count: u64) -> f64 {
    millis(time) / count.max(1) as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Returns a share in percent; 0 if there are none.
pub(in super::super) fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}
