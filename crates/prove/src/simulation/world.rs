//! One run: the disk, the engine on it, the transactions, and their expected effects.

use std::{collections::BTreeMap, rc::Rc, sync::Arc, time::Duration};

use clearway_base::{Error, Lsn};
use clearway_lock::{AbsoluteMode, WaitLimit};
use clearway_testkit::Random;
use clearway_testkit::disk::{HeldReads, MetadataMode, SimDisk, SimOptions};
use clearway_txn::{Committed, Engine, RetryContext, Table, TaskJobs};

use super::{
    client::{Client, End},
    counters::RunCounters,
    expected::Overlay,
    late_jobs::LateEnd,
    plan::{Plan, Step},
    print_step,
    session::{Finished, Progress, Session, Surroundings, classify},
    watched::Watch,
};
use crate::{
    oracles::{Change, History, Oracle, State, Verdict, Violation},
    workloads::{Operation, Program, Verb, WITNESS, Witness, Write, witness_rows},
};

/// The LSN of a commit in doubt: it is unknown whether, and where, its record is in the log.
const IN_DOUBT: Lsn = Lsn::MAX;

/// The public call whose errors the engine's own upkeep, which is no public call, may return: like
/// a write, it needs space, and locks for which it does not wait.
pub(super) const MAINTENANCE: &str = "Transaction::put";

/// The limit of waits of tasks. It holds for pages, too, for which the lack of a limit means ten
/// seconds; to call the task then, an engine without threads wakes it at once, so that no lost
/// wake-up would be found.
const FOREVER: WaitLimit = WaitLimit::For(Duration::MAX);

/// One transaction in this many uses the witness table instead of the workload's tables.
const WITNESS_ONE_IN: u64 = 16;

/// One of this many tasks does not wait for locks.
const HASTY_ONE_IN: u64 = 6;
/// One of this many steps of an operation that waits drops it.
const DROPPED_ONE_IN: u64 = 6;
/// One of this many steps takes any transaction, also one whose task was not woken.
const SPURIOUS_ONE_IN: u64 = 8;

/// See the module.
pub(super) struct World {
    pub(super) random: Random,
    pub(super) plan: Plan,
    pub(super) disk: SimDisk,
    pub(super) watch: Watch,
    /// The engine; `None` only while it is being opened.
    pub(super) engine: Option<Arc<Engine>>,
    /// The reads of the engine's I/O queue, if they may complete late.
    pub(super) reads: Option<HeldReads>,
    /// True between the load and the end of the run: only then do reads fail, and do waits for
    /// pages lead to further transactions.
    pub(super) is_running: bool,
    /// The number of deadlocks of the engine that were seen.
    pub(super) deadlocks: u64,
    /// The number of operations to which the engine's pool grants pins at the same time.
    pub(super) operations_max: usize,
    pub(super) tables: BTreeMap<String, Table>,
    pub(super) history: History,
    pub(super) sessions: Vec<Option<Session>>,
    /// Commits and rollbacks that wait for jobs.
    pub(super) late_ends: Vec<LateEnd>,
    /// The number of jobs that were run, apart from those that wait for log space.
    pub(super) jobs_run: u64,
    /// The retry context of the last victim of a deadlock, for one of the next transactions.
    pub(super) retry: Option<Rc<RetryContext>>,
    /// Results that wait for the log to become durable.
    pub(super) pending: Vec<Pending>,
    /// True if a fault of the disk was planned, which explains errors.
    pub(super) is_faulty: bool,
    /// The durable LSN at the time when the engine stopped itself.
    pub(super) stopped_at: Option<Lsn>,
    /// The number of pages that are allocated and unreachable, if it is known and nothing has
    /// happened since that may add to it: a crash, a fault, a lack of space.
    pub(super) unreachable: Option<u64>,
    /// Tables whose drop has begun and could not be finished for lack of space.
    pub(super) unfinished_drops: Vec<String>,
    pub(super) counters: RunCounters,
    /// A digest of all operations on the disks before this one.
    pub(super) trace: u64,
}

