//! The consequences of the change of a row: triggers, rules, and the actions of foreign keys.

use std::collections::BTreeSet;

use super::{Action, Event, Schema, Tables, Trigger};

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

    /// Returns true if a rule may replace an event on a table or view.
    pub(crate) fn has_rule(&self, table: &str, event: Event) -> bool {
        let bases = self.base_tables(table);
        let same = |name: &String| name == table || bases.contains(name);
        self.rules.iter().any(|rule| same(&rule.table) && rule.event == event)
    }

    /// Returns the tables that an event on a table may touch besides the table itself: through
    /// triggers and rules, through foreign keys that delete or change other rows, and through what
    /// these fire. Checks of foreign keys are not meant.
    pub fn consequences(&self, table: &str, event: Event) -> Tables {
        let (mut touched, mut open) = (BTreeSet::new(), vec![(table.to_owned(), vec![event])]);
        while let Some((table, events)) = open.pop() {
            let mut next = BTreeSet::new();
            for event in events {
                let Tables::Some(direct) = self.direct_consequences(&table, event) else {
                    return Tables::All;
                };
                next.extend(direct);
            }
            for name in next {
                if touched.insert(name.clone()) {
                    open.push((name, vec![Event::Insert, Event::Update, Event::Delete]));
                }
            }
        }
        Tables::Some(touched)
    }

    /// Returns the tables that the triggers, rules and foreign keys of a table touch.
    fn direct_consequences(&self, table: &str, event: Event) -> Tables {
        let mut touched = BTreeSet::new();
        let bases = self.base_tables(table);
        let rules = self.rules.iter().filter(|rule| {
            let same = rule.table == table || bases.contains(&rule.table);
            same && (rule.event == event || rule.event == Event::Select)
        });
        let triggers = self.triggers_on(table, event);
        let triggers = triggers.iter().map(|trigger| &trigger.touches);
        for touches in triggers.chain(rules.map(|rule| &rule.touches)) {
            match touches {
                Tables::Some(tables) => touched.extend(tables.iter().cloned()),
                Tables::All => return Tables::All,
            }
        }
        for (child, other) in &self.tables {
            let acts = other.foreign_keys.iter().any(|key| {
                let acts = match event {
                    Event::Delete | Event::Truncate => key.on_delete != Action::Refuse,
                    Event::Update => key.on_update != Action::Refuse,
                    Event::Insert | Event::Select => false,
                };
                acts && !self.base_tables(&key.table).is_disjoint(&bases)
            });
            touched.extend(acts.then(|| child.clone()));
        }
        Tables::Some(touched)
    }
}
