//! Functions, triggers, rules, and what their bodies and the queries of views may touch.
//!
//! A body is not parsed. Every name in it that is the name of a table counts as touched, and so
//! does every name at a place where a table stands (behind `FROM`, `JOIN`, `INSERT INTO`,
//! `UPDATE`). A body that executes a text, or calls something that is neither in the file nor in
//! the list of harmless functions, may touch all tables.

mod effects;
mod uses;
mod words;

use std::collections::BTreeSet;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{
    Event, Rule,
    cursor::Cursor,
    resolve::{Builder, DraftTrigger, is_sign},
    table::{Message, not_understood},
};
use crate::{
    api::Server,
    sql::{
        self, functions, names,
        text::{self, is_word, keyword},
    },
};

pub(super) use effects::Effects;
use uses::{Use, Uses};
use words::{BEGINNINGS, ENDS, LASTING, MESSAGES, NO_CALL, WRITING};

/// The body of a trigger or a rule.
pub(super) enum Body {
    /// A function that is called, by its name, and what stands around the call.
    Call(String, Vec<TokenWithSpan>),
    /// Statements.
    Tokens(Vec<TokenWithSpan>),
}

/// The body of a function.
pub(super) enum FunctionBody {
    /// Statements.
    Tokens(Vec<TokenWithSpan>),
    /// Something that is no SQL.
    Unknown,
}

/// A function.
pub(super) struct Routine {
    /// The tokens behind its name: the arguments and the result, for PostgreSQL.
    signature: Vec<TokenWithSpan>,
    body: FunctionBody,
}

/// The names in a body.
#[derive(Default)]
pub(super) struct Names {
    tables: BTreeSet<String>,
    /// The tables whose rows it reads, and not only changes.
    reads: BTreeSet<String>,
    /// The tables whose rows it inserts, updates or deletes.
    changes: BTreeSet<String>,
    calls: BTreeSet<String>,
    /// Those of the calls that are statements: of procedures.
    procedures: BTreeSet<String>,
    /// True if it may change rows of the tables.
    writes: bool,
    /// The functions that the server calls for the rows and values that it changes or makes.
    checks: BTreeSet<String>,
    /// True if it executes a text, or has an effect that is not followed.
    dynamic: bool,
    /// The word of a statement in it that may end the transaction.
    ends: Option<String>,
}

impl Names {
    /// Returns the functions that run: those that it calls, and those that check its values.
    fn all_calls(&self) -> BTreeSet<String> {
        self.calls.union(&self.checks).cloned().collect()
    }

    /// Adds tables that are used in a way.
    fn add(&mut self, used: Use, tables: impl IntoIterator<Item = String>) {
        for table in tables {
            if used.reads {
                self.reads.insert(table.clone());
            }
            if used.changes {
                self.changes.insert(table.clone());
            }
            self.tables.insert(table);
        }
    }
}

/// Returns the parts of the condition in the rest of an `UPDATE` or `DELETE` that all must hold,
/// but those with parentheses; `None` if there is no condition, or one of other operators than
/// `AND`.
fn parts_of_condition(rest: &[TokenWithSpan]) -> Option<Vec<&[TokenWithSpan]>> {
    const ENDS: &[&str] = &["END", "RETURNING", "ORDER", "LIMIT", "WHEN", "THEN"];
    const OTHERS: &[&str] = &["OR", "XOR", "NOT", "BETWEEN", "CASE"];
    let mut depth = 0i32;
    // Outside of parentheses; the statement ends at one that it has not opened.
    let mut top = Vec::new();
    for token in rest {
        depth += i32::from(token.token == Token::LParen);
        if depth < i32::from(token.token == Token::RParen) || token.token == Token::SemiColon {
            break;
        }
        top.push(depth == 0);
        depth -= i32::from(token.token == Token::RParen);
    }
    let is =
        |at: usize, words: &[&str]| top[at] && words.iter().any(|word| is_word(rest.get(at), word));
    let end = (0..top.len()).find(|&at| is(at, ENDS)).unwrap_or(top.len());
    let start = (0..end).find(|&at| is(at, &["WHERE"]))? + 1;
    if (start..end).any(|at| is(at, OTHERS)) {
        return None;
    }
    let mut ends: Vec<usize> = (start..end).filter(|&at| is(at, &["AND"])).collect();
    ends.push(end);
    let mut from = start;
    let mut parts = Vec::new();
    for to in ends {
        parts.push(&rest[from..to]);
        from = to + 1;
    }
    parts.retain(|part| !part.iter().any(|token| token.token == Token::LParen));
    Some(parts)
}

