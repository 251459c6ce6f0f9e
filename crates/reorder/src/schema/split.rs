//! The statements of a DDL file.
//!
//! Strings, quoted names and comments are recognised by the rules of each server, so that a `;` in
//! one of them ends no statement. The lines for the shells of the servers (`\connect`, `DELIMITER`,
//! `.mode`) and the data behind a `COPY … FROM stdin` are skipped. The content of MySQL's
//! conditional comments (`/*!40101 … */`) is part of the statement.

use sqlparser::tokenizer::TokenWithSpan;

use super::{BadSchema, cursor};
use crate::{api::Server, sql::text};

/// The version from which on MySQL's conditional comments are comments: no server has it.
const NEVER: u64 = 999_999;

/// A statement.
pub(super) struct Statement {
    /// The line of the file in which it begins.
    pub(super) line: usize,
    /// Its tokens, without white space and comments.
    pub(super) tokens: Vec<TokenWithSpan>,
}

impl Statement {
    /// Returns an error about the statement.
    pub(super) fn bad(&self, message: impl Into<String>) -> BadSchema {
        let text = cursor::write(&self.tokens);
        BadSchema { line: self.line, text: beginning(&text), message: message.into() }
    }
}

/// Returns the beginning of a text, in one line.
fn beginning(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(12).collect();
    words.join(" ").chars().take(100).collect()
}

/// Splits a DDL file into its statements.
///
/// # Errors
/// [`BadSchema`] if a statement, other than one about data, is no sequence of tokens.
pub(super) fn split(ddl: &str, server: Server) -> Result<Vec<Statement>, BadSchema> {
    let mut splitter = Splitter {
        text: ddl,
        at: 0,
        server,
        delimiter: ";".to_owned(),
        conditional: 0,
        out: String::new(),
        line: 1,
        first_line: 1,
        words: Vec::new(),
        depth: 0,
        closes_case: false,
        parentheses: 0,
        found: Vec::new(),
    };
    splitter.run();
    let mut statements = Vec::new();
    for (line, text) in splitter.found {
        match text::tokens_and_space(&text, server) {
            Ok(tokens) => {
                let tokens = tokens.into_iter().filter(|token| !text::is_space(token)).collect();
                statements.push(Statement { line, tokens });
            }
            Err(bad) => {
                let first = text.split_whitespace().next().unwrap_or_default();
                let data = ["insert", "replace", "comment", "set", "update", "select"];
                if !data.contains(&first.to_ascii_lowercase().as_str()) {
                    let last = ddl.lines().count().max(1);
                    let line = (line + bad.line.saturating_sub(1)).min(last);
                    let message = bad.message;
                    return Err(BadSchema { line, text: beginning(&text), message });
                }
            }
        }
    }
    Ok(statements)
}

struct Splitter<'a> {
    text: &'a str,
    at: usize,
    server: Server,
    delimiter: String,
    /// The number of conditional comments around the place.
    conditional: usize,
    /// The text of the statement so far.
    out: String,
    /// The line of the place, and that of the statement's first token.
    line: usize,
    first_line: usize,
    /// The first words of the statement, in upper case.
    words: Vec<String>,
    /// The number of `BEGIN` and `CASE` around the place, in a routine.
    depth: usize,
    /// True if the next word is the `CASE` of an `END CASE`.
    closes_case: bool,
    /// The number of parentheses around the place, in a rule.
    parentheses: usize,
    found: Vec<(usize, String)>,
}