/// A result that is not yet acknowledged.
pub(super) struct Pending {
    ack: Lsn,
    /// The number of commits on which the result depends, its own included.
    depends_on: usize,
}

impl World {
    /// Creates a database with the tables of the workload.
    pub(super) fn new(seed: u64) -> Verdict<World> {
        let mut random = Random::new(seed);
        let plan = Plan::new(seed, &mut random);
        let metadata = match plan.has_posix_metadata {
            true => MetadataMode::PosixMinimal,
            false => MetadataMode::Ext4Ordered,
        };
        let disk = SimDisk::new(seed, SimOptions { metadata, space_bytes: None });
        let mut world = World {
            watch: Watch::new(plan.segment_bytes()),
            sessions: (0..plan.slots).map(|_| None).collect(),
            random,
            plan,
            disk,
            engine: None,
            reads: None,
            is_running: false,
            deadlocks: 0,
            operations_max: 0,
            tables: BTreeMap::new(),
            history: History::new(State::new()),
            late_ends: Vec::new(),
            jobs_run: 0,
            retry: None,
            pending: Vec::new(),
            is_faulty: false,
            stopped_at: None,
            unreachable: Some(0),
            unfinished_drops: Vec::new(),
            counters: RunCounters { seeds: 1, ..RunCounters::default() },
            trace: 0,
        };
        world.open().map_err(|error| Violation::unexpected("creating a database", &error))?;
        world.load().map_err(|violation| world.plan.with_pattern(violation))?;
        world.is_running = true;
        Ok(world)
    }

    fn load(&mut self) -> Verdict {
        self.create_table(WITNESS)?;
        for name in self.plan.workload.tables() {
            self.create_table(&name)?;
        }
        let rows = self.plan.workload.load(&mut self.random);
        let rows: Vec<Write> = witness_rows().chain(rows).collect();
        let (mut rest, mut batch, mut failures) = (&rows[..], 20, 0);
        while !rest.is_empty() {
            let some = &rest[..batch.min(rest.len())];
            let copies: Vec<_> = some.to_vec();
            let program = Loader { writes: copies.into_iter() };
            self.sessions[0] = Some(self.session(Box::new(program)));
            while self.sessions[0].is_some() {
                self.complete_some_reads();
                self.run_some_jobs()?;
                self.operate(0)?;
            }
            self.run_all_jobs()?; // the end of the transaction may be late
            if self.is_loaded(some) {
                rest = &rest[some.len()..];
                continue;
            }
            // A small log may have no room before a checkpoint, or for a batch of this size.
            batch = (batch / 2).max(1);
            failures += 1;
            if failures > 200 {
                return Err(Violation::new(Oracle::Liveness, "loading does not end"));
            }
            self.leave_pins(None);
            let made = self.engine().checkpoint();
            made.map_err(|error| Violation::unexpected("loading", &error))?;
        }
        self.flush(self.engine().log().end())
    }

    /// Returns true if the last write of each key has taken place.
    fn is_loaded(&self, writes: &[Write]) -> bool {
        let last: BTreeMap<_, _> =
            writes.iter().map(|(table, key, verb)| ((table, key), verb)).collect();
        last.into_iter().all(|((table, key), verb)| {
            let is_there = self.history.state().value(table, key).is_some();
            is_there != matches!(verb, Verb::Delete)
        })
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        self.engine.as_ref().expect("an engine is open between steps")
    }

