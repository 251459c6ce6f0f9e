//! `CREATE TABLE` and `CREATE INDEX`: columns and constraints.
//!
//! The elements are read token by token, not by the parser, since each server has options that the
//! parser does not know, and since most of them say nothing about keys. An option that is not known
//! is skipped; a constraint that is not understood is an error.

use std::collections::BTreeSet;

use sqlparser::tokenizer::Token;

use super::{
    Action, Column, ForeignKey, Key, Table,
    cursor::{Cursor, write},
    resolve::Builder,
    routine::calls_of_default,
};
use crate::api::Server;

/// A message about what is wrong in a statement.
pub(super) type Message = String;

/// The words that end the type or the default of a column.
const OPTIONS: &[&str] = &[
    "CONSTRAINT",
    "NOT",
    "NULL",
    "DEFAULT",
    "PRIMARY",
    "KEY",
    "UNIQUE",
    "CHECK",
    "REFERENCES",
    "GENERATED",
    "AS",
    "AUTO_INCREMENT",
    "AUTOINCREMENT",
    "COLLATE",
    "COMMENT",
    "ON",
    "CHARSET",
    "INVISIBLE",
    "VISIBLE",
    "STORAGE",
    "COMPRESSION",
    "DEFERRABLE",
    "INITIALLY",
    "VIRTUAL",
    "STORED",
    "PERSISTENT",
    "FIRST",
    "AFTER",
];

/// The types of PostgreSQL that number rows.
const SERIAL: &[&str] = &["smallserial", "serial", "bigserial", "serial2", "serial4", "serial8"];

/// Returns the message about a part that is not understood.
pub(super) fn not_understood(part: &Cursor<'_>) -> Message {
    format!("`{}` is not understood: dump the schema from the server", write(part.rest()))
}

/// Returns true if an option of a column begins here.
fn is_option(part: &Cursor<'_>) -> bool {
    OPTIONS.contains(&part.keyword().as_str()) || part.is(&["CHARACTER", "SET"])
}

/// Returns the tokens up to the next option of a column, at least one.
fn until_option<'a>(part: &mut Cursor<'a>) -> Cursor<'a> {
    let start = part.at;
    part.skip();
    while !part.is_end() && !is_option(part) {
        part.skip();
    }
    let end = part.at.min(part.tokens.len());
    Cursor::new(&part.tokens[start.min(end)..end], part.server)
}

impl Builder {
    /// Adds the elements of a `CREATE TABLE`. Returns false if the columns are not all known.
    pub(super) fn elements(
        &self,
        table: &mut Table,
        elements: Cursor<'_>,
    ) -> Result<bool, Message> {
        let mut complete = true;
        let before = table.columns.len();
        for mut element in elements.list() {
            if element.eat(&["LIKE"]) {
                complete &= self.like(table, &mut element)?;
            } else if !self.constraint(table, &mut element)? {
                let is_timestamp = |column: &Column| column.ty.starts_with("timestamp");
                let first = !table.columns[before..].iter().any(is_timestamp);
                self.column(table, &mut element, first)?;
            }
        }
        Ok(complete)
    }

    /// Adds what `LIKE other` copies. Returns false if the other table is not known.
    pub(super) fn like(
        &self,
        table: &mut Table,
        element: &mut Cursor<'_>,
    ) -> Result<bool, Message> {
        let other = self.table_name(element)?;
        let Some(other) = self.schema.tables.get(&other) else { return Ok(false) };
        table.columns.extend(other.columns.iter().cloned());
        let keys = self.server == Server::Mysql
            || write(element.rest()).to_ascii_uppercase().contains("INCLUDING");
        if keys {
            table.primary_key = other.primary_key.clone();
            table.unique.extend(other.unique.iter().cloned());
            table.functions.extend(other.functions.iter().cloned());
            table.checks += other.checks;
        }
        table.outside.clone_from(&other.outside);
        Ok(!other.columns.is_empty())
    }

