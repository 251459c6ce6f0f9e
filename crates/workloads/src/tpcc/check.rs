//! The consistency check: the twelve conditions of clause 3.3.2, and three more about the two
//! indexes, the stock, and rows that must always exist.
//!
//! All rows are read once, in many small transactions, and the facts that the conditions need are
//! collected. Run the check while nothing else writes. Each condition is then a function of these
//! facts.

mod conditions;
mod facts;
mod gather;
mod read;

use std::{fmt, thread};

use clearway_sync::atomic::{AtomicUsize, Ordering};

use super::{DISTRICTS, Tpcc};
use crate::{
    driver::{join, start},
    store::Store,
};
use facts::{Ordered, Payments};

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TpccReport {
    faults: Vec<Fault>,
    /// Orders entered since the data were loaded.
    pub orders: u64,
    /// Orders delivered since then.
    pub deliveries: u64,
    /// Payments made since then.
    pub payments: u64,
}

/// A condition that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fault {
    condition: u8,
    warehouse: u32,
    /// 0 where a condition is about a warehouse.
    district: u8,
    what: String,
}

impl TpccReport {
    /// Whether all conditions hold.
    pub fn is_consistent(&self) -> bool {
        self.faults.is_empty()
    }

    /// The conditions that do not hold, ascending: those of clause 3.3.2 by their numbers, 13 for
    /// the indexes, 14 for the stock, 15 for rows that are missing or too many.
    pub fn failed(&self) -> Vec<u8> {
        let mut numbers: Vec<u8> = self.faults.iter().map(|fault| fault.condition).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn note(&mut self, condition: u8, (warehouse, district): (u32, u8), what: Option<String>) {
        self.faults.extend(what.map(|what| Fault { condition, warehouse, district, what }));
    }

    fn merge(&mut self, other: TpccReport) {
        self.faults.extend(other.faults);
        self.orders += other.orders;
        self.deliveries += other.deliveries;
        self.payments += other.payments;
    }
}

impl fmt::Display for TpccReport {
    /// A line for each fault: where it is, and the first example.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_consistent() {
            return write!(f, "all conditions hold");
        }
        for (place, fault) in self.faults.iter().enumerate() {
            let line = if place == 0 { "" } else { "\n" };
            write!(f, "{line}condition {} fails", fault.condition)?;
            match (fault.warehouse, fault.district) {
                (0, _) => {}
                (warehouse, 0) => write!(f, " in warehouse {warehouse}")?,
                (warehouse, district) => {
                    write!(f, " in warehouse {warehouse}, district {district}")?;
                }
            }
            write!(f, ": {}", fault.what)?;
        }
        Ok(())
    }
}

impl<S: Store> Tpcc<S> {
    /// Reads all data with `threads` threads and checks the conditions.
    pub fn check(&self, store: &S, threads: usize) -> Result<TpccReport, S::Error> {
        let payments = self.gather_payments(store)?;
        let warehouses = self.scale.warehouses as usize;
        let parts = in_parallel::<S, _>(threads, warehouses * usize::from(DISTRICTS), &|place| {
            let warehouse = (place / usize::from(DISTRICTS)) as u32 + 1;
            let district = (place % usize::from(DISTRICTS)) as u8 + 1;
            self.check_district(store, (warehouse, district), &payments)
        })?;
        let mut report = TpccReport { payments: payments.since_load, ..TpccReport::default() };
        let (mut ordered, mut ytd) = (Ordered::default(), vec![0i64; warehouses]);
        for (place, part) in parts.into_iter().enumerate() {
            let of_warehouse = &mut ytd[place / usize::from(DISTRICTS)];
            *of_warehouse = of_warehouse.wrapping_add(part.ytd);
            ordered.merge(&part.ordered);
            report.merge(part.report);
        }
        let parts = in_parallel::<S, _>(threads, warehouses, &|place| {
            self.check_warehouse(store, place as u32 + 1, ytd[place], &payments, &ordered)
        })?;
        parts.into_iter().for_each(|part| report.merge(part));
        report.note(conditions::ROWS, (0, 0), self.whole_tables_fault(store)?);
        Ok(report)
    }

    fn check_district(
        &self,
        store: &S,
        place: (u32, u8),
        payments: &Payments,
    ) -> Result<DistrictPart, S::Error> {
        let facts = self.gather_district(store, place, payments)?;
        let mut report = TpccReport {
            orders: facts.orders.len() as u64 - facts.loaded_orders(),
            deliveries: facts.deliveries(),
            ..TpccReport::default()
        };
        for (number, condition) in conditions::OF_DISTRICT {
            report.note(number, place, condition(&facts));
        }
        Ok(DistrictPart { report, ytd: facts.ytd, ordered: facts.ordered })
    }

    fn check_warehouse(
        &self,
        store: &S,
        warehouse: u32,
        districts_ytd: i64,
        payments: &Payments,
        ordered: &Ordered,
    ) -> Result<TpccReport, S::Error> {
        let facts = self.gather_warehouse(store, warehouse, districts_ytd, payments, ordered)?;
        let mut report = TpccReport::default();
        for (number, condition) in conditions::OF_WAREHOUSE {
            report.note(number, (warehouse, 0), condition(&facts));
        }
        Ok(report)
    }
}

/// The part of a district's facts that the check of its warehouse needs.
struct DistrictPart {
    report: TpccReport,
    ytd: i64,
    ordered: Ordered,
}

/// Does `work` for `0..count` with `threads` threads; the results are in order.
fn in_parallel<S: Store, T: Send>(
    threads: usize,
    count: usize,
    work: &(dyn Fn(usize) -> Result<T, S::Error> + Sync),
) -> Result<Vec<T>, S::Error> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            // Relaxed: hands out numbers and nothing else.
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                return Ok(done);
            }
            done.push((place, work(place)?));
        }
    };
    let mut results = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| start::<S, _>(scope, worker)).collect();
        workers.into_iter().try_fold(Vec::with_capacity(count), |mut all, worker| {
            all.extend(worker.and_then(join::<S, _>)?);
            Ok(all)
        })
    })?;
    results.sort_unstable_by_key(|(place, _)| *place);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests;