impl Splitter<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Moves behind the next `length` bytes and adds them to the statement, if `keep`; else their
    /// line ends.
    fn take(&mut self, length: usize, keep: bool) {
        let taken = &self.text[self.at..self.at + length];
        if self.out.trim().is_empty() && keep && !taken.trim().is_empty() {
            self.out.clear();
            self.first_line = self.line;
        }
        let lines = taken.bytes().filter(|&byte| byte == b'\n').count();
        if keep {
            self.out.push_str(taken);
        } else {
            self.out.push(' ');
            self.out.extend(std::iter::repeat_n('\n', lines));
        }
        self.line += lines;
        self.at += length;
    }

    /// Returns the length of the rest up to and with a text; of the whole rest without it.
    fn through(&self, from: usize, end: &str) -> usize {
        let rest = self.rest();
        rest[from..].find(end).map_or(rest.len(), |found| from + found + end.len())
    }

    fn run(&mut self) {
        let mut at_line_start = true;
        while self.at < self.text.len() {
            let before = self.at;
            // MySQL's shell knows `DELIMITER` behind other statements of a line as well.
            let may_begin = at_line_start || self.server == Server::Mysql;
            if may_begin && self.out.trim().is_empty() && self.shell_line() {
                continue;
            }
            if !self.comment() && !self.quoted() && !self.end() && !self.word() {
                let length = self.rest().chars().next().map_or(1, char::len_utf8);
                self.take(length, true);
            }
            at_line_start = self.text[before..self.at].ends_with('\n')
                || at_line_start && self.text[before..self.at].trim().is_empty();
        }
        self.finish();
    }

    /// Skips a line for the server's shell.
    fn shell_line(&mut self) -> bool {
        let length = self.through(0, "\n");
        let line = self.rest()[..length].trim();
        let delimiter = line.get(..10).filter(|word| word.eq_ignore_ascii_case("delimiter "));
        match self.server {
            Server::Mysql if delimiter.is_some() => self.delimiter = line[10..].trim().to_owned(),
            Server::Postgresql if line.starts_with('\\') => {}
            Server::Sqlite if line.starts_with('.') => {}
            _ => return false,
        }
        self.take(length, false);
        true
    }

    /// Skips a comment, or one end of a conditional comment.
    fn comment(&mut self) -> bool {
        let (rest, mysql) = (self.rest(), self.server == Server::Mysql);
        let dashes = rest.starts_with("--")
            && (!mysql || rest[2..].chars().next().is_none_or(|next| next.is_whitespace()));
        let length = if dashes || mysql && rest.starts_with('#') {
            rest.find('\n').unwrap_or(rest.len())
        } else if mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) {
            let from = if rest.starts_with("/*!") { 3 } else { 4 };
            let digits = rest[from..].bytes().take_while(u8::is_ascii_digit).count();
            let version: u64 = rest[from..from + digits].parse().unwrap_or(0);
            if version >= NEVER {
                self.through(from, "*/")
            } else {
                self.conditional += 1;
                from + digits
            }
        } else if self.conditional > 0 && rest.starts_with("*/") {
            self.conditional -= 1;
            2
        } else if rest.starts_with("/*") {
            self.block_comment()
        } else {
            return false;
        };
        self.take(length, false);
        true
    }

    /// Returns the length of a comment in `/* … */`, which nests in PostgreSQL.
    fn block_comment(&self) -> usize {
        if self.server != Server::Postgresql {
            return self.through(2, "*/");
        }
        let (rest, mut at, mut depth) = (self.rest(), 0, 0usize);
        loop {
            if rest[at..].starts_with("/*") {
                depth += 1;
                at += 2;
            } else if rest[at..].starts_with("*/") {
                depth -= 1;
                at += 2;
            } else {
                at += rest[at..].chars().next().map_or(0, char::len_utf8);
            }
            if depth == 0 || at >= rest.len() {
                return at;
            }
        }
    }

    /// Takes a string or a quoted name.
    fn quoted(&mut self) -> bool {
        let rest = self.rest();
        let before = self.out.chars().last();
        let length = match rest.chars().next() {
            Some(quote @ ('\'' | '"' | '`')) => self.string(quote),
            Some('[') if self.server == Server::Sqlite => self.through(1, "]"),
            Some('$') if self.server == Server::Postgresql && !before.is_some_and(is_part) => {
                let Some(tag) = dollar_tag(rest) else { return false };
                self.through(tag.len(), tag)
            }
            _ => return false,
        };
        self.take(length, true);
        true
    }

    /// Returns the length of a string or name in quotes. Two quotes in it are two strings, one
    /// behind the other, which has the same end.
    fn string(&self, quote: char) -> usize {
        let mut last = self.out.chars().rev();
        let escapes = match self.server {
            Server::Mysql => quote != '`',
            Server::Postgresql => {
                quote == '\''
                    && matches!(last.next(), Some('e' | 'E'))
                    && !last.next().is_some_and(is_part)
            }
            Server::Sqlite => false,
        };
        let (rest, mut escaped) = (self.rest(), false);
        for (at, sign) in rest.char_indices().skip(1) {
            if !escaped && sign == quote {
                return at + 1;
            }
            escaped = escapes && !escaped && sign == '\\';
        }
        rest.len()
    }

    /// Ends the statement, if its delimiter stands here.
    fn end(&mut self) -> bool {
        if self.words.iter().take(4).any(|word| word == "RULE") {
            match self.rest().bytes().next() {
                Some(b'(') => self.parentheses += 1,
                Some(b')') => self.parentheses = self.parentheses.saturating_sub(1),
                _ => {}
            }
        }
        let in_body = (self.depth > 0 || self.parentheses > 0) && self.delimiter == ";";
        if in_body || !self.rest().starts_with(&self.delimiter) {
            return false;
        }
        let length = self.delimiter.len();
        self.take(length, false);
        let copies = self.words.first().is_some_and(|word| word == "COPY")
            && self.out.to_ascii_lowercase().contains("from stdin");
        self.finish();
        if copies && self.server == Server::Postgresql {
            let length = self.through(0, "\n\\.");
            self.take(length, false);
            self.out.clear();
        }
        true
    }

    /// Takes a word, and counts what opens and closes the bodies of routines.
    fn word(&mut self) -> bool {
        let rest = self.rest();
        let length = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
        if length == 0 {
            return false;
        }
        let word = rest[..length].to_ascii_uppercase();
        let next = rest[length..].trim_start();
        let next = &next[..next.find(|sign| !is_part(sign)).unwrap_or(next.len())];
        let next = next.to_ascii_uppercase();
        self.take(length, true);
        const ROUTINES: [&str; 4] = ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"];
        let creates = self.words.first().is_some_and(|first| first == "CREATE");
        if creates && self.words.iter().any(|word| ROUTINES.contains(&word.as_str())) {
            let closes_other = ["IF", "LOOP", "WHILE", "REPEAT"].contains(&next.as_str());
            match word.as_str() {
                "CASE" if self.closes_case => self.closes_case = false,
                "BEGIN" | "CASE" => self.depth += 1,
                "END" if !closes_other => {
                    self.closes_case = next == "CASE";
                    self.depth = self.depth.saturating_sub(1);
                }
                _ => {}
            }
        }
        if self.words.len() < 20 {
            self.words.push(word);
        }
        true
    }

    fn finish(&mut self) {
        let text = std::mem::take(&mut self.out);
        if !text.trim().is_empty() {
            self.found.push((self.first_line, text));
        }
        self.words.clear();
        self.depth = 0;
        self.closes_case = false;
        self.parentheses = 0;
    }
}

/// Returns true if the sign may be part of a name.
fn is_part(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_' || sign == '$'
}

/// Returns the `$tag$` with which a text begins.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 1;
    let tag = &text[1..end];
    let name = tag.chars().all(|sign| sign.is_alphanumeric() || sign == '_')
        && !tag.starts_with(|sign: char| sign.is_ascii_digit());
    name.then_some(&text[..=end])
}