    /// Adds a constraint or an index of a table. Returns false if the element is none.
    pub(super) fn constraint(
        &self,
        table: &mut Table,
        element: &mut Cursor<'_>,
    ) -> Result<bool, Message> {
        let whole = *element;
        let name = if element.eat(&["CONSTRAINT"]) {
            let unnamed = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"];
            if unnamed.contains(&element.keyword().as_str()) { None } else { element.name() }
        } else {
            None
        };
        let mysql = self.server == Server::Mysql;
        if element.eat(&["PRIMARY", "KEY"]) {
            let key =
                self.key(table, name.clone(), element).ok_or_else(|| not_understood(&whole))?;
            for column in &mut table.columns {
                column.not_null |=
                    self.server != Server::Sqlite && key.columns.contains(&column.name);
            }
            let named = name.is_some();
            table.primary_key = Some(Key { name: key.name.filter(|_| named), ..key });
        } else if element.eat(&["UNIQUE"]) {
            element.eat_any(&["KEY", "INDEX"]);
            let key = self.key(table, name, element).ok_or_else(|| not_understood(&whole))?;
            table.unique.push(key);
        } else if element.eat(&["FOREIGN", "KEY"]) {
            let key = self.foreign_key(element).ok_or_else(|| not_understood(&whole))?;
            table.foreign_keys.push(key?);
        } else if element.is(&["CHECK"])
            && matches!(element.tokens.get(element.at + 1),
            Some(next) if next.token == Token::LParen)
        {
            table.checks += 1;
            table.functions.extend(calls_of_default(*element));
        } else if element.eat(&["EXCLUDE"]) {
            table.unique.push(Key { name, columns: Vec::new(), partial: true });
            if element.eat(&["USING"]) {
                element.name();
            }
            let columns = element.group().ok_or_else(|| not_understood(&whole))?;
            table.functions.extend(calls_of_default(columns));
            table.functions.extend(calls_of_condition(*element));
        } else {
            let index = ["KEY", "INDEX", "FULLTEXT", "SPATIAL"];
            let skipped = mysql && index.contains(&element.keyword().as_str())
                || element.is(&["PERIOD", "FOR"]);
            if whole.is(&["CONSTRAINT"]) && !skipped {
                let kinds = ["NOT"];
                let harmless = kinds.contains(&element.keyword().as_str());
                return if harmless { Ok(true) } else { Err(not_understood(&whole)) };
            }
            return Ok(skipped);
        }
        if self.server == Server::Sqlite && has_words(*element, &["ON", "CONFLICT"]) {
            return Err(format!("{}; `ON CONFLICT` is not supported", not_understood(&whole)));
        }
        Ok(true)
    }

    /// Returns the key whose columns stand here, perhaps behind the name of an index.
    fn key(&self, table: &Table, name: Option<String>, part: &mut Cursor<'_>) -> Option<Key> {
        if part.eat(&["USING", "INDEX"]) {
            let index = part.name()?;
            let found = table.unique.iter().find(|key| key.name.as_deref() == Some(&index))?;
            return Some(Key { name: name.or(Some(index)), ..found.clone() });
        }
        if part.eat(&["NULLS"]) {
            part.eat_any(&["NOT", "DISTINCT"]);
        }
        let mut index = None;
        if !matches!(part.peek(), Some(Token::LParen)) && !part.is(&["USING"]) {
            index = Some(part.name()?);
        }
        if part.eat(&["USING"]) {
            part.name()?;
        }
        let (columns, partial) = key_columns(part.group()?);
        Some(Key { name: name.or(index), columns, partial })
    }

    /// Returns the foreign key whose columns stand here. The inner error is about a name.
    fn foreign_key(&self, part: &mut Cursor<'_>) -> Option<Result<ForeignKey, Message>> {
        if !matches!(part.peek(), Some(Token::LParen)) {
            part.name()?;
        }
        let columns = part.names()?;
        part.eat(&["REFERENCES"]).then_some(())?;
        Some(self.reference(columns, part))
    }

    /// Returns the foreign key of the columns, whose `REFERENCES` stands before the place.
    fn reference(
        &self,
        columns: Vec<String>,
        part: &mut Cursor<'_>,
    ) -> Result<ForeignKey, Message> {
        let table = self.table_name(part)?;
        let referred = if matches!(part.peek(), Some(Token::LParen)) {
            part.names().ok_or_else(|| not_understood(part))?
        } else {
            Vec::new()
        };
        let mut key = ForeignKey { columns, table, referred, ..ForeignKey::default() };
        loop {
            if part.eat(&["ON", "DELETE"]) {
                key.on_delete = action(part).ok_or_else(|| not_understood(part))?;
            } else if part.eat(&["ON", "UPDATE"]) {
                key.on_update = action(part).ok_or_else(|| not_understood(part))?;
            } else if part.eat(&["MATCH"]) {
                part.skip();
            } else {
                return Ok(key);
            }
        }
    }

