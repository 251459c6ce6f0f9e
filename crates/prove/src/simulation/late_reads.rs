//! Late page reads, in runs whose transactions are tasks: the disk's I/O queue holds each request
//! until the seed chooses to complete it, before any of the next steps, in any order, and sometimes
//! with an error.
//!
//! ```text
//!   a task's poll ──► request ──► held ──► completed or failed by a step
//!                                  └─────► completed when the thread would block
//! ```
//!
//! There is one thread. Where it would block (a rollback needs a page that is being read for a
//! task), it completes a read instead (`clearway_sync::set_before_blocking`), and this until it has
//! what it waits for. If no read is held then, it would block for ever: that is a violation.
//!
//! One kind of wait does not end so: that of an operation for leave to keep pins (PINS-2), since
//! the operations that keep some are calls of other sessions, which nothing polls meanwhile. So
//! whatever may block runs only while fewer calls wait for pages than may keep pins. The seed drops
//! calls that are too many.

use std::io::ErrorKind;

use clearway_sync::set_before_blocking;
use clearway_testkit::{Random, disk::HeldReads};
use clearway_tree::ReadIntent;

use super::{print_step, session::Session, world::World};
use crate::{
    oracles::{Oracle, Verdict, Violation},
    workloads::{Answer, Operation, Program},
};

/// Before a step, one of this many attempts to complete a read completes one, and another follows.
const COMPLETED_ONE_IN: u64 = 4;
/// One of this many reads completes at once, before the task's poll waits for it.
const AT_ONCE_ONE_IN: u64 = 5;
/// If as many calls wait for pages as may keep pins, one of this many steps is not one of theirs.
const OTHERS_ONE_IN: u64 = 4;
/// After one of this many polls that are left waiting for a page, another transaction wants it.
const FOLLOWED_ONE_IN: u64 = 4;
/// One of this many reads fails.
const FAILED_ONE_IN: u64 = 12;
/// In a run with large values, one of this many calls is dropped with its transaction.
const ABANDONED_ONE_IN: u64 = 2;
/// The pages of the cache for each operation that may keep pins: six pins, and the operations have
/// a quarter of the cache (PINS-1 and PINS-2 of the pool).
const PAGES_PER_OPERATION: u64 = 6 * 4;

/// Returns the reads of an engine, none yet.
pub(super) fn late_reads(seed: u64) -> HeldReads {
    HeldReads::new(seed).complete_some_at_once(AT_ONCE_ONE_IN)
}

/// Returns the number of operations that may keep pins in a cache of this size.
pub(super) fn operations_max(cache_pages: u64) -> usize {
    (cache_pages / PAGES_PER_OPERATION).max(1) as usize
}

/// Lets the calling thread complete one of these reads where it would block.
pub(super) fn complete_before_blocking(reads: Option<&HeldReads>) {
    let reads = reads.cloned();
    set_before_blocking(reads.map(|reads| {
        let complete_one = move || {
            assert!(reads.complete_one(), "the only thread would block, and no read is held");
            true
        };
        Box::new(complete_one) as clearway_sync::BeforeBlocking
    }));
}

impl World {
    /// Completes some of the reads that are held, or none.
    pub(super) fn complete_some_reads(&mut self) {
        while self.reads_held() > 0 && self.random.one_in(COMPLETED_ONE_IN) {
            self.complete_or_fail_read();
        }
    }

    fn complete_or_fail_read(&mut self) {
        let fails = self.is_running && self.random.one_in(FAILED_ONE_IN);
        self.complete_read(fails);
    }

    /// Completes one of the reads that are held, or fails it.
    pub(super) fn complete_read(&mut self, fails: bool) {
        let Some(reads) = &self.reads else { return };
        let runnable = |sessions: &[Option<Session>]| {
            sessions.iter().flatten().filter(|session| session.is_runnable()).count()
        };
        let before = runnable(&self.sessions);
        match fails {
            true => {
                self.unreachable = None;
                reads.fail_one(ErrorKind::Other)
            }
            false => reads.complete_one(),
        };
        let woken = runnable(&self.sessions) - before;
        self.counters.shared_reads += u64::from(woken > 1);
        self.counters.failed_reads += u64::from(fails);
        print_step(|| match fails {
            true => format!("  a read fails, {woken} tasks are woken"),
            false => format!("  a read completes, {woken} tasks are woken"),
        });
    }

    /// The number of reads that are held.
    pub(super) fn reads_held(&self) -> usize {
        self.reads.as_ref().map_or(0, HeldReads::count)
    }

    /// Completes all reads that are held.
    pub(super) fn complete_all_reads(&mut self) {
        while self.reads_held() > 0 {
            self.complete_read(false);
        }
    }

    /// Drops calls that wait for pages until something may block, apart from the session at `at`.
    pub(super) fn leave_pins(&mut self, at: Option<usize>) {
        loop {
            let mut waiting = self.waiting_for_pages();
            waiting.retain(|waiting| Some(*waiting) != at);
            if waiting.len() < self.operations_max {
                return;
            }
            let dropped = self.random.pick(&waiting);
            self.cancel(dropped);
        }
    }

