//! The transactions of a run, from the log of its queries.
//!
//! The mock says with each query in which state the connection is afterwards, so no SQL is needed
//! here: a query that leaves an idle connection idle is a transaction of its own.

use std::collections::BTreeMap;

use super::log::{Event, Kind, QueryEvent, State, Statement};

/// A transaction.
#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    pub outcome: Outcome,
    /// The statements that began and ended it, as far as there were any.
    pub bounds: Vec<&'a str>,
    /// The queries that succeeded, in order.
    pub operations: Vec<&'a QueryEvent>,
}

/// The end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It was committed.
    Committed,
    /// The program rolled it back, or the commit failed.
    RolledBack,
    /// The program asked for a commit although a query had failed; the server rolled it back.
    Refused,
    /// The connection was lost.
    Lost,
    /// It goes on behind the call.
    Open,
}

impl Outcome {
    /// Returns true if the effects of the transaction stay.
    pub(crate) fn stays(self) -> bool {
        matches!(self, Outcome::Committed | Outcome::Open)
    }
}

/// Returns the transactions of a run in the order in which they ended, those of the setup excluded.
pub(crate) fn transactions(events: &[Event]) -> Vec<Transaction<'_>> {
    let mut all = Transactions::default();
    for event in events {
        match event {
            Event::Query(query) => all.add(query),
            Event::Begins => all.begin_call(),
            _ => {}
        }
    }
    all.finish()
}

#[derive(Default)]
struct Transactions<'a> {
    done: Vec<Transaction<'a>>,
    open: BTreeMap<u32, Current<'a>>,
}

/// The state of one connection.
#[derive(Default)]
struct Current<'a> {
    transaction: Option<Transaction<'a>>,
    failed: bool,
    lost: bool,
    /// True if the server has rolled back by itself, and the program has ended nothing since.
    goes_on: bool,
}

fn empty<'a>() -> Transaction<'a> {
    Transaction { outcome: Outcome::Open, bounds: Vec::new(), operations: Vec::new() }
}

impl<'a> Transactions<'a> {
    /// Forgets what the setup did; a transaction that it left open goes on.
    fn begin_call(&mut self) {
        self.done.clear();
        for current in self.open.values_mut() {
            if let Some(transaction) = &mut current.transaction {
                *transaction = empty();
            }
        }
    }

    fn add(&mut self, query: &'a QueryEvent) {
        let current = self.open.entry(query.connection).or_default();
        if current.lost && query.state == State::Lost {
            return;
        }
        let outside = current.transaction.is_none();
        let bounds = [Statement::Begin, Statement::Commit, Statement::Rollback];
        current.goes_on &= !bounds.contains(&query.statement);
        // A read of a program that does not know of the rollback belongs to what was rolled back.
        let is_left_over = current.goes_on && query.statement == Statement::Rows;
        if outside && (is_left_over || !needs_transaction(query)) {
            return;
        }
        let transaction = current.transaction.get_or_insert_with(empty);
        let works = query.kind == Kind::Query && query.failed.is_none();
        match query.statement {
            Statement::Begin | Statement::Commit | Statement::Rollback => {
                transaction.bounds.push(&query.sql);
            }
            _ if works => transaction.operations.push(query),
            _ => {}
        }
        let outcome = match query.state {
            State::Active | State::Failed => None,
            State::Lost => Some(Outcome::Lost),
            State::Idle => Some(outcome(query, outside, current.failed)),
        };
        current.failed = query.state == State::Failed;
        current.lost = query.state == State::Lost;
        current.goes_on |= !outside && query.failed.is_some() && query.state == State::Idle;
        if let Some(outcome) = outcome {
            self.done
                .extend(current.transaction.take().map(|ended| Transaction { outcome, ..ended }));
        }
    }

    fn finish(mut self) -> Vec<Transaction<'a>> {
        for current in self.open.into_values() {
            if let Some(mut transaction) = current.transaction {
                transaction.outcome =
                    if current.failed { Outcome::RolledBack } else { Outcome::Open };
                self.done.push(transaction);
            }
        }
        self.done
    }
}

/// Returns true if the query begins a transaction or is one, when none is open.
fn needs_transaction(query: &QueryEvent) -> bool {
    let works = matches!(
        query.statement,
        Statement::Rows | Statement::Change | Statement::Other | Statement::Savepoint
    );
    query.state != State::Idle || (works && query.kind == Kind::Query)
}

/// Returns the outcome of the transaction that ended with this query.
fn outcome(query: &QueryEvent, alone: bool, failed: bool) -> Outcome {
    match (&query.failed, query.statement) {
        (Some(_), _) => Outcome::RolledBack,
        (None, Statement::Rollback) => Outcome::RolledBack,
        (None, Statement::Commit) if failed => Outcome::Refused,
        (None, Statement::Commit) => Outcome::Committed,
        // A statement of its own, or one that commits by itself.
        (None, _) if alone || !failed => Outcome::Committed,
        (None, _) => Outcome::RolledBack,
    }
}

#[cfg(test)]
mod tests;
