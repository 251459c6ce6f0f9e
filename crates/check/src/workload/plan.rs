//! Plans of transactions, drawn from the seed.

use clearway_testkit::{Random, mix};

use crate::history::{Op, Way};

use super::{Workload, store::How};

/// Number of lists, or registers, in use at a time.
const KEYS: u64 = 8;
/// Number of rows in use at a time.
const ROWS: u64 = 32;
/// Number of rows in use where sums are read: few, so that most of them change while a reader adds
/// them up.
const SUMMED_ROWS: u64 = 8;
/// After this many transactions other keys come into use, so that lists stay short.
const TURNOVER: u64 = 400;
/// One of this many transactions is a task's.
const TASK_ONE_IN: u64 = 3;
/// The ways in which a task's transaction is run. Only the first drops it as a whole.
const TASKS: [How; 5] =
    [How::Task, How::Task, How::TransactAsync, How::SubmitAsync, How::SubmitAsyncThen];
/// Values that one transaction may write.
pub(super) const VALUES_PER_TRANSACTION: u64 = 64;

/// One operation, and the way to perform it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    /// Reads what it will write with a shared lock first.
    pub(super) upgrade: bool,
    /// Does the two parts of a row's change in the other order.
    pub(super) swap: bool,
    /// A change that is made before and taken back to a savepoint.
    pub(super) undone: Option<Op>,
    /// Waits this long before.
    pub(super) pause_us: u64,
}

/// A whole transaction.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) how: How,
    /// Changes its mind at the end.
    pub(super) abort: bool,
}

/// A generator of plans.
pub(super) struct Planner {
    pub(super) workload: Workload,
    pub(super) random: Random,
    /// The last values seen of registers, which a compare-and-set expects.
    pub(super) last_seen: std::collections::HashMap<u64, Option<u64>>,
}

impl Planner {
    /// The plan of the transaction `id`, which is the `issued`-th.
    pub(super) fn plan(&mut self, id: u64, issued: u64) -> Plan {
        let mut next = id * VALUES_PER_TRANSACTION;
        let count = 1 + self.random.below(4);
        let read_only = self.random.one_in(4);
        let mut steps = Vec::new();
        for _ in 0..count {
            let workload = match self.workload {
                Workload::Mixed => {
                    let all =
                        [Workload::Append, Workload::Register, Workload::Range, Workload::Sum];
                    all[self.random.below(4) as usize]
                }
                one => one,
            };
            let ops = match workload {
                Workload::Register => self.register_ops(issued, read_only, &mut next),
                Workload::Range => vec![self.range_op(issued, read_only, &mut next)],
                Workload::Sum => self.sum_ops(issued, read_only, &mut next),
                _ => vec![self.append_op(issued, read_only, &mut next)],
            };
            for op in ops {
                steps.push(self.step(op, &mut next));
            }
        }
        let hows = [How::Transact, How::Submit, How::Commit, How::CommitPipelined];
        let mut how = hows[self.random.below(4) as usize];
        if self.random.one_in(TASK_ONE_IN) {
            how = self.random.pick(&TASKS);
        }
        Plan { steps, how, abort: self.random.one_in(20) }
    }

    fn step(&mut self, op: Op, next: &mut u64) -> Step {
        let undone = self.random.one_in(16).then(|| {
            *next += 1;
            match op {
                Op::Append { key, .. } | Op::List { key, .. } => Op::Append { key, value: *next },
                Op::Write { key, .. } | Op::Read { key, .. } | Op::Cas { key, .. } => {
                    Op::Write { key, value: *next }
                }
                Op::Insert { key, .. } => Op::Delete { key, version: self.version(*next) },
                Op::Delete { key, .. } | Op::Ledger { key, .. } => {
                    Op::Insert { key, version: self.version(*next) }
                }
                Op::Lists { low, .. } => Op::Append { key: low, value: *next },
                Op::Rows { low, .. } | Op::Sum { low, .. } => {
                    Op::Insert { key: low, version: self.version(*next) }
                }
            }
        });
        let pause_us = if self.random.one_in(4) { self.random.below(200) } else { 0 };
        let (upgrade, swap) = (self.random.one_in(4), self.random.one_in(2));
        Step { op, upgrade, swap, undone, pause_us }
    }

    /// A key of the window in use; every third time, the hot key.
    fn key(&mut self, issued: u64, keys: u64) -> u64 {
        let base = issued / TURNOVER * keys;
        if self.random.one_in(3) { base } else { base + self.random.below(keys) }
    }