    /// Runs one step.
    pub(super) fn step(&mut self) -> Verdict {
        self.counters.steps += 1;
        self.complete_some_reads();
        self.run_some_jobs()?;
        let step = self.plan.step(&mut self.random);
        print_step(|| format!("{step:?} at operation {}", self.disk.operations()));
        match step {
            Step::Begin => self.begin(),
            Step::Operate => match self.pick_session()? {
                Some(at) => self.operate(at)?,
                None => self.begin(),
            },
            Step::FlushAll => self.flush(self.engine().log().end())?,
            Step::FlushSome => {
                if !self.pending.is_empty() {
                    let at = self.random.below(self.pending.len() as u64) as usize;
                    self.flush(self.pending[at].ack)?;
                }
            }
            Step::Checkpoint => self.checkpoint()?,
            Step::Maintain => {
                self.leave_pins(None);
                let result = self.engine().maintain();
                self.judge_result(MAINTENANCE, result)?;
            }
            Step::ChangeTables => self.change_tables()?,
            Step::Reopen => self.close_and_reopen()?,
            Step::Kill => self.kill()?,
            Step::Crash => self.crash()?,
            Step::Fault => self.plan_fault(),
            Step::Abandon => {
                if let Some(at) = self.pick_session()? {
                    self.abandon(at)?;
                }
            }
        }
        self.acknowledge_results()?;
        self.watch.verdict()?;
        // A stopped engine receives a few more operations before it is restarted.
        if self.stopped_at.is_some() && self.random.one_in(6) {
            self.restart_stopped()?;
        }
        Ok(())
    }

    fn begin(&mut self) {
        let Some(at) = self.sessions.iter().position(Option::is_none) else { return };
        let state = self.history.state();
        let program: Box<dyn Program> = match self.random.one_in(WITNESS_ONE_IN) {
            true => Box::new(Witness::new(&mut self.random)),
            false => self.plan.workload.program(&mut self.random, state),
        };
        let mut session = self.session(program);
        let is_task = session.is_task();
        if let Some(context) = self.retry.take_if(|_| is_task && self.random.one_in(2)) {
            session.resume_at_start(context);
        }
        if self.plan.locks_tables && !self.tables.is_empty() && self.random.one_in(6) {
            let tables: Vec<Table> = self.tables.values().cloned().collect();
            let mode = self.random.pick(&[AbsoluteMode::Shared, AbsoluteMode::Exclusive]);
            session.lock_table_at_start(self.random.pick(&tables), mode);
        }
        self.sessions[at] = Some(session);
    }

    /// Begins a transaction with the driver that the plan chooses.
    pub(super) fn session(&mut self, program: Box<dyn Program>) -> Session {
        let blocking_one_in = self.plan.blocking_one_in();
        let is_task = self.plan.has_tasks && !self.random.one_in(blocking_one_in);
        if is_task {
            let is_hasty = self.random.one_in(HASTY_ONE_IN);
            let limit = if is_hasty { WaitLimit::NoWait } else { FOREVER };
            return Session::begin(Client::task(self.engine(), limit), program);
        }
        match self.first_stage() {
            Some(first) => self.staged_session(program, first),
            None => Session::begin(Client::blocking(self.engine()), program),
        }
    }

    /// Chooses the transaction whose turn it is; seldom one that waits and was not woken.
    ///
    /// # Errors
    /// If all transactions wait and none was woken: no step would end that.
    pub(super) fn pick_session(&mut self) -> Verdict<Option<usize>> {
        if self.sessions.iter().all(Option::is_none) {
            return Ok(None);
        }
        self.wake_one()?;
        if let Some(at) = self.pick_page_waiter() {
            return Ok(Some(at));
        }
        let those = |is_one: fn(&Session) -> bool| -> Vec<usize> {
            let is_one = |at: &usize| self.sessions[*at].as_ref().is_some_and(is_one);
            (0..self.sessions.len()).filter(is_one).collect()
        };
        let (running, runnable) = (those(|_| true), those(Session::is_runnable));
        let is_spurious = runnable.len() < running.len() && self.random.one_in(SPURIOUS_ONE_IN);
        let from = if runnable.is_empty() || is_spurious { running } else { runnable };
        Ok(Some(self.random.pick(&from)))
    }

