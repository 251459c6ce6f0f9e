//! Statements with statements within them.
//!
//! libclang does not tell which of the parts of a `for` it lists, nor where an `else` stands. The
//! tokens do: each form is read from them, and a statement whose tokens have another form than the
//! one that is known, or whose keywords a macro makes in part, becomes opaque.

use clang::{Entity, EntityKind};

use super::{
    expanded::Span,
    lowering::Lowering,
    statements::{Piece, Reason},
};
use crate::ir::{LoopForm, Statement, StatementKind};

impl<'tu> Lowering<'tu, '_> {
    /// Lowers a statement with statements within it.
    pub(super) fn compound(&mut self, entity: Entity<'tu>, span: Span) -> Result<Piece, Reason> {
        let children = entity.get_children();
        let mut end = span.last;
        let form = match entity.get_kind() {
            EntityKind::CompoundStmt => self.block(&children, span),
            EntityKind::IfStmt => self.branch(&children, span, &mut end),
            EntityKind::WhileStmt => self.while_loop(&children, span, &mut end),
            EntityKind::DoStmt => self.do_loop(&children, span, &mut end),
            EntityKind::ForStmt => self.for_loop(&children, span, &mut end),
            EntityKind::SwitchStmt => self.switch(&children, span),
            _ => self.label(entity, &children, span, &mut end),
        };
        let (last, kind) = match form {
            Ok(kind) => (end, kind),
            Err(reason) => match self.end_of(entity, 0) {
                Some(last) => (last, StatementKind::Opaque(reason)),
                None => return Err(reason),
            },
        };
        Ok(Piece { span: Span { first: span.first, last }, kind })
    }

    /// Returns the last token of a statement whatever its form.
    fn end_of(&self, entity: Entity<'tu>, depth: usize) -> Option<usize> {
        let span = self.span(entity)?;
        let last = self.source.token(span.last);
        if matches!(last, ";" | "}") && !entity.is_expression() {
            return Some(span.last);
        }
        if self.source.token(span.last + 1) == ";" {
            return Some(span.last + 1);
        }
        let inner = entity.get_children().into_iter().rfind(|child| child.is_statement())?;
        if depth > super::lowering::MOST_LEVELS { None } else { self.end_of(inner, depth + 1) }
    }

    /// Returns true if the token has this text and stands in the file, or in the same expansion as
    /// the statement.
    fn is(&self, place: usize, text: &str) -> bool {
        self.source.token(place) == text && (self.expanding || self.source.usage(place).is_none())
    }

    /// Returns the reason for a form that is not known.
    fn unknown(&self, what: &str, span: Span) -> Reason {
        let made = !self.expanding
            && [span.first, span.last].iter().any(|&place| self.source.usage(place).is_some());
        match made {
            true => self.parts(span),
            false => format!("{what} of a form that the tool does not know"),
        }
    }

    fn block(&mut self, children: &[Entity<'tu>], span: Span) -> Result<StatementKind, Reason> {
        if !self.is(span.first, "{") || !self.is(span.last, "}") {
            return Err(self.unknown("a block", span));
        }
        match self.statements(children, span, false) {
            Ok(statements) => Ok(StatementKind::Block(statements)),
            Err(reason) => Err(reason),
        }
    }

    /// Lowers a statement within this one, which must begin at a token.
    fn inner(&mut self, entity: Entity<'tu>, first: usize) -> Result<(Statement, usize), Reason> {
        let piece = self.piece(entity)?;
        if piece.span.first != first {
            return Err(self.parts(Span { first: first.min(piece.span.first), ..piece.span }));
        }
        let last = piece.span.last;
        Ok((self.statement(piece)?, last))
    }

    /// Returns the place behind `keyword ( … )` and that of the opening parenthesis.
    fn head(&self, first: usize, keyword: &str) -> Option<(usize, usize)> {
        let mut open = first + 1;
        if keyword == "if" && self.source.token(open) == "constexpr" {
            open += 1;
        }
        if !self.is(first, keyword) || !self.is(open, "(") {
            return None;
        }
        let close = self.source.partners[open].filter(|&close| self.is(close, ")"))?;
        Some((open, close))
    }

    /// Returns true if the tokens between two places are those of the entity.
    fn fills(&self, entity: Entity<'tu>, open: usize, close: usize) -> bool {
        self.span(entity).is_some_and(|span| span.first == open + 1 && span.last + 1 == close)
            && entity.is_expression()
    }

    fn branch(
        &mut self,
        children: &[Entity<'tu>],
        span: Span,
        end: &mut usize,
    ) -> Result<StatementKind, Reason> {
        let Some((open, close)) = self.head(span.first, "if") else {
            return Err(self.unknown("an `if`", span));
        };
        let condition = children.first().filter(|&&one| self.fills(one, open, close));
        let (condition, then, otherwise) = match (condition, children) {
            (Some(&condition), &[_, then]) => (condition, then, None),
            (Some(&condition), &[_, then, otherwise]) => (condition, then, Some(otherwise)),
            _ => return Err("a declaration in the condition of an `if`".to_owned()),
        };
        let condition = self.expression(condition);
        let (then, last) = self.inner(then, close + 1)?;
        *end = last;
        let mut rest = None;
        if let Some(otherwise) = otherwise {
            if !self.is(last + 1, "else") {
                return Err(self.unknown("an `else`", span));
            }
            let (otherwise, last) = self.inner(otherwise, last + 2)?;
            *end = last;
            rest = Some(Box::new(otherwise));
        }
        Ok(StatementKind::If { condition, then: Box::new(then), otherwise: rest })
    }

    fn while_loop(
        &mut self,
        children: &[Entity<'tu>],
        span: Span,
        end: &mut usize,
    ) -> Result<StatementKind, Reason> {
        let Some((open, close)) = self.head(span.first, "while") else {
            return Err(self.unknown("a `while`", span));
        };
        let condition = children.first().filter(|&&one| self.fills(one, open, close));
        let (Some(&condition), &[_, body]) = (condition, children) else {
            return Err("a declaration in the condition of a `while`".to_owned());
        };
        let condition = Some(self.expression(condition));
        let (body, last) = self.inner(body, close + 1)?;
        *end = last;
        let body = Box::new(body);
        let form = LoopForm::While;
        Ok(StatementKind::Loop { form, initial: None, condition, step: None, body })
    }

    fn do_loop(
        &mut self,
        children: &[Entity<'tu>],
        span: Span,
        end: &mut usize,
    ) -> Result<StatementKind, Reason> {
        let &[body, condition] = children else { return Err(self.unknown("a `do`", span)) };
        if !self.is(span.first, "do") {
            return Err(self.unknown("a `do`", span));
        }
        let (body, last) = self.inner(body, span.first + 1)?;
        let head = self.head(last + 1, "while");
        let Some((_, close)) = head.filter(|&(open, close)| self.fills(condition, open, close))
        else {
            return Err(self.unknown("a `do`", span));
        };
        if self.source.token(close + 1) != ";" {
            return Err(self.unknown("a `do`", span));
        }
        *end = close + 1;
        let condition = Some(self.expression(condition));
        let body = Box::new(body);
        let form = LoopForm::DoWhile;
        Ok(StatementKind::Loop { form, initial: None, condition, step: None, body })
    }

    fn for_loop(
        &mut self,
        children: &[Entity<'tu>],
        span: Span,
        end: &mut usize,
    ) -> Result<StatementKind, Reason> {
        let unknown = self.unknown("a `for`", span);
        let Some((open, close)) = self.head(span.first, "for") else { return Err(unknown) };
        let mut semicolons = Vec::new();
        let mut place = open + 1;
        while place < close {
            if self.is(place, ";") {
                semicolons.push(place);
            }
            let opens = matches!(self.source.token(place), "(" | "[" | "{");
            place = self.source.partners[place].filter(|_| opens).unwrap_or(place) + 1;
        }
        let &[first, second] = semicolons.as_slice() else { return Err(unknown) };
        let (mut initial, mut condition, mut step, mut body) = (None, None, None, None);
        for &child in children {
            let Some(place) = self.span(child) else { return Err(unknown) };
            if place.first > close {
                body = Some(child);
            } else if place.first > second && self.fills(child, second, close) {
                step = Some(self.expression(child));
            } else if place.first > first && self.fills(child, first, second) {
                condition = Some(self.expression(child));
            } else if place.first == open + 1 {
                initial = Some(Box::new(self.inner(child, open + 1)?.0));
            } else {
                return Err(unknown);
            }
        }
        let Some(body) = body else { return Err(unknown) };
        let (body, last) = self.inner(body, close + 1)?;
        *end = last;
        let body = Box::new(body);
        let form = LoopForm::For;
        Ok(StatementKind::Loop { form, initial, condition, step, body })
    }

    fn switch(&mut self, children: &[Entity<'tu>], span: Span) -> Result<StatementKind, Reason> {
        let (Some((open, close)), &[value, body]) = (self.head(span.first, "switch"), children)
        else {
            return Err(self.unknown("a `switch`", span));
        };
        let braces = self.span(body);
        let Some(braces) = braces.filter(|braces| {
            braces.first == close + 1 && self.is(braces.first, "{") && self.is(braces.last, "}")
        }) else {
            return Err(self.unknown("a `switch`", span));
        };
        if body.get_kind() != EntityKind::CompoundStmt || !self.fills(value, open, close) {
            return Err(self.unknown("a `switch`", span));
        }
        let value = self.expression(value);
        let (mut statements, mut labelled, mut has_default) = (Vec::new(), Vec::new(), false);
        for (at, mut child) in body.get_children().into_iter().enumerate() {
            if is_case(child) {
                labelled.push(at);
            }
            while is_case(child) {
                has_default |= child.get_kind() == EntityKind::DefaultStmt;
                let Some(&inner) = child.get_children().last() else { break };
                child = inner;
            }
            if has_case(child, 0) {
                let reason = "a label of a `switch` within another statement".to_owned();
                return Err(reason);
            }
            statements.push(child);
        }
        match self.statements(&statements, braces, true) {
            Ok(body) => {
                // A macro may have made one statement of several.
                if body.len() != statements.len() {
                    (labelled, has_default) = ((0..body.len()).collect(), false);
                }
                Ok(StatementKind::Switch { value, body, labelled, has_default })
            }
            Err(reason) => Err(reason),
        }
    }

    fn label(
        &mut self,
        entity: Entity<'tu>,
        children: &[Entity<'tu>],
        span: Span,
        end: &mut usize,
    ) -> Result<StatementKind, Reason> {
        let Some(&inner) = children.last().filter(|inner| !inner.is_attribute()) else {
            return Err(self.unknown("a label", span));
        };
        let name = entity.get_name().unwrap_or_default();
        if !self.is(span.first, &name) || !self.is(span.first + 1, ":") {
            return Err(self.unknown("a label", span));
        }
        let (inner, last) = self.inner(inner, span.first + 2)?;
        *end = last;
        Ok(StatementKind::Label(name, Box::new(inner)))
    }
}

fn is_case(entity: Entity<'_>) -> bool {
    matches!(entity.get_kind(), EntityKind::CaseStmt | EntityKind::DefaultStmt)
}

/// Returns true if a label of the `switch` around stands within the statement.
fn has_case(entity: Entity<'_>, depth: usize) -> bool {
    if is_case(entity) || depth > super::lowering::MOST_LEVELS {
        return true;
    }
    if !entity.is_statement() || entity.get_kind() == EntityKind::SwitchStmt {
        return false;
    }
    entity.get_children().into_iter().any(|child| has_case(child, depth + 1))
}
