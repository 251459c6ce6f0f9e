//! The schema of a database: tables with their keys, and what else happens when a row changes.
//!
//! It is read from a DDL file, as `pg_dump --schema-only`, `mysqldump --no-data` or a person writes
//! it. Statements that are known to say nothing about tables are skipped. Any other statement that
//! is not understood is an error, not a gap: a missing key or trigger would let the tool move a
//! query that must stay.
//!
//! ```text
//!   text ── split ──▶ statements ── names of tables ──▶ table, alter, routine
//!                                                       ── resolve ──▶ Schema
//! ```
//!
//! - *Names* are as in [`crate::sql`]. A table of two prefixes (`a.t` and `b.t`) keeps the prefix.
//! - *Partitions and tables that inherit* are tables of their own here; [`Schema::base_tables`]
//!   leads to the table above them.
//! - *Bodies of functions*: every table whose name occurs in the body counts as touched. A body
//!   that builds SQL at run time, is not SQL, or calls a function that is not known may touch all.

mod alter;
mod check;
mod composite;
mod consequences;
mod cursor;
mod effects;
mod implicit;
pub mod live;
mod names;
mod policy;
mod reach;
mod resolve;
mod routine;
mod skipped;
mod split;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

pub use self::composite::Checked;
use crate::{api::Server, sql::Columns};

/// The tables of a database, and what belongs to them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schema {
    /// The tables, by name.
    pub tables: BTreeMap<String, Table>,
    /// The views, by name; materialised ones among them.
    pub views: BTreeMap<String, View>,
    /// The triggers.
    pub triggers: Vec<Trigger>,
    /// PostgreSQL's rules and policies.
    pub rules: Vec<Rule>,
    /// The tables that each function or procedure may touch, by the name with its prefix, and by
    /// the name without, which stands for all functions of that name.
    pub functions: BTreeMap<String, Tables>,
    /// Those of them whose rows each function or procedure may change, by the same names.
    pub changes: BTreeMap<String, Tables>,
    /// The functions with a value that changes, or that depends on the session, which each function
    /// or procedure calls: in its body, in those that it calls, in views, and in what follows from
    /// its changes of tables (defaults, constraints, triggers). By the same names.
    pub inherited: BTreeMap<String, BTreeSet<String>>,
    /// The functions that the user's own operators call, by the operator's sign.
    pub operators: BTreeMap<String, BTreeSet<String>>,
    /// The functions that the user's own casts call.
    pub casts: BTreeSet<String>,
    /// PostgreSQL's domains, by name in lower case without prefix.
    pub domains: BTreeMap<String, Domain>,
    /// The types whose values the server checks, by name in lower case without prefix: the domains,
    /// and the types with parts of a domain.
    pub types: BTreeMap<String, Checked>,
    /// The procedures and functions that may end the transaction, each with the reason as a
    /// predicate: "may commit: …".
    pub commits: BTreeMap<String, String>,
    /// The server whose DDL it is.
    server: Option<Server>,
    /// The prefixes under which each name of a table or view occurs.
    prefixes: BTreeMap<String, BTreeSet<Option<String>>>,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The columns in order; none if they are not known (`CREATE TABLE … AS`).
    pub columns: Vec<Column>,
    /// The primary key.
    pub primary_key: Option<Key>,
    /// The unique constraints and unique indexes; exclusion constraints as partial ones.
    pub unique: Vec<Key>,
    /// The references to other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// The number of `CHECK` constraints, those of the domains of its columns among them.
    pub checks: usize,
    /// The functions that the server calls for each row that is inserted or updated: in `CHECK` and
    /// `EXCLUDE` constraints, in indexes, and in the choice of the partition.
    pub functions: BTreeSet<String>,
    /// The composite type that the table is of.
    pub of_type: Option<String>,
    /// The reason why the server of the table does not undo its changes with the transaction, as a
    /// predicate: "has the engine MyISAM, ...".
    pub outside: Option<String>,
    /// The names in the expression that chooses the partition of each row, where a row may have
    /// none: its columns, and perhaps functions.
    pub partitioned_by: BTreeSet<String>,
    /// True if SQLite numbers its rows, and no column is that number.
    pub hidden_rowid: bool,
    /// The tables of which this one is a partition.
    pub partition_of: BTreeSet<String>,
    /// The tables from which this one inherits.
    pub inherits: BTreeSet<String>,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The type as text, in lower case.
    pub ty: String,
    /// True if it is never null.
    pub not_null: bool,
    /// True if the server numbers rows in it: `serial`, `IDENTITY`, `AUTO_INCREMENT`, and SQLite's
    /// `INTEGER PRIMARY KEY`.
    pub numbered: bool,
    /// True if the server computes it from other columns.
    pub computed: bool,
    /// True if it only takes values of its type on SQLite: the table is `STRICT`.
    pub strict: bool,
    /// True if an `INSERT` without names of columns gives it no value.
    pub invisible: bool,
    /// True if the server sets it to the time of each `UPDATE`, or may do so.
    pub on_update: bool,
    /// The functions that its default, or the expression that computes it, calls.
    pub default_functions: BTreeSet<String>,
}