    /// Adds a column. `first` is true if no column of the statement before it is a `TIMESTAMP`:
    /// MySQL before 8.0 and MariaDB before 10.10 set the first one at each update by default, if it
    /// has no attributes (`explicit_defaults_for_timestamp = OFF`).
    pub(super) fn column(
        &self,
        table: &mut Table,
        part: &mut Cursor<'_>,
        first: bool,
    ) -> Result<(), Message> {
        let whole = *part;
        let mut column = Column::named(part.name().ok_or_else(|| not_understood(&whole))?);
        if !part.is_end() && !is_option(part) {
            column.ty = type_text(until_option(part));
        }
        if SERIAL.contains(&column.ty.as_str()) {
            (column.numbered, column.not_null) = (true, true);
            column.default_functions.insert("nextval".to_owned());
        }
        let mut plain = true;
        while !part.is_end() {
            let words = ["NULL", "DEFAULT", "GENERATED", "AS"];
            plain &= !words.contains(&part.keyword().as_str()) && !part.is(&["ON", "UPDATE"]);
            self.option(table, &mut column, part)?;
        }
        let is_timestamp = self.server == Server::Mysql && column.ty.starts_with("timestamp");
        column.on_update |= is_timestamp && first && plain;
        table.columns.push(column);
        Ok(())
    }

    /// Adds one option of a column.
    fn option(
        &self,
        table: &mut Table,
        column: &mut Column,
        part: &mut Cursor<'_>,
    ) -> Result<(), Message> {
        let own = vec![column.name.clone()];
        if part.eat(&["NOT", "NULL"]) {
            column.not_null = true;
        } else if part.eat(&["CONSTRAINT"]) {
            part.name();
        } else if part.eat(&["PRIMARY", "KEY"]) || part.eat(&["KEY"]) {
            column.not_null |= self.server != Server::Sqlite;
            table.primary_key = Some(Key { name: None, columns: own, partial: false });
            // Such a column of SQLite is not the number of the row.
            table.hidden_rowid |= self.server == Server::Sqlite && part.is(&["DESC"]);
        } else if part.eat(&["UNIQUE"]) {
            part.eat_any(&["KEY", "NULLS", "NOT", "DISTINCT"]);
            table.unique.push(Key { name: None, columns: own, partial: false });
        } else if part.eat(&["CHECK"]) {
            table.checks += 1;
            let condition = part.group().ok_or_else(|| not_understood(part))?;
            table.functions.extend(calls_of_default(condition));
        } else if part.eat(&["REFERENCES"]) {
            let key = self.reference(own, part)?;
            table.foreign_keys.push(key);
        } else if part.eat(&["DEFAULT"]) {
            set_default(column, until_option(part));
        } else if part.eat(&["AUTO_INCREMENT"]) || part.eat(&["AUTOINCREMENT"]) {
            column.numbered = true;
        } else if part.eat(&["INVISIBLE"]) {
            column.invisible = true;
        } else if part.eat(&["ON", "UPDATE"]) {
            column.on_update = true;
            part.skip();
        } else if part.is(&["ON", "CONFLICT"]) {
            return Err(format!("{}; `ON CONFLICT` is not supported", not_understood(part)));
        } else if part.is(&["GENERATED"]) || part.is(&["AS"]) {
            generated(column, part);
        } else {
            part.skip();
        }
        Ok(())
    }

    /// Adds the functions of a `CREATE INDEX`, whose words stand before the place, and its key if
    /// it is unique.
    pub(super) fn create_index(
        &mut self,
        mut part: Cursor<'_>,
        is_unique: bool,
    ) -> Result<(), Message> {
        let whole = part;
        part.eat_any(&["CONCURRENTLY"]);
        part.eat(&["IF", "NOT", "EXISTS"]);
        let name = if part.is(&["ON"]) { None } else { part.parts() };
        if part.eat(&["USING"]) {
            part.skip();
        }
        part.eat(&["ON"]).then_some(()).ok_or_else(|| not_understood(&whole))?;
        part.eat(&["ONLY"]);
        let table = self.table_name(&mut part)?;
        if part.eat(&["USING"]) {
            part.skip();
        }
        let group = part.group().ok_or_else(|| not_understood(&whole))?;
        let (columns, mut partial) = key_columns(group);
        partial |= part.rest().iter().any(|token| crate::sql::text::is_word(Some(token), "WHERE"));
        let key = Key { name: name.and_then(|mut parts| parts.pop()), columns, partial };
        let is_view = self.schema.is_view(&table);
        match self.schema.tables.get_mut(&table) {
            Some(table) => {
                // In MySQL only built-in functions may stand there, and lengths look like calls.
                if self.server != Server::Mysql {
                    table.functions.extend(calls_of_default(group));
                    table.functions.extend(calls_of_condition(part));
                }
                if is_unique {
                    table.unique.push(key);
                }
            }
            None if is_view => {}
            None => return Err(format!("there is no table `{table}`: put its DDL first")),
        }
        Ok(())
    }
}

