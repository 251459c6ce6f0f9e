//! The end of an analysis: what the schema adds, and what the accesses mean together.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::Analysis;
use crate::{
    api::Server,
    schema::{Event, Rule},
    sql::{Columns, Held, Query, TableAccess, text},
};

impl Analysis<'_> {
    /// Returns the result.
    pub(super) fn finish(mut self, tokens: &[TokenWithSpan]) -> Option<Query> {
        if self.other {
            return None;
        }
        self.add_triggers();
        self.add_constraints();
        self.add_types(tokens);
        self.add_inherited();
        for access in self.query.tables.values_mut() {
            let Columns::Some(writes) = &access.writes else {
                access.equal.clear();
                continue;
            };
            access.equal.retain(|column, _| access.occurrences == 1 && !writes.contains(column));
        }
        self.add_locks();
        let tables = &mut self.query.tables;
        if self.server == Server::Mysql && tables.values().any(TableAccess::changes) {
            tables.values_mut().filter(|access| !access.changes()).for_each(|one| one.locks = true);
        }
        self.query.depends_on_rows |= tables.len() > 1
            || tables.values().any(|access| !access.changes() || access.occurrences > 1);
        Some(self.query)
    }

    /// Records in which lock the rows of each table are held, and whether the row of `equal` is
    /// found for sure: not if an equality of the condition is not among them, because the query
    /// assigns its column. A policy may hide the row.
    fn add_locks(&mut self) {
        for (name, access) in &mut self.query.tables {
            let held = self.held.get(name).filter(|(places, _)| *places == access.occurrences);
            let is_view = self.schema.is_view(name);
            access.held = held.filter(|_| !is_view).map_or(Held::Not, |(_, held)| *held);
            if access.held == Held::Not && !access.changes() {
                access.chosen_by = Columns::default();
            }
            let count = self.sure.as_ref().filter(|(table, _)| table == name).map(|one| one.1);
            access.is_sure = access.occurrences == 1
                && count == Some(access.equal.len())
                && !self.schema.has_rule(name, Event::Select);
        }
    }

    /// Records the functions that the server calls for each written row.
    fn add_constraints(&mut self) {
        let schema = self.schema;
        for (name, access) in &self.query.tables {
            if !access.inserts && access.writes.is_empty() {
                continue;
            }
            for table in schema.family_tables(name) {
                self.query.functions.extend(table.functions.iter().cloned());
                let computed = table.columns.iter().filter(|column| column.computed);
                let functions = computed.flat_map(|column| &column.default_functions);
                self.query.functions.extend(functions.cloned());
            }
        }
    }

    /// Records the functions of operators and domains that the text may name, and of casts, which
    /// it need not name.
    fn add_types(&mut self, tokens: &[TokenWithSpan]) {
        let schema = self.schema;
        self.query.functions.extend(schema.casts.iter().cloned());
        let text: String = tokens.iter().map(|token| token.token.to_string()).collect();
        for (sign, functions) in &schema.operators {
            if text.contains(sign.as_str()) {
                self.query.functions.extend(functions.iter().cloned());
            }
        }
        for (at, token) in tokens.iter().enumerate() {
            let Token::Word(word) = &token.token else { continue };
            let Some(checked) = schema.types.get(&word.value.to_lowercase()) else { continue };
            let is_type = is_type(&tokens[..at]);
            if is_type || !checked.is_table {
                self.query.functions.extend(checked.functions.iter().cloned());
            }
        }
    }

    /// Records the functions that the user's own functions call, as far as their values change or
    /// depend on the session.
    fn add_inherited(&mut self) {
        let names: Vec<String> = self.query.functions.iter().cloned().collect();
        for name in names {
            self.query.functions.extend(self.schema.inherited_by(&name).cloned());
        }
    }

    /// Records what the schema adds to the accesses: the columns that triggers assign, the
    /// columns that policies read, and the functions of triggers and views.
    fn add_triggers(&mut self) {
        let schema = self.schema;
        for (table, access) in &mut self.query.tables {
            if let Some(view) = schema.views.get(table) {
                self.query.functions.extend(view.functions.iter().cloned());
            }
            let events = [
                (access.inserts, Event::Insert),
                (!access.writes.is_empty(), Event::Update),
                (access.deletes, Event::Delete),
            ];
            for (_, event) in events.into_iter().filter(|(happens, _)| *happens) {
                for trigger in schema.triggers_on(table, event) {
                    self.query.functions.extend(trigger.functions.iter().cloned());
                    if event == Event::Update {
                        trigger.assigns.iter().for_each(|column| access.writes.add(column));
                    }
                    match &trigger.assigns {
                        Columns::Some(columns) => {
                            access.equal.retain(|column, _| !columns.contains(column));
                        }
                        Columns::All if event == Event::Delete => {}
                        Columns::All => access.equal.clear(),
                    }
                    if event == Event::Update && trigger.assigns == Columns::All {
                        access.writes = Columns::All;
                    }
                }
                if schema.has_rule(table, event) {
                    access.equal.clear();
                }
            }
            for changed in schema.cascades(table, access) {
                let events = [Event::Update, Event::Delete];
                let triggers = events.iter().flat_map(|event| schema.triggers_on(&changed, *event));
                self.query.functions.extend(triggers.flat_map(|one| one.functions.clone()));
            }
            let bases = schema.base_tables(table);
            let of_table = |rule: &&Rule| rule.table == *table || bases.contains(&rule.table);
            let rules = schema.rules.iter().filter(of_table);
            for rule in rules.clone().filter(|rule| !rule.columns.is_empty()) {
                // The columns of a view have other names.
                let is_own = !schema.is_view(table);
                access.reads.add_all(if is_own { &rule.columns } else { &Columns::All });
            }
            self.query.functions.extend(rules.flat_map(|rule| rule.functions.iter().cloned()));
        }
    }
}

/// Returns true if a query changes rows of the table.
/// Returns true if what stands before a name shows that it is that of a type.
fn is_type(before: &[TokenWithSpan]) -> bool {
    let mut before = before.iter().rev().filter(|token| !text::is_space(token));
    let mut last = before.next();
    while last.is_some_and(|token| token.token == Token::Period) {
        before.next();
        last = before.next();
    }
    last.is_some_and(|token| token.token == Token::DoubleColon) || text::is_word(last, "AS")
}
