//! What a check found.

use std::fmt;

use crate::history::{Phase, Transaction};

/// Anomalies that are kept with their explanation; further ones of a kind are only counted.
const KEPT_PER_KIND: usize = 5;

/// Cycles, from the gravest to the mildest.
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

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A transaction does not see its own writes, or a range read is out of order.
    Internal,
    /// A value that nobody wrote was read.
    Garbage,
    /// A value is in a list twice.
    Duplicate,
    /// Two reads of a list of which neither begins the other.
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
        /// By its dependencies.
        class: Class,
        /// Whether it has such an edge.
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

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// Which.
    pub kind: Kind,
    /// The ids of the transactions that take part.
    pub transactions: Vec<u64>,
    /// For people; several lines.
    pub explanation: String,
}

/// Why a check left something open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surrender {
    /// It would have taken more memory than allowed.
    Memory,
    /// The search tried too many alternatives.
    Search,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Transactions in the history.
    pub transactions: usize,
    /// Of them, acknowledged …
    pub acknowledged: usize,
    /// … rolled back …
    pub failed: usize,
    /// … and of unknown outcome.
    pub unknown: usize,
    /// Edges of the graph.
    pub edges: usize,
    /// Places where the order of versions was told neither by the reads nor, of two registers'
    /// versions, by real time.
    pub choices: usize,
    /// Choices left open when the search gave up. If there are any, nothing wrong was found and
    /// nothing proves that all is well.
    pub undecided: usize,
    /// Why they were left open, if there are any.
    pub surrender: Option<Surrender>,
    /// Sums that several states of their range have, or that too many might have, so that they
    /// tell less than they could.
    pub ambiguous_sums: usize,
    /// What is wrong, of each kind the first few.
    pub anomalies: Vec<Anomaly>,
    /// Further anomalies that were only counted.
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

    /// Whether nothing wrong was found.
    pub fn is_valid(&self) -> bool {
        self.anomalies.is_empty()
    }

    /// Whether an anomaly of this kind was found.
    pub fn has(&self, kind: Kind) -> bool {
        self.anomalies.iter().any(|anomaly| anomaly.kind == kind)
    }

    /// The kinds found, each once.
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
