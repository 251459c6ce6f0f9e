//! A transaction as an abstract program: the statements that the machine runs and that `source.rs`
//! writes as C.

use std::collections::BTreeSet;

/// The number of columns of each table. Column 0 is the key, if the table has one.
pub(crate) const COLUMNS: usize = 3;

/// A table.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: [&'static str; COLUMNS],
    /// True if column 0 is the primary key.
    pub(crate) keyed: bool,
}

/// The tables: two with hot rows, which no transaction inserts or deletes, and two others.
pub(crate) const TABLES: [Table; 4] = [
    Table { name: "region", columns: ["r_id", "r_total", "r_count"], keyed: true },
    Table { name: "shop", columns: ["s_id", "s_total", "s_count"], keyed: true },
    Table { name: "item", columns: ["i_id", "i_price", "i_stock"], keyed: true },
    Table { name: "sale", columns: ["x_item", "x_amount", "x_state"], keyed: false },
];

/// The first table whose rows transactions insert and delete.
pub(crate) const FIRST_OPEN: usize = 2;

/// The schema: the more tables refer to a table, the heavier is the lock of one of its rows. No
/// transaction uses the tables that refer to others.
pub(crate) const SCHEMA: &str = "
CREATE TABLE region (r_id INTEGER PRIMARY KEY, r_total INTEGER NOT NULL, r_count INTEGER NOT NULL);
CREATE TABLE shop (s_id INTEGER PRIMARY KEY, s_total INTEGER NOT NULL, s_count INTEGER NOT NULL);
CREATE TABLE item (i_id INTEGER PRIMARY KEY, i_price INTEGER NOT NULL, i_stock INTEGER NOT NULL);
CREATE TABLE sale (x_item INTEGER NOT NULL, x_amount INTEGER NOT NULL, x_state INTEGER NOT NULL);
CREATE TABLE area (a_region INTEGER NOT NULL REFERENCES region (r_id));
CREATE TABLE road (o_region INTEGER NOT NULL REFERENCES region (r_id));
CREATE TABLE desk (d_shop INTEGER NOT NULL REFERENCES shop (s_id));
";

/// A value that a statement writes, or compares with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Constant(i64),
    /// The parameter of the C function; each instance has another.
    Parameter,
    /// A value that was read, plus a constant.
    Read {
        variable: usize,
        plus: i64,
    },
}

/// A new value of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Assigned {
    Value(Value),
    Increment(i64),
    /// The number of rows of another table, counted by the statement itself.
    Count(usize, Condition),
}

/// Columns that must be equal to values, all at once.
pub(crate) type Condition = Vec<(usize, Value)>;

/// The value that a query returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selected {
    /// A column of the first row; 0 if there is none.
    Column(usize),
    /// The number of rows.
    Count,
    /// The greatest key, plus 1.
    Next,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Lock {
    Shared,
    Exclusive,
}

/// The handling of a row with the same key by an insert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Conflict {
    Fails,
    Nothing,
    Update(usize, Assigned),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Read {
        table: usize,
        selected: Selected,
        condition: Condition,
        lock: Option<Lock>,
        variable: usize,
    },
    Update {
        table: usize,
        assigned: Vec<(usize, Assigned)>,
        condition: Condition,
    },
    Insert {
        table: usize,
        values: [Assigned; COLUMNS],
        conflict: Conflict,
    },
    Delete {
        table: usize,
        condition: Condition,
    },
    /// Rolls back if a value is at least as great as a number.
    Leave {
        variable: usize,
        least: i64,
    },
}

/// A condition under which a statement runs: a value is greater than a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Guard {
    pub(crate) value: Value,
    pub(crate) above: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Statement {
    /// Its place in the transaction that was drawn.
    pub(crate) number: usize,
    pub(crate) guard: Option<Guard>,
    /// True if the statement and its guard stand in a function of their own.
    pub(crate) helper: bool,
    pub(crate) action: Action,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Transaction {
    /// The name of the C function.
    pub(crate) name: String,
    pub(crate) statements: Vec<Statement>,
    /// The number of variables; each is read by one statement.
    pub(crate) variables: usize,
    /// The variables that go to an out-parameter right behind their read, or else behind the
    /// commit.
    pub(crate) returned: BTreeSet<usize>,
    pub(crate) returns_early: bool,
}

/// The changes of a table by a transaction.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Changes {
    pub(crate) inserts: bool,
    pub(crate) merges: bool,
    pub(crate) deletes: bool,
    pub(crate) columns: BTreeSet<usize>,
}

