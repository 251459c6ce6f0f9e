//! The errors that the content of rows may make a query raise: a sum that is out of range, a
//! division by zero, a text that is no number, a null where there must be none.
//!
//! Each expression of the statement is reduced to its [`Shape`]: the values that it may have. An
//! operation that some of the values of its operands do not have is an error, and so is an assigned
//! value that does not fit into its column, a limit that may be negative, and a function in `FROM`
//! that may refuse what a row gives it.
//!
//! ```text
//!   statement ── relations ──▶ names of columns ──▶ shapes of expressions ──▶ the first error
//! ```
//!
//! What a query raises for each row alike is not looked for: such a query fails wherever it stands.
//! So a value that comes from no row (a parameter, `now()`) fits everywhere. Constants are compared
//! with the type of the column, since rows that match the condition need not exist.
//!
//! Sums and differences of signed numbers are assumed to be in range, if their types hold six
//! digits at least: no counter would do without this.

mod arguments;
mod arithmetic;
mod calls;
mod clauses;
mod constants;
mod json;
mod operators;
mod shape;
mod subquery;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    convert::Infallible,
    fmt,
};

use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, FromTable, Ident, Insert, JoinOperator, ObjectName,
    OnConflictAction, OnInsert, Query as Tree, SelectItem, SetExpr, Statement, TableFactor,
    TableObject, TableWithJoins, UpdateTableFromKind, Visit,
};

use self::shape::{Kind, Shape};
use super::{
    Query, TableAccess, names,
    walk::{self, Part},
};
use crate::{
    api::Server,
    schema::{Column, Rule, Schema, Table},
};

/// An error that the content of rows may cause, as a clause: "`a / b` may divide by zero".
type Error = String;

/// Returns the first error that the content of rows may cause.
pub(super) fn find(
    statement: &Statement,
    server: Server,
    schema: &Schema,
    query: &Query,
) -> Option<Error> {
    let mut accesses = query.tables.values();
    let writes = accesses.any(TableAccess::changes);
    let mut names = Names {
        server,
        schema,
        query,
        writes,
        relations: Vec::new(),
        expressions: BTreeSet::new(),
        derived: false,
        outer: false,
        arrays: false,
        shapes: RefCell::default(),
    };
    names.collect(statement);
    match names.check(statement) {
        Err(error) => Some(error),
        Ok(()) => names.relations.iter().find_map(|(_, table)| schema_error(schema, table)),
    }
}

/// Returns an error that the content of rows may make a view raise, or a policy of a table.
fn schema_error(schema: &Schema, table: &str) -> Option<Error> {
    let view = schema.views.get(table).and_then(|view| view.fails.clone());
    view.or_else(|| {
        let bases = schema.base_tables(table);
        let of_table = |rule: &&Rule| rule.table == *table || bases.contains(&rule.table);
        schema.rules.iter().filter(of_table).find_map(|rule| rule.fails.clone())
    })
}

/// The meanings of the names of a statement.
struct Names<'s> {
    server: Server,
    schema: &'s Schema,
    query: &'s Query,
    /// True if the statement changes rows: MySQL only warns in others.
    writes: bool,
    /// The names by which expressions refer to tables, each with the table.
    relations: Vec<(String, String)>,
    /// The names of common table expressions.
    expressions: BTreeSet<String>,
    /// True if a name without prefix may be that of a column of a subquery.
    derived: bool,
    /// True if an outer join may make each column null.
    outer: bool,
    /// True if a value whose type is not known may be an array.
    arrays: bool,
    /// The shapes of the expressions so far, by their addresses.
    shapes: RefCell<HashMap<*const Expr, Shape>>,
}

impl<'s> Names<'s> {
    /// Collects the relations of a statement.
    fn collect(&mut self, statement: &Statement) {
        // A value whose type is not known comes from a query within the statement or its `FROM`.
        let is_query = matches!(statement, Statement::Query(_) | Statement::Insert(_));
        let mut depth = if is_query { 0 } else { 1 };
        let Ok(()) = walk::walk(statement, |part| {
            match part {
                Part::QueryEnd => depth -= 1,
                Part::Statement(statement) => self.target(statement),
                Part::Query(query) => {
                    depth += 1;
                    self.sources(query);
                }
                Part::Factor(factor) => self.factor(factor),
                Part::Expression(expression) if depth > 1 => self.arrays |= makes_array(expression),
                _ => {}
            }
            Ok::<(), Infallible>(())
        });
        let is_array = |column: &Column| shape::is_array(self.base(&column.ty));
        self.arrays |= self.relations.iter().any(|(_, name)| {
            self.schema.table(name).is_none_or(|table| table.columns.iter().any(is_array))
        });
    }

