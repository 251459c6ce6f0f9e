//! Constants, and whether they fit into a column.

use sqlparser::ast::{Expr, UnaryOperator, Value};

use super::shape::Kind;

/// A constant.
pub(super) enum Literal {
    /// A number, as it is written.
    Number(String),
    Text(String),
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

/// Returns true if a constant fits into a column of a type.
pub(super) fn fits(literal: &Literal, ty: &str, column: &Kind) -> bool {
    let text = match literal {
        Literal::Number(text) | Literal::Text(text) => text,
        Literal::Other => return true,
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
