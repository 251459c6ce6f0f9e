//! The rows of all tables.

use std::collections::BTreeMap;

use super::super::transaction::COLUMNS;

/// The identity of a row: it differs from that of a deleted row with the same key.
pub(crate) type RowId = usize;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Row {
    pub(crate) table: usize,
    pub(crate) values: [i64; COLUMNS],
    /// The number of updates of the row.
    pub(crate) version: usize,
}

pub(crate) type Rows = BTreeMap<RowId, Row>;

/// Returns rows with these values. Their identities are below those of inserted rows.
pub(crate) fn initial(rows: &[(usize, [i64; COLUMNS])]) -> Rows {
    let row = |&(table, values): &(usize, [i64; COLUMNS])| Row { table, values, version: 0 };
    rows.iter().map(row).enumerate().collect()
}

/// Returns committed rows with the changes of a transaction.
pub(crate) fn with_own(committed: &Rows, own: &BTreeMap<RowId, Option<Row>>) -> Rows {
    let mut rows = committed.clone();
    for (&id, row) in own {
        match row {
            Some(row) => rows.insert(id, row.clone()),
            None => rows.remove(&id),
        };
    }
    rows
}
