//! Expressions: the columns that they read, the functions that they call, and the queries in them.
//!
//! The walk meets every expression, whatever its form, so no form can be forgotten. A query within
//! an expression is analysed with a scope of its own; the walk's own way through it is ignored.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, SelectItem, SelectItemQualifiedWildcardKind, Value, ValueWithSpan, Visit,
};

use super::{
    BadQuery, Columns, names,
    scope::Reads,
    scope::Scope,
    select::{Analysis, Locking},
    walk::{self, Part},
};
use crate::api::Server;

/// The functions that are called without parentheses.
const WITHOUT_PARENTHESES: &[&str] = &[
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "system_user",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

/// The words of MySQL that the parser takes for names.
const WORDS_OF_MYSQL: &[&str] = &[
    "day",
    "distinctrow",
    "high_priority",
    "hour",
    "microsecond",
    "minute",
    "month",
    "quarter",
    "second",
    "sql_big_result",
    "sql_buffer_result",
    "sql_cache",
    "sql_calc_found_rows",
    "sql_no_cache",
    "sql_small_result",
    "week",
    "year",
];

/// The constants of PostgreSQL that mean the time at which they are read.
const TIMES: &[&str] = &["now", "today", "tomorrow", "yesterday"];

/// Returns true if PostgreSQL reads a constant as the time at which it reads it.
pub(super) fn means_time(text: &str) -> bool {
    TIMES.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Returns true for the name of a function that is called without parentheses.
pub(super) fn has_no_parentheses(name: &str) -> bool {
    WITHOUT_PARENTHESES.contains(&name)
}

/// The place in a walk through a part of a query.
struct Place<'x, 's, 'a> {
    analysis: &'x mut Analysis<'s>,
    scope: &'x Scope<'a>,
    /// The number of queries around the place, within the part.
    queries: usize,
    /// The number of items of `FROM` around the place.
    factors: usize,
    /// The lock that the part's locking clause also takes on what the queries in its `FROM` read.
    locked: Option<Locking>,
}

impl Place<'_, '_, '_> {
    fn meet(&mut self, part: Part<'_>) -> Result<(), BadQuery> {
        match part {
            Part::Query(query) => {
                self.queries += 1;
                if self.queries == 1 {
                    let locked = self.locked.filter(|_| self.factors > 0);
                    self.analysis.query(query, Some(self.scope), locked)?;
                }
            }
            Part::QueryEnd => self.queries -= 1,
            Part::Factor(_) => self.factors += usize::from(self.queries == 0),
            Part::FactorEnd => self.factors -= usize::from(self.queries == 0),
            Part::Expression(expression) if self.queries == 0 => {
                self.analysis.expression(expression, self.scope)?;
            }
            Part::Value(value) => self.analysis.value(value)?,
            _ => {}
        }
        Ok(())
    }
}

