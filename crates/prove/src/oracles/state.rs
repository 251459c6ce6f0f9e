//! The contents of a database: tables, keys, values, and a digest of all of them.
//!
//! The digest is a sum over the rows, so it is updated in constant time when one row changes. So a
//! history can store the digest of each prefix at no cost.

use std::{collections::BTreeMap, ops::Bound};

/// A key's value, and the commit that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `None` if the key was deleted.
    pub value: Option<Vec<u8>>,
    /// The number of the commit that wrote the value: 1 for the first, 0 for unknown.
    pub writer: usize,
}

/// The rows of a table, deleted ones included.
pub type Rows = BTreeMap<Vec<u8>, Row>;

/// The contents of a database.
#[derive(Clone, Debug, Default)]
pub struct State {
    tables: BTreeMap<String, Rows>,
    digest: u64,
}

impl State {
    /// Returns an empty database.
    pub fn new() -> State {
        State::default()
    }

    /// Returns the sum over all rows and tables. Deleted rows do not count.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns the names of the tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Returns the rows of a table.
    pub fn rows(&self, table: &str) -> Option<&Rows> {
        self.tables.get(table)
    }

    /// Returns the row of a key, which may be a deleted one.
    pub fn row(&self, table: &str, key: &[u8]) -> Option<&Row> {
        self.tables.get(table)?.get(key)
    }

    /// Returns the value of a key; `None` if it is absent or deleted.
    pub fn value(&self, table: &str, key: &[u8]) -> Option<&[u8]> {
        self.row(table, key)?.value.as_deref()
    }

    /// Returns the rows within bounds, deleted ones included; none if the bounds are inverted.
    pub fn range<'a>(
        &'a self,
        table: &str,
        (lower, upper): (Bound<&'a [u8]>, Bound<&'a [u8]>),
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a Row)> {
        let rows = self.tables.get(table).filter(|_| !is_inverted(lower, upper));
        let range = rows.map(|rows| rows.range::<[u8], _>((lower, upper)));
        range.into_iter().flatten().map(|(key, row)| (key.as_slice(), row))
    }

    /// Sets or removes a table. Returns its previous rows.
    pub fn set_table(&mut self, table: &str, rows: Option<Rows>) -> Option<Rows> {
        let before = self.tables.remove(table);
        if let Some(before) = &before {
            self.digest = self.digest.wrapping_sub(digest_of_table(table, before));
        }
        if let Some(rows) = rows {
            self.digest = self.digest.wrapping_add(digest_of_table(table, &rows));
            self.tables.insert(table.to_string(), rows);
        }
        before
    }

    /// Sets or removes the row of a key in an existing table. Returns the previous row.
    pub fn set_row(&mut self, table: &str, key: &[u8], row: Option<Row>) -> Option<Row> {
        let rows = self.tables.get_mut(table)?;
        let added = digest_of_row(table, key, row.as_ref());
        let before = match row {
            Some(row) => rows.insert(key.to_vec(), row),
            None => rows.remove(key),
        };
        let removed = digest_of_row(table, key, before.as_ref());
        self.digest = self.digest.wrapping_sub(removed).wrapping_add(added);
        before
    }

    /// Describes the first difference between the two, ignoring deleted rows and writers; `None` if
    /// they are equal.
    pub fn difference(&self, found: &State) -> Option<String> {
        let (ours, theirs): (Vec<_>, Vec<_>) = (self.tables().collect(), found.tables().collect());
        if ours != theirs {
            return Some(format!("tables {theirs:?} instead of {ours:?}"));
        }
        let tables = self.tables.iter().zip(found.tables.values());
        tables.into_iter().find_map(|((name, ours), theirs)| {
            let detail = difference_of_rows(ours, theirs)?;
            Some(format!("table {name}: {detail}"))
        })
    }
}

