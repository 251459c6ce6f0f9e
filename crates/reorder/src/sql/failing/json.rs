//! Parts of JSON, and JSON of values.

use sqlparser::ast::{BinaryOperator, Expr};

use super::{
    Error, Names, may,
    shape::{Kind, Shape},
    written,
};
use crate::{
    api::Server,
    schema::{Column, Table},
};

impl Names<'_> {
    /// Returns the shape of a part of JSON.
    pub(super) fn json_part(
        &self,
        whole: &Expr,
        (left, op, right): (&Expr, &BinaryOperator, &Expr),
    ) -> Result<Shape, Error> {
        let (json, path) = (self.shape(left)?, self.shape(right)?);
        let nullable = Some(written(whole));
        if json.kind == Kind::Given && path.kind == Kind::Given {
            return Ok(Shape { nullable, ..Shape::given() });
        }
        let is_postgresql = self.server == Server::Postgresql;
        let may_be_text = match json.kind {
            Kind::Text(_) => true,
            // In SQLite each column may hold a text.
            Kind::Number(_) | Kind::Other(_) => self.server == Server::Sqlite && !is_part(left),
            Kind::Unknown => !is_postgresql && !is_part(left),
            Kind::Given => false,
        };
        if may_be_text {
            return Err(may(whole, "read a text that is no JSON"));
        }
        if !is_postgresql && path.kind != Kind::Given {
            return Err(may(right, "be no path"));
        }
        if is_postgresql && self.may_be_json(&json) {
            return Err(may(whole, "read a character that no text has"));
        }
        let kind = match (op, json.kind) {
            (BinaryOperator::Arrow | BinaryOperator::HashArrow, kind @ Kind::Other(_)) => kind,
            (BinaryOperator::LongArrow | BinaryOperator::HashLongArrow, _) if is_postgresql => {
                Kind::Text(None)
            }
            _ => Kind::Unknown,
        };
        Ok(Shape { kind, nullable })
    }

    /// Returns an error if JSON cannot be made of some values: a key that is null, and a text of
    /// the type `json` with a character that no text has.
    pub(super) fn json_arguments(
        &self,
        whole: &Expr,
        name: &str,
        arguments: &[&Expr],
    ) -> Result<(), Error> {
        if name.ends_with("build_object") {
            for key in arguments.iter().step_by(2) {
                if self.shape(key)?.nullable.is_some() {
                    return Err(may(key, "be null, which a key must not be"));
                }
            }
        }
        for argument in arguments {
            if name.contains("jsonb") && self.may_be_json(&self.shape(argument)?) {
                return Err(may(whole, "read a character that no text has"));
            }
        }
        Ok(())
    }

    /// Returns true if a value of PostgreSQL may come from a column of the type `json`, whose texts
    /// may have the character zero.
    fn may_be_json(&self, shape: &Shape) -> bool {
        let is_json = |column: &Column| Kind::of_type(self.base(&column.ty), self.server).is_json();
        let has_json = |table: &Table| table.columns.iter().any(is_json);
        (shape.kind.is_json() || shape.kind == Kind::Unknown)
            && self.schema.tables.values().any(has_json)
    }

    /// Returns the shape of a value as JSON, which MySQL makes of texts in all statements.
    pub(super) fn cast_to_json(&self, whole: &Expr, value: Shape) -> Result<Shape, Error> {
        let kind = Kind::of_type("json", self.server);
        if value.kind == kind || matches!(value.kind, Kind::Number(_)) || value.kind.is_time() {
            return Ok(Shape { kind, ..value });
        }
        Err(may(whole, "read a text that is no JSON"))
    }
}

/// Returns true for a part of JSON that is JSON itself.
fn is_part(mut expression: &Expr) -> bool {
    while let Expr::Nested(inner) = expression {
        expression = inner;
    }
    matches!(expression, Expr::BinaryOp { op: BinaryOperator::Arrow, .. })
}
