//! The consequences of the change of a row: triggers, rules, and the actions of foreign keys.

use std::collections::BTreeSet;

use super::{Action, Event, ForeignKey, Rule, Schema, Tables, Trigger};
use crate::sql::{Columns, TableAccess};

impl Schema {
    /// Returns the triggers that an event on a table fires, those of its partitions and of the
    /// table above it among them.
    pub fn triggers_on(&self, table: &str, event: Event) -> Vec<&Trigger> {
        let bases = self.base_tables(table);
        let concerns = |trigger: &&Trigger| {
            let same = trigger.table == table
                || !self.is_view(&trigger.table)
                    && !self.base_tables(&trigger.table).is_disjoint(&bases);
            same && trigger.events.contains(&event)
        };
        self.triggers.iter().filter(concerns).collect()
    }

    /// Returns the rules and policies that an event on a table or view starts.
    pub(super) fn rules_on(&self, table: &str, event: Event) -> impl Iterator<Item = &Rule> {
        let bases = self.base_tables(table);
        let concerns = move |rule: &&Rule| {
            let same = rule.table == table || bases.contains(&rule.table);
            same && (rule.event == event || rule.event == Event::Select)
        };
        self.rules.iter().filter(concerns)
    }

    /// Returns true if a rule may replace an event on a table or view.
    pub(crate) fn has_rule(&self, table: &str, event: Event) -> bool {
        let bases = self.base_tables(table);
        let same = |name: &String| name == table || bases.contains(name);
        self.rules.iter().any(|rule| same(&rule.table) && rule.event == event)
    }

    /// Returns the tables that an event on a table may touch besides the table itself: through
    /// triggers and rules, through foreign keys that delete or change other rows, and through what
    /// these fire. The foreign keys of those tables are checked as well, and so the tables at their
    /// other ends are touched; the checks of the table's own are not meant.
    pub fn consequences(&self, table: &str, event: Event) -> Tables {
        self.consequences_of(table, event, &Columns::All)
    }

    /// Returns the same for an update of some columns, or for another event.
    pub(crate) fn consequences_of(&self, table: &str, event: Event, writes: &Columns) -> Tables {
        let Some(first) = self.direct(table, event, writes) else { return Tables::All };
        // Each table, and true if commands of a trigger or rule touch it.
        let (mut touched, mut open) = (BTreeSet::new(), Vec::from_iter(first));
        while let Some((name, by_command)) = open.pop() {
            if !touched.insert((name.clone(), by_command)) {
                continue;
            }
            for event in [Event::Insert, Event::Update, Event::Delete] {
                let Some(next) = self.direct(&name, event, &Columns::All) else {
                    return Tables::All;
                };
                open.extend(next);
            }
        }
        let checked = touched.iter().flat_map(|(name, command)| self.checked(name, *command));
        let mut tables: BTreeSet<String> = checked.collect();
        tables.extend(touched.into_iter().map(|(name, _)| name));
        Tables::Some(tables)
    }

    /// Returns the tables at the other ends of the foreign keys of a table that are checked when
    /// its rows change: those that refer to it, and those that it refers to if it is a command that
    /// changes them.
    fn checked(&self, table: &str, by_command: bool) -> BTreeSet<String> {
        let bases = self.base_tables(table);
        let mut ends = BTreeSet::new();
        for (child, other) in &self.tables {
            let is_child = by_command && !self.base_tables(child).is_disjoint(&bases);
            for key in &other.foreign_keys {
                if is_child {
                    ends.insert(key.table.clone());
                }
                if !self.base_tables(&key.table).is_disjoint(&bases) {
                    ends.insert(child.clone());
                }
            }
        }
        ends
    }

    /// Returns the tables whose rows foreign keys delete or change with those of a table.
    pub(crate) fn changed_with(&self, table: &str) -> BTreeSet<String> {
        let bases = self.base_tables(table);
        let acts = |key: &ForeignKey| {
            (key.on_delete != Action::Refuse || key.on_update != Action::Refuse)
                && !self.base_tables(&key.table).is_disjoint(&bases)
        };
        let changed = self.tables.iter().filter(|(_, other)| other.foreign_keys.iter().any(acts));
        changed.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the tables whose rows foreign keys delete or change because of an access to a table.
    pub(crate) fn cascades(&self, table: &str, access: &TableAccess) -> BTreeSet<String> {
        let bases = self.base_tables(table);
        let acts = |key: &ForeignKey| {
            let is_written = |column: &String| access.writes.contains(column);
            let written = key.referred.is_empty() || key.referred.iter().any(is_written);
            let updates = written && !access.writes.is_empty() && key.on_update != Action::Refuse;
            (updates || access.deletes && key.on_delete != Action::Refuse)
                && !self.base_tables(&key.table).is_disjoint(&bases)
        };
        let first = self.tables.iter().filter(|(_, other)| other.foreign_keys.iter().any(acts));
        let mut open: Vec<String> = first.map(|(name, _)| name.clone()).collect();
        let mut changed = BTreeSet::new();
        while let Some(name) = open.pop() {
            if changed.insert(name.clone()) {
                open.extend(self.changed_with(&name));
            }
        }
        changed
    }

    /// Returns the tables that the triggers, rules and foreign keys of a table touch, each with
    /// true if it is by a command; `None` if that may be all tables.
    fn direct(
        &self,
        table: &str,
        event: Event,
        writes: &Columns,
    ) -> Option<BTreeSet<(String, bool)>> {
        let mut touched = BTreeSet::new();
        let rules = self.rules_on(table, event);
        let triggers = self.triggers_on(table, event);
        let triggers = triggers.iter().map(|trigger| &trigger.touches);
        for touches in triggers.chain(rules.map(|rule| &rule.touches)) {
            let Tables::Some(tables) = touches else { return None };
            touched.extend(tables.iter().map(|name| (name.clone(), true)));
        }
        let children = self.acted_on(table, event, writes);
        touched.extend(children.into_iter().map(|child| (child, false)));
        Some(touched)
    }
}
