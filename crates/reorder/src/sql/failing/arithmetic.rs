//! Sums, products and quotients.

use sqlparser::ast::{BinaryOperator, Expr};

use super::{
    Error, Names,
    calls::arguments,
    constants, may,
    shape::{Kind, Range, Shape},
    written,
};
use crate::{api::Server, sql::names};

/// An operand, with the numbers that it may have if they come from rows.
type Operand<'e> = (&'e Expr, Option<Range>);

impl Names<'_> {
    /// Returns the numbers that an operand may have; `None` for those that come from no row.
    fn range(&self, whole: &Expr, kind: &Kind) -> Result<Option<Range>, Error> {
        let any = Range { most: f64::INFINITY, unsigned: false, whole: false };
        match kind {
            Kind::Given => Ok(None),
            Kind::Number(range) => Ok(Some(*range)),
            _ if self.server == Server::Sqlite => Ok(Some(any)),
            Kind::Text(_) if self.server == Server::Mysql && !self.writes => Ok(Some(any)),
            Kind::Text(_) => Err(may(whole, "read a text that is no number")),
            _ => Err(may(whole, "be out of range")),
        }
    }

    pub(super) fn sum(
        &self,
        whole: &Expr,
        (left, op, right): (&Expr, &BinaryOperator, &Expr),
    ) -> Result<Shape, Error> {
        let (one, other) = (self.shape(left)?, self.shape(right)?);
        let nullable = one.nullable.clone().or(other.nullable.clone());
        // MySQL adds other things than intervals to the digits of a time.
        let is_interval = |value: &Expr| matches!(value, Expr::Interval(_));
        let adds_time = self.server != Server::Mysql || is_interval(left) || is_interval(right);
        if adds_time && (one.kind.is_time() || other.kind.is_time()) {
            let kind = match (is_interval(left), is_interval(right)) {
                (false, true) => one.kind,
                (true, false) => other.kind,
                _ => one.kind.or(other.kind),
            };
            return Ok(Shape { kind, nullable });
        }
        let ranges = (self.range(whole, &one.kind)?, self.range(whole, &other.kind)?);
        let range = match ranges {
            (None, None) => return Ok(Shape { kind: Kind::Given, nullable }),
            (Some(one), Some(other)) => one.sum(other),
            (Some(one), None) | (None, Some(one)) => one.sum(one),
        };
        // What is added to numbers without sign must be known to have none.
        let positive = |value: &Expr, range: Option<Range>| {
            range.map_or_else(
                || constants::number(value).is_some_and(|number| number >= 0.0),
                |range| range.unsigned,
            )
        };
        let unsigned = [ranges.0, ranges.1].into_iter().flatten().any(|range| range.unsigned);
        let grows =
            *op == BinaryOperator::Plus && positive(left, ranges.0) && positive(right, ranges.1);
        // PostgreSQL makes a `smallint` of two, and takes a parameter for one; constants are wider.
        let small = |value: &Expr, range: Option<Range>| {
            range.map_or_else(|| constants::number(value).is_none(), Range::is_small)
        };
        let overflows = match self.server {
            Server::Postgresql => small(left, ranges.0) && small(right, ranges.1),
            Server::Mysql => unsigned && !grows,
            Server::Sqlite => false,
        };
        if overflows {
            return Err(may(whole, "be out of range"));
        }
        let kind = Kind::Number(Range { unsigned: unsigned && grows, ..range });
        Ok(Shape { kind, nullable })
    }

    pub(super) fn product(&self, whole: &Expr, left: &Expr, right: &Expr) -> Result<Shape, Error> {
        let (one, other) = (self.shape(left)?, self.shape(right)?);
        let nullable = one.nullable.or(other.nullable);
        let ranges = (self.range(whole, &one.kind)?, self.range(whole, &other.kind)?);
        let factor = |value: &Expr| constants::number(value).map_or(f64::INFINITY, f64::abs);
        let scaled = |range: Range, value| {
            let is_whole = constants::number(value).is_none_or(|number| number.fract() == 0.0);
            let product = range.scaled(None, range.most * factor(value).max(1.0));
            Range { whole: product.whole && is_whole, ..product }
        };
        let range = match ranges {
            (None, None) => return Ok(Shape { kind: Kind::Given, nullable }),
            (Some(one), Some(other)) => one.scaled(Some(other), one.most * other.most),
            (Some(range), None) => scaled(range, right),
            (None, Some(range)) => scaled(range, left),
        };
        let is_signed = !keeps_sign((left, ranges.0), (right, ranges.1));
        if self.server == Server::Mysql && range.whole && is_signed {
            return Err(may(whole, "be out of range"));
        }
        let is_small = |range: Option<Range>| range.is_some_and(Range::is_small);
        let limit = match self.server {
            Server::Postgresql if is_small(ranges.0) && is_small(ranges.1) => 2f64.powi(15),
            Server::Postgresql => 2f64.powi(31),
            Server::Mysql => 2f64.powi(63),
            Server::Sqlite => f64::INFINITY,
        };
        if range.whole && range.most > limit {
            return Err(may(whole, "be out of range"));
        }
        Ok(Shape { kind: Kind::Number(range), nullable })
    }

    pub(super) fn quotient(&self, whole: &Expr, left: &Expr, right: &Expr) -> Result<Shape, Error> {
        let (one, other) = (self.shape(left)?, self.shape(right)?);
        let divisor = constants::number(right);
        let raises = match self.server {
            Server::Postgresql => true,
            Server::Mysql => self.writes,
            Server::Sqlite => false,
        };
        let of_rows = one.kind != Kind::Given || other.kind != Kind::Given;
        let is_zero = match divisor {
            Some(number) => number == 0.0,
            None => !self.is_null_for_zero(right),
        };
        if raises && of_rows && is_zero {
            return Err(may(whole, "divide by zero"));
        }
        let ranges = (self.range(whole, &one.kind)?, self.range(whole, &other.kind)?);
        let nullable = one.nullable.or(other.nullable);
        let may_be_null = divisor.is_none_or(|number| number == 0.0);
        let nullable = nullable.or_else(|| may_be_null.then(|| written(whole)));
        let Some(range) = ranges.0.or(ranges.1) else {
            return Ok(Shape { nullable, ..Shape::given() });
        };
        let is_whole = matches!(other.kind, Kind::Number(range) if range.whole);
        let grows = divisor.map_or(!is_whole, |number| number.abs() < 1.0);
        let most = if grows { f64::INFINITY } else { range.most / divisor.map_or(1.0, f64::abs) };
        let range = Range { whole: range.whole, ..range.scaled(ranges.1, most) };
        Ok(Shape { kind: Kind::Number(range), nullable })
    }

    /// Returns the shape of the whole part of a quotient, which must be a `BIGINT`.
    pub(super) fn whole_quotient(
        &self,
        whole: &Expr,
        left: &Expr,
        right: &Expr,
    ) -> Result<Shape, Error> {
        let quotient = self.quotient(whole, left, right)?;
        let (one, other) = (self.shape(left)?, self.shape(right)?);
        let ranges = (self.range(whole, &one.kind)?, self.range(whole, &other.kind)?);
        let least = match ranges.1 {
            Some(range) => f64::from(u8::from(range.whole)),
            None => constants::number(right).map_or(1.0, f64::abs),
        };
        let most = ranges.0.map_or(1.0, |range| range.most);
        let is_small = least >= 1.0 && ranges.0.is_none_or(|range| range.whole);
        let fits = is_small || most <= least * 2f64.powi(63);
        let of_rows = quotient.kind != Kind::Given;
        if of_rows && !(fits && keeps_sign((left, ranges.0), (right, ranges.1))) {
            return Err(may(whole, "be out of range"));
        }
        Ok(quotient)
    }

    /// Returns numbers with the other sign.
    pub(super) fn negated(&self, whole: &Expr, range: Range) -> Result<Kind, Error> {
        if self.server == Server::Postgresql && range.is_small() {
            return Err(may(whole, "be out of range"));
        }
        Ok(Kind::Number(range.negated()))
    }

    /// Returns true for `NULLIF(…, 0)`.
    fn is_null_for_zero(&self, value: &Expr) -> bool {
        let Expr::Function(function) = value else { return false };
        let parts = names::parts(&function.name, self.server).unwrap_or_default();
        let arguments = arguments(function);
        let number = arguments.get(1).and_then(|other| constants::number(other));
        names::function(&parts) == "nullif" && number == Some(0.0)
    }
}

/// Returns true if a product or quotient is not less than zero where MySQL takes it for a number
/// without sign.
fn keeps_sign(one: Operand<'_>, other: Operand<'_>) -> bool {
    let is_unsigned = |(_, range): Operand<'_>| range.is_some_and(|range| range.unsigned);
    let is_positive = |(value, range): Operand<'_>| {
        let constant = constants::number(value).is_none_or(|number| number >= 0.0);
        range.map_or(constant, |range| range.unsigned)
    };
    let all = [one, other];
    !all.into_iter().any(is_unsigned) || all.into_iter().all(is_positive)
}