    /// Records the tables that a statement changes.
    fn target(&mut self, statement: &Statement) {
        match statement {
            Statement::Insert(Insert {
                table: TableObject::TableName(name), table_alias, ..
            }) => {
                self.relation(name, table_alias.as_ref().map(|alias| &alias.alias));
                let own = Ident::new("excluded");
                self.relation(name, Some(&own));
            }
            Statement::Update(update) => {
                self.joins(&update.table);
                if let Some(
                    UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from),
                ) = &update.from
                {
                    from.iter().for_each(|from| self.joins(from));
                }
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) =
                    &delete.from;
                let all = from.iter().chain(delete.using.iter().flatten());
                all.for_each(|from| self.joins(from));
            }
            _ => {}
        }
    }

    /// Records what a query reads from.
    fn sources(&mut self, query: &Tree) {
        for one in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = names::identifier(&one.alias.name, self.server);
            self.expressions.insert(name);
            self.derived = true;
        }
        for select in clauses::selects(&query.body) {
            select.from.iter().for_each(|from| self.joins(from));
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                self.relation(name, alias.as_ref().map(|alias| &alias.name));
                self.derived |= alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
            }
            TableFactor::NestedJoin { table_with_joins, .. } => self.joins(table_with_joins),
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
                self.arrays |= returns_array(name);
                self.derived = true;
            }
            _ => self.derived = true,
        }
    }

    /// Returns the first error. An expression is reduced to its shape behind those within it, so
    /// that their shapes are known.
    fn check(&self, statement: &Statement) -> Result<(), Error> {
        walk::walk(statement, |part| match part {
            Part::ExpressionEnd(expression) => self.shape(expression).map(drop),
            Part::StatementEnd(statement) => self.statement(statement),
            _ => Ok(()),
        })?;
        walk::walk(statement, |part| self.clause(&part))
    }

    fn statement(&self, statement: &Statement) -> Result<(), Error> {
        match statement {
            Statement::Update(update) => {
                update.selection.iter().try_for_each(|one| self.is_truth(one))?;
                update.limit.iter().try_for_each(|one| self.limit(one))?;
                self.assignments(&update.assignments)
            }
            Statement::Delete(delete) => {
                delete.selection.iter().try_for_each(|one| self.is_truth(one))?;
                delete.limit.iter().try_for_each(|one| self.limit(one))
            }
            Statement::Insert(insert) => self.insert(insert),
            Statement::Merge(_) => Err("`MERGE` may meet a row twice".to_owned()),
            _ => Ok(()),
        }
    }

    fn relation(&mut self, name: &ObjectName, alias: Option<&Ident>) {
        let Some(parts) = names::parts(name, self.server) else { return };
        let alias = alias.map(|alias| names::identifier(alias, self.server));
        let alias = alias.or_else(|| parts.last().cloned()).unwrap_or_default();
        let is_table = !matches!(&parts[..], [one] if self.expressions.contains(one));
        match self.schema.name_of(&parts).ok().filter(|_| is_table) {
            Some(table) => self.relations.push((alias, table)),
            None => self.derived = true,
        }
    }

    fn joins(&mut self, from: &TableWithJoins) {
        self.outer |= from.joins.iter().any(|join| {
            !matches!(
                join.join_operator,
                JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_)
            )
        });
    }

    /// Returns the columns that a name may mean; none if it may mean something else as well.
    fn columns(&self, parts: &[Ident]) -> Vec<&'s Column> {
        if self.derived && parts.len() == 1 { Vec::new() } else { self.columns_of_tables(parts) }
    }

    /// Returns the columns of tables that a name may mean; none if it may be that of a view.
    fn columns_of_tables(&self, parts: &[Ident]) -> Vec<&'s Column> {
        let name = |ident| names::identifier(ident, self.server);
        let (prefix, column) = match parts {
            [column] => (None, name(column)),
            [.., prefix, column] => (Some(name(prefix)), name(column)),
            [] => return Vec::new(),
        };
        let mut found = Vec::new();
        for (alias, table) in &self.relations {
            if prefix.as_ref().is_some_and(|prefix| prefix != alias) {
                continue;
            }
            match self.schema.table(table) {
                Some(table) => found.extend(table.column(&column)),
                None => return Vec::new(),
            }
        }
        found
    }

    /// Returns the values that a column may have.
    fn column(&self, parts: &[Ident]) -> Shape {
        let columns = self.columns(parts);
        if let ([ident], []) = (parts, &columns[..])
            && ident.quote_style.is_none()
            && super::expression::has_no_parentheses(&names::identifier(ident, self.server))
        {
            return Shape::given();
        }
        let shape = |column: &&Column| {
            let nullable = (!column.not_null || self.outer).then(|| column.name.clone());
            Shape { kind: Kind::of_type(self.base(&column.ty), self.server), nullable }
        };
        let all = columns.iter().map(shape).reduce(Shape::or);
        all.unwrap_or_else(|| Shape {
            kind: Kind::Unknown,
            nullable: parts.last().map(|part| part.value.clone()),
        })
    }

    /// Returns a type, or the one on which a domain is based.
    fn base<'t>(&'t self, ty: &'t str) -> &'t str {
        let last = ty.rsplit('.').next().unwrap_or(ty);
        self.schema.domains.get(last).map_or(ty, |domain| &domain.base)
    }

    /// Returns an error if a value may not fit into a column.
    fn assign(&self, column: &Column, value: &Expr) -> Result<(), Error> {
        if is_default(value) {
            return Ok(());
        }
        let shape = self.shape(value)?;
        if let (Some(null), true) = (&shape.nullable, column.not_null) {
            return Err(format!("`{null}` may be null, which `{}` must not be", column.name));
        }
        let target = Kind::of_type(self.base(&column.ty), self.server);
        if self.server == Server::Sqlite {
            return self.assign_strictly(column, &shape.kind, &target, value);
        }
        let constants = constants::results(value, self.server);
        let mut constants = constants.iter();
        let base = self.base(&column.ty);
        if shape.kind.fits(&target) && constants.all(|one| constants::fits(one, base, &target)) {
            return Ok(());
        }
        Err(may(value, &format!("not fit into `{}`", column.name)))
    }

    /// Returns an error if a column of a `STRICT` table may refuse a value.
    fn assign_strictly(
        &self,
        column: &Column,
        kind: &Kind,
        target: &Kind,
        value: &Expr,
    ) -> Result<(), Error> {
        if !column.strict || column.ty == "any" {
            return Ok(());
        }
        let fits = match (kind, target) {
            (Kind::Number(one), Kind::Number(column)) => one.whole || !column.whole,
            (Kind::Text(_), Kind::Text(_)) => true,
            (kind, _) => *kind == Kind::Given,
        };
        let constants = constants::results(value, self.server);
        let fits = fits && constants.iter().all(|one| constants::fits_strictly(one, target));
        if fits && !self.reads_loosely(value) {
            return Ok(());
        }
        Err(may(value, &format!("not fit into `{}`", column.name)))
    }

    /// Returns true if an expression reads a column that may have values of another type than its
    /// own.
    fn reads_loosely(&self, value: &Expr) -> bool {
        walk::any_expression(value, |expression| {
            let columns = match expression {
                Expr::Identifier(ident) => self.columns(std::slice::from_ref(ident)),
                Expr::CompoundIdentifier(idents) => self.columns(idents),
                _ => return false,
            };
            columns.iter().any(|column| !column.strict)
        })
    }

    fn assignments(&self, assignments: &[Assignment]) -> Result<(), Error> {
        for Assignment { target, value } in assignments {
            match (target, value) {
                (AssignmentTarget::ColumnName(name), value) => self.assign_to(name, value)?,
                (AssignmentTarget::Tuple(names), Expr::Tuple(values))
                    if names.len() == values.len() =>
                {
                    names
                        .iter()
                        .zip(values)
                        .try_for_each(|(name, value)| self.assign_to(name, value))?;
                }
                (AssignmentTarget::Tuple(_), value) => {
                    return Err(may(value, "not fit into its columns"));
                }
            }
        }
        Ok(())
    }

    fn assign_to(&self, name: &ObjectName, value: &Expr) -> Result<(), Error> {
        let idents: Option<Vec<Ident>> =
            name.0.iter().map(|part| part.as_ident().cloned()).collect();
        let idents = idents.unwrap_or_default();
        // The target of an assignment is a table, whatever else the statement reads.
        let columns = self.columns_of_tables(&idents);
        if columns.is_empty() && !is_default(value) && self.shape(value)?.kind != Kind::Given {
            return Err(may(value, &format!("not fit into `{name}`")));
        }
        columns.into_iter().try_for_each(|column| self.assign(column, value))
    }

    fn insert(&self, insert: &Insert) -> Result<(), Error> {
        let TableObject::TableName(name) = &insert.table else { return Ok(()) };
        self.assignments(&insert.assignments)?;
        match &insert.on {
            Some(OnInsert::DuplicateKeyUpdate(assignments)) => self.assignments(assignments)?,
            Some(OnInsert::OnConflict(conflict)) => {
                if let OnConflictAction::DoUpdate(update) = &conflict.action {
                    self.assignments(&update.assignments)?;
                }
            }
            _ => {}
        }
        let parts = names::parts(name, self.server).unwrap_or_default();
        let table = self.schema.name_of(&parts).ok().and_then(|name| self.schema.table(&name));
        let (Some(source), Some(table)) = (&insert.source, table) else { return Ok(()) };
        let columns = self.inserted(insert, table);
        match &*source.body {
            SetExpr::Values(rows) => rows.rows.iter().try_for_each(|row| {
                let mut values = columns.iter().zip(&row.content);
                values.try_for_each(|(column, value)| self.give(*column, value))
            }),
            SetExpr::Select(select) => {
                let mut values = columns.iter().zip(&select.projection);
                if select.projection.len() < columns.len() {
                    return Err("a value of the `SELECT` may not fit into its column".to_owned());
                }
                values.try_for_each(|(column, item)| match item {
                    SelectItem::UnnamedExpr(value)
                    | SelectItem::ExprWithAlias { expr: value, .. } => self.give(*column, value),
                    _ => Err("a value of the `SELECT` may not fit into its column".to_owned()),
                })
            }
            _ => Err("a value of the `SELECT` may not fit into its column".to_owned()),
        }
    }

    /// Returns an error if an inserted value may not fit. The server replaces a null by a number.
    fn give(&self, column: Option<&Column>, value: &Expr) -> Result<(), Error> {
        match column {
            Some(column) if column.numbered && self.server != Server::Postgresql => Ok(()),
            Some(column) => self.assign(column, value),
            None => Ok(()),
        }
    }

    /// Returns the columns for which an `INSERT` gives values.
    fn inserted(&self, insert: &Insert, table: &'s Table) -> Vec<Option<&'s Column>> {
        if insert.columns.is_empty() {
            return table.columns.iter().filter(|column| !column.invisible).map(Some).collect();
        }
        let name = |name: &ObjectName| names::parts(name, self.server)?.pop();
        let column = |one: &ObjectName| table.column(&name(one)?);
        insert.columns.iter().map(column).collect()
    }
}

/// Returns the error that an expression may cause.
fn may(expression: &Expr, fail: &str) -> Error {
    format!("`{}` may {fail}", written(expression))
}

/// The number of expressions within one above which it is not written out.
const WRITTEN_MAX: usize = 100;

/// Returns the text of an expression, for a message.
fn written(expression: &(impl Visit + fmt::Display)) -> String {
    let mut count = 0;
    let is_long = walk::any_expression(expression, |_| {
        count += 1;
        count > WRITTEN_MAX
    });
    if is_long { "an expression".to_owned() } else { expression.to_string() }
}

/// Returns true for an expression that may make an array.
fn makes_array(expression: &Expr) -> bool {
    match expression {
        Expr::Array(_) => true,
        Expr::Cast { data_type, .. } => data_type.to_string().contains('['),
        Expr::Function(call) => returns_array(&call.name),
        _ => false,
    }
}

/// Returns true for the name of a function that may return an array.
fn returns_array(name: &ObjectName) -> bool {
    let name = name.to_string().to_ascii_lowercase();
    name.contains("array") || name.contains("regexp_match")
}

/// Returns true if a value is the word `DEFAULT`.
fn is_default(value: &Expr) -> bool {
    matches!(value, Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
