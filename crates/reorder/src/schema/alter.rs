//! `ALTER TABLE` and `DROP`, as far as dumps use them.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{
    Column, Table,
    cursor::Cursor,
    resolve::{Builder, outside_of_engine},
    routine::calls_of_default,
    table::{Message, generated, not_understood, set_default},
};
use crate::sql::text::{is_word, keyword};

/// The first words of the actions of an `ALTER TABLE` that change nothing the tool knows of.
const HARMLESS: &[&str] = &[
    "OWNER",
    "ENABLE",
    "DISABLE",
    "CLUSTER",
    "REPLICA",
    "SET",
    "RESET",
    "FORCE",
    "NO",
    "VALIDATE",
    "AUTO_INCREMENT",
    "COMMENT",
    "CONVERT",
    "CHARACTER",
    "COLLATE",
    "ORDER",
    "LOCK",
    "ALGORITHM",
    "WITHOUT",
];

/// The kinds of objects whose `ALTER` changes nothing the tool knows of, unless it changes the name
/// or the body.
const KINDS: &[&str] = &[
    "AGGREGATE",
    "COLLATION",
    "CONVERSION",
    "DATABASE",
    "DEFAULT",
    "EVENT",
    "EXTENSION",
    "FOREIGN",
    "FUNCTION",
    "GROUP",
    "INDEX",
    "LANGUAGE",
    "LARGE",
    "MATERIALIZED",
    "OPERATOR",
    "POLICY",
    "PROCEDURAL",
    "PROCEDURE",
    "PUBLICATION",
    "ROLE",
    "ROUTINE",
    "RULE",
    "SCHEMA",
    "SEQUENCE",
    "SERVER",
    "STATISTICS",
    "SUBSCRIPTION",
    "SYSTEM",
    "TABLESPACE",
    "TEXT",
    "TRIGGER",
    "TYPE",
    "USER",
    "VIEW",
];

/// The words of an `ALTER` of another object than a table that change its name or its body.
const CHANGES: &[&str] = &["RENAME", "AS", "USING", "CHECK"];

impl Builder {
    /// Applies an `ALTER`, which stands before the place.
    pub(super) fn alter_object(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        part.eat(&["ONLINE"]);
        part.eat(&["IGNORE"]);
        if part.eat(&["TABLE"]) || part.eat(&["FOREIGN", "TABLE"]) {
            return self.alter_table(part);
        }
        if part.is(&["TYPE"]) && part.rest().iter().any(|token| is_word(Some(token), "ATTRIBUTE")) {
            part.eat(&["TYPE"]);
            return self.note_type(part);
        }
        if part.eat(&["DOMAIN"]) {
            return self.alter_domain(part);
        }
        let mut view = part;
        if view.eat(&["VIEW"]) {
            view.eat(&["IF", "EXISTS"]);
            let name = self.table_name(&mut view)?;
            self.alter_view(&name, view);
        }
        let changes_it = |token: &TokenWithSpan| {
            CHANGES.contains(&keyword(&token.token).unwrap_or_default().as_str())
        };
        let moves =
            |pair: &[TokenWithSpan]| is_word(pair.first(), "SET") && is_word(pair.get(1), "SCHEMA");
        let changes = part.rest().iter().any(changes_it) || part.rest().windows(2).any(moves);
        match KINDS.contains(&part.keyword().as_str()) && !changes {
            true => Ok(()),
            false => Err(not_understood(&whole)),
        }
    }

    /// Notes the functions of a default that a view gets for a column.
    fn alter_view(&mut self, name: &str, mut action: Cursor<'_>) {
        action.eat(&["ALTER"]);
        action.eat(&["COLUMN"]);
        action.name();
        if action.eat(&["SET", "DEFAULT"])
            && let Some(view) = self.schema.views.get_mut(name)
        {
            view.default_functions.extend(calls_of_default(action));
        }
    }

    /// Applies an `ALTER TABLE`, whose words stand before the place.
    pub(super) fn alter_table(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        part.eat(&["IF", "EXISTS"]);
        part.eat(&["ONLY"]);
        let name = self.table_name(&mut part)?;
        part.eat_token(&Token::Mul);
        let rest = Cursor::new(part.rest(), self.server);
        if self.schema.is_view(&name) {
            rest.list().into_iter().for_each(|action| self.alter_view(&name, action));
            return Ok(());
        }
        for action in rest.list() {
            self.alter(&name, action)?;
        }
        self.check_columns(&name)
    }