/// Returns the functions that a default calls.
pub(super) fn calls_of_default(value: Cursor<'_>) -> BTreeSet<String> {
    let (tokens, server) = (value.rest(), value.server);
    let mut calls = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let word = keyword(&token.token).unwrap_or_default().to_ascii_lowercase();
        let time = ["current", "local", "utc_"].iter().any(|start| word.starts_with(start));
        let text = token.token.to_string();
        let constant = ["now", "today", "tomorrow", "yesterday"];
        if time || ["user", "session_user"].contains(&word.as_str()) {
            calls.insert(word);
        } else if constant.contains(&text.trim_matches('\'').to_ascii_lowercase().as_str())
            && text.starts_with('\'')
        {
            calls.insert("now".to_owned());
        } else {
            calls.extend(session_variable(token, server));
            calls.extend(call_at(tokens, at, server));
            calls.extend(function_of_operator(token, server));
        }
    }
    calls
}

/// Returns the function of the program that an operator of SQLite calls.
fn function_of_operator(token: &TokenWithSpan, server: Server) -> Option<String> {
    let word = keyword(&token.token).filter(|_| server == Server::Sqlite)?;
    matches!(&*word, "REGEXP" | "MATCH").then(|| word.to_ascii_lowercase())
}

/// Returns the function that is called at a place, with its prefix.
fn call_at(tokens: &[TokenWithSpan], at: usize, server: Server) -> Option<String> {
    let Token::Word(word) = &tokens[at].token else { return None };
    let upper = word.value.to_ascii_uppercase();
    let no_call = word.quote_style.is_none() && NO_CALL.contains(&upper.as_str());
    if no_call || !is_sign(tokens.get(at + 1), &Token::LParen) {
        return None;
    }
    let mut parts = vec![names::fold(&word.value, word.quote_style.is_some(), server)];
    if at >= 2
        && is_sign(tokens.get(at - 1), &Token::Period)
        && let Token::Word(prefix) = &tokens[at - 2].token
    {
        parts.insert(0, names::fold(&prefix.value, prefix.quote_style.is_some(), server));
    }
    Some(names::function(&parts))
}

