//! The columns that joins compare without an expression.

use sqlparser::ast::{JoinConstraint, JoinOperator, TableFactor, TableWithJoins};

use super::Analysis;
use crate::sql::{
    BadQuery,
    scope::{Reads, Scope},
};

impl Analysis<'_> {
    /// Records the columns that `USING` and `NATURAL` compare.
    pub(in crate::sql) fn joins(
        &mut self,
        from: &[TableWithJoins],
        scope: &Scope<'_>,
    ) -> Result<(), BadQuery> {
        let mut open: Vec<&TableWithJoins> = from.iter().collect();
        while let Some(TableWithJoins { relation, joins }) = open.pop() {
            for factor in std::iter::once(relation).chain(joins.iter().map(|join| &join.relation)) {
                if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
                    open.push(table_with_joins);
                }
            }
            for constraint in joins.iter().filter_map(|join| constraint(&join.join_operator)) {
                self.constraint(constraint, scope)?;
            }
        }
        Ok(())
    }

    fn constraint(&mut self, joined: &JoinConstraint, scope: &Scope<'_>) -> Result<(), BadQuery> {
        match joined {
            JoinConstraint::Using(columns) => {
                for column in columns {
                    let parts = self.parts(column)?;
                    self.read_qualified(&parts, scope);
                }
            }
            JoinConstraint::Natural => {
                let reads: Reads = scope.tables().map(|table| (table.to_owned(), None)).collect();
                self.read(reads);
            }
            JoinConstraint::On(_) | JoinConstraint::None => {}
        }
        Ok(())
    }
}

/// Returns the constraint of a join.
fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}
