//! The threads of a workload.

use std::{
    collections::HashMap,
    sync::mpsc::{Receiver, Sender, channel},
};

use clearway::{Error, Result};
use clearway_sync::thread;
use clearway_testkit::Random;

use crate::{
    clock::now_ns,
    history::{Event, Op, Phase},
};

use super::{
    PER_INCARNATION, Shared, Sink,
    perform::perform,
    plan::{self, Plan, Planner, Step},
    store::{How, Ticket},
};

/// A transaction in progress: a thread waits for its result.
struct UnderWay {
    id: u64,
    process: u64,
    ticket: Ticket,
}

/// Runs all threads to their end, and then the last reads.
pub(super) fn run<S: Sink>(
    shared: &Shared<'_>,
    sink: &(dyn Fn() -> S + Sync),
    collect: &(dyn Fn(S) + Sync),
) {
    let settings = shared.settings;
    thread::scope(|scope| {
        for number in 0..settings.waiting_threads {
            scope.spawn(move || {
                let mut agent = Agent::new(shared, number, sink());
                agent.run_waiting();
                collect(agent.sink);
            });
        }
        for number in 0..settings.pipelining_threads {
            let (send, receive) = channel();
            let (send_free, free) = channel();
            scope.spawn(move || {
                let mut agent = Agent::new(shared, settings.waiting_threads + number, sink());
                agent.run_pipelining(&send, &free);
                collect(agent.sink);
            });
            scope.spawn(move || collect(wait_for_all(shared, sink(), &receive, &send_free)));
        }
    });
    if shared.failure.lock().is_none() {
        let mut agent =
            Agent::new(shared, settings.waiting_threads + settings.pipelining_threads, sink());
        agent.read_everything();
        collect(agent.sink);
    }
}

/// A thread that runs transactions, for one process or several.
struct Agent<'a, S> {
    shared: &'a Shared<'a>,
    planner: Planner,
    first_process: u64,
    sink: S,
}

impl<'a, S: Sink> Agent<'a, S> {
    fn new(shared: &'a Shared<'a>, number: u64, sink: S) -> Agent<'a, S> {
        let settings = shared.settings;
        let random = Random::stream(settings.seed, settings.incarnation * PER_INCARNATION + number);
        Agent {
            shared,
            planner: Planner { workload: settings.workload, random, last_seen: HashMap::new() },
            first_process: settings.incarnation * PER_INCARNATION + number * settings.under_way,
            sink,
        }
    }

    fn run_waiting(&mut self) {
        while let Some(issued) = self.shared.next() {
            let Some(open) = self.start(issued, self.first_process) else { continue };
            let (id, process) = (open.id, open.process);
            let result = (open.ticket)();
            self.learn(&result);
            finish(self.shared, &mut self.sink, id, process, result);
        }
    }

    /// Starts transactions for processes that are free; another thread waits for their results.
    fn run_pipelining(&mut self, send: &Sender<UnderWay>, free: &Receiver<u64>) {
        let under_way = self.shared.settings.under_way;
        let mut processes: Vec<u64> =
            (self.first_process..self.first_process + under_way).collect();
        while let Some(issued) = self.shared.next() {
            processes.extend(free.try_iter());
            let process = match processes.pop() {
                Some(process) => process,
                None => match free.recv() {
                    Ok(process) => process,
                    Err(_) => return,
                },
            };
            match self.start(issued, process) {
                Some(open) => {
                    if send.send(open).is_err() {
                        return;
                    }
                }
                None => processes.push(process),
            }
        }
    }

    /// Runs a transaction up to its ticket; returns `None` if it ended before.
    fn start(&mut self, issued: u64, process: u64) -> Option<UnderWay> {
        let settings = self.shared.settings;
        let id = settings.incarnation * PER_INCARNATION + issued;
        let plan = self.planner.plan(id, settings.issued_before + issued);
        self.start_plan(id, process, &plan)
    }

    fn start_plan(&mut self, id: u64, process: u64, plan: &Plan) -> Option<UnderWay> {
        let ops = plan.steps.iter().map(|step| step.op.clone()).collect();
        let event = Event { id, process, phase: Phase::Invoke, time: now_ns(), ops };
        self.sink.record(&event);
        match self.shared.store.run(plan.how, &mut |access| perform(plan, access)) {
            Ok(ticket) => Some(UnderWay { id, process, ticket }),
            Err(error) => {
                finish(self.shared, &mut self.sink, id, process, Err(error));
                None
            }
        }
    }

    /// Remembers the values of registers for the next compare-and-set.
    fn learn(&mut self, result: &Result<Vec<Op>>) {
        for op in result.iter().flatten() {
            match *op {
                Op::Read { key, value: Some(value) } => {
                    self.planner.last_seen.insert(key, value);
                }
                Op::Write { key, value } => {
                    self.planner.last_seen.insert(key, Some(value));
                }
                _ => {}
            }
        }
    }

    fn read_everything(&mut self) {
        let settings = self.shared.settings;
        let issued = settings.issued_before + settings.transactions;
        let parts = plan::last_reads(settings.workload, issued);
        for (number, ops) in parts.into_iter().enumerate() {
            let step = |op| Step { op, upgrade: false, swap: false, undone: None, pause_us: 0 };
            let steps = ops.into_iter().map(step).collect();
            let plan = Plan { steps, how: How::Transact, abort: false };
            let id = settings.incarnation * PER_INCARNATION + PER_INCARNATION / 2 + number as u64;
            let Some(open) = self.start_plan(id, self.first_process, &plan) else { continue };
            finish(self.shared, &mut self.sink, id, self.first_process, (open.ticket)());
        }
    }
}

/// Waits for the transactions that another thread started, in order, and reports which processes
/// are free again.
fn wait_for_all<S: Sink>(
    shared: &Shared<'_>,
    mut sink: S,
    receive: &Receiver<UnderWay>,
    free: &Sender<u64>,
) -> S {
    for open in receive {
        let result = (open.ticket)();
        finish(shared, &mut sink, open.id, open.process, result);
        // The other end is closed when it has nothing more to start.
        let _ = free.send(open.process);
    }
    sink
}

/// Records the outcome of a transaction.
fn finish(
    shared: &Shared<'_>,
    sink: &mut impl Sink,
    id: u64,
    process: u64,
    result: Result<Vec<Op>>,
) {
    let time = now_ns();
    let (phase, ops) = match result {
        Ok(ops) => (Phase::Ok, ops),
        Err(error) => {
            shared.note(&error);
            let certain = matches!(error, Error::Aborted { .. }) || error.is_retryable();
            (if certain { Phase::Fail } else { Phase::Info }, Vec::new())
        }
    };
    sink.record(&Event { id, process, phase, time, ops });
}