impl Builder {
    /// Returns what a body names.
    pub(super) fn names(&self, tokens: &[TokenWithSpan]) -> Names {
        let mut found = Names::default();
        let mut inserted = None;
        let mut uses = Uses::new(tokens, self.server);
        for (at, token) in tokens.iter().enumerate() {
            let Token::Word(word) = &token.token else { continue };
            let name = names::fold(&word.value, word.quote_style.is_some(), self.server);
            let is_known = |known: &&String| {
                let last = known.rsplit_once('.').map_or(known.as_str(), |(_, last)| last);
                **known == name || last == name
            };
            let known = self.schema.tables.keys().chain(self.schema.views.keys());
            let known: Vec<&String> = known.filter(is_known).collect();
            let mut used = uses.at(at);
            used.reads |= used.finds && !self.is_found_by_key(tokens, at, &known);
            found.add(used, known.into_iter().cloned());
            let upper = keyword(&token.token).unwrap_or_default();
            found.dynamic |= ["EXECUTE", "PREPARE"].contains(&upper.as_str());
            found.dynamic |= self.is_lasting(tokens, at);
            if ENDS.contains(&upper.as_str()) || LASTING.contains(&upper.as_str()) {
                found.ends.get_or_insert_with(|| upper.clone());
            }
            found.writes |=
                WRITING.contains(&upper.as_str()) && !is_sign(tokens.get(at + 1), &Token::LParen);
            if functions::is_time_without_parentheses(&upper) {
                found.calls.insert(upper.to_ascii_lowercase());
            }
            let into = upper == "INTO"
                && at > 0
                && tokens[..at].iter().rev().take(2).any(|before| {
                    ["INSERT", "REPLACE", "IGNORE"].iter().any(|word| is_word(Some(before), word))
                });
            if into || ["FROM", "JOIN", "UPDATE", "TRUNCATE"].contains(&upper.as_str()) {
                let unknown = self.table_behind(&tokens[at + 1..]);
                found.add(uses.behind(at, into), unknown);
            }
            if into {
                let mut name = Cursor::new(&tokens[at + 1..], self.server);
                name.parts();
                inserted = Some(at + name.at);
            }
            if upper == "CALL" {
                let mut part = Cursor::new(&tokens[at + 1..], self.server);
                let called = part.parts().map(|parts| names::function(&parts));
                found.procedures.extend(called.clone());
                found.calls.extend(called);
            } else if inserted != Some(at) {
                found.calls.extend(call_at(tokens, at, self.server));
                found.calls.extend(function_of_operator(token, self.server));
            }
        }
        found.checks = self.functions_of_types(tokens);
        let touched = found.tables.iter().flat_map(|name| self.functions_of_table(name));
        found.checks.extend(touched);
        let tables = &found.tables;
        found.calls.retain(|call| !tables.contains(call));
        found
    }

    /// Returns true if the `UPDATE` or `DELETE` whose table stands at a place finds at most one
    /// row, by equalities of a key with values that come from none of its rows.
    fn is_found_by_key(&self, tokens: &[TokenWithSpan], at: usize, tables: &[&String]) -> bool {
        let Some(parts) = parts_of_condition(&tokens[at + 1..]) else { return false };
        let is_own = |name: &str| {
            let mut known = tables.iter().filter_map(|table| self.schema.tables.get(*table));
            known.any(|table| table.column(name).is_some())
        };
        // The alias, or the name.
        let behind = tokens.get(at + 1).filter(|token| !is_word(Some(token), "AS"));
        let alias = if behind.is_some() { behind } else { tokens.get(at + 2) };
        let no_alias = ["SET", "WHERE", "FROM", "USING"];
        let alias = alias.filter(|token| !no_alias.iter().any(|word| is_word(Some(token), word)));
        let alias = alias.and_then(|token| self.name_of_token(token));
        let own = alias.or_else(|| self.name_of_token(&tokens[at]));
        let mut columns = BTreeSet::new();
        for part in parts {
            let sign = part.iter().position(|token| token.token == Token::Eq);
            let Some((column, value)) = sign.map(|sign| (&part[..sign], &part[sign + 1..])) else {
                continue;
            };
            let name = |tokens: &[TokenWithSpan]| match tokens {
                [.., one] => self.name_of_token(one),
                [] => None,
            };
            let is_given = match value {
                [_] => name(value).is_none_or(|name| !is_own(&name)),
                [row, dot, _] => {
                    let of_event = is_word(Some(row), "NEW") || is_word(Some(row), "OLD");
                    of_event && is_sign(Some(dot), &Token::Period)
                }
                _ => false,
            };
            let is_column = match column {
                [_] => true,
                [prefix, _, _] => self.name_of_token(prefix) == own,
                _ => false,
            };
            columns.extend(name(column).filter(|_| is_given && is_column));
        }
        !tables.is_empty() && tables.iter().all(|table| self.schema.is_key(table, &columns))
    }

