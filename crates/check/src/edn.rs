//! Histories of list-append in the notation that other checkers of transactions read: one map for
//! each event, on a line of its own.

use std::{
    fmt,
    io::{self, Write},
};

use crate::{
    format::phase_name,
    history::{Event, History, Op},
};

/// Why a history cannot be exported.
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

/// Writes `history` as EDN. A range read becomes one read for each list found; transactions whose
/// end was never recorded get an `:info` at the end.
pub fn write(history: &History, mut output: impl Write) -> Result<(), EdnError> {
    let mut under_way: Vec<&Event> = Vec::new();
    let mut index = 0;
    for event in &history.events {
        match under_way.iter().position(|open| open.id == event.id) {
            Some(at) => drop(under_way.swap_remove(at)),
            None => under_way.push(event),
        }
        let line = line(index, event, phase_name(event.phase), event.time)?;
        writeln!(output, "{line}").map_err(EdnError::Io)?;
        index += 1;
    }
    let end = history.events.last().map_or(0, |event| event.time);
    for event in under_way {
        let line = line(index, event, "info", end)?;
        writeln!(output, "{line}").map_err(EdnError::Io)?;
        index += 1;
    }
    output.flush().map_err(EdnError::Io)
}

fn line(index: usize, event: &Event, phase: &str, time: u64) -> Result<String, EdnError> {
    let mut value = Vec::new();
    for op in &event.ops {
        append_op(op, &mut value)?;
    }
    Ok(format!(
        "{{:index {index} :time {time} :process {} :type :{phase} :f :txn :value [{}]}}",
        event.process,
        value.join(" ")
    ))
}

fn append_op(op: &Op, value: &mut Vec<String>) -> Result<(), EdnError> {
    match op {
        Op::Append { key, value: appended } => value.push(format!("[:append {key} {appended}]")),
        Op::List { key, values } => value.push(read(*key, values.as_deref())),
        // Before a range is read nobody knows which lists will be found.
        Op::Lists { found, .. } => {
            let found = found.iter().flatten();
            value.extend(found.map(|(key, values)| read(*key, Some(values))));
        }
        _ => return Err(EdnError::NotListAppend(Box::new(op.clone()))),
    }
    Ok(())
}

fn read(key: u64, values: Option<&[u64]>) -> String {
    match values {
        // An empty list and none are the same here, and `nil` is what the notation has for both.
        None | Some([]) => format!("[:r {key} nil]"),
        Some(values) => {
            let values: Vec<String> = values.iter().map(u64::to_string).collect();
            format!("[:r {key} [{}]]", values.join(" "))
        }
    }
}
