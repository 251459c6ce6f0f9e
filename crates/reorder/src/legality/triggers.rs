//! A query that starts a trigger, a rule or a cascade of a foreign key keeps its order with all
//! queries that use what these touch (the paper's fourth dependency among rows, §4.1); with all
//! queries if the schema does not show what they touch.
//!
//! **Safe because** the trigger runs within the query, and so meets the same rows as in the source.

use std::collections::BTreeSet;

use super::{Context, Found, Rule};
use crate::{
    schema::{Event, Tables},
    sql::{Query, TableAccess},
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    for (first, later) in context.pairs() {
        for one in units[first].queries() {
            for other in units[later].queries() {
                let met = meets(context, &one.query, &other.query)
                    .or_else(|| meets(context, &other.query, &one.query));
                if let Some(table) = met {
                    let reason = format!("a trigger, rule or cascade of `{table}` may touch both");
                    found.before(first, later, Rule::Trigger, reason);
                }
            }
        }
    }
}

/// Returns a table of one query whose consequences may meet the other query.
fn meets(context: &Context<'_, '_, '_>, one: &Query, other: &Query) -> Option<String> {
    let bases = |name: &String| context.schema.base_tables(name);
    let mut used: BTreeSet<String> = other.tables.keys().flat_map(bases).collect();
    for (_, touched) in consequences(context, other) {
        match touched {
            Tables::Some(tables) => used.extend(tables.iter().flat_map(bases)),
            // The other query's own consequences are met in the other direction.
            Tables::All => {}
        }
    }
    let met = consequences(context, one).into_iter().find(|(_, touched)| match touched {
        Tables::Some(tables) => tables.iter().flat_map(bases).any(|table| used.contains(&table)),
        Tables::All => true,
    });
    met.map(|(name, _)| name.clone())
}

/// Returns what the triggers, rules and cascades of a query's tables touch.
fn consequences<'q>(context: &Context<'_, '_, '_>, query: &'q Query) -> Vec<(&'q String, Tables)> {
    let of_table = |(name, access): (&'q String, &'q TableAccess)| {
        let touched = |event| (name, context.schema.consequences(name, event));
        events(access).map(touched).collect::<Vec<_>>()
    };
    query.tables.iter().flat_map(of_table).collect()
}

fn events(access: &TableAccess) -> impl Iterator<Item = Event> + use<> {
    let events = [
        (true, Event::Select),
        (access.inserts, Event::Insert),
        (access.deletes, Event::Delete),
        (!access.writes.is_empty(), Event::Update),
    ];
    events.into_iter().filter(|(happens, _)| *happens).map(|(_, event)| event)
}
