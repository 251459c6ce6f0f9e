//! The effects of bodies, those of the functions that they call among them.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Body, FunctionBody, Names};
use crate::{
    api::Server,
    schema::{
        Table, Tables,
        cursor::Cursor,
        resolve::{Builder, DraftTrigger, Fired, is_sign},
    },
    sql::{Columns, functions, text::is_word},
};

/// The effects of a body, through the functions that it calls as well.
pub(in crate::schema) struct Effects {
    /// The tables that it may touch.
    pub(in crate::schema) touches: Tables,
    /// Those of them whose rows it may read, and not only change.
    pub(in crate::schema) reads: Tables,
    /// Those of them whose rows it may change.
    pub(in crate::schema) changes: Tables,
    /// The functions whose value changes or depends on the session: those that it calls, and those
    /// of all that follows from it.
    pub(in crate::schema) functions: BTreeSet<String>,
}

impl Builder {
    /// Finds the tables that functions may touch, and what they inherit from the functions that
    /// they call.
    pub(in crate::schema) fn resolve_functions(&mut self) {
        let mut direct: BTreeMap<String, Names> = BTreeMap::new();
        for (names, routine) in &self.functions {
            let mut found = match &routine.body {
                FunctionBody::Tokens(tokens) => self.names(tokens),
                FunctionBody::Unknown => Names { dynamic: true, ..Names::default() },
            };
            found.checks.extend(self.functions_of_types(&routine.signature));
            for name in names {
                let all = direct.entry(name.clone()).or_default();
                all.tables.extend(found.tables.iter().cloned());
                all.reads.extend(found.reads.iter().cloned());
                all.changes.extend(found.changes.iter().cloned());
                all.calls.extend(found.calls.iter().cloned());
                all.procedures.extend(found.procedures.iter().cloned());
                all.writes |= found.writes;
                all.checks.extend(found.checks.iter().cloned());
                all.dynamic |= found.dynamic;
                all.ends = all.ends.take().or_else(|| found.ends.clone());
            }
        }
        self.direct = direct;
        let fired = |table: &String, by_read: bool, names: Names| {
            let table = table.clone();
            Fired { table, by_read, names }
        };
        let triggers = self.triggers.iter();
        let triggers = triggers.map(|one| fired(&one.table, false, self.names_of(&one.body)));
        let rules = self.rules.iter();
        let rules = rules.map(|(rule, tokens)| fired(&rule.table, true, self.names(tokens)));
        self.fired = triggers.chain(rules).collect();
        for name in self.direct.keys() {
            let calls = BTreeSet::from([name.clone()]);
            let effects = self.effects(&Names { calls, ..Names::default() });
            self.schema.functions.insert(name.clone(), effects.touches);
            self.schema.changes.insert(name.clone(), effects.changes);
            self.schema.inherited.insert(name.clone(), effects.functions);
            if let Some(reason) = self.may_end(name) {
                self.schema.commits.insert(name.clone(), reason);
            }
        }
    }

    /// Returns what a function names; that of a function with the server's usual prefix may stand
    /// in the DDL without it.
    fn direct(&self, name: &str) -> Option<&Names> {
        let plain = || name.strip_prefix("public.").filter(|_| self.server == Server::Postgresql);
        self.direct.get(name).or_else(|| self.direct.get(plain()?))
    }

