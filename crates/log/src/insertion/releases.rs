//! The release of regions in the order of the log, delegated to whoever comes before.
//!
//! ```text
//!   node          7            8            9            10
//!   state    its turn ──▶  delegated    delegated     (copying)
//!                 releases 7, then 8, then 9, and gives 10 its turn
//! ```
//!
//! Invariants:
//! - D1. Regions are numbered in the order of the log, and `released` passes the end of region `n`
//!   only after that of `n - 1`.
//! - D2. Of each number exactly one thread releases the region: its own, if it is given the turn
//!   before it delegates; else whoever has the turn when it comes to it. Both are one
//!   compare-and-swap of the node's state, which only one of them wins.
//! - D3. A state names its number, so what an earlier lap left in a node is neither a turn nor a
//!   delegation of this one. A node is used again when the region it was for has long been durable.
//!
//! Algorithm 4 of "Aether: A Scalable Approach to Logging" (appendix A.1, A.3). Differences: the
//! queue is an array of nodes with numbers that the cursor's latch gives out, so that a node is
//! found without a pointer and there is nothing to free. As in the paper a thread now and then
//! refuses to delegate and waits for its turn, so that nobody releases for the others for ever.

use clearway_base::{
    Lsn,
    zoo::{self, Bug},
};
use clearway_sync::{
    Backoff, CachePadded,
    atomic::{AtomicU64, Ordering},
};

use crate::record::HEADER_BYTES;

/// One of so many regions is not delegated.
const REFUSED: u64 = 32;

/// States of a node, in the low bits; its number above them (D3).
const TURN: u64 = 1;
const DELEGATED: u64 = 2;

fn state(number: u64, what: u64) -> u64 {
    let number = if zoo::has(Bug::StaleDelegation) { 0 } else { number };
    number << 2 | what
}

#[derive(Default)]
struct Node {
    state: AtomicU64,
    /// Where the region ends.
    end: AtomicU64,
}

/// The queue of regions that are not released yet.
pub(super) struct Releases {
    nodes: Box<[Node]>,
    /// Everything before it is filled.
    released: CachePadded<AtomicU64>,
}

impl Releases {
    /// For a ring of `ring_bytes`, a power of two, before `start`. The first number is 0.
    pub(super) fn new(ring_bytes: u64, start: Lsn) -> Releases {
        let nodes = ring_bytes as usize / HEADER_BYTES;
        let releases = Releases {
            nodes: (0..nodes).map(|_| Node::default()).collect(),
            released: CachePadded::new(AtomicU64::new(start.0)),
        };
        releases.node(0).state.store(state(0, TURN), Ordering::Relaxed);
        releases
    }

    #[inline]
    fn node(&self, number: u64) -> &Node {
        // The mask is the length less one, a power of two: the index is always in bounds.
        &self.nodes[number as usize & (self.nodes.len() - 1)]
    }

    /// The region with this number ends at `end`. Called under the cursor's latch, in the order of
    /// the numbers.
    #[inline]
    pub(super) fn enter(&self, number: u64, end: Lsn) {
        // Relaxed: whoever releases the region sees it by way of the state, and by that of whoever
        // fills it.
        self.node(number).end.store(end.0, Ordering::Relaxed);
    }

    /// The region with this number is filled.
    #[inline]
    pub(super) fn release(&self, number: u64) {
        let mine = &self.node(number).state;
        if number % REFUSED == REFUSED - 1 {
            self.await_turn(mine, number);
        }
        if !self.delegate(mine, number) {
            self.release_from(number);
        }
    }

    fn await_turn(&self, mine: &AtomicU64, number: u64) {
        let backoff = Backoff::new();
        while mine.load(Ordering::Relaxed) != state(number, TURN) {
            backoff.snooze();
        }
    }

