//! Two-stage execution: some transactions run their program first in a fetch stage, others begin as
//! optimistic runs, which the engine converts into a fetch stage at the first absent page
//! (`docs/staging.md`).
//!
//! ```text
//!   fetch ───────────────────────────┬─► end: its pins stay ─► operate, from the beginning
//!   optimistic ─► page absent: fetch ┘
//!       └───────► commit or rollback
//! ```
//!
//! A program whose operations depend on the answers runs twice with the same random numbers; those
//! of the others are drawn before. So both stages have the same operations, as long as the answers
//! are the same.
//!
//! A fetch stage reads what others have not committed. Its answers are judged if no other
//! transaction has written the key, or, for a scan, none the range since the scan began: then they
//! are what a transaction with locks would read. No operation of it may change a page or the log.
//! It may fail in one way: `Cancelled`, for which there must be a reason.

use std::{ops::Bound, rc::Rc};

use clearway_base::{Error, Lsn};
use clearway_lock::AbsoluteMode;
use clearway_pool::FetchedPages;
use clearway_testkit::Random;
use clearway_txn::{Fetched, Holdings, RetryContext, Table, TaskJobs};

use super::{
    client::{Call, Client, Interrupt, Returned},
    counters::RunCounters,
    footprint::Footprint,
    print_step,
    session::{Progress, Session, Surroundings, judge_interrupt},
    world::World,
};
use crate::{
    oracles::{Oracle, Verdict, Violation},
    workloads::{Answer, Operation, Program},
};

/// In a run with two-stage execution, one of this many blocking transactions fetches first, and as
/// many are optimistic.
const STAGED_ONE_IN: u64 = 3;

/// The first stage of a transaction that may have two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FirstStage {
    Fetch,
    Optimistic,
}

/// The part of a session that has two stages, or may have.
pub(super) struct Stages {
    first: FirstStage,
    /// The program from its beginning, for the operate stage.
    again: Box<dyn Program>,
    /// The table that the transaction locks first.
    pub(super) table_lock: Option<(Table, AbsoluteMode)>,
    /// True once the optimistic run was converted.
    is_converted: bool,
    /// The pins of the fetch stage, once it has ended.
    pages: Option<FetchedPages>,
    /// The answers of the fetch stage that were judged.
    judged: u64,
    /// Table and key of the first look at each key, and the number of ends of transactions then.
    looks: Vec<(String, Vec<u8>, u64)>,
}

impl Stages {
    /// Returns the program for the first stage, and the rest.
    pub(super) fn of(
        program: Box<dyn Program>,
        first: FirstStage,
        random: &mut Random,
    ) -> (Box<dyn Program>, Box<Stages>) {
        let (one, again) = twice(program, random);
        let (is_converted, judged) = (false, 0);
        let (table_lock, pages, looks) = (None, None, Vec::new());
        (one, Box::new(Stages { first, again, table_lock, is_converted, pages, judged, looks }))
    }

    /// Returns the number of ends at the first look at a key, which is `now` if this is the first.
    /// A write may rely on what the stage has read of the key before, as the operate stage may,
    /// which has a lock on it.
    fn first_look(&mut self, table: &str, key: &[u8], now: u64) -> u64 {
        if let Some((.., ends)) = self.looks.iter().find(|(of, at, _)| of == table && at == key) {
            return *ends;
        }
        self.looks.push((table.to_owned(), key.to_vec(), now));
        now
    }

    /// Takes the pins of the fetch stage.
    pub(super) fn into_pages(self) -> Option<FetchedPages> {
        self.pages
    }
}

/// Returns two programs with the same operations.
fn twice(
    mut program: Box<dyn Program>,
    random: &mut Random,
) -> (Box<dyn Program>, Box<dyn Program>) {
    if let Some(copy) = program.copy() {
        let random = Random::new(random.next_u64());
        let again = Repeatable { program: copy, random: random.clone() };
        return (Box::new(Repeatable { program, random }), Box::new(again));
    }
    let mut operations = Vec::new();
    while !matches!(operations.last(), Some(Operation::Commit | Operation::Rollback)) {
        operations.push(program.next(random, &Answer::Done));
    }
    let (one, again) = (operations.clone().into_iter(), operations.into_iter());
    (Box::new(Listed(one)), Box::new(Listed(again)))
}

/// A program with random numbers of its own.
struct Repeatable {
    program: Box<dyn Program>,
    random: Random,
}

impl Program for Repeatable {
    fn next(&mut self, _: &mut Random, answer: &Answer) -> Operation {
        self.program.next(&mut self.random, answer)
    }
}

/// A program whose operations were drawn before.
#[derive(Default)]
struct Listed(std::vec::IntoIter<Operation>);

impl Program for Listed {
    fn next(&mut self, _: &mut Random, _: &Answer) -> Operation {
        self.0.next().unwrap_or(Operation::Rollback)
    }
}

