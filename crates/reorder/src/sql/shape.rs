//! The columns that a text assigns and selects, in the order of the text.

use sqlparser::{
    ast::{AssignmentTarget, Expr, SelectItem, SetExpr, Statement},
    parser::Parser,
};

use super::{Value, equality, names, rewrite::rewrite, text};
use crate::api::Server;

/// Returns the columns to which an `UPDATE` assigns a parameter alone, each with the parameter's
/// number.
pub(crate) fn assigned_parameters(text: &str, server: Server) -> Vec<(String, usize)> {
    let Some(Statement::Update(update)) = parse(text, server) else { return Vec::new() };
    let assigned = update.assignments.iter().filter_map(|assignment| {
        let AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
        let Some(Value::Parameter(number)) = equality::value(&assignment.value) else {
            return None;
        };
        Some((names::parts(name, server)?.pop()?, number))
    });
    assigned.collect()
}

/// Returns the columns that a `SELECT` returns: `None` for one that is computed. Empty for a text
/// that is no simple `SELECT`.
pub(crate) fn selected_columns(text: &str, server: Server) -> Vec<Option<String>> {
    let Some(Statement::Query(query)) = parse(text, server) else { return Vec::new() };
    let SetExpr::Select(select) = &*query.body else { return Vec::new() };
    let column = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expression)
        | SelectItem::ExprWithAlias { expr: expression, .. } => Some(match expression {
            Expr::Identifier(name) => Some(names::identifier(name, server)),
            Expr::CompoundIdentifier(parts) => {
                parts.last().map(|name| names::identifier(name, server))
            }
            _ => None,
        }),
        // The number of columns is not known.
        _ => None,
    };
    select.projection.iter().map(column).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Returns the number of a text's parameters.
pub(crate) fn parameter_count(text: &str, server: Server) -> Option<usize> {
    let tokens = text::tokenize(text, server).ok()?;
    text::number_parameters(tokens, server).ok().map(|(_, parameters)| parameters)
}

fn parse(text: &str, server: Server) -> Option<Statement> {
    let tokens = text::tokenize(text, server).ok()?;
    let (mut tokens, _) = text::number_parameters(tokens, server).ok()?;
    if !text::single_statement(&mut tokens) {
        return None;
    }
    let tokens = rewrite(tokens, server).tokens;
    let dialect = text::dialect(server);
    Parser::new(&*dialect).with_tokens_with_locations(tokens).parse_statement().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_that_is_assigned_alone_is_found() {
        let text = "UPDATE t SET a = $2, b = b + $1, \"C\" = ($3) WHERE k = $4";
        let found = assigned_parameters(text, Server::Postgresql);
        assert_eq!(found, [("a".to_owned(), 1), ("C".to_owned(), 2)]);
        let found = assigned_parameters("update t set A = ? where k = ?", Server::Mysql);
        assert_eq!(found, [("a".to_owned(), 0)]);
        assert!(assigned_parameters("DELETE FROM t", Server::Mysql).is_empty());
        assert!(assigned_parameters("UPDATE", Server::Mysql).is_empty());
    }

    #[test]
    fn selected_columns_keep_their_places() {
        let columns = |text| selected_columns(text, Server::Postgresql);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            columns("SELECT a, t.b, a + 1, c AS d FROM t WHERE k = $1 FOR UPDATE"),
            [some("a"), some("b"), None, some("c")]
        );
        assert!(columns("SELECT *, a FROM t").is_empty());
    }
}