    fn bounds(&mut self, issued: u64, keys: u64) -> (u64, u64, Way) {
        let low = issued / TURNOVER * keys + self.random.below(keys);
        let way = if self.random.one_in(2) { Way::Up } else { Way::Down };
        (low, low + self.random.below(keys), way)
    }

    fn append_op(&mut self, issued: u64, read_only: bool, next: &mut u64) -> Op {
        let key = self.key(issued, KEYS);
        match self.random.below(10) {
            0 => {
                let (low, high, way) = self.bounds(issued, KEYS);
                Op::Lists { low, high, way, found: None }
            }
            1..5 => Op::List { key, values: None },
            _ if read_only => Op::List { key, values: None },
            _ => {
                *next += 1;
                Op::Append { key, value: *next }
            }
        }
    }

    fn register_ops(&mut self, issued: u64, read_only: bool, next: &mut u64) -> Vec<Op> {
        let key = self.key(issued, KEYS);
        let read = Op::Read { key, value: None };
        if read_only {
            return vec![read];
        }
        *next += 1;
        let write = Op::Write { key, value: *next };
        match self.random.below(10) {
            0..3 => vec![read],
            3 => vec![write],
            4..7 => {
                let expected = self.last_seen.get(&key).copied().flatten();
                vec![Op::Cas { key, expected, value: *next }]
            }
            _ => vec![read, write],
        }
    }

    fn range_op(&mut self, issued: u64, read_only: bool, next: &mut u64) -> Op {
        let key = self.key(issued, ROWS);
        let choice = self.random.below(if read_only { 4 } else { 10 });
        match choice {
            0..3 => {
                let (low, high, way) = self.bounds(issued, ROWS);
                Op::Rows { low, high, way, found: None }
            }
            3 => Op::Rows { low: key, high: key, way: Way::Up, found: None },
            _ => {
                *next += 1;
                let version = self.version(*next);
                if choice < 7 { Op::Insert { key, version } } else { Op::Delete { key, version } }
            }
        }
    }

    /// The version of a row: where sums are read, a large random number that can be recognized in a
    /// sum.
    fn version(&self, number: u64) -> u64 {
        if self.workload == Workload::Range { number } else { mix(number) }
    }

    fn sum_ops(&mut self, issued: u64, read_only: bool, next: &mut u64) -> Vec<Op> {
        let rows = rows_in_use(self.workload);
        let (one, other) = (self.key(issued, rows), self.key(issued, rows));
        let choice = self.random.below(10);
        if choice == 0 {
            return vec![Op::Rows { low: one, high: one, way: Way::Up, found: None }];
        }
        if choice < 5 || read_only {
            let (low, _, way) = self.bounds(issued, rows);
            let high = low + self.random.below(SUMMED_ROWS);
            return vec![Op::Sum { low, high, way, found: None }];
        }
        *next += 2;
        let (first, second) = (self.version(*next - 1), self.version(*next));
        let insert = |key, version| Op::Insert { key, version };
        let delete = |key, version| Op::Delete { key, version };
        match choice {
            // A transfer: both rows change, and a sum that sees one of them is wrong.
            5 | 6 => vec![insert(one, first), insert(other, second)],
            // A row moves: neither more rows nor fewer.
            7 => vec![delete(one, first), insert(other, second)],
            8 => vec![delete(one, first)],
            _ => vec![insert(one, first)],
        }
    }
}

/// Rows that a workload has in use at a time.
fn rows_in_use(workload: Workload) -> u64 {
    if workload == Workload::Sum { SUMMED_ROWS } else { ROWS }
}

/// Reads of everything that `issued` transactions may have written, in parts.
pub(super) fn last_reads(workload: Workload, issued: u64) -> Vec<Vec<Op>> {
    let windows = issued / TURNOVER + 2;
    let mut parts = Vec::new();
    for window in 0..windows {
        let in_use = rows_in_use(workload);
        let (keys, rows) = (window * KEYS, window * in_use);
        let (key_end, row_end) = (keys + KEYS - 1, rows + in_use - 1);
        if matches!(workload, Workload::Append | Workload::Mixed) {
            parts.push(vec![Op::Lists { low: keys, high: key_end, way: Way::Up, found: None }]);
        }
        if matches!(workload, Workload::Register | Workload::Mixed) {
            parts.push((keys..=key_end).map(|key| Op::Read { key, value: None }).collect());
        }
        if matches!(workload, Workload::Range | Workload::Sum | Workload::Mixed) {
            let ledgers = rows..=row_end;
            let mut part: Vec<Op> = ledgers.map(|key| Op::Ledger { key, versions: None }).collect();
            part.push(Op::Rows { low: rows, high: row_end, way: Way::Down, found: None });
            parts.push(part);
        }
    }
    parts
}
