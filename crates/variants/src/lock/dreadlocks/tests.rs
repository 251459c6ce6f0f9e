//! Deadlock checks of blocking waiters, step by step on one thread.

use clearway_base::Lsn;
use clearway_lock::{
    IntentMode, LockId, LockOptions, LockOwner, LockTable, Outcome, RangeMode, ResourceId,
    WaitLimit, parts::steps,
};

use super::*;
use crate::lock::{DeadlockMethod, LockVariant, LockVariants, VictimPolicy};

use RangeMode as M;

fn table(digests: Digests) -> LockTable {
    let options = LockOptions { buckets: 2, ..LockOptions::default() };
    LockTable::new(options.lock_variant(DeadlockMethod::Dreadlocks(digests)))
}

fn owners<const N: usize>(table: &LockTable) -> [LockOwner; N] {
    std::array::from_fn(|_| table.owner())
}

fn take(table: &LockTable, owner: &mut LockOwner, key: u64, mode: M) {
    assert_eq!(table.try_acquire(owner, LockId(key), mode), Outcome::Granted);
}

/// Queues a request like a blocking thread, but without a deadlock check.
fn wait(table: &LockTable, owner: &mut LockOwner, key: u64, mode: M) {
    assert!(!steps::begin_wait(table, owner, LockId(key), mode));
}

/// Repeats an owner's deadlock check. Returns true if it dies.
fn dies_at_check(table: &LockTable, owner: &mut LockOwner) -> bool {
    steps::check(table, owner)
}

const EXACT: Digests = Digests {
    exact_owners: 512,
    bloom_bits: 512,
    fingerprint_bits: 3,
    confirm: true,
    accepts_marked: false,
};

#[test]
fn fingerprints_travel_one_owner_further_with_each_check() {
    for shape in [EXACT, Digests::bloom()] {
        let table = table(shape);
        let mut ring: [_; 5] = owners(&table);
        for (n, owner) in ring.iter_mut().enumerate() {
            take(&table, owner, n as u64, M::XN);
        }
        // Each checks when it begins to wait, while its successor still runs.
        for (n, owner) in ring.iter_mut().enumerate() {
            wait(&table, owner, (n as u64 + 1) % 5, M::XN);
            assert!(
                !dies_at_check(&table, owner),
                "the last one finds only its predecessor's neighbours"
            );
        }
        // No owner is notified; all check in turn, in the worst order.
        let rounds = (1..=5).find(|_| ring.iter_mut().any(|owner| dies_at_check(&table, owner)));
        assert!(rounds.is_some(), "found after as many checks as there are members");
        assert_eq!((table.stats().deadlocks, table.stats().false_alarms), (1, 0));
    }
}

#[test]
fn the_last_of_two_finds_itself_at_its_first_check() {
    let table = table(EXACT);
    let [mut a, mut b] = owners(&table);
    take(&table, &mut a, 1, M::XN);
    take(&table, &mut b, 2, M::XN);
    wait(&table, &mut a, 2, M::XN);
    assert!(!dies_at_check(&table, &mut a));
    wait(&table, &mut b, 1, M::XN);
    assert!(dies_at_check(&table, &mut b));
}

#[test]
fn shared_then_conversion_then_shared() {
    // Queue: a has S, b has S and converts to X, c asks for S. c waits for b's conversion, though
    // all that is granted is compatible with it; b waits for a; a waits for c.
    let table = table(EXACT);
    let [mut a, mut b, mut c] = owners(&table);
    take(&table, &mut a, 1, M::SN);
    take(&table, &mut b, 1, M::SN);
    take(&table, &mut c, 2, M::XN);
    wait(&table, &mut b, 1, M::XN);
    wait(&table, &mut c, 1, M::SN);
    assert!(!dies_at_check(&table, &mut b) && !dies_at_check(&table, &mut c));
    wait(&table, &mut a, 2, M::SN);
    assert!(dies_at_check(&table, &mut a));
    assert_eq!(table.stats().false_alarms, 0);
}

#[test]
fn compatible_newcomer_does_not_depend_on_the_waiter_ahead() {
    // Queue: a has SN, b asks for XN, c asks for the gap and passes b: no wait, no dependency.
    let table = table(EXACT);
    let [mut a, mut b, mut c] = owners(&table);
    take(&table, &mut a, 1, M::SN);
    wait(&table, &mut b, 1, M::XN);
    take(&table, &mut c, 1, M::NX);
}

