//! Access to rows: rows that must exist, and customers by name.

use std::ops::Bound;

use clearway_testkit::program::{KeyBounds, Operations, ProgramError, ScanOrder};

use super::{
    Tables,
    keys::{self, NAME_LEN},
};
use crate::store::Store;

/// Buffers of a client that its transactions use one after the other.
#[derive(Default)]
pub(super) struct Scratch {
    /// The current row.
    pub(super) row: Vec<u8>,
    /// An item's row, while its stock row is the current one.
    pub(super) item: Vec<u8>,
    /// Numbers of the rows that a scan met.
    pub(super) numbers: Vec<u32>,
}

/// The way in which a customer is identified.
pub(super) enum Who {
    /// By number.
    Number(u32),
    /// By last name: of those in the district who have it, the one in the middle by first name.
    LastName([u8; NAME_LEN]),
}

/// Reads a row that must exist.
#[inline]
pub(super) fn read<S: Store>(
    tx: &mut S::Tx<'_>,
    table: &S::Table,
    key: &[u8],
    row: &mut Vec<u8>,
    what: &str,
) -> Result<(), S::Error> {
    if tx.get(table, key, row)? { Ok(()) } else { Err(missing::<S>(what, key)) }
}

/// Reads a row that must exist and is written next.
#[inline]
pub(super) fn read_for_update<S: Store>(
    tx: &mut S::Tx<'_>,
    table: &S::Table,
    key: &[u8],
    row: &mut Vec<u8>,
    what: &str,
) -> Result<(), S::Error> {
    if tx.get_for_update(table, key, row)? { Ok(()) } else { Err(missing::<S>(what, key)) }
}

#[cold]
pub(super) fn missing<S: Store>(what: &str, key: &[u8]) -> S::Error {
    S::Error::failed(format!("the {what} with key {key:02x?} is missing"))
}

/// Both ends belong to the range.
#[inline]
pub(super) fn inclusive<'a>(low: &'a [u8], high: &'a [u8]) -> KeyBounds<'a> {
    (Bound::Included(low), Bound::Included(high))
}

/// A customer's number. Of n with the name it is the one at place n ÷ 2, rounded up, in the order
/// of first names (clause 2.5.2.2).
pub(super) fn customer_number<S: Store>(
    tables: &Tables<S>,
    tx: &mut S::Tx<'_>,
    (warehouse, district): (u32, u8),
    who: &Who,
    found: &mut Vec<u32>,
) -> Result<u32, S::Error> {
    let last = match who {
        Who::Number(number) => return Ok(*number),
        Who::LastName(last) => last,
    };
    let low = keys::customer_name(warehouse, district, last, &[0; NAME_LEN], 0);
    let high = keys::customer_name(warehouse, district, last, &[u8::MAX; NAME_LEN], u32::MAX);
    // A retry starts over.
    found.clear();
    tx.scan(&tables.customer_name, inclusive(&low, &high), ScanOrder::Ascending, &mut |key, _| {
        found.push(keys::last_number(key));
        true
    })?;
    match found.get(found.len().div_ceil(2).wrapping_sub(1)) {
        Some(number) => Ok(*number),
        None => Err(missing::<S>("customer's name", &low)),
    }
}
