//! The shapes of calls of functions.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::{
    Error, Names, constants, may,
    operators::reads_row,
    shape::{Kind, Range, Shape},
    written,
};
use crate::{api::Server, sql::names};

impl Names<'_> {
    /// Returns the shape of a call. A function that is not listed may refuse what a row gives it,
    /// and a function of the user everything.
    pub(super) fn call(&self, whole: &Expr, function: &Function) -> Result<Shape, Error> {
        let parts = names::parts(&function.name, self.server).unwrap_or_default();
        let name = names::function(&parts);
        let arguments = arguments(function);
        let shapes: Vec<Shape> =
            arguments.iter().map(|one| self.shape(one)).collect::<Result<_, Error>>()?;
        let null = Some(written(whole));
        if self.is_own(&name) {
            return Err(may(whole, "raise an error"));
        }
        let all = || shapes.iter().cloned().reduce(Shape::or).unwrap_or_else(Shape::given);
        let first = || shapes.first().cloned().unwrap_or_else(Shape::given);
        let of_all = |kind: Kind| match all() {
            Shape { kind: Kind::Given, nullable } => Shape { kind: Kind::Given, nullable },
            shape => Shape { kind, ..shape },
        };
        self.check_arguments(whole, &name, &arguments)?;
        let number = Range { most: f64::INFINITY, unsigned: false, whole: false };
        Ok(match name.as_str() {
            "count" | "row_number" | "rank" | "dense_rank" => Shape::of(Kind::whole(2f64.powi(62))),
            "coalesce" | "ifnull" | "nvl" => {
                let nullable = shapes.iter().all(|one| one.nullable.is_some());
                Shape { nullable: null.filter(|_| nullable), ..all() }
            }
            "max" | "min" if shapes.len() > 1 => Shape { nullable: null, ..all() },
            "lag" | "lead" => {
                let other = shapes.get(2).cloned().unwrap_or_else(Shape::given);
                Shape { nullable: null, ..first().or(other) }
            }
            "max" | "min" | "first_value" | "last_value" | "any_value" => {
                Shape { nullable: null, ..first() }
            }
            "nullif" => Shape { nullable: null, ..first() },
            "sum" | "avg" => {
                let range = match first().kind {
                    Kind::Number(range) => range.scaled(None, f64::INFINITY),
                    _ => number,
                };
                Shape { kind: Kind::Number(Range { whole: false, ..range }), nullable: null }
            }
            "greatest" | "least" => all(),
            "values" | "trim" | "ltrim" | "rtrim" | "btrim" | "reverse" => first(),
            "abs" => match first() {
                Shape { kind: Kind::Number(range), nullable } if !range.unsigned => {
                    Shape { kind: self.negated(whole, range)?, nullable }
                }
                shape => shape,
            },
            "round" | "floor" | "ceil" | "ceiling" => match &arguments[..] {
                [number] => self.rounded(number, None)?,
                [number, places] => self.rounded(number, Some(places))?,
                _ => all(),
            },
            // A letter may become two (ICU).
            "lower" | "upper" if self.server == Server::Postgresql => match first() {
                Shape { kind: Kind::Text(_), nullable } => {
                    Shape { kind: Kind::Text(None), nullable }
                }
                shape => shape,
            },
            "lower" | "upper" => first(),
            "if" if arguments.first().is_some_and(|one| self.is_truth(one).is_err()) => {
                return Err(may(whole, "read a text that is no number"));
            }
            "if" | "iif" => match &shapes[..] {
                [_, one, other] => one.clone().or(other.clone()),
                _ => all(),
            },
            "left" | "right" | "substr" | "substring" => {
                let Some((text, given)) = arguments.split_first() else { return Ok(all()) };
                let length = if name.starts_with("sub") { given.get(1) } else { given.first() };
                self.part_of_text(whole, text, given.to_vec(), length.copied())?
            }
            "length" | "char_length" | "character_length" | "octet_length" | "bit_length"
            | "strpos" | "instr" | "locate" | "position" | "sign" | "year" | "month" | "day"
            | "hour" | "minute" | "second" | "dayofweek" | "weekday" | "to_days" | "datediff"
            | "unix_timestamp" => of_all(Kind::whole(2_147_483_647.0)),
            "date_part" => of_all(Kind::whole(2f64.powi(62))),
            "concat" => self.concat(&arguments)?,
            "concat_ws" | "replace" | "translate" | "initcap" | "lpad" | "rpad" | "to_char"
            | "date_format" | "quote" | "dayname" | "monthname" => of_all(Kind::Text(None)),
            "strftime" => Shape { kind: of_all(Kind::Text(None)).kind, nullable: null },
            "md5" | "sha1" | "sha" | "sha2" | "sha256" | "hex" | "to_hex" | "quote_literal" => {
                of_all(Kind::Text(None))
            }
            "date" => {
                let ty = if self.server == Server::Sqlite { "text" } else { "date" };
                Shape { kind: of_all(Kind::of_type(ty, self.server)).kind, nullable: null }
            }
            "date_trunc" => {
                let kind = shapes.get(1).map(|time| time.kind.clone());
                let kind = kind.filter(Kind::is_time).unwrap_or(Kind::Unknown);
                Shape { kind: of_all(kind).kind, nullable: null }
            }
            "json_agg" | "to_json" | "row_to_json" | "json_build_object" | "jsonb_agg"
            | "to_jsonb" | "jsonb_build_object" => {
                let ty = if name.contains("jsonb") { "jsonb" } else { "json" };
                Shape { kind: of_all(Kind::Other(ty.to_owned())).kind, nullable: null }
            }
            "array_agg" | "array_append" => {
                Shape { kind: of_all(Kind::Other("[]".to_owned())).kind, nullable: null }
            }
            "string_agg" | "group_concat" | "bool_and" | "bool_or" | "every" | "bit_and"
            | "bit_or" | "stddev" | "variance" | "age" | "cardinality" | "array_length"
            | "typeof" | "pg_typeof" | "grouping" => {
                Shape { kind: of_all(Kind::Unknown).kind, nullable: null }
            }
            _ if reads_row(self, whole) => return Err(may(whole, "raise an error")),
            _ => Shape::given(),
        })
    }
}

impl Names<'_> {
    /// Returns true for the name of a function of the user.
    pub(super) fn is_own(&self, name: &str) -> bool {
        let last = name.rsplit('.').next();
        self.schema.functions.keys().any(|known| known.rsplit('.').next() == last)
    }

    /// Returns numbers that are rounded to places behind the point, to none if there is no number.
    pub(super) fn rounded(&self, number: &Expr, places: Option<&Expr>) -> Result<Shape, Error> {
        self.is_number(number)?;
        let shape = self.shape(number)?;
        let behind = |places| constants::number(places).is_some_and(|places| places >= 0.0);
        let is_before_point = places.is_some_and(|places| !behind(places));
        let kind = match shape.kind {
            Kind::Number(range) => Kind::Number(range.rounded(is_before_point)),
            kind => kind,
        };
        Ok(Shape { kind, ..shape })
    }
}

/// Returns the arguments of a call that are expressions.
pub(super) fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    list.args.iter().filter_map(expression).collect()
}

/// Returns the expression of an argument.
pub(super) fn expression(argument: &FunctionArg) -> Option<&Expr> {
    let (FunctionArg::Named { arg, .. }
    | FunctionArg::ExprNamed { arg, .. }
    | FunctionArg::Unnamed(arg)) = argument;
    match arg {
        FunctionArgExpr::Expr(expression) => Some(expression),
        _ => None,
    }
}
