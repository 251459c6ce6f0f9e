//! Constants, and whether they fit into a column.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::{
    calls::arguments,
    shape::{self, Kind},
};
use crate::{api::Server, sql::names};

/// A constant.
pub(super) enum Literal {
    /// A number, as it is written.
    Number(String),
    Text(String),
    /// Bytes.
    Blob,
    /// Null, or a truth value.
    Other,
}

/// Returns the constant that an expression is.
pub(super) fn literal(expression: &Expr) -> Option<Literal> {
    match expression {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match literal(expr)? {
            Literal::Number(text) => Some(Literal::Number(format!("-{text}"))),
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => Some(Literal::Number(text.to_string())),
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::NationalStringLiteral(text)
            | Value::DoubleQuotedString(text) => Some(Literal::Text(text.clone())),
            Value::HexStringLiteral(_) => Some(Literal::Blob),
            Value::Boolean(_) | Value::Null => Some(Literal::Other),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the number that an expression is.
pub(super) fn number(expression: &Expr) -> Option<f64> {
    match literal(expression)? {
        Literal::Number(text) => text.parse().ok(),
        _ => None,
    }
}

/// Returns the constants that may be the value of an expression.
pub(super) fn results(value: &Expr, server: Server) -> Vec<Literal> {
    let (mut open, mut found) = (vec![value], Vec::new());
    while let Some(one) = open.pop() {
        match one {
            Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => open.push(inner),
            // A type with a length cuts a text off.
            Expr::Cast { expr, data_type, .. } if !data_type.to_string().contains('(') => {
                open.push(expr);
            }
            Expr::Case { conditions, else_result, .. } => {
                open.extend(conditions.iter().map(|case| &case.result));
                open.extend(else_result.iter().map(|value| &**value));
            }
            Expr::Function(call) => {
                let parts = names::parts(&call.name, server).unwrap_or_default();
                let all = arguments(call);
                let chosen = match names::function(&parts).as_str() {
                    "coalesce" | "ifnull" | "nvl" | "greatest" | "least" => &all[..],
                    "nullif" => all.get(..1).unwrap_or_default(),
                    "if" | "iif" => all.get(1..).unwrap_or_default(),
                    _ => &[],
                };
                open.extend(chosen);
            }
            _ => found.extend(folded(one, server)),
        }
    }
    found
}

/// Returns the constant that an operation on constants gives.
fn folded(expression: &Expr, server: Server) -> Option<Literal> {
    let (mut first, mut steps) = (expression, Vec::new());
    loop {
        first = match first {
            Expr::Nested(inner) => inner,
            Expr::BinaryOp { left, op, right } => {
                steps.push((op, right));
                left
            }
            _ => break,
        };
    }
    let mut value = literal(first)?;
    for (op, right) in steps.into_iter().rev() {
        value = combined(value, op, folded(right, server)?, server)?;
    }
    Some(value)
}

fn combined(left: Literal, op: &BinaryOperator, right: Literal, server: Server) -> Option<Literal> {
    let text = |value: Literal| match value {
        Literal::Number(text) | Literal::Text(text) => Some(text),
        Literal::Blob | Literal::Other => None,
    };
    let (one, other) = (text(left)?, text(right)?);
    if *op == BinaryOperator::StringConcat {
        return (server != Server::Mysql).then(|| Literal::Text(one + &other));
    }
    let (one, other): (f64, f64) = (one.parse().ok()?, other.parse().ok()?);
    let number = match op {
        BinaryOperator::Plus => one + other,
        BinaryOperator::Minus => one - other,
        BinaryOperator::Multiply => one * other,
        _ => return None,
    };
    Some(Literal::Number(number.to_string()))
}

/// Returns true if a column of a `STRICT` table takes a constant.
pub(super) fn fits_strictly(literal: &Literal, column: &Kind) -> bool {
    match (literal, column) {
        (Literal::Other, _) => true,
        (Literal::Blob, column) => matches!(column, Kind::Other(_)),
        (Literal::Number(_) | Literal::Text(_), Kind::Other(_)) => false,
        (Literal::Number(text) | Literal::Text(text), Kind::Number(range)) => {
            let number = text.trim().parse::<f64>();
            number.is_ok_and(|number| !range.whole || number.fract() == 0.0)
        }
        (Literal::Number(_) | Literal::Text(_), _) => true,
    }
}

/// Returns true if a constant fits into a column of a type.
pub(super) fn fits(literal: &Literal, ty: &str, column: &Kind) -> bool {
    let text = match literal {
        Literal::Number(text) | Literal::Text(text) => text,
        Literal::Blob | Literal::Other => return true,
    };
    match column {
        Kind::Number(range) => text
            .trim()
            .parse::<f64>()
            .is_ok_and(|number| number.abs() <= range.most && (number >= 0.0 || !range.unsigned)),
        Kind::Text(most) => most.is_none_or(|most| text.chars().count() <= most),
        _ if ty.starts_with("enum") => match literal {
            Literal::Number(_) => false,
            _ => ty.contains(&format!("'{}'", text.to_lowercase())),
        },
        _ if ty.starts_with("date") || ty.starts_with("timestamp") => is_date(text),
        _ if ty.starts_with("set(") => match literal {
            Literal::Number(_) => false,
            _ => text.split(',').all(|one| ty.contains(&format!("'{}'", one.to_lowercase()))),
        },
        _ if ty.starts_with("binary") || ty.starts_with("varbinary") => {
            text.len() <= shape::length(ty).unwrap_or(1)
        }
        _ if ty.starts_with("json") => serde_json::from_str::<serde_json::Value>(text).is_ok(),
        _ => true,
    }
}

/// Returns true if a text is a date that each server knows, or a word for one.
fn is_date(text: &str) -> bool {
    let (date, _) = text.trim().split_once([' ', 'T']).unwrap_or((text.trim(), ""));
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else {
        return super::super::expression::means_time(text) || text.contains("infinity");
    };
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let days = match number(month) {
        4 | 6 | 9 | 11 => 30,
        2 => 28,
        _ => 31,
    };
    year.len() == 4
        && number(year) > 0
        && (1..=12).contains(&number(month))
        && (1..=days).contains(&number(day))
}