    /// Applies one action of an `ALTER TABLE`.
    fn alter(&mut self, name: &str, mut action: Cursor<'_>) -> Result<(), Message> {
        let whole = action;
        if HARMLESS.contains(&action.keyword().as_str()) && !action.is(&["SET", "SCHEMA"]) {
            return Ok(());
        }
        let Some(mut table) = self.schema.tables.get(name).cloned() else {
            return Err(format!("there is no table `{name}`: put its DDL first"));
        };
        if action.eat(&["ENGINE"]) {
            table.outside = outside_of_engine(&mut action);
        } else if action.eat(&["ADD"]) {
            if !self.constraint(&mut table, &mut action)? && !self.is_index(&action) {
                action.eat(&["COLUMN"]);
                action.eat(&["IF", "NOT", "EXISTS"]);
                match action.group() {
                    Some(columns) => drop(self.elements(&mut table, columns)?),
                    None => {
                        self.column(&mut table, &mut action, true)?;
                        place(&mut table, whole);
                    }
                }
            }
        } else if action.eat(&["ALTER"]) {
            action.eat(&["COLUMN"]);
            let column = action.name().ok_or_else(|| not_understood(&whole))?;
            if table.column(&column).is_none() {
                // Dumps give inherited columns their defaults so.
                let mut columns = self.inherited(&table, 30);
                columns.retain(|one| table.column(&one.name).is_none());
                table.columns.splice(0..0, columns);
            }
            let column = table.columns.iter_mut().find(|one| one.name == column);
            let column = column.ok_or_else(|| not_understood(&whole))?;
            alter_column(column, action).ok_or_else(|| not_understood(&whole))?;
        } else if action.eat(&["ATTACH", "PARTITION"]) {
            let child = self.table_name(&mut action)?;
            let child = self.schema.tables.get_mut(&child);
            let child = child.ok_or_else(|| not_understood(&whole))?;
            child.partition_of.insert(name.to_owned());
        } else if action.eat(&["INHERIT"]) {
            table.inherits.insert(self.table_name(&mut action)?);
        } else if action.eat(&["MODIFY"]) {
            action.eat(&["COLUMN"]);
            self.modify(&mut table, &mut action)?;
            if whole.rest().iter().any(|token| is_word(Some(token), "FIRST"))
                || whole.rest().iter().any(|token| is_word(Some(token), "AFTER"))
            {
                return Err(not_understood(&whole));
            }
        } else {
            return Err(not_understood(&whole));
        }
        self.schema.tables.insert(name.to_owned(), table);
        Ok(())
    }

    /// Returns the columns that a table has from those above it, in their order. Stops after some
    /// levels.
    fn inherited(&self, table: &Table, levels: usize) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        let above = table.above();
        let parents = above.iter().filter_map(|name| self.schema.tables.get(*name));
        for parent in parents.filter(|_| levels > 0) {
            let all = self.inherited(parent, levels - 1).into_iter();
            for column in all.chain(parent.columns.iter().cloned()) {
                if columns.iter().all(|one| one.name != column.name) {
                    columns.push(column);
                }
            }
        }
        columns
    }

    /// Returns true if the action adds an index that is no key.
    fn is_index(&self, action: &Cursor<'_>) -> bool {
        ["INDEX", "FULLTEXT", "SPATIAL", "PARTITION"].contains(&action.keyword().as_str())
    }

    /// Replaces a column by a new definition of it.
    fn modify(&self, table: &mut super::Table, action: &mut Cursor<'_>) -> Result<(), Message> {
        let whole = *action;
        self.column(table, action, true)?;
        let column = table.columns.pop().ok_or_else(|| not_understood(&whole))?;
        let old = table.columns.iter_mut().find(|old| old.name == column.name);
        let old = old.ok_or_else(|| not_understood(&whole))?;
        let in_key = table.primary_key.as_ref().is_some_and(|key| key.columns.contains(&old.name));
        *old = Column { not_null: column.not_null || in_key, ..column };
        Ok(())
    }

    /// Applies a `DROP`, which stands before the place.
    pub(super) fn drop_object(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        part.eat_any(&["TEMPORARY", "MATERIALIZED", "FOREIGN"]);
        let kind = part.keyword();
        part.at += 1;
        part.eat(&["CONCURRENTLY"]);
        part.eat(&["IF", "EXISTS"]);
        for mut object in Cursor::new(part.rest(), self.server).list() {
            match kind.as_str() {
                "TABLE" => drop(self.schema.tables.remove(&self.table_name(&mut object)?)),
                "VIEW" => self.drop_view(&self.table_name(&mut object)?),
                "INDEX" => {
                    let name = object.parts().and_then(|mut parts| parts.pop());
                    let mut keys = self.schema.tables.values().flat_map(|table| table.keys());
                    if keys.any(|key| key.name.is_some() && key.name == name) {
                        return Err(not_understood(&part));
                    }
                }
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Moves the last column of a table to the place that an action names: `FIRST`, `AFTER column`. The
/// place decides which value of an `INSERT` without names is whose.
fn place(table: &mut Table, action: Cursor<'_>) {
    let tokens = action.rest();
    let count = tokens.len();
    let at = if count > 2 && is_word(tokens.last(), "FIRST") {
        Some(0)
    } else if count > 3 && is_word(tokens.get(count - 2), "AFTER") {
        let name = Cursor { at: action.at + count - 1, ..action }.name();
        table.columns.iter().position(|one| Some(&one.name) == name.as_ref()).map(|at| at + 1)
    } else {
        None
    };
    if let Some(at) = at
        && let Some(column) = table.columns.pop()
    {
        table.columns.insert(at.min(table.columns.len()), column);
    }
}

/// Changes a column. `None` if the change is not understood.
fn alter_column(column: &mut Column, mut action: Cursor<'_>) -> Option<()> {
    if action.eat(&["SET", "DEFAULT"]) {
        set_default(column, action);
    } else if action.eat(&["DROP", "DEFAULT"]) {
        column.default_functions.clear();
    } else if action.eat(&["SET", "NOT", "NULL"]) {
        column.not_null = true;
    } else if action.eat(&["DROP", "NOT", "NULL"]) {
        column.not_null = false;
    } else if action.eat(&["ADD"]) {
        generated(column, &mut action);
    } else if !["SET", "TYPE", "RESET"].contains(&action.keyword().as_str()) {
        return None;
    }
    Some(())
}