    /// Leaves the release to whoever comes before. False if it is this thread's turn (D2).
    fn delegate(&self, mine: &AtomicU64, number: u64) -> bool {
        self.leave(mine, number, DELEGATED, TURN)
    }

    /// Changes a node's state to `to`, unless it is `unless` by now.
    fn leave(&self, node: &AtomicU64, number: u64, to: u64, unless: u64) -> bool {
        let mut seen = node.load(Ordering::Acquire);
        while seen != state(number, unless) {
            // Release: who releases a delegated region sees its fill, and who is given the turn
            // sees the fills of all before. Acquire, here and in the load: to see them.
            match node.compare_exchange_weak(
                seen,
                state(number, to),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Releases this region and those behind it that were delegated (D1), and gives the next its
    /// turn.
    fn release_from(&self, mut number: u64) {
        loop {
            let end = self.node(number).end.load(Ordering::Relaxed);
            // Release pairs with the Acquire in `await_released`.
            self.released.store(end, Ordering::Release);
            number += 1;
            if self.leave(&self.node(number).state, number, TURN, DELEGATED) {
                return;
            }
        }
    }

    /// Waits until everything before `end` is filled.
    pub(super) fn await_released(&self, end: Lsn) {
        if zoo::has(Bug::HoleFlown) {
            return;
        }
        let backoff = Backoff::new();
        while self.released.load(Ordering::Acquire) < end.0 {
            backoff.snooze();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ends: &[u64]) -> Releases {
        let releases = Releases::new(4096, Lsn::ZERO);
        for (number, end) in ends.iter().enumerate() {
            releases.enter(number as u64, Lsn(*end));
        }
        releases
    }

    fn released(releases: &Releases) -> u64 {
        releases.released.load(Ordering::Relaxed)
    }

    #[test]
    fn whoever_comes_before_releases_for_those_behind() {
        let releases = of(&[40, 80, 120, 160]);
        releases.release(2);
        releases.release(1);
        assert_eq!(released(&releases), 0);
        releases.release(0);
        assert_eq!(released(&releases), 120);
        releases.release(3);
        assert_eq!(released(&releases), 160);
    }

    #[test]
    fn nodes_of_an_earlier_lap_are_no_delegations() {
        let releases = Releases::new(4096, Lsn::ZERO);
        for number in 0..1000u64 {
            releases.enter(number, Lsn((number + 1) * 32));
            releases.release(number);
            assert_eq!(released(&releases), (number + 1) * 32);
        }
    }

    #[test]
    fn delegations_of_an_earlier_lap_are_none_of_this_one() {
        let releases = Releases::new(4096, Lsn::ZERO);
        let lap = releases.nodes.len() as u64;
        let end = |number| (number + 1) * 32;
        let enter = |number| releases.enter(number, Lsn(end(number)));
        (0..lap).for_each(enter);
        // In the first lap every other region is delegated.
        for number in (0..lap).step_by(2) {
            if (number + 1) % REFUSED == REFUSED - 1 {
                // The refusing one would wait for its turn.
                releases.release(number);
                releases.release(number + 1);
            } else {
                releases.release(number + 1);
                releases.release(number);
            }
        }
        assert_eq!(released(&releases), end(lap - 1));
        (lap..2 * lap).for_each(enter);
        releases.release(lap);
        assert_eq!(released(&releases), end(lap), "the region behind it is not filled");
    }

    #[test]
    fn who_refuses_to_delegate_waits_for_its_turn() {
        let ends: Vec<u64> = (1..=REFUSED).map(|n| n * 32).collect();
        let releases = of(&ends);
        (1..REFUSED - 1).for_each(|number| releases.release(number));
        clearway_sync::thread::scope(|scope| {
            let last = scope.spawn(|| releases.release(REFUSED - 1));
            clearway_sync::thread::yield_now();
            assert!(!last.is_finished() && released(&releases) == 0);
            releases.release(0);
        });
        assert_eq!(released(&releases), REFUSED * 32);
    }
}
