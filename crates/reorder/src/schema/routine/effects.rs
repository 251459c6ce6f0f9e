//! The effects of bodies, those of the functions that they call among them.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Body, FunctionBody, Names};
use crate::{
    api::Server,
    schema::{
        Tables,
        cursor::Cursor,
        resolve::{Builder, DraftTrigger, is_sign},
    },
    sql::{Columns, functions, text::is_word},
};

impl Builder {
    /// Finds the tables that functions may touch, through the functions that they call as well.
    pub(in crate::schema) fn resolve_functions(&mut self) {
        let mut direct: BTreeMap<String, Names> = BTreeMap::new();
        for (names, body) in &self.functions {
            let found = match body {
                FunctionBody::Tokens(tokens) => self.names(tokens),
                FunctionBody::Unknown => Names { dynamic: true, ..Names::default() },
            };
            for name in names {
                let all = direct.entry(name.clone()).or_default();
                all.tables.extend(found.tables.iter().cloned());
                all.calls.extend(found.calls.iter().cloned());
                all.dynamic |= found.dynamic;
                all.ends |= found.ends;
            }
        }
        self.direct = direct;
        for name in self.direct.keys() {
            let calls = BTreeSet::from([name.clone()]);
            let (tables, _) = self.effects(Names { calls, ..Names::default() });
            self.schema.functions.insert(name.clone(), tables);
            if self.may_end(name) {
                self.schema.commits.insert(name.clone());
            }
        }
    }

    /// Returns what a function names; that of a function with the server's usual prefix may stand
    /// in the DDL without it.
    fn direct(&self, name: &str) -> Option<&Names> {
        let plain = || name.strip_prefix("public.").filter(|_| self.server == Server::Postgresql);
        self.direct.get(name).or_else(|| self.direct.get(plain()?))
    }

    /// Returns true if a function, or one that it calls, may end the transaction.
    fn may_end(&self, name: &str) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            match self.direct(name) {
                Some(names) if names.ends => return true,
                Some(names) => open.extend(names.calls.iter().map(String::as_str)),
                // No function may end the transaction; a procedure that is not known may.
                None if functions::is_built_in(name) => {}
                None => return true,
            }
        }
        false
    }

    /// Returns what the body of a trigger names.
    pub(in crate::schema) fn names_of(&self, body: Body) -> Names {
        match body {
            Body::Call(function, around) => {
                let mut names = self.names(&around);
                names.calls.insert(function);
                names
            }
            Body::Tokens(tokens) => self.names(&tokens),
        }
    }

    /// Returns the tables that a body may touch, and the changing functions that it calls, through
    /// the functions that it calls as well.
    pub(in crate::schema) fn effects(&self, body: Names) -> (Tables, BTreeSet<String>) {
        let (mut tables, mut changing) = (body.tables, BTreeSet::new());
        let (mut unknown, mut seen) = (body.dynamic, BTreeSet::new());
        let mut open: Vec<String> = body.calls.into_iter().collect();
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            match self.direct(&name) {
                Some(names) => {
                    unknown |= names.dynamic;
                    tables.extend(names.tables.iter().cloned());
                    open.extend(names.calls.iter().cloned());
                }
                None => unknown |= !functions::is_built_in(&name),
            }
            if functions::is_changing(&name) {
                changing.insert(name);
            }
        }
        (if unknown { Tables::All } else { self.expanded(tables) }, changing)
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
        let bodies: Vec<&FunctionBody> = bodies.map(|(_, body)| body).collect();
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
