//! The consistency check of the subscribers' tables: they must agree with each other and with what
//! was loaded.
//!
//! - Every subscriber has the rows of SUBSCRIBER, ACCESS_INFO, SPECIAL_FACILITY and of the index
//!   that it was loaded with, no more and no less: no transaction adds or deletes any.
//! - Columns that no transaction changes are as they were loaded; the others have allowed values.
//! - The index and SUBSCRIBER agree, in both directions.
//! - Every row has the row that it refers to: ACCESS_INFO and SPECIAL_FACILITY one of SUBSCRIBER,
//!   CALL_FORWARDING one of SPECIAL_FACILITY.
//!
//! Rows are read in many small transactions: run it while nothing else writes.

use std::{ops::Bound, thread};

use clearway_testkit::program::{KeyBounds, Operations, ScanOrder};

use super::{
    Tables, Tatp,
    population::Subscriber,
    rows::{
        digits, index_row, is_forwarding_valid, is_same_facility, is_same_subscriber, key_id,
        read_id, read_number, subscriber_key, typed_key,
    },
};
use crate::{
    driver::{join, start},
    store::Store,
};

/// Subscribers that one transaction of the check reads, each with some eleven rows.
const SUBSCRIBERS_PER_TRANSACTION: u32 = 200;

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TatpAudit {
    /// Rows of SUBSCRIBER.
    pub subscriber_rows: u64,
    /// Rows of the index from sub_nbr to s_id.
    pub index_rows: u64,
    /// Rows of ACCESS_INFO.
    pub access_info_rows: u64,
    /// Rows of SPECIAL_FACILITY.
    pub special_facility_rows: u64,
    /// Rows of CALL_FORWARDING: those that were loaded and inserted, without the deleted ones.
    pub call_forwarding_rows: u64,
    /// Rows that should be there and are not, or are there and should not.
    pub rows_off: u64,
    /// Entries of the index that do not lead to their row, and rows to which none leads.
    pub index_off: u64,
    /// Rows that refer to a row that is not there.
    pub references_off: u64,
    /// Rows with a column that was changed and should not, or has a value that it cannot have.
    pub values_off: u64,
}

impl TatpAudit {
    /// Whether nothing is off.
    pub fn is_consistent(&self) -> bool {
        self.rows_off + self.index_off + self.references_off + self.values_off == 0
    }

    fn add(&mut self, other: &TatpAudit) {
        self.subscriber_rows += other.subscriber_rows;
        self.index_rows += other.index_rows;
        self.access_info_rows += other.access_info_rows;
        self.special_facility_rows += other.special_facility_rows;
        self.call_forwarding_rows += other.call_forwarding_rows;
        self.rows_off += other.rows_off;
        self.index_off += other.index_off;
        self.references_off += other.references_off;
        self.values_off += other.values_off;
    }
}

/// The rows of a part of a table, by key.
type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// All rows of subscribers `from..to`. The first part of all begins with the tables' first rows
/// and the last ends with their last, so that rows that should not be there are met.
struct Part {
    from: u32,
    to: u32,
    subscribers: Rows,
    index: Rows,
    access: Rows,
    facilities: Rows,
    forwardings: Rows,
}