impl Analysis<'_> {
    /// Records what a part of a query reads and calls. `locked` says how its locking clause also
    /// locks what the queries in its `FROM` read.
    pub(super) fn walk<V: Visit>(
        &mut self,
        part: &V,
        scope: &Scope<'_>,
        locked: Option<Locking>,
    ) -> Result<(), BadQuery> {
        let mut place = Place { analysis: self, scope, queries: 0, factors: 0, locked };
        walk::walk(part, |part| place.meet(part))
    }

    /// Records reads.
    pub(super) fn read(&mut self, reads: Reads) {
        for (table, column) in reads {
            let access = self.query.tables.entry(table).or_default();
            let chooses = (!self.in_results).then_some(&mut access.chosen_by);
            for columns in [Some(&mut access.reads), chooses].into_iter().flatten() {
                match &column {
                    Some(column) => columns.add(column),
                    None => *columns = Columns::All,
                }
            }
        }
    }

    /// Records what one expression does, without those within it.
    fn expression(&mut self, expression: &Expr, scope: &Scope<'_>) -> Result<(), BadQuery> {
        let built_in = match expression {
            Expr::Identifier(ident) => {
                let name = names::identifier(ident, self.server);
                if ident.quote_style.is_none() && name == "default" {
                    return Ok(());
                }
                if ident.quote_style.is_none() && WITHOUT_PARENTHESES.contains(&name.as_str()) {
                    self.query.functions.insert(name.clone());
                } else if !self.may_be_text(ident) && scope.lacks(&name, self.schema) {
                    self.wrong_column(None, &name, &scope.known_columns(None, self.schema));
                }
                self.read_unqualified(&name, scope);
                return Ok(());
            }
            Expr::CompoundIdentifier(idents) => {
                let parts: Vec<String> =
                    idents.iter().map(|ident| names::identifier(ident, self.server)).collect();
                if let [.., alias, column] = &parts[..]
                    && scope.lacks_qualified(alias, column, self.schema)
                {
                    let known = scope.known_columns(Some(alias), self.schema);
                    self.wrong_column(Some(alias), column, &known);
                }
                self.read_qualified(&parts, scope);
                return Ok(());
            }
            Expr::Function(function) => return self.call(function, scope),
            Expr::QualifiedWildcard(name, _) => return self.read_row(name, scope),
            Expr::Wildcard(_) => {
                self.read(scope.everything());
                return Ok(());
            }
            Expr::MatchAgainst { columns, .. } => {
                for column in columns {
                    let parts = self.parts(column)?;
                    self.read_qualified(&parts, scope);
                }
                return Ok(());
            }
            // SQLite has no such functions of its own.
            Expr::BinaryOp { op: BinaryOperator::Regexp, .. } | Expr::RLike { .. }
                if self.server == Server::Sqlite =>
            {
                "regexp"
            }
            Expr::BinaryOp { op: BinaryOperator::Match, .. } if self.server == Server::Sqlite => {
                "match"
            }
            Expr::Extract { .. } => "extract",
            Expr::Ceil { .. } => "ceil",
            Expr::Floor { .. } => "floor",
            Expr::Position { .. } => "position",
            Expr::Substring { .. } => "substring",
            Expr::Trim { .. } => "trim",
            Expr::Overlay { .. } => "overlay",
            _ => return Ok(()),
        };
        self.query.functions.insert(built_in.to_owned());
        Ok(())
    }

    /// Returns true if a name may be a text or a word of the server's language: SQLite reads a name
    /// in double quotes that it does not know as a text, and MySQL has units of time and options
    /// that the parser takes for names.
    fn may_be_text(&self, ident: &Ident) -> bool {
        match self.server {
            Server::Postgresql => false,
            Server::Sqlite => ident.quote_style.is_some(),
            Server::Mysql => {
                let name = ident.value.to_ascii_lowercase();
                ident.quote_style == Some('"') || WORDS_OF_MYSQL.contains(&name.as_str())
            }
        }
    }

    /// Records that no table of the query has a column.
    pub(super) fn wrong_column(&mut self, alias: Option<&str>, column: &str, known: &[&str]) {
        let near = names::nearest(column, known.iter().copied());
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let alias = alias.map(|alias| format!("{alias}.")).unwrap_or_default();
        let message = format!("no table of the query has the column `{alias}{column}`{hint}");
        self.query.wrong_column.get_or_insert(message);
    }

    /// Records the read of a name without prefix.
    pub(super) fn read_unqualified(&mut self, name: &str, scope: &Scope<'_>) {
        let without_table = WITHOUT_PARENTHESES.contains(&name);
        let reads = scope.unqualified(name, self.schema);
        let names_column = reads.iter().any(|(_, column)| column.is_some());
        if !without_table || names_column {
            self.read(reads);
        }
    }

    /// Records the read of a name with prefixes, or of one without.
    pub(super) fn read_qualified(&mut self, parts: &[String], scope: &Scope<'_>) {
        let pair = |at: usize| match parts.get(at..at + 2) {
            Some([prefix, column]) => scope.qualified(prefix, column, self.schema),
            _ => None,
        };
        let reads = match parts {
            [name] => return self.read_unqualified(name, scope),
            _ => pair(parts.len().saturating_sub(2)).or_else(|| pair(0)),
        };
        self.read(reads.unwrap_or_else(|| scope.everything()));
    }

    /// Records the read of `prefix.*`.
    fn read_row(&mut self, name: &ObjectName, scope: &Scope<'_>) -> Result<(), BadQuery> {
        let parts = self.parts(name)?;
        self.read(parts.last().map_or_else(Reads::new, |alias| scope.all_of(alias)));
        Ok(())
    }

    /// Records a call of a function, without its arguments.
    fn call(&mut self, function: &Function, scope: &Scope<'_>) -> Result<(), BadQuery> {
        let name = names::function(&self.parts(&function.name)?);
        let counts = name == "count";
        self.query.functions.insert(name);
        for arguments in [&function.args, &function.parameters] {
            if let FunctionArguments::List(list) = arguments {
                for argument in &list.args {
                    self.argument(argument, counts, scope)?;
                }
            }
        }
        Ok(())
    }

    /// Records the `*` and `t.*` of an argument, which are no expressions.
    fn argument(
        &mut self,
        argument: &FunctionArg,
        counts: bool,
        scope: &Scope<'_>,
    ) -> Result<(), BadQuery> {
        let (FunctionArg::Named { arg, .. }
        | FunctionArg::ExprNamed { arg, .. }
        | FunctionArg::Unnamed(arg)) = argument;
        match arg {
            FunctionArgExpr::Expr(_) => {}
            FunctionArgExpr::QualifiedWildcard(name) => self.read_row(name, scope)?,
            FunctionArgExpr::Wildcard if counts => {}
            _ => self.read(scope.everything()),
        }
        Ok(())
    }

    /// Records a constant that is none, and refuses a parameter that is none.
    fn value(&mut self, value: &ValueWithSpan) -> Result<(), BadQuery> {
        match &value.value {
            Value::Placeholder(text) if !text.starts_with('$') => {
                let message = format!("`{text}` is no parameter of this server: correct the SQL");
                Err(super::text::bad_at(value.span.start, message))
            }
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text)
                if self.server == Server::Postgresql && means_time(text) =>
            {
                self.query.functions.insert("now".to_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Records what the `*` of results read, which are no expressions.
    pub(super) fn wildcards(
        &mut self,
        items: &[SelectItem],
        scope: &Scope<'_>,
    ) -> Result<(), BadQuery> {
        for item in items {
            match item {
                SelectItem::Wildcard(_) => {
                    let all = scope.tables().map(|table| (table.to_owned(), None)).collect();
                    self.read(all);
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => self.read_row(name, scope)?,
                _ => {}
            }
        }
        Ok(())
    }
}
