//! The report of a check.

use std::fmt;

use crate::history::{Phase, Transaction};

/// Anomalies of a kind that are kept with their explanation; further ones are only counted.
const KEPT_PER_KIND: usize = 5;

/// Classes of cycles, from the gravest to the mildest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Writes only: ww.
    G0,
    /// ww and wr.
    G1c,
    /// One rw, of a single key.
    GSingle,
    /// One rw, of a range.
    GSinglePredicate,
    /// Several rw, all of single keys.
    G2Item,
    /// Several rw, one of a range among them.
    G2Predicate,
}

/// A kind of anomaly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A transaction does not see its own writes, or a range read is out of order.
    Internal,
    /// A value that no transaction wrote was read.
    Garbage,
    /// A list contains a value twice.
    Duplicate,
    /// Two reads of a list disagree: neither is a prefix of the other.
    IncompatibleOrder,
    /// G1a: a value of a transaction that was rolled back was read.
    AbortedRead,
    /// G1b: a value that its writer replaced in the same transaction was read.
    IntermediateRead,
    /// Two transactions read the same version and both wrote the next one.
    LostUpdate,
    /// No versions of the rows in a range have the sum that was read.
    ImpossibleSum,
    /// An acknowledged append is not in a list that was read later.
    LostWrite,
    /// The same, and the database crashed in between.
    LostInCrash,
    /// A cycle of dependencies; `realtime` if it needs an edge of real time.
    Cycle {
        /// The class, by its dependencies.
        class: Class,
        /// Whether the cycle needs a real-time edge.
        realtime: bool,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Kind::Internal => "internal",
            Kind::Garbage => "garbage-read",
            Kind::Duplicate => "duplicate-elements",
            Kind::IncompatibleOrder => "incompatible-order",
            Kind::AbortedRead => "G1a",
            Kind::IntermediateRead => "G1b",
            Kind::LostUpdate => "lost-update",
            Kind::ImpossibleSum => "impossible-sum",
            Kind::LostWrite => "lost-write",
            Kind::LostInCrash => "lost-in-crash",
            Kind::Cycle { class, realtime } => {
                let class = match class {
                    Class::G0 => "G0",
                    Class::G1c => "G1c",
                    Class::GSingle => "G-single",
                    Class::GSinglePredicate => "G-single-predicate",
                    Class::G2Item => "G2-item",
                    Class::G2Predicate => "G2",
                };
                return write!(f, "{class}{}", if *realtime { "-realtime" } else { "" });
            }
        };
        f.write_str(name)
    }
}

/// One anomaly.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// The kind of anomaly.
    pub kind: Kind,
    /// The ids of the transactions that take part.
    pub transactions: Vec<u64>,
    /// An explanation for a human reader, of several lines.
    pub explanation: String,
}

/// The reason why a check left choices undecided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surrender {
    /// The search would have exceeded the memory budget.
    Memory,
    /// The search tried too many alternatives.
    Search,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Transactions in the history.
    pub transactions: usize,
    /// Transactions that were acknowledged.
    pub acknowledged: usize,
    /// Transactions that were rolled back.
    pub failed: usize,
    /// Transactions of unknown outcome.
    pub unknown: usize,
    /// Edges of the graph.
    pub edges: usize,
    /// Places where neither the reads nor, for versions of registers, real time determined the
    /// order of versions.
    pub choices: usize,
    /// Choices left undecided when the search gave up. If there are any, no anomaly was found, but
    /// the history is not proved correct.
    pub undecided: usize,
    /// The reason why choices were left undecided, if any were.
    pub surrender: Option<Surrender>,
    /// Sums that several states of their range have, or for which there were too many states to
    /// search, so that they prove less than they could.
    pub ambiguous_sums: usize,
    /// The anomalies, the first few of each kind.
    pub anomalies: Vec<Anomaly>,
    /// The number of further anomalies.
    pub more: usize,
}

impl Report {
    pub(super) fn new(transactions: &[Transaction]) -> Report {
        let count = |phase| transactions.iter().filter(|t| t.outcome == phase).count();
        Report {
            transactions: transactions.len(),
            acknowledged: count(Phase::Ok),
            failed: count(Phase::Fail),
            unknown: count(Phase::Info),
            ..Report::default()
        }
    }

    /// Whether no anomaly was found.
    pub fn is_valid(&self) -> bool {
        self.anomalies.is_empty()
    }

    /// Whether an anomaly of this kind was found.
    pub fn has(&self, kind: Kind) -> bool {
        self.anomalies.iter().any(|anomaly| anomaly.kind == kind)
    }

    /// Returns the kinds found, each once.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.anomalies.iter().map(|anomaly| anomaly.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    pub(super) fn add(
        &mut self,
        kind: Kind,
        transactions: Vec<u64>,
        explanation: impl FnOnce() -> String,
    ) {
        if self.anomalies.iter().filter(|kept| kept.kind == kind).count() < KEPT_PER_KIND {
            self.anomalies.push(Anomaly { kind, transactions, explanation: explanation() });
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for anomaly in &self.anomalies {
            writeln!(f, "{}: {}", anomaly.kind, anomaly.explanation.trim_end())?;
        }
        if self.more > 0 {
            writeln!(f, "and {} more of the same kinds", self.more)?;
        }
        let verdict = match (self.is_valid(), self.undecided) {
            (false, _) => "NOT strictly serializable",
            (true, 0) => "strictly serializable",
            (true, _) => "undecided",
        };
        write!(
            f,
            "{verdict}: {} transactions ({} acknowledged, {} rolled back, {} unknown), {} edges, \
             {} choices",
            self.transactions,
            self.acknowledged,
            self.failed,
            self.unknown,
            self.edges,
            self.choices
        )?;
        if self.ambiguous_sums > 0 {
            write!(f, ", {} ambiguous sums", self.ambiguous_sums)?;
        }
        let reason = match self.surrender {
            None => return Ok(()),
            Some(Surrender::Memory) => "for want of memory",
            Some(Surrender::Search) => "after too many attempts",
        };
        write!(
            f,
            "\ndecided: the edges have no cycle; left open {reason}: {} of {} choices",
            self.undecided, self.choices
        )
    }
}
