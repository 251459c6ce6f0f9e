//! The rows and columns that a query reads, writes and locks, from its text and the schema.
//!
//! The analysis never reports less than the query does. Where it cannot tell, it reports more: all
//! columns, or a barrier ([`QueryKind::Other`]), or it is an error ([`BadQuery`]).
//!
//! ```text
//!   text ── tokens ──▶ one statement ── first words ──▶ Begin, Commit, Rollback, Other
//!                          │
//!                          └─ sqlparser ──▶ tree ── scopes, columns ──▶ Query
//! ```
//!
//! - *Names.* PostgreSQL: an unquoted name is in lower case, a quoted one is kept. MySQL and
//!   SQLite: every name is in lower case, since quotes do not make them compare case there. Two
//!   tables of MySQL that differ in case only are one table. A name loses its prefix (`public.t`)
//!   unless tables of two prefixes have it.
//! - *Parameters.* `$2` is number 1. Each `?` has the next number. SQLite's `?2`, `:name`, `@name`
//!   and `$name` are numbered as SQLite numbers them.
//! - *Columns.* An unqualified column belongs to every table of the innermost scope that has it, by
//!   the schema. Where a table's columns are not known, all of its columns are read.
//! - *Several statements* in one text are [`QueryKind::Other`], and so are MySQL's conditional
//!   comments (`/*! … */`) and session variables (`@v`).

mod change;
mod commits;
mod equality;
mod expression;
mod failing;
pub(crate) mod functions;
mod kind;
pub(crate) mod names;
mod rewrite;
mod scope;
mod select;
pub(crate) mod shape;
mod temporary;
pub(crate) mod text;
mod walk;

pub(crate) use self::{commits::commits, temporary::temporary_table};

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use sqlparser::tokenizer::TokenWithSpan;

use crate::{
    api::Server,
    schema::{Schema, Table},
};

/// The effects of one query in the database.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// The kind of the statement.
    pub kind: QueryKind,
    /// Its access to each table or view, by the name as the text has it (views are not resolved),
    /// in lower case unless it is quoted. Empty for [`QueryKind::Other`], which may do anything.
    /// Even an access without columns reads which rows there are.
    pub tables: BTreeMap<String, TableAccess>,
    /// The functions that it calls, in lower case; not the operators. Those of the defaults of
    /// columns that it inserts are among them, those that the server calls for constraints,
    /// indexes, domains, operators and casts, those of views, and those of triggers whose value
    /// changes. `nextval` stands for every automatic number, `now` for every constant that means a
    /// time (`'now'`).
    pub functions: BTreeSet<String>,
    /// The number of its parameters (`$1` or `?`).
    pub parameters: usize,
    /// True if the program gets rows: of a `SELECT` or a `RETURNING`. True for
    /// [`QueryKind::Other`].
    pub returns_rows: bool,
    /// True if the values that it writes, or the rows that it chooses, depend on rows other than
    /// each written row itself: on subqueries, further tables, `LIMIT`, unique keys of other rows.
    /// True for a `SELECT` from a table.
    pub depends_on_rows: bool,
    /// The message about a column that the query names, and that none of its tables has.
    pub wrong_column: Option<String>,
    /// An error that the content of rows may cause, as a clause: "`a / b` may divide by zero". That
    /// a constraint of the schema refuses a row is not meant.
    pub fails: Option<String>,
}

impl Query {
    /// Returns true if the program, or what the query writes, depends on rows other than each
    /// written row itself. The number of written rows is not meant.
    pub fn observes(&self) -> bool {
        self.kind == QueryKind::Other || self.depends_on_rows || self.returns_rows
    }
}

/// Returns what a query does. The text is one statement, with or without `;`.
///
/// # Errors
/// [`BadQuery`] if the text is no SQL that the tool knows, or if it is not clear which tables the
/// query uses.
pub fn analyze(text: &str, server: Server, schema: &Schema) -> Result<Query, BadQuery> {
    let tokens = text::tokenize(text, server)?;
    let (mut tokens, parameters) = text::number_parameters(tokens, server)?;
    let other =
        Query { kind: QueryKind::Other, parameters, returns_rows: true, ..Query::default() };
    let single = text::single_statement(&mut tokens);
    if !single || text::has_session_state(text, &tokens, server) {
        return Ok(other);
    }
    match kind::by_first_words(&tokens)? {
        Some(QueryKind::Other) => Ok(other),
        Some(kind) => Ok(Query { kind, parameters, ..Query::default() }),
        None => {
            let query = select::analyze(tokens, server, schema)?;
            Ok(query.map_or(other, |query| Query { parameters, ..query }))
        }
    }
}

/// Returns the kind of a statement that begins or ends a transaction, or does neither of what the
/// other kinds stand for; `None` for a query, and for a text that is no statement.
pub fn kind(text: &str, server: Server) -> Option<QueryKind> {
    let tokens = text::tokenize(text, server).ok()?;
    let (mut tokens, _) = text::number_parameters(tokens, server).ok()?;
    let single = text::single_statement(&mut tokens);
    let kind = kind::by_first_words(&tokens).ok()?;
    if single { kind } else { Some(QueryKind::Other) }
}

/// Returns what the tokens of one query do, without white space and without parameters; `None` if
/// it may do anything.
pub(crate) fn analyze_tokens(
    tokens: Vec<TokenWithSpan>,
    server: Server,
    schema: &Schema,
) -> Result<Option<Query>, BadQuery> {
    text::check_length(&tokens)?;
    select::analyze(tokens, server, schema)
}

