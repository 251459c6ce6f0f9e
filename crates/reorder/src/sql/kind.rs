//! The kind of a statement, as far as its first words tell.

use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::{
    BadQuery, QueryKind,
    text::{bad_at, keyword},
};

/// The words with which a statement begins that is parsed.
const PARSED: &[&str] =
    &["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "REPLACE", "UPDATE", "DELETE"];

/// The words with which other statements begin.
const OTHER: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECK",
    "CHECKPOINT",
    "CHECKSUM",
    "CLOSE",
    "CLUSTER",
    "COMMENT",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DESC",
    "DESCRIBE",
    "DETACH",
    "DISCARD",
    "DO",
    "DROP",
    "EXEC",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "FLUSH",
    "GET",
    "GRANT",
    "HANDLER",
    "IMPORT",
    "INSTALL",
    "KILL",
    "LISTEN",
    "LOAD",
    "LOCK",
    "MERGE",
    "MOVE",
    "NOTIFY",
    "OPTIMIZE",
    "PRAGMA",
    "PREPARE",
    "PURGE",
    "REASSIGN",
    "REFRESH",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPAIR",
    "RESET",
    "RESIGNAL",
    "REVOKE",
    "SAVEPOINT",
    "SECURITY",
    "SET",
    "SHOW",
    "SIGNAL",
    "STOP",
    "TRUNCATE",
    "UNINSTALL",
    "UNLISTEN",
    "UNLOCK",
    "USE",
    "VACUUM",
    "XA",
];

/// The words that may follow a `BEGIN` or `START TRANSACTION`; with others it is something else.
const MODES: &[&str] = &[
    "WORK",
    "TRANSACTION",
    "DEFERRED",
    "IMMEDIATE",
    "EXCLUSIVE",
    "ISOLATION",
    "LEVEL",
    "SERIALIZABLE",
    "REPEATABLE",
    "READ",
    "COMMITTED",
    "UNCOMMITTED",
    "WRITE",
    "ONLY",
    "NOT",
    "DEFERRABLE",
    "WITH",
    "CONSISTENT",
    "SNAPSHOT",
];

/// Returns the kind of a statement that need not be parsed; `None` for one that must be.
///
/// # Errors
/// [`BadQuery`] if no statement begins like this.
pub(super) fn by_first_words(tokens: &[TokenWithSpan]) -> Result<Option<QueryKind>, BadQuery> {
    let at = tokens.first().map_or(Location { line: 1, column: 1 }, |token| token.span.start);
    let first = tokens.iter().find(|token| token.token != Token::LParen);
    let first = first.and_then(|token| keyword(&token.token)).unwrap_or_default();
    let words: Vec<String> =
        tokens.iter().skip(1).map(|token| keyword(&token.token).unwrap_or_default()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let in_parentheses = tokens.first().is_some_and(|token| token.token == Token::LParen);
    Ok(match first.as_str() {
        word if PARSED.contains(&word) => None,
        _ if in_parentheses => return Err(no_statement(at)),
        "BEGIN" => Some(if has_modes(tokens, 1) { QueryKind::Begin } else { QueryKind::Other }),
        "START" => Some(match words.first() {
            Some(&"TRANSACTION") if has_modes(tokens, 2) => QueryKind::Begin,
            _ => QueryKind::Other,
        }),
        "COMMIT" | "END" => {
            Some(if ends_only(&words) { QueryKind::Commit } else { QueryKind::Other })
        }
        "ROLLBACK" | "ABORT" => {
            Some(if ends_only(&words) { QueryKind::Rollback } else { QueryKind::Other })
        }
        word if OTHER.contains(&word) => Some(QueryKind::Other),
        _ => return Err(no_statement(at)),
    })
}

fn no_statement(at: Location) -> BadQuery {
    bad_at(at, "no SQL statement that the tool knows begins like this: correct the SQL text")
}

/// Returns true if only modes of a transaction stand behind the first words.
fn has_modes(tokens: &[TokenWithSpan], first_words: usize) -> bool {
    tokens.iter().skip(first_words).all(|token| match &token.token {
        Token::Comma => true,
        token => keyword(token).is_some_and(|word| MODES.contains(&word.as_str())),
    })
}

/// Returns true if a `COMMIT` or `ROLLBACK` with these words behind it ends the transaction and
/// does nothing more.
fn ends_only(words: &[&str]) -> bool {
    let words = match words {
        ["WORK" | "TRANSACTION", rest @ ..] => rest,
        words => words,
    };
    matches!(
        words,
        [] | ["AND", "NO", "CHAIN"] | ["NO", "RELEASE"] | ["AND", "NO", "CHAIN", "NO", "RELEASE"]
    )
}
