//! Policies of PostgreSQL's row-level security.
//!
//! Their conditions are read for every query of the table, and checked for every new row. The roles
//! and commands for which a policy holds are not looked at.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{
    Event, Rule,
    cursor::Cursor,
    resolve::{Builder, is_sign},
    table::{Message, not_understood},
};
use crate::sql::{self, Columns, names, text};

impl Builder {
    /// Adds a policy, whose `CREATE POLICY` stands before the place.
    pub(super) fn create_policy(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        let name = part.name().ok_or_else(|| not_understood(&whole))?;
        part.eat(&["ON"]).then_some(()).ok_or_else(|| not_understood(&whole))?;
        let table = self.table_name(&mut part)?;
        self.check_table(&table)?;
        let mut conditions = Vec::new();
        while !part.is_end() {
            if part.eat(&["USING"]) || part.eat(&["WITH", "CHECK"]) {
                let tokens = part.rest();
                part.group().ok_or_else(|| not_understood(&whole))?;
                if !conditions.is_empty() {
                    conditions.push(TokenWithSpan::wrap(Token::make_keyword("AND")));
                }
                conditions.extend_from_slice(&tokens[..tokens.len() - part.rest().len()]);
            } else {
                part.skip();
            }
        }
        let conditions = self.without_prefix(&table, &conditions);
        let columns = self.named_columns(&table, &conditions);
        let rule = Rule { columns, policy: true, ..Rule::unknown(name, table, Event::Select) };
        self.rules.push((rule, conditions));
        Ok(())
    }

    /// Returns a condition without the name of its table in front of columns (`t.c`).
    fn without_prefix(&self, table: &str, condition: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
        let own = table.rsplit('.').next().unwrap_or(table);
        let mut left = Vec::new();
        let mut at = 0;
        while let Some(token) = condition.get(at) {
            let is_prefix = self.name_of_token(token).is_some_and(|name| name == own)
                && is_sign(condition.get(at + 1), &Token::Period)
                && !is_sign(condition.get(at + 2), &Token::Mul);
            at += if is_prefix { 2 } else { 1 };
            left.extend((!is_prefix).then(|| token.clone()));
        }
        left
    }

    /// Returns the name that a token is.
    pub(super) fn name_of_token(&self, token: &TokenWithSpan) -> Option<String> {
        match &token.token {
            Token::Word(word) => {
                Some(names::fold(&word.value, word.quote_style.is_some(), self.server))
            }
            _ => None,
        }
    }

    /// Returns the columns of a table that a condition may read: those whose names it has, and all
    /// if it has the name of the table, which may stand for the row.
    fn named_columns(&self, table: &str, condition: &[TokenWithSpan]) -> Columns {
        let known = self.schema.tables.get(table).filter(|known| !known.columns.is_empty());
        let Some(known) = known else { return Columns::All };
        let own = table.rsplit('.').next().unwrap_or(table);
        let mut columns = Columns::default();
        for name in condition.iter().filter_map(|token| self.name_of_token(token)) {
            if name == own {
                return Columns::All;
            }
            if known.column(&name).is_some() {
                columns.add(&name);
            }
        }
        columns
    }

    /// Returns an error that the condition of a policy may raise because of the content of rows.
    pub(super) fn policy_fails(&self, rule: &Rule, condition: &[TokenWithSpan]) -> Option<String> {
        if condition.is_empty() {
            return None;
        }
        let begin = format!("SELECT 1 FROM {} WHERE", rule.table);
        let mut tokens = text::tokenize(&begin, self.server).unwrap_or_default();
        tokens.extend_from_slice(condition);
        match sql::analyze_tokens(tokens, self.server, &self.schema) {
            Ok(Some(query)) => query.fails,
            _ => Some(format!("the policy `{}` may raise an error", rule.name)),
        }
    }
}