/// A text that is no SQL, or SQL that the tool does not understand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadQuery {
    /// The line of the SQL text, counted from 1; 0 if the place is not known.
    pub line: usize,
    /// The column in that line, counted from 1; 0 if the place is not known.
    pub column: usize,
    /// The error, and its remedy.
    pub message: String,
}

impl fmt::Display for BadQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "in the SQL: {}", self.message),
            line => write!(f, "in the SQL, line {line}, column {}: {}", self.column, self.message),
        }
    }
}

impl std::error::Error for BadQuery {}

/// The kinds of statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueryKind {
    /// `SELECT` and what only reads.
    #[default]
    Read,
    /// `INSERT`, `UPDATE`, `DELETE`, and `SELECT … FOR UPDATE` or `FOR SHARE`.
    Write,
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`, `END`.
    Commit,
    /// `ROLLBACK`, `ABORT`; not to a savepoint.
    Rollback,
    /// Anything else (DDL, `SET`, savepoints, `CALL`, `LOCK TABLE`): nothing moves across it.
    Other,
}

/// The access of a query to one table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableAccess {
    /// The columns that it reads, in conditions, results and assigned values.
    pub reads: Columns,
    /// The columns that an `UPDATE` assigns, and those that the server computes from them.
    pub writes: Columns,
    /// True if it inserts rows.
    pub inserts: bool,
    /// The columns to which an inserted row may get a value that the query names, and no default.
    pub given: BTreeSet<String>,
    /// True if it deletes rows.
    pub deletes: bool,
    /// True if it reads rows with `FOR UPDATE` or `FOR SHARE`, or the like. MySQL also locks what
    /// a query reads that changes another table.
    pub locks: bool,
    /// The lock in which it holds each row that it reads, the weakest of all places in which the
    /// query names the table. Not known for a view.
    pub held: Held,
    /// True if it leaves out rows that others have locked (`SKIP LOCKED`).
    pub skips_locked: bool,
    /// True if it fails if others have locked a row, at once or after a time (`NOWAIT`, `WAIT 3`).
    pub fails_locked: bool,
    /// Those of the columns that it reads which may decide what rows it finds: all but those that
    /// only its results or assigned values have. Only for a table of which the query holds or
    /// changes the rows.
    pub chosen_by: Columns,
    /// True if its condition is that of `equal` and nothing else, so that it finds the row if there
    /// is one.
    pub is_sure: bool,
    /// The columns that its condition requires to be equal to a value that does not come from a
    /// table, all at once (`AND`): the row's key, if they contain one. For an `INSERT` of one row,
    /// the columns of the row; if it may also change the row that stands in its way, only the
    /// columns in which that row is equal. Empty if the table occurs twice in the query. A column
    /// that the query or a trigger assigns is not among them, nor one for which the server may
    /// choose another value than the given one (`AUTO_INCREMENT`, for a parameter that may be
    /// null). The server converts each value to the type of the column.
    pub equal: BTreeMap<String, Value>,
    /// The number of times that the query names the table.
    pub occurrences: usize,
}

impl TableAccess {
    /// Returns true if it inserts, updates or deletes rows.
    pub(crate) fn changes(&self) -> bool {
        self.inserts || self.deletes || !self.writes.is_empty()
    }

    /// Returns true if the server chooses the number in a column of each inserted row.
    pub(crate) fn gets_number(&self, table: &Table, column: &str) -> bool {
        table.column(column).is_some_and(|one| one.numbered) && !self.given.contains(column)
    }
}

/// The lock in which a query holds the rows that it reads until the end of the transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Held {
    /// None, or one that lets others update the row (`FOR KEY SHARE`).
    #[default]
    Not,
    /// A lock that others may have as well (`FOR SHARE`).
    Shared,
    /// A lock that only one transaction has (`FOR UPDATE`, `FOR NO KEY UPDATE`).
    Exclusive,
}

/// A set of columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Columns {
    /// These, in lower case.
    Some(BTreeSet<String>),
    /// All, or not known.
    All,
}

impl Columns {
    /// Adds a column.
    pub(crate) fn add(&mut self, column: &str) {
        if let Columns::Some(columns) = self {
            columns.insert(column.to_owned());
        }
    }

    /// Adds others.
    pub(crate) fn add_all(&mut self, others: &Columns) {
        match others {
            Columns::Some(others) => others.iter().for_each(|column| self.add(column)),
            Columns::All => *self = Columns::All,
        }
    }

    /// Returns true if the column is one of them.
    pub fn contains(&self, column: &str) -> bool {
        match self {
            Columns::Some(columns) => columns.contains(column),
            Columns::All => true,
        }
    }

    /// Returns the columns, as far as they are known.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        let known = match self {
            Columns::Some(columns) => Some(columns),
            Columns::All => None,
        };
        known.into_iter().flatten()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Columns::Some(columns) if columns.is_empty())
    }

    /// Returns true if a column is one of both.
    pub fn overlap(&self, other: &Columns) -> bool {
        match (self, other) {
            (Columns::Some(one), Columns::Some(two)) => !one.is_disjoint(two),
            (one, two) => !one.is_empty() && !two.is_empty(),
        }
    }
}

impl Default for Columns {
    fn default() -> Columns {
        Columns::Some(BTreeSet::new())
    }
}

/// A value in a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A parameter, by its number from 0.
    Parameter(usize),
    /// A constant, as it is written, without casts. Two constants that are written differently may
    /// be equal: `1` and `'01'`, `'a'` and `'A'`.
    Constant(String),
}

#[cfg(test)]
mod tests;
