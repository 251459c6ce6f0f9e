//! The checker: decides whether a history is strictly serializable.
//!
//! The transactions that took place are the nodes of a graph. An edge says "must come before":
//!
//! | edge | from | to |
//! | --- | --- | --- |
//! | ww | the writer of a version | the writer of the next one |
//! | wr | the writer of a version | each reader of it |
//! | rw | a reader of a version | the writer of the next one |
//! | predicate rw | the same, where the version was read, or missed, by a range read | |
//! | real time | a transaction that was acknowledged | each that was invoked later |
//!
//! The history is strictly serializable if the edges have no cycle, and the kinds of edges in a
//! cycle say which anomaly it is. (Adya, "Weak Consistency", 1999; Kingsbury, Alvaro, "Elle:
//! Inferring Isolation Anomalies from Experimental Observations", VLDB 2020.)
//!
//! The order of a key's versions determines the edges. For lists the order is known: every read of
//! a list shows all earlier appends. A row's ledger is such a list. For registers it is partly
//! known, from transactions that read a version and write the next. Where the rest of the order, or
//! which absence of a row was seen, is open, the edges of one of several [alternatives](choices)
//! must hold; a search finds alternatives without a cycle or shows that there are none. Open
//! choices may grow with the square of the history, and the search may keep many states: a
//! [`budget`] bounds both.
//!
//! 1. [`replay`]: the writes of each transaction and its reads of other transactions' writes;
//!    [`sums`]: the versions behind a read of which only the sum is known.
//! 2. [`versions`], [`registers`]: orders of versions, and the edges and choices they make.
//! 3. [`realtime`]: edges of real time.
//! 4. [`choices`]: choices that are still open. 5. [`cycles`]: anomalies.

mod budget;
mod choices;
mod closure;
mod cycles;
mod explain;
mod graph;
mod realtime;
mod registers;
mod replay;
mod report;
mod sums;
mod versions;

pub use budget::MEMORY_BYTES;
pub use report::{Anomaly, Class, Kind, Report, Surrender};

use crate::{
    format::FormatError,
    history::{History, Phase, Transaction},
};
use budget::Budget;
use choices::{Open, Outcome};
use graph::Graph;

/// The property to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Serializable: some order of the transactions explains every read.
    Serializable,
    /// Strictly serializable: that order also agrees with real time.
    StrictSerializable,
}

/// Checks a history for strict serializability.
///
/// # Errors
/// The history contradicts itself as a record; see [`History::transactions`].
pub fn check(history: &History) -> Result<Report, FormatError> {
    check_level(history, Level::StrictSerializable)
}

/// Checks a history for `level`, within [`MEMORY_BYTES`] of memory.
///
/// # Errors
/// As for [`check`].
pub fn check_level(history: &History, level: Level) -> Result<Report, FormatError> {
    check_within(history, level, MEMORY_BYTES)
}

/// Checks a history for `level` in at most about `memory_bytes` of memory, the history included.
/// Where that is too little, the report counts what was [left undecided](Report::undecided).
///
/// # Errors
/// As for [`check`].
pub fn check_within(
    history: &History,
    level: Level,
    memory_bytes: usize,
) -> Result<Report, FormatError> {
    let transactions = history.transactions()?;
    let mut budget = Budget::new(memory_bytes, &transactions);
    let mut report = Report::new(&transactions);
    let strict = level == Level::StrictSerializable;
    let facts = replay::replay(&transactions, strict, &mut report)?;
    let mut graph = Graph::new(transactions.len());
    let real_time = strict.then_some(history);
    let mut open = Open::new(&mut budget);
    versions::connect(&facts, &transactions, real_time, &mut graph, &mut open, &mut report);
    let evidence = Evidence { facts: &facts, transactions: &transactions, strict };
    registers::connect(evidence, &mut graph, &mut open, &mut report);
    let (open, left_out) = open.finish();
    if strict {
        realtime::connect(&transactions, &facts.happened, &mut graph);
    }
    report.edges = graph.edge_count();
    let before = report.anomalies.len();
    cycles::find(&graph, &transactions, &mut report);
    // Open choices matter only if no anomaly was found; with a cycle there is no order anyway.
    if report.anomalies.len() == before {
        report.choices = open.len() + left_out;
        decide_choices(&graph, open, &transactions, &mut budget, &mut report);
        if left_out > 0 && report.anomalies.len() == before {
            report.undecided += left_out;
        }
        report.surrender = (report.undecided > 0).then_some(match budget.was_refused() {
            true => Surrender::Memory,
            false => Surrender::Search,
        });
    }
    Ok(report)
}

/// The evidence that a history gives, and the level at which it is judged.
#[derive(Clone, Copy)]
struct Evidence<'a> {
    facts: &'a replay::Facts,
    transactions: &'a [Transaction],
    strict: bool,
}

fn decide_choices(
    graph: &Graph,
    open: Vec<choices::Choice>,
    transactions: &[Transaction],
    budget: &mut Budget,
    report: &mut Report,
) {
    match choices::solve(graph, open, transactions, budget) {
        Outcome::Possible => {}
        Outcome::Undecided(left) => report.undecided = left,
        Outcome::Impossible(cyclic) => {
            cycles::find(&cyclic, transactions, report);
            debug_assert!(!report.anomalies.is_empty(), "a cycle that cannot be shown");
        }
    }
}

/// Whether the results of a transaction's reads are known.
fn is_acknowledged(transaction: &Transaction) -> bool {
    transaction.outcome == Phase::Ok
}
