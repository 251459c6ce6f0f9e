//! The use of a table that a body names: it reads rows, or changes rows, or both.
//!
//! A name counts as read wherever it stands, but at these places:
//! - behind `INSERT INTO` and the like, `UPDATE` and `DELETE FROM` stands the table whose rows
//!   change;
//! - behind `NEW.` and `OLD.`, and in the list of columns of an `INSERT`, stands a column;
//! - before a `.` stands a table or alias that the statement names elsewhere, or a prefix.
//!
//! An `UPDATE` and a `DELETE` find the rows that they change. That counts as read as well, unless
//! the condition names a key of the table: the one row that has it is locked, or is none. In MySQL
//! an `UPDATE` may change all tables that it names before its `SET`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::{api::Server, schema::resolve::is_sign, sql::text::is_word};

/// The way in which a body uses a table at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Use {
    pub(super) reads: bool,
    pub(super) changes: bool,
    /// True if it finds the rows that it changes by a condition.
    pub(super) finds: bool,
}

const READS: Use = Use { reads: true, changes: false, finds: false };
const INSERTS: Use = Use { reads: false, changes: true, finds: false };
const FINDS: Use = Use { reads: false, changes: true, finds: true };
const BOTH: Use = Use { reads: true, changes: true, finds: true };

/// Words that may stand between the word of a statement and its table.
const MODIFIERS: &[&str] =
    &["DELAYED", "HIGH_PRIORITY", "IGNORE", "LATERAL", "LOW_PRIORITY", "ONLY", "QUICK", "TABLE"];

/// Words before an `UPDATE` that begins no statement.
const NO_UPDATE: &[&str] = &["AFTER", "BEFORE", "DO", "FOR", "KEY", "ON", "OR"];

/// The uses of tables in the tokens of a body, which are asked for in the order of the tokens.
pub(super) struct Uses<'a> {
    tokens: &'a [TokenWithSpan],
    server: Server,
    /// The end of the last list of columns of an `INSERT`.
    listed: usize,
    /// The place up to which `in_targets` is known, and whether that is between an `UPDATE` and its
    /// `SET`, or in MySQL between a `DELETE` and its `FROM`.
    seen: usize,
    in_targets: bool,
    in_deletion: bool,
}

impl<'a> Uses<'a> {
    pub(super) fn new(tokens: &'a [TokenWithSpan], server: Server) -> Uses<'a> {
        Uses { tokens, server, listed: 0, seen: 0, in_targets: false, in_deletion: false }
    }

    /// Returns true if one of the words stands before a place.
    fn after(&self, at: usize, words: &[&str]) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        words.iter().any(|word| is_word(before, word))
    }

    /// Returns the use of the table whose name, or the last part of it, stands at a place.
    pub(super) fn at(&mut self, at: usize) -> Use {
        self.follow(at);
        let mut start = at;
        while start >= 2 && is_sign(self.tokens.get(start - 1), &Token::Period) {
            if self.after(start - 1, &["NEW", "OLD"]) {
                return Use::default();
            }
            start -= 2;
        }
        if at < self.listed || is_sign(self.tokens.get(at + 1), &Token::Period) {
            return Use::default();
        }
        self.of_statement(self.before_modifiers(start), at + 1)
    }

    /// Returns the place of the first of the modifiers before a place, or the place.
    fn before_modifiers(&self, mut at: usize) -> usize {
        while self.after(at, MODIFIERS) {
            at -= 1;
        }
        at
    }

    /// Returns the use of a table that stands behind the word at a place. `into` is true if the
    /// word is the `INTO` of an `INSERT`.
    pub(super) fn behind(&self, at: usize, into: bool) -> Use {
        match into {
            true => INSERTS,
            false if is_word(self.tokens.get(at), "UPDATE") => FINDS,
            false if self.after(self.before_modifiers(at), &["DELETE"]) => FINDS,
            false => READS,
        }
    }

    /// Follows whether the tokens up to a place stand between an `UPDATE` and its `SET`.
    fn follow(&mut self, at: usize) {
        for seen in self.seen..at {
            let token = self.tokens.get(seen);
            self.in_targets |= is_word(token, "UPDATE") && !self.after(seen, NO_UPDATE);
            self.in_targets &= !is_word(token, "SET") && !is_sign(token, &Token::SemiColon);
            self.in_deletion |= self.server == Server::Mysql && is_word(token, "DELETE");
            self.in_deletion &= !is_word(token, "FROM") && !is_sign(token, &Token::SemiColon);
        }
        self.seen = self.seen.max(at);
    }

    /// Returns the use of the table that stands from `start` up to `end`.
    fn of_statement(&mut self, start: usize, end: usize) -> Use {
        let before = |back: usize| start.checked_sub(back).and_then(|at| self.tokens.get(at));
        let insert = |back: usize| {
            let words = ["INSERT", "REPLACE"];
            words.iter().any(|word| is_word(before(back), word))
        };
        let into = is_word(before(1), "INTO");
        if insert(1) || into && (2..5).any(insert) {
            self.listed = self.end_of_list(end);
            return INSERTS;
        }
        if into && is_word(before(2), "MERGE") {
            return BOTH;
        }
        let from = start.saturating_sub(1);
        let deletes =
            is_word(before(1), "FROM") && self.after(self.before_modifiers(from), &["DELETE"]);
        // SQLite: `UPDATE OR FAIL`; `IGNORE` is one of the modifiers.
        let or = |back: usize| is_word(before(back), "OR") && is_word(before(back + 1), "UPDATE");
        let updates = is_word(before(1), "UPDATE") || or(1) || or(2);
        let in_targets = self.in_targets || self.in_deletion;
        match in_targets || deletes || is_word(before(1), "DELETE") {
            true if updates || deletes => FINDS,
            true if self.server == Server::Mysql => BOTH,
            _ => READS,
        }
    }

    /// Returns the end of the list in parentheses that begins at a place.
    fn end_of_list(&self, start: usize) -> usize {
        let mut depth = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(start) {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 || is_word(Some(token), "SELECT") {
                return at;
            }
        }
        self.tokens.len()
    }
}
