//! Models of the functions that a transaction calls, those of database interfaces and of the C
//! library, read from TOML files.
//!
//! The tool knows no function by name. A model says of each call which argument is the SQL, what is
//! read and written through the arguments, what the result is, and when borrowed memory ends. A
//! call that no model describes may do anything and is a barrier.
//!
//! `models/*.toml` are built in; `docs/reorder-models.md` explains the format and how to write a
//! model for one's own wrapper.

mod load;
mod memory;
mod models;
mod success;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::{
    load::{BadModel, load},
    memory::{Bound, Memory},
    models::{Models, builtin, pure},
    success::Success,
};

/// A model: the calls of one interface.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name by which the user selects it: `libpq`.
    pub name: String,
    /// The name of the model whose calls, server and failures it has as well; its own calls replace
    /// those of the same name.
    #[serde(default)]
    pub extends: Option<String>,
    /// The server that the interface talks to; `None` for a library without queries.
    #[serde(default)]
    pub server: Option<Server>,
    /// True if the server undoes the whole transaction when a query fails, whatever the program
    /// does then.
    #[serde(default)]
    pub failure_aborts: bool,
    /// The calls, by the name of the function; by `struct name.field` for a function pointer in a
    /// structure.
    #[serde(default)]
    pub calls: BTreeMap<String, Call>,
    /// The SQL of statements that are prepared out of the tool's sight, by name for libpq, by the
    /// expression that holds the handle for MySQL and SQLite: `statements->stmt[ADD_HISTORY]`.
    #[serde(default)]
    pub statements: BTreeMap<String, String>,
}

/// The kinds of servers, which differ in their SQL dialect and their isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// PostgreSQL.
    Postgresql,
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite.
    Sqlite,
}

/// The effects of a call.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    /// The part of the call in the use of the database.
    pub role: Role,
    /// The argument with the SQL, of [`Role::Query`] and [`Role::Prepare`].
    pub sql: Option<usize>,
    /// True if the SQL is a format as of `printf`, and the arguments behind it are its values.
    pub format: bool,
    /// The SQL itself, if the call has a fixed one: `"BEGIN"`.
    pub text: Option<String>,
    /// The argument that names or holds the prepared statement: the name for libpq, the handle for
    /// MySQL and SQLite. [`Role::Prepare`] defines it, [`Role::Query`] uses it. If a call prepares
    /// a statement and names no such argument, its result is the handle.
    pub statement: Option<usize>,
    /// The argument with the connection. A query is ordered with other queries by what it does in
    /// the database, and not because both use the connection.
    pub connection: Option<usize>,
    /// The values that the query's parameters have, in order, if they are arguments of the call: an
    /// argument with an array of pointers to them, and the argument with their number.
    pub parameters: Option<Parameters>,
    /// The arguments with functions that the call calls. If one of them is not the null pointer,
    /// the call is a barrier.
    pub callbacks: Vec<usize>,
    /// The arguments with functions that later queries call. If one of them is not the null
    /// pointer, each query of the file is a barrier.
    pub hooks: Vec<usize>,
    /// The memory whose address the statement keeps: each query that runs the statement reads it.
    pub binds_parameters: Vec<Bound>,
    /// The memory whose address the statement keeps: each call with `writes_bound` writes it.
    pub binds_results: Vec<Bound>,
    /// The argument with the number of the parameter that the call binds, from 1: memory that
    /// `binds_parameters` names, or else a value that it copies.
    pub binds_number: Option<usize>,
    /// True if the call writes the memory that `binds_results` of the statement registered.
    pub writes_bound: bool,
    /// The text that the call makes: `sprintf`, `strcpy`.
    pub builds: Option<Builds>,
    /// The memory that the call reads through its pointer arguments.
    pub reads: Vec<Memory>,
    /// The memory that it writes through its pointer arguments.
    pub writes: Vec<Memory>,
    /// The arguments whose object ends with the call: `PQclear`, `free`. What was borrowed from it
    /// must not be used afterwards.
    pub ends: Vec<usize>,
    /// True if the call does nothing if the pointer to the object that it ends or resets is null:
    /// `PQclear`, `free`.
    pub accepts_null: bool,
    /// The argument that leads to a pointer in which the call stores a new object, which the
    /// program ends: `asprintf`.
    pub makes: Option<usize>,
    /// The kind of the result.
    pub returns: Returns,
    /// True if the call reads what the last query on the connection left there:
    /// `PQerrorMessage`, `mysql_store_result`, `mysql_affected_rows`. Each query writes it.
    pub reads_last: bool,
    /// True if a query that only reads may leave what `reads_last` reads as it was:
    /// `mysql_insert_id`. The call then belongs to the last query that writes, and to all after it.
    pub last_write: bool,
    /// True if the call, which is no query, sets the error that the last query left on the
    /// connection, or on any connection if it has no such argument, and may change the rest:
    /// `PQescapeLiteral` clears the error message.
    pub writes_last: bool,
    /// True if a call with `writes_last` leaves no error, unless the connection is lost: one that
    /// only gives back what a query holds, `mysql_free_result`.
    pub releases: bool,
    /// True if the call ends the run of its statement, which then can run again:
    /// `sqlite3_reset`.
    pub resets: bool,
    /// True if the server may still send rows when the call returns: `mysql_use_result`. Until the
    /// next query of the source, the calls that use the call's result or statement belong to it: no
    /// other query and no preparation may come between.
    pub streams: bool,
    /// True if the call reports whether the query or preparation succeeded that made its first
    /// argument or its result; with `reads_last`, the last one on the connection.
    pub status: bool,
    /// The results of a call with `status` that mean success; empty if its result is no number.
    pub success: Success,
    /// The results that such a call never has, though they are none of `success`: 0 of
    /// `sqlite3_step`.
    pub never: Vec<i64>,
    /// The only result of such a call that means failure, if it has only one: -1.
    pub failure: Option<i64>,
    /// The results in `success` that mean that the query has returned a row: `sqlite3_step`.
    pub row: Vec<i64>,
    /// The results that mean that a transaction is open, of a call that asks for it:
    /// `sqlite3_get_autocommit`. Any other result means that the server has rolled it back, unless
    /// the program has ended it. Such a call is a barrier where the transaction may go on.
    pub open: Vec<i64>,
    /// True if the call may throw an exception that its arguments cause: `std::stoi`.
    pub throws: bool,
    /// True if the call has an effect outside of the program and the database, or depends on
    /// something outside: output, time, random numbers.
    pub outside: bool,
    /// The end of a message about the call where no transaction was found: the reason why the tool
    /// does not follow it, and what to call instead.
    pub remedy: Option<String>,
}

