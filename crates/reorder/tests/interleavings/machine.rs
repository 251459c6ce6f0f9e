//! A machine with rows, versions and locks that runs two transactions, one statement at a time.
//!
//! A statement runs in two parts: it locks the rows that it finds, one after the other, and then
//! it reads or changes them. If another transaction holds a row, the session waits until that one
//! has ended, keeps the locks that it has, and begins again, in PostgreSQL with the same snapshot.
//! All locks are held to the end of the transaction.
//!
//! - *PostgreSQL, read committed.* A statement sees what is committed at its start. A row that
//!   another transaction has changed since is checked and changed in its newest version; a row that
//!   was deleted is left out, even if one with the same key was inserted.
//! - *PostgreSQL, repeatable read.* The first statement takes the snapshot. A lock of a row that
//!   was changed since fails.
//! - *MySQL, repeatable read.* The first plain read takes the snapshot of the plain reads. Other
//!   statements use the newest rows. A condition without a key locks all rows of the table and its
//!   gaps, and so does one with a key that no row has; inserts of others wait for that. (In the
//!   server a gap lies between two rows; here each table has one.)
//! - *MySQL, read committed.* Only the rows that are found stay locked; of a read by a key, also
//!   the row that the rest of its condition does not find. A condition without a key waits for each
//!   row that others have locked; an update only for those whose committed version it finds.
//! - *Inserts* wait for an insert or a deletion of the same key that is not committed. If the key
//!   is taken then, the transaction rolls back, or handles the conflict.

mod locking;
mod rows;

use std::{collections::BTreeMap, rc::Rc};

use self::{
    locking::Purpose,
    rows::{Row, RowId},
};
use super::transaction::{Action, Assigned, Condition, Lock, Selected, Transaction, Value};

pub(crate) use self::rows::{Rows, initial};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    PostgresqlReadCommitted,
    PostgresqlRepeatableRead,
    MysqlReadCommitted,
    MysqlRepeatableRead,
}

impl Level {
    pub(crate) fn is_postgresql(self) -> bool {
        matches!(self, Level::PostgresqlReadCommitted | Level::PostgresqlRepeatableRead)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Status {
    Running,
    Waiting,
    Committed,
    RolledBack,
}

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Done,
    /// The session waits for the other one.
    Waits,
    /// The server would end the transaction, so that the program runs it again.
    Dropped,
}

/// The reason why a statement does not run to its end.
enum Stop {
    Wait,
    /// A serialization failure.
    Retry,
    /// The transaction rolls back.
    RollBack,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    parameter: i64,
    pub(crate) status: Status,
    /// The number of statements that have run.
    at: usize,
    pub(crate) variables: Vec<i64>,
    /// Its changes that are not committed; `None` for a row that is deleted.
    own: BTreeMap<RowId, Option<Row>>,
    locks: BTreeMap<RowId, Lock>,
    /// The tables whose gaps it holds.
    gaps: Vec<usize>,
    /// The snapshot of the transaction.
    snapshot: Option<Rc<Rows>>,
    /// The snapshot of the statement that waits.
    pending: Option<Rc<Rows>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Machine {
    pub(crate) committed: Rc<Rows>,
    pub(crate) sessions: [Session; 2],
}

/// A session and its transaction, while a statement runs.
pub(crate) struct Scene<'m> {
    machine: &'m mut Machine,
    /// The index of the session.
    me: usize,
    level: Level,
    /// The committed rows that the statement sees: in MySQL, the newest if it locks.
    seen: Rc<Rows>,
}

impl Machine {
    pub(crate) fn new(
        rows: Rows,
        transactions: [&Transaction; 2],
        parameters: [i64; 2],
    ) -> Machine {
        let session = |at: usize| Session {
            parameter: parameters[at],
            status: Status::Running,
            at: 0,
            variables: vec![0; transactions[at].variables],
            own: BTreeMap::new(),
            locks: BTreeMap::new(),
            gaps: Vec::new(),
            snapshot: None,
            pending: None,
        };
        Machine { committed: Rc::new(rows), sessions: [session(0), session(1)] }
    }

    /// Runs the next statement of a session, or its commit.
    pub(crate) fn step(&mut self, me: usize, transaction: &Transaction, level: Level) -> Step {
        let session = &self.sessions[me];
        let Some(statement) = transaction.statements.get(session.at) else {
            self.commit(me);
            return Step::Done;
        };
        let runs = statement.guard.is_none_or(|guard| session.value(&guard.value) > guard.above);
        if runs {
            match self.run(me, &statement.action, level) {
                Ok(()) => {}
                Err(Stop::Retry) => return Step::Dropped,
                Err(Stop::RollBack) => {
                    self.end(me, Status::RolledBack);
                    return Step::Done;
                }
                Err(Stop::Wait) => {
                    self.sessions[me].status = Status::Waiting;
                    return Step::Waits;
                }
            }
        }
        let session = &mut self.sessions[me];
        session.at += 1;
        session.pending = None;
        Step::Done
    }