impl Changes {
    /// Returns true if these changes are among others.
    pub(crate) fn are_among(&self, others: &Changes) -> bool {
        self.inserts <= others.inserts
            && self.merges <= others.merges
            && self.deletes <= others.deletes
            && self.columns.is_subset(&others.columns)
    }
}

impl Transaction {
    /// Returns the transaction with its statements in another order.
    pub(crate) fn reordered(&self, order: &[usize]) -> Transaction {
        let statements = order.iter().map(|&at| self.statements[at].clone()).collect();
        Transaction { statements, ..self.clone() }
    }

    /// Returns the variables on which a write, a condition or an exit depends. The condition in a
    /// function around a read does not count unless something depends on the read.
    pub(crate) fn influential(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut size = usize::MAX;
        while size != found.len() {
            size = found.len();
            for statement in &self.statements {
                let counts = match &statement.action {
                    Action::Read { variable, .. } => found.contains(variable),
                    _ => true,
                };
                if counts || !statement.helper {
                    found.extend(statement.guard.iter().filter_map(|one| one.value.variable()));
                }
                if counts {
                    found.extend(statement.action.uses());
                }
            }
        }
        found
    }

    /// Returns what the transaction changes of a table.
    pub(crate) fn changes(&self, of: usize) -> Changes {
        let mut all = Changes::default();
        for statement in &self.statements {
            match &statement.action {
                Action::Update { table, assigned, .. } if *table == of => {
                    all.columns.extend(assigned.iter().map(|(column, _)| *column));
                }
                Action::Insert { table, conflict, .. } if *table == of => {
                    all.inserts = true;
                    all.merges |= *conflict != Conflict::Fails;
                    if let Conflict::Update(column, _) = conflict {
                        all.columns.insert(*column);
                    }
                }
                Action::Delete { table, .. } => all.deletes |= *table == of,
                _ => {}
            }
        }
        all
    }

    /// Returns what the transaction changes of a table by other statements than one.
    pub(crate) fn changes_beside(&self, statement: &Statement, table: usize) -> Changes {
        let others = self.statements.iter().filter(|other| *other != statement).cloned();
        Transaction { statements: others.collect(), ..self.clone() }.changes(table)
    }

    /// Returns true if a statement uses a table.
    pub(crate) fn uses_table(&self, of: usize) -> bool {
        self.statements.iter().any(|one| one.action.tables().contains(&of))
    }

    /// Returns true if a statement runs depending on the parameter.
    pub(crate) fn branches(&self) -> bool {
        let mut guards = self.statements.iter().filter_map(|one| one.guard);
        guards.any(|guard| guard.value == Value::Parameter)
    }
}

impl Value {
    pub(crate) fn variable(&self) -> Option<usize> {
        match self {
            Value::Read { variable, .. } => Some(*variable),
            _ => None,
        }
    }
}

impl Assigned {
    fn uses(&self) -> Vec<usize> {
        match self {
            Assigned::Value(value) => value.variable().into_iter().collect(),
            Assigned::Count(_, condition) => used(condition),
            Assigned::Increment(_) => Vec::new(),
        }
    }

    fn counted(&self) -> Option<usize> {
        match self {
            Assigned::Count(table, _) => Some(*table),
            _ => None,
        }
    }
}

fn used(condition: &Condition) -> Vec<usize> {
    condition.iter().filter_map(|(_, value)| value.variable()).collect()
}

impl Action {
    /// Returns the variables that it uses.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.assigned().into_iter().flat_map(Assigned::uses).collect();
        match self {
            Action::Read { condition, .. }
            | Action::Update { condition, .. }
            | Action::Delete { condition, .. } => found.extend(used(condition)),
            Action::Leave { variable, .. } => found.push(*variable),
            Action::Insert { .. } => {}
        }
        found
    }

    /// Returns the tables that it uses.
    pub(crate) fn tables(&self) -> Vec<usize> {
        let mut found: Vec<usize> =
            self.assigned().into_iter().filter_map(Assigned::counted).collect();
        match self {
            Action::Read { table, .. }
            | Action::Update { table, .. }
            | Action::Insert { table, .. }
            | Action::Delete { table, .. } => found.push(*table),
            Action::Leave { .. } => {}
        }
        found
    }

    fn assigned(&self) -> Vec<&Assigned> {
        match self {
            Action::Update { assigned, .. } => assigned.iter().map(|(_, value)| value).collect(),
            Action::Insert { values, conflict, .. } => {
                let merged = match conflict {
                    Conflict::Update(_, value) => Some(value),
                    _ => None,
                };
                values.iter().chain(merged).collect()
            }
            _ => Vec::new(),
        }
    }
}