    /// Returns true if a word begins a statement whose effect is not followed, or is a variable of
    /// MySQL's session.
    fn is_lasting(&self, tokens: &[TokenWithSpan], at: usize) -> bool {
        let Token::Word(word) = &tokens[at].token else { return false };
        if word.quote_style.is_some() {
            return false;
        }
        if self.server == Server::Mysql && word.value.starts_with('@') {
            return true;
        }
        let upper = word.value.to_ascii_uppercase();
        let next = tokens.get(at + 1).and_then(|token| keyword(&token.token)).unwrap_or_default();
        let begins = at == 0
            || is_sign(tokens.get(at - 1), &Token::SemiColon)
            || BEGINNINGS.iter().any(|word| is_word(tokens.get(at - 1), word));
        upper == "RAISE" && MESSAGES.contains(&next.as_str())
            || ["OUTFILE", "DUMPFILE"].contains(&upper.as_str())
            || begins && LASTING.contains(&upper.as_str())
    }

    /// Returns the table whose name stands here, if one does.
    fn table_behind(&self, tokens: &[TokenWithSpan]) -> Option<String> {
        let mut part = Cursor::new(tokens, self.server);
        part.eat_any(&["ONLY", "TABLE", "LATERAL"]);
        let keywords = ["SET", "SELECT", "OF", "ON", "OR", "NOWAIT", "SKIP"];
        if keywords.contains(&part.keyword().as_str()) {
            return None;
        }
        let parts = part.parts()?;
        let called = part.peek() == Some(&Token::LParen);
        let name = self.schema.name_of(&parts).ok()?;
        (!called || self.schema.tables.contains_key(&name) || parts.len() == 1).then_some(name)
    }

    /// Adds a function, whose `CREATE FUNCTION` stands before the place.
    pub(super) fn create_function(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        part.eat(&["IF", "NOT", "EXISTS"]);
        let parts = part.parts().ok_or_else(|| not_understood(&whole))?;
        let parts = self.with_prefix(parts);
        let signature = part.rest().to_vec();
        part.group();
        let body = self.function_body(part.rest());
        let last = parts.last().cloned().into_iter();
        let names = last.chain([names::function(&parts)]).collect();
        self.functions.push((names, Routine { signature, body }));
        Ok(())
    }

    /// Returns the body of a function from what stands behind its arguments.
    fn function_body(&self, tokens: &[TokenWithSpan]) -> FunctionBody {
        if self.server != Server::Postgresql {
            return FunctionBody::Tokens(tokens.to_vec());
        }
        let language = tokens.iter().position(|token| is_word(Some(token), "LANGUAGE"));
        let language = language
            .and_then(|at| tokens.get(at + 1))
            .map(|token| token.token.to_string().trim_matches(['\'', '"']).to_ascii_lowercase());
        if !matches!(language.as_deref(), Some("sql" | "plpgsql") | None) {
            return FunctionBody::Unknown;
        }
        let body = tokens.windows(2).find_map(|pair| match &pair[1].token {
            _ if !is_word(Some(&pair[0]), "AS") => None,
            Token::DollarQuotedString(body) => Some(body.value.clone()),
            Token::SingleQuotedString(body) | Token::EscapedStringLiteral(body) => {
                Some(body.clone())
            }
            _ => None,
        });
        let Some(body) = body else { return FunctionBody::Tokens(tokens.to_vec()) };
        match text::tokens_and_space(&body, self.server) {
            Ok(mut tokens) => {
                tokens.retain(|token| !text::is_space(token));
                FunctionBody::Tokens(tokens)
            }
            Err(_) => FunctionBody::Unknown,
        }
    }

    /// Adds an aggregate function, whose `CREATE AGGREGATE` stands before the place: it calls its
    /// support functions (`SFUNC = f`).
    pub(super) fn create_aggregate(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        let parts = part.parts().ok_or_else(|| not_understood(&whole))?;
        let parts = self.with_prefix(parts);
        let mut body = Vec::new();
        while let Some(group) = part.group() {
            for mut option in group.list() {
                let is_function = option.keyword().ends_with("FUNC");
                option.at += 1;
                if is_function && option.eat_token(&Token::Eq) {
                    body.extend_from_slice(option.rest());
                    body.extend([Token::LParen, Token::RParen].map(TokenWithSpan::wrap));
                }
            }
        }
        let last = parts.last().cloned().into_iter();
        let names = last.chain([names::function(&parts)]).collect();
        let routine = Routine { signature: Vec::new(), body: FunctionBody::Tokens(body) };
        self.functions.push((names, routine));
        Ok(())
    }