/// Returns true if some words stand in a part, outside of parentheses.
fn has_words(mut part: Cursor<'_>, words: &[&str]) -> bool {
    while !part.is_end() && !part.is(words) {
        part.skip();
    }
    !part.is_end()
}

/// Returns the functions that the condition of an index or constraint calls.
fn calls_of_condition(mut part: Cursor<'_>) -> BTreeSet<String> {
    while !part.is_end() && !part.eat(&["WHERE"]) {
        part.skip();
    }
    calls_of_default(part)
}

/// Returns the text of a type in lower case.
fn type_text(ty: Cursor<'_>) -> String {
    let text = write(ty.rest()).to_lowercase();
    let signs = [(" ( ", "("), (" )", ")"), (" , ", ","), (" . ", "."), (" [ ", "["), (" ]", "]")];
    signs.iter().fold(text, |text, (wide, narrow)| text.replace(wide, narrow))
}

/// Sets the default of a column.
pub(super) fn set_default(column: &mut Column, value: Cursor<'_>) {
    column.default_functions = calls_of_default(value);
    column.numbered |= column.default_functions.contains("nextval");
}

/// Reads `GENERATED … AS …`, or `AS ( … )`.
pub(super) fn generated(column: &mut Column, part: &mut Cursor<'_>) {
    part.eat_any(&["GENERATED", "ALWAYS", "BY", "DEFAULT"]);
    part.eat(&["AS"]);
    if part.eat(&["IDENTITY"]) {
        (column.numbered, column.not_null) = (true, true);
    } else if let Some(expression) = part.group() {
        column.computed = true;
        column.default_functions = calls_of_default(expression);
        return;
    }
    part.group();
}

/// Returns the columns of a key, and true if it is not one of plain columns. The columns within an
/// expression are not returned.
fn key_columns(group: Cursor<'_>) -> (Vec<String>, bool) {
    let (mut columns, mut partial) = (Vec::new(), false);
    for mut part in group.list() {
        let name = part.name();
        let is_prefix = match { part }.group().map(|length| length.rest()) {
            Some([length]) => matches!(length.token, Token::Number(..)),
            _ => false,
        };
        let plain = part.rest().iter().all(|token| matches!(token.token, Token::Word(_)));
        let collates = part.rest().iter().any(|t| crate::sql::text::is_word(Some(t), "COLLATE"));
        partial |= !plain || collates || name.is_none();
        columns.extend(name.filter(|_| plain || is_prefix));
    }
    (columns, partial)
}

/// Returns what a foreign key does.
fn action(part: &mut Cursor<'_>) -> Option<Action> {
    let forms: [(&[&str], Action); 5] = [
        (&["CASCADE"], Action::Cascade),
        (&["SET", "NULL"], Action::SetNull),
        (&["SET", "DEFAULT"], Action::SetDefault),
        (&["NO", "ACTION"], Action::Refuse),
        (&["RESTRICT"], Action::Refuse),
    ];
    let (_, action) = forms.into_iter().find(|(words, _)| part.eat(words))?;
    if matches!(part.peek(), Some(Token::LParen)) {
        part.group();
    }
    Some(action)
}

/// Marks the columns for which SQLite chooses the number of the row: the only column of the primary
/// key, if its type is `INTEGER`. If there is none, the table has a number that no column shows.
pub(super) fn number_rows(table: &mut Table, without_rowid: bool) {
    let has_other_key = std::mem::take(&mut table.hidden_rowid);
    if without_rowid {
        return;
    }
    let key: BTreeSet<String> =
        table.primary_key.iter().flat_map(|key| key.columns.iter().cloned()).collect();
    let is_number = |column: &Column| {
        !has_other_key && key.len() == 1 && key.contains(&column.name) && column.ty == "integer"
    };
    table.hidden_rowid = !table.columns.iter().any(is_number);
    for column in table.columns.iter_mut().filter(|column| is_number(column)) {
        (column.numbered, column.not_null) = (true, true);
    }
}