    /// Ends a transaction whose program has not ended: rolls it back, or drops it, which is the
    /// engine's rollback.
    pub(super) fn abandon(&mut self, at: usize) -> Verdict {
        let is_task = self.sessions[at].as_ref().is_some_and(Session::is_task);
        if !is_task || self.random.one_in(2) {
            return self.roll_back(at);
        }
        self.leave_pins(Some(at));
        self.counters.dropped += 1;
        print_step(|| format!("  {at}: dropped"));
        let jobs = self.jobs();
        drop(self.sessions[at].take());
        self.counters.late_drops += u64::from(self.jobs() > jobs);
        match self.engine().log().health() {
            Err(error) if self.stopped_at.is_none() => self.expect_stopped("a drop", &error),
            _ => Ok(()),
        }
    }

    /// Runs one operation of a transaction.
    pub(super) fn operate(&mut self, at: usize) -> Verdict {
        let is_waiting = self.sessions[at].as_ref().is_some_and(Session::is_waiting);
        if is_waiting && self.random.one_in(DROPPED_ONE_IN) {
            return self.cancel_or_abandon(at);
        }
        self.leave_pins(Some(at));
        let before_fetch = self.before_fetch(at);
        let Some(mut session) = self.sessions[at].take() else { return Ok(()) };
        let was_asleep = session.is_asleep();
        self.counters.spurious += u64::from(was_asleep);
        let (tables, state) = (&self.tables, self.history.state());
        // The engine may have stopped unnoticed, during an operation of another transaction.
        let is_stopped = self.engine().health().is_err();
        let (ends, is_settled) = (self.ends(), self.is_settled());
        let others = &self.sessions;
        let around = Surroundings { tables, state, others, is_stopped, ends, is_settled };
        let jobs = [TaskJobs::LogSpace, TaskJobs::Blocking];
        let before = jobs.map(|jobs| self.engine().task_jobs(jobs));
        let progress = session.step(&mut self.random, &around)?;
        let refusals = session.refusals;
        let began_with_faults = session.began_with_faults;
        session.began_with_faults &= matches!(progress, Progress::Waits);
        print_step(|| format!("  {at}: {:?} {progress:?}", session.last()));
        let handed_over = (0..2).find(|at| self.engine().task_jobs(jobs[*at]) > before[*at]);
        self.note_job(&mut session, handed_over.map(|at| jobs[at]), was_asleep);
        self.sessions[at] = Some(session);
        self.check_fetch(before_fetch)?;
        match progress {
            Progress::Advanced => Ok(()),
            Progress::Blocked => {
                self.counters.blocked += 1;
                if refusals > self.plan.refusals_max { self.roll_back(at) } else { Ok(()) }
            }
            Progress::Waits => {
                self.counters.waits += 1;
                self.note_wait(at);
                self.follow(at)
            }
            Progress::Victim => self.bury(at),
            Progress::Full => {
                self.counters.full += 1;
                self.unreachable = None;
                // A user may free space and try again, or give up.
                if self.random.one_in(2) { self.roll_back(at) } else { self.checkpoint() }
            }
            Progress::DiskFailed(error) => {
                // The rollback of a deadlock's victim has failed: it has ended all the same.
                self.sessions[at].take_if(|session| session.has_ended());
                self.handle_failure(Some(at), &error, began_with_faults)
            }
            Progress::CutShort => {
                self.judge_cut(at)?;
                self.operate_next(at)
            }
            Progress::Fetched => self.operate_next(at),
            Progress::Commit => self.commit(at),
            Progress::Rollback => self.roll_back(at),
        }
    }

    /// Ends a deadlock's victim, which the engine has rolled back.
    fn bury(&mut self, at: usize) -> Verdict {
        let Some(session) = self.sessions[at].take() else { return Ok(()) };
        self.counters.victims += 1;
        self.deadlocks = self.engine().stats().lock.deadlocks;
        // If the rollback was late, the others may have gone on before the deadlock is reported.
        let is_late = session.is_late_victim();
        if !is_late && !self.sessions.iter().flatten().any(Session::is_waiting_for_lock) {
            return Err(Violation::new(Oracle::Answer, "a deadlock, and no other task waits"));
        }
        self.retry = Some(Rc::new(session.finish().client.into_retry_context()));
        Ok(())
    }

