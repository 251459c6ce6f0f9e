//! The shapes of expressions by their operators.

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Ident, UnaryOperator, Value, Visit,
};

use super::{
    Error, Names, constants, may,
    shape::{Kind, Range, Shape},
    subquery::value_of,
    written,
};
use crate::{
    api::Server,
    sql::{names, walk},
};

impl Names<'_> {
    /// Returns the values that an expression may have, or an error that it may raise.
    pub(super) fn shape(&self, expression: &Expr) -> Result<Shape, Error> {
        if let Some(shape) = self.shapes.borrow().get(&std::ptr::from_ref(expression)) {
            return Ok(shape.clone());
        }
        let shape = self.shape_of(expression)?;
        self.shapes.borrow_mut().insert(std::ptr::from_ref(expression), shape.clone());
        Ok(shape)
    }

    fn shape_of(&self, expression: &Expr) -> Result<Shape, Error> {
        match expression {
            Expr::Identifier(ident) => Ok(self.column(std::slice::from_ref(ident))),
            Expr::CompoundIdentifier(idents) => Ok(self.column(idents)),
            Expr::Value(value) => Ok(match value.value {
                Value::Null => Shape { nullable: Some("NULL".to_owned()), ..Shape::given() },
                _ => Shape::given(),
            }),
            Expr::Nested(inner)
            | Expr::Collate { expr: inner, .. }
            | Expr::Prefixed { value: inner, .. } => self.shape(inner),
            Expr::BinaryOp { left, op, right } => self.binary(expression, (left, op, right)),
            Expr::UnaryOp { op, expr } => self.unary(expression, op, expr),
            Expr::Cast { expr, data_type, kind, .. } => {
                self.cast(expression, expr, data_type, kind)
            }
            Expr::Convert { expr, data_type: Some(data_type), .. } => {
                self.cast(expression, expr, data_type, &CastKind::Cast)
            }
            Expr::Function(function) => self.call(expression, function),
            Expr::Case { operand, conditions, else_result, .. } => {
                operand.iter().try_for_each(|one| self.shape(one).map(drop))?;
                let mut all = match else_result {
                    Some(value) => self.shape(value)?,
                    None => Shape { nullable: Some(written(expression)), ..Shape::given() },
                };
                for case in conditions {
                    match operand {
                        Some(operand) => self.comparable(expression, operand, &case.condition)?,
                        None => self.is_truth(&case.condition)?,
                    }
                    all = all.or(self.shape(&case.result)?);
                }
                Ok(all)
            }
            Expr::Subquery(query) => self.scalar(expression, query),
            Expr::Extract { expr, .. } => self.of_argument(expr, Kind::whole(2f64.powi(62))),
            Expr::Position { expr, r#in } => {
                let all = self.shape(expr)?.or(self.shape(r#in)?);
                Ok(Shape { kind: Kind::whole(2_147_483_647.0), ..all })
            }
            Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => self.rounded(expr, None),
            Expr::Trim { expr, .. } => self.shape(expr),
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let given = [substring_from, substring_for].into_iter().flatten().map(|one| &**one);
                self.part_of_text(expression, expr, given.collect(), substring_for.as_deref())
            }
            Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner) => {
                self.is_truth(inner)?;
                Ok(Shape::of(self.truth()))
            }
            Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsUnknown(inner)
            | Expr::IsNotUnknown(inner) => {
                self.shape(inner)?;
                Ok(Shape::of(self.truth()))
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.shape(left)?;
                self.shape(right)?;
                Ok(Shape::of(self.truth()))
            }
            Expr::Exists { .. } => Ok(Shape::of(self.truth())),
            Expr::InSubquery { expr, subquery, .. } => {
                if let Some(value) = value_of(subquery) {
                    self.comparable(expression, expr, value)?;
                }
                self.tests(&[expr])
            }
            Expr::InList { expr, list, .. } => {
                let mut nullable = self.shape(expr)?.nullable;
                for one in list {
                    self.comparable(expression, expr, one)?;
                    nullable = nullable.or(self.shape(one)?.nullable);
                }
                Ok(Shape { kind: self.truth(), nullable })
            }
            Expr::Between { expr, low, high, .. } => {
                self.comparable(expression, expr, low)?;
                self.comparable(expression, expr, high)?;
                self.tests(&[expr, low, high])
            }
            Expr::AnyOp { left, compare_op, right, .. }
            | Expr::AllOp { left, compare_op, right, .. } => {
                if !is_comparison(compare_op) {
                    self.pattern(expression, right)?;
                }
                self.tests(&[left, right])
            }
            Expr::Like { expr, pattern, escape_char, .. }
            | Expr::ILike { expr, pattern, escape_char, .. }
            | Expr::SimilarTo { expr, pattern, escape_char, .. } => {
                self.pattern(expression, pattern)?;
                self.escape(expression, pattern, escape_char.as_deref())?;
                self.tests(&[expr, pattern])
            }
            Expr::RLike { expr, pattern, .. } => {
                self.pattern(expression, pattern)?;
                self.tests(&[expr, pattern])
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                let all = self.shape(timestamp)?;
                match self.shape(time_zone)?.kind {
                    Kind::Given => Ok(Shape { kind: Kind::Unknown, ..all }),
                    _ => Err(may(time_zone, "name no time zone")),
                }
            }
            Expr::Interval(interval) => {
                self.is_number(&interval.value)?;
                self.shape(&interval.value)
            }
            Expr::Tuple(parts) => {
                parts.iter().try_fold(Shape::given(), |all, one| Ok(all.or(self.shape(one)?)))
            }
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => Ok(Shape::given()),
            other => self.any(other),
        }
    }

    /// Returns the shape of an expression of a form that is not known.
    fn any(&self, expression: &Expr) -> Result<Shape, Error> {
        if reads_row(self, expression) {
            return Err(may(expression, "raise an error"));
        }
        Ok(Shape::given())
    }

    /// Returns a kind for all values of an argument but null.
    pub(super) fn of_argument(&self, argument: &Expr, kind: Kind) -> Result<Shape, Error> {
        let shape = self.shape(argument)?;
        Ok(if shape.kind == Kind::Given { shape } else { Shape { kind, ..shape } })
    }

    /// Returns truth values.
    fn truth(&self) -> Kind {
        match self.server {
            Server::Postgresql => Kind::Other("boolean".to_owned()),
            _ => Kind::Number(Range { most: 1.0, unsigned: true, whole: true }),
        }
    }

    /// Returns the shape of a test of some values.
    pub(super) fn tests(&self, values: &[&Expr]) -> Result<Shape, Error> {
        let mut nullable = None;
        for value in values {
            nullable = nullable.or(self.shape(value)?.nullable);
        }
        Ok(Shape { kind: self.truth(), nullable })
    }

    /// MySQL reads a text as a number if it stands for a truth value, and refuses others in a
    /// change.
    pub(super) fn is_truth(&self, value: &Expr) -> Result<(), Error> {
        let is_text = matches!(self.shape(value)?.kind, Kind::Text(_));
        if is_text && self.server == Server::Mysql && self.writes {
            return Err(may(value, "be a text that is no number"));
        }
        Ok(())
    }

    /// MySQL reads a text as a number or a date if it is compared with one, and refuses others in a
    /// change.
    pub(super) fn comparable(&self, whole: &Expr, one: &Expr, other: &Expr) -> Result<(), Error> {
        if let (Expr::Tuple(ones), Expr::Tuple(others)) = (one, other) {
            let mut pairs = ones.iter().zip(others);
            return pairs.try_for_each(|(one, other)| self.comparable(whole, one, other));
        }
        let reads_text = |text: &Expr, number: &Expr| -> Result<bool, Error> {
            let (text, kind) = (self.shape(text)?.kind, self.shape(number)?.kind);
            let is_year = matches!(&kind, Kind::Other(ty) if ty.starts_with("year"));
            let is_number =
                constants::number(number).is_some() || matches!(kind, Kind::Number(_)) || is_year;
            Ok(is_number && (matches!(text, Kind::Text(_)) || text.is_json()))
        };
        if self.server == Server::Mysql
            && self.writes
            && (reads_text(one, other)? || reads_text(other, one)?)
        {
            return Err(may(whole, "read a text that is no number"));
        }
        let reads_date = |value: &Expr, date: &Expr| -> Result<bool, Error> {
            let is_none = matches!(self.shape(value)?.kind, Kind::Text(_) | Kind::Number(_));
            Ok(is_none && self.shape(date)?.kind.is_time())
        };
        if self.server == Server::Mysql
            && self.writes
            && (reads_date(one, other)? || reads_date(other, one)?)
        {
            return Err(may(whole, "read a value that is no date"));
        }
        Ok(())
    }

    /// Returns an error if a pattern comes from a row: it may be none.
    fn pattern(&self, whole: &Expr, pattern: &Expr) -> Result<(), Error> {
        match self.shape(pattern)?.kind {
            Kind::Given => Ok(()),
            _ => Err(may(whole, "use a text that is no pattern")),
        }
    }

    /// Returns an error if the escape character of a pattern comes from a row. PostgreSQL refuses a
    /// pattern that ends with it for those texts that match up to there.
    fn escape(&self, whole: &Expr, pattern: &Expr, escape: Option<&Expr>) -> Result<(), Error> {
        if let Some(escape) = escape
            && self.shape(escape)?.kind != Kind::Given
        {
            return Err(may(escape, "be no single character"));
        }
        let text = |constant: &Expr| match constants::literal(constant) {
            Some(constants::Literal::Text(text)) => Some(text),
            _ => None,
        };
        let character = escape.map_or_else(|| Some("\\".to_owned()), text);
        let (Server::Postgresql, Some(pattern), Some(character)) =
            (self.server, text(pattern), character)
        else {
            return Ok(());
        };
        let Some(character) = character.chars().next() else { return Ok(()) };
        let count = pattern.chars().rev().take_while(|&one| one == character).count();
        if count % 2 == 1 {
            return Err(may(whole, "use a text that is no pattern"));
        }
        Ok(())
    }

    fn unary(&self, whole: &Expr, op: &UnaryOperator, operand: &Expr) -> Result<Shape, Error> {
        match op {
            UnaryOperator::Not | UnaryOperator::BangNot => {
                self.is_truth(operand)?;
                self.tests(&[operand])
            }
            UnaryOperator::Plus => self.shape(operand),
            UnaryOperator::Minus => {
                let shape = self.shape(operand)?;
                match shape.kind {
                    Kind::Number(range) if range.unsigned && self.server == Server::Mysql => {
                        Err(may(whole, "be out of range"))
                    }
                    Kind::Number(range) => Ok(Shape { kind: self.negated(whole, range)?, ..shape }),
                    Kind::Given => Ok(shape),
                    _ if self.server == Server::Sqlite || shape.kind.is_time() => Ok(shape),
                    _ => Err(may(whole, "be out of range")),
                }
            }
            _ => self.any(whole),
        }
    }

    fn binary(
        &self,
        whole: &Expr,
        (left, op, right): (&Expr, &BinaryOperator, &Expr),
    ) -> Result<Shape, Error> {
        use BinaryOperator as Op;
        match op {
            Op::And | Op::Or | Op::Xor => {
                self.is_truth(left)?;
                self.is_truth(right)?;
                self.tests(&[left, right])
            }
            Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq | Op::Spaceship => {
                self.comparable(whole, left, right)?;
                self.tests(&[left, right])
            }
            Op::PGRegexMatch
            | Op::PGRegexIMatch
            | Op::PGRegexNotMatch
            | Op::PGRegexNotIMatch
            | Op::PGLikeMatch
            | Op::PGILikeMatch
            | Op::PGNotLikeMatch
            | Op::PGNotILikeMatch
            | Op::Regexp
            | Op::Match
            | Op::Glob => {
                self.pattern(whole, right)?;
                if is_like(op) {
                    self.escape(whole, right, None)?;
                }
                self.tests(&[left, right])
            }
            Op::Plus | Op::Minus => self.sum(whole, (left, op, right)),
            Op::Multiply => self.product(whole, left, right),
            Op::Divide | Op::Modulo => self.quotient(whole, left, right),
            Op::MyIntegerDivide => self.whole_quotient(whole, left, right),
            // In MySQL it is `OR`.
            Op::StringConcat if self.server != Server::Mysql => {
                if self.may_be_array(&self.shape(left)?) || self.may_be_array(&self.shape(right)?) {
                    return Err(may(whole, "join arrays of different dimensions"));
                }
                self.concat(&[left, right])
            }
            Op::Arrow | Op::LongArrow | Op::HashArrow | Op::HashLongArrow => {
                self.json_part(whole, (left, op, right))
            }
            Op::AtAt => self.search(whole, left, right),
            Op::AtArrow
            | Op::ArrowAt
            | Op::PGOverlap
            | Op::Question
            | Op::QuestionAnd
            | Op::QuestionPipe
            | Op::PGStartsWith => self.tests(&[left, right]),
            Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor | Op::PGBitwiseXor => {
                self.bits(whole, &[left, right])?;
                let all = self.shape(left)?.or(self.shape(right)?);
                let mysql = self.server == Server::Mysql && all.kind != Kind::Given;
                let number = Range { most: 2f64.powi(64), unsigned: true, whole: true };
                Ok(if mysql { Shape { kind: Kind::Number(number), ..all } } else { all })
            }
            _ => self.any(whole),
        }
    }

    /// Returns the texts of some values, one behind the other.
    pub(super) fn concat(&self, parts: &[&Expr]) -> Result<Shape, Error> {
        let (mut all, mut length) = (Shape::given(), Some(0));
        for part in parts {
            let shape = self.shape(part)?;
            let own = match (constants::literal(part), &shape.kind) {
                (Some(constants::Literal::Text(text) | constants::Literal::Number(text)), _) => {
                    Some(text.chars().count())
                }
                (_, Kind::Text(length)) => *length,
                _ => None,
            };
            length = length.zip(own).map(|(length, own)| length + own);
            all = all.or(shape);
        }
        let kind = match all.kind {
            Kind::Given | Kind::Other(_) => all.kind,
            _ => Kind::Text(length),
        };
        Ok(Shape { kind, ..all })
    }

    /// Returns the shape of a part of a text, with at most `length` characters.
    pub(super) fn part_of_text(
        &self,
        whole: &Expr,
        text: &Expr,
        given: Vec<&Expr>,
        length: Option<&Expr>,
    ) -> Result<Shape, Error> {
        let shape = self.shape(text)?;
        for one in &given {
            let kind = self.shape(one)?.kind;
            self.is_number(one)?;
            if kind != Kind::Given && self.server == Server::Postgresql {
                return Err(may(whole, "be given a negative length"));
            }
        }
        let own = match shape.kind {
            Kind::Text(length) => length,
            Kind::Given => return Ok(shape),
            _ => None,
        };
        let limit = length.and_then(constants::number).filter(|limit| *limit >= 0.0);
        let limit = limit.map(|limit| limit as usize);
        let most = own.map_or(limit, |own| Some(limit.map_or(own, |limit| own.min(limit))));
        Ok(Shape { kind: Kind::Text(most), ..shape })
    }

    fn cast(
        &self,
        whole: &Expr,
        value: &Expr,
        ty: &DataType,
        kind: &CastKind,
    ) -> Result<Shape, Error> {
        let shape = self.shape(value)?;
        if shape.kind == Kind::Given {
            return Ok(shape);
        }
        if self.server == Server::Mysql && *ty == DataType::JSON {
            return self.cast_to_json(whole, shape);
        }
        let text = ty.to_string().to_lowercase();
        let target = Kind::of_type(self.base(&text), self.server);
        let warns = match self.server {
            Server::Postgresql => matches!(kind, CastKind::TryCast | CastKind::SafeCast),
            Server::Mysql => !self.writes,
            Server::Sqlite => true,
        };
        // A text is cut off.
        if matches!(target, Kind::Text(_)) || warns || shape.kind.fits(&target) {
            return Ok(Shape { kind: target, ..shape });
        }
        Err(may(whole, "fail"))
    }
}

/// Returns true for an operator that means `LIKE`.
fn is_like(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(op, Op::PGLikeMatch | Op::PGILikeMatch | Op::PGNotLikeMatch | Op::PGNotILikeMatch)
}

/// Returns true if an operator compares values, whatever they are.
fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(op, Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq)
}

/// Returns true if an expression, or another part of a statement, reads a row or contains a query.
pub(super) fn reads_row(names: &Names<'_>, tree: &impl Visit) -> bool {
    let is_relation = |ident: &Ident| {
        let name = names::identifier(ident, names.server);
        names.relations.iter().any(|(alias, _)| *alias == name)
    };
    walk::any_expression(tree, |expression| match expression {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
        Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => true,
        Expr::CompoundIdentifier(_) => true,
        Expr::Identifier(ident) => {
            names.derived
                || is_relation(ident)
                || !names.columns(std::slice::from_ref(ident)).is_empty()
        }
        _ => false,
    })
}