/// The state that an operation of a fetch stage must leave as it is.
pub(super) struct BeforeFetch {
    log_end: Lsn,
    flushes: u64,
    dirty_pages: u64,
}

impl Session {
    /// Returns true if the transaction is in the fetch stage.
    pub(super) fn is_fetching(&self) -> bool {
        self.client.is_fetching()
    }

    /// Makes a call, or continues the one in progress. It may convert an optimistic run, which
    /// releases the locks.
    pub(super) fn call(&mut self, call: impl FnOnce() -> Call) -> Result<Returned, Interrupt> {
        let result = self.client.call(call);
        if let Some(stages) = &mut self.stages
            && stages.first == FirstStage::Optimistic
            && !stages.is_converted
            && self.client.is_fetching()
        {
            stages.is_converted = true;
            self.footprint = Footprint::default();
        }
        result
    }

    /// Judges an answer of the fetch stage about one key. `wrong` says what is wrong with it.
    ///
    /// # Errors
    /// If it is judged and wrong.
    pub(super) fn judge_fetched_key(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        key: &[u8],
        wrong: Option<String>,
    ) -> Verdict {
        let now = around.ends;
        let look = self.stages.as_mut().map(|stages| stages.first_look(table, key, now));
        let range = (Bound::Included(key), Bound::Included(key));
        self.judge_fetched(around, table, range, look.unwrap_or(now), wrong)
    }

    /// Judges an answer of the fetch stage, which has read `range` since `ends`, if others have
    /// written nothing there meanwhile. `wrong` says what is wrong with it.
    ///
    /// # Errors
    /// If it is judged and wrong.
    pub(super) fn judge_fetched(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        ends: u64,
        wrong: Option<String>,
    ) -> Verdict {
        let others = || around.others.iter().flatten();
        let is_settled = around.is_settled
            && ends == around.ends
            && !others().any(Session::is_late_victim)
            && others().all(|other| other.footprint.check_read(table, range).is_ok());
        if !is_settled {
            return Ok(());
        }
        if let Some(detail) = wrong {
            let detail = format!("in a fetch stage, {detail}");
            return Err(Violation::new(Oracle::Serializable, detail));
        }
        if let Some(stages) = &mut self.stages {
            stages.judged += 1;
        }
        Ok(())
    }

    /// Begins the operate stage, with the pins of the fetch stage.
    fn begin_operate(
        &mut self,
        client: Client,
        pages: FetchedPages,
        from: RetryContext,
    ) -> Verdict {
        let Some(mut stages) = self.stages.take() else { return Ok(()) };
        let program = std::mem::replace(&mut stages.again, Box::new(Listed::default()));
        let mut next = Session::begin(client, program);
        (stages.pages, next.table_lock) = (Some(pages), stages.table_lock.take());
        if stages.is_converted {
            match next.client.call(|| Call::Resume(Rc::new(from))) {
                // The program may remember what it has read with locks (CONVERSION-4).
                Ok(_) => next.depends_on = self.depends_on,
                Err(interrupt) => drop(judge_interrupt("Transaction::get", interrupt)?),
            }
        }
        next.stages = Some(stages);
        *self = next;
        Ok(())
    }
}

/// Classifies the reason why a call of the fetch stage has no result.
///
/// # Errors
/// If the call must not return this error.
pub(super) fn judge_fetch_interrupt(call: &str, interrupt: Interrupt) -> Verdict<Progress> {
    match interrupt {
        Interrupt::Failed(Error::Cancelled) => Ok(Progress::CutShort),
        Interrupt::Failed(error @ Error::Poisoned { .. }) => Ok(Progress::DiskFailed(error)),
        interrupt => {
            let detail = format!("{call} in a fetch stage: {interrupt:?}");
            Err(Violation::new(Oracle::Answer, detail))
        }
    }
}

impl World {
    /// Returns the stage with which a new transaction that blocks begins; `None` for the operate
    /// stage.
    pub(super) fn first_stage(&mut self) -> Option<FirstStage> {
        if !self.plan.has_stages || !self.is_running {
            return None;
        }
        match self.random.below(STAGED_ONE_IN) {
            0 => Some(FirstStage::Fetch),
            1 => Some(FirstStage::Optimistic),
            _ => None,
        }
    }

    /// Begins a transaction that has two stages, or may have.
    pub(super) fn staged_session(
        &mut self,
        program: Box<dyn Program>,
        first: FirstStage,
    ) -> Session {
        let (program, stages) = Stages::of(program, first, &mut self.random);
        let mut session = Session::begin(Client::staged(self.engine(), first), program);
        session.stages = Some(stages);
        session
    }

    /// The number of transactions that have ended, those included of which the engine has undone
    /// something late.
    pub(super) fn ends(&self) -> u64 {
        let RunCounters { commits, readers, rollbacks, dropped, victims, .. } = self.counters;
        commits + readers + rollbacks + dropped + victims + self.jobs_run
    }

