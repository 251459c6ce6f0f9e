//! Brings the tokens of a query into a form that the parser understands.
//!
//! The parser knows fewer forms of some clauses than the servers do, and drops words of others.
//! Each clause is replaced by one that locks, reads and writes the same tables:
//!
//! - `FOR NO KEY UPDATE` is `FOR UPDATE`; `FOR KEY SHARE` and `LOCK IN SHARE MODE` are `FOR SHARE`;
//!   `WAIT 3` is `NOWAIT`; `OF a, b` are two clauses; a `LIMIT` behind the clause stands before it.
//! - `TABLE t` is `SELECT * FROM t`.
//! - `UPDATE a, b SET` is `UPDATE a JOIN b SET`.
//! - `ONLY t` is `t`: the table without those that inherit from it counts as the whole table.
//! - `LOW_PRIORITY`, `QUICK` and the like go, and so does `OVERRIDING … VALUE`.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};

use super::text::is_word;
use crate::api::Server;

/// The tokens of a query, and what was removed from them.
pub(super) struct Rewritten {
    /// The tokens.
    pub(super) tokens: Vec<TokenWithSpan>,
    /// The number of clauses that lock.
    pub(super) locks: usize,
    /// True if one of them is `FOR KEY SHARE`.
    pub(super) key_share: bool,
    /// True if the query skips rows that a unique key refuses: `UPDATE IGNORE`, `DELETE IGNORE`.
    pub(super) ignore: bool,
    /// True if the server chooses automatic numbers instead of the given ones.
    pub(super) overriding_user: bool,
}

/// Rewrites the tokens of a query.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>, server: Server) -> Rewritten {
    let mut out = Rewriter {
        tokens: &tokens,
        at: 0,
        in_targets: false,
        server,
        out: Rewritten {
            tokens: Vec::with_capacity(tokens.len()),
            locks: 0,
            key_share: false,
            ignore: false,
            overriding_user: false,
        },
    };
    while out.at < tokens.len() {
        out.step();
    }
    out.out
}

/// The reaction of a locking clause to a row that another transaction has locked.
#[derive(Clone, Copy)]
enum Wait {
    /// It waits.
    Unlimited,
    /// It fails, at once or after a time.
    Limited,
    /// It leaves the row out.
    Skips,
}

struct Rewriter<'a> {
    tokens: &'a [TokenWithSpan],
    at: usize,
    /// True between MySQL's `UPDATE` and `SET`.
    in_targets: bool,
    server: Server,
    out: Rewritten,
}

