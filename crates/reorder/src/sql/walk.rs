//! Walks through the trees of the parser.
//!
//! The parser's `Visit` is generated for each type of its trees and generic in the visitor: a
//! visitor of its own for each purpose would be the larger part of this crate's code. So there is
//! one, and it hands each part of the tree to a closure.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Statement, TableFactor, ValueWithSpan, Visit, Visitor,
};

/// A part of a tree, at the place of a walk where it begins or ends.
pub(super) enum Part<'t> {
    /// The start of a statement.
    Statement(&'t Statement),
    /// The end of a statement.
    StatementEnd(&'t Statement),
    /// The start of a query: the whole statement, or one within it.
    Query(&'t Query),
    /// The end of the query that began last.
    QueryEnd,
    /// The start of an item of `FROM`.
    Factor(&'t TableFactor),
    /// The end of the item of `FROM` that began last.
    FactorEnd,
    /// The name of a table, or of something else that can be read like one.
    Relation(&'t ObjectName),
    /// The start of an expression.
    Expression(&'t Expr),
    /// The end of an expression.
    ExpressionEnd(&'t Expr),
    /// A constant or a parameter.
    Value(&'t ValueWithSpan),
}

/// Calls `step` for each part of a tree, in the order of the parser, until it fails.
///
/// # Errors
/// What `step` returns.
pub(super) fn walk<E>(
    tree: &impl Visit,
    mut step: impl FnMut(Part<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut result = Ok(());
    let mut keep = |part: Part<'_>| {
        result = step(part);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let _ = tree.visit(&mut Walk(&mut keep));
    result
}

/// Returns true if an expression of a tree passes the test. Those behind it are not tested.
pub(super) fn any_expression(tree: &impl Visit, mut test: impl FnMut(&Expr) -> bool) -> bool {
    let found = walk(tree, |part| match part {
        Part::Expression(expression) if test(expression) => Err(()),
        _ => Ok(()),
    });
    found.is_err()
}

struct Walk<'w>(&'w mut dyn FnMut(Part<'_>) -> ControlFlow<()>);

impl Visitor for Walk<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        (self.0)(Part::Statement(statement))
    }

    fn post_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        (self.0)(Part::StatementEnd(statement))
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        (self.0)(Part::Query(query))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        (self.0)(Part::QueryEnd)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        (self.0)(Part::Factor(factor))
    }

    fn post_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        (self.0)(Part::FactorEnd)
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        (self.0)(Part::Relation(name))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        (self.0)(Part::Expression(expression))
    }

    fn post_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        (self.0)(Part::ExpressionEnd(expression))
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        (self.0)(Part::Value(value))
    }
}
