//! `INSERT` and `REPLACE`.
//!
//! An insert that also handles conflicts changes, keeps or deletes the row that has the same key.
//! That row is equal to the inserted one in the columns of the key, and in no others. If several
//! keys may be meant, it is equal in none of them for sure.

use std::collections::BTreeSet;

use sqlparser::ast::{
    AssignmentTarget, ConflictTarget, Expr, Insert, OnConflict, OnConflictAction, OnInsert,
    SetExpr, Spanned, SqliteOnConflict, TableObject,
};

use super::super::{
    BadQuery, Columns, Value, equality, names,
    scope::{Relation, Scope},
    select::Analysis,
};
use crate::{api::Server, schema::Column};

/// The keys by which an insert finds a row that stands in its way.
enum Arbiter {
    /// It looks for none: a row in its way is an error.
    None,
    /// The one key with these columns.
    Columns(BTreeSet<String>),
    /// One of several keys, or one that is not known.
    Unknown,
}

impl Analysis<'_> {
    /// Analyses an `INSERT`.
    pub(super) fn insert(&mut self, insert: &Insert, outer: &Scope<'_>) -> Result<(), BadQuery> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(self.unsupported(insert.span().start, "the target of the `INSERT`"));
        };
        if insert.multi_table_insert_type.is_some() || insert.overwrite || insert.output.is_some() {
            return Err(self.unsupported(insert.span().start, "this form of `INSERT`"));
        }
        let table = self.table_name(name)?;
        let alias = insert.table_alias.as_ref().map(|one| &one.alias);
        let alias = alias.map(|alias| names::identifier(alias, self.server));
        self.defined.extend(alias.clone());
        let access = self.query.tables.entry(table.clone()).or_default();
        access.inserts = true;
        access.occurrences += 1;
        self.on_conflict(insert.or);
        let columns = self.inserted_columns(insert, &table)?;
        self.check_columns(&table, &columns);
        let given = self.rows(insert, &table, &columns, outer)?;
        let named = self.named_values(insert, &columns)?;
        self.query.tables.entry(table.clone()).or_default().given.extend(named);
        self.defaults(&table, &given);

        let mut scope = Scope::within(Some(outer));
        let own = self.parts(name)?.pop();
        let target = Relation::derived(alias.or(own));
        scope.relations.push(Relation { table: Some(table.clone()), ..target });
        self.conflicts(insert, &table, &mut scope)?;
        self.returning(insert.returning.as_deref(), &scope)
    }

    /// Returns the columns for which the `INSERT` gives values; none if they are not known.
    fn inserted_columns(&self, insert: &Insert, table: &str) -> Result<Vec<String>, BadQuery> {
        if !insert.columns.is_empty() {
            return self.column_names(&insert.columns);
        }
        let columns = self.schema.table(table).map_or(&[][..], |known| &known.columns);
        let visible = columns.iter().filter(|column| !column.invisible);
        Ok(visible.map(|column| column.name.clone()).collect())
    }

    /// Returns the columns for which a row may have a value other than `DEFAULT` and `NULL`.
    fn named_values(
        &self,
        insert: &Insert,
        columns: &[String],
    ) -> Result<BTreeSet<String>, BadQuery> {
        let is_named = |value: &Expr| !self.is_default(value) && !is_null(value);
        let mut named = BTreeSet::new();
        for assignment in insert.assignments.iter().filter(|one| is_named(&one.value)) {
            if let AssignmentTarget::ColumnName(name) = &assignment.target {
                named.extend(self.parts(name)?.pop());
            }
        }
        match insert.source.as_ref().map(|source| &*source.body) {
            Some(SetExpr::Values(values)) => {
                let row_names = |at: usize| {
                    values.rows.iter().any(|row| row.content.get(at).is_some_and(is_named))
                };
                let known = columns.iter().enumerate().filter(|(at, _)| row_names(*at));
                named.extend(known.map(|(_, column)| column.clone()));
            }
            Some(_) => named.extend(columns.iter().cloned()),
            None => {}
        }
        Ok(named)
    }

    /// Records the values, and which columns are equal to which. Returns the columns that get a
    /// value in each row.
    fn rows(
        &mut self,
        insert: &Insert,
        table: &str,
        columns: &[String],
        outer: &Scope<'_>,
    ) -> Result<BTreeSet<String>, BadQuery> {
        let mut given = BTreeSet::new();
        for assignment in &insert.assignments {
            self.walk(&assignment.value, outer, None)?;
            if let AssignmentTarget::ColumnName(name) = &assignment.target {
                let name = self.parts(name)?.pop().unwrap_or_default();
                self.give(table, &name, &assignment.value, true, &mut given);
            }
        }
        let Some(source) = &insert.source else { return Ok(given) };
        self.query(source, Some(outer), None)?;
        let SetExpr::Values(values) = &*source.body else {
            given.extend(columns.iter().cloned());
            return Ok(given);
        };
        let rows = &values.rows;
        for (at, column) in columns.iter().enumerate() {
            let values: Vec<&Expr> = rows.iter().filter_map(|row| row.content.get(at)).collect();
            if values.len() < rows.len() || values.iter().any(|value| self.is_default(value)) {
                continue;
            }
            for value in values {
                self.give(table, column, value, rows.len() == 1, &mut given);
            }
        }
        Ok(given)
    }

    /// Records that a column gets a value. `equal` is true if there is only one row.
    fn give(
        &mut self,
        table: &str,
        column: &str,
        value: &Expr,
        equal: bool,
        given: &mut BTreeSet<String>,
    ) {
        if self.is_default(value) {
            return;
        }
        given.insert(column.to_owned());
        let Some(value) = equality::value(value) else { return };
        if equal && !self.may_replace(table, column, &value) {
            let access = self.query.tables.entry(table.to_owned()).or_default();
            access.equal.insert(column.to_owned(), value);
        }
    }

    /// Returns true if the server may choose another value than the given one, which MySQL and
    /// SQLite do for a null, and MySQL for a zero.
    fn may_replace(&self, table: &str, column: &str, value: &Value) -> bool {
        let known = self.schema.table(table);
        if self.schema.is_view(table) {
            return true;
        }
        let Some(column) = known.and_then(|known| known.column(column)) else { return false };
        let replaces = match (self.server, value) {
            (Server::Postgresql, _) => self.overriding_user,
            (_, Value::Parameter(_)) => true,
            (Server::Mysql, Value::Constant(text)) => {
                !text.contains(|sign: char| ('1'..='9').contains(&sign))
            }
            (Server::Sqlite, Value::Constant(_)) => false,
        };
        column.computed || column.numbered && replaces
    }

    /// Records the functions of the columns that get their default or a number.
    fn defaults(&mut self, table: &str, given: &BTreeSet<String>) {
        let Some(known) = self.schema.table(table) else {
            self.defaults_of_view(table);
            return;
        };
        let gives = |column: &&Column| given.contains(&column.name) && !self.overriding_user;
        let columns = known.columns.iter();
        let defaults = columns.clone().filter(|column| column.computed || !gives(column));
        let access = self.query.tables.get(table);
        let numbers = columns.filter(|column| column.numbered).any(|column| match self.server {
            Server::Postgresql => !gives(&column),
            _ => access.is_none_or(|access| !access.equal.contains_key(&column.name)),
        });
        self.query.functions.extend(defaults.flat_map(|one| one.default_functions.iter().cloned()));
        if numbers {
            self.query.functions.insert("nextval".to_owned());
        }
    }

    /// Records the functions of the defaults that a row gets which is inserted by a view: its own,
    /// and those of all tables that it reads.
    fn defaults_of_view(&mut self, name: &str) {
        let Some(view) = self.schema.views.get(name) else { return };
        let tables = view.tables.iter().filter_map(|table| self.schema.table(table));
        for column in tables.flat_map(|table| &table.columns) {
            self.query.functions.extend(column.default_functions.iter().cloned());
            if column.numbered {
                self.query.functions.insert("nextval".to_owned());
            }
        }
        self.query.functions.extend(view.default_functions.iter().cloned());
    }

    /// Records what happens to a row that stands in the way.
    fn conflicts(
        &mut self,
        insert: &Insert,
        table: &str,
        scope: &mut Scope<'_>,
    ) -> Result<(), BadQuery> {
        scope.relations.push(Relation::derived(Some("excluded".to_owned())));
        if let Some(aliases) = &insert.insert_alias {
            let alias = self.parts(&aliases.row_alias)?.pop();
            self.defined.extend(alias.clone());
            scope.relations.push(Relation::derived(alias));
        }
        let replaces = insert.replace_into || insert.or == Some(SqliteOnConflict::Replace);
        let skips = insert.ignore || insert.or == Some(SqliteOnConflict::Ignore);
        let arbiter = match &insert.on {
            Some(OnInsert::OnConflict(conflict)) => self.arbiter(conflict, table, scope)?,
            Some(OnInsert::DuplicateKeyUpdate(assignments)) => {
                self.assign(assignments, scope)?;
                self.only_key(table)
            }
            Some(_) => return Err(self.unsupported(insert.span().start, "this `ON`")),
            None if replaces || skips => self.only_key(table),
            None => Arbiter::None,
        };
        let access = self.query.tables.entry(table.to_owned()).or_default();
        access.deletes |= replaces;
        match arbiter {
            Arbiter::None => return Ok(()),
            Arbiter::Columns(columns) => {
                access.equal.retain(|column, _| columns.contains(column));
                columns.iter().for_each(|column| access.reads.add(column));
            }
            Arbiter::Unknown => {
                access.equal.clear();
                access.reads = Columns::All;
            }
        }
        self.query.depends_on_rows = true;
        Ok(())
    }

    /// Records the action of an `ON CONFLICT`, and returns its key.
    fn arbiter(
        &mut self,
        conflict: &OnConflict,
        table: &str,
        scope: &Scope<'_>,
    ) -> Result<Arbiter, BadQuery> {
        if let OnConflictAction::DoUpdate(update) = &conflict.action {
            self.assign(&update.assignments, scope)?;
            self.walk(&update.selection, scope, None)?;
        }
        let key = match &conflict.conflict_target {
            Some(ConflictTarget::Columns(columns)) => {
                let name = |ident| names::identifier(ident, self.server);
                return Ok(Arbiter::Columns(columns.iter().map(name).collect()));
            }
            Some(ConflictTarget::OnConstraint(name)) => {
                let name = self.parts(name)?.pop().unwrap_or_default();
                let own = format!("{}_pkey", table.rsplit('.').next().unwrap_or(table));
                let known = self.schema.table(table);
                let unnamed = |known: &'_ crate::schema::Table| {
                    let key = known.primary_key.clone();
                    key.filter(|key| key.name.is_none() && name == own)
                };
                known.and_then(|known| known.key_named(&name).cloned().or_else(|| unnamed(known)))
            }
            None => return Ok(self.only_key(table)),
        };
        Ok(key.map_or(Arbiter::Unknown, |key| {
            Arbiter::Columns(key.columns.iter().cloned().collect())
        }))
    }

    /// Returns the key of a table that has only one.
    fn only_key(&self, table: &str) -> Arbiter {
        let Some(known) = self.schema.table(table) else { return Arbiter::Unknown };
        let access = self.query.tables.get(table);
        let is_given = |name: &&str| access.is_some_and(|access| access.given.contains(*name));
        if known.hidden_rowid && names::ROWID.iter().any(is_given) {
            return Arbiter::Unknown;
        }
        let mut keys = known.keys();
        match (keys.next(), keys.next()) {
            (Some(key), None) if !key.partial => {
                Arbiter::Columns(key.columns.iter().cloned().collect())
            }
            _ => Arbiter::Unknown,
        }
    }
}

fn is_null(value: &Expr) -> bool {
    matches!(value, Expr::Value(value) if value.value == sqlparser::ast::Value::Null)
}
