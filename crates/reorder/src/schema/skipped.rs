//! The statements of a DDL file that say nothing about tables.

use super::{
    cursor::Cursor,
    routine::calls_of_default,
    table::{Message, not_understood},
};
use crate::{api::Server, sql::functions};

/// The words with which statements begin that say nothing about tables: the data of dumps, rights,
/// comments, and the state of the session.
const SKIPPED: &[&str] = &[
    "ANALYZE",
    "BEGIN",
    "CHECKPOINT",
    "COMMENT",
    "COMMIT",
    "COPY",
    "DELETE",
    "END",
    "FLUSH",
    "GRANT",
    "INSERT",
    "LOAD",
    "LOCK",
    "NOTIFY",
    "OPTIMIZE",
    "REFRESH",
    "REINDEX",
    "REPLACE",
    "RESET",
    "REVOKE",
    "SECURITY",
    "SET",
    "SHOW",
    "START",
    "UNLOCK",
    "UPDATE",
    "USE",
    "VACUUM",
];

/// The functions with which dumps set the state of the session and of sequences.
const SETTING: &[&str] = &["set_config", "pg_catalog.set_config", "setval", "pg_catalog.setval"];

/// Checks that a statement, which does not begin with `CREATE`, `ALTER` or `DROP`, says nothing
/// about tables.
pub(super) fn check(part: Cursor<'_>) -> Result<(), Message> {
    let word = part.keyword();
    if word == "SELECT" {
        let calls = calls_of_default(part);
        let is_harmless =
            |name: &String| SETTING.contains(&name.as_str()) || functions::is_built_in(name);
        return match calls.iter().find(|name| !is_harmless(name)) {
            None => Ok(()),
            Some(name) => Err(format!(
                "`{name}` may create tables, which this file does not show: dump the schema from \
                 the server"
            )),
        };
    }
    let of_server = match part.server {
        Server::Sqlite => word == "PRAGMA",
        // Dumps try with them what a server supports, and set sequences.
        Server::Mysql => ["PREPARE", "EXECUTE", "DEALLOCATE", "DO"].contains(&word.as_str()),
        Server::Postgresql => false,
    };
    match part.is_end() || of_server || SKIPPED.contains(&word.as_str()) {
        true => Ok(()),
        false => Err(format!("no statement of DDL begins like this; {}", not_understood(&part))),
    }
}