    fn commit(&mut self, at: usize) -> Verdict {
        self.leave_pins(Some(at));
        let Some(session) = self.sessions[at].take() else { return Ok(()) };
        let Finished { client, overlay, depends_on, pages } = session.finish();
        let is_from_memory = pages.is_some() && client.absent_pages() == 0;
        self.counters.operated_from_memory += u64::from(is_from_memory);
        match client.commit() {
            End::Over(result) => self.note_commit(result, overlay, depends_on),
            End::Late(commit) => {
                self.add_late_commit(commit, overlay, depends_on);
                Ok(())
            }
        }
    }

    /// Records the result of a commit.
    pub(super) fn note_commit(
        &mut self,
        result: Result<Committed, Error>,
        overlay: Overlay,
        depends_on: usize,
    ) -> Verdict {
        let committed = match result {
            Ok(committed) => committed,
            Err(error) => {
                if error.is_outcome_unknown() {
                    self.history.commit(IN_DOUBT, overlay.into_changes());
                }
                return self.expect_stopped("commit", &error);
            }
        };
        let (ack, log) = (committed.ack, self.engine().log().clone());
        print_step(|| format!("  {committed:?}"));
        if ack > log.end() {
            let detail = format!("an ack of {ack}, and the log ends at {}", log.end());
            return Err(Violation::new(Oracle::Answer, detail));
        }
        if committed.wrote {
            self.counters.commits += 1;
            let last = self.history.lsn_of(self.history.bounds().appended);
            if ack <= last {
                let detail = format!("a commit at {ack} after one at {last}");
                return Err(Violation::new(Oracle::Serializable, detail));
            }
            let depends_on = self.history.commit(ack, overlay.into_changes());
            self.pending.push(Pending { ack, depends_on });
        } else {
            self.counters.readers += 1;
            if !overlay.changes_nothing(self.history.state()) {
                let detail = "a commit reports that nothing was written, and something was";
                return Err(Violation::new(Oracle::Answer, detail));
            }
            self.history.check_reader(depends_on, ack, log.durable())?;
            self.pending.push(Pending { ack, depends_on });
        }
        Ok(())
    }

    /// Rolls a transaction back, which must always succeed while the disk works.
    pub(super) fn roll_back(&mut self, at: usize) -> Verdict {
        self.leave_pins(Some(at));
        if self.sessions[at].as_ref().is_some_and(Session::is_fetching) {
            return self.drop_fetch(at);
        }
        let Some(session) = self.sessions[at].take() else { return Ok(()) };
        self.counters.rollbacks += 1;
        print_step(|| format!("  {at}: rolled back"));
        let Finished { client, depends_on, pages: _pages, .. } = session.finish();
        match client.roll_back() {
            End::Over(result) => self.note_rollback(result, depends_on),
            End::Late(rollback) => {
                self.add_late_rollback(rollback, depends_on);
                Ok(())
            }
        }
    }

    /// Records the result of a rollback.
    pub(super) fn note_rollback(
        &mut self,
        result: Result<Lsn, Error>,
        depends_on: usize,
    ) -> Verdict {
        match result {
            // The results of its reads may be acknowledged as well.
            Ok(ack) => {
                self.history.check_reader(depends_on, ack, self.engine().log().durable())?;
                self.pending.push(Pending { ack, depends_on });
                Ok(())
            }
            Err(error) => self.expect_stopped("rollback", &error),
        }
    }

    /// Acknowledges the pending results up to the durable LSN.
    pub(super) fn acknowledge_results(&mut self) -> Verdict {
        let durable = self.engine().log().durable();
        let mut pending = std::mem::take(&mut self.pending);
        let mut shown = Ok(());
        pending.retain(|result| {
            if result.ack > durable || shown.is_err() {
                return true;
            }
            self.counters.acknowledged += 1;
            shown = self.watch.acknowledge(result.ack);
            self.history.acknowledge(result.ack);
            self.history.acknowledge_commit(result.depends_on);
            false
        });
        self.pending = pending;
        shown
    }