    /// Adds a trigger, whose `CREATE TRIGGER` stands before the place.
    pub(super) fn create_trigger(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        part.eat(&["IF", "NOT", "EXISTS"]);
        let name = part.parts().and_then(|mut parts| parts.pop());
        let name = name.ok_or_else(|| not_understood(&whole))?;
        let after = part.is(&["AFTER"]);
        let mut events = BTreeSet::new();
        while !part.is_end() && !part.is(&["ON"]) {
            events.extend(event(&part.keyword()));
            part.at += 1;
        }
        if events.is_empty() || !part.eat(&["ON"]) {
            return Err(not_understood(&whole));
        }
        let table = self.table_name(&mut part)?;
        self.check_table(&table)?;
        let rest = part.rest();
        let call = rest.windows(2).position(|pair| {
            let routine = ["FUNCTION", "PROCEDURE"].iter().any(|word| is_word(pair.get(1), word));
            is_word(pair.first(), "EXECUTE") && routine
        });
        let body = match call {
            Some(at) => {
                let mut called = Cursor::new(&rest[at + 2..], self.server);
                let function = called.parts().ok_or_else(|| not_understood(&whole))?;
                Body::Call(names::function(&function), rest[..at].to_vec())
            }
            None => Body::Tokens(rest.to_vec()),
        };
        self.triggers.push(DraftTrigger { name, table, events, after, body });
        Ok(())
    }

    /// Adds a rule, whose `CREATE RULE` stands before the place.
    pub(super) fn create_rule(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        let name = part.name().ok_or_else(|| not_understood(&whole))?;
        part.eat(&["AS"]);
        part.eat(&["ON"]);
        let event = event(&part.keyword()).ok_or_else(|| not_understood(&whole))?;
        part.at += 1;
        if !part.eat(&["TO"]) {
            return Err(not_understood(&whole));
        }
        let table = self.table_name(&mut part)?;
        self.check_table(&table)?;
        self.rules.push((Rule::unknown(name, table, event), part.rest().to_vec()));
        Ok(())
    }

    /// Returns the tables and views that the query of a view reads, the functions that it calls,
    /// and an error that the content of rows may cause.
    pub(super) fn view_reads(
        &self,
        query: &[TokenWithSpan],
    ) -> (BTreeSet<String>, BTreeSet<String>, Option<String>) {
        let query = Builder::without_options(query);
        let variables = query.iter().filter_map(|token| session_variable(token, self.server));
        let variables: BTreeSet<String> = variables.collect();
        if let Ok(Some(found)) = sql::analyze_tokens(query.to_vec(), self.server, &self.schema) {
            let functions = &found.functions | &variables;
            return (found.tables.into_keys().collect(), functions, found.fails);
        }
        let mut names = self.names(query);
        for (at, token) in query.iter().enumerate() {
            if token.token == Token::Comma {
                names.tables.extend(self.table_behind(&query[at + 1..]));
            }
        }
        let fails = "the query of a view may raise an error".to_owned();
        (names.tables, &names.calls | &variables, Some(fails))
    }
}

/// Returns the name of a variable of MySQL's session. It counts as a function that is not known:
/// what it depends on is not followed.
fn session_variable(token: &TokenWithSpan, server: Server) -> Option<String> {
    match &token.token {
        Token::Word(word) if server == Server::Mysql && word.quote_style.is_none() => {
            word.value.starts_with('@').then(|| word.value.to_ascii_lowercase())
        }
        Token::AtSign if server == Server::Mysql => Some("@".to_owned()),
        _ => None,
    }
}

/// Returns the event that a word means.
fn event(word: &str) -> Option<Event> {
    match word {
        "SELECT" => Some(Event::Select),
        "INSERT" => Some(Event::Insert),
        "UPDATE" => Some(Event::Update),
        "DELETE" => Some(Event::Delete),
        "TRUNCATE" => Some(Event::Truncate),
        _ => None,
    }
}