/// A domain: a type with constraints.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Domain {
    /// The functions that its constraints call.
    pub functions: BTreeSet<String>,
    /// The functions that its default calls.
    pub default_functions: BTreeSet<String>,
    /// True if it has a constraint.
    pub checks: bool,
    /// The type that it is based on, as text.
    pub(crate) base: String,
}

/// A primary key, a unique constraint or a unique index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Key {
    /// The name, if the DDL has one.
    pub name: Option<String>,
    /// The columns in order, without those within an expression.
    pub columns: Vec<String>,
    /// True if it is not a key of plain columns of all rows: it has a `WHERE`, an expression, a
    /// prefix of a column, or a collation of its own.
    pub partial: bool,
}

/// A reference of one table to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ForeignKey {
    /// The columns that refer.
    pub columns: Vec<String>,
    /// The table that they refer to.
    pub table: String,
    /// The columns that they refer to.
    pub referred: Vec<String>,
    /// The action when a referred row is deleted.
    pub on_delete: Action,
    /// The action when the key of a referred row changes.
    pub on_update: Action,
}

/// The action on a row when the row that it refers to is deleted or changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Action {
    /// Nothing: the change is refused.
    #[default]
    Refuse,
    /// The row goes or changes as well.
    Cascade,
    /// The columns that refer become null.
    SetNull,
    /// The columns that refer get their default.
    SetDefault,
}

/// A view.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct View {
    /// The tables that it reads, also through other views.
    pub tables: BTreeSet<String>,
    /// The functions that it calls, also through other views.
    pub functions: BTreeSet<String>,
    /// True if it is stored, and so does not show what changed since.
    pub materialized: bool,
    /// The functions that the defaults of its own columns call.
    pub default_functions: BTreeSet<String>,
    /// An error that the content of rows may cause when it is read, as a clause.
    pub fails: Option<String>,
}

/// A set of tables, or views.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tables {
    /// These.
    Some(BTreeSet<String>),
    /// All, or not known.
    All,
}

/// An action on rows that may start a trigger or a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// Rows are read; only rules have this event.
    Select,
    /// Rows are inserted.
    Insert,
    /// Rows are updated.
    Update,
    /// Rows are deleted.
    Delete,
    /// All rows are removed.
    Truncate,
}

/// A trigger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// The name.
    pub name: String,
    /// The table or view.
    pub table: String,
    /// The events that fire it, whatever the columns.
    pub events: BTreeSet<Event>,
    /// The tables that it may read or write.
    pub touches: Tables,
    /// Those of them whose rows it may read, and not only change.
    pub reads: Tables,
    /// Those of them whose rows it may change.
    pub changes: Tables,
    /// The columns of the row that it may change before the server stores it; all for a trigger
    /// that may also suppress the row's change.
    pub assigns: Columns,
    /// The functions that it calls whose value changes or depends on the session, those of what
    /// follows from it among them.
    pub functions: BTreeSet<String>,
}

/// A rule, which adds commands to a query or replaces it; or a policy of row-level security, which
/// reads for every query of the table and has the event [`Event::Select`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The name.
    pub name: String,
    /// The table or view.
    pub table: String,
    /// The event.
    pub event: Event,
    /// The tables that its commands may read or write.
    pub touches: Tables,
    /// Those of them whose rows they may read, and not only change.
    pub reads: Tables,
    /// Those of them whose rows they may change.
    pub changes: Tables,
    /// The functions that it calls whose value changes or depends on the session, those of what
    /// follows from it among them.
    pub functions: BTreeSet<String>,
    /// True for a policy.
    pub policy: bool,
    /// The columns of the table that a policy reads.
    pub columns: Columns,
    /// An error that the content of rows may make a policy raise, as a clause.
    pub fails: Option<String>,
}

/// A foreign key between two tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference<'s> {
    /// The table that refers.
    pub child: &'s str,
    /// The key.
    pub key: &'s ForeignKey,
}

/// A DDL file that is not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSchema {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The beginning of the statement.
    pub text: String,
    /// The error, and its remedy.
    pub message: String,
}

impl fmt::Display for BadSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schema, line {}: {} (in `{}`)", self.line, self.message, self.text)
    }
}

impl std::error::Error for BadSchema {}

/// Reads the schema from the text of a DDL file.
///
/// # Errors
/// [`BadSchema`] if a statement is not understood, names a table or a column that is not there, or
/// changes an object in a way that a dump does not (`RENAME`, `DROP CONSTRAINT`).
pub fn parse(ddl: &str, server: Server) -> Result<Schema, BadSchema> {
    resolve::build(&split::split(ddl, server)?, server)
}

