//! The query that has locked the row which a later query reads.
//!
//! It counts only if it surely locks the row: its condition is that of the key and nothing else,
//! and the transaction inserts and deletes no rows of the table and assigns no column of the
//! condition, so that the row that it finds, or does not find, is that of the read. An insert of
//! the row that fails if there is one already locks it as well.

use super::{
    super::{
        Context,
        same_row::{Call, is_only_text, is_same_row, locks, runs_before},
    },
    Written, changes_rows,
    dangers::{Danger, Kind},
    has_snapshot, reads_plainly,
};
use crate::{solve::UnitIndex, sql::TableAccess, units::UnitQuery};

/// Returns the unit that has locked the row which a query reads: the first that reads it with a
/// lock, or else the last that updates it.
pub(super) fn keeper(
    context: &Context<'_, '_, '_>,
    calls: &[Call<'_, '_>],
    written: &Written,
    query: &UnitQuery,
    danger: &Danger,
) -> Option<UnitIndex> {
    let table = &danger.table;
    if danger.kind == Kind::ByTrigger {
        return None;
    }
    let at = calls.iter().position(|call| std::ptr::eq(call.query, query))?;
    let read = &calls[at];
    let wanted = &query.query.tables.get(table)?.equal;
    let keeps = |call: &&Call<'_, '_>| {
        let named = call.query.query.tables.get(table);
        let locks = named.is_some_and(|one| {
            locks(call, table)
                && one.equal.keys().all(|column| wanted.contains_key(column))
                && is_sure(context, written, table, one)
                || one.inserts && !call.query.query.depends_on_rows
        });
        locks
            && is_only_text(calls, call)
            && is_same_row(context, table, call, read)
            && runs_before(context, call, read.node)
    };
    let mut locked = calls[..at].iter().filter(|call| !changes_rows(&call.query.query));
    let found = locked.find(keeps).or_else(|| calls[..at].iter().rfind(keeps))?;
    let unit = context.units.of_node(found.node)?;
    let is_late = has_snapshot(context) && (0..unit).any(|one| reads_plainly(context, one));
    (!is_late).then_some(unit)
}

/// Returns true if an access surely locks the row that it names, as far as there is one, and if the
/// transaction cannot change whether there is one.
fn is_sure(
    context: &Context<'_, '_, '_>,
    written: &Written,
    table: &str,
    access: &TableAccess,
) -> bool {
    let stays = written.of(context, table).iter().all(|(_, changes)| {
        let mut named = access.equal.keys();
        !changes.inserts() && !changes.deletes && !named.any(|one| changes.columns.contains(one))
    });
    access.is_sure && !access.fails_locked && stays
}
