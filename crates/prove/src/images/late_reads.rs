//! A scenario in which the power is cut while page reads of tasks are in flight.
//!
//! ```text
//!   one task   ── put ─► read held ─────────────────── completed ─► put ─► read held … commit
//!   another    ────── put ─► read held ─────────────────────────────── … completed ─► commit
//!   a thread   ───────────────────── writes, commits, takes a checkpoint
//! ```
//!
//! There is one thread. Where it would block, it completes a held read instead.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use clearway_base::Result;
use clearway_lock::WaitLimit;
use clearway_sync::set_before_blocking;
use clearway_testkit::disk::HeldReads;

use super::{
    runner::{ScenarioRunner, StepResult},
    scenarios::{TABLE, fill, key, shuffled, start_checking_redo, value},
    work::Work,
};
use crate::oracles::{Change, Oracle, Violation};

/// The table whose pages are in memory.
const RESIDENT: &str = "resident";

/// Four operations may keep pins in a cache of this size: those that wait, and one that blocks.
const CACHE_BYTES: u64 = 96 * clearway_base::PAGE_SIZE as u64;

/// The page reads that a scenario holds. When it is dropped, all of them complete.
pub(super) struct LateReads(pub(super) HeldReads);

impl LateReads {
    pub(super) fn new(seed: u64) -> LateReads {
        let reads = HeldReads::new(seed);
        let held = reads.clone();
        set_before_blocking(Some(Box::new(move || held.complete_one())));
        LateReads(reads)
    }
}

impl Drop for LateReads {
    fn drop(&mut self) {
        set_before_blocking(None);
        self.0.complete_all();
    }
}

/// A put of a task that has been polled, and its transaction. Dropping it drops both.
struct LatePut {
    put: Pin<Box<dyn Future<Output = (Work, Result<bool>)>>>,
    key: Vec<u8>,
    value: Vec<u8>,
    polled: Poll<(Work, Result<bool>)>,
}

impl LatePut {
    fn poll(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        self.polled = self.put.as_mut().poll(&mut cx);
    }
}

impl ScenarioRunner {
    /// Begins the transaction of a task that waits for pages as long as it takes.
    fn begin_patient(&mut self) -> Work {
        let mut work = self.begin_task();
        work.txn.set_wait_limit(WaitLimit::For(Duration::MAX));
        work
    }

    /// Begins to set a key, which may wait for a page.
    fn put_late(&mut self, mut work: Work, key: Vec<u8>, value: Vec<u8>) -> LatePut {
        let handle = self.tables[TABLE].clone();
        let (its_key, its_value) = (key.clone(), value.clone());
        let put = Box::pin(async move {
            let result = work.txn.put_as_task(&handle, &its_key, &its_value).await;
            (work, result)
        });
        let mut late = LatePut { put, key, value, polled: Poll::Pending };
        late.poll();
        self.note();
        late
    }

    /// Completes held reads until the put is done.
    fn finish_late(&mut self, mut late: LatePut) -> StepResult<Work> {
        loop {
            match std::mem::replace(&mut late.polled, Poll::Pending) {
                Poll::Ready((mut work, Ok(_))) => {
                    work.changes.push(Change::put(TABLE, &late.key, &late.value));
                    self.note();
                    return Ok(work);
                }
                Poll::Ready((mut work, Err(error))) => {
                    self.handle_error("put", &error)?;
                    self.put(&mut work, TABLE, &late.key, &late.value)?;
                    return Ok(work);
                }
                Poll::Pending => {
                    let has_completed = self.complete_read();
                    late.poll();
                    if late.polled.is_pending() && !has_completed {
                        let detail = "a put waits, and no read is held";
                        return Err(Violation::new(Oracle::Liveness, detail).into());
                    }
                }
            }
        }
    }
}

/// See the module. After the reopening the cache is empty.
pub(super) fn late_reads(runner: &mut ScenarioRunner) -> StepResult {
    runner.options.pool.cache_bytes = CACHE_BYTES;
    start_checking_redo(runner)?;
    runner.create_table(RESIDENT)?;
    fill(runner, 0..100, 20)?;
    runner.close()?;
    runner.hold_reads();
    runner.open()?;
    (0..4).try_for_each(|round| late_round(runner, round))?;
    runner.complete_reads();
    runner.checkpoint()
}

/// Two tasks that wait for pages, and a thread that writes meanwhile. The keys of each round are
/// in leaves that were not read before.
fn late_round(runner: &mut ScenarioRunner, round: u64) -> StepResult {
    write_beside(runner, round)?;
    let (one, other) = (runner.begin_patient(), runner.begin_patient());
    let one = runner.put_late(one, key(12 * round), value(round, 60));
    let other = runner.put_late(other, key(12 * round + 50), value(round, 9000));
    write_beside(runner, round + 10)?;
    if round == 1 {
        runner.checkpoint()?;
    }
    let one = runner.finish_late(one)?;
    let one = runner.put_late(one, key(12 * round + 6), value(round, 20_000));
    write_beside(runner, round + 20)?;
    if round == 2 {
        runner.checkpoint()?;
    }
    match round {
        // The engine rolls the transaction back, and the read ends later.
        3 => drop(other),
        _ => {
            let mut other = runner.finish_late(other)?;
            runner.put(&mut other, TABLE, &key(300 + shuffled(round)), &value(round, 30))?;
            runner.commit_durably(other)?;
        }
    }
    write_beside(runner, round + 30)?;
    let one = runner.finish_late(one)?;
    runner.commit_durably(one)
}

fn write_beside(runner: &mut ScenarioRunner, number: u64) -> StepResult {
    let mut work = runner.begin();
    runner.put(&mut work, RESIDENT, &key(number % 7), &value(number, 100))?;
    runner.commit_durably(work)
}

#[cfg(test)]
mod tests {
    use crate::images::Setup;

    #[test]
    fn power_is_cut_while_reads_of_two_tasks_are_in_flight() {
        let of = |setup: &Setup| setup.name() == "late-reads";
        let setup = Setup::all().into_iter().find(of).unwrap();
        let recording = setup.record().unwrap();
        for what in ["write", "sync"] {
            let cut = |reads| {
                let is_such = |cut: &&crate::images::Cut| {
                    cut.reads_held >= reads && cut.is_change && cut.what.starts_with(what)
                };
                recording.cuts.iter().filter(is_such).count()
            };
            assert!(cut(1) > 10 && cut(2) > 5, "{what}: {} and {}", cut(1), cut(2));
        }
    }
}