#[test]
fn newcomer_behind_a_newcomer_depends_on_whom_that_waits_for() {
    // b's X waits for a; c's S is compatible with a and stands behind b; a waits for c.
    let table = table(EXACT);
    let [mut a, mut b, mut c] = owners(&table);
    take(&table, &mut a, 1, M::SN);
    take(&table, &mut c, 2, M::XN);
    wait(&table, &mut b, 1, M::XN);
    wait(&table, &mut c, 1, M::SN);
    assert!(!dies_at_check(&table, &mut c));
    wait(&table, &mut a, 2, M::SN);
    assert!(dies_at_check(&table, &mut a));
}

#[test]
fn all_of_several_holders_are_dependencies() {
    for through in 0..3 {
        let table = table(EXACT);
        let mut holders: [_; 3] = owners(&table);
        let [mut writer] = owners(&table);
        holders.iter_mut().for_each(|holder| take(&table, holder, 1, M::SN));
        take(&table, &mut writer, 2, M::XN);
        wait(&table, &mut holders[through], 2, M::SN);
        assert!(!dies_at_check(&table, &mut holders[through]));
        wait(&table, &mut writer, 1, M::XN);
        assert!(dies_at_check(&table, &mut writer), "{through}");
    }
}

#[test]
fn intent_locks_are_dependencies() {
    let table = table(EXACT);
    let [mut a, mut b] = owners(&table);
    let t = ResourceId(1);
    table.acquire_intent(&mut a, t, IntentMode::IX, WaitLimit::NoWait).unwrap();
    take(&table, &mut b, 1, M::XN);
    wait(&table, &mut a, 1, M::XN);
    assert!(!dies_at_check(&table, &mut a));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let end = table.poll_acquire_intent(&mut b, t, IntentMode::X, &mut cx);
    assert!(matches!(end, std::task::Poll::Ready(Err(_))), "b closes the cycle");
}

/// The paper's case: b and c sleep while they wait for a; a commits, and its next transaction meets
/// a lock that c holds. b has the lock by then, c sleeps on.
fn slept_through(digests: Digests) -> (LockTable, [LockOwner; 3]) {
    let table = table(digests);
    let [mut a, mut b, mut c] = owners(&table);
    take(&table, &mut a, 1, M::XN);
    take(&table, &mut b, 2, M::XN);
    take(&table, &mut c, 3, M::XN);
    for owner in [&mut b, &mut c] {
        wait(&table, owner, 1, M::XN);
        assert!(!dies_at_check(&table, owner));
    }
    table.release_all(&mut a, Some(Lsn(1)));
    take(&table, &mut a, 4, M::XN);
    wait(&table, &mut a, 3, M::XN);
    (table, [a, b, c])
}

#[test]
fn out_of_date_digest_raises_no_alarm() {
    let (table, [mut a, _b, mut c]) = slept_through(Digests::bloom());
    assert!(!dies_at_check(&table, &mut a));
    assert_eq!((table.stats().false_alarms, table.stats().deadlocks), (0, 0));
    // c checks: its digest is fresh, and a is not in it.
    assert!(!dies_at_check(&table, &mut c) && !dies_at_check(&table, &mut a));
    assert_eq!(table.stats().false_alarms, 0);
}

#[test]
fn without_backoff_the_old_digest_is_a_false_alarm_or_a_false_death() {
    let accepting = Digests { accepts_marked: true, ..Digests::bloom() };
    let (table, [mut a, _b, _c]) = slept_through(accepting);
    assert!(!dies_at_check(&table, &mut a), "confirmed before an owner dies");
    assert_eq!((table.stats().false_alarms, table.stats().deadlocks), (1, 0));
    let plain = Digests { confirm: false, ..accepting };
    let (table, [mut a, _b, _c]) = slept_through(plain);
    assert!(dies_at_check(&table, &mut a));
    assert_eq!((table.stats().deadlocks, table.stats().false_deaths), (1, 1));
}

#[test]
fn exact_owners_know_their_lock_epochs_whatever_the_policy() {
    let accepting = Digests { accepts_marked: true, ..EXACT };
    let (table, [mut a, _b, _c]) = slept_through(accepting);
    assert!(!dies_at_check(&table, &mut a));
    assert_eq!(table.stats().false_alarms, 0);
}

