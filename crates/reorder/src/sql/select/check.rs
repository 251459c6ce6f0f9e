//! The check that nothing of the text was lost.

use sqlparser::{
    ast::{Spanned, Statement},
    tokenizer::{Location, Token, TokenWithSpan},
};

use super::{
    super::{
        BadQuery, names,
        text::is_word,
        walk::{self, Part},
    },
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
        let mut locks_of_tree = 0;
        walk::walk(statement, |part| {
            match part {
                Part::Query(query) => locks_of_tree += query.locks.len(),
                Part::Relation(name) => {
                    let is_known = self.table_name(name).is_ok_and(|table| known(&table))
                        || self.parts(name).is_ok_and(|parts| {
                            known(&names::function(&parts))
                                || parts.last().is_some_and(|last| known(last))
                        });
                    if !is_known {
                        let what = format!("the use of `{name}`");
                        return Err(self.unsupported(name.span().start, &what));
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        for (place, name) in self.table_places(tokens) {
            if !known(&name) && (self.schema.table(&name).is_some() || self.schema.is_view(&name)) {
                return Err(self.unsupported(place, &format!("the use of `{name}`")));
            }
        }
        if locks_of_tree != locks {
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
