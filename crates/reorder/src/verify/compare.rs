//! The comparison of two runs of one case.
//!
//! Equal means: the same transactions end in the same way. Those that are committed have the same
//! operations, and conflicting operations have the same order. If the run as a whole is committed,
//! the outputs and the result are equal. What is printed is equal in any case, but for numbers
//! of source lines ([`super::lines`]).
//!
//! A run that is rolled back for one reason must also be rolled back in the same way and with the
//! same result. If there may be two reasons, such as two queries that found no row, the program may
//! notice either first, so only the committed transactions are compared.

use std::{collections::BTreeMap, fmt};

use super::{
    conflict::{Operation, first_swap},
    lines::{hidden, restored},
    log::{Event, QueryEvent},
    run::{Ending, Run},
    transactions::{Outcome, Transaction, transactions},
};
use crate::sql::Query;

/// The path under which the harness records the result of the function.
pub(crate) const RESULT: &str = "return";

/// The questions of the comparison about queries and tables.
pub(crate) struct Questions<'a> {
    pub analyze: &'a dyn Fn(&str) -> Option<Query>,
    pub key: &'a dyn Fn(&str) -> Vec<String>,
}

/// A difference between two runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// The rewritten program breaks, and the original does not.
    Breaks(String),
    /// One of the programs ends within the call, or both do with different codes.
    Ending {
        /// The end of the original.
        original: String,
        /// The end of the rewritten program.
        rewritten: String,
    },
    /// The transactions end in different ways.
    Outcomes {
        /// The ends of those of the original.
        original: Vec<String>,
        /// The ends of those of the rewritten program.
        rewritten: Vec<String>,
    },
    /// A transaction begins or ends with another statement.
    Bounds {
        /// The statements of the original.
        original: Vec<String>,
        /// The statements of the rewritten program.
        rewritten: Vec<String>,
    },
    /// The original executes a query in a committed transaction that the rewritten one does not.
    Missing(String),
    /// The rewritten program executes a query that the original does not.
    Extra(String),
    /// Two queries that conflict are executed in the other order.
    Order {
        /// The query that the original executes first.
        first: String,
        /// The query that it executes later.
        second: String,
    },
    /// An output differs.
    Output {
        /// Its place: `output.total`.
        path: String,
        /// Its value in the original.
        original: String,
        /// Its value in the rewritten program.
        rewritten: String,
    },
    /// The result of the function differs.
    Status {
        /// That of the original.
        original: String,
        /// That of the rewritten program.
        rewritten: String,
    },
    /// The printed text differs.
    Printed {
        /// `standard output` or `standard error`.
        stream: &'static str,
        /// The text that the original prints.
        original: String,
        /// The text that the rewritten program prints.
        rewritten: String,
    },
    /// The rewritten program uses the interface in a way that its manual forbids.
    Misuse(String),
}

/// Compares the runs. `single` says that at most one thing went wrong in the original.
pub(crate) fn compare(
    original: &Run,
    rewritten: &Run,
    single: bool,
    questions: &Questions,
) -> Vec<Difference> {
    if let Ending::Broke(reason) = &rewritten.ending {
        return vec![Difference::Breaks(reason.clone())];
    }
    let mut found = Vec::new();
    let (old, new) = (transactions(&original.events), transactions(&rewritten.events));
    let same = compare_outcomes(&old, &new, single, &mut found);
    for (a, b) in same {
        compare_transactions(a, b, questions, &mut found);
    }
    let committed = is_committed(&old);
    if (committed || single) && original.ending != rewritten.ending {
        found.push(Difference::Ending {
            original: original.ending.to_string(),
            rewritten: rewritten.ending.to_string(),
        });
    }
    if committed || single {
        compare_outputs(original, rewritten, committed, &mut found);
    }
    if committed || single {
        compare_printed(original, rewritten, &mut found);
    }
    compare_misuse(original, rewritten, single, &mut found);
    found
}

/// Returns true if the last transaction of the run is committed, or if it has none.
pub(crate) fn is_committed(transactions: &[Transaction]) -> bool {
    transactions.last().is_none_or(|last| last.outcome.stays())
}

/// Compares how transactions end, and returns the pairs whose effects stay.
fn compare_outcomes<'t, 'e>(
    old: &'t [Transaction<'e>],
    new: &'t [Transaction<'e>],
    single: bool,
    found: &mut Vec<Difference>,
) -> Vec<(&'t Transaction<'e>, &'t Transaction<'e>)> {
    let counts = |one: &&Transaction| single || one.outcome.stays();
    let outcomes = |all: &[Transaction]| -> Vec<Outcome> {
        all.iter().filter(counts).map(|one| one.outcome).collect()
    };
    if outcomes(old) != outcomes(new) {
        let names = |all: &[Transaction]| {
            all.iter().map(|transaction| transaction.outcome.to_string()).collect()
        };
        found.push(Difference::Outcomes { original: names(old), rewritten: names(new) });
        return Vec::new();
    }
    let stays = |one: &&Transaction| one.outcome.stays();
    old.iter().filter(stays).zip(new.iter().filter(stays)).collect()
}

