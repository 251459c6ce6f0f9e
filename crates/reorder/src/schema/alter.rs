//! `ALTER TABLE` and `DROP`, as far as dumps use them.

use super::{
    Column,
    cursor::Cursor,
    resolve::Builder,
    table::{Message, generated, not_understood, set_default},
};

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
    "ENGINE",
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

impl Builder {
    /// Applies an `ALTER TABLE`, whose words stand before the place.
    pub(super) fn alter_table(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        part.eat(&["IF", "EXISTS"]);
        part.eat(&["ONLY"]);
        let name = self.table_name(&mut part)?;
        part.eat_token(&sqlparser::tokenizer::Token::Mul);
        if self.schema.is_view(&name) {
            return Ok(());
        }
        let rest = Cursor::new(part.rest(), self.server);
        for action in rest.list() {
            self.alter(&name, action)?;
        }
        Ok(())
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
        if action.eat(&["ADD"]) {
            if !self.constraint(&mut table, &mut action)? && !self.is_index(&action) {
                action.eat(&["COLUMN"]);
                action.eat(&["IF", "NOT", "EXISTS"]);
                match action.group() {
                    Some(columns) => drop(self.elements(&mut table, columns)?),
                    None => self.column(&mut table, &mut action)?,
                }
            }
        } else if action.eat(&["ALTER"]) {
            action.eat(&["COLUMN"]);
            let column = action.name().ok_or_else(|| not_understood(&whole))?;
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
        } else {
            return Err(not_understood(&whole));
        }
        self.schema.tables.insert(name.to_owned(), table);
        Ok(())
    }

    /// Returns true if the action adds an index that is no key.
    fn is_index(&self, action: &Cursor<'_>) -> bool {
        ["INDEX", "FULLTEXT", "SPATIAL", "PARTITION"].contains(&action.keyword().as_str())
    }

    /// Replaces a column by a new definition of it.
    fn modify(&self, table: &mut super::Table, action: &mut Cursor<'_>) -> Result<(), Message> {
        let whole = *action;
        self.column(table, action)?;
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