    /// Returns true if only the sessions have changed what is not committed.
    pub(super) fn is_settled(&self) -> bool {
        self.late_ends.is_empty() && self.engine().task_jobs(TaskJobs::Blocking) == 0
    }

    /// Returns the state before the next operation of the session at `at`, if that is in the fetch
    /// stage.
    pub(super) fn before_fetch(&self, at: usize) -> Option<BeforeFetch> {
        self.sessions[at].as_ref().is_some_and(Session::is_fetching).then(|| self.unfetched())
    }

    fn unfetched(&self) -> BeforeFetch {
        let stats = self.engine().stats();
        let (flushes, dirty_pages) = (stats.log.flushes, stats.pool.dirty_pages);
        BeforeFetch { log_end: self.engine().log().end(), flushes, dirty_pages }
    }

    /// Checks that an operation of a fetch stage has changed nothing. It may have evicted a dirty
    /// page, which flushes the log.
    pub(super) fn check_fetch(&self, before: Option<BeforeFetch>) -> Verdict {
        let Some(before) = before else { return Ok(()) };
        let after = self.unfetched();
        let has_logged = after.log_end > before.log_end && after.flushes == before.flushes;
        if !has_logged && after.dirty_pages <= before.dirty_pages {
            return Ok(());
        }
        let dirty = after.dirty_pages.saturating_sub(before.dirty_pages);
        let (from, to) = (before.log_end, after.log_end);
        let detail = format!("a fetch stage: log from {from} to {to}, {dirty} dirty pages more");
        Err(Violation::new(Oracle::Quiet, detail))
    }

    /// Judges a fetch stage that has ended before its program: a fault of the disk explains that,
    /// or a conversion that could not read what was written.
    pub(super) fn judge_cut(&mut self, at: usize) -> Verdict {
        let stages = self.sessions[at].as_ref().and_then(|session| session.stages.as_ref());
        let is_converted = stages.is_some_and(|stages| stages.is_converted);
        let has_failed = self.is_faulty || self.disk.is_off() || self.counters.failed_reads > 0;
        if has_failed || is_converted || self.engine().health().is_err() {
            return Ok(());
        }
        Err(Violation::new(Oracle::Answer, "nothing explains the early end of a fetch stage"))
    }

    /// Ends the fetch stage of a session, and begins its operate stage.
    pub(super) fn operate_next(&mut self, at: usize) -> Verdict {
        let is_alone = self.is_alone(at);
        let Some(mut session) = self.sessions[at].take() else { return Ok(()) };
        let (fetched, context) = session.client.end_fetch();
        let (Some(fetched), Some(stages)) = (fetched, &session.stages) else {
            return Err(Violation::new(Oracle::Answer, "a fetch stage has ended by itself"));
        };
        let Fetched { pages, is_cut_short, absent_pages, .. } = fetched;
        print_step(|| format!("  {at}: fetched, {} pages are pinned", pages.count()));
        let counters = &mut self.counters;
        counters.fetches += 1;
        counters.fetches_with_reads += u64::from(absent_pages > 0);
        counters.fetches_cut += u64::from(is_cut_short);
        counters.conversions += u64::from(stages.is_converted);
        counters.fetched_answers += stages.judged;
        self.check_left(is_alone, pages.count())?;
        let client = Client::blocking(self.engine());
        session.begin_operate(client, pages, context)?;
        self.sessions[at] = Some(session);
        Ok(())
    }

    /// Drops a transaction in its fetch stage.
    pub(super) fn drop_fetch(&mut self, at: usize) -> Verdict {
        print_step(|| format!("  {at}: dropped in its fetch stage"));
        self.counters.fetches_dropped += 1;
        let is_alone = self.is_alone(at);
        drop(self.sessions[at].take());
        self.check_left(is_alone, 0)
    }

    /// Returns true if no other transaction runs than the one at `at`, nothing is to be done for
    /// one, and no page is being read.
    fn is_alone(&self, at: usize) -> bool {
        let others = self.sessions.iter().enumerate().filter(|(other, _)| *other != at);
        others.map(|(_, session)| session).all(Option::is_none)
            && self.late_ends.is_empty()
            && self.jobs() + self.deallocations() + self.reads_held() == 0
            && self.engine().holdings().transactions == 1
            && self.engine().health().is_ok()
    }

    /// Checks that a fetch stage which has just ended has left nothing but the pins of these pages,
    /// if it was alone.
    fn check_left(&mut self, is_alone: bool, pages: usize) -> Verdict {
        if !is_alone {
            return Ok(());
        }
        self.counters.fetches_alone += 1;
        let left = self.engine().holdings();
        let expected = Holdings { pages, waiters: left.waiters, ..Holdings::default() };
        if left == expected {
            return Ok(());
        }
        let detail = format!("left by a fetch stage that has kept {pages} pages: {left:?}");
        Err(Violation::new(Oracle::Quiet, detail))
    }
}