impl Rule {
    /// Returns a rule whose commands are not known yet.
    fn unknown(name: String, table: String, event: Event) -> Rule {
        let (touches, reads, changes) = (Tables::All, Tables::All, Tables::All);
        Rule {
            name,
            table,
            event,
            touches,
            reads,
            changes,
            functions: BTreeSet::new(),
            policy: false,
            columns: Columns::default(),
            fails: None,
        }
    }
}

impl Column {
    /// Returns a column of which only the name is known.
    fn named(name: String) -> Column {
        Column { name, ..Column::default() }
    }
}

impl Table {
    /// Returns a column.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the primary key and the unique keys.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.primary_key.iter().chain(&self.unique)
    }

    /// Returns the whole key with a name that stands in the DDL.
    pub fn key_named(&self, name: &str) -> Option<&Key> {
        self.keys().find(|key| key.name.as_deref() == Some(name) && !key.partial)
    }

    /// Returns the functions that the server may call when a row is inserted, changed or deleted.
    fn functions_of_change(&self) -> BTreeSet<String> {
        let mut functions = self.functions.clone();
        for column in &self.columns {
            functions.extend(column.default_functions.iter().cloned());
            functions.extend(column.numbered.then(|| "nextval".to_owned()));
            functions.extend(column.on_update.then(|| "now".to_owned()));
        }
        functions
    }

    /// Returns the tables of which this one is a partition or an heir.
    fn above(&self) -> Vec<&str> {
        self.partition_of.iter().chain(&self.inherits).map(String::as_str).collect()
    }

    /// Returns true if the columns of a key are never null.
    fn is_not_null(&self, key: &Key) -> bool {
        key.columns.iter().all(|name| self.column(name).is_some_and(|column| column.not_null))
    }
}

impl Schema {
    /// Returns a table; not a view.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name)
    }

    /// Returns true if it has neither tables nor views.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.views.is_empty()
    }

    /// Returns true if the name is that of a view.
    pub fn is_view(&self, name: &str) -> bool {
        self.views.contains_key(name)
    }

    /// Returns the tables in which the rows of a table or view are: those that a view reads, and
    /// the table above a partition or an inheriting table. A name that the schema does not have
    /// stands for itself.
    pub fn base_tables(&self, name: &str) -> BTreeSet<String> {
        let mut open: Vec<&str> = match self.views.get(name) {
            Some(view) => view.tables.iter().map(String::as_str).collect(),
            None => vec![name],
        };
        let (mut seen, mut bases) = (BTreeSet::new(), BTreeSet::new());
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            let above: Vec<&str> = self.tables.get(name).map(Table::above).unwrap_or_default();
            if above.is_empty() {
                bases.insert(name.to_owned());
            }
            open.extend(above);
        }
        bases
    }

    /// Returns the foreign keys between two tables, in either direction; those between their
    /// partitions as well.
    pub fn references(&self, one: &str, other: &str) -> Vec<Reference<'_>> {
        let (one, other) = (self.base_tables(one), self.base_tables(other));
        let connects = |child: &BTreeSet<String>, parent: &BTreeSet<String>| {
            !child.is_disjoint(&one) && !parent.is_disjoint(&other)
                || !child.is_disjoint(&other) && !parent.is_disjoint(&one)
        };
        let mut found = Vec::new();
        for (child, table) in &self.tables {
            let bases = self.base_tables(child);
            let keys = table.foreign_keys.iter();
            let keys = keys.filter(|key| connects(&bases, &self.base_tables(&key.table)));
            found.extend(keys.map(|key| Reference { child, key }));
        }
        found
    }

    /// Returns true if at most one row has given values in these columns: they contain the primary
    /// key or the columns, never null, of a unique key. A table from which others inherit has no
    /// such key, since they may have the same values.
    pub fn is_key(&self, table: &str, columns: &BTreeSet<String>) -> bool {
        let Some(known) = self.tables.get(table) else { return false };
        let inherited = self.tables.values().any(|other| other.inherits.contains(table));
        let contained = |key: &Key| {
            let plain = !key.partial && !key.columns.is_empty();
            plain && key.columns.iter().all(|column| columns.contains(column))
        };
        let unique = |key: &&Key| contained(key) && known.is_not_null(key);
        !inherited
            && (known.primary_key.as_ref().is_some_and(contained)
                || known.unique.iter().any(|key| unique(&key)))
    }

    /// Returns the number of tables that refer to a table, directly or through others; the table
    /// itself is not counted.
    pub fn referencing_count(&self, table: &str) -> usize {
        let (mut found, mut open) = (BTreeSet::new(), vec![table]);
        while let Some(parent) = open.pop() {
            for (child, other) in &self.tables {
                let refers = other.foreign_keys.iter().any(|key| key.table == parent);
                if refers && child != table && found.insert(child) {
                    open.push(child);
                }
            }
        }
        found.len()
    }
}

#[cfg(test)]
mod tests;