impl Call {
    /// Returns true if it does nothing but to end its only argument: `free`.
    pub(crate) fn only_ends(&self) -> bool {
        *self == Call { ends: vec![0], accepts_null: self.accepts_null, ..Call::default() }
    }

    /// Returns true if a statement keeps the address of memory that the call names.
    pub(crate) fn binds_memory(&self) -> bool {
        !self.binds_parameters.is_empty() || !self.binds_results.is_empty()
    }

    /// Returns true if the call binds memory or values to a statement.
    pub(crate) fn binds(&self) -> bool {
        self.binds_memory() || self.binds_number.is_some()
    }
}

/// The part of a call in the use of the database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Nothing.
    #[default]
    None,
    /// Runs a query: an SQL text or a prepared statement. A text may also be a `BEGIN`, a `COMMIT`
    /// or a `ROLLBACK`.
    Query,
    /// Prepares a statement; reads and locks nothing.
    Prepare,
    /// Begins a transaction.
    Begin,
    /// Commits it.
    Commit,
    /// Rolls it back.
    Rollback,
    /// May do anything: nothing moves across it.
    Barrier,
}

/// The parameters of a query that stand in an array of pointers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The argument with the array.
    pub array: usize,
    /// The argument with the number of elements.
    pub count: usize,
}

/// The text that a call makes of the texts of its arguments, one behind the other.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Builds {
    /// The argument that receives the text; `None` if the result is the text.
    #[serde(default)]
    pub to: Option<usize>,
    /// The arguments with the texts, which may include the one that receives: `strcat`.
    pub from: Vec<usize>,
    /// True if the last of `from` is a format as of `printf`, and the arguments behind it are its
    /// values.
    #[serde(default)]
    pub format: bool,
    /// The number of arguments of a call that this is true of, if the function has several forms.
    /// The form without any makes the empty text.
    #[serde(default)]
    pub arguments: Option<usize>,
    /// True if an argument that is a number is the code of a character, and not written in digits.
    #[serde(default)]
    pub characters: bool,
}

/// The kind of the result of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// A number, or nothing.
    #[default]
    Value,
    /// A new object, which the program ends: a result, a statement, memory.
    New,
    /// A pointer into the object of an argument, or into memory that the object owns. It is part of
    /// the object: a call that writes the object changes it, one that ends the object ends it.
    Borrowed(usize),
}
