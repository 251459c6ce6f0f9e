//! The check that nothing of the text was lost.

use std::ops::ControlFlow;

use sqlparser::{
    ast::{Query as Tree, Spanned, Statement, Visit, Visitor, visit_relations},
    tokenizer::{Location, Token, TokenWithSpan},
};

use super::{
    super::{BadQuery, names, text::is_word},
    Analysis,
};

impl Analysis<'_> {
    /// Checks that nothing of the text was lost: every relation of the tree is accounted for, and
    /// so are the locking clauses, and the tables of the schema that the text names at places where
    /// tables stand.
    pub(super) fn check(
        &self,
        statement: &Statement,
        tokens: &[TokenWithSpan],
        locks: usize,
    ) -> Result<(), BadQuery> {
        let known = |name: &str| {
            self.query.tables.contains_key(name)
                || self.defined.contains(name)
                || self.query.functions.contains(name)
        };
        let lost = visit_relations(statement, |name| {
            let accounted = self.table_name(name).is_ok_and(|table| known(&table))
                || self.parts(name).is_ok_and(|parts| {
                    known(&names::function(&parts)) || parts.last().is_some_and(|last| known(last))
                });
            if accounted { ControlFlow::Continue(()) } else { ControlFlow::Break(name.clone()) }
        });
        if let ControlFlow::Break(name) = lost {
            return Err(self.unsupported(name.span().start, &format!("the use of `{name}`")));
        }
        for (place, name) in self.table_places(tokens) {
            if !known(&name) && (self.schema.table(&name).is_some() || self.schema.is_view(&name)) {
                return Err(self.unsupported(place, &format!("the use of `{name}`")));
            }
        }
        let mut count = CountLocks(0);
        let _ = statement.visit(&mut count);
        if count.0 != locks {
            let place = tokens.first().map_or(Location { line: 0, column: 0 }, |t| t.span.start);
            return Err(self.unsupported(place, "the locking clause"));
        }
        Ok(())
    }

    /// Returns the names behind words that stand before tables.
    fn table_places(&self, tokens: &[TokenWithSpan]) -> Vec<(Location, String)> {
        let mut places = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let before = ["FROM", "JOIN", "INTO", "UPDATE", "USING"];
            if !before.iter().any(|word| is_word(Some(token), word)) {
                continue;
            }
            let mut parts = Vec::new();
            for name in tokens[at + 1..].iter().step_by(2) {
                let Token::Word(word) = &name.token else { break };
                parts.push(names::fold(&word.value, word.quote_style.is_some(), self.server));
                let behind = tokens.get(at + 2 * parts.len()).map(|token| &token.token);
                if behind != Some(&Token::Period) {
                    break;
                }
            }
            if let Ok(name) = self.schema.name_of(&parts) {
                places.push((token.span.start, name));
            }
        }
        places
    }
}

/// Counts the locking clauses of a tree.
struct CountLocks(usize);

impl Visitor for CountLocks {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Tree) -> ControlFlow<()> {
        self.0 += query.locks.len();
        ControlFlow::Continue(())
    }
}
