//! Statements, with the text of the file that each stands for.
//!
//! A statement is lowered to a [`Piece`]: its kind and its tokens in the expanded text, with its
//! semicolon. [`Lowering::statements`] then gives the pieces of a block their ranges. Neighbours
//! that share a use of a macro come together: if the use makes all of them, they are one
//! [`StatementKind::Expanded`], otherwise one [`StatementKind::Opaque`]. A statement with
//! statements within it that one use makes becomes `Expanded` too, because no part of it stands in
//! the file.

use clang::{Entity, EntityKind};

use super::{
    expanded::Span,
    lowering::{Lowering, MOST_LEVELS, operands},
    types,
};
use crate::{
    ir::{Declaration, Expression, ExpressionKind, Scope, Statement, StatementKind, Type},
    source::Range,
};

/// A statement by its tokens.
pub(super) struct Piece {
    pub(super) span: Span,
    pub(super) kind: StatementKind,
}

/// The reason why no text of the file stands for a statement.
pub(super) type Reason = String;

impl<'tu> Lowering<'tu, '_> {
    /// Lowers the statements between two braces. If `labels` holds, labels of a `switch` may stand
    /// between them.
    pub(super) fn statements(
        &mut self,
        children: &[Entity<'tu>],
        braces: Span,
        labels: bool,
    ) -> Result<Vec<Statement>, Reason> {
        let mut pieces: Vec<Piece> = Vec::new();
        for &child in children {
            pieces.push(self.piece(child)?);
        }
        if self.expanding {
            return Ok(pieces.into_iter().map(|piece| within(piece.kind)).collect());
        }
        let mut statements = Vec::new();
        let mut next = braces.first + 1;
        let mut pieces = pieces.into_iter().peekable();
        while let Some(first) = pieces.next() {
            let mut group = vec![first];
            while let Some(piece) = pieces.next_if(|piece| self.adjoin(&group, piece)) {
                group.push(piece);
            }
            let start = group[0].span.first;
            if !labels {
                self.fill(next, start, &mut statements)?;
            }
            next = group[group.len() - 1].span.last + 1;
            statements.push(self.join(group)?);
        }
        if !labels {
            self.fill(next, braces.last, &mut statements)?;
        }
        Ok(statements)
    }

    /// Returns true if one use makes the end of the group and the beginning of the next piece.
    fn adjoin(&self, group: &[Piece], next: &Piece) -> bool {
        let Some(last) = group.last() else { return false };
        let usage = self.source.usage(last.span.last);
        next.span.first <= last.span.last
            || usage.is_some() && usage == self.source.usage(next.span.first)
    }

    /// Makes tokens between statements, which belong to none of them, an opaque statement. A use
    /// that is left as it is and that no statement belongs to expands to nothing.
    fn fill(&self, from: usize, to: usize, statements: &mut Vec<Statement>) -> Result<(), Reason> {
        if (from..to).all(|place| self.source.is_left(place)) {
            return Ok(());
        }
        let span = Span { first: from, last: to - 1 };
        let reason = format!("`{}` is not part of a statement", self.source.token(from));
        let Some(range) = self.source.outer_range(span) else { return Err(reason) };
        statements.push(Statement { range, kind: StatementKind::Opaque(reason) });
        Ok(())
    }

    fn join(&mut self, mut group: Vec<Piece>) -> Result<Statement, Reason> {
        let span = Span { first: group[0].span.first, last: group[group.len() - 1].span.last };
        let usage = self.only_usage(span);
        let one = group.len() == 1;
        if let (true, None) = (one, usage) {
            let piece = group.remove(0);
            return self.statement(piece);
        }
        let Some(range) = self.source.outer_range(span) else { return Err(self.parts(span)) };
        let compound = one && is_compound(&group[0].kind);
        let mut statement = match usage {
            Some(_) if one && !compound => {
                let piece = group.remove(0);
                Statement { range, kind: piece.kind }
            }
            Some(_) => {
                let all = group.into_iter().map(|piece| within(piece.kind)).collect();
                Statement { range, kind: StatementKind::Expanded(all) }
            }
            None => {
                self.hide(span);
                Statement { range, kind: StatementKind::Opaque(self.parts(span)) }
            }
        };
        set_ranges(&mut statement, range);
        Ok(statement)
    }

    /// Returns a piece as the statement that stands in the file.
    pub(super) fn statement(&self, piece: Piece) -> Result<Statement, Reason> {
        if self.expanding {
            return Ok(within(piece.kind));
        }
        match self.source.outer_range(piece.span) {
            Some(range) => {
                let mut statement = Statement { range, kind: piece.kind };
                if self.only_usage(piece.span).is_some() && is_compound(&statement.kind) {
                    let kind = std::mem::replace(&mut statement.kind, StatementKind::Empty);
                    statement.kind = StatementKind::Expanded(vec![within(kind)]);
                    set_ranges(&mut statement, range);
                }
                Ok(statement)
            }
            None => Err(self.parts(piece.span)),
        }
    }

    /// Returns the use that makes all tokens but a last semicolon.
    pub(super) fn only_usage(&self, span: Span) -> Option<usize> {
        let semicolon = span.last > span.first && self.source.token(span.last) == ";";
        let last = if semicolon { span.last - 1 } else { span.last };
        self.source.common_usage(Span { first: span.first, last })
    }

    /// Returns the reason for a span that a macro makes in part.
    pub(super) fn parts(&self, span: Span) -> Reason {
        let usage = (span.first..=span.last).find_map(|place| self.source.usage(place));
        match usage {
            Some(usage) => {
                let name = self.source.macro_name(usage);
                format!("the macro `{name}` expands to a part of a statement")
            }
            None => "the statement does not stand in the file as it is compiled".to_owned(),
        }
    }

    /// Lowers a statement.
    pub(super) fn piece(&mut self, entity: Entity<'tu>) -> Result<Piece, Reason> {
        let span = self
            .span(entity)
            .ok_or_else(|| "a statement that another file contains (`#include`)".to_owned())?;
        let outer = (self.trouble.take(), self.expanding);
        self.expanding |= self.only_usage(span).is_some();
        self.depth += 1;
        let piece = match self.depth > MOST_LEVELS {
            true => {
                self.simple(span, StatementKind::Opaque("nested too deeply".to_owned()), entity)
            }
            false => self.piece_of_kind(entity, span),
        };
        self.depth -= 1;
        let trouble = std::mem::replace(&mut self.trouble, outer.0);
        self.expanding = outer.1;
        let mut piece = piece?;
        if let Some(reason) = trouble {
            piece.kind = StatementKind::Opaque(reason);
        }
        if matches!(piece.kind, StatementKind::Opaque(_)) {
            self.hide(piece.span);
        }
        Ok(piece)
    }

    fn piece_of_kind(&mut self, entity: Entity<'tu>, span: Span) -> Result<Piece, Reason> {
        use EntityKind as Kind;
        let kind = match entity.get_kind() {
            Kind::CompoundStmt
            | Kind::IfStmt
            | Kind::WhileStmt
            | Kind::DoStmt
            | Kind::ForStmt
            | Kind::SwitchStmt
            | Kind::LabelStmt => return self.compound(entity, span),
            Kind::DeclStmt => self.declaration(entity),
            Kind::NullStmt => StatementKind::Empty,
            Kind::BreakStmt => StatementKind::Break,
            Kind::ContinueStmt => StatementKind::Continue,
            Kind::GotoStmt => {
                let label = entity.get_children().first().and_then(|label| label.get_name());
                StatementKind::Goto(
                    label.unwrap_or_else(|| self.source.token(span.last).to_owned()),
                )
            }
            Kind::ReturnStmt => {
                let value = operands(entity).first().copied();
                let value = value.map(|value| self.bound(value, self.returns_reference));
                StatementKind::Return(value)
            }
            Kind::UnexposedStmt if self.is_empty_with_attribute(entity) => StatementKind::Empty,
            _ if entity.is_expression() => self.evaluation(entity),
            kind => StatementKind::Opaque(statement_reason(kind).to_owned()),
        };
        self.simple(span, kind, entity)
    }

    fn is_empty_with_attribute(&self, entity: Entity<'tu>) -> bool {
        let inner: Vec<_> =
            entity.get_children().into_iter().filter(|child| child.is_statement()).collect();
        matches!(inner.as_slice(), [one] if one.get_kind() == EntityKind::NullStmt)
    }

    fn evaluation(&mut self, entity: Entity<'tu>) -> StatementKind {
        let stripped = self.strip(entity);
        if stripped.get_kind() == EntityKind::ThrowExpr {
            let value = operands(stripped).first().copied();
            return StatementKind::Throw(value.map(|value| self.expression(value)));
        }
        StatementKind::Evaluate(self.expression(entity))
    }

    /// Returns the piece of a statement without statements within it, with its semicolon.
    pub(super) fn simple(
        &self,
        mut span: Span,
        kind: StatementKind,
        entity: Entity<'tu>,
    ) -> Result<Piece, Reason> {
        let last = self.source.token(span.last);
        if last == ";" && !entity.is_expression() {
            return Ok(Piece { span, kind });
        }
        if self.source.token(span.last + 1) == ";" {
            span.last += 1;
            return Ok(Piece { span, kind });
        }
        // A use that is left as it is does not show its semicolon.
        let made = self.source.usage(span.last).is_some();
        match last {
            "}" if !entity.is_expression() => Ok(Piece { span, kind }),
            _ if made => Ok(Piece { span, kind }),
            _ => Err("a statement without a semicolon".to_owned()),
        }
    }

    fn declaration(&mut self, entity: Entity<'tu>) -> StatementKind {
        let mut declarations = Vec::new();
        for child in entity.get_children() {
            match child.get_kind() {
                EntityKind::VarDecl => {}
                kind if declares_no_variable(kind) => continue,
                _ => return StatementKind::Opaque("a declaration of another kind".to_owned()),
            }
            if let Some(reason) = self.unusual_declaration(child) {
                return StatementKind::Opaque(reason);
            }
            let variable = self.variable(child);
            if self.variables[variable.0].scope == Scope::Global {
                continue;
            }
            if let Some(owned) = self.owned_by(child) {
                let initial = Some(self.expression(owned.made));
                declarations.push(Declaration { variable, initial });
                continue;
            }
            let initial = self.initial(child);
            if let Some(reason) = self.ends_with_scope(child, initial.as_ref()) {
                return StatementKind::Opaque(reason);
            }
            declarations.push(Declaration { variable, initial });
        }
        StatementKind::Declare(declarations)
    }

    fn initial(&mut self, declaration: Entity<'tu>) -> Option<Expression> {
        let value = self.initializer(declaration)?;
        let ty = declaration.get_type()?;
        let reference = matches!(types::lower(ty), Type::Reference { .. });
        let mut initial = match reference {
            true => self.bound(value, true),
            false => self.held(value),
        };
        // `T name(…)` constructs: its text begins with the name.
        let name = declaration.get_name().unwrap_or_default();
        let begins = self.span(self.strip(value)).map(|span| self.source.token(span.first));
        if matches!(initial.kind, ExpressionKind::Construct(..)) && begins == Some(&name) {
            initial.range = None;
        }
        Some(initial)
    }

    /// Returns the reason why a declaration does more than to declare.
    fn unusual_declaration(&self, declaration: Entity<'tu>) -> Option<Reason> {
        if declaration.get_type().is_some_and(types::has_variable_length) {
            return Some("an array whose length is not a constant".to_owned());
        }
        let cleans = declaration.get_children().into_iter().any(|child| {
            child.is_attribute() && {
                let written = self.written(child);
                written.is_empty() || written.contains("cleanup")
            }
        });
        cleans.then(|| "a declaration with the attribute `cleanup`".to_owned())
    }
}

