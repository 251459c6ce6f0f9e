//! The tables that triggers, rules, actions of foreign keys and functions read and change besides
//! the query.

use std::collections::BTreeSet;

use super::{Action, Event, ForeignKey, Schema, Tables};
use crate::sql::{Columns, Query, TableAccess, functions};

/// The tables and views whose rows are read and changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Effects {
    /// The tables that are read, not only to change a row.
    pub(crate) reads: Tables,
    /// The tables of which rows are inserted, updated or deleted.
    pub(crate) changes: Tables,
}

impl Default for Effects {
    fn default() -> Effects {
        Effects { reads: Tables::none(), changes: Tables::none() }
    }
}

impl Tables {
    /// Returns the empty set.
    pub(crate) fn none() -> Tables {
        Tables::Some(BTreeSet::new())
    }

    /// Adds the tables of another set.
    fn extend(&mut self, other: &Tables) {
        match (&mut *self, other) {
            (Tables::Some(tables), Tables::Some(more)) => tables.extend(more.iter().cloned()),
            _ => *self = Tables::All,
        }
    }

    /// Returns the tables, as far as they are known.
    pub(crate) fn known(&self) -> impl Iterator<Item = &String> {
        let known = match self {
            Tables::Some(tables) => Some(tables),
            Tables::All => None,
        };
        known.into_iter().flatten()
    }
}

impl Schema {
    /// Returns what the server does for an access besides the access itself, by triggers, rules,
    /// policies and actions of foreign keys, and by those that these start.
    pub(crate) fn effects_of_access(&self, name: &str, access: &TableAccess) -> Effects {
        let events = [
            (true, Event::Select),
            (access.inserts, Event::Insert),
            (access.deletes, Event::Delete),
            (!access.writes.is_empty(), Event::Update),
        ];
        let happening = events.into_iter().filter(|(happens, _)| *happens);
        // Each table and event, and true for those of the access itself.
        let mut open: Vec<(String, Event, bool)> =
            happening.map(|(_, event)| (name.to_owned(), event, true)).collect();
        let (mut effects, mut seen) = (Effects::default(), BTreeSet::new());
        while let Some((table, event, own)) = open.pop() {
            if !seen.insert((table.clone(), event, own)) {
                continue;
            }
            let writes = if own { &access.writes } else { &Columns::All };
            let direct = self.effects_of_event(&table, event, writes);
            for table in direct.changes.known() {
                let events = [Event::Select, Event::Insert, Event::Update, Event::Delete];
                open.extend(events.map(|event| (table.clone(), event, false)));
            }
            effects.reads.extend(&direct.reads);
            effects.changes.extend(&direct.changes);
        }
        effects
    }

    /// Returns what one event on a table starts by itself.
    fn effects_of_event(&self, table: &str, event: Event, writes: &Columns) -> Effects {
        let mut effects = Effects::default();
        for trigger in self.triggers_on(table, event) {
            effects.reads.extend(&trigger.reads);
            effects.changes.extend(&trigger.changes);
        }
        for rule in self.rules_on(table, event) {
            effects.reads.extend(&rule.reads);
            effects.changes.extend(&rule.changes);
        }
        effects.changes.extend(&Tables::Some(self.acted_on(table, event, writes)));
        effects
    }

    /// Returns the tables whose rows the foreign keys to a table change if one of its rows does.
    pub(super) fn acted_on(&self, table: &str, event: Event, writes: &Columns) -> BTreeSet<String> {
        let bases = self.base_tables(table);
        let is_written = |column: &String| writes.contains(column);
        let acts = |key: &&ForeignKey| match event {
            Event::Delete | Event::Truncate => key.on_delete != Action::Refuse,
            Event::Update => {
                let written = key.referred.is_empty() || key.referred.iter().any(is_written);
                key.on_update != Action::Refuse && written
            }
            Event::Insert | Event::Select => false,
        };
        let mut children = BTreeSet::new();
        for (child, other) in &self.tables {
            let mut keys = other.foreign_keys.iter().filter(acts);
            if keys.any(|key| !self.base_tables(&key.table).is_disjoint(&bases)) {
                children.insert(child.clone());
            }
        }
        children
    }

    /// Returns the tables whose rows the functions of a query may change.
    pub(crate) fn changed_by_functions(&self, query: &Query) -> Tables {
        let mut changed = Tables::none();
        for name in &query.functions {
            match (self.function_changes(name), functions::is_built_in(name)) {
                (Some(changes), _) => changed.extend(changes),
                (None, true) => {}
                (None, false) => return Tables::All,
            }
        }
        changed
    }
}
