//! The keys and ranges that a running transaction has read and written. They are compared with the
//! operations of the other transactions to detect conflicts that the locks did not prevent.
//!
//! Locks are held to the end of a transaction. Until then, no other transaction may write what it
//! has read, nor read or write what it has written.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, RangeBounds},
};

use crate::oracles::{Oracle, Verdict, Violation};

/// See the module.
#[derive(Default)]
pub(super) struct Footprint {
    read: BTreeMap<String, BTreeSet<Vec<u8>>>,
    written: BTreeMap<String, BTreeSet<Vec<u8>>>,
    ranges: Vec<(String, KeyRange)>,
}

pub(super) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn add(sets: &mut BTreeMap<String, BTreeSet<Vec<u8>>>, table: &str, key: &[u8]) {
    match sets.get_mut(table) {
        Some(set) => drop(set.insert(key.to_vec())),
        None => drop(sets.insert(table.to_string(), BTreeSet::from([key.to_vec()]))),
    }
}

impl Footprint {
    pub(super) fn read_key(&mut self, table: &str, key: &[u8]) {
        add(&mut self.read, table, key);
    }

    pub(super) fn read_range(&mut self, table: &str, range: KeyRange) {
        self.ranges.push((table.to_string(), range));
    }

    pub(super) fn write_key(&mut self, table: &str, key: &[u8]) {
        add(&mut self.written, table, key);
    }

    fn has_written(&self, table: &str, key: &[u8]) -> bool {
        self.written.get(table).is_some_and(|keys| keys.contains(key))
    }

    fn has_read(&self, table: &str, key: &[u8]) -> bool {
        self.read.get(table).is_some_and(|keys| keys.contains(key))
            || self.ranges.iter().any(|(name, (lower, upper))| {
                let range = (slice(lower), slice(upper));
                name == table && RangeBounds::<[u8]>::contains(&range, key)
            })
    }

    /// Checks a write of `key` by another transaction.
    ///
    /// # Errors
    /// If this transaction has read or written the key.
    pub(super) fn check_write(&self, table: &str, key: &[u8]) -> Verdict {
        let did = if self.has_written(table, key) { "written" } else { "read" };
        if !self.has_written(table, key) && !self.has_read(table, key) {
            return Ok(());
        }
        let key = key.escape_ascii();
        let detail =
            format!("{table}/{key} was written while a transaction that has {did} it runs");
        Err(Violation::new(Oracle::Serializable, detail))
    }

    /// Checks a read of a range by another transaction.
    ///
    /// # Errors
    /// If this transaction has written a key in the range.
    pub(super) fn check_read(&self, table: &str, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Verdict {
        let Some(keys) = self.written.get(table) else { return Ok(()) };
        match keys.iter().find(|key| RangeBounds::<[u8]>::contains(&range, key.as_slice())) {
            None => Ok(()),
            Some(key) => {
                let key = key.escape_ascii();
                let detail =
                    format!("{table}/{key} was read while a transaction that wrote it runs");
                Err(Violation::new(Oracle::Serializable, detail))
            }
        }
    }
}

/// Borrows the key of a bound.
pub(super) fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
