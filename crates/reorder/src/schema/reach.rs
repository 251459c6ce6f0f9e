//! The tables that a query reaches, with all that follows from it.

use std::collections::BTreeSet;

use super::{Event, Schema, Table, Tables};
use crate::sql::{Query, TableAccess};

impl Schema {
    /// Returns the tables that have rows in common with a table or view: itself, its partitions,
    /// and the tables above and beside it.
    pub fn family(&self, name: &str) -> BTreeSet<String> {
        let bases = self.base_tables(name);
        let related = |other: &&String| !self.base_tables(other).is_disjoint(&bases);
        let mut family: BTreeSet<String> = self.tables.keys().filter(related).cloned().collect();
        family.extend(bases);
        family
    }

    /// Returns the tables with rows in common with a table, as far as they are known.
    pub(crate) fn family_tables(&self, name: &str) -> Vec<&Table> {
        self.family(name).iter().filter_map(|name| self.table(name)).collect()
    }

    /// Returns true if a table refers to one of the rows of a table or view by a foreign key.
    pub fn is_referred(&self, name: &str) -> bool {
        let bases = self.base_tables(name);
        let refers = |table: &Table| {
            let mut keys = table.foreign_keys.iter();
            keys.any(|key| !self.base_tables(&key.table).is_disjoint(&bases))
        };
        self.tables.values().any(refers)
    }

    /// Returns the tables that a query may touch: those that it names, those that functions touch,
    /// and those that triggers, rules and foreign keys lead to. If it may touch all tables, those
    /// that it names.
    pub fn reached_by(&self, query: &Query) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        for (name, access) in &query.tables {
            reached.extend(self.family(name));
            for touched in self.consequences_of_access(name, access) {
                if let Tables::Some(touched) = touched {
                    reached.extend(touched.iter().flat_map(|name| self.family(name)));
                }
            }
        }
        for function in &query.functions {
            if let Some(Tables::Some(touched)) = self.function(function) {
                reached.extend(touched.iter().flat_map(|name| self.family(name)));
            }
        }
        reached
    }

    /// Returns the tables that each event of an access may touch besides the table itself.
    pub(crate) fn consequences_of_access(&self, name: &str, access: &TableAccess) -> Vec<Tables> {
        let events = [
            (true, Event::Select),
            (access.inserts, Event::Insert),
            (access.deletes, Event::Delete),
            (!access.writes.is_empty(), Event::Update),
        ];
        let happening = events.into_iter().filter(|(happens, _)| *happens);
        happening.map(|(_, event)| self.consequences_of(name, event, &access.writes)).collect()
    }
}
