//! Statements that end the transaction though they are no `COMMIT` or `ROLLBACK`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::text::{self, is_word, keyword};
use crate::{api::Server, schema::Schema, sql::names};

/// The words with which the statements begin before which MySQL commits.
const COMMITTING: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "CACHE",
    "CHANGE",
    "CHECK",
    "CREATE",
    "DROP",
    "EXECUTE",
    "FLUSH",
    "GRANT",
    "IMPORT",
    "INSTALL",
    "LOCK",
    "OPTIMIZE",
    "RENAME",
    "REPAIR",
    "RESET",
    "REVOKE",
    "STOP",
    "TRUNCATE",
    "UNINSTALL",
    "UNLOCK",
    "XA",
];

/// The words with which the statements begin that end a transaction, among several in one text.
const ENDING: &[&str] = &["ABORT", "BEGIN", "COMMIT", "END", "ROLLBACK", "START"];

/// Returns, as a predicate, how a text, which is neither a query nor a `COMMIT` or `ROLLBACK`
/// alone, may end the transaction, if it may.
pub(crate) fn commits(text: &str, server: Server, schema: &Schema) -> Option<String> {
    let tokens = text::tokenize(text, server).ok()?;
    let tokens: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|token| !text::is_space(token)).collect();
    let statements: Vec<&[TokenWithSpan]> = tokens
        .split(|token| token.token == Token::SemiColon)
        .filter(|one| !one.is_empty())
        .collect();
    let several = statements.len() > 1;
    statements.iter().find_map(|one| {
        let first = one.first().and_then(|token| keyword(&token.token)).unwrap_or_default();
        if server == Server::Mysql && first == "CALL" {
            return call_commits(one, schema);
        }
        let ends = several && ENDING.contains(&first.as_str())
            || match server {
                Server::Mysql => commits_in_mysql(one, &first),
                Server::Postgresql => first == "PREPARE" && is_word(one.get(1), "TRANSACTION"),
                Server::Sqlite => false,
            };
        ends.then(|| "commits".to_owned())
    })
}

/// Returns true if MySQL may commit for a statement that begins with a word.
fn commits_in_mysql(tokens: &[TokenWithSpan], first: &str) -> bool {
    let has = |word: &str| tokens.iter().any(|token| is_word(Some(token), word));
    match first {
        "CREATE" | "DROP" => !is_word(tokens.get(1), "TEMPORARY"),
        "SET" => has("PASSWORD") || has("AUTOCOMMIT") && !switches_off(tokens),
        "LOAD" => !has("DATA") && !has("XML"),
        word => COMMITTING.contains(&word),
    }
}

/// Returns how the procedure that a `CALL` names may commit, if it may.
fn call_commits(tokens: &[TokenWithSpan], schema: &Schema) -> Option<String> {
    let mut parts = Vec::new();
    for token in tokens.iter().skip(1).step_by(2) {
        let Token::Word(word) = &token.token else { break };
        let quoted = word.quote_style.is_some();
        parts.push(names::fold(&word.value, quoted, Server::Mysql));
        let behind = tokens.get(2 * parts.len()).map(|token| &token.token);
        if behind != Some(&Token::Period) {
            break;
        }
    }
    let name = names::function(&parts);
    match schema.function(&name) {
        Some(_) => schema.commits.get(&name).cloned(),
        None => Some(format!("may commit: the schema does not define `{name}`")),
    }
}

/// Returns true if a `SET autocommit` switches it off, which commits nothing.
fn switches_off(tokens: &[TokenWithSpan]) -> bool {
    let Some(last) = tokens.last() else { return false };
    let text = last.token.to_string().trim_matches(['\'', '"']).to_ascii_lowercase();
    ["0", "off", "false"].contains(&text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn statements_before_which_mysql_commits_are_found() {
        let ddl = "CREATE TABLE t (a int);
            CREATE PROCEDURE keeps() INSERT INTO t VALUES (1);
            CREATE PROCEDURE ends() BEGIN DELETE FROM t; COMMIT; END;
            CREATE PROCEDURE calls() CALL ends();";
        let schema = schema::parse(ddl, Server::Mysql).unwrap();
        let commits = |text| commits(text, Server::Mysql, &schema).is_some();
        for text in [
            "CREATE TABLE u (a int)",
            "truncate t",
            "DROP TABLE t",
            "LOCK TABLES t WRITE",
            "SET autocommit = 1",
            "SET SESSION autocommit=ON",
            "CALL ends()",
            "CALL calls",
            "CALL other()",
            "CALL shop.keeps()",
            "DELETE FROM t; COMMIT; DELETE FROM t",
        ] {
            assert!(commits(text), "{text}");
        }
        for text in [
            "CREATE TEMPORARY TABLE u (a int)",
            "DROP TEMPORARY TABLE u",
            "SET autocommit = 0",
            "SET @a = 1",
            "CALL keeps()",
            "LOAD DATA INFILE 'x' INTO TABLE t",
            "SAVEPOINT a",
            "DELETE FROM t; DELETE FROM t",
        ] {
            assert!(!commits(text), "{text}");
        }
    }

    #[test]
    fn other_servers_commit_only_at_the_end_of_a_transaction() {
        let schema = Schema::default();
        let commits = |text, server, schema| commits(text, server, schema).is_some();
        assert!(!commits("CREATE TABLE u (a int)", Server::Postgresql, &schema));
        assert!(commits("PREPARE TRANSACTION 'a'", Server::Postgresql, &schema));
        assert!(!commits("PREPARE a AS SELECT 1", Server::Postgresql, &schema));
        assert!(commits("SELECT 1; ROLLBACK;", Server::Sqlite, &schema));
        assert!(!commits("PRAGMA user_version", Server::Sqlite, &schema));
    }
}
