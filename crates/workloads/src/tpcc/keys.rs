//! The bytes of the keys: the columns of the primary keys, big-endian, one after the other.
//!
//! | table | key |
//! | --- | --- |
//! | warehouse | warehouse (4 bytes) |
//! | district | warehouse, district (1) |
//! | customer | warehouse, district, customer (4) |
//! | new-order, order | warehouse, district, order (4) |
//! | order-line | warehouse, district, order, line (1) |
//! | item | item (4) |
//! | stock | warehouse, item |
//! | history | client (4), sequence (4) |
//! | customer by last name | warehouse, district, last name (16), first name (16), customer |
//! | order by customer | warehouse, district, customer, order |
//!
//! A history row has no key in the specification; here clients insert in different places. The
//! rows that loading writes have the district's number with the highest bit set as their client.

use super::DISTRICTS;

/// Length of a first or last name, padded.
pub(super) const NAME_LEN: usize = 16;
/// The bit that marks the client of a loaded history row.
const LOADED: u32 = 1 << 31;

/// One after the other.
#[inline]
fn join<const LEN: usize>(parts: &[&[u8]]) -> [u8; LEN] {
    let (mut key, mut at) = ([0; LEN], 0);
    for part in parts {
        key[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    key
}

#[inline]
pub(super) fn warehouse(warehouse: u32) -> [u8; 4] {
    warehouse.to_be_bytes()
}

#[inline]
pub(super) fn district(warehouse: u32, district: u8) -> [u8; 5] {
    join(&[&warehouse.to_be_bytes(), &[district]])
}

#[inline]
pub(super) fn customer(warehouse: u32, district: u8, customer: u32) -> [u8; 9] {
    join(&[&warehouse.to_be_bytes(), &[district], &customer.to_be_bytes()])
}

/// Of both the order and the new-order table.
#[inline]
pub(super) fn order(warehouse: u32, district: u8, order: u32) -> [u8; 9] {
    customer(warehouse, district, order)
}

#[inline]
pub(super) fn order_line(warehouse: u32, district: u8, order: u32, line: u8) -> [u8; 10] {
    join(&[&warehouse.to_be_bytes(), &[district], &order.to_be_bytes(), &[line]])
}

#[inline]
pub(super) fn item(item: u32) -> [u8; 4] {
    item.to_be_bytes()
}

#[inline]
pub(super) fn stock(warehouse: u32, item: u32) -> [u8; 8] {
    join(&[&warehouse.to_be_bytes(), &item.to_be_bytes()])
}

#[inline]
pub(super) fn history(client: u32, sequence: u32) -> [u8; 8] {
    join(&[&client.to_be_bytes(), &sequence.to_be_bytes()])
}

/// The history key of a customer's first payment, which loading writes.
pub(super) fn loaded_history(warehouse: u32, district: u8, customer: u32) -> [u8; 8] {
    let number = (warehouse - 1) * u32::from(DISTRICTS) + u32::from(district - 1);
    history(LOADED | number, customer)
}

/// The first key of the history rows that loading writes: above those of all clients.
pub(super) fn first_loaded_history() -> [u8; 8] {
    history(LOADED, 0)
}

/// An entry of the index of customers by last name.
#[inline]
pub(super) fn customer_name(
    warehouse: u32,
    district: u8,
    last: &[u8; NAME_LEN],
    first: &[u8; NAME_LEN],
    customer: u32,
) -> [u8; 41] {
    join(&[&warehouse.to_be_bytes(), &[district], last, first, &customer.to_be_bytes()])
}

/// An entry of the index of orders by customer.
#[inline]
pub(super) fn customer_order(warehouse: u32, district: u8, customer: u32, order: u32) -> [u8; 13] {
    let (customer, order) = (customer.to_be_bytes(), order.to_be_bytes());
    join(&[&warehouse.to_be_bytes(), &[district], &customer, &order])
}

/// The four-byte number at `at` of a key; `u32::MAX` if the key is too short.
#[inline]
pub(super) fn number(key: &[u8], at: usize) -> u32 {
    let bytes = key.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(u32::MAX, |bytes| u32::from_be_bytes(*bytes))
}

/// The last four bytes of a key as a number: the customer or order that an index entry is for.
#[inline]
pub(super) fn last_number(key: &[u8]) -> u32 {
    number(key, key.len().saturating_sub(4))
}
