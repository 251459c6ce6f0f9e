//! The text format of isolation specs.

use std::fmt::Write as _;

/// A spec.
#[derive(Debug)]
pub(crate) struct Spec {
    /// Usable bytes of a tree node.
    pub(crate) node_bytes: usize,
    /// From how many range locks on a transaction tries to lock the table instead.
    pub(crate) escalate_after: Option<usize>,
    /// Operations before each permutation, in one transaction.
    pub(crate) setup: Vec<Vec<String>>,
    /// In the order of the file.
    pub(crate) sessions: Vec<Session>,
    pub(crate) permutations: Vec<Permutation>,
}

/// A session: at most one transaction at a time.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// A named operation.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) words: Vec<String>,
}

/// An order of steps, and what happens.
#[derive(Debug)]
pub(crate) struct Permutation {
    pub(crate) line: usize,
    /// Names of steps; `flush`, `maintain`, `checkpoint` are the engine's.
    pub(crate) steps: Vec<String>,
    /// One line for each event.
    pub(crate) expected: Vec<String>,
}

impl Spec {
    /// The session and the words of a step.
    pub(crate) fn find(&self, step: &str) -> Option<(usize, &[String])> {
        self.sessions.iter().enumerate().find_map(|(at, session)| {
            let step = session.steps.iter().find(|own| own.name == step)?;
            Some((at, &step.words[..]))
        })
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

/// The part of a spec that an indented line belongs to.
enum Part {
    None,
    Setup,
    Session,
    Permutation,
}

/// Reads a spec.
pub(crate) fn parse(text: &str) -> Result<Spec, String> {
    let mut spec = Spec {
        node_bytes: 8192,
        escalate_after: None,
        setup: Vec::new(),
        sessions: Vec::new(),
        permutations: Vec::new(),
    };
    let mut part = Part::None;
    for (at, line) in text.lines().enumerate() {
        let (number, content) = (at + 1, line.split('#').next().unwrap_or("").trim_end());
        let parts = words(content);
        let Some(first) = parts.first() else { continue };
        if content.starts_with(' ') {
            match part {
                Part::None => return Err(format!("line {number}: belongs to nothing")),
                Part::Setup => spec.setup.push(parts),
                Part::Session => {
                    let step = Step { name: first.clone(), words: parts[1..].to_vec() };
                    spec.sessions.last_mut().expect("in a session").steps.push(step);
                }
                Part::Permutation => {
                    let permutation = spec.permutations.last_mut().expect("in a permutation");
                    permutation.expected.push(parts.join(" "));
                }
            }
            continue;
        }
        part = match first.as_str() {
            "node_bytes" => {
                let bytes = parts.get(1).and_then(|word| word.parse().ok());
                spec.node_bytes = bytes.ok_or(format!("line {number}: how many bytes?"))?;
                Part::None
            }
            "escalate_after" => {
                let locks = parts.get(1).and_then(|word| word.parse().ok());
                spec.escalate_after = Some(locks.ok_or(format!("line {number}: how many locks?"))?);
                Part::None
            }
            "setup" => Part::Setup,
            "session" => {
                let name = parts.get(1).ok_or(format!("line {number}: no name"))?.clone();
                spec.sessions.push(Session { name, steps: Vec::new() });
                Part::Session
            }
            "permutation" => {
                let (steps, expected) = (parts[1..].to_vec(), Vec::new());
                spec.permutations.push(Permutation { line: number, steps, expected });
                Part::Permutation
            }
            other => return Err(format!("line {number}: what is {other:?}?")),
        };
    }
    let engine = ["flush", "maintain", "checkpoint"];
    for permutation in &spec.permutations {
        for step in &permutation.steps {
            if spec.find(step).is_none() && !engine.contains(&step.as_str()) {
                return Err(format!("line {}: there is no step {step:?}", permutation.line));
            }
        }
    }
    Ok(spec)
}

/// The text with these outcomes in the place of those it has.
pub(crate) fn with_outcomes(text: &str, outcomes: &[Vec<String>]) -> String {
    let (mut out, mut outcomes, mut skipping) = (String::new(), outcomes.iter(), false);
    for line in text.lines() {
        if skipping && line.starts_with(' ') {
            continue;
        }
        skipping = line.starts_with("permutation");
        let _ = writeln!(out, "{line}");
        if skipping {
            for event in outcomes.next().into_iter().flatten() {
                let (step, outcome) = event.split_once(' ').unwrap_or((event, ""));
                let _ = writeln!(out, "{}", format!("  {step:<12} {outcome}").trim_end());
            }
        }
    }
    out
}
