//! Reading a range of a table in many small transactions.

use std::ops::Bound;

use clearway_testkit::program::{Operations, ScanOrder};

use crate::store::Store;

/// Rows that one transaction of the check reads.
const ROWS_PER_TRANSACTION: usize = 2_000;

/// A batch of rows: their bytes one after the other, and where keys and rows end.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

/// Visits the rows of `low..=high`.
pub(super) fn scan<S: Store>(
    store: &S,
    table: &S::Table,
    low: &[u8],
    high: &[u8],
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<(), S::Error> {
    let (mut batch, mut last) = (Batch::default(), Vec::new());
    loop {
        let is_first = last.is_empty();
        let lower = if is_first { Bound::Included(low) } else { Bound::Excluded(&last[..]) };
        // A retried transaction must not visit twice, so rows are gathered first.
        store.run("check", |tx| {
            batch.bytes.clear();
            batch.ends.clear();
            let bounds = (lower, Bound::Included(high));
            tx.scan(table, bounds, ScanOrder::Ascending, &mut |key, row| {
                batch.bytes.extend_from_slice(key);
                let key_end = batch.bytes.len();
                batch.bytes.extend_from_slice(row);
                batch.ends.push((key_end, batch.bytes.len()));
                batch.ends.len() < ROWS_PER_TRANSACTION
            })
        })?;
        let mut start = 0;
        for &(key_end, end) in &batch.ends {
            let key = &batch.bytes[start..key_end];
            visit(key, &batch.bytes[key_end..end]);
            last.clear();
            last.extend_from_slice(key);
            start = end;
        }
        if batch.ends.len() < ROWS_PER_TRANSACTION {
            return Ok(());
        }
    }
}
