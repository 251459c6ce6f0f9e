//! Histories as lines of JSON; see `docs/history-format.md`.

use std::{
    fmt,
    io::{self, BufRead, Write},
};

use serde_json::{Value, json};

use crate::history::{Event, History, Op, Phase, Way};

/// The version of the format that this program reads and writes.
pub const FORMAT_VERSION: u64 = 1;

/// The reason why a file is not a history.
#[derive(Debug)]
pub struct FormatError {
    /// The line, from 1. (In an unsorted file, the line it would have after sorting.)
    pub line: usize,
    /// The problem with the line.
    pub problem: Problem,
}

/// A problem with a line of a history.
#[derive(Debug)]
pub enum Problem {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The first line is not the header of a history.
    NoHeader,
    /// A newer version of the program wrote the file.
    Version(u64),
    /// The line is not JSON.
    NotJson(serde_json::Error),
    /// The field is missing or of the wrong type.
    Field(&'static str),
    /// No operation has this form.
    Operation(String),
    /// An acknowledged operation lacks its result.
    NoResult(String),
    /// Two transactions have this id.
    IdUsedTwice(u64),
    /// The process already has a transaction in progress.
    ProcessIsBusy(u64),
    /// The line completes a transaction that was not invoked.
    NeverInvoked(u64),
    /// The line completes a transaction that is already complete or belongs to another process.
    NotUnderWay(u64),
    /// An event is older than the one before it.
    TimeGoesBack,
    /// A value is written to the same key twice, so its writer is ambiguous.
    ValueUsedTwice(u64),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for FormatError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Problem::NoHeader => {
                write!(f, "not a history: the first line must hold \"clearway-history\"")
            }
            Problem::Version(found) => {
                write!(f, "format {found}; this program reads format {FORMAT_VERSION}")
            }
            Problem::NotJson(error) => write!(f, "not JSON: {error}"),
            Problem::Field(name) => write!(f, "the field \"{name}\" is missing or wrong"),
            Problem::Operation(text) => write!(f, "not an operation: {text}"),
            Problem::NoResult(op) => write!(f, "acknowledged without a result: {op}"),
            Problem::IdUsedTwice(id) => write!(f, "a second transaction {id}"),
            Problem::ProcessIsBusy(process) => {
                write!(f, "process {process} has a transaction under way already")
            }
            Problem::NeverInvoked(id) => write!(f, "transaction {id} was never invoked"),
            Problem::NotUnderWay(id) => {
                write!(f, "transaction {id} is not under way in this process")
            }
            Problem::TimeGoesBack => write!(f, "older than the event before it"),
            Problem::ValueUsedTwice(value) => {
                write!(f, "the value {value} is written twice to the same key")
            }
        }
    }
}

/// Reads a history and sorts it by time.
pub fn read(input: impl BufRead) -> Result<History, FormatError> {
    let mut history = History::default();
    let mut lines = input.lines().enumerate();
    let fail = |line: usize| move |problem| FormatError { line: line + 1, problem };
    let header = lines.next().map(|(_, line)| line);
    let header = header.unwrap_or(Ok(String::new())).map_err(Problem::Unreadable);
    read_header(&header.map_err(fail(0))?, &mut history).map_err(fail(0))?;
    for (at, line) in lines {
        let line = line.map_err(Problem::Unreadable).map_err(fail(at))?;
        if !line.trim().is_empty() {
            read_line(&line, &mut history).map_err(fail(at))?;
        }
    }
    history.sort();
    Ok(history)
}

fn read_header(line: &str, history: &mut History) -> Result<(), Problem> {
    let header: Value = serde_json::from_str(line).map_err(|_| Problem::NoHeader)?;
    let version = header["clearway-history"].as_u64().ok_or(Problem::NoHeader)?;
    if version != FORMAT_VERSION {
        return Err(Problem::Version(version));
    }
    history.workload = header["workload"].as_str().unwrap_or_default().to_owned();
    history.seed = header["seed"].as_u64().unwrap_or_default();
    Ok(())
}

/// Adds the event or crash of one line.
fn read_line(line: &str, history: &mut History) -> Result<(), Problem> {
    let value: Value = serde_json::from_str(line).map_err(Problem::NotJson)?;
    let number = |name: &'static str| value[name].as_u64().ok_or(Problem::Field(name));
    let phase = match value["type"].as_str().ok_or(Problem::Field("type"))? {
        "invoke" => Phase::Invoke,
        "ok" => Phase::Ok,
        "fail" => Phase::Fail,
        "info" => Phase::Info,
        "crash" => {
            history.crashes.push(number("time")?);
            return Ok(());
        }
        _ => return Err(Problem::Field("type")),
    };
    let ops = match &value["ops"] {
        Value::Array(ops) => ops.iter().map(read_op).collect::<Result<_, _>>()?,
        Value::Null if !matches!(phase, Phase::Invoke | Phase::Ok) => Vec::new(),
        _ => return Err(Problem::Field("ops")),
    };
    let (id, process, time) = (number("id")?, number("process")?, number("time")?);
    history.events.push(Event { id, process, phase, time, ops });
    Ok(())
}

/// Reads the lines written by a process that was killed. There is no header, and a last line
/// without its end is ignored.
pub fn read_fragment(text: &str, history: &mut History) -> Result<(), FormatError> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (at, line) in whole.lines().enumerate() {
        read_line(line, history).map_err(|problem| FormatError { line: at + 1, problem })?;
    }
    Ok(())
}

