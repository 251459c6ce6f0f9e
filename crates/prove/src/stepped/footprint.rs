//! What a running transaction has read and written, so that nobody gets in its way unnoticed.
//!
//! Locks are kept to the end, so between a read and the end of its transaction nobody else may
//! write what was read; and nobody may read or write what another has written.

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

    /// Somebody else has written `key`.
    ///
    /// # Errors
    /// If this transaction has read or written it.
    pub(super) fn check_write(&self, table: &str, key: &[u8]) -> Verdict {
        let did = if self.has_written(table, key) { "written" } else { "read" };
        if !self.has_written(table, key) && !self.has_read(table, key) {
            return Ok(());
        }
        let key = key.escape_ascii();
        let detail = format!("{table}/{key} was written while another who had {did} it runs");
        Err(Violation::new(Oracle::Serializable, detail))
    }

    /// Somebody else has read a range.
    ///
    /// # Errors
    /// If this transaction has written in it.
    pub(super) fn check_read(&self, table: &str, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Verdict {
        let Some(keys) = self.written.get(table) else { return Ok(()) };
        match keys.iter().find(|key| RangeBounds::<[u8]>::contains(&range, key.as_slice())) {
            None => Ok(()),
            Some(key) => {
                let key = key.escape_ascii();
                let detail = format!("{table}/{key} was read while another who wrote it runs");
                Err(Violation::new(Oracle::Serializable, detail))
            }
        }
    }
}

/// A bound that borrows.
pub(super) fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
