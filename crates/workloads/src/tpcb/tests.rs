//! TPC-B over Clearway in memory.

use std::time::Duration;

use super::*;
use crate::{ClearwayStore, Commit, Plan, drive};

const SCALE: TpcbScale = TpcbScale { branches: 3, accounts_per_branch: 200 };

fn store() -> ClearwayStore {
    let options = clearway::Options::in_memory().cache_size(16 << 20);
    ClearwayStore::new(options.open("tpcb").unwrap())
}

fn plan(clients: u32, threads: usize, commit: Commit) -> Plan {
    let duration = Duration::from_millis(150);
    Plan { clients, threads: Some(threads), commit, duration, seed: 1 }
}

#[test]
fn spread_visits_every_account_once() {
    for n in [1u64, 2, 100, 99_999, 100_000] {
        let spread = coprime_with(n);
        let mut seen = vec![false; n as usize];
        (0..n).for_each(|rank| seen[(rank * spread % n) as usize] = true);
        assert!(seen.iter().all(|&s| s), "{n}");
    }
}

#[test]
fn loading_reports_every_row_and_happens_once() {
    let (store, rows) = (store(), AtomicU64::new(0));
    let count = |n: u64| {
        rows.fetch_add(n, Ordering::SeqCst);
        true
    };
    let bank = Tpcb::prepare(&store, SCALE, Skew::Uniform, 2, &count).unwrap();
    assert_eq!(rows.load(Ordering::SeqCst), SCALE.rows());
    assert!(bank.check(&store, 2).unwrap().is_consistent());
    Tpcb::prepare(&store, SCALE, Skew::Uniform, 2, &count).unwrap();
    assert_eq!(rows.load(Ordering::SeqCst), SCALE.rows());
    let other = TpcbScale { branches: 4, ..SCALE };
    let refused = Tpcb::prepare(&store, other, Skew::Uniform, 2, &count);
    assert!(refused.err().unwrap().to_string().contains("another scale"));
    assert_eq!(bank.history_rows(&store).unwrap(), 0);
}

#[test]
fn loading_ends_on_request_and_the_half_loaded_bank_is_refused() {
    let store = store();
    let stopped = Tpcb::prepare(&store, SCALE, Skew::Uniform, 2, &|_| false);
    assert!(stopped.err().unwrap().to_string().contains("interrupted"));
    let refused = Tpcb::prepare(&store, SCALE, Skew::Uniform, 2, &|_| true);
    assert!(refused.err().unwrap().to_string().contains("interrupted"));
}

#[test]
fn pipelined_and_blocking_runs_balance_and_count_alike() {
    let store = store();
    let mut expected = 0;
    for (clients, threads, commit, skew) in [
        (8, 2, Commit::Pipelined, Skew::Uniform),
        (4, 4, Commit::Blocking, Skew::Zipf(1.0)),
        (1, 1, Commit::Blocking, Skew::SelfSimilar(0.2)),
        (4, 2, Commit::Unawaited, Skew::Uniform),
    ] {
        let bank = Tpcb::prepare(&store, SCALE, skew, 2, &|_| true).unwrap();
        let outcome = drive(&store, &bank, &plan(clients, threads, commit), &mut |_| true).unwrap();
        expected += outcome.commits;
        assert!(outcome.commits > 0);
        assert_eq!(outcome.latency.count(), outcome.commits);
        let balance = bank.check(&store, 2).unwrap();
        assert!(balance.is_consistent(), "{balance:?}");
        assert_eq!(balance.history_rows, expected);
    }
}

#[test]
fn a_lost_update_is_noticed() {
    let store = store();
    let bank = Tpcb::prepare(&store, SCALE, Skew::Uniform, 1, &|_| true).unwrap();
    let mut row = rows::new_row(1);
    write_balance(&mut row, 5);
    store.run("spoil", |tx| tx.update(&bank.tables.teller, &key(1), &row)).unwrap();
    let balance = bank.check(&store, 1).unwrap();
    assert!(!balance.is_consistent());
    assert_eq!(balance.branches_off, 1);
}

/// Returns which of teller and branch a transaction has locked when it comes to its account.
fn locked_rows_at_the_account(order: TpcbOrder) -> [bool; 2] {
    let store = store();
    let mut bank = Tpcb::prepare(&store, SCALE, Skew::Uniform, 1, &|_| true).unwrap();
    bank.set_order(order);
    let (_, what) = bank.draw(&mut bank.client(1));
    // Another transaction holds the account, so the transaction waits there.
    let mut holder = store.database().begin();
    holder.get_for_update(&bank.tables.account, key(what.account)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| bank.run(&store, &mut bank.client(1), &what).unwrap());
        while store.database().waits().is_empty() {
            std::thread::yield_now();
        }
        let is_locked = |table, id| {
            let mut other = store.database().begin();
            other.lock_wait(clearway::LockWait::Never);
            other.get(table, key(id)).is_err()
        };
        let locked = [
            is_locked(&bank.tables.teller, what.teller),
            is_locked(&bank.tables.branch, what.branch),
        ];
        drop(holder);
        locked
    })
}

#[test]
fn the_order_decides_what_is_locked_at_the_account() {
    assert_eq!(locked_rows_at_the_account(TpcbOrder::Standard), [false, false]);
    assert_eq!(locked_rows_at_the_account(TpcbOrder::BranchFirst), [true, true]);
}

#[test]
fn a_bank_balances_in_each_order() {
    let store = store();
    for (order, history_rows) in [(TpcbOrder::BranchFirst, 1), (TpcbOrder::Standard, 2)] {
        let mut bank = Tpcb::prepare(&store, SCALE, Skew::Uniform, 1, &|_| true).unwrap();
        bank.set_order(order);
        let mut client = bank.client(1);
        let (_, what) = bank.draw(&mut client);
        bank.run(&store, &mut client, &what).unwrap();
        let balance = bank.check(&store, 1).unwrap();
        assert!(balance.is_consistent(), "{order}: {balance:?}");
        assert_eq!(balance.history_rows, history_rows, "{order}");
        assert_eq!(balance.branches, balance.accounts);
        assert_ne!(what.delta, 0);
    }
}
