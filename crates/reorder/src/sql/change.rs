//! Queries that write: `UPDATE`, `DELETE`; `INSERT` stands in [`insert`].

mod insert;

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, ObjectName, SelectItem, Spanned,
    SqliteOnConflict, Statement, TableFactor, TableWithJoins, Update, UpdateTableFromKind,
};

use super::{
    BadQuery, Columns, QueryKind, names,
    scope::Scope,
    select::{Analysis, is_one_table},
};
use crate::api::Server;

impl Analysis<'_> {
    /// Analyses a statement that writes.
    pub(super) fn change(
        &mut self,
        statement: &Statement,
        outer: &Scope<'_>,
    ) -> Result<(), BadQuery> {
        self.query.kind = QueryKind::Write;
        self.query.depends_on_rows |= self.ignore;
        match statement {
            Statement::Insert(insert) => self.insert(insert, outer),
            Statement::Update(update) => self.update(update, outer),
            Statement::Delete(delete) => self.delete(delete, outer),
            _ => {
                self.other = true;
                Ok(())
            }
        }
    }

    /// Records what the program does when a unique key refuses a row, by SQLite's `OR …`.
    fn on_conflict(&mut self, or: Option<SqliteOnConflict>) {
        self.other |= matches!(or, Some(SqliteOnConflict::Rollback));
        let skips = matches!(or, Some(SqliteOnConflict::Replace | SqliteOnConflict::Ignore));
        self.query.depends_on_rows |= skips;
    }

    fn update(&mut self, update: &Update, outer: &Scope<'_>) -> Result<(), BadQuery> {
        self.on_conflict(update.or);
        let from = match &update.from {
            Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => {
                from
            }
            None => &Vec::new(),
        };
        let mut scope = Scope::within(Some(outer));
        let tables = std::slice::from_ref(&update.table);
        self.target_and_from(tables, &mut scope)?;
        self.from(from, &mut scope)?;
        for part in [tables, from] {
            for item in part {
                self.walk(item, &scope, None)?;
            }
            self.joins(part, &scope)?;
            self.require_joins(part, &scope);
        }
        self.assign(&update.assignments, &scope)?;
        if update.or == Some(SqliteOnConflict::Replace) {
            self.replace_rows(&scope);
        }
        let count = self.condition(update.selection.as_ref(), &scope)?;
        if from.is_empty() && update.limit.is_none() && is_one_table(tables) {
            self.sure = scope.tables().next().map(str::to_owned).zip(count);
        }
        self.walk(&update.order_by, &scope, None)?;
        self.walk(&update.limit, &scope, None)?;
        self.query.depends_on_rows |= update.limit.is_some();
        self.returning(update.returning.as_deref(), &scope)
    }

    /// Adds the tables of a `FROM` that begins with the target of a change to a scope.
    fn target_and_from(
        &mut self,
        from: &[TableWithJoins],
        scope: &mut Scope<'_>,
    ) -> Result<(), BadQuery> {
        if let Some(TableWithJoins { relation: TableFactor::Table { name, .. }, .. }) = from.first()
            && let [name] = &self.parts(name)?[..]
            && scope.is_expression(name)
        {
            let at = from[0].span().start;
            return Err(self.unsupported(at, "a target with the name of a `WITH` query"));
        }
        self.from(from, scope)
    }

    /// Records a condition. Returns the number of equalities of which alone it consists.
    fn condition(
        &mut self,
        condition: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Option<usize>, BadQuery> {
        let Some(condition) = condition else { return Ok(None) };
        let count = self.require(condition, scope);
        self.walk(condition, scope, None)?;
        Ok(count)
    }

    /// Records a `RETURNING`.
    fn returning(
        &mut self,
        items: Option<&[SelectItem]>,
        scope: &Scope<'_>,
    ) -> Result<(), BadQuery> {
        let Some(items) = items else { return Ok(()) };
        self.query.depends_on_rows = true;
        self.wildcards(items, scope)?;
        let around = std::mem::replace(&mut self.in_results, true);
        items.iter().try_for_each(|item| self.walk(item, scope, None))?;
        self.in_results = around;
        Ok(())
    }

    /// Records assignments to the tables of a scope.
    fn assign(&mut self, assignments: &[Assignment], scope: &Scope<'_>) -> Result<(), BadQuery> {
        for Assignment { target, value } in assignments {
            let around = std::mem::replace(&mut self.in_results, true);
            self.walk(value, scope, None)?;
            self.in_results = around;
            if self.is_default(value) {
                let tables: Vec<String> = scope.tables().map(str::to_owned).collect();
                tables.iter().for_each(|table| self.all_defaults(table));
            }
            let targets = match target {
                AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                AssignmentTarget::Tuple(names) => &names[..],
            };
            for name in targets {
                self.assign_one(name, scope)?;
            }
        }
        Ok(())
    }

    /// Records an assignment to a column.
    fn assign_one(&mut self, name: &ObjectName, scope: &Scope<'_>) -> Result<(), BadQuery> {
        let parts = self.parts(name)?;
        self.check_assigned(&parts, scope);
        let bases = scope.relations.iter().filter(|relation| relation.table.is_some()).count();
        let writes: Vec<_> = match (self.server, &parts[..]) {
            (Server::Mysql, [.., prefix, column]) => {
                let reads = scope.qualified(prefix, column, self.schema);
                reads.unwrap_or_else(|| scope.everything()).into_iter().collect()
            }
            (Server::Mysql, [column]) if bases > 1 => {
                scope.unqualified(column, self.schema).into_iter().collect()
            }
            (_, [column, rest @ ..]) => {
                let target = scope.relations.iter().find(|relation| relation.table.is_some());
                let table = target.and_then(|target| target.table.clone());
                let has = target.is_some_and(|target| target.names(column, self.schema));
                let column = (has && rest.is_empty()).then(|| column.clone());
                table.into_iter().map(|table| (table, column.clone())).collect()
            }
            (_, []) => Vec::new(),
        };
        if writes.is_empty() {
            let what = format!("the assigned column `{name}`");
            return Err(self.unsupported(name.span().start, &what));
        }
        for (table, column) in writes {
            self.write(&table, column.as_deref());
        }
        Ok(())
    }

    /// Records that the target of an assignment is no column.
    fn check_assigned(&mut self, parts: &[String], scope: &Scope<'_>) {
        match (self.server, parts) {
            (Server::Mysql, [.., alias, column]) => {
                if scope.lacks_qualified(alias, column, self.schema) {
                    let known = scope.known_columns(Some(alias), self.schema);
                    self.wrong_column(Some(alias), column, &known);
                }
            }
            (_, [column, ..]) => {
                let mut targets = scope.relations.iter().filter_map(|one| one.table.as_deref());
                let target = targets.next().filter(|_| self.server != Server::Mysql);
                match target {
                    Some(table) => self.check_columns(table, std::slice::from_ref(column)),
                    None if scope.lacks(column, self.schema) => {
                        self.wrong_column(None, column, &scope.known_columns(None, self.schema));
                    }
                    None => {}
                }
            }
            (_, []) => {}
        }
    }

    /// Records that a table, if its columns are known, does not have one of these.
    fn check_columns(&mut self, table: &str, columns: &[String]) {
        let Some(known) = self.schema.table(table).filter(|known| !known.columns.is_empty()) else {
            return;
        };
        let is_wrong = |column: &&String| {
            known.column(column).is_none()
                && !["rowid", "oid", "_rowid_"].contains(&column.as_str())
        };
        if let Some(wrong) = columns.iter().find(is_wrong) {
            let names: Vec<&str> = known.columns.iter().map(|one| one.name.as_str()).collect();
            self.wrong_column(None, wrong, &names);
        }
    }

    /// Records that a column is assigned, or all (`None`), and what the server assigns then.
    fn write(&mut self, table: &str, column: Option<&str>) {
        let access = self.query.tables.entry(table.to_owned()).or_default();
        match column {
            Some(column) => access.writes.add(column),
            None => access.writes = Columns::All,
        }
        let Some(known) = self.schema.table(table) else { return };
        for column in &known.columns {
            if column.computed || column.on_update {
                access.writes.add(&column.name);
            }
            if column.on_update {
                self.query.functions.insert("now".to_owned());
            }
        }
    }

    /// Records the functions of the defaults of all columns of a table.
    fn all_defaults(&mut self, table: &str) {
        let columns = self.schema.table(table).map_or(&[][..], |known| &known.columns);
        for column in columns {
            self.query.functions.extend(column.default_functions.iter().cloned());
            if column.numbered {
                self.query.functions.insert("nextval".to_owned());
            }
        }
    }

    /// Records that rows which stand in the way of a written row are deleted.
    fn replace_rows(&mut self, scope: &Scope<'_>) {
        for table in scope.tables().take(1) {
            let access = self.query.tables.entry(table.to_owned()).or_default();
            access.deletes = true;
            access.reads = Columns::All;
            access.occurrences += 1;
        }
    }

    fn delete(&mut self, delete: &Delete, outer: &Scope<'_>) -> Result<(), BadQuery> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let using = delete.using.as_deref().unwrap_or_default();
        let listed = self.server == Server::Mysql && !using.is_empty();
        let parts = if listed { [using, &[]] } else { [&from[..], using] };
        let mut scope = Scope::within(Some(outer));
        for part in parts {
            self.target_and_from(part, &mut scope)?;
        }
        for part in parts {
            for item in part {
                self.walk(item, &scope, None)?;
            }
            self.joins(part, &scope)?;
            self.require_joins(part, &scope);
        }
        let mut targets: Vec<&ObjectName> = delete.tables.iter().collect();
        if listed {
            targets.extend(from.iter().filter_map(|item| match &item.relation {
                TableFactor::Table { name, .. } => Some(name),
                _ => None,
            }));
        }
        self.delete_from(delete, &targets, &scope)?;
        self.condition(delete.selection.as_ref(), &scope)?;
        self.walk(&delete.order_by, &scope, None)?;
        self.walk(&delete.limit, &scope, None)?;
        self.query.depends_on_rows |= delete.limit.is_some();
        self.returning(delete.returning.as_deref(), &scope)
    }

    /// Records from which tables rows are deleted: those that are listed, else the first.
    fn delete_from(
        &mut self,
        delete: &Delete,
        listed: &[&ObjectName],
        scope: &Scope<'_>,
    ) -> Result<(), BadQuery> {
        let mut tables = Vec::new();
        for name in listed {
            let alias = self.parts(name)?.pop();
            let named = scope.relations.iter().find(|relation| relation.alias == alias);
            tables.extend(named.and_then(|relation| relation.table.clone()));
        }
        if listed.is_empty() {
            tables.extend(scope.relations.first().and_then(|relation| relation.table.clone()));
        }
        if tables.is_empty() || tables.len() < listed.len() {
            return Err(self.unsupported(delete.span().start, "the target of the `DELETE`"));
        }
        for table in tables {
            self.query.tables.entry(table).or_default().deletes = true;
        }
        Ok(())
    }

    /// Returns the names of columns.
    fn column_names(&self, columns: &[ObjectName]) -> Result<Vec<String>, BadQuery> {
        let last = |name| self.parts(name).map(|mut parts| parts.pop().unwrap_or_default());
        columns.iter().map(last).collect()
    }

    /// Returns true if an expression is the word `DEFAULT`.
    fn is_default(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Identifier(ident)
            if ident.quote_style.is_none() && names::identifier(ident, self.server) == "default")
    }
}
