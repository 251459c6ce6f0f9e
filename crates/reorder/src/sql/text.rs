//! The tokens of an SQL text, its parameters, and its statements.

use std::collections::BTreeMap;

use sqlparser::{
    dialect::{Dialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect},
    tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word},
};

use super::BadQuery;
use crate::api::Server;

/// The number of tokens above which a text is refused: chains of operators become trees of this
/// depth.
const MAXIMUM_TOKENS: usize = 5_000;

/// The highest number of a parameter: what PostgreSQL's protocol can express.
const MAXIMUM_PARAMETER: usize = 65_535;

/// Returns the dialect of a server.
pub(crate) fn dialect(server: Server) -> Box<dyn Dialect> {
    match server {
        Server::Postgresql => Box::new(PostgreSqlDialect {}),
        Server::Mysql => Box::new(MySqlDialect {}),
        Server::Sqlite => Box::new(SQLiteDialect {}),
    }
}

/// Returns an error at a place of the text.
pub(crate) fn bad_at(at: Location, message: impl Into<String>) -> BadQuery {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    BadQuery { line: number(at.line), column: number(at.column), message: message.into() }
}

/// Returns the tokens of a text, with its white space and comments.
pub(crate) fn tokens_and_space(text: &str, server: Server) -> Result<Vec<TokenWithSpan>, BadQuery> {
    let dialect = dialect(server);
    Tokenizer::new(&*dialect, text).tokenize_with_location().map_err(|error| {
        let message = format!("{}: correct the SQL", error.message);
        bad_at(error.location, message)
    })
}

/// Returns the tokens of a text with its white space and comments, as far as the text is not too
/// long for a statement of a program.
pub(crate) fn tokenize(text: &str, server: Server) -> Result<Vec<TokenWithSpan>, BadQuery> {
    let tokens = tokens_and_space(text, server)?;
    check_length(&tokens)?;
    Ok(tokens)
}

/// Refuses a text that is too long for a statement of a program.
pub(crate) fn check_length(tokens: &[TokenWithSpan]) -> Result<(), BadQuery> {
    match tokens.get(MAXIMUM_TOKENS) {
        Some(token) => Err(bad_at(
            token.span.start,
            format!("the SQL has more than {MAXIMUM_TOKENS} words and signs: split it"),
        )),
        None => Ok(()),
    }
}

/// Returns true if the token is white space or a comment.
pub(crate) fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// Returns the unquoted word of a token, in upper case.
pub(crate) fn keyword(token: &Token) -> Option<String> {
    match token {
        Token::Word(Word { value, quote_style: None, .. }) => Some(value.to_ascii_uppercase()),
        _ => None,
    }
}

/// Returns true if the token is one unquoted word, given in upper case.
pub(crate) fn is_word(token: Option<&TokenWithSpan>, word: &str) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(found)) => {
            found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word)
        }
        _ => false,
    }
}

/// Removes the white space, and replaces each parameter by `$N`, where `N` is its number counted
/// from 1. Returns the tokens and the number of parameters.
pub(crate) fn number_parameters(
    tokens: Vec<TokenWithSpan>,
    server: Server,
) -> Result<(Vec<TokenWithSpan>, usize), BadQuery> {
    let (mut out, mut numbers) = (Vec::with_capacity(tokens.len()), Numbers::default());
    let mut all = tokens.into_iter().peekable();
    while let Some(mut token) = all.next() {
        if let Some(mark @ (":" | "@")) = mark(&token.token)
            && server == Server::Sqlite
            && let Some(name) = all.next_if(|next| !is_space(next))
        {
            token.token = Token::Placeholder(format!("{mark}{}", name.token));
        }
        if let Token::Placeholder(text) = &token.token {
            let number = numbers.of(text, server).ok_or_else(|| {
                let message = format!("`{text}` is no parameter of this server: correct the SQL");
                bad_at(token.span.start, message)
            })?;
            token.token = Token::Placeholder(format!("${number}"));
        }
        if !is_space(&token) {
            out.push(token);
        }
    }
    Ok((out, numbers.last))
}

/// Returns the sign with which a named parameter of SQLite begins.
fn mark(token: &Token) -> Option<&'static str> {
    match token {
        Token::Colon => Some(":"),
        Token::AtSign => Some("@"),
        _ => None,
    }
}

/// The numbers that parameters have got.
#[derive(Default)]
struct Numbers {
    last: usize,
    by_name: BTreeMap<String, usize>,
}

impl Numbers {
    /// Returns the number of a parameter, counted from 1.
    fn of(&mut self, text: &str, server: Server) -> Option<usize> {
        let number = match (server, text) {
            (Server::Mysql | Server::Sqlite, "?") => self.last + 1,
            (Server::Postgresql, _) => text.strip_prefix('$')?.parse().ok()?,
            (Server::Mysql, _) => return None,
            (Server::Sqlite, _) => match text.strip_prefix('?') {
                Some(digits) => digits.parse().ok()?,
                None => *self.by_name.entry(text.to_owned()).or_insert(self.last + 1),
            },
        };
        self.last = self.last.max(number);
        (1..=MAXIMUM_PARAMETER).contains(&number).then_some(number)
    }
}

/// Removes `;` at the end. Returns true if there is not more than one statement.
pub(crate) fn single_statement(tokens: &mut Vec<TokenWithSpan>) -> bool {
    while tokens.last().is_some_and(|token| token.token == Token::SemiColon) {
        tokens.pop();
    }
    !tokens.iter().any(|token| token.token == Token::SemiColon)
}

/// Returns true if the text uses what only MySQL's session knows: a session variable, or a comment
/// that some versions execute.
pub(crate) fn has_session_state(text: &str, tokens: &[TokenWithSpan], server: Server) -> bool {
    let variable = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.value.starts_with('@'),
        Token::AtSign => true,
        _ => false,
    };
    server == Server::Mysql
        && (text.contains("/*!") || text.contains("/*M!") || tokens.iter().any(variable))
}