fn difference_of_rows(ours: &Rows, theirs: &Rows) -> Option<String> {
    let live = |rows: &Rows| -> BTreeMap<Vec<u8>, Vec<u8>> {
        let live = rows.iter().filter_map(|(key, row)| Some((key.clone(), row.value.clone()?)));
        live.collect()
    };
    let (ours, theirs) = (live(ours), live(theirs));
    let mut keys: Vec<_> = ours.keys().chain(theirs.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let differing: Vec<_> =
        keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key)).collect();
    let first = *differing.first()?;
    let show = |value: Option<&Vec<u8>>| value.map_or("nothing".to_string(), |v| brief(v));
    let (count, key) = (differing.len(), brief(first));
    let (found, expected) = (show(theirs.get(first)), show(ours.get(first)));
    Some(format!("{count} keys differ; {key} has {found} instead of {expected}"))
}

/// Returns true if the lower bound is above the upper one: ordered maps panic on such a range.
pub(crate) fn is_inverted(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Excluded(lower), Bound::Excluded(upper)) => lower >= upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper))
        | (Bound::Included(lower), Bound::Excluded(upper)) => lower > upper,
        _ => false,
    }
}

/// Formats bytes for messages: escaped as text, and at most the first 24.
pub(crate) fn brief(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(24)];
    let rest = if bytes.len() > head.len() { "…" } else { "" };
    format!("\"{}{rest}\" ({} bytes)", head.escape_ascii(), bytes.len())
}

fn digest_of_table(table: &str, rows: &Rows) -> u64 {
    let rows = rows.iter().map(|(key, row)| digest_of_row(table, key, Some(row)));
    rows.fold(digest_of_bytes(0x7AB1E, table.as_bytes()), u64::wrapping_add)
}

fn digest_of_row(table: &str, key: &[u8], row: Option<&Row>) -> u64 {
    let Some(value) = row.and_then(|row| row.value.as_deref()) else { return 0 };
    let digest = digest_of_bytes(0xC1EA, table.as_bytes());
    digest_of_bytes(digest_of_bytes(digest, key), value)
}

/// Returns a digest that differs for different bytes, except for inputs made to collide.
pub(crate) fn digest_of_bytes(seed: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |digest: u64, word: u64| {
        let mixed = (digest ^ word).wrapping_mul(FACTOR);
        mixed ^ (mixed >> 29)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut digest = mix(seed, bytes.len() as u64 ^ FACTOR);
    for word in words {
        digest = mix(digest, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(mix(digest, u64::from_le_bytes(last)), FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: &str) -> Option<Row> {
        Some(Row { value: Some(value.as_bytes().to_vec()), writer: 0 })
    }

    #[test]
    fn the_same_contents_have_the_same_digest_whatever_the_order_of_changes() {
        let (mut one, mut other) = (State::new(), State::new());
        one.set_table("t", Some(Rows::new()));
        other.set_table("t", Some(Rows::new()));
        one.set_row("t", b"a", row("1"));
        one.set_row("t", b"b", row("2"));
        other.set_row("t", b"b", row("3"));
        other.set_row("t", b"a", row("1"));
        assert_ne!(one.digest(), other.digest());
        assert!(one.difference(&other).unwrap().contains("1 keys differ"));
        other.set_row("t", b"b", row("2"));
        other.set_row("t", b"c", Some(Row { value: None, writer: 7 }));
        assert_eq!(one.digest(), other.digest());
        assert_eq!(one.difference(&other), None);
        one.set_table("t", None);
        assert_eq!(one.digest(), State::new().digest());
    }

    #[test]
    fn inverted_bounds_contain_nothing() {
        let mut state = State::new();
        state.set_table("t", Some(Rows::new()));
        state.set_row("t", b"b", row("1"));
        let count = |lower, upper| state.range("t", (lower, upper)).count();
        assert_eq!(count(Bound::Unbounded, Bound::Unbounded), 1);
        assert_eq!(count(Bound::Included(b"c".as_slice()), Bound::Included(b"a".as_slice())), 0);
        assert_eq!(count(Bound::Excluded(b"b".as_slice()), Bound::Excluded(b"b".as_slice())), 0);
    }
}
