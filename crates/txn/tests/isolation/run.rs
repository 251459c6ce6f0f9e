//! Runs a permutation: gives the steps to the sessions in turn, and notes what happens.
//!
//! A step that does not answer waits for a lock: the lock table counts the waiters, and when it
//! counts as many as there are steps without an answer, nothing else will happen by itself. A
//! deadlock's victim waits for a moment before it dies, so a wait that the spec does not expect
//! is given time; one that it expects and that ends otherwise is seen with the next step.
//!
//! Under a range-lock protocol that the spec was not written for, a session may wait where the spec
//! gives it another step: it does that later, when it can.

use std::{
    collections::VecDeque,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clearway_base::TreeId;
use clearway_disk::MemoryDisk;
use clearway_lock::{LockOptions, LockStats};
use clearway_txn::{Engine, EngineOptions, Table};
use clearway_variants::txn::{RangeProtocol, TxnVariant};

use crate::{
    driver::Driver,
    rig,
    seat::Seat,
    session::Session,
    spec::{self, Permutation, Spec},
};

/// The longest time that a step may take where the spec expects an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long nothing may happen before a step is said to wait.
const CALM: Duration = Duration::from_millis(4);

/// A session of a running permutation.
struct Running {
    name: String,
    seat: Seat,
    /// The step that has not answered.
    step: Option<String>,
    /// Its steps that came while it waited.
    later: VecDeque<String>,
}

impl Running {
    fn give(&mut self, step: &str, words: &[String]) {
        self.seat.give(words.to_vec());
        self.step = Some(step.to_string());
    }
}

/// The rules by which locks are taken, and the way in which sessions wait for them.
pub(crate) struct Locking {
    pub(crate) protocol: RangeProtocol,
    pub(crate) table: LockOptions,
    pub(crate) driver: Driver,
}

impl Default for Locking {
    fn default() -> Locking {
        let table = LockOptions { wait_limit: None, ..LockOptions::default() };
        Locking { protocol: RangeProtocol::Orthogonal, table, driver: Driver::Blocking }
    }
}

/// The result of a permutation.
pub(crate) struct Ran {
    /// One line each.
    pub(crate) events: Vec<String>,
    /// The contents of the table when all transactions had ended.
    pub(crate) contents: String,
    pub(crate) stats: LockStats,
}

/// Runs a permutation under a protocol; under another than specs are written for, what cannot be
/// done in time is done later.
pub(crate) fn permutation(
    spec: &Spec,
    permutation: &Permutation,
    expected: Option<&[String]>,
    locking: &Locking,
) -> Ran {
    let (engine, table) = start(spec, locking);
    let events = events(spec, permutation, expected, locking, (&engine, &table));
    let stats = engine.stats().lock;
    Ran { events, contents: contents(&engine, &table), stats }
}

/// Everything in the table.
pub(crate) fn contents(engine: &Arc<Engine>, table: &Table) -> String {
    let mut session = Session::new(engine.clone(), table.clone(), Driver::Blocking);
    let contents = session.perform(&["scan".to_string(), "[-,-]".to_string()]);
    session.perform(&["commit".to_string()]);
    contents
}

fn events(
    spec: &Spec,
    permutation: &Permutation,
    expected: Option<&[String]>,
    locking: &Locking,
    (engine, table): (&Arc<Engine>, &Table),
) -> Vec<String> {
    let defers = locking.protocol != RangeProtocol::Orthogonal;
    thread::scope(|scope| {
        let seat = |session: &spec::Session| {
            let state = Session::new(engine.clone(), table.clone(), locking.driver);
            let seat = Seat::new(state, locking.driver, scope);
            Running { name: session.name.clone(), seat, step: None, later: VecDeque::new() }
        };
        let mut seats: Vec<Running> = spec.sessions.iter().map(seat).collect();
        let mut events = Vec::new();
        for step in &permutation.steps {
            let before = events.len();
            match spec.find(step) {
                Some((at, words)) => {
                    let seat = &mut seats[at];
                    if defers && (seat.step.is_some() || !seat.later.is_empty()) {
                        seat.later.push_back(step.clone());
                        continue;
                    }
                    if seat.step.is_some() {
                        events.push(format!("{step} cannot: {} waits", seat.name));
                        break;
                    }
                    seat.give(step, words);
                }
                None => events.push(format!("{step} {}", of_engine(engine, step))),
            }
            let wish = |event: &str| {
                expected.is_none_or(|expected| expected.get(before).is_some_and(|e| e == event))
            };
            settle(engine, &mut seats, step, &wish, &mut events);
            catch_up(spec, engine, &mut seats, &mut events);
        }
        for seat in seats.iter().filter(|seat| seat.step.is_some()) {
            events.push(format!("{} still waits", seat.step.as_deref().unwrap_or_default()));
        }
        finish(engine, seats);
        events
    })
}

/// Lets sessions that wait no more do what came while they waited.
fn catch_up(spec: &Spec, engine: &Engine, seats: &mut [Running], events: &mut Vec<String>) {
    let free = |seat: &Running| seat.step.is_none() && !seat.later.is_empty();
    while let Some(seat) = seats.iter_mut().find(|seat| free(seat)) {
        let step = seat.later.pop_front().expect("it has one");
        let (_, words) = spec.find(&step).expect("a step of the spec");
        seat.give(&step, words);
        settle(engine, seats, &step, &|_| true, events);
    }
}

/// A new engine with the spec's table.
pub(crate) fn start(spec: &Spec, locking: &Locking) -> (Arc<Engine>, Table) {
    let mut options = EngineOptions { node_bytes: spec.node_bytes, ..EngineOptions::simulation() };
    options.parts = Arc::new(TxnVariant::from(locking.protocol));
    options.escalate_after = spec.escalate_after;
    options.log = clearway_log::LogOptions { background: false, ..rig::options().log };
    options.pool.cache_bytes = 4 << 20;
    options.pool.max_bytes = 256 << 20;
    options.lock = locking.table.clone();
    let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
    let table = engine.create_table("t").unwrap();
    assert_ne!(table.id(), TreeId::CATALOGUE);
    let mut setup = Session::new(engine.clone(), table.clone(), Driver::Blocking);
    for words in &spec.setup {
        let outcome = setup.perform(words);
        assert_eq!(outcome, "ok", "setup: {words:?}");
    }
    setup.perform(&["commit".to_string()]);
    engine.log().wait_durable(engine.log().end()).unwrap();
    (engine, table)
}

fn of_engine(engine: &Engine, step: &str) -> &'static str {
    match step {
        "flush" => engine.log().wait_durable(engine.log().end()).unwrap(),
        "maintain" => engine.maintain().unwrap(),
        _ => engine.checkpoint().unwrap(),
    }
    "ok"
}

