//! The expected result of a read: the committed state, overlaid by the transaction's own writes.

use std::{collections::BTreeMap, ops::Bound};

use clearway_tree::Direction;

use crate::oracles::{Change, State, is_inverted};

/// A transaction's own writes, by table and key.
#[derive(Clone, Default)]
pub(super) struct Overlay(BTreeMap<String, BTreeMap<Vec<u8>, Option<Vec<u8>>>>);

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The expected result of a read, and the number of commits on which it depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected<T> {
    pub(super) found: T,
    pub(super) depends_on: usize,
}

impl Overlay {
    pub(super) fn set(&mut self, table: &str, key: &[u8], value: Option<Vec<u8>>) {
        self.0.entry(table.to_string()).or_default().insert(key.to_vec(), value);
    }

    /// Returns true if the committed state already has all of these values: writing a value that is
    /// already present is no change.
    pub(super) fn changes_nothing(&self, state: &State) -> bool {
        let is_same = |table: &str, rows: &BTreeMap<Vec<u8>, Option<Vec<u8>>>| {
            rows.iter().all(|(key, own)| state.value(table, key) == own.as_deref())
        };
        self.0.iter().all(|(table, rows)| is_same(table, rows))
    }

    /// Returns true if one of the values is longer than this.
    pub(super) fn has_longer_value(&self, len: usize) -> bool {
        let mut values = self.0.values().flat_map(BTreeMap::values).flatten();
        values.any(|value| value.len() > len)
    }

    pub(super) fn into_changes(self) -> Vec<Change> {
        let tables = self.0.into_iter();
        let of_table = |(table, rows): (String, BTreeMap<_, _>)| {
            let change = move |(key, value)| Change::Row { table: table.clone(), key, value };
            rows.into_iter().map(change)
        };
        tables.flat_map(of_table).collect()
    }

    fn own(&self, table: &str, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        self.0.get(table)?.get(key)
    }

    /// Returns the expected value of `key`.
    pub(super) fn value<'a>(
        &'a self,
        state: &'a State,
        table: &str,
        key: &[u8],
    ) -> Expected<Option<&'a [u8]>> {
        let row = state.row(table, key);
        let found = match self.own(table, key) {
            Some(own) => own.as_deref(),
            None => row.and_then(|row| row.value.as_deref()),
        };
        Expected { found, depends_on: row.map_or(0, |row| row.writer) }
    }

    /// Returns the entry that a scan of a range must find next.
    pub(super) fn next<'a>(
        &'a self,
        state: &'a State,
        table: &str,
        range: Bounds<'a>,
        direction: Direction,
    ) -> Expected<Option<(&'a [u8], &'a [u8])>> {
        if is_inverted(range.0, range.1) {
            return Expected { found: None, depends_on: 0 };
        }
        let is_ascending = direction == Direction::Ascending;
        let comes_first = |a: &[u8], b: &[u8]| if is_ascending { a < b } else { a > b };
        let own = self.next_own(table, range, is_ascending);
        let mut depends_on = 0;
        let mut rows = state.range(table, range);
        while let Some((key, row)) = if is_ascending { rows.next() } else { rows.next_back() } {
            if own.is_some_and(|(own, _)| comes_first(own, key)) {
                break;
            }
            depends_on = depends_on.max(row.writer);
            let value = match self.own(table, key) {
                Some(own) => own.as_deref(),
                None => row.value.as_deref(),
            };
            if let Some(value) = value {
                return Expected { found: Some((key, value)), depends_on };
            }
        }
        Expected { found: own, depends_on }
    }

    fn next_own<'a>(
        &'a self,
        table: &str,
        range: Bounds<'a>,
        is_ascending: bool,
    ) -> Option<(&'a [u8], &'a [u8])> {
        let live = |(key, value): (&'a Vec<u8>, &'a Option<Vec<u8>>)| {
            Some((key.as_slice(), value.as_deref()?))
        };
        let mut rows = self.0.get(table)?.range::<[u8], _>(range).filter_map(live);
        if is_ascending { rows.next() } else { rows.next_back() }
    }
}

/// Reduces a range to the part after `key` in scan direction.
pub(super) fn rest_after(
    range: &mut (Bound<Vec<u8>>, Bound<Vec<u8>>),
    key: &[u8],
    direction: Direction,
) {
    match direction {
        Direction::Ascending => range.0 = Bound::Excluded(key.to_vec()),
        Direction::Descending => range.1 = Bound::Excluded(key.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracles::History;

    #[test]
    fn own_writes_take_precedence_over_the_committed_state() {
        let mut history = History::new(State::new());
        let put = |key: &[u8]| Change::put("t", key, b"old");
        history.commit(clearway_base::Lsn(1), [Change::Create { table: "t".into() }]);
        history.commit(clearway_base::Lsn(2), [put(b"a"), put(b"c"), put(b"e")]);
        history.commit(clearway_base::Lsn(3), [Change::delete("t", b"c")]);
        let mut overlay = Overlay::default();
        overlay.set("t", b"a", None);
        overlay.set("t", b"d", Some(b"new".to_vec()));
        let state = history.state();
        let all = (Bound::Unbounded, Bound::Unbounded);
        let first = overlay.next(state, "t", all, Direction::Ascending);
        assert_eq!(first.found, Some((b"d".as_slice(), b"new".as_slice())));
        assert_eq!(first.depends_on, 3, "on the deletion of c");
        let last = overlay.next(state, "t", all, Direction::Descending);
        let found = Some((b"e".as_slice(), b"old".as_slice()));
        assert_eq!(last, Expected { found, depends_on: 2 });
        let absent = overlay.value(state, "t", b"c");
        assert_eq!(absent, Expected { found: None, depends_on: 3 });
    }
}
