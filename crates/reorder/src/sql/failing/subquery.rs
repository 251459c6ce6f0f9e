//! Queries that stand for one value.

use sqlparser::ast::{
    Expr, Function, GroupByExpr, LimitClause, Query as Tree, SelectItem, SetExpr, TableFactor,
    TableWithJoins,
};

use super::{
    Error, Names, constants, may,
    shape::{Kind, Shape},
    written,
};
use crate::{
    api::Server,
    sql::{
        names,
        walk::{self, Part},
    },
};

/// The functions that make one value of all rows of a group.
const AGGREGATES: &[&str] = &["count", "max", "min", "sum", "avg", "bool_and", "bool_or", "every"];

impl Names<'_> {
    /// Returns the shape of a query that stands for one value.
    pub(super) fn scalar(&self, whole: &Expr, query: &Tree) -> Result<Shape, Error> {
        let none = Some(written(whole));
        let one = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit: Some(limit), .. }) => {
                constants::number(limit) == Some(1.0)
            }
            _ => false,
        };
        let (SetExpr::Select(select), Some(value)) = (&*query.body, value_of(query)) else {
            return Err(may(whole, "return several rows"));
        };
        let grouped =
            !matches!(&select.group_by, GroupByExpr::Expressions(all, _) if all.is_empty());
        let sums = !grouped && has_aggregate(value);
        let one = one || sums || select.from.is_empty() || self.reads_one_row(&select.from);
        if !one && self.server != Server::Sqlite {
            return Err(may(whole, "return several rows"));
        }
        let shape = self.shape(value)?;
        let counts = sums && shape.nullable.is_none();
        // Each value that comes from a table comes from a row.
        let kind = if shape.kind == Kind::Given { Kind::Unknown } else { shape.kind };
        Ok(Shape { kind, nullable: if counts { None } else { none } })
    }

    /// Returns true if a `FROM` is a table of which the query reads one row, by a key.
    fn reads_one_row(&self, from: &[TableWithJoins]) -> bool {
        let [TableWithJoins { relation: TableFactor::Table { name, .. }, joins }] = from else {
            return false;
        };
        let parts = names::parts(name, self.server).unwrap_or_default();
        let Ok(table) = self.schema.name_of(&parts) else { return false };
        joins.is_empty()
            && self.query.tables.get(&table).is_some_and(|access| {
                let columns = access.equal.keys().cloned().collect();
                access.occurrences == 1 && self.schema.is_key(&table, &columns)
            })
    }
}

/// Returns the only value in the rows of a query.
pub(super) fn value_of(query: &Tree) -> Option<&Expr> {
    let SetExpr::Select(select) = &*query.body else { return None };
    match &select.projection[..] {
        [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] => {
            Some(value)
        }
        _ => None,
    }
}

/// Returns true if an expression calls a function that makes one value of all rows.
fn has_aggregate(expression: &Expr) -> bool {
    let is_aggregate = |call: &Function| {
        let name = call.name.to_string().to_ascii_lowercase();
        call.over.is_none() && AGGREGATES.contains(&name.as_str())
    };
    let mut queries_around = 0;
    let found = walk::walk(expression, |part| {
        match part {
            Part::Query(_) => queries_around += 1,
            Part::QueryEnd => queries_around -= 1,
            Part::Expression(Expr::Function(call)) if queries_around == 0 && is_aggregate(call) => {
                return Err(());
            }
            _ => {}
        }
        Ok(())
    });
    found.is_err()
}
