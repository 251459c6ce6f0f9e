//! Queries that call a function which the tool does not know keep their order with all queries, and
//! with all exits; those that call a function which uses tables, with all queries; and those that
//! call functions whose value changes from call to call, with each other. In MySQL and SQLite, the
//! queries before one that may ask what the last of them has left keep their order: one that calls
//! a function such as `row_count`, or code that is not understood.
//!
//! Functions that the server calls for constraints, indexes, domains, operators, casts, columns and
//! views are functions of the query, and so are those that triggers and the user's own functions
//! call, directly or by way of what they change, if their value changes or depends on the session.
//!
//! **Safe because** an unknown function may read and write any table, and may have effects that a
//! rollback does not undo. `nextval`, `random` and the like give the values in the order of the
//! calls. If all queries before one run in the order of the source, the session is in the state of
//! the source. The other functions in the lists of [`functions`] depend on nothing but their
//! arguments, or on the begin of the transaction.

use super::{Context, Found, Rule};
use crate::{
    api::Server,
    schema::Tables,
    solve::UnitIndex,
    sql::{TableAccess, functions},
    units::UnitQuery,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    keep_last(context, found);
    let units = &context.units.units;
    let lasting: Vec<Option<&str>> =
        units.iter().map(|unit| unit.queries().find_map(|query| lasting(context, query))).collect();
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
        for (queries, exits) in [(first, later), (later, first)] {
            let leaves = units[exits].exits().next().is_some();
            if let Some(name) = lasting[queries].filter(|_| leaves) {
                let reason = format!("a rollback may not undo the effects of `{name}`");
                found.before(first, later, Rule::Function, reason);
            }
        }
    }
}

/// Returns the last unit with a query that asks what the last one before it has left, and how it
/// does.
pub(super) fn asking(context: &Context<'_, '_, '_>) -> Option<(UnitIndex, String)> {
    let units = &context.units.units;
    let asks = |unit: UnitIndex| units[unit].queries().find_map(|query| question(context, query));
    (0..units.len()).rev().find_map(|unit| Some((unit, asks(unit)?)))
}

/// Returns how a query may ask what the last one before it has left: by a function that does, by
/// one that is not understood, or by a trigger or rule that is not.
fn question(context: &Context<'_, '_, '_>, query: &UnitQuery) -> Option<String> {
    let (schema, server) = (context.schema, context.server);
    if server == Server::Postgresql {
        return None;
    }
    let mut functions = query.query.functions.iter();
    if let Some(name) = functions.find(|name| functions::asks_for_last(name, server)) {
        return Some(format!("`{name}` says what the last statement before it has done"));
    }
    if let Some(name) = lasting(context, query) {
        return Some(format!("`{name}` may ask what the last statement before it has done"));
    }
    let is_unknown = |(name, access): &(&String, &TableAccess)| {
        schema.consequences_of_access(name, access).contains(&Tables::All)
    };
    let (name, _) = query.query.tables.iter().find(is_unknown)?;
    let what = format!("a trigger of `{name}` that is not understood");
    Some(format!("{what} may ask what the last statement before it has done"))
}

/// Keeps the order of the queries before one that asks what the last of them has left.
fn keep_last(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    let Some((last, reason)) = asking(context) else { return };
    let runs = |unit: UnitIndex| units[unit].queries().next().is_some();
    for (first, later) in context.pairs().filter(|&(_, later)| later < last) {
        if runs(first) && runs(later) {
            found.before(first, later, Rule::Function, reason.clone());
        }
    }
}

/// Returns a function that may have an effect which a rollback does not undo.
pub(super) fn lasting<'q>(context: &Context<'_, '_, '_>, query: &'q UnitQuery) -> Option<&'q str> {
    let mut functions = query.query.functions.iter().map(String::as_str);
    functions.find(|name| functions::is_unknown(name, context.schema))
}

fn unknown<'q>(context: &Context<'_, '_, '_>, query: &'q UnitQuery) -> Option<&'q str> {
    let mut functions = query.query.functions.iter().map(String::as_str);
    functions.find(|name| !functions::uses_no_table(name, context.schema))
}

fn volatile(server: Server, query: &UnitQuery) -> Option<&str> {
    let mut functions = query.query.functions.iter().map(String::as_str);
    functions.find(|name| functions::is_volatile(name, server))
}
