//! Objects whose functions the server calls though no query names them: domains, operators, casts.

use std::collections::BTreeSet;

use sqlparser::tokenizer::Token;

use super::{
    Domain,
    cursor::{Cursor, write},
    resolve::Builder,
    routine::calls_of_default,
    table::{Message, not_understood},
};
use crate::sql::{functions, names};

impl Builder {
    /// Adds a domain, whose `CREATE DOMAIN` stands before the place.
    pub(super) fn create_domain(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        let name = part.parts().and_then(|mut parts| parts.pop());
        let name = name.ok_or_else(|| not_understood(&whole))?;
        part.eat(&["AS"]);
        let mut base = part;
        while !part.is_end()
            && !["COLLATE", "DEFAULT", "CONSTRAINT", "NOT", "NULL", "CHECK"]
                .contains(&part.keyword().as_str())
        {
            part.skip();
        }
        base = Cursor::new(&base.tokens[base.at..part.at.min(base.tokens.len())], self.server);
        let mut domain = Domain { base: last_of_type(&write(base.rest())), ..Domain::default() };
        while !part.is_end() {
            if part.eat(&["DEFAULT"]) {
                let start = part.at;
                while !part.is_end()
                    && !["CONSTRAINT", "NOT", "CHECK"].contains(&part.keyword().as_str())
                {
                    part.skip();
                }
                let end = part.at.min(part.tokens.len());
                let value = Cursor::new(&part.tokens[start.min(end)..end], self.server);
                domain.default_functions.extend(calls_of_default(value));
            } else if part.eat(&["CHECK"]) {
                let condition = part.group().ok_or_else(|| not_understood(&whole))?;
                domain.checks = true;
                domain.functions.extend(calls_of_default(condition));
            } else {
                domain.checks |= part.is(&["NOT", "NULL"]);
                part.skip();
            }
        }
        self.schema.domains.insert(name.to_lowercase(), domain);
        Ok(())
    }

    /// Applies an `ALTER DOMAIN`, which stands before the place.
    pub(super) fn alter_domain(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        let name = part.parts().and_then(|mut parts| parts.pop());
        let name = name.ok_or_else(|| not_understood(&whole))?.to_lowercase();
        let Some(domain) = self.schema.domains.get_mut(&name) else {
            return Err(format!("there is no domain `{name}`: put its DDL first"));
        };
        if part.is(&["SET", "NOT", "NULL"]) {
            domain.checks = true;
        } else if part.eat(&["ADD"]) {
            domain.checks = true;
            domain.functions.extend(calls_of_default(part));
        } else if part.is(&["RENAME"])
            || part.is(&["SET", "SCHEMA"])
            || part.is(&["SET", "DEFAULT"])
        {
            return Err(not_understood(&whole));
        }
        Ok(())
    }

    /// Adds an operator, whose `CREATE OPERATOR` stands before the place. Classes and families of
    /// operators only name functions of indexes, which compare values.
    pub(super) fn create_operator(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        if part.is(&["CLASS"]) || part.is(&["FAMILY"]) {
            return Ok(());
        }
        let mut sign = String::new();
        while let Some(token) = part.peek()
            && *token != Token::LParen
        {
            // A prefix stands before a period.
            sign = if *token == Token::Period { String::new() } else { sign + &token.to_string() };
            part.at += 1;
        }
        let options = part.group().ok_or_else(|| not_understood(&whole))?;
        for mut option in options.list() {
            if option.eat(&["FUNCTION"]) || option.eat(&["PROCEDURE"]) {
                option.eat_token(&Token::Eq);
                let function = option.parts().ok_or_else(|| not_understood(&whole))?;
                let functions = self.schema.operators.entry(sign.clone()).or_default();
                functions.insert(names::function(&function));
            }
        }
        Ok(())
    }

    /// Adds the function of a cast, whose `CREATE CAST` stands before the place.
    pub(super) fn create_cast(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        part.group().ok_or_else(|| not_understood(&whole))?;
        if part.eat(&["WITH", "FUNCTION"]) {
            let function = part.parts().ok_or_else(|| not_understood(&whole))?;
            self.schema.casts.insert(names::function(&function));
        }
        Ok(())
    }

    /// Gives domains what the domains have that they are based on, and columns what their domains
    /// have.
    pub(super) fn resolve_domains(&mut self) {
        let domains = self.schema.domains.clone();
        let mut whole = domains.clone();
        for domain in whole.values_mut() {
            let mut seen = BTreeSet::new();
            while let Some(base) = domains.get(&domain.base) {
                if !seen.insert(domain.base.clone()) {
                    break;
                }
                domain.functions.extend(base.functions.iter().cloned());
                domain.default_functions.extend(base.default_functions.iter().cloned());
                domain.checks |= base.checks;
                domain.base.clone_from(&base.base);
            }
        }
        for table in self.schema.tables.values_mut() {
            for column in &mut table.columns {
                let Some(domain) = whole.get(&last_of_type(&column.ty)) else { continue };
                table.functions.extend(domain.functions.iter().cloned());
                table.checks += usize::from(domain.checks);
                if column.default_functions.is_empty() {
                    column.default_functions.clone_from(&domain.default_functions);
                }
            }
        }
        self.schema.domains = whole;
    }

    /// Leaves out the functions of casts that use neither tables nor the session, once all
    /// functions are known.
    pub(super) fn resolve_casts(&mut self) {
        let all = std::mem::take(&mut self.schema.casts).into_iter();
        let schema = &self.schema;
        let is_used = |name: &String| {
            !functions::uses_no_table(name, schema) || schema.inherited_by(name).next().is_some()
        };
        self.schema.casts = all.filter(is_used).collect();
    }
}

/// Returns the name of a type in lower case, without prefix, quotes, and the signs of an array.
pub(super) fn last_of_type(ty: &str) -> String {
    let name = ty.split(['[', '(']).next().unwrap_or_default().trim();
    let last = name.rsplit('.').next().unwrap_or_default();
    last.trim().trim_matches('"').to_lowercase()
}
