//! Parking by address over the model's mutex and condition variable.
//!
//! One queue for each address, all of them behind one mutex, which stands for the mutex of the
//! address's bucket in parking_lot_core: `validate` runs under it, and so does the callback of an
//! unpark. A sleeper is in the queue, or has been handed a token, or is awake.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use parking_lot_core::{FilterOp, ParkResult, ParkToken, UnparkResult, UnparkToken};

use super::{Condvar, Mutex, checker};

/// The sleeping threads, by address.
#[derive(Default)]
struct Lot {
    queues: BTreeMap<usize, VecDeque<Sleeper>>,
    /// Tokens handed to sleepers that have not run yet, by number.
    handed: BTreeMap<u64, UnparkToken>,
    sleepers: u64,
}

struct Sleeper {
    number: u64,
    token: ParkToken,
    wake: Arc<Condvar>,
}

checker::lazy_static! {
    // One for each execution of the model.
    static ref LOT: Mutex<Lot> = Mutex::new(Lot::default());
}

/// Sleeps in the queue of `key` unless `validate` returns false. Time does not pass: no time-outs.
///
/// # Safety
/// None is needed here; the signature matches the real one.
pub unsafe fn park(
    key: usize,
    validate: impl FnOnce() -> bool,
    before_sleep: impl FnOnce(),
    _timed_out: impl FnOnce(usize, bool),
    token: ParkToken,
    _timeout: Option<Instant>,
) -> ParkResult {
    let mut lot = LOT.lock();
    if !validate() {
        return ParkResult::Invalid;
    }
    lot.sleepers += 1;
    let (number, wake) = (lot.sleepers, Arc::new(Condvar::new()));
    let sleeper = Sleeper { number, token, wake: wake.clone() };
    lot.queues.entry(key).or_default().push_back(sleeper);
    before_sleep();
    loop {
        wake.wait(&mut lot);
        if let Some(token) = lot.handed.remove(&number) {
            return ParkResult::Unparked(token);
        }
    }
}

/// Offers the sleepers of `key` to `filter` in order, then calls `callback` under the mutex, then
/// wakes those chosen.
///
/// # Safety
/// None is needed here; the signature matches the real one.
pub unsafe fn unpark_filter(
    key: usize,
    mut filter: impl FnMut(ParkToken) -> FilterOp,
    callback: impl FnOnce(UnparkResult) -> UnparkToken,
) -> UnparkResult {
    let mut lot = LOT.lock();
    let mut chosen = Vec::new();
    let mut left = VecDeque::new();
    let mut queue = lot.queues.remove(&key).unwrap_or_default();
    while let Some(sleeper) = queue.pop_front() {
        match filter(sleeper.token) {
            FilterOp::Unpark => chosen.push(sleeper),
            FilterOp::Skip => left.push_back(sleeper),
            FilterOp::Stop => {
                left.push_back(sleeper);
                left.append(&mut queue);
            }
        }
    }
    let mut result = UnparkResult::default();
    result.unparked_threads = chosen.len();
    result.have_more_threads = !left.is_empty();
    if !left.is_empty() {
        lot.queues.insert(key, left);
    }
    let token = callback(result);
    for sleeper in chosen {
        lot.handed.insert(sleeper.number, token);
        sleeper.wake.notify_one();
    }
    result
}

/// Wakes the first sleeper of `key`.
///
/// # Safety
/// None is needed here; the signature matches the real one.
pub unsafe fn unpark_one(
    key: usize,
    callback: impl FnOnce(UnparkResult) -> UnparkToken,
) -> UnparkResult {
    let mut woken = false;
    let first = |_| match std::mem::replace(&mut woken, true) {
        true => FilterOp::Stop,
        false => FilterOp::Unpark,
    };
    // SAFETY: no precondition, see there.
    unsafe { unpark_filter(key, first, callback) }
}

/// Wakes all sleepers of `key`; returns their number.
///
/// # Safety
/// None is needed here; the signature matches the real one.
pub unsafe fn unpark_all(key: usize, token: UnparkToken) -> usize {
    // SAFETY: no precondition, see there.
    unsafe { unpark_filter(key, |_| FilterOp::Unpark, |_| token).unparked_threads }
}
