//! A query that starts a trigger, a rule or a cascade of a foreign key keeps its order with all
//! queries that use what these touch (the paper's fourth dependency among rows, §4.1); with all
//! queries, and with all exits, if the schema does not show what they touch.
//!
//! **Safe because** the trigger runs within the query, and so meets the same rows as in the source.
//! A trigger whose body is not understood may have effects that a rollback does not undo; it runs
//! if and only if it ran in the source.

use std::collections::BTreeSet;

use super::{Context, Found, Rule};
use crate::{schema::Tables, sql::Query};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    let all: Vec<Vec<Facts<'_>>> = units
        .iter()
        .map(|unit| unit.queries().map(|query| facts(context, &query.query)).collect())
        .collect();
    for (first, later) in context.pairs() {
        for one in &all[first] {
            for other in &all[later] {
                if let Some(table) = one.meets(other).or_else(|| other.meets(one)) {
                    let reason = format!("a trigger, rule or cascade of `{table}` may touch both");
                    found.before(first, later, Rule::Trigger, reason);
                }
            }
        }
        for (queries, exits) in [(first, later), (later, first)] {
            let leaves = units[exits].exits().next().is_some();
            let unknown = all[queries].iter().find_map(Facts::unknown).filter(|_| leaves);
            if let Some(table) = unknown {
                let reason =
                    format!("a rollback may not undo what a trigger or rule of `{table}` does");
                found.before(first, later, Rule::Trigger, reason);
            }
        }
    }
}

/// The facts about a query that decide what its triggers, rules and cascades meet.
struct Facts<'q> {
    /// The base tables that its triggers, rules and cascades touch, by the table that starts them;
    /// `None` for all.
    consequences: Vec<(&'q str, Option<BTreeSet<String>>)>,
    /// The base tables that it uses, those of the consequences among them as far as they are known.
    used: BTreeSet<String>,
}

impl<'q> Facts<'q> {
    /// Returns a table whose consequences may meet another query. If those of the other query may
    /// touch all tables, they are met in the other direction.
    fn meets(&self, other: &Facts<'_>) -> Option<&'q str> {
        let met = self.consequences.iter().find(|(_, touched)| match touched {
            Some(tables) => !tables.is_disjoint(&other.used),
            None => true,
        });
        met.map(|(name, _)| *name)
    }

    /// Returns a table whose consequences the schema does not show.
    fn unknown(&self) -> Option<&'q str> {
        self.consequences.iter().find(|(_, touched)| touched.is_none()).map(|(name, _)| *name)
    }
}

fn facts<'q>(context: &Context<'_, '_, '_>, query: &'q Query) -> Facts<'q> {
    let bases = |name: &String| context.schema.base_tables(name);
    let mut used: BTreeSet<String> = query.tables.keys().flat_map(bases).collect();
    let mut consequences = Vec::new();
    for (name, access) in &query.tables {
        for touched in context.schema.consequences_of_access(name, access) {
            let touched = match touched {
                Tables::Some(tables) => Some(tables.iter().flat_map(bases).collect()),
                Tables::All => None,
            };
            used.extend(touched.iter().flatten().cloned());
            consequences.push((name.as_str(), touched));
        }
    }
    Facts { consequences, used }
}
