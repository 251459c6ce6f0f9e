//! The findings of a comparison, and their printed form.

use std::fmt;

use super::{
    compare::Difference,
    log::{Event, Kind, QueryEvent},
    run::{Case, Run},
    sites::Site,
    transactions::Outcome,
};

/// The width of one column where two runs stand side by side.
const WIDTH: usize = 56;

/// The findings of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The name of the function.
    pub function: String,
    /// The number of cases, which both programs ran.
    pub cases: usize,
    /// The number of cases in which the original committed.
    pub committed: usize,
    /// The number of cases in which the original rolled back.
    pub rolled_back: usize,
    /// The cases that were not compared, since the original breaks in them, with the reason.
    pub skipped: Vec<(Case, String)>,
    /// The cases that were not compared, since the original does not check a query whose failure
    /// has ended its transaction: it goes on outside of it, and what it commits there depends on
    /// the order.
    pub unchecked: Vec<Case>,
    /// The number of failures that were left out because of the limit for a seed.
    pub left_out: usize,
    /// The calls of the original that run queries and that no case reached.
    pub unreached: Vec<Site>,
    /// Notes for the reader on the inputs and the original.
    pub notes: Vec<String>,
    /// The cases in which the programs differ.
    pub divergences: Vec<Divergence>,
}

/// A case in which the programs differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The case.
    pub case: Case,
    /// The inputs of the function.
    pub inputs: Vec<(String, String)>,
    /// The differences.
    pub differences: Vec<Difference>,
    /// The actions of the original, a line each.
    pub original: Vec<String>,
    /// The actions of the rewritten program.
    pub rewritten: Vec<String>,
}

/// The answer of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No case showed a difference, and each call that runs a query ran in one of them.
    Equal,
    /// No case showed a difference, but some calls that run queries ran in none.
    Incomplete,
    /// The programs differ.
    Different,
    /// No case was compared in which the original committed.
    Inconclusive,
}

impl Report {
    /// Returns the answer.
    pub fn verdict(&self) -> Verdict {
        match (self.divergences.is_empty(), self.committed, self.unreached.is_empty()) {
            (false, ..) => Verdict::Different,
            (true, 0, _) => Verdict::Inconclusive,
            (true, _, false) => Verdict::Incomplete,
            (true, _, true) => Verdict::Equal,
        }
    }
}

impl Divergence {
    pub(crate) fn new(
        case: &Case,
        original: &Run,
        rewritten: &Run,
        differences: Vec<Difference>,
    ) -> Divergence {
        let input = |event: &Event| match event {
            Event::Input { path, value } => Some((path.clone(), value.clone())),
            _ => None,
        };
        Divergence {
            case: case.clone(),
            inputs: original.events.iter().filter_map(input).collect(),
            differences,
            original: lines(original),
            rewritten: lines(rewritten),
        }
    }
}

/// Returns what a run did, a line each.
fn lines(run: &Run) -> Vec<String> {
    let line = |event: &Event| match event {
        Event::Query(query) => Some(describe(query)),
        Event::Misuse { what, .. } => Some(format!("! {what}")),
        _ => None,
    };
    let mut all: Vec<String> = run.call().iter().filter_map(line).collect();
    all.push(format!("= {}", run.ending));
    all
}

fn describe(query: &QueryEvent) -> String {
    match &query.failed {
        Some(code) if code.is_empty() => format!("{query} -> no connection"),
        Some(code) => format!("{query} -> {code}"),
        None if query.rows > 0 => {
            let values: Vec<&str> =
                query.first.iter().map(|value| value.as_deref().unwrap_or("null")).collect();
            format!("{query} -> {} rows ({})", query.rows, values.join(", "))
        }
        None if !query.changed.is_empty() => format!("{query} -> {}", query.changed),
        None => query.to_string(),
    }
}

