//! Cycles in words.

use std::fmt::{self, Write};

use crate::{
    format::{op_value, phase_name},
    history::Transaction,
};

use super::{
    graph::{Edge, EdgeKind},
    replay::{Object, Space},
};

/// Upper bound on the operations shown of a transaction; the longest have hundreds.
const OPS_SHOWN: usize = 12;
/// Upper bound on the characters shown of an operation.
const OP_LEN_SHOWN: usize = 160;

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = match self.space {
            Space::List => "list",
            Space::Register => "register",
            Space::Row => "row",
        };
        write!(f, "{space} {}", self.key)
    }
}

/// Formats a cycle: its edges, then its transactions.
pub(super) fn cycle(cycle: &[Edge], transactions: &[Transaction]) -> String {
    let mut text = format!("a cycle of {} transactions\n", cycle.len());
    for edge in cycle {
        let (from, to) = (&transactions[edge.from], &transactions[edge.to]);
        let _ = writeln!(text, "  T{} → T{}: {}", from.id, to.id, reason(edge, from, to));
    }
    for edge in cycle {
        describe(&transactions[edge.from], &mut text);
    }
    text
}

fn reason(edge: &Edge, from: &Transaction, to: &Transaction) -> String {
    let object = edge.object.map_or_else(String::new, |object| object.to_string());
    let version = |version: Option<u64>| {
        version.map_or_else(|| "its initial state".to_owned(), |version| version.to_string())
    };
    let (first, second) = (version(edge.first), version(edge.second));
    match edge.kind {
        EdgeKind::WriteWrite => format!("ww, {object}: wrote {first}, which {second} replaced"),
        EdgeKind::WriteRead => format!("wr, {object}: wrote {first}, which the other read"),
        EdgeKind::ReadWrite => format!("rw, {object}: read {first}, which {second} replaced"),
        EdgeKind::PredicateReadWrite => {
            format!("predicate rw, {object}: its range read saw {first}, which {second} replaced")
        }
        EdgeKind::RealTime => {
            let end = from.acknowledged.unwrap_or_default();
            let gap = to.invoked.saturating_sub(end);
            format!("real time: acknowledged {gap} ns before the other was invoked")
        }
    }
}

fn describe(transaction: &Transaction, text: &mut String) {
    let Transaction { id, process, invoked, acknowledged, outcome, ops } = transaction;
    let end = acknowledged.map_or_else(|| "…".to_owned(), |time| time.to_string());
    let outcome = phase_name(*outcome);
    let _ = writeln!(text, "  T{id} (process {process}, {outcome}, {invoked} to {end} ns)");
    for op in ops.iter().take(OPS_SHOWN) {
        let op: String = op_value(op).to_string().chars().take(OP_LEN_SHOWN).collect();
        let _ = writeln!(text, "    {op}");
    }
    if ops.len() > OPS_SHOWN {
        let _ = writeln!(text, "    … {} more", ops.len() - OPS_SHOWN);
    }
}
