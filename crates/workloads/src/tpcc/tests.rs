//! TPC-C over Clearway in memory: loading and whole runs. Single transactions are tested in
//! `transactions`.

mod transactions;

use std::{sync::Mutex, time::Duration};

use clearway_sync::atomic::AtomicU64;

use super::*;
use crate::{ClearwayStore, Commit, Plan, drive};

pub(super) fn store() -> ClearwayStore {
    let options = clearway::Options::in_memory().cache_size(64 << 20);
    ClearwayStore::new(options.open("tpcc").unwrap())
}

pub(super) fn loaded(scale: TpccScale, mix: TpccMix) -> (ClearwayStore, Tpcc<ClearwayStore>) {
    let store = store();
    let tpcc = Tpcc::prepare(&store, scale, mix, 2, &|_rows| true).unwrap();
    (store, tpcc)
}

/// Results reported to the clients of some runs: commits by type, rollbacks of new-orders, and
/// attempts that lost a conflict.
#[derive(Default, Debug)]
struct Totals {
    commits: [u64; 5],
    rollbacks: u64,
    aborts: u64,
}

/// Runs until every transaction type has run, however slow the machine is.
fn run(store: &ClearwayStore, tpcc: &Tpcc<ClearwayStore>, commit: Commit, seed: u64) -> Totals {
    const ENOUGH: u64 = 600;
    let duration = Duration::from_millis(100);
    let plan = Plan { clients: 8, threads: Some(2), commit, duration, seed };
    let mut totals = Totals::default();
    while totals.commits.iter().sum::<u64>() < ENOUGH {
        let outcome = drive(store, tpcc, &plan, &mut |_| true).unwrap();
        assert_eq!(outcome.rollbacks, outcome.types[0].rollbacks, "others ask for none");
        assert!(outcome.types.iter().map(|kind| kind.name).eq(mix::NAMES));
        totals.rollbacks += outcome.rollbacks;
        totals.aborts += outcome.aborts;
        for (commits, kind) in totals.commits.iter_mut().zip(&outcome.types) {
            *commits += kind.commits;
        }
    }
    totals
}

fn assert_consistent(store: &ClearwayStore, tpcc: &Tpcc<ClearwayStore>) -> TpccReport {
    let report = tpcc.check(store, 2).unwrap();
    assert!(report.is_consistent(), "{report}");
    assert_eq!(report.to_string(), "all conditions hold");
    report
}

#[test]
fn loading_reports_every_row_and_happens_once() {
    let (store, rows) = (store(), AtomicU64::new(0));
    let count = |n: u64| {
        rows.fetch_add(n, Ordering::SeqCst);
        true
    };
    let scale = TpccScale::small(2);
    let tpcc = Tpcc::prepare(&store, scale, TpccMix::Standard, 3, &count).unwrap();
    let loaded = rows.load(Ordering::SeqCst);
    assert!(loaded.abs_diff(scale.rows()) < scale.rows() / 20, "{loaded} of {}", scale.rows());
    let report = assert_consistent(&store, &tpcc);
    assert_eq!((report.orders, report.payments, report.deliveries), (0, 0, 0));
    Tpcc::prepare(&store, scale, TpccMix::Standard, 2, &count).unwrap();
    assert_eq!(rows.load(Ordering::SeqCst), loaded);
    let other = TpccScale { items: 999, ..scale };
    let refused = Tpcc::prepare(&store, other, TpccMix::Standard, 2, &count);
    assert!(refused.err().unwrap().to_string().contains("another scale"));
}

#[test]
fn loading_ends_on_request_and_the_half_loaded_data_are_refused() {
    let (store, scale) = (store(), TpccScale::small(1));
    let stopped = Tpcc::prepare(&store, scale, TpccMix::Standard, 2, &|_| false);
    assert!(stopped.err().unwrap().to_string().contains("interrupted"));
    let refused = Tpcc::prepare(&store, scale, TpccMix::Standard, 2, &|_| true);
    assert!(refused.err().unwrap().to_string().contains("interrupted"));
}

#[test]
fn a_scale_that_makes_no_sense_is_refused() {
    let small = TpccScale::small(1);
    for scale in [
        TpccScale { warehouses: 0, ..small },
        TpccScale { items: 0, ..small },
        TpccScale { customers_per_district: 0, ..small },
        TpccScale { orders_per_district: 0, new_orders_per_district: 0, ..small },
        TpccScale { new_orders_per_district: small.orders_per_district + 1, ..small },
    ] {
        assert!(Tpcc::prepare(&store(), scale, TpccMix::Standard, 1, &|_| true).is_err());
    }
}

