//! An agent: a thread that runs the transactions of clients.

use std::{
    cell::Cell,
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use clearway_sync::{Counter, ThreadWaker, atomic::Ordering, thread};

use super::{
    Accepted, Begin, Inbox, Job, JobAtPage, PendingResult, PipelineShared, PipelineStats,
    TaskPlace,
    inbox::ParkCheck,
    spinning::{SpinEnd, Spinning},
    tasks::{Polled, RunsTask, Tasks},
};
use crate::inner::Inner;

/// The counters of an agent. Only the agent writes them.
#[derive(Default)]
pub(super) struct AgentCounters {
    results: Counter,
    batches: Counter,
    parks: Counter,
    stolen: Counter,
}

impl AgentCounters {
    /// Counts a result. Called by the agent.
    pub(super) fn count_result(&self) {
        self.results.add_as_only_writer(1);
    }

    pub(super) fn add_to(&self, sum: PipelineStats) -> PipelineStats {
        PipelineStats {
            results: sum.results + self.results.get(),
            batches: sum.batches + self.batches.get(),
            parks: sum.parks + self.parks.get(),
            stolen: sum.stolen + self.stolen.get(),
        }
    }
}

/// A step of an agent that takes longer is counted: results of a few milliseconds' flushes wait
/// behind it.
const LONG_STEP: Duration = Duration::from_millis(10);

/// Measures the steps of an agent: the runs of closures and the polls of tasks. It reads the clock
/// once for a step that follows another one, and twice for one that follows a pause of the agent or
/// the delivery of results. (Measured in November 2026: 26 ns a reading. A coarse clock would cost
/// less, but with its ticks of 4 ms it could not tell 10 ms.)
pub(super) struct StepClock {
    /// The end of the last step, or the beginning of the present one.
    last: Instant,
    /// True if the next step begins where the last one ended.
    is_current: bool,
}

impl StepClock {
    pub(super) fn new() -> StepClock {
        StepClock { last: Instant::now(), is_current: false }
    }

    /// The agent does something else before its next step.
    fn pause(&mut self) {
        self.is_current = false;
    }

    /// Runs a step. Returns its result, and true if it was long.
    pub(super) fn step<T>(&mut self, step: impl FnOnce() -> T) -> (T, bool) {
        if !self.is_current {
            self.last = Instant::now();
        }
        let result = step();
        let now = Instant::now();
        let took = now.saturating_duration_since(self.last);
        (self.last, self.is_current) = (now, true);
        (result, took > LONG_STEP)
    }
}

thread_local! {
    /// The pipeline (by address) and the number of the agent that this thread is.
    static CURRENT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

fn address(shared: &PipelineShared) -> usize {
    std::ptr::from_ref(shared) as usize
}

/// Returns the number of the agent that the calling thread is, if it is an agent of this pipeline.
pub(super) fn current(shared: &PipelineShared) -> Option<usize> {
    CURRENT.with(Cell::get).0.eq(&address(shared)).then(|| CURRENT.with(Cell::get).1)
}

/// An agent and its private state.
pub(super) struct Agent {
    shared: Arc<PipelineShared>,
    number: usize,
    /// The results that are not delivered yet, in the order in which the transactions have ended.
    waiting: VecDeque<Box<dyn PendingResult>>,
    tasks: Tasks<Box<dyn TaskPlace>>,
    clock: StepClock,
    spinning: Spinning,
}

impl Agent {
    /// An agent that runs on this thread.
    pub(super) fn new(shared: Arc<PipelineShared>, number: usize) -> Agent {
        let tasks = Tasks::new(ThreadWaker::current(), shared.tasks_max);
        let (waiting, clock) = (VecDeque::new(), StepClock::new());
        Agent { shared, number, waiting, tasks, clock, spinning: Spinning::new() }
    }

    /// Works until the inbox is closed and the results of all its jobs are delivered (PIPELINE-2).
    pub(super) fn run(mut self) {
        CURRENT.with(|current| current.set((address(&self.shared), self.number)));
        loop {
            if self.shared.database.check_process().is_err() {
                // A closure forked and has returned in the child, of which this is the only thread.
                std::mem::forget(self);
                return;
            }
            self.deliver_ready();
            self.poll_tasks();
            match self.next() {
                Some(Accepted::Job(job)) => self.perform(job),
                Some(Accepted::Task(task)) => self.begin_task(task),
                None if self.park() => return,
                None => {}
            }
        }
    }

    fn counters(&self) -> &AgentCounters {
        &self.shared.counters[self.number]
    }

    fn begin_task(&mut self, task: Box<dyn Begin>) {
        let (name, shared) = (task.name(), &self.shared);
        let polled = self.tasks.begin(name, |place| task.begin_in(place, shared), &mut self.clock);
        after_poll(&self.shared.database, &mut self.waiting, polled);
    }

    fn poll_tasks(&mut self) {
        let Agent { shared, waiting, tasks, clock, .. } = self;
        tasks.poll_ready(clock, |polled| after_poll(&shared.database, waiting, polled));
    }

    fn perform(&mut self, mut job: Box<dyn Job>) {
        let database = &self.shared.database;
        let (at_page, is_long) = self.clock.step(|| job.run(database));
        if is_long {
            database.statistics.count_long_step(job.name());
        }
        match at_page {
            None => self.waiting.push_back(job),
            Some(closure) => self.begin_wait(JobAtPage { job, closure }),
        }
    }

    /// Begins the wait of a job for a page of its fetch stage, as a task.
    #[cold]
    fn begin_wait(&mut self, waits: JobAtPage) {
        let (name, shared) = (waits.job.name(), &self.shared);
        let polled = self.tasks.begin(name, |place| waits.begin_in(place, shared), &mut self.clock);
        after_poll(&self.shared.database, &mut self.waiting, polled);
    }

    /// Delivers the results that are ready, in the order of the transactions' ends (PIPELINE-5).
    fn deliver_ready(&mut self) {
        let mut delivered = 0;
        while self.waiting.front().is_some_and(|outcome| outcome.is_ready()) {
            let Some(outcome) = self.waiting.pop_front() else { break };
            delivered += 1;
            // Count the result before it is delivered, so that a client with a result finds it
            // counted.
            self.counters().count_result();
            outcome.deliver();
        }
        if delivered > 0 {
            self.clock.pause();
            self.counters().batches.add_as_only_writer(1);
        }
    }

    /// Returns the next transaction to run: from the agent's own inbox, or from another's
    /// (PIPELINE-3). Takes only one at a time, since no other agent could take what this one holds,
    /// and none while it has as many tasks as it may have, unless the pipeline is closed: then one
    /// of its tasks may wait for a job that no other agent would run.
    fn next(&mut self) -> Option<Accepted> {
        let inbox = &self.shared.inboxes[self.number];
        if self.tasks.is_full() && !inbox.is_closed() {
            return None;
        }
        inbox.pop().or_else(|| {
            let (stolen, has_more) = self.others().find_map(super::Jobs::steal)?;
            self.counters().stolen.add_as_only_writer(1);
            if has_more {
                self.shared.wake_one(); // INBOX-4
            }
            Some(stolen)
        })
    }

    /// Returns the other agents' inboxes, beginning with the neighbour's.
    fn others(&self) -> impl Iterator<Item = &super::Jobs> {
        let (inboxes, number) = (&self.shared.inboxes, self.number);
        (1..inboxes.len()).map(move |step| &*inboxes[(number + step) % inboxes.len()])
    }

    /// Parks until there is a job or a result (PIPELINE-4). Returns true if all work is done.
    fn park(&mut self) -> bool {
        self.clock.pause();
        let shared = &*self.shared;
        let inbox = &shared.inboxes[self.number];
        let waker = ThreadWaker::current();
        let is_full = self.tasks.is_full() && !inbox.is_closed();
        if !is_full {
            // Relaxed: the inboxes' mutexes order it (INBOX-4).
            shared.asleep.fetch_add(1, Ordering::Relaxed);
        }
        let check = inbox.prepare_park((!is_full).then_some(&waker));
        if is_full && check == ParkCheck::Jobs {
            shared.wake_one();
        }
        let has_work = !self.waiting.is_empty() || !self.tasks.is_empty();
        let is_over = check == ParkCheck::Closed && !has_work;
        // A closed inbox stores no waker: then only a result or a task can wake this agent. It does
        // not check the other inboxes, since each agent runs the jobs that are left in its own. An
        // agent that may begin no further task waits for one of its own (INBOX-4).
        let is_idle = is_full
            || check == ParkCheck::Closed
            || check == ParkCheck::MayPark && self.others().all(Inbox::is_empty);
        let mut context = Context::from_waker(&waker);
        if !is_over
            && is_idle
            && !self.waiting.front().is_some_and(|outcome| outcome.poll(&mut context))
            && !self.tasks.is_ready()
            && (self.tasks.is_empty()
                || self.spinning.look(|| see(inbox, &self.waiting, &mut self.tasks))
                    == SpinEnd::Nothing)
        {
            while self.tasks.free_one() {}
            self.counters().parks.add_as_only_writer(1);
            thread::park();
        }
        if !is_full {
            inbox.clear_waker();
            shared.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        is_over
    }
}

impl RunsTask for Box<dyn TaskPlace> {
    type Result = Box<dyn PendingResult>;

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Box<dyn PendingResult>> {
        (**self).poll(context)
    }
}

/// Returns what there is to do for an agent that is about to park. If nothing, frees a place.
fn see(
    inbox: &super::Jobs,
    waiting: &VecDeque<Box<dyn PendingResult>>,
    tasks: &mut Tasks<Box<dyn TaskPlace>>,
) -> SpinEnd {
    match waiting.front() {
        _ if tasks.is_ready() => SpinEnd::Task,
        Some(outcome) if outcome.is_ready() => SpinEnd::Other,
        _ if !inbox.is_empty() => SpinEnd::Other,
        _ => {
            tasks.free_one();
            SpinEnd::Nothing
        }
    }
}

/// Counts a poll that was long, and keeps the result of a task that has ended.
fn after_poll(
    database: &Inner,
    waiting: &mut VecDeque<Box<dyn PendingResult>>,
    polled: Polled<Box<dyn PendingResult>>,
) {
    if polled.is_long {
        database.statistics.count_long_step(polled.name);
    }
    if let Some(result) = polled.result {
        waiting.push_back(result);
    }
}