/// Returns true for declarations that make nothing at run time.
fn declares_no_variable(kind: EntityKind) -> bool {
    use EntityKind as Kind;
    matches!(
        kind,
        Kind::StructDecl
            | Kind::UnionDecl
            | Kind::ClassDecl
            | Kind::EnumDecl
            | Kind::TypedefDecl
            | Kind::TypeAliasDecl
            | Kind::FunctionDecl
            | Kind::StaticAssert
            | Kind::UsingDeclaration
            | Kind::UsingDirective
            | Kind::NamespaceAlias
    )
}

fn statement_reason(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::AsmStmt | EntityKind::MsAsmStmt => "inline assembly",
        EntityKind::TryStmt => "`try` and `catch`",
        EntityKind::ForRangeStmt => "a `for` over a range",
        EntityKind::IndirectGotoStmt => "a computed `goto`",
        EntityKind::CaseStmt | EntityKind::DefaultStmt => {
            "a label of a `switch` within another statement"
        }
        _ => "a statement that libclang does not show",
    }
}

/// Returns a statement within an expansion; [`set_ranges`] gives it its range.
fn within(kind: StatementKind) -> Statement {
    Statement { range: Range::new(0, 0), kind }
}

fn is_compound(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::If { .. }
            | StatementKind::Loop { .. }
            | StatementKind::Switch { .. }
            | StatementKind::Block(_)
            | StatementKind::Label(..)
    )
}

/// Gives a statement and all within it the range of the use that makes them.
fn set_ranges(statement: &mut Statement, range: Range) {
    statement.range = range;
    match &mut statement.kind {
        StatementKind::If { then, otherwise, .. } => {
            set_ranges(then, range);
            otherwise.iter_mut().for_each(|inner| set_ranges(inner, range));
        }
        StatementKind::Loop { initial, body, .. } => {
            initial.iter_mut().for_each(|inner| set_ranges(inner, range));
            set_ranges(body, range);
        }
        StatementKind::Switch { body, .. }
        | StatementKind::Block(body)
        | StatementKind::Expanded(body) => {
            body.iter_mut().for_each(|inner| set_ranges(inner, range));
        }
        StatementKind::Label(_, inner) => set_ranges(inner, range),
        _ => {}
    }
}