    /// Chooses a session whose call waited for a page, if no other step may block before one of
    /// these calls is over.
    pub(super) fn pick_page_waiter(&mut self) -> Option<usize> {
        let waiting = self.waiting_for_pages();
        if waiting.len() < self.operations_max || self.random.one_in(OTHERS_ONE_IN) {
            return None;
        }
        if self.reads_held() > 0 {
            self.complete_or_fail_read();
        }
        let is_runnable =
            |at: &usize| self.sessions[*at].as_ref().is_some_and(Session::is_runnable);
        let runnable: Vec<usize> = waiting.into_iter().filter(is_runnable).collect();
        if runnable.is_empty() { None } else { Some(self.random.pick(&runnable)) }
    }

    /// Drops the call of a session that waits.
    pub(super) fn cancel(&mut self, at: usize) {
        print_step(|| format!("  {at}: an operation is dropped"));
        self.counters.cancelled += 1;
        if let Some(session) = &mut self.sessions[at] {
            self.counters.jobs_dropped += u64::from(session.awaited.take().is_some());
            session.cancel(&mut self.random);
        }
    }

    /// Drops the call of a session that waits. In a run with large values, often its transaction
    /// ends with it: then the rollback frees what the call has left.
    pub(super) fn cancel_or_abandon(&mut self, at: usize) -> Verdict {
        if !self.plan.has_large_values || !self.random.one_in(ABANDONED_ONE_IN) {
            self.cancel(at);
            return Ok(());
        }
        if let Some(session) = &self.sessions[at] {
            let leaves_chain = session.may_leave_chain(self.plan.node_bytes());
            self.counters.chains_left += u64::from(leaves_chain);
        }
        self.abandon(at)
    }

    /// The sessions whose calls wait for pages.
    pub(super) fn waiting_for_pages(&self) -> Vec<usize> {
        let waits = |at: &usize| self.sessions[*at].as_ref().is_some_and(Session::may_keep_pins);
        (0..self.sessions.len()).filter(waits).collect()
    }

    /// Notes what the call at `at` waits for, which a poll has left waiting.
    pub(super) fn note_wait(&mut self, at: usize) {
        let waits = self.engine().waits();
        let Some(session) = &mut self.sessions[at] else { return };
        let is_for_lock = waits.iter().any(|wait| wait.txn.id == session.id());
        session.set_waiting_for_lock(is_for_lock);
        self.counters.page_waits += u64::from(!is_for_lock && session.awaited.is_none());
    }

    /// Sometimes begins another transaction, which wants the page for which the call at `at` waits.
    pub(super) fn follow(&mut self, at: usize) -> Verdict {
        let Some(session) = self.sessions[at].as_ref() else { return Ok(()) };
        let free = self.sessions.iter().position(Option::is_none);
        let operation = session.waiting_operation().filter(|_| !session.is_waiting_for_lock());
        let (Some(free), Some(operation)) = (free, operation) else { return Ok(()) };
        let (Operation::Get { table, key, .. } | Operation::Write { table, key, .. }) = operation
        else {
            return Ok(());
        };
        let (table, key, intent) = (table.clone(), key.clone(), ReadIntent::Read);
        if !self.is_running || !self.random.one_in(FOLLOWED_ONE_IN) {
            return Ok(());
        }
        let get = Some(Operation::Get { table, key, intent });
        self.sessions[free] = Some(self.session(Box::new(Follower { get })));
        self.operate(free)
    }

    /// Ends all calls and reads: the engine is about to be dropped.
    pub(super) fn end_reads(&mut self) {
        self.sessions.iter_mut().flatten().for_each(Session::drop_call);
        self.late_ends.clear();
        self.complete_all_reads();
        if let Some(reads) = self.reads.take() {
            self.counters.late_reads += reads.completed();
        }
    }

    /// ORACLE-8: some transaction must be runnable, once reads have been completed.
    ///
    /// # Errors
    /// If none is: no step would end that.
    pub(super) fn wake_one(&mut self) -> Verdict {
        let is_runnable =
            |sessions: &[Option<Session>]| sessions.iter().flatten().any(Session::is_runnable);
        while !is_runnable(&self.sessions) && self.engine().health().is_ok() {
            let (reads, jobs) = (self.reads_held(), self.jobs());
            if reads + jobs == 0 {
                let count = self.sessions.iter().flatten().count();
                let detail = format!("all of {count} transactions wait, and none was woken");
                return Err(Violation::new(Oracle::Liveness, detail));
            }
            match reads > 0 && (jobs == 0 || self.random.one_in(2)) {
                true => self.complete_or_fail_read(),
                false => self.run_job()?,
            }
        }
        Ok(())
    }
}

/// Reads one key.
struct Follower {
    get: Option<Operation>,
}

impl Program for Follower {
    fn next(&mut self, _: &mut Random, _: &Answer) -> Operation {
        self.get.take().unwrap_or(Operation::Commit)
    }
}
