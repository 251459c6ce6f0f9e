//! The arguments that a function refuses which takes most values.

use sqlparser::ast::Expr;

use super::{
    Error, Names, constants, may,
    shape::{Kind, Shape},
};
use crate::api::Server;

/// Functions of dates and times, which MySQL makes of texts and numbers.
const OF_DATES: &[&str] = &[
    "date",
    "date_format",
    "datediff",
    "day",
    "dayname",
    "dayofweek",
    "hour",
    "minute",
    "month",
    "monthname",
    "second",
    "to_days",
    "unix_timestamp",
    "weekday",
    "year",
];

/// Functions of numbers, which MySQL makes of texts.
const OF_NUMBERS: &[&str] =
    &["abs", "avg", "bit_and", "bit_or", "round", "sign", "stddev", "sum", "variance"];

impl Names<'_> {
    /// Returns an error if a function may refuse one of its arguments.
    pub(super) fn check_arguments(
        &self,
        whole: &Expr,
        name: &str,
        arguments: &[&Expr],
    ) -> Result<(), Error> {
        match name {
            "lpad" | "rpad" if !self.is_given(arguments.get(1))? => {
                return Err(may(whole, "be too long"));
            }
            "bit_and" | "bit_or" => self.bits(whole, arguments)?,
            _ => {}
        }
        match self.server {
            Server::Postgresql => self.check_for_postgresql(whole, name, arguments),
            Server::Mysql if self.writes => self.check_for_mysql(whole, name, arguments),
            Server::Mysql | Server::Sqlite => Ok(()),
        }
    }

    fn check_for_postgresql(
        &self,
        whole: &Expr,
        name: &str,
        arguments: &[&Expr],
    ) -> Result<(), Error> {
        let shapes = self.shapes_of(arguments)?;
        match (name, arguments) {
            ("date_trunc" | "date_part", [unit, ..]) if !self.is_given(Some(unit))? => {
                Err(may(unit, "name no unit of time"))
            }
            ("date_trunc", [_, _, zone]) if !self.is_given(Some(zone))? => {
                Err(may(zone, "name no time zone"))
            }
            ("date", [date]) if !matches!(&shapes[0].kind, Kind::Given | Kind::Other(_)) => {
                Err(may(date, "be no date"))
            }
            ("to_char", [number, format, ..]) => self.format(whole, number, format),
            ("length", [_, encoding]) if !self.is_given(Some(encoding))? => {
                Err(may(encoding, "name no character set"))
            }
            // The bytes may be no text.
            ("length", [bytes, _]) if !self.is_given(Some(bytes))? => {
                Err(may(whole, "raise an error"))
            }
            ("to_jsonb" | "jsonb_agg" | "json_build_object" | "jsonb_build_object", _) => {
                self.json_arguments(whole, name, arguments)
            }
            ("array_append", [array, ..]) if !self.is_given(Some(array))? => {
                Err(may(whole, "join arrays of different dimensions"))
            }
            ("array_agg", [_]) if self.may_be_array(&shapes[0]) => {
                Err(may(whole, "join arrays of different dimensions"))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if a change of MySQL may refuse an argument, of which others only warn.
    fn check_for_mysql(&self, whole: &Expr, name: &str, arguments: &[&Expr]) -> Result<(), Error> {
        match name {
            "group_concat" => Err(may(whole, "be cut off")),
            "greatest" | "least" | "nullif" => {
                let mut pairs = arguments.iter().zip(arguments.iter().skip(1));
                pairs.try_for_each(|(one, other)| self.comparable(whole, one, other))
            }
            "locate" => arguments.iter().skip(2).try_for_each(|one| self.is_number(one)),
            "date_format" => arguments.iter().take(1).try_for_each(|one| self.is_date(one)),
            _ if OF_DATES.contains(&name) => arguments.iter().try_for_each(|one| self.is_date(one)),
            _ if OF_NUMBERS.contains(&name) => {
                arguments.iter().try_for_each(|one| self.is_number(one))
            }
            _ => Ok(()),
        }
    }

    fn shapes_of(&self, arguments: &[&Expr]) -> Result<Vec<Shape>, Error> {
        arguments.iter().map(|one| self.shape(one)).collect()
    }

    /// Returns true if an argument comes from no row, or is missing.
    fn is_given(&self, argument: Option<&&Expr>) -> Result<bool, Error> {
        argument.map_or(Ok(true), |argument| Ok(self.shape(argument)?.kind == Kind::Given))
    }

    fn is_date(&self, value: &Expr) -> Result<(), Error> {
        let kind = self.shape(value)?.kind;
        if kind == Kind::Given || kind.is_time() {
            return Ok(());
        }
        Err(may(value, "be no date"))
    }

    /// Returns an error if a change of MySQL reads a value as a number that may be none.
    pub(super) fn is_number(&self, value: &Expr) -> Result<(), Error> {
        let is_text = matches!(self.shape(value)?.kind, Kind::Text(_) | Kind::Unknown);
        if is_text && self.server == Server::Mysql && self.writes {
            return Err(may(value, "be a text that is no number"));
        }
        Ok(())
    }

    /// Returns an error if a format comes from a row. One with a `V` multiplies the number.
    fn format(&self, whole: &Expr, value: &Expr, format: &Expr) -> Result<(), Error> {
        if self.shape(format)?.kind != Kind::Given {
            return Err(may(whole, "use a text that is no format"));
        }
        let multiplies = match constants::literal(format) {
            Some(constants::Literal::Text(text)) => text.contains(['V', 'v']),
            _ => false,
        };
        if multiplies && matches!(self.shape(value)?.kind, Kind::Number(_) | Kind::Unknown) {
            return Err(may(whole, "be out of range"));
        }
        Ok(())
    }

    /// Returns an error if strings of bits are combined that may have different lengths.
    pub(super) fn bits(&self, whole: &Expr, operands: &[&Expr]) -> Result<(), Error> {
        let shapes = self.shapes_of(operands)?;
        if self.server == Server::Mysql {
            operands.iter().try_for_each(|one| self.is_number(one))?;
        }
        let mut kinds = shapes.iter().map(|shape| &shape.kind);
        let refuses = match self.server {
            Server::Postgresql => kinds.any(|kind| kind.is_bits() || *kind == Kind::Unknown),
            Server::Mysql => kinds.any(Kind::is_bits),
            Server::Sqlite => false,
        };
        if refuses {
            return Err(may(whole, "combine bits of different lengths"));
        }
        Ok(())
    }

    /// Returns the shape of a search. A text may have too many words.
    pub(super) fn search(&self, whole: &Expr, left: &Expr, right: &Expr) -> Result<Shape, Error> {
        let (one, other) = (self.shape(left)?, self.shape(right)?);
        if [&one, &other].iter().any(|shape| matches!(shape.kind, Kind::Text(_))) {
            return Err(may(whole, "read a text that is too long"));
        }
        self.tests(&[left, right])
    }

    /// Returns true if a value of PostgreSQL may be an array.
    pub(super) fn may_be_array(&self, shape: &Shape) -> bool {
        let is_unknown = shape.kind == Kind::Unknown && self.server == Server::Postgresql;
        shape.kind.is_array() || is_unknown && self.arrays
    }
}
