//! A history: the operations of each transaction, when it was invoked, and its outcome.

use std::collections::HashMap;

use crate::format::{FormatError, Problem};

/// The direction in which a range was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Smallest key first.
    Up,
    /// Largest key first.
    Down,
}

/// One operation of a transaction. The results of reads are `None` where they are not known: in the
/// invocation, and in the completion if the outcome is unknown.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // each variant says what its fields are
pub enum Op {
    /// Append `value` to the list at `key`.
    Append { key: u64, value: u64 },
    /// Read the list at `key`; an absent one is empty.
    List { key: u64, values: Option<Vec<u64>> },
    /// Read the lists with `low <= key <= high`; empty ones are not in the result.
    Lists { low: u64, high: u64, way: Way, found: Option<Vec<(u64, Vec<u64>)>> },
    /// Set the register at `key`.
    Write { key: u64, value: u64 },
    /// Read the register at `key`: the result is `Some(None)` if it was never written.
    Read { key: u64, value: Option<Option<u64>> },
    /// Set the register at `key` if its value is `expected`. Occurs in invocations only; a
    /// completion records what happened: a read, and a write if the values matched.
    Cas { key: u64, expected: Option<u64>, value: u64 },
    /// Make the row `key` present with `version`, and append `version` to its ledger.
    Insert { key: u64, version: u64 },
    /// Remove the row `key`, and append `version` (which identifies this removal) to its ledger.
    Delete { key: u64, version: u64 },
    /// Read the ledger of the row `key`.
    Ledger { key: u64, versions: Option<Vec<u64>> },
    /// Read the rows with `low <= key <= high`: keys and versions.
    Rows { low: u64, high: u64, way: Way, found: Option<Vec<(u64, u64)>> },
    /// Read the rows with `low <= key <= high`, but return only their number and the sum of their
    /// versions, modulo 2⁶⁴.
    Sum { low: u64, high: u64, way: Way, found: Option<(u64, u64)> },
}

/// The phase of a transaction that an event records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// The transaction begins.
    Invoke,
    /// The transaction was acknowledged.
    Ok,
    /// The transaction was certainly rolled back.
    Fail,
    /// The outcome is unknown: the transaction may have taken effect.
    Info,
}

/// One line of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The transaction's id, unique in the history.
    pub id: u64,
    /// The process that runs it; a process has at most one transaction in progress.
    pub process: u64,
    /// The phase.
    pub phase: Phase,
    /// Nanoseconds of a clock that all processes share.
    pub time: u64,
    /// The operations.
    pub ops: Vec<Op>,
}

/// Everything that was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// The workload that produced it, for display: `append`, `register` …
    pub workload: String,
    /// The seed of that workload.
    pub seed: u64,
    /// All events, in order of time.
    pub events: Vec<Event>,
    /// The times at which the database's process was killed.
    pub crashes: Vec<u64>,
}

/// A transaction: its invocation combined with its completion.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The transaction's id, as in its events.
    pub id: u64,
    /// The process, as in its events.
    pub process: u64,
    /// The time of the invocation.
    pub invoked: u64,
    /// The time of the acknowledgement; `None` unless `outcome` is [`Phase::Ok`].
    pub acknowledged: Option<u64>,
    /// `Ok`, `Fail` or `Info`.
    pub outcome: Phase,
    /// The operations that it did, or was asked to do if it was not acknowledged.
    pub ops: Vec<Op>,
}

impl History {
    /// Sorts events and crashes by time. Where two times are equal, an invocation comes first: such
    /// transactions count as concurrent.
    pub fn sort(&mut self) {
        self.events.sort_by_key(|event| (event.time, event.phase != Phase::Invoke));
        self.crashes.sort_unstable();
    }

    /// Returns the transactions in order of invocation. Transactions without a completion are
    /// `Info`.
    ///
    /// # Errors
    /// Contradictions in the record: completions without an invocation, ids used twice, a process
    /// with two transactions at once, one value written twice.
    pub fn transactions(&self) -> Result<Vec<Transaction>, FormatError> {
        let mut found: Vec<Transaction> = Vec::new();
        let mut index: HashMap<u64, usize> = HashMap::new();
        let mut under_way: HashMap<u64, u64> = HashMap::new();
        for (at, event) in self.events.iter().enumerate() {
            // The header is line 1.
            let wrong = |problem| Err(FormatError { line: at + 2, problem });
            if at > 0 && self.events[at - 1].time > event.time {
                return wrong(Problem::TimeGoesBack);
            }
            if event.phase == Phase::Invoke {
                if index.insert(event.id, found.len()).is_some() {
                    return wrong(Problem::IdUsedTwice(event.id));
                }
                if under_way.insert(event.process, event.id).is_some() {
                    return wrong(Problem::ProcessIsBusy(event.process));
                }
                found.push(Transaction::invoked(event));
                continue;
            }
            let Some(transaction) = index.get(&event.id).map(|&place| &mut found[place]) else {
                return wrong(Problem::NeverInvoked(event.id));
            };
            if under_way.remove(&event.process) != Some(event.id) {
                return wrong(Problem::NotUnderWay(event.id));
            }
            if event.phase == Phase::Ok {
                if let Some(op) = event.ops.iter().find(|op| !op.is_complete()) {
                    return wrong(Problem::NoResult(format!("{op:?}")));
                }
                transaction.ops.clone_from(&event.ops);
                transaction.acknowledged = Some(event.time);
            }
            transaction.outcome = event.phase;
        }
        Ok(found)
    }
}

impl Transaction {
    fn invoked(event: &Event) -> Transaction {
        Transaction {
            id: event.id,
            process: event.process,
            invoked: event.time,
            acknowledged: None,
            outcome: Phase::Info,
            ops: event.ops.clone(),
        }
    }
}

impl Op {
    /// Whether the operation has all the results that a completion must have.
    fn is_complete(&self) -> bool {
        match self {
            Op::Append { .. } | Op::Write { .. } | Op::Insert { .. } | Op::Delete { .. } => true,
            Op::List { values, .. } | Op::Ledger { versions: values, .. } => values.is_some(),
            Op::Lists { found, .. } => found.is_some(),
            Op::Rows { found, .. } => found.is_some(),
            Op::Sum { found, .. } => found.is_some(),
            Op::Read { value, .. } => value.is_some(),
            Op::Cas { .. } => false,
        }
    }
}
