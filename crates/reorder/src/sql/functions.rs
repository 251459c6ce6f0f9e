//! The built-in functions of SQL that read and write no table.
//!
//! A function that is in none of the lists may read and write any table.

use crate::{
    api::Server,
    schema::{Schema, Tables},
};

/// Functions that depend on their arguments alone.
const PURE: [&str; 56] = [
    "abs",
    "avg",
    "bit_length",
    "btrim",
    "cast",
    "ceil",
    "ceiling",
    "char_length",
    "coalesce",
    "concat",
    "concat_ws",
    "convert",
    "count",
    "date_format",
    "date_part",
    "date_trunc",
    "exists",
    "exp",
    "extract",
    "floor",
    "greatest",
    "if",
    "ifnull",
    "initcap",
    "instr",
    "left",
    "length",
    "ln",
    "log",
    "lower",
    "lpad",
    "ltrim",
    "max",
    "min",
    "mod",
    "nullif",
    "octet_length",
    "overlay",
    "position",
    "power",
    "repeat",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "sign",
    "sqrt",
    "strpos",
    "substr",
    "substring",
    "sum",
    "to_char",
    "trim",
    "upper",
];

/// Functions that depend on the session or the begin of the transaction.
const FIXED: [&str; 6] =
    ["current_user", "session_user", "transaction_timestamp", "user", "version", "database"];

/// Functions whose value changes from call to call.
const VOLATILE: [&str; 12] = [
    "clock_timestamp",
    "gen_random_uuid",
    "last_insert_id",
    "lastval",
    "currval",
    "nextval",
    "rand",
    "random",
    "setval",
    "statement_timestamp",
    "timeofday",
    "uuid",
];

/// Functions of the time, which PostgreSQL takes at the begin of the transaction and other servers
/// at each query.
const TIME: [&str; 11] = [
    "curdate",
    "current_date",
    "current_time",
    "current_timestamp",
    "curtime",
    "date",
    "datetime",
    "localtime",
    "localtimestamp",
    "now",
    "strftime",
];

/// Returns true if a function reads and writes no table: one that the schema defines so, or one
/// that is built in.
pub(crate) fn uses_no_table(name: &str, schema: &Schema) -> bool {
    match schema.functions.get(name) {
        Some(Tables::Some(tables)) => tables.is_empty(),
        Some(Tables::All) => false,
        None => [&PURE[..], &FIXED, &VOLATILE, &TIME].iter().any(|list| list.contains(&name)),
    }
}

/// Returns true if the value of the function changes from call to call.
pub(crate) fn is_volatile(name: &str, server: Server) -> bool {
    VOLATILE.contains(&name) || server != Server::Postgresql && TIME.contains(&name)
}
