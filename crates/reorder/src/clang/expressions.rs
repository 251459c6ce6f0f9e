//! Expressions.
//!
//! Parentheses and implicit conversions vanish. libclang 14 does not name the latter: a node
//! without a name that has exactly the tokens of its only operand is one.

use clang::{Entity, EntityKind, EvaluationResult};

use super::{
    expanded::Span,
    lowering::{Lowering, MOST_LEVELS, operands},
    types,
};
use crate::{
    ir::{Expression, ExpressionKind as Kind, Type},
    source::Range,
};

impl<'tu> Lowering<'tu, '_> {
    /// Lowers an expression.
    pub(super) fn expression(&mut self, entity: Entity<'tu>) -> Expression {
        let (core, _) = self.stripped(entity);
        match self.ends_unseen(core) {
            Some(reason) => self.lowered(entity, |lowering| lowering.opaque(core, reason)),
            None => self.lowered(entity, |lowering| lowering.of_kind(core)),
        }
    }

    /// Lowers the initializer of a variable, which holds the object that it makes.
    pub(super) fn held(&mut self, entity: Entity<'tu>) -> Expression {
        let core = self.strip(entity);
        self.lowered(entity, |lowering| lowering.of_kind(core))
    }

    fn lowered(
        &mut self,
        entity: Entity<'tu>,
        lower: impl FnOnce(&mut Self) -> Expression,
    ) -> Expression {
        let (core, range) = self.stripped(entity);
        self.depth += 1;
        let mut lowered = match self.depth > MOST_LEVELS {
            true => self.opaque(core, "nested too deeply"),
            false => lower(self),
        };
        self.depth -= 1;
        if matches!(lowered.kind, Kind::Opaque(_))
            && let Some(span) = self.span(core)
        {
            self.hide(span);
        }
        if lowered.range.is_none() {
            lowered.range = range;
        }
        if let Kind::Variable(index) = lowered.kind {
            // The text of a variable is its name, or it cannot be renamed.
            let name = &self.variables[index.0].name;
            let name = name.rsplit("::").next().unwrap_or(name);
            let text = self.source.text;
            lowered.range = lowered.range.filter(|range| range.of(text) == name);
        }
        lowered
    }

    /// Lowers an expression that is bound to a reference if `reference` holds.
    pub(super) fn bound(&mut self, entity: Entity<'tu>, reference: bool) -> Expression {
        let value = self.expression(entity);
        if !(reference && may_be_object(&value)) {
            return value;
        }
        Expression { range: value.range, kind: Kind::Address(Box::new(value)) }
    }

    /// Returns the expression without parentheses and implicit conversions.
    pub(super) fn strip(&self, entity: Entity<'tu>) -> Entity<'tu> {
        self.stripped(entity).0
    }

    /// Strips an expression; returns also the innermost text that stands for it.
    fn stripped(&self, entity: Entity<'tu>) -> (Entity<'tu>, Option<Range>) {
        let (mut entity, mut range) = (entity, None);
        loop {
            let span = self.span(entity);
            let here = span.and_then(|span| self.source.file_range(span));
            range = here.or(range);
            let children = operands(entity);
            let inner = match (entity.get_kind(), children.as_slice()) {
                (EntityKind::ParenExpr, &[.., inner]) => inner,
                (EntityKind::UnexposedExpr, &[inner]) if span == self.span(inner) => inner,
                (EntityKind::UnaryOperator, &[inner])
                    if span
                        .is_some_and(|span| self.source.token(span.first) == "__extension__") =>
                {
                    inner
                }
                // A copy that the compiler leaves out.
                (EntityKind::CallExpr, &[inner])
                    if entity.get_reference().is_none()
                        && entity.get_arguments().is_some_and(|all| all == [inner]) =>
                {
                    inner
                }
                (EntityKind::FunctionalCastExpr, &[inner]) if is_constructed(entity) => inner,
                _ => return (entity, range),
            };
            entity = inner;
        }
    }

    fn of_kind(&mut self, entity: Entity<'tu>) -> Expression {
        use EntityKind as Entity;
        let range = self.file_range(entity);
        let with = |kind| Expression { range, kind };
        let reason = match entity.get_kind() {
            Entity::DeclRefExpr => return self.reference(entity, range),
            Entity::MemberRefExpr => {
                let member = self.member(entity, range);
                return self.unless_volatile(entity, member);
            }
            Entity::CallExpr => return self.call(entity, range),
            Entity::IntegerLiteral
            | Entity::FloatingLiteral
            | Entity::CharacterLiteral
            | Entity::StringLiteral
            | Entity::BoolLiteralExpr
            | Entity::UnaryExpr
            | Entity::GNUNullExpr
            | Entity::NullPtrLiteralExpr => return with(self.literal(entity)),
            Entity::InitListExpr => return with(self.list(entity)),
            Entity::CompoundLiteralExpr => {
                if let Some(&list) = operands(entity).last() {
                    let list = self.expression(list);
                    return with(list.kind);
                }
                "a compound literal"
            }
            Entity::ThisExpr => match self.this() {
                Some(this) => return with(Kind::Variable(this)),
                None => "`this`",
            },
            Entity::ArraySubscriptExpr => {
                let element = with(self.element(entity));
                return self.unless_volatile(entity, element);
            }
            Entity::UnaryOperator => {
                let value = with(self.unary(entity));
                return match value.kind {
                    Kind::Dereference(_) => self.unless_volatile(entity, value),
                    _ => value,
                };
            }
            Entity::BinaryOperator => return with(self.binary(entity)),
            Entity::CompoundAssignOperator => return with(self.binary(entity)),
            Entity::ConditionalOperator => {
                if let &[condition, yes, no] = operands(entity).as_slice() {
                    let all = [condition, yes, no].map(|one| Box::new(self.expression(one)));
                    let [condition, yes, no] = all;
                    return with(Kind::Conditional(condition, yes, no));
                }
                "a conditional operator"
            }
            Entity::CStyleCastExpr
            | Entity::StaticCastExpr
            | Entity::ReinterpretCastExpr
            | Entity::ConstCastExpr
            | Entity::FunctionalCastExpr => return with(self.cast(entity)),
            Entity::StmtExpr => return with(self.statement_expression(entity)),
            Entity::UnexposedExpr => return with(self.unexposed(entity)),
            Entity::ThrowExpr => {
                self.trouble.get_or_insert("`throw` within an expression".to_owned());
                "`throw` within an expression"
            }
            kind => expression_reason(kind),
        };
        with(Kind::Opaque(reason.to_owned()))
    }

    /// Returns a field, an element or what a pointer leads to, unless it is volatile and no part of
    /// a variable that is.
    fn unless_volatile(&self, entity: Entity<'tu>, place: Expression) -> Expression {
        let is_volatile = entity.get_type().is_some_and(types::is_volatile);
        if !is_volatile || self.is_part_of_volatile(&place) {
            return place;
        }
        let reason = "a volatile object that is no variable".to_owned();
        Expression { range: place.range, kind: Kind::Opaque(reason) }
    }

    fn is_part_of_volatile(&self, place: &Expression) -> bool {
        match &place.kind {
            Kind::Variable(variable) => self.variables[variable.0].volatile,
            Kind::Field { base, .. } | Kind::Element { base, .. } => self.is_part_of_volatile(base),
            _ => false,
        }
    }

    fn reference(&mut self, entity: Entity<'tu>, range: Option<Range>) -> Expression {
        let referenced = entity.get_reference();
        let kind = match referenced.map(|one| (one.get_kind(), one)) {
            Some((EntityKind::VarDecl, alias)) if self.is_alias(alias) => {
                Kind::Opaque(format!("`{}`, another name of a variable", self.written(entity)))
            }
            Some((EntityKind::VarDecl | EntityKind::ParmDecl, declaration)) => {
                Kind::Variable(self.variable(declaration))
            }
            Some((EntityKind::EnumConstantDecl, constant)) => self.enumerator(constant),
            Some((EntityKind::FunctionDecl | EntityKind::Method, function)) => {
                Kind::Constant(types::qualified_name(function))
            }
            _ => {
                let written = self.written(entity);
                Kind::Opaque(format!("`{written}`, which is no variable"))
            }
        };
        Expression { range, kind }
    }

    fn cast(&mut self, entity: Entity<'tu>) -> Kind {
        let (Some(ty), Some(&operand)) = (entity.get_type(), operands(entity).last()) else {
            return Kind::Opaque("a conversion".to_owned());
        };
        // Its length is evaluated.
        if types::has_variable_length(ty) {
            return Kind::Opaque("a conversion to an array of variable length".to_owned());
        }
        let ty = types::lower(ty);
        let operand = self.expression(operand);
        let null = matches!(&ty, Type::Pointer { to, .. } if **to == Type::Void);
        match operand.kind {
            Kind::Constant(zero) if null && zero == "0" => Kind::Constant("NULL".to_owned()),
            kind => Kind::Cast(ty, Box::new(Expression { range: operand.range, kind })),
        }
    }

    /// Lowers a node that libclang does not name: a constant, or `a ?: b`.
    fn unexposed(&mut self, entity: Entity<'tu>) -> Kind {
        let children = operands(entity);
        if let &[first, _, _, last] = children.as_slice()
            && let (Some(first_span), Some(last_span)) = (self.span(first), self.span(last))
            && self.between(first_span, last_span) == ["?", ":"]
        {
            let (first, last) = (self.expression(first), self.expression(last));
            if !first.has_effect() {
                let value = Box::new(first);
                return Kind::Conditional(value.clone(), value, Box::new(last));
            }
            return Kind::Opaque("`?:` with an effect".to_owned());
        }
        let constant = children.is_empty()
            || children.iter().all(|child| child.get_kind() == EntityKind::IntegerLiteral);
        match entity.evaluate().filter(|_| constant) {
            Some(EvaluationResult::SignedInteger(value)) => Kind::Constant(value.to_string()),
            Some(EvaluationResult::UnsignedInteger(value)) => Kind::Constant(value.to_string()),
            _ => {
                let written: String = self.written(entity).chars().take(40).collect();
                Kind::Opaque(match self.made_of_equality(entity) {
                    true => format!(
                        "`{written}`, whose `!=` C++20 makes of `==`, which libclang does not \
                         show: write `!(a == b)`, or pass -std=c++17"
                    ),
                    false => format!("`{written}`, which libclang does not show"),
                })
            }
        }
    }

    /// Returns true for a `!=` of two objects that is a call of their `==`.
    fn made_of_equality(&self, entity: Entity<'tu>) -> bool {
        let is_truth = entity.get_type().is_some_and(|ty| ty.get_kind() == clang::TypeKind::Bool);
        is_truth
            && self.span(entity).is_some_and(|span| {
                (span.first + 1..span.last).any(|place| self.source.token(place) == "!=")
            })
    }

    fn between(&self, before: Span, behind: Span) -> Vec<&str> {
        (before.last + 1..behind.first).map(|place| self.source.token(place)).collect()
    }

    /// Lowers a GNU statement expression whose statements are expressions and branches, such as the
    /// one that glibc's `assert` makes.
    fn statement_expression(&mut self, entity: Entity<'tu>) -> Kind {
        let reason = "a statement expression".to_owned();
        let block = entity.get_children().into_iter().next();
        let lowered = block.and_then(|block| self.as_expression(block, 0));
        match lowered {
            Some(lowered) => lowered.kind,
            None => {
                self.trouble.get_or_insert(reason.clone());
                Kind::Opaque(reason)
            }
        }
    }

    fn as_expression(&mut self, entity: Entity<'tu>, depth: usize) -> Option<Expression> {
        let made = |kind| Expression { range: None, kind };
        let zero = || made(Kind::Constant("0".to_owned()));
        if depth > 20 {
            return None;
        }
        let children = entity.get_children();
        match entity.get_kind() {
            EntityKind::NullStmt => Some(zero()),
            EntityKind::CompoundStmt => {
                let mut all = None;
                for child in children {
                    let next = self.as_expression(child, depth + 1)?;
                    all = Some(match all {
                        None => next,
                        Some(first) => made(Kind::Comma(Box::new(first), Box::new(next))),
                    });
                }
                Some(all.unwrap_or_else(zero))
            }
            EntityKind::IfStmt => {
                let (condition, yes, no) = match *children.as_slice() {
                    [condition, yes] => (condition, yes, None),
                    [condition, yes, no] => (condition, yes, Some(no)),
                    _ => return None,
                };
                if !condition.is_expression() {
                    return None;
                }
                let condition = self.expression(condition);
                let yes = self.as_expression(yes, depth + 1)?;
                let no = no.map_or(Some(zero()), |no| self.as_expression(no, depth + 1))?;
                Some(made(Kind::Conditional(Box::new(condition), Box::new(yes), Box::new(no))))
            }
            _ if entity.is_expression() => Some(self.expression(entity)),
            _ => None,
        }
    }
}