fn compare_transactions(
    old: &Transaction,
    new: &Transaction,
    questions: &Questions,
    found: &mut Vec<Difference>,
) {
    if old.bounds != new.bounds {
        let texts = |bounds: &[&str]| bounds.iter().map(|&sql| sql.to_owned()).collect();
        found.push(Difference::Bounds {
            original: texts(&old.bounds),
            rewritten: texts(&new.bounds),
        });
    }
    let lacks = |all: &Transaction, key: &str| all.operations.iter().all(|one| one.key != key);
    for operation in old.operations.iter().filter(|one| lacks(new, &one.key)) {
        found.push(Difference::Missing(operation.to_string()));
    }
    for operation in new.operations.iter().filter(|one| lacks(old, &one.key)) {
        found.push(Difference::Extra(operation.to_string()));
    }
    let (old, new) = (analyzed(old, questions), analyzed(new, questions));
    if let Some((first, second)) = first_swap(&old, &new, questions.key) {
        found.push(Difference::Order {
            first: old[first].event.to_string(),
            second: old[second].event.to_string(),
        });
    }
}

/// Returns the operations of a transaction with what is known of their queries.
fn analyzed<'e>(transaction: &Transaction<'e>, questions: &Questions) -> Vec<Operation<'e>> {
    let analyze =
        |&event: &&'e QueryEvent| Operation { event, query: (questions.analyze)(&event.sql) };
    transaction.operations.iter().map(analyze).collect()
}

/// Compares the result, and the outputs as well if `all` is true.
fn compare_outputs(original: &Run, rewritten: &Run, all: bool, found: &mut Vec<Difference>) {
    let (old, new) = (outputs(original), outputs(rewritten));
    let mut paths: Vec<&str> = old.keys().chain(new.keys()).copied().collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let [a, b] = [&old, &new].map(|one| one.get(path).copied());
        if a.map(hidden) == b.map(hidden) || (path != RESULT && !all) {
            continue;
        }
        let [original, rewritten] = [a, b].map(|value| shown(value.unwrap_or("(not recorded)")));
        found.push(match path {
            RESULT => Difference::Status { original, rewritten },
            _ => Difference::Output { path: path.to_owned(), original, rewritten },
        });
    }
}

fn outputs(run: &Run) -> BTreeMap<&str, &str> {
    let mut outputs = BTreeMap::new();
    for event in &run.events {
        if let Event::Output { path, value } = event {
            outputs.insert(&**path, &**value);
        }
    }
    outputs
}

/// Shows bytes: those at the end that are zero are left out.
fn shown(value: &str) -> String {
    restored(value.trim_end_matches('\0')).escape_debug().to_string()
}

fn compare_printed(original: &Run, rewritten: &Run, found: &mut Vec<Difference>) {
    let streams = [
        ("standard output", &original.output, &rewritten.output),
        ("standard error", &original.errors, &rewritten.errors),
    ];
    for (stream, old, new) in streams {
        if hidden(old) != hidden(new) {
            found.push(Difference::Printed {
                stream,
                original: restored(old).escape_debug().to_string(),
                rewritten: restored(new).escape_debug().to_string(),
            });
        }
    }
}

/// Finds what only the rewritten program does wrong. If both may have stopped at different places,
/// only what the original never does wrong counts.
fn compare_misuse(original: &Run, rewritten: &Run, single: bool, found: &mut Vec<Difference>) {
    let misuse = |run: &Run| -> Vec<(String, String)> {
        let misuse = |event: &Event| match event {
            Event::Misuse { what, key } => Some((what.clone(), key.clone())),
            _ => None,
        };
        run.events.iter().filter_map(misuse).collect()
    };
    let mut old = misuse(original);
    for (what, key) in misuse(rewritten) {
        let same = old.iter().position(|(a, b)| *a == what && (*b == key || !single));
        match same {
            Some(index) if single => drop(old.swap_remove(index)),
            Some(_) => {}
            None => found.push(Difference::Misuse(describe(&what, &key, rewritten))),
        }
    }
}

fn describe(what: &str, key: &str, run: &Run) -> String {
    let query = run.events.iter().find_map(|event| match event {
        Event::Query(query) if query.key == key => Some(query.to_string()),
        _ => None,
    });
    query.map_or(what.to_owned(), |query| format!("{what}; the query: {query}"))
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Returned => write!(f, "the call returns"),
            Ending::Exited(code) => write!(f, "the program exits with {code} within the call"),
            Ending::Broke(reason) => write!(f, "the program breaks: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests;