#[test]
fn the_same_is_loaded_with_any_number_of_threads() {
    // Rows of two tables that have no dates in them.
    let rows = |threads| {
        let (store, scale) = (store(), TpccScale::small(1));
        let tpcc = Tpcc::prepare(&store, scale, TpccMix::Standard, threads, &|_| true).unwrap();
        let found = Mutex::new(Vec::new());
        for table in [&tpcc.tables.stock, &tpcc.tables.customer_name] {
            let bounds = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
            let visit = &mut |key: &[u8], row: &[u8]| {
                found.lock().unwrap().push((key.to_vec(), row.to_vec()));
                true
            };
            store.run("all", |tx| tx.scan(table, bounds, ScanOrder::Ascending, visit)).unwrap();
        }
        found.into_inner().unwrap()
    };
    let one = rows(1);
    assert_eq!(one.len(), 1_000 + 600);
    assert!(one == rows(3));
}

#[test]
fn more_orders_than_customers_and_hardly_any_items_do() {
    let scale = TpccScale {
        warehouses: 1,
        items: 3,
        customers_per_district: 2,
        orders_per_district: 5,
        new_orders_per_district: 5,
    };
    let (store, tpcc) = loaded(scale, TpccMix::Standard);
    assert_consistent(&store, &tpcc);
    run(&store, &tpcc, Commit::Pipelined, 1);
    assert_consistent(&store, &tpcc);
}

#[test]
fn runs_of_the_standard_mix_are_consistent_and_counted() {
    let (store, tpcc) = loaded(TpccScale::small(2), TpccMix::Standard);
    let (mut orders, mut payments) = (0, 0);
    for (commit, seed) in [(Commit::Pipelined, 1), (Commit::Blocking, 2)] {
        let totals = run(&store, &tpcc, commit, seed);
        assert!(totals.commits.iter().all(|&commits| commits > 0), "{totals:?}");
        orders += totals.commits[0];
        payments += totals.commits[1];
        let report = assert_consistent(&store, &tpcc);
        assert_eq!((report.orders, report.payments), (orders, payments));
        assert!(report.deliveries > 0);
    }
}

#[test]
fn clients_wait_if_configured() {
    let (_store, tpcc) = loaded(TpccScale::small(1), TpccMix::Standard);
    let pauses = |tpcc: &Tpcc<ClearwayStore>| {
        let mut client = tpcc.client(1);
        [(); 30].map(|()| {
            let (kind, _) = tpcc.draw(&mut client);
            (kind, tpcc.pause(&mut client, kind))
        })
    };
    assert!(pauses(&tpcc).iter().all(|(_, pause)| pause.is_zero()));
    let tpcc = tpcc.thinking(TpccThink::Spec);
    for (kind, pause) in pauses(&tpcc) {
        let keying = if kind == TpccTransaction::NewOrder as usize { 18 } else { 2 };
        assert!(pause > Duration::from_secs(keying), "{kind} {pause:?}");
    }
}

#[test]
fn a_second_run_with_the_same_seed_goes_on_from_the_first() {
    let (store, first) = loaded(TpccScale::small(1), TpccMix::Standard);
    run(&store, &first, Commit::Pipelined, 1);
    let scale = TpccScale::small(1);
    let second = Tpcc::prepare(&store, scale, TpccMix::Standard, 1, &|_| true).unwrap();
    assert!(second.sequence_base > 0);
    assert_eq!(second.load_constant, first.load_constant);
    run(&store, &second, Commit::Pipelined, 1);
    assert_consistent(&store, &second);
}

#[test]
fn a_run_of_one_type_has_no_other() {
    for kind in TpccTransaction::ALL {
        let (store, tpcc) = loaded(TpccScale::small(1), TpccMix::Only(kind));
        let totals = run(&store, &tpcc, Commit::Pipelined, 1);
        for (place, &commits) in totals.commits.iter().enumerate() {
            assert_eq!(commits > 0, place == kind as usize, "{kind:?} {totals:?}");
        }
        // A new-order takes stock in any order; all others begin with what they meet at.
        assert!(kind == TpccTransaction::NewOrder || totals.aborts == 0, "{kind:?} {totals:?}");
        assert_consistent(&store, &tpcc);
    }
}
