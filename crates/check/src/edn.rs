//! Histories of list-append in the notation that other checkers of transactions read: one map for
//! each event, on a line of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, Write},
};

use crate::{
    format::phase_name,
    history::{Event, History, Op, Phase, Way},
};

/// The reason why a history cannot be exported.
#[derive(Debug)]
pub enum EdnError {
    /// The output cannot be written.
    Io(io::Error),
    /// An operation that is neither an append nor a read of lists.
    NotListAppend(Box<Op>),
}

impl fmt::Display for EdnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdnError::Io(error) => write!(f, "cannot write: {error}"),
            EdnError::NotListAppend(op) => {
                write!(f, "only histories of list-append can be exported; this one has {op:?}")
            }
        }
    }
}

impl std::error::Error for EdnError {}

/// Writes `history` as EDN. A range read becomes one read for each list in the range that appears
/// anywhere in the history, in the range's order; a list that the range read did not return counts
/// as read and absent. A transaction of unknown outcome repeats the operations of its invocation in
/// its `:info`, so that a reader knows what it may have written. A transaction whose end was never
/// recorded gets an `:info` at the end.
pub fn write(history: &History, mut output: impl Write) -> Result<(), EdnError> {
    let keys = keys_of(history);
    let mut under_way: Vec<&Event> = Vec::new();
    let mut index = 0;
    for event in &history.events {
        let invocation = match under_way.iter().position(|open| open.id == event.id) {
            Some(at) => under_way.swap_remove(at),
            None => {
                under_way.push(event);
                event
            }
        };
        let line = line(index, event, invocation, &keys)?;
        writeln!(output, "{line}").map_err(EdnError::Io)?;
        index += 1;
    }
    let end = history.events.last().map_or(0, |event| event.time);
    for invocation in under_way {
        let last = Event { phase: Phase::Info, time: end, ..invocation.clone() };
        let line = line(index, &last, invocation, &keys)?;
        writeln!(output, "{line}").map_err(EdnError::Io)?;
        index += 1;
    }
    output.flush().map_err(EdnError::Io)
}

/// The keys of all lists, in order.
fn keys_of(history: &History) -> BTreeSet<u64> {
    let mut keys = BTreeSet::new();
    for op in history.events.iter().flat_map(|event| &event.ops) {
        match op {
            Op::Append { key, .. } | Op::List { key, .. } => drop(keys.insert(*key)),
            Op::Lists { found: Some(found), .. } => keys.extend(found.iter().map(|(key, _)| *key)),
            _ => {}
        }
    }
    keys
}

fn line(
    index: usize,
    event: &Event,
    invocation: &Event,
    keys: &BTreeSet<u64>,
) -> Result<String, EdnError> {
    // A transaction that was rolled back or has an unknown outcome lists the operations it was
    // asked to do; the results of its reads are not known.
    let is_known = event.phase == Phase::Ok;
    let ops = if is_known { &event.ops } else { &invocation.ops };
    let mut value = Vec::new();
    for op in ops {
        append_op(op, is_known, keys, &mut value)?;
    }
    let Event { time, process, .. } = event;
    Ok(format!(
        "{{:index {index} :time {time} :process {process} :type :{} :f :txn :value [{}]}}",
        phase_name(event.phase),
        value.join(" ")
    ))
}

fn append_op(
    op: &Op,
    is_known: bool,
    keys: &BTreeSet<u64>,
    value: &mut Vec<String>,
) -> Result<(), EdnError> {
    match op {
        Op::Append { key, value: appended } => value.push(format!("[:append {key} {appended}]")),
        Op::List { key, values } => {
            value.push(read(*key, values.as_deref().filter(|_| is_known)));
        }
        Op::Lists { low, high, way, found } if low <= high => {
            let found = found.iter().flatten().filter(|_| is_known);
            let found: BTreeMap<u64, &[u64]> =
                found.map(|(key, values)| (*key, &values[..])).collect();
            let first = value.len();
            value.extend(keys.range(low..=high).map(|key| read(*key, found.get(key).copied())));
            if *way == Way::Down {
                value[first..].reverse();
            }
        }
        Op::Lists { .. } => {}
        _ => return Err(EdnError::NotListAppend(Box::new(op.clone()))),
    }
    Ok(())
}

fn read(key: u64, values: Option<&[u64]>) -> String {
    match values {
        // An empty list and an absent one are the same here; the notation has `nil` for both.
        None | Some([]) => format!("[:r {key} nil]"),
        Some(values) => {
            let values: Vec<String> = values.iter().map(u64::to_string).collect();
            format!("[:r {key} [{}]]", values.join(" "))
        }
    }
}