impl Rewriter<'_> {
    /// Returns true if these words stand at the place, `offset` tokens further.
    fn words(&self, offset: usize, words: &[&str]) -> bool {
        let at = self.at + offset;
        words.iter().enumerate().all(|(i, word)| is_word(self.tokens.get(at + i), word))
    }

    /// Returns true if the token, `offset` tokens further, is a name.
    fn is_name(&self, offset: usize) -> bool {
        matches!(self.tokens.get(self.at + offset).map(|token| &token.token), Some(Token::Word(_)))
    }

    /// Adds an unquoted word, at the place of the current token.
    fn push_word(&mut self, word: &str, keyword: Keyword) {
        let at = self.at.min(self.tokens.len() - 1);
        let word = Word { value: word.to_owned(), quote_style: None, keyword };
        let token = TokenWithSpan { token: Token::Word(word), span: self.tokens[at].span };
        self.out.tokens.push(token);
    }

    /// Rewrites what stands at the place.
    fn step(&mut self) {
        if self.server == Server::Mysql {
            self.in_targets |= self.words(0, &["UPDATE"]) && self.out.tokens.is_empty();
            self.in_targets &= !self.words(0, &["SET"]);
        }
        if let Some((keyword, length)) = self.lock_clause() {
            self.lock(keyword, length);
        } else if self.in_targets && self.joins_targets() {
            self.push_word("JOIN", Keyword::JOIN);
            self.at += 1;
        } else if self.words(0, &["TABLE"]) && self.is_name(1) && !self.after("INTO") {
            self.push_word("SELECT", Keyword::SELECT);
            let token = TokenWithSpan { token: Token::Mul, span: self.tokens[self.at].span };
            self.out.tokens.push(token);
            self.push_word("FROM", Keyword::FROM);
            self.at += 1;
        } else if !self.skip() {
            self.out.tokens.push(self.tokens[self.at].clone());
            self.at += 1;
        }
    }

    /// Returns true if a comma between two tables stands here, in no parentheses.
    fn joins_targets(&self) -> bool {
        let count =
            |sign: &Token| self.out.tokens.iter().filter(|token| token.token == *sign).count();
        self.tokens[self.at].token == Token::Comma && count(&Token::LParen) == count(&Token::RParen)
    }

    /// Returns true if the word stands before the place.
    fn after(&self, word: &str) -> bool {
        is_word(self.out.tokens.last(), word)
    }

    /// Skips words that say nothing about tables, if they stand at the place.
    fn skip(&mut self) -> bool {
        let skipped = match self.server {
            Server::Postgresql if self.words(0, &["OVERRIDING"]) && self.words(2, &["VALUE"]) => {
                self.out.overriding_user |= self.words(1, &["USER"]);
                3
            }
            Server::Postgresql => usize::from(self.words(0, &["ONLY"]) && self.is_name(1)),
            Server::Mysql if self.after("UPDATE") || self.after("DELETE") => {
                let ignore = self.words(0, &["IGNORE"]);
                self.out.ignore |= ignore;
                let modifier = ["LOW_PRIORITY", "QUICK"].iter().any(|word| self.words(0, &[word]));
                usize::from((ignore || modifier) && self.is_name(1))
            }
            _ => 0,
        };
        self.at += skipped;
        skipped > 0
    }

    /// Returns the kind of the locking clause that stands at the place, and the number of its first
    /// words.
    fn lock_clause(&self) -> Option<((&'static str, Keyword), usize)> {
        const UPDATE: (&str, Keyword) = ("UPDATE", Keyword::UPDATE);
        const SHARE: (&str, Keyword) = ("SHARE", Keyword::SHARE);
        let forms: [(&[&str], _); 5] = [
            (&["FOR", "UPDATE"], UPDATE),
            (&["FOR", "SHARE"], SHARE),
            (&["FOR", "NO", "KEY", "UPDATE"], UPDATE),
            (&["FOR", "KEY", "SHARE"], SHARE),
            (&["LOCK", "IN", "SHARE", "MODE"], SHARE),
        ];
        let form = forms.into_iter().find(|(words, _)| self.words(0, words));
        form.map(|(words, kind)| (kind, words.len()))
    }

    /// Rewrites a locking clause.
    fn lock(&mut self, (word, keyword): (&str, Keyword), length: usize) {
        let from = self.out.tokens.len();
        self.out.key_share |= self.words(0, &["FOR", "KEY", "SHARE"]);
        self.at += length;
        let names = self.lock_names();
        let wait = self.wait();
        for name in &names {
            self.out.locks += 1;
            self.push_word("FOR", Keyword::FOR);
            self.push_word(word, keyword);
            if !name.is_empty() {
                self.push_word("OF", Keyword::OF);
                self.out.tokens.extend_from_slice(name);
            }
            match wait {
                Wait::Unlimited => {}
                Wait::Limited => self.push_word("NOWAIT", Keyword::NOWAIT),
                Wait::Skips => {
                    self.push_word("SKIP", Keyword::SKIP);
                    self.push_word("LOCKED", Keyword::LOCKED);
                }
            }
        }
        self.move_limit(from);
    }

    /// Returns the names behind `OF`; one empty name if the clause has no `OF`.
    fn lock_names(&mut self) -> Vec<Vec<TokenWithSpan>> {
        if !self.words(0, &["OF"]) {
            return vec![Vec::new()];
        }
        let mut names = vec![Vec::new()];
        self.at += 1;
        while let Some(token) = self.tokens.get(self.at) {
            let last = names.last_mut().expect("there is always a last name");
            let ended = matches!(last.last(), Some(TokenWithSpan { token: Token::Word(_), .. }));
            match &token.token {
                Token::Word(_) if !ended => last.push(token.clone()),
                Token::Period if ended => last.push(token.clone()),
                Token::Comma if ended => names.push(Vec::new()),
                _ => break,
            }
            self.at += 1;
        }
        names
    }

    /// Skips what the clause says about waiting, and returns it.
    fn wait(&mut self) -> Wait {
        let (wait, length) = if self.words(0, &["SKIP", "LOCKED"]) {
            (Wait::Skips, 2)
        } else if self.words(0, &["NOWAIT"]) {
            (Wait::Limited, 1)
        } else if self.words(0, &["WAIT"]) {
            (Wait::Limited, 2)
        } else {
            (Wait::Unlimited, 0)
        };
        self.at += length;
        wait
    }

    /// Moves a `LIMIT` that stands behind the clause before it.
    fn move_limit(&mut self, from: usize) {
        if !["LIMIT", "OFFSET", "FETCH"].iter().any(|word| self.words(0, &[word])) {
            return;
        }
        let (mut depth, start) = (0usize, self.at);
        while let Some(token) = self.tokens.get(self.at) {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                _ if depth == 0 && self.lock_clause().is_some() => break,
                _ => {}
            }
            self.at += 1;
        }
        let limit = self.tokens[start..self.at].to_vec();
        self.out.tokens.splice(from..from, limit);
    }
}
