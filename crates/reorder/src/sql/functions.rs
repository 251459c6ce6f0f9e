//! The built-in functions of SQL that read and write no table.
//!
//! A function that is in none of the lists, and not defined by the schema, may read and write any
//! table, and may have an effect that a rollback does not undo. So functions that change the state
//! of the session, wait, lock, send or read files are in no list: `setval`, `pg_notify`,
//! `pg_advisory_lock`, `dblink_exec`, `get_lock`, `sleep`, `row_count`, `load_file`,
//! `last_insert_rowid`.

mod lists;

use self::lists::{FIXED, PURE, TIME, VOLATILE};
use crate::{
    api::Server,
    schema::{Schema, Tables},
};

/// Returns true if a built-in function of that name reads and writes no table.
pub(crate) fn is_built_in(name: &str) -> bool {
    [PURE, FIXED, VOLATILE, TIME].into_iter().any(|list| is_in(list, name))
}

/// Returns true if a function reads and writes no table: one that the schema defines so, or one
/// that is built in.
pub(crate) fn uses_no_table(name: &str, schema: &Schema) -> bool {
    match schema.function(name) {
        Some(Tables::Some(tables)) => tables.is_empty(),
        Some(Tables::All) => false,
        None => is_built_in(name),
    }
}

/// Returns true if a function may do anything, effects outside of the database among it.
pub(crate) fn is_unknown(name: &str, schema: &Schema) -> bool {
    match schema.function(name) {
        Some(tables) => *tables == Tables::All,
        None => !is_built_in(name),
    }
}

/// Returns true if the value of the function changes from call to call.
pub(crate) fn is_volatile(name: &str, server: Server) -> bool {
    is_in(VOLATILE, name) || server != Server::Postgresql && is_in(TIME, name)
}

/// Returns true if the value of the function is what the last statement, or the last write, has
/// left on the connection.
pub(crate) fn asks_for_last(name: &str, server: Server) -> bool {
    match server {
        Server::Postgresql => false,
        Server::Mysql => matches!(name, "row_count" | "found_rows"),
        Server::Sqlite => matches!(name, "changes" | "last_insert_rowid"),
    }
}

/// Returns true if the value of the function changes from call to call, or with the time, or is
/// what an earlier statement has left.
pub(crate) fn is_changing(name: &str, server: Server) -> bool {
    is_in(VOLATILE, name) || is_in(TIME, name) || asks_for_last(name, server)
}

/// Returns true for a function of the time, in upper case, that is called without parentheses.
pub(crate) fn is_time_without_parentheses(name: &str) -> bool {
    let starts = ["CURRENT_", "LOCALTIME", "UTC_"];
    starts.iter().any(|start| name.starts_with(start)) && is_in(TIME, &name.to_ascii_lowercase())
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == name)
}