    /// Returns why a procedure, or one that it calls, may end the transaction. A function that a
    /// query calls cannot.
    fn may_end(&self, name: &str) -> Option<String> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            let Some(names) = self.direct(name) else {
                return Some(format!("may commit: the schema does not define `{name}`"));
            };
            if let Some(word) = &names.ends {
                return Some(format!("may commit: `{word}` stands in the body of `{name}`"));
            }
            open.extend(names.procedures.iter().map(String::as_str));
        }
        None
    }

    /// Returns what the body of a trigger names.
    pub(in crate::schema) fn names_of(&self, body: &Body) -> Names {
        match body {
            Body::Call(function, around) => {
                let mut names = self.names(around);
                names.calls.insert(function.clone());
                names
            }
            Body::Tokens(tokens) => self.names(tokens),
        }
    }

    /// Returns the effects of a body, through the functions that it calls as well.
    pub(in crate::schema) fn effects(&self, body: &Names) -> Effects {
        let (mut tables, mut unknown) = (body.tables.clone(), body.dynamic);
        let (mut reads, mut changes) = (body.reads.clone(), body.changes.clone());
        let (mut called, mut fired) = (BTreeSet::new(), BTreeSet::new());
        let mut open = Vec::from_iter(self.calls_of(body, &mut fired));
        while let Some(name) = open.pop() {
            if !called.insert(name.clone()) {
                continue;
            }
            match self.direct(&name) {
                Some(names) => {
                    unknown |= names.dynamic;
                    tables.extend(names.tables.iter().cloned());
                    reads.extend(names.reads.iter().cloned());
                    changes.extend(names.changes.iter().cloned());
                    open.extend(self.calls_of(names, &mut fired));
                }
                None => unknown |= !functions::is_built_in(&name),
            }
        }
        unknown |= fired.iter().any(|&one| self.fired[one].names.dynamic);
        called.retain(|name| functions::is_changing(name, self.server));
        let all = |tables| if unknown { Tables::All } else { self.expanded(tables) };
        let (touches, reads) = (all(tables), all(reads));
        Effects { touches, reads, changes: all(changes), functions: called }
    }

    /// Returns the functions that a body calls, and those that the server calls for the tables that
    /// it names: for views, rules, and changed rows. Adds the triggers and rules that this fires.
    fn calls_of(&self, body: &Names, fired: &mut BTreeSet<usize>) -> BTreeSet<String> {
        let (mut calls, mut open) = (body.all_calls(), vec![body]);
        while let Some(body) = open.pop() {
            let tables = if body.writes { self.changed_by(body) } else { body.tables.clone() };
            let views = tables.iter().filter_map(|name| self.schema.views.get(name));
            calls.extend(views.flat_map(|view| view.functions.iter().cloned()));
            if body.writes {
                let tables = tables.iter().filter_map(|name| self.schema.table(name));
                calls.extend(tables.flat_map(Table::functions_of_change));
            }
            for (at, one) in self.fired.iter().enumerate() {
                let runs = (body.writes || one.by_read) && tables.contains(&one.table);
                if runs && fired.insert(at) {
                    calls.extend(one.names.all_calls());
                    open.push(&one.names);
                }
            }
        }
        calls
    }

    /// Returns the tables that a body names and that share rows with them, and those that foreign
    /// keys change with them.
    fn changed_by(&self, body: &Names) -> BTreeSet<String> {
        let (mut changed, mut open) = (BTreeSet::new(), Vec::from_iter(body.tables.clone()));
        while let Some(name) = open.pop() {
            if !changed.insert(name.clone()) {
                continue;
            }
            open.extend(self.schema.family(&name));
            open.extend(self.schema.changed_with(&name));
        }
        changed
    }

    /// Returns the columns of the new row that a trigger may assign; all if its function may return
    /// another row than `NEW`, or none.
    pub(in crate::schema) fn assigns(&self, trigger: &DraftTrigger) -> Columns {
        let called = match &trigger.body {
            _ if trigger.after => return Columns::default(),
            Body::Tokens(tokens) => return self.assigned(tokens, false),
            Body::Call(function, _) => function,
        };
        let plain = called.strip_prefix("public.").unwrap_or(called);
        let is_called = |names: &BTreeSet<String>| names.contains(called) || names.contains(plain);
        let bodies = self.functions.iter().filter(|(names, _)| is_called(names));
        let bodies: Vec<&FunctionBody> = bodies.map(|(_, routine)| &routine.body).collect();
        match &bodies[..] {
            [FunctionBody::Tokens(tokens)] => self.assigned(tokens, true),
            _ => Columns::All,
        }
    }

    /// Returns the columns whose names stand behind `NEW.`; all if `NEW` is used otherwise, or if
    /// the body returns something else.
    fn assigned(&self, tokens: &[TokenWithSpan], returns: bool) -> Columns {
        let mut columns = Columns::default();
        for (at, token) in tokens.iter().enumerate() {
            let (next, behind) = (tokens.get(at + 1), tokens.get(at + 2));
            if is_word(Some(token), "NEW") {
                let returned = at > 0 && is_word(tokens.get(at - 1), "RETURN");
                let column = Cursor::new(tokens.get(at + 2..).unwrap_or_default(), self.server);
                match { column }.name() {
                    Some(column) if is_sign(next, &Token::Period) => columns.add(&column),
                    _ if returned && is_sign(next, &Token::SemiColon) => {}
                    _ => return Columns::All,
                }
            }
            let returns_row = is_word(next, "NEW") && is_sign(behind, &Token::SemiColon);
            if returns && is_word(Some(token), "RETURN") && !returns_row {
                return Columns::All;
            }
        }
        columns
    }
}
