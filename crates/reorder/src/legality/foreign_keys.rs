//! A query that may change which rows a foreign key allows keeps its order with the queries that
//! the foreign key checks (the paper's third dependency among rows, §4.1).
//!
//! With a foreign key from a child table to a parent table, these keep their order:
//! - an insert, a delete or a change of the referenced columns in the parent,
//! - and an insert, a delete or a change of the referencing columns in the child.
//!
//! **Safe because** each check finds the same rows as in the source, and an action such as
//! `ON DELETE CASCADE` meets the same rows. An update of other columns of the parent changes no
//! check.

use super::{Context, Found, Rule};
use crate::sql::{Query, TableAccess};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    for (first, later) in context.pairs() {
        for one in units[first].queries() {
            for other in units[later].queries() {
                let key = related(context, &one.query, &other.query)
                    .or_else(|| related(context, &other.query, &one.query));
                if let Some((child, parent)) = key {
                    let reason = format!("a foreign key leads from `{child}` to `{parent}`");
                    found.before(first, later, Rule::ForeignKey, reason);
                }
            }
        }
    }
}

/// Returns the tables of a foreign key whose child one query changes, and whose parent the other.
fn related(context: &Context<'_, '_, '_>, one: &Query, other: &Query) -> Option<(String, String)> {
    for (child, child_access) in &one.tables {
        for (parent, parent_access) in &other.tables {
            let children = context.schema.base_tables(child);
            let parents = context.schema.base_tables(parent);
            let references = context.schema.references(child, parent).into_iter();
            let mut checked = references.filter(|reference| {
                !children.is_disjoint(&context.schema.base_tables(reference.child))
                    && !parents.is_disjoint(&context.schema.base_tables(&reference.key.table))
                    && changes(child_access, &reference.key.columns)
                    && changes(parent_access, &reference.key.referred)
            });
            if let Some(reference) = checked.next() {
                return Some((reference.child.to_string(), reference.key.table.clone()));
            }
        }
    }
    None
}

fn changes(access: &TableAccess, columns: &[String]) -> bool {
    // A key that names no columns of the parent refers to its primary key.
    let all = columns.is_empty() && !access.writes.is_empty();
    all || access.inserts
        || access.deletes
        || columns.iter().any(|column| access.writes.contains(column))
}