impl fmt::Display for QueryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == Kind::Prepare {
            write!(f, "prepare ")?;
        }
        let words: Vec<&str> = self.sql.split_whitespace().collect();
        write!(f, "{}", words.join(" "))?;
        if self.parameters.is_empty() {
            return Ok(());
        }
        let values: Vec<&str> =
            self.parameters.iter().map(|value| value.as_deref().unwrap_or("null")).collect();
        write!(f, " [{}]", values.join(", "))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Committed => "committed",
            Outcome::RolledBack => "rolled back",
            Outcome::Refused => "commit refused after a failed query",
            Outcome::Lost => "connection lost",
            Outcome::Open => "not ended",
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Breaks(reason) => {
                write!(f, "the rewritten program breaks, the original does not: {reason}")
            }
            Self::Ending { original, rewritten } => {
                write!(f, "original: {original}; rewritten: {rewritten}")
            }
            Self::Outcomes { original, rewritten } => write!(
                f,
                "the transactions of the original: {}; of the rewritten program: {}",
                listed(original),
                listed(rewritten)
            ),
            Self::Bounds { original, rewritten } => write!(
                f,
                "the transaction is bounded by {} in the original, by {} in the rewritten program",
                listed(original),
                listed(rewritten)
            ),
            Self::Missing(query) => write!(f, "the rewritten program lacks the query: {query}"),
            Self::Extra(query) => write!(f, "the original lacks the query: {query}"),
            Self::Order { first, second } => {
                write!(f, "the original runs first `{first}`, then `{second}`, which conflicts")
            }
            Self::Output { path, original, rewritten } => {
                write!(f, "output {path}: `{original}` in the original, `{rewritten}` rewritten")
            }
            Self::Status { original, rewritten } => {
                let verb = |value: &str| if value.starts_with("threw ") { "" } else { "returns " };
                write!(f, "the original {}{original}, ", verb(original))?;
                write!(f, "the rewritten program {}{rewritten}", verb(rewritten))
            }
            Self::Printed { stream, original, rewritten } => {
                write!(f, "on {stream}, the original prints `{original}`, ")?;
                write!(f, "the rewritten program `{rewritten}`")
            }
            Self::Misuse(what) => write!(f, "only the rewritten program does this: {what}"),
        }
    }
}

fn listed(all: &[String]) -> String {
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.case)?;
        for (path, value) in &self.inputs {
            writeln!(f, "  {path} = {}", value.escape_debug())?;
        }
        for difference in &self.differences {
            writeln!(f, "  * {difference}")?;
        }
        let length = self.original.len().max(self.rewritten.len());
        let mut differs = false;
        writeln!(f, "    {:WIDTH$} | rewritten", "original")?;
        for index in 0..length {
            let [left, right] =
                [&self.original, &self.rewritten].map(|all| all.get(index).map_or("", |one| one));
            let mark = if !differs && left != right { ">" } else { " " };
            differs |= left != right;
            let line = format!("  {mark} {:WIDTH$} | {}", cut(left), cut(right));
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Shortens a line to the width of a column.
fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let head: String = line.chars().take(WIDTH - 1).collect();
    head + "…"
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} cases, ", self.function, self.cases)?;
        write!(f, "{} committed, {} rolled back: ", self.committed, self.rolled_back)?;
        match self.verdict() {
            Verdict::Equal => writeln!(f, "no difference")?,
            Verdict::Incomplete => writeln!(
                f,
                "no difference in what ran, but {} calls that run queries never ran; give ranges \
                 for its inputs",
                self.unreached.len()
            )?,
            Verdict::Different => writeln!(f, "{} cases differ", self.divergences.len())?,
            Verdict::Inconclusive => writeln!(
                f,
                "no conclusion, since the original never commits; give ranges for its inputs"
            )?,
        }
        for site in &self.unreached {
            writeln!(f, "never ran: line {}: {}", site.line, site.call)?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        if let Some((case, reason)) = self.skipped.first() {
            let count = self.skipped.len();
            writeln!(f, "note: {count} cases are not compared, since the original breaks in them")?;
            writeln!(f, "      the first: {case}: {reason}")?;
        }
        if let Some(first) = self.unchecked.first() {
            let count = self.unchecked.len();
            writeln!(f, "note: {count} cases are not compared: after a failure that it does not")?;
            writeln!(f, "      check, the original goes on outside of its transaction")?;
            writeln!(f, "      the first: {first}")?;
        }
        if self.left_out > 0 {
            writeln!(f, "note: {} failures were left out", self.left_out)?;
        }
        self.divergences.iter().try_for_each(|divergence| write!(f, "\n{divergence}"))
    }
}
