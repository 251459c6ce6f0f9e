//! A place in the tokens of a statement.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::{
    api::Server,
    sql::{names, text},
};

/// A place in the tokens of a statement, which moves forwards.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) tokens: &'a [TokenWithSpan],
    pub(super) at: usize,
    pub(super) server: Server,
}

impl<'a> Cursor<'a> {
    /// Returns the beginning of tokens.
    pub(super) fn new(tokens: &'a [TokenWithSpan], server: Server) -> Cursor<'a> {
        Cursor { tokens, at: 0, server }
    }

    /// Returns the token at the place.
    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at).map(|token| &token.token)
    }

    /// Returns the rest of the tokens.
    pub(super) fn rest(&self) -> &'a [TokenWithSpan] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    /// Returns true if there is no further token.
    pub(super) fn is_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Returns the unquoted word at the place, in upper case; an empty text if there is none.
    pub(super) fn keyword(&self) -> String {
        self.peek().and_then(text::keyword).unwrap_or_default()
    }

    /// Returns true if these words stand at the place.
    pub(super) fn is(&self, words: &[&str]) -> bool {
        let mut at = self.at..;
        words
            .iter()
            .all(|word| at.next().is_some_and(|at| text::is_word(self.tokens.get(at), word)))
    }

    /// Moves behind these words, if they stand at the place.
    pub(super) fn eat(&mut self, words: &[&str]) -> bool {
        let found = self.is(words);
        self.at += if found { words.len() } else { 0 };
        found
    }

    /// Moves behind any of these words, as long as one stands at the place.
    pub(super) fn eat_any(&mut self, words: &[&str]) {
        while words.iter().any(|word| self.eat(&[word])) {}
    }

    /// Moves behind a token, if it stands at the place.
    pub(super) fn eat_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    /// Moves behind a name and returns it.
    pub(super) fn name(&mut self) -> Option<String> {
        let name = match self.peek()? {
            Token::Word(word) => names::fold(&word.value, word.quote_style.is_some(), self.server),
            // The shell of SQLite writes the names of the tables of its modules so.
            Token::SingleQuotedString(name) if self.server == Server::Sqlite => {
                names::fold(name, true, self.server)
            }
            _ => return None,
        };
        self.at += 1;
        Some(name)
    }

    /// Moves behind a name with its prefixes and returns the parts.
    pub(super) fn parts(&mut self) -> Option<Vec<String>> {
        let mut parts = vec![self.name()?];
        while self.eat_token(&Token::Period) {
            parts.push(self.name()?);
        }
        Some(parts)
    }

    /// Moves behind `( … )` and returns what stands between.
    pub(super) fn group(&mut self) -> Option<Cursor<'a>> {
        self.between(&Token::LParen, &Token::RParen)
    }

    /// Moves behind what these signs enclose and returns it.
    fn between(&mut self, open: &Token, close: &Token) -> Option<Cursor<'a>> {
        if self.peek() != Some(open) {
            return None;
        }
        let mut depth = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at) {
            if token.token == *open {
                depth += 1;
            } else if token.token == *close {
                depth -= 1;
            }
            if depth == 0 {
                let inner = Cursor::new(&self.tokens[self.at + 1..at], self.server);
                self.at = at + 1;
                return Some(inner);
            }
        }
        None
    }

    /// Moves behind one token, or behind a whole `( … )` or `[ … ]`.
    pub(super) fn skip(&mut self) {
        if self.group().is_none() && self.between(&Token::LBracket, &Token::RBracket).is_none() {
            self.at += 1;
        }
    }

    /// Returns the parts of the rest between the commas that stand in no parentheses.
    pub(super) fn list(mut self) -> Vec<Cursor<'a>> {
        let (mut parts, mut start) = (Vec::new(), self.at);
        loop {
            let comma = self.peek() == Some(&Token::Comma);
            if comma || self.is_end() {
                parts.push(Cursor::new(&self.tokens[start..self.at], self.server));
                start = self.at + 1;
            }
            if self.is_end() {
                parts.retain(|part| !part.is_end());
                return parts;
            }
            self.skip();
            self.at = self.at.min(self.tokens.len());
        }
    }

    /// Moves behind a list of names in parentheses and returns them.
    pub(super) fn names(&mut self) -> Option<Vec<String>> {
        self.group()?.list().into_iter().map(|mut part| part.name()).collect()
    }
}

/// Returns the text of tokens.
pub(super) fn write(tokens: &[TokenWithSpan]) -> String {
    let words: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
    words.join(" ")
}
