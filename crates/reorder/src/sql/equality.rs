//! Conditions that make a column equal to a value, which does not come from a table.
//!
//! Only what a whole condition requires counts: the operands of `AND` at its top. The `ON` of an
//! inner join counts as well; that of an outer join does not, since it keeps rows that it refuses.

use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Join, JoinConstraint, JoinOperator, TableFactor,
    TableWithJoins, UnaryOperator, Value as Literal,
};

use super::{Value, names, scope::Scope, select::Analysis};

impl Analysis<'_> {
    /// Records the equalities that a condition requires. Returns their number, if the condition
    /// consists of them alone, each of another column.
    pub(super) fn require(&mut self, condition: &Expr, scope: &Scope<'_>) -> Option<usize> {
        let (mut open, mut count) = (vec![condition], Some(0));
        while let Some(condition) = open.pop() {
            let found = match condition {
                Expr::Nested(inner) => {
                    open.push(inner);
                    Some(0)
                }
                Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                    open.extend([&**right, &**left]);
                    Some(0)
                }
                Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                    self.equal(left, right, scope)
                }
                Expr::InList { expr, list, negated: false } => match &list[..] {
                    [value] => self.equal(expr, value, scope),
                    _ => None,
                },
                _ => None,
            };
            count = count.zip(found).map(|(all, one)| all + one);
        }
        count
    }

    /// Records the equalities that the inner joins of a `FROM` require.
    pub(super) fn require_joins(&mut self, from: &[TableWithJoins], scope: &Scope<'_>) {
        let mut open: Vec<&TableWithJoins> = from.iter().collect();
        while let Some(TableWithJoins { relation, joins }) = open.pop() {
            let factors = std::iter::once(relation).chain(joins.iter().map(|join| &join.relation));
            open.extend(factors.filter_map(|factor| match factor {
                TableFactor::NestedJoin { table_with_joins, .. } => Some(&**table_with_joins),
                _ => None,
            }));
            for on in joins.iter().filter_map(inner_condition) {
                self.require(on, scope);
            }
        }
    }

    /// Records `left = right`, if one is a column and the other a value. Returns the number of
    /// columns, if all of them are recorded for the first time.
    fn equal(&mut self, left: &Expr, right: &Expr, scope: &Scope<'_>) -> Option<usize> {
        match (strip(left), strip(right)) {
            (Expr::Tuple(columns), Expr::Tuple(values)) if columns.len() == values.len() => {
                let pairs = columns.iter().zip(values);
                let counts: Vec<Option<usize>> =
                    pairs.map(|(column, value)| self.equal(column, value, scope)).collect();
                counts.into_iter().sum()
            }
            (column, other) => {
                let found = self.column_and_value(column, other, scope);
                let found = found.or_else(|| self.column_and_value(other, column, scope));
                let (table, column, value) = found?;
                let equal = &mut self.query.tables.entry(table).or_default().equal;
                let is_new = !equal.contains_key(&column);
                equal.entry(column).or_insert(value);
                is_new.then_some(1)
            }
        }
    }

    /// Returns the table, the column and the value, if these are a column and a value.
    fn column_and_value(
        &self,
        column: &Expr,
        other: &Expr,
        scope: &Scope<'_>,
    ) -> Option<(String, String, Value)> {
        let value = value(other)?;
        let idents = match column {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(idents) => &idents[..],
            _ => return None,
        };
        let mut parts = idents.iter().rev().map(|ident| names::identifier(ident, self.server));
        let (column, prefix) = (parts.next()?, parts.next());
        let table = scope.owner(prefix.as_deref(), &column, self.schema)?.to_owned();
        Some((table, column, value))
    }
}

/// Returns the condition of an inner join.
fn inner_condition(join: &Join) -> Option<&Expr> {
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on))
        | JoinOperator::CrossJoin(JoinConstraint::On(on))
        | JoinOperator::StraightJoin(JoinConstraint::On(on)) => Some(on),
        _ => None,
    }
}

/// Returns an expression without the parentheses around it.
fn strip(mut expression: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expression {
        expression = inner;
    }
    expression
}

/// Returns the value of a parameter, with or without a cast, or of a constant; not `NULL`, which is
/// equal to nothing, nor a constant that means the time. A constant under a cast is one only if the
/// cast is to a type of integers, of which it then is a value: `CAST(12 AS CHAR(1))` is `'1'`.
pub(super) fn value(mut expression: &Expr) -> Option<Value> {
    let mut converts = false;
    loop {
        match expression {
            Expr::Nested(inner) => expression = inner,
            Expr::Cast { expr: inner, data_type, .. } => {
                converts |= !keeps_integers(data_type);
                expression = inner;
            }
            _ => break,
        }
    }
    let found = stripped_value(expression)?;
    (!converts || matches!(found, Value::Parameter(_))).then_some(found)
}

/// Returns true for a type of integers: a cast to it leaves an integer as it is, or fails.
fn keeps_integers(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::SmallInt(None)
            | DataType::Int2(None)
            | DataType::Int(None)
            | DataType::Integer(None)
            | DataType::Int4(None)
            | DataType::Int8(None)
            | DataType::BigInt(None)
            | DataType::Signed
            | DataType::SignedInteger
    )
}

fn stripped_value(expression: &Expr) -> Option<Value> {
    match expression {
        Expr::Value(literal) => constant(&literal.value),
        Expr::TypedString(typed) => constant(&typed.value.value),
        Expr::UnaryOp { op: op @ (UnaryOperator::Minus | UnaryOperator::Plus), expr } => {
            match &**expr {
                Expr::Value(literal) if matches!(literal.value, Literal::Number(..)) => {
                    Some(Value::Constant(format!("{op}{}", literal.value)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn constant(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Null => None,
        Literal::SingleQuotedString(text) | Literal::EscapedStringLiteral(text)
            if super::expression::means_time(text) =>
        {
            None
        }
        Literal::Placeholder(text) => {
            let number: usize = text.strip_prefix('$')?.parse().ok()?;
            Some(Value::Parameter(number.checked_sub(1)?))
        }
        literal => Some(Value::Constant(literal.to_string())),
    }
}