impl<S: Store> Tatp<S> {
    /// Reads all rows with `threads` threads and compares them.
    pub fn check(&self, store: &S, threads: usize) -> Result<TatpAudit, S::Error> {
        let results: Vec<_> = thread::scope(|scope| {
            let parts = self.scale.parts(threads);
            let workers: Vec<_> = parts
                .map(|(from, to)| {
                    start::<S, _>(scope, move || {
                        let mut audit = TatpAudit::default();
                        self.visit(store, from, to, &mut |part| audit.add(&part.audit()))?;
                        Ok(audit)
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.and_then(join::<S, _>)).collect()
        });
        let mut total = TatpAudit::default();
        for audit in results {
            total.add(&audit?);
        }
        Ok(total)
    }

    /// Rows of CALL_FORWARDING now.
    pub fn call_forwarding_rows(&self, store: &S) -> Result<u64, S::Error> {
        let (mut rows, mut from) = (0, 1);
        while from <= self.scale.subscribers {
            let to = from.saturating_add(SUBSCRIBERS_PER_TRANSACTION);
            let (lower, upper) = (subscriber_key(from), subscriber_key(to));
            let bounds = self.bounds(from, to, &lower, &upper);
            rows += store.run("check", |tx| {
                let mut rows = 0;
                tx.scan(&self.tables.forwarding, bounds, ScanOrder::Ascending, &mut |_, _| {
                    rows += 1;
                    true
                })?;
                Ok(rows)
            })?;
            from = to;
        }
        Ok(rows)
    }

    /// Reads subscribers `from..to`, a few to a transaction.
    fn visit(
        &self,
        store: &S,
        from: u32,
        to: u32,
        visit: &mut dyn FnMut(Part),
    ) -> Result<(), S::Error> {
        let mut first = from;
        while first < to {
            let end = to.min(first.saturating_add(SUBSCRIBERS_PER_TRANSACTION));
            let keys = (subscriber_key(first), subscriber_key(end));
            let numbers = (digits(u64::from(first)), digits(u64::from(end)));
            let by_key = self.bounds(first, end, &keys.0, &keys.1);
            let by_number = self.bounds(first, end, &numbers.0, &numbers.1);
            let Tables { subscriber, by_number: index, access, facility, forwarding, .. } =
                &self.tables;
            visit(store.run("check", |tx| {
                Ok(Part {
                    from: first,
                    to: end,
                    subscribers: gather::<S>(tx, subscriber, by_key)?,
                    index: gather::<S>(tx, index, by_number)?,
                    access: gather::<S>(tx, access, by_key)?,
                    facilities: gather::<S>(tx, facility, by_key)?,
                    forwardings: gather::<S>(tx, forwarding, by_key)?,
                })
            })?);
            first = end;
        }
        Ok(())
    }

    /// The bounds of subscribers `from..to`, whose keys are `lower` and `upper`; none below the
    /// first subscriber and above the last.
    fn bounds<'a>(&self, from: u32, to: u32, lower: &'a [u8], upper: &'a [u8]) -> KeyBounds<'a> {
        let lower = if from == 1 { Bound::Unbounded } else { Bound::Included(lower) };
        let is_last = to > self.scale.subscribers;
        (lower, if is_last { Bound::Unbounded } else { Bound::Excluded(upper) })
    }
}

fn gather<S: Store>(
    tx: &mut S::Tx<'_>,
    table: &S::Table,
    bounds: KeyBounds<'_>,
) -> Result<Rows, S::Error> {
    let mut rows = Rows::new();
    tx.scan(table, bounds, ScanOrder::Ascending, &mut |key, row| {
        rows.push((key.to_vec(), row.to_vec()));
        true
    })?;
    Ok(rows)
}

impl Part {
    fn audit(&self) -> TatpAudit {
        let mut audit = TatpAudit {
            subscriber_rows: self.subscribers.len() as u64,
            index_rows: self.index.len() as u64,
            access_info_rows: self.access.len() as u64,
            special_facility_rows: self.facilities.len() as u64,
            call_forwarding_rows: self.forwardings.len() as u64,
            index_off: self.index_off(),
            references_off: self.references_off(),
            ..TatpAudit::default()
        };
        self.compare_with_population(&mut audit);
        let is_wrong = |(key, row): &&(Vec<u8>, Vec<u8>)| !is_forwarding_valid(key, row);
        audit.values_off += self.forwardings.iter().filter(is_wrong).count() as u64;
        audit
    }

    /// Compares the tables whose rows neither come nor go with what was loaded.
    fn compare_with_population(&self, audit: &mut TatpAudit) {
        let (mut subscribers, mut index) = (Vec::new(), Vec::new());
        let (mut access, mut facilities) = (Vec::new(), Vec::new());
        for id in self.from..self.to {
            let loaded = Subscriber::draw(id);
            subscribers.push((subscriber_key(id), loaded.row));
            index.push((digits(u64::from(id)), index_row(id)));
            access.extend(loaded.access().map(|(kind, row)| (typed_key(id, kind), *row)));
            facilities.extend(loaded.facilities().map(|(kind, row)| (typed_key(id, kind), *row)));
        }
        compare(audit, &subscribers, &self.subscribers, is_same_subscriber);
        compare(audit, &index, &self.index, |loaded, row| loaded == row);
        compare(audit, &access, &self.access, |loaded, row| loaded == row);
        compare(audit, &facilities, &self.facilities, is_same_facility);
    }

    fn index_off(&self) -> u64 {
        let leads = |(number, row): &&(Vec<u8>, Vec<u8>)| {
            let subscriber = read_id(row).and_then(|id| find(&self.subscribers, &id.to_be_bytes()));
            subscriber.is_some_and(|found| read_number(found) == number)
        };
        let is_led_to = |(key, row): &&(Vec<u8>, Vec<u8>)| {
            let entry = find(&self.index, read_number(row));
            entry.is_some_and(|entry| read_id(entry) == key_id(key))
        };
        let wrong = self.index.iter().filter(|entry| !leads(entry)).count()
            + self.subscribers.iter().filter(|row| !is_led_to(row)).count();
        wrong as u64
    }

    fn references_off(&self) -> u64 {
        let dangling = |rows: &Rows, parents: &Rows, len: usize| {
            let parent = |key: &[u8]| find(parents, key.get(..len)?);
            rows.iter().filter(|(key, _)| parent(key).is_none()).count()
        };
        let (subscriber, facility) = (subscriber_key(0).len(), typed_key(0, 0).len());
        let wrong = dangling(&self.access, &self.subscribers, subscriber)
            + dangling(&self.facilities, &self.subscribers, subscriber)
            + dangling(&self.forwardings, &self.facilities, facility);
        wrong as u64
    }
}

/// The row of `key`.
fn find<'a>(rows: &'a Rows, key: &[u8]) -> Option<&'a [u8]> {
    let at = rows.binary_search_by(|(found, _)| found.as_slice().cmp(key)).ok()?;
    Some(&rows[at].1)
}

/// Counts the rows that are `loaded` and not `found`, or the other way round, and those that are
/// not the same.
fn compare<const K: usize, const R: usize>(
    audit: &mut TatpAudit,
    loaded: &[([u8; K], [u8; R])],
    found: &Rows,
    is_same: impl Fn(&[u8; R], &[u8]) -> bool,
) {
    let mut met = 0;
    for (key, row) in loaded {
        if let Some(found) = find(found, key) {
            met += 1;
            audit.values_off += u64::from(!is_same(row, found));
        }
    }
    audit.rows_off += (loaded.len() - met + found.len() - met) as u64;
}