#[test]
fn old_digest_at_second_hand_raises_an_alarm_only_without_lock_epochs() {
    // d waits for c waits for a. a commits; c is marked, d is not. a's next transaction meets d.
    for (shape, alarms) in [(EXACT, 0), (Digests::bloom(), 1)] {
        let table = table(shape);
        let [mut a, mut c, mut d] = owners(&table);
        take(&table, &mut a, 1, M::XN);
        take(&table, &mut c, 3, M::XN);
        take(&table, &mut d, 5, M::XN);
        wait(&table, &mut c, 1, M::XN);
        assert!(!dies_at_check(&table, &mut c));
        wait(&table, &mut d, 3, M::XN);
        assert!(!dies_at_check(&table, &mut d));
        table.release_all(&mut a, Some(Lsn(1)));
        take(&table, &mut a, 4, M::XN);
        wait(&table, &mut a, 5, M::XN);
        assert!(!dies_at_check(&table, &mut a));
        assert_eq!(table.stats().false_alarms, alarms, "{shape:?}");
    }
}

#[test]
fn withdrawal_marks_those_behind_it() {
    // c's digest is gathered through b's request, which goes away; then b waits for c.
    let table = table(EXACT);
    let [mut a, mut b, mut c] = owners(&table);
    take(&table, &mut a, 1, M::SN);
    take(&table, &mut b, 4, M::XN);
    take(&table, &mut c, 2, M::XN);
    wait(&table, &mut b, 1, M::XN);
    wait(&table, &mut c, 1, M::XN);
    assert!(!dies_at_check(&table, &mut c));
    table.cancel(&mut b);
    table.release_all(&mut a, None);
    wait(&table, &mut a, 2, M::SN);
    assert!(!dies_at_check(&table, &mut a));
    assert_eq!(table.stats().false_alarms, 0, "c has the lock and does not wait");
}

/// b waits for c, whose bit in a filter of 64 is a's; a waits for b.
fn bloom_collision(confirm: bool) -> (LockTable, LockOwner, [LockOwner; 2]) {
    let shape = Digests { exact_owners: 0, bloom_bits: 64, fingerprint_bits: 1, confirm, ..EXACT };
    let table = table(shape);
    let mut many: Vec<_> = (0..200).map(|_| table.owner()).collect();
    let digest_of = |slot| {
        let mut digest = Digest::default();
        digest.clear(shape);
        digest.insert(shape, Member { slot, lock_epoch: 0 });
        digest
    };
    let first = digest_of(many[0].number());
    let twin =
        (2..200).find(|&n| digest_of(many[n].number()).is_like(&first)).expect("64 bits only");
    let mut c = many.swap_remove(twin);
    let mut b = many.swap_remove(1);
    let mut a = many.swap_remove(0);
    assert!(!digest_of(b.number()).is_like(&first), "b is another one");
    take(&table, &mut c, 1, M::XN);
    take(&table, &mut b, 2, M::XN);
    take(&table, &mut a, 3, M::XN);
    wait(&table, &mut b, 1, M::XN);
    assert!(!dies_at_check(&table, &mut b));
    wait(&table, &mut a, 2, M::XN);
    (table, a, [b, c])
}

#[test]
fn false_positive_of_a_bloom_filter_is_caught_by_the_confirmation() {
    let (table, mut a, _others) = bloom_collision(true);
    assert!(!dies_at_check(&table, &mut a));
    assert_eq!((table.stats().false_alarms, table.stats().deadlocks), (1, 0));
    let (table, mut a, _others) = bloom_collision(false);
    assert!(dies_at_check(&table, &mut a), "digests alone decide");
    assert_eq!((table.stats().deadlocks, table.stats().false_deaths), (1, 1));
}

#[test]
fn plain_digests_kill_the_lower_of_two_and_the_other_goes_on() {
    for (victims, dies) in [(VictimPolicy::KillShort, 0), (VictimPolicy::KillLong, 1)] {
        let deadlocks = DeadlockMethod::Dreadlocks(Digests { confirm: false, ..EXACT });
        let variant = LockVariant { deadlocks, victims, ..LockVariant::default() };
        let table = LockTable::new(LockOptions::default().lock_variant(variant));
        let mut pair: [_; 2] = owners(&table);
        for (n, owner) in pair.iter_mut().enumerate() {
            owner.set_pipeline(n as u64);
            take(&table, owner, n as u64, M::XN);
        }
        for (n, owner) in pair.iter_mut().enumerate() {
            wait(&table, owner, 1 - n as u64, M::XN);
        }
        let mut died = Vec::new();
        for n in [0, 1, 0, 1] {
            if !died.contains(&n) && dies_at_check(&table, &mut pair[n]) {
                died.push(n);
            }
        }
        assert_eq!(died, [dies], "{victims:?}");
        assert_eq!(table.stats().false_deaths, 0);
    }
}