    fn commit(&mut self, me: usize) {
        let mut rows = Rows::clone(&self.committed);
        for (id, row) in std::mem::take(&mut self.sessions[me].own) {
            match row {
                Some(row) => rows.insert(id, row),
                None => rows.remove(&id),
            };
        }
        self.committed = Rc::new(rows);
        self.end(me, Status::Committed);
    }

    fn end(&mut self, me: usize, status: Status) {
        let session = &mut self.sessions[me];
        session.status = status;
        session.own.clear();
        session.locks.clear();
        session.gaps.clear();
        (session.snapshot, session.pending) = (None, None);
        let other = &mut self.sessions[1 - me];
        if other.status == Status::Waiting {
            other.status = Status::Running;
        }
    }

    fn run(&mut self, me: usize, action: &Action, level: Level) -> Result<(), Stop> {
        if let Action::Leave { variable, least } = action {
            let leaves = self.sessions[me].variables[*variable] >= *least;
            return if leaves { Err(Stop::RollBack) } else { Ok(()) };
        }
        let plain = matches!(action, Action::Read { lock: None, .. });
        let seen = self.seen(me, plain, level);
        let mut scene = Scene { machine: self, me, level, seen };
        let done = scene.run(action);
        let seen = scene.seen.clone();
        self.sessions[me].pending = matches!(done, Err(Stop::Wait)).then_some(seen);
        done
    }

    /// Returns the committed rows that a statement sees.
    fn seen(&mut self, me: usize, plain: bool, level: Level) -> Rc<Rows> {
        let session = &mut self.sessions[me];
        let now = &self.committed;
        match level {
            Level::PostgresqlReadCommitted => {
                session.pending.get_or_insert_with(|| now.clone()).clone()
            }
            Level::MysqlRepeatableRead if !plain => now.clone(),
            Level::MysqlReadCommitted => now.clone(),
            _ => session.snapshot.get_or_insert_with(|| now.clone()).clone(),
        }
    }
}

impl Session {
    fn value(&self, value: &Value) -> i64 {
        match value {
            Value::Constant(number) => *number,
            Value::Parameter => self.parameter,
            Value::Read { variable, plus } => self.variables[*variable] + plus,
        }
    }

    fn finds(&self, table: usize, condition: &Condition, row: &Row) -> bool {
        row.table == table
            && condition.iter().all(|(column, value)| row.values[*column] == self.value(value))
    }
}

impl Scene<'_> {
    fn session(&mut self) -> &mut Session {
        &mut self.machine.sessions[self.me]
    }

    fn run(&mut self, action: &Action) -> Result<(), Stop> {
        match action {
            Action::Read { table, selected, condition, lock, variable } => {
                let rows = match lock {
                    None => self.visible(*table, condition),
                    Some(lock) => {
                        let rows = self.locked(*table, condition, *lock, Purpose::Read)?;
                        rows.into_iter().map(|(_, row)| row).collect()
                    }
                };
                let number = match selected {
                    Selected::Column(column) => rows.first().map_or(0, |row| row.values[*column]),
                    Selected::Count => rows.len() as i64,
                    Selected::Next => rows.iter().map(|row| row.values[0]).max().unwrap_or(0) + 1,
                };
                self.session().variables[*variable] = number;
            }
            Action::Update { table, assigned, condition } => {
                for (id, row) in self.locked(*table, condition, Lock::Exclusive, Purpose::Update)? {
                    self.assign(id, row, assigned);
                }
            }
            Action::Delete { table, condition } => {
                for (id, _) in self.locked(*table, condition, Lock::Exclusive, Purpose::Delete)? {
                    self.session().own.insert(id, None);
                }
            }
            Action::Insert { table, values, conflict } => self.insert(*table, values, conflict)?,
            Action::Leave { .. } => {}
        }
        Ok(())
    }

    /// Returns the rows that a plain read finds.
    fn visible(&self, table: usize, condition: &Condition) -> Vec<Row> {
        let session = &self.machine.sessions[self.me];
        let rows = rows::with_own(&self.seen, &session.own);
        rows.into_values().filter(|row| session.finds(table, condition, row)).collect()
    }

    fn assign(&mut self, id: RowId, row: Row, assigned: &[(usize, Assigned)]) {
        let mut changed = row.clone();
        for (column, value) in assigned {
            changed.values[*column] = self.assigned(value, row.values[*column]);
        }
        // MySQL does not write a row that stays the same: plain reads go on to see the old version.
        if self.level.is_postgresql() || changed != row {
            changed.version += 1;
            self.session().own.insert(id, Some(changed));
        }
    }

    fn assigned(&self, value: &Assigned, old: i64) -> i64 {
        match value {
            Assigned::Value(value) => self.machine.sessions[self.me].value(value),
            Assigned::Increment(step) => old + step,
            Assigned::Count(table, condition) => self.visible(*table, condition).len() as i64,
        }
    }
}
