//! Small random histories.

use clearway_check::history::{Event, History, Op, Phase, Way};
use clearway_testkit::Random;

use crate::orders::State;

/// The kinds of operations in the transactions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Mix {
    Lists,
    Registers,
    Rows,
    Sums,
    All,
}

impl Mix {
    /// Whether there are rows, whose order of versions is known only from their ledgers.
    fn has_ledgers(self) -> bool {
        matches!(self, Mix::Rows | Mix::Sums | Mix::All)
    }
}

/// Keys of each kind.
const KEYS: u64 = 2;

/// Up to six transactions. They run operation by operation on one state; the degree of
/// interleaving, and whether results are falsified afterwards, are drawn at random.
pub(crate) fn history(random: &mut Random, mix: Mix) -> History {
    let count = 2 + random.below(if matches!(mix, Mix::Rows | Mix::Sums) { 4 } else { 5 });
    let mut value = 0;
    let mut plans: Vec<Vec<Op>> = (0..count).map(|_| plan(random, mix, &mut value)).collect();
    if mix.has_ledgers() {
        plans.push((0..KEYS).map(|key| Op::Ledger { key, versions: None }).collect());
    }
    let mut history = execute(random, &plans, mix.has_ledgers());
    if random.one_in(3) {
        falsify(random, &mut history);
    }
    history.sort();
    history
}

fn plan(random: &mut Random, mix: Mix, value: &mut u64) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..1 + random.below(3) {
        let mix = match mix {
            Mix::All => {
                [Mix::Lists, Mix::Registers, Mix::Rows, Mix::Sums][random.below(4) as usize]
            }
            mix => mix,
        };
        *value += 1;
        // Large and random, so that a sum determines the versions.
        let value = clearway_testkit::mix(*value);
        ops.push(op(random, mix, value));
    }
    ops
}

fn op(random: &mut Random, mix: Mix, value: u64) -> Op {
    let key = random.below(KEYS);
    let low = random.below(KEYS);
    let high = low + random.below(KEYS);
    let way = if random.one_in(2) { Way::Up } else { Way::Down };
    match (mix, random.below(5)) {
        (Mix::Lists, 0 | 1) => Op::Append { key, value },
        (Mix::Lists, 2) => Op::Lists { low, high, way, found: None },
        (Mix::Lists, _) => Op::List { key, values: None },
        (Mix::Registers, 0 | 1) => Op::Write { key, value },
        (Mix::Registers, _) => Op::Read { key, value: None },
        (_, 0) => Op::Insert { key, version: value },
        (_, 1) => Op::Delete { key, version: value },
        (Mix::Sums, _) if random.one_in(4) => Op::Rows { low, high, way, found: None },
        (Mix::Sums, 2..) => Op::Sum { low, high, way, found: None },
        (_, 2) => Op::Rows { low: key, high: key, way, found: None },
        _ => Op::Rows { low, high, way, found: None },
    }
}

/// A transaction in progress.
struct Running {
    plan: Vec<Op>,
    done: Vec<Op>,
    invoked: u64,
}

fn execute(random: &mut Random, plans: &[Vec<Op>], last_is_last: bool) -> History {
    let mut history = History::default();
    let mut state = State::default();
    let mut waiting: Vec<usize> = (0..plans.len()).rev().collect();
    let mut running: Vec<(usize, Running)> = Vec::new();
    let (mut time, sloppy) = (0, random.one_in(2));
    let at_once = 1 + random.below(3) as usize;
    while !waiting.is_empty() || !running.is_empty() {
        time += 1;
        let next = waiting.last().copied();
        let alone = last_is_last && next == Some(plans.len() - 1) && !running.is_empty();
        if let Some(index) = next
            && running.len() < at_once
            && !alone
            && (running.is_empty() || random.one_in(2))
        {
            waiting.pop();
            let plan = plans[index].clone();
            running.push((index, Running { plan, done: Vec::new(), invoked: time }));
            continue;
        }
        let at = random.below(running.len() as u64) as usize;
        let (index, transaction) = &mut running[at];
        let steps = if sloppy { 1 } else { transaction.plan.len() };
        for _ in 0..steps {
            if transaction.done.len() < transaction.plan.len() {
                let op = state.apply(&transaction.plan[transaction.done.len()]);
                transaction.done.push(op);
            }
        }
        if transaction.done.len() == transaction.plan.len() && random.one_in(2) {
            record(random, *index, transaction, time, &mut history);
            running.swap_remove(at);
        }
    }
    history
}

fn record(random: &mut Random, index: usize, run: &Running, time: u64, history: &mut History) {
    let (id, process) = (index as u64, index as u64);
    let ops = run.plan.clone();
    let phase = Phase::Invoke;
    history.events.push(Event { id, process, phase, time: run.invoked, ops: ops.clone() });
    let is_last_read = matches!(ops[0], Op::Ledger { .. });
    let (phase, ops) = match random.below(12) {
        0 if !is_last_read => (Phase::Info, Vec::new()),
        1 if !is_last_read => (Phase::Fail, Vec::new()),
        _ => (Phase::Ok, run.done.clone()),
    };
    history.events.push(Event { id, process, phase, time, ops });
}

/// Falsifies the result of one read.
fn falsify(random: &mut Random, history: &mut History) {
    let events = history.events.len() as u64;
    let event = &mut history.events[random.below(events) as usize];
    if event.phase != Phase::Ok || event.ops.is_empty() {
        return;
    }
    let ops = event.ops.len() as u64;
    match &mut event.ops[random.below(ops) as usize] {
        Op::List { values: Some(values), .. } => drop(values.pop()),
        Op::Read { value: Some(value), .. } => *value = value.map(|value| value ^ 1),
        Op::Rows { found: Some(found), .. } => drop(found.pop()),
        Op::Lists { found: Some(found), .. } => drop(found.pop()),
        Op::Sum { found: Some(found), .. } => found.0 ^= 1,
        _ => {}
    }
}
