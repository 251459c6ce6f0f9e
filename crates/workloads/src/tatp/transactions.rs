//! The seven transactions. Their steps and the order of these follow the description; the rules of
//! success are in [`TatpTransaction`](super::TatpTransaction).

use std::ops::Bound;

use clearway_testkit::program::{Operations, ProgramError, ScanOrder};

use super::{
    Tables,
    draw::Drawn,
    rows::{
        FORWARDING_LEN, digits, end_time, forwarding_key, is_active, read_id, subscriber_key,
        typed_key, write_bit_1, write_data_a, write_vlr_location,
    },
};
use crate::store::Store;

/// Runs one transaction; false if it was unsuccessful with nothing to roll back. `row` is memory
/// to work with.
#[inline]
pub(super) fn perform<S: Store>(
    tables: &Tables<S>,
    tx: &mut S::Tx<'_>,
    drawn: &Drawn,
    row: &mut Vec<u8>,
) -> Result<bool, S::Error> {
    match *drawn {
        Drawn::GetSubscriberData { subscriber } => {
            let found = tx.get(&tables.subscriber, &subscriber_key(subscriber), row)?;
            if found { Ok(true) } else { Err(missing::<S>(subscriber)) }
        }
        Drawn::GetNewDestination { subscriber, kind, start, end } => {
            get_new_destination(tables, tx, (subscriber, kind, start), end, row)
        }
        Drawn::GetAccessData { subscriber, kind } => {
            tx.get(&tables.access, &typed_key(subscriber, kind), row)
        }
        Drawn::UpdateSubscriberData { subscriber, kind, bit, data } => {
            update_subscriber_data(tables, tx, (subscriber, kind), (bit, data), row)
        }
        Drawn::UpdateLocation { subscriber, location } => {
            let id = find(tables, tx, subscriber, row)?;
            let key = subscriber_key(id);
            if !tx.get_for_update(&tables.subscriber, &key, row)?
                || !write_vlr_location(row, location)
            {
                return Err(missing::<S>(id));
            }
            tx.update(&tables.subscriber, &key, row)?;
            Ok(true)
        }
        Drawn::InsertCallForwarding { subscriber, kind, start, row: ref forwarding } => {
            insert_call_forwarding(tables, tx, (subscriber, kind, start), forwarding, row)
        }
        Drawn::DeleteCallForwarding { subscriber, kind, start } => {
            let id = find(tables, tx, subscriber, row)?;
            let key = forwarding_key(id, kind, start);
            let found = tx.get_for_update(&tables.forwarding, &key, row)?;
            if found {
                tx.delete(&tables.forwarding, &key)?;
            }
            Ok(found)
        }
    }
}

/// The s_id that has the sub_nbr of `subscriber`.
#[inline]
fn find<S: Store>(
    tables: &Tables<S>,
    tx: &mut S::Tx<'_>,
    subscriber: u32,
    row: &mut Vec<u8>,
) -> Result<u32, S::Error> {
    tx.get(&tables.by_number, &digits(u64::from(subscriber)), row)?;
    read_id(row).ok_or_else(|| missing::<S>(subscriber))
}

#[cold]
fn missing<S: Store>(subscriber: u32) -> S::Error {
    S::Error::failed(format!("subscriber {subscriber} is missing"))
}

/// The forwardings of an active facility that start at `start` or before and end after `end`.
#[inline]
fn get_new_destination<S: Store>(
    tables: &Tables<S>,
    tx: &mut S::Tx<'_>,
    (subscriber, kind, start): (u32, u8, u8),
    end: u8,
    row: &mut Vec<u8>,
) -> Result<bool, S::Error> {
    let exists = tx.get(&tables.facility, &typed_key(subscriber, kind), row)?;
    if !exists || !is_active(row) {
        return Ok(false);
    }
    let lower = forwarding_key(subscriber, kind, 0);
    let upper = forwarding_key(subscriber, kind, start);
    let bounds = (Bound::Included(&lower[..]), Bound::Included(&upper[..]));
    row.clear();
    tx.scan(&tables.forwarding, bounds, ScanOrder::Ascending, &mut |_, found| {
        if end < end_time(found) {
            row.extend_from_slice(found);
        }
        true
    })?;
    Ok(row.len() >= FORWARDING_LEN)
}

#[inline]
fn update_subscriber_data<S: Store>(
    tables: &Tables<S>,
    tx: &mut S::Tx<'_>,
    (subscriber, kind): (u32, u8),
    (bit, data): (bool, u8),
    row: &mut Vec<u8>,
) -> Result<bool, S::Error> {
    let key = subscriber_key(subscriber);
    if !tx.get_for_update(&tables.subscriber, &key, row)? || !write_bit_1(row, bit) {
        return Err(missing::<S>(subscriber));
    }
    tx.update(&tables.subscriber, &key, row)?;
    let key = typed_key(subscriber, kind);
    if !tx.get_for_update(&tables.facility, &key, row)? || !write_data_a(row, data) {
        return Err(S::Error::rollback());
    }
    tx.update(&tables.facility, &key, row)?;
    Ok(true)
}

#[inline]
fn insert_call_forwarding<S: Store>(
    tables: &Tables<S>,
    tx: &mut S::Tx<'_>,
    (subscriber, kind, start): (u32, u8, u8),
    forwarding: &[u8; FORWARDING_LEN],
    row: &mut Vec<u8>,
) -> Result<bool, S::Error> {
    let id = find(tables, tx, subscriber, row)?;
    // All facilities are read, as the description says; the foreign key is looked for among them.
    let (lower, upper) = (typed_key(id, 0), typed_key(id, u8::MAX));
    let bounds = (Bound::Included(&lower[..]), Bound::Included(&upper[..]));
    let mut exists = false;
    tx.scan(&tables.facility, bounds, ScanOrder::Ascending, &mut |key, _| {
        exists |= key.last() == Some(&kind);
        true
    })?;
    let key = forwarding_key(id, kind, start);
    if !exists || tx.get_for_update(&tables.forwarding, &key, row)? {
        return Err(S::Error::rollback());
    }
    tx.insert(&tables.forwarding, &key, forwarding)?;
    Ok(true)
}