/// Returns true if a conversion in the form of a call constructs an object of a class.
fn is_constructed(entity: Entity<'_>) -> bool {
    entity.get_type().is_some_and(|ty| {
        matches!(types::lower(ty), Type::Class(_) | Type::Record(_) | Type::Other(_))
    })
}

/// Returns true if an expression may denote an object, and not only a value. Some of these make a
/// new value too; then it counts as the object that it was copied from.
fn may_be_object(expression: &Expression) -> bool {
    match &expression.kind {
        Kind::Variable(_) | Kind::Dereference(_) | Kind::Element { .. } | Kind::Field { .. } => {
            true
        }
        Kind::Conditional(_, yes, no) => may_be_object(yes) || may_be_object(no),
        Kind::Comma(_, object)
        | Kind::Assign { target: object, .. }
        | Kind::Increment(_, object)
        | Kind::Cast(_, object) => may_be_object(object),
        _ => false,
    }
}

fn expression_reason(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::LambdaExpr => "a lambda",
        EntityKind::NewExpr => "`new`",
        EntityKind::DeleteExpr => "`delete`",
        EntityKind::TypeidExpr => "`typeid`",
        EntityKind::DynamicCastExpr => "`dynamic_cast`",
        EntityKind::AddrLabelExpr => "the address of a label",
        EntityKind::GenericSelectionExpr => "`_Generic`",
        EntityKind::ImaginaryLiteral => "an imaginary number",
        EntityKind::BlockExpr => "a block literal",
        _ => "an expression that libclang does not show",
    }
}
