//! Is a history strictly serializable?
//!
//! The transactions that took place are the nodes of a graph. An edge says "must come before":
//!
//! | edge | from | to |
//! | --- | --- | --- |
//! | ww | the writer of a version | the writer of the next one |
//! | wr | the writer of a version | whoever read it |
//! | rw | whoever read a version | the writer of the next one |
//! | predicate rw | the same, where the version was read, or missed, by a range read | |
//! | real time | a transaction that was acknowledged | each that was invoked later |
//!
//! The history is strictly serializable if the edges have no cycle, and the kinds of edges in a
//! cycle say which anomaly it is. (Adya, "Weak Consistency", 1999; Kingsbury, Alvaro, "Elle:
//! Inferring Isolation Anomalies from Experimental Observations", VLDB 2020.)
//!
//! The order of a key's versions is what makes the edges. Lists tell theirs: every read of a list
//! shows all that were appended before. A row's ledger is such a list. Registers tell a part, by
//! transactions that read a version and write the next; where the rest, or which absence of a row
//! was seen, is open, the edges of one of several [alternatives](choices) must hold, and a search
//! finds alternatives without a cycle or shows that there are none. What is open may grow with the
//! square of the history, and the search may keep many states: a [`budget`] bounds both.
//!
//! 1. [`replay`]: what each transaction wrote, and read of others; [`sums`]: what was read where
//!    only a sum was told.
//! 2. [`versions`], [`registers`]: orders of versions, and the edges and choices they make.
//! 3. [`realtime`]: edges of real time.
//! 4. [`choices`]: what is still open. 5. [`cycles`]: what is wrong.

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

/// What is asked of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Some order explains every read.
    Serializable,
    /// And it agrees with real time.
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
/// As [`check`].
pub fn check_level(history: &History, level: Level) -> Result<Report, FormatError> {
    check_within(history, level, MEMORY_BYTES)
}

/// Checks a history for `level`, and takes about `memory_bytes` of memory at most, the history
/// included. Where that is too little, the report says what was [left open](Report::undecided).
///
/// # Errors
/// As [`check`].
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
    let told = Told { facts: &facts, transactions: &transactions, strict };
    registers::connect(told, &mut graph, &mut open, &mut report);
    let (open, left_out) = open.finish();
    if strict {
        realtime::connect(&transactions, &facts.happened, &mut graph);
    }
    report.edges = graph.edge_count();
    let before = report.anomalies.len();
    cycles::find(&graph, &transactions, &mut report);
    // What is open matters only if nothing is wrong yet; with a cycle there is no order anyway.
    if report.anomalies.len() == before {
        report.choices = open.len() + left_out;
        settle(&graph, open, &transactions, &mut budget, &mut report);
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

/// What a history tells, and how its checker is to understand it.
#[derive(Clone, Copy)]
struct Told<'a> {
    facts: &'a replay::Facts,
    transactions: &'a [Transaction],
    strict: bool,
}

fn settle(
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
            debug_assert!(!report.anomalies.is_empty(), "a cycle that nobody can show");
        }
    }
}

/// Whether a transaction's reads are known.
fn is_acknowledged(transaction: &Transaction) -> bool {
    transaction.outcome == Phase::Ok
}