    pub(super) fn flush(&mut self, to: Lsn) -> Verdict {
        let result = self.engine().log().wait_durable(to);
        self.judge_result("Database::sync", result)?;
        self.acknowledge_results()
    }

    pub(super) fn checkpoint(&mut self) -> Verdict {
        self.leave_pins(None);
        let result = match self.random.one_in(2) {
            true => self.engine().checkpoint(),
            false => self.engine().checkpoint_lightly(),
        };
        self.counters.checkpoints += u64::from(result.is_ok());
        self.judge_result("Database::checkpoint", result)
    }

    /// Judges the result of an operation outside any transaction: it may succeed, lack space, or
    /// fail because of a fault.
    pub(super) fn judge_result(&mut self, call: &str, result: Result<(), Error>) -> Verdict {
        let Err(error) = result else { return Ok(()) };
        match classify(call, error)? {
            Progress::DiskFailed(error) => self.handle_failure(None, &error, false),
            _ => {
                self.counters.full += 1;
                self.unreachable = None;
                Ok(())
            }
        }
    }

    fn change_tables(&mut self) -> Verdict {
        if self.engine().health().is_err() {
            return Ok(());
        }
        self.leave_pins(None);
        let name = self.plan.workload.changing_table(&mut self.random);
        if self.history.state().rows(&name).is_some() {
            self.drop_table(&name)
        } else if self.unfinished_drops.contains(&name) {
            Ok(())
        } else {
            self.create_table(&name)
        }
    }

    fn create_table(&mut self, name: &str) -> Verdict {
        let change = Change::Create { table: name.into() };
        match self.engine().create_table(name) {
            Ok(table) => {
                self.tables.insert(name.into(), table);
                self.note_durable_change(change);
                Ok(())
            }
            Err(error) => self.handle_failed_change(change, error),
        }
    }

    fn drop_table(&mut self, name: &str) -> Verdict {
        let change = Change::Drop { table: name.into() };
        let result = self.engine().drop_table(name);
        let is_gone = !self.engine().tables().iter().any(|table| table == name);
        if is_gone {
            self.tables.remove(name);
        }
        match result {
            Ok(()) => self.note_durable_change(change),
            // The drop is certain to take effect, and is finished later.
            Err(error) if is_gone => {
                self.unfinished_drops.push(name.into());
                self.note_durable_change(change);
                if let Ok(Progress::DiskFailed(error)) = classify("Database::drop_table", error) {
                    self.handle_failure(None, &error, false)?;
                }
            }
            Err(error) => return self.handle_failed_change(change, error),
        }
        Ok(())
    }

    /// Records a change of the catalogue that has returned, so it and all commits before it are
    /// durable.
    fn note_durable_change(&mut self, change: Change) {
        let durable = self.engine().log().durable();
        let count = self.history.commit(durable, [change]);
        self.history.acknowledge_commit(count);
    }

    /// Handles a change of the catalogue that failed. It may have taken place if the engine has
    /// stopped.
    fn handle_failed_change(&mut self, change: Change, error: Error) -> Verdict {
        let call = match change {
            Change::Drop { .. } => "Database::drop_table",
            _ => "Database::create_table",
        };
        self.judge_result(call, Err(error))?;
        if self.stopped_at.is_some() {
            self.history.commit(IN_DOUBT, [change]);
        }
        Ok(())
    }
}

/// Writes the initial contents.
struct Loader {
    writes: std::vec::IntoIter<Write>,
}

impl Program for Loader {
    fn next(&mut self, _: &mut Random, _: &crate::workloads::Answer) -> Operation {
        match self.writes.next() {
            Some((table, key, verb)) => Operation::Write { table, key, verb },
            None => Operation::Commit,
        }
    }
}
