//! Queries that call a function which the tool does not know keep their order with all queries; so
//! do those that call functions whose value changes from call to call, with each other.
//!
//! **Safe because** an unknown function may read and write any table. `nextval`, `random` and the
//! like give the values in the order of the calls; the functions in the list below depend on
//! nothing but their arguments, or on the begin of the transaction.

use super::{Context, Found, Rule};
use crate::{api::Server, schema::Tables, units::UnitQuery};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    for (first, later) in context.pairs() {
        for one in units[first].queries() {
            for other in units[later].queries() {
                if let Some(name) = unknown(context, one).or_else(|| unknown(context, other)) {
                    let reason = format!("the query calls `{name}`, which may use any table");
                    found.before(first, later, Rule::Function, reason);
                }
                let changing = (volatile(context.server, one), volatile(context.server, other));
                if let (Some(a), Some(b)) = changing {
                    let reason = format!("the values of `{a}` and `{b}` change with each call");
                    found.before(first, later, Rule::Function, reason);
                }
            }
        }
    }
}

fn unknown<'q>(context: &Context<'_, '_, '_>, query: &'q UnitQuery) -> Option<&'q str> {
    let uses_no_table = |name: &str| match context.schema.functions.get(name) {
        Some(Tables::Some(tables)) => tables.is_empty(),
        Some(Tables::All) => false,
        None => is_known(name) || is_volatile(context.server, name),
    };
    let mut functions = query.query.functions.iter().map(String::as_str);
    functions.find(|name| !uses_no_table(name))
}

fn volatile(server: Server, query: &UnitQuery) -> Option<&str> {
    query.query.functions.iter().find(|name| is_volatile(server, name)).map(String::as_str)
}

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

fn is_known(name: &str) -> bool {
    PURE.contains(&name) || FIXED.contains(&name) || TIME.contains(&name)
}

fn is_volatile(server: Server, name: &str) -> bool {
    VOLATILE.contains(&name) || server != Server::Postgresql && TIME.contains(&name)
}