/// Collects answers until each session has answered or waits. The answer to `step` comes first.
fn settle(
    engine: &Engine,
    seats: &mut [Running],
    step: &str,
    wish: &dyn Fn(&str) -> bool,
    events: &mut Vec<String>,
) {
    let (begun, mut calm_since) = (Instant::now(), Instant::now());
    let mut answers: Vec<(bool, String)> = Vec::new();
    loop {
        let waiting = engine.stats().lock.waiting;
        for seat in seats.iter_mut() {
            if let Some(outcome) = seat.seat.answer() {
                let answered = seat.step.take().expect("it was asked");
                answers.push((answered != step, format!("{answered} {outcome}")));
                calm_since = Instant::now();
            }
        }
        let open = seats.iter().filter(|seat| seat.step.is_some()).count() as u64;
        if waiting != open {
            calm_since = Instant::now();
        }
        let waits = seats.iter().any(|seat| seat.step.as_deref() == Some(step));
        let is_expected = !waits || wish(&format!("{step} waits"));
        let patience = if is_expected { CALM } else { PATIENCE };
        if open == 0 || (calm_since.elapsed() >= CALM && begun.elapsed() >= patience) {
            if waits {
                answers.push((false, format!("{step} waits")));
            }
            break;
        }
        assert!(begun.elapsed() < 4 * PATIENCE, "{step}: neither an answer nor a wait");
        thread::sleep(Duration::from_micros(100));
    }
    answers.sort();
    events.extend(answers.into_iter().map(|(_, event)| event));
}

/// Ends the sessions one after the other, those that wait last: the end of one may let another go
/// on.
fn finish(engine: &Engine, mut seats: Vec<Running>) {
    while !seats.is_empty() {
        let at = seats.iter().position(|seat| seat.step.is_none());
        let mut seat = seats.swap_remove(at.unwrap_or(0));
        if seat.step.is_some() {
            seat.seat.answer_within(4 * PATIENCE).expect("a step waits for ever");
        }
        seat.seat.give(vec!["rollback".to_string()]);
        seat.seat.answer_within(4 * PATIENCE).expect("a rollback waits for ever");
        let begun = Instant::now();
        for other in seats.iter_mut().filter(|other| other.step.is_some()) {
            // It may have been waiting for the one that has ended.
            while begun.elapsed() < 4 * CALM && other.step.is_some() {
                if other.seat.answer_within(CALM).is_some() {
                    other.step = None;
                }
            }
        }
    }
    engine.log().wait_durable(engine.log().end()).unwrap();
    engine.verify().unwrap();
    assert_eq!(engine.stats().active, 0);
}