fn read_op(value: &Value) -> Result<Op, Problem> {
    let wrong = || Problem::Operation(value.to_string());
    let parts = value.as_array().ok_or_else(wrong)?;
    let number = |at: usize| parts.get(at).and_then(Value::as_u64);
    let name = parts.first().and_then(Value::as_str).ok_or_else(wrong)?;
    let key = number(1).ok_or_else(wrong)?;
    let second = || number(2).ok_or_else(wrong);
    let most = if matches!(name, "lists" | "rows" | "sum") { 5 } else { 4 };
    if parts.len() > most {
        return Err(wrong());
    }
    // A result is absent, well-formed or malformed.
    let result = |at: usize| parts.get(at);
    Ok(match name {
        "append" => Op::Append { key, value: second()? },
        "list" => Op::List { key, values: optional(result(2), numbers).ok_or_else(wrong)? },
        "write" => Op::Write { key, value: second()? },
        "read" => Op::Read { key, value: optional(result(2), nullable).ok_or_else(wrong)? },
        "cas" => {
            let expected = result(2).and_then(nullable).ok_or_else(wrong)?;
            Op::Cas { key, expected, value: number(3).ok_or_else(wrong)? }
        }
        "insert" => Op::Insert { key, version: second()? },
        "delete" => Op::Delete { key, version: second()? },
        "ledger" => Op::Ledger { key, versions: optional(result(2), numbers).ok_or_else(wrong)? },
        "lists" | "rows" | "sum" => {
            let (low, high) = (key, second()?);
            let way = match result(3).and_then(Value::as_str) {
                Some("up") => Way::Up,
                Some("down") => Way::Down,
                _ => return Err(wrong()),
            };
            let found = result(4);
            match name {
                "lists" => {
                    let found = optional(found, |v| pairs(v, numbers)).ok_or_else(wrong)?;
                    Op::Lists { low, high, way, found }
                }
                "rows" => {
                    let found = optional(found, |v| pairs(v, Value::as_u64)).ok_or_else(wrong)?;
                    Op::Rows { low, high, way, found }
                }
                _ => {
                    let found = optional(found, |v| pair(v, Value::as_u64)).ok_or_else(wrong)?;
                    Op::Sum { low, high, way, found }
                }
            }
        }
        _ => return Err(wrong()),
    })
}

/// Returns `Some(None)` if the part is absent, and `None` if it is present but malformed.
fn optional<T>(part: Option<&Value>, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    part.map_or(Some(None), |part| read(part).map(Some))
}

fn nullable(value: &Value) -> Option<Option<u64>> {
    if value.is_null() { Some(None) } else { value.as_u64().map(Some) }
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn pair<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<(u64, T)> {
    match value.as_array()?.as_slice() {
        [first, second] => Some((first.as_u64()?, read(second)?)),
        _ => None,
    }
}

fn pairs<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<(u64, T)>> {
    value.as_array()?.iter().map(|value| pair(value, &read)).collect()
}

/// Writes a history.
pub fn write(history: &History, mut output: impl Write) -> io::Result<()> {
    let header = json!({
        "clearway-history": FORMAT_VERSION,
        "workload": history.workload,
        "seed": history.seed,
    });
    writeln!(output, "{header}")?;
    let mut crashes = history.crashes.iter().peekable();
    for event in &history.events {
        while let Some(time) = crashes.next_if(|&&time| time <= event.time) {
            writeln!(output, "{}", json!({ "type": "crash", "time": time }))?;
        }
        writeln!(output, "{}", event_line(event))?;
    }
    for time in crashes {
        writeln!(output, "{}", json!({ "type": "crash", "time": time }))?;
    }
    output.flush()
}

/// The line of one event, without the line end.
pub fn event_line(event: &Event) -> String {
    let phase = phase_name(event.phase);
    let ops: Vec<Value> = event.ops.iter().map(op_value).collect();
    json!({
        "id": event.id,
        "process": event.process,
        "type": phase,
        "time": event.time,
        "ops": ops,
    })
    .to_string()
}

/// A phase's word in the format.
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Invoke => "invoke",
        Phase::Ok => "ok",
        Phase::Fail => "fail",
        Phase::Info => "info",
    }
}

fn way_name(way: Way) -> &'static str {
    if way == Way::Up { "up" } else { "down" }
}

/// The form of an operation in a line.
pub fn op_value(op: &Op) -> Value {
    let with = |mut parts: Vec<Value>, result: Option<Value>| {
        parts.extend(result);
        Value::Array(parts)
    };
    match op {
        Op::Append { key, value } => json!(["append", key, value]),
        Op::List { key, values } => {
            with(vec![json!("list"), json!(key)], values.as_ref().map(|v| json!(v)))
        }
        Op::Lists { low, high, way, found } => with(
            vec![json!("lists"), json!(low), json!(high), json!(way_name(*way))],
            found.as_ref().map(|v| json!(v)),
        ),
        Op::Write { key, value } => json!(["write", key, value]),
        Op::Read { key, value } => {
            with(vec![json!("read"), json!(key)], value.map(|value| json!(value)))
        }
        Op::Cas { key, expected, value } => json!(["cas", key, expected, value]),
        Op::Insert { key, version } => json!(["insert", key, version]),
        Op::Delete { key, version } => json!(["delete", key, version]),
        Op::Ledger { key, versions } => {
            with(vec![json!("ledger"), json!(key)], versions.as_ref().map(|v| json!(v)))
        }
        Op::Rows { low, high, way, found } => with(
            vec![json!("rows"), json!(low), json!(high), json!(way_name(*way))],
            found.as_ref().map(|v| json!(v)),
        ),
        Op::Sum { low, high, way, found } => with(
            vec![json!("sum"), json!(low), json!(high), json!(way_name(*way))],
            found.map(|v| json!(v)),
        ),
    }
}
