//! Statements that create a temporary table, which stands for a table of the same name.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{
    names,
    text::{self, is_word},
};
use crate::api::Server;

/// Returns the name of the temporary table or view that a text creates, without prefix.
pub(crate) fn temporary_table(text: &str, server: Server) -> Option<String> {
    let tokens = text::tokenize(text, server).ok()?;
    let tokens: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|token| !text::is_space(token)).collect();
    let is = |at: usize, word: &str| is_word(tokens.get(at), word);
    let is_temporary = |at: usize| is(at, "TEMP") || is(at, "TEMPORARY");
    let of = if is(0, "CREATE") {
        let of = (1..8).find(|&at| is(at, "TABLE") || is(at, "VIEW"))?;
        (1..of).any(is_temporary).then_some(of)?
    } else {
        (0..tokens.len()).find(|&at| is(at, "INTO") && is_temporary(at + 1)).map(|at| at + 1)?
    };
    let mut at = of + 1;
    while ["TABLE", "IF", "NOT", "EXISTS"].iter().any(|word| is(at, word)) {
        at += 1;
    }
    let mut name = None;
    while let Some(Token::Word(word)) = tokens.get(at).map(|token| &token.token) {
        name = Some(names::fold(&word.value, word.quote_style.is_some(), server));
        if tokens.get(at + 1).map(|token| &token.token) != Some(&Token::Period) {
            break;
        }
        at += 2;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_temporary_table_is_found() {
        let name = |text| temporary_table(text, Server::Postgresql);
        let t = Some("t".to_owned());
        assert_eq!(name("CREATE TEMP TABLE t (a int)"), t);
        assert_eq!(name("create local temporary table if not exists pg_temp.T as select 1"), t);
        assert_eq!(name("CREATE OR REPLACE TEMP VIEW t AS SELECT 1"), t);
        assert_eq!(name("SELECT a INTO TEMPORARY TABLE t FROM u"), t);
        assert_eq!(name("SELECT a INTO TEMP t FROM u"), t);
        assert_eq!(name("CREATE TABLE temp (a int)"), None);
        assert_eq!(name("INSERT INTO t VALUES (1)"), None);
    }
}
