//! Clauses that refuse values: functions in `FROM`, limits, samples, the frames of windows.

use sqlparser::ast::{
    Expr, Function, FunctionArg, LimitClause, NamedWindowExpr, ObjectName, Query as Tree, Select,
    SetExpr, TableFactor, TableSampleKind, WindowFrame, WindowFrameBound, WindowType,
};

use super::{
    Error, Names,
    calls::expression,
    may,
    operators::reads_row,
    shape::{Kind, Range},
    subquery::value_of,
    written,
};
use crate::{
    api::Server,
    sql::{names, walk::Part},
};

impl Names<'_> {
    /// Returns the first error of a clause whose expressions are known to raise none.
    pub(super) fn clause(&self, part: &Part<'_>) -> Result<(), Error> {
        match part {
            Part::Query(query) => {
                self.limits(query)?;
                let windows = selects(&query.body).into_iter().flat_map(|one| &one.named_window);
                windows.map(|window| &window.1).try_for_each(|window| match window {
                    NamedWindowExpr::WindowSpec(spec) => self.frame(spec.window_frame.as_ref()),
                    NamedWindowExpr::NamedWindow(_) => Ok(()),
                })
            }
            Part::Factor(factor) => self.item(factor),
            Part::Expression(Expr::Function(Function {
                over: Some(WindowType::WindowSpec(spec)),
                ..
            })) => self.frame(spec.window_frame.as_ref()),
            _ => Ok(()),
        }
    }

    fn limits(&self, query: &Tree) -> Result<(), Error> {
        let all = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                [limit.as_ref(), offset.as_ref().map(|offset| &offset.value)]
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => [Some(limit), Some(offset)],
            None => [None, None],
        };
        let fetch = query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref());
        all.into_iter().chain([fetch]).flatten().try_for_each(|one| self.limit(one))
    }

    /// Returns an error if a number of rows that comes from rows may be refused: SQLite takes all
    /// whole numbers, others take those without sign, and null.
    pub(super) fn limit(&self, value: &Expr) -> Result<(), Error> {
        let shape = self.shape(value)?;
        let is_count = is_count(value) && shape.nullable.is_none();
        if shape.kind == Kind::Given || is_count {
            return Ok(());
        }
        if self.server != Server::Sqlite {
            return Err(may(value, "be negative"));
        }
        let is_whole = matches!(shape.kind, Kind::Number(Range { whole: true, .. }));
        if is_whole && shape.nullable.is_none() && !self.reads_loosely(value) {
            return Ok(());
        }
        Err(may(value, "be no whole number"))
    }

    /// Returns an error if the bounds of a frame may be less than zero.
    fn frame(&self, frame: Option<&WindowFrame>) -> Result<(), Error> {
        let Some(WindowFrame { start_bound, end_bound, .. }) = frame else { return Ok(()) };
        for bound in [Some(start_bound), end_bound.as_ref()].into_iter().flatten() {
            let (WindowFrameBound::Preceding(Some(value))
            | WindowFrameBound::Following(Some(value))) = bound
            else {
                continue;
            };
            if self.shape(value)?.kind != Kind::Given {
                return Err(may(value, "be negative"));
            }
        }
        Ok(())
    }

    /// Returns an error that an item of a `FROM` may raise.
    fn item(&self, factor: &TableFactor) -> Result<(), Error> {
        match factor {
            TableFactor::Table { name, args: Some(list), .. } => self.rows_of(name, &list.args),
            TableFactor::Function { name, args, .. } => self.rows_of(name, args),
            TableFactor::Table { sample: Some(sample), .. }
            | TableFactor::Derived { sample: Some(sample), .. } => self.sample(sample),
            TableFactor::JsonTable { .. } if reads_row(self, factor) => {
                Err("`JSON_TABLE` may raise an error".to_owned())
            }
            TableFactor::XmlTable { .. } if reads_row(self, factor) => {
                Err("`XMLTABLE` may raise an error".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Returns an error that a function in a `FROM` may raise: each that is not listed may refuse
    /// what a row gives it, and a function of the user everything.
    fn rows_of(&self, name: &ObjectName, list: &[FunctionArg]) -> Result<(), Error> {
        let parts = names::parts(name, self.server).unwrap_or_default();
        let function = names::function(&parts);
        let mut of_rows = Vec::new();
        for argument in list {
            let kind = expression(argument).map(|value| self.shape(value)).transpose()?;
            of_rows.push(kind.is_none_or(|shape| shape.kind != Kind::Given));
        }
        let of_rows = |index: usize| of_rows.get(index..).unwrap_or_default().contains(&true);
        let raises = match function.as_str() {
            "unnest" | "generate_subscripts" | "string_to_table" => false,
            // The steps must not be zero.
            "generate_series" => of_rows(2),
            "regexp_matches" | "regexp_split_to_table" => of_rows(1),
            _ => of_rows(0),
        };
        if raises || self.is_own(&function) {
            let list: Vec<String> = list.iter().map(written).collect();
            return Err(format!("`{name}({})` may raise an error", list.join(", ")));
        }
        Ok(())
    }

    fn sample(&self, sample: &TableSampleKind) -> Result<(), Error> {
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
            sample;
        let Some(quantity) = &sample.quantity else { return Ok(()) };
        if self.shape(&quantity.value)?.kind == Kind::Given {
            return Ok(());
        }
        Err(may(&quantity.value, "be no percentage"))
    }
}

/// Returns the `SELECT`s that a query combines.
pub(super) fn selects(body: &SetExpr) -> Vec<&Select> {
    let (mut open, mut found) = (vec![body], Vec::new());
    while let Some(body) = open.pop() {
        match body {
            SetExpr::Select(select) => found.push(&**select),
            SetExpr::SetOperation { left, right, .. } => open.extend([&**left, &**right]),
            _ => {}
        }
    }
    found
}

/// Returns true for a number of rows.
fn is_count(mut value: &Expr) -> bool {
    loop {
        value = match value {
            Expr::Nested(inner) => inner,
            Expr::Subquery(query) => match value_of(query) {
                Some(value) => value,
                None => return false,
            },
            Expr::Function(call) => return call.name.to_string().eq_ignore_ascii_case("count"),
            _ => return false,
        }
    }
}
