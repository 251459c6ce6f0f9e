//! The release of regions in log order, which a thread may delegate to its predecessor.
//!
//! ```text
//!   node          7            8            9            10
//!   state    its turn ──▶  delegated    delegated     (copying)
//!                 releases 7, then 8, then 9, and gives 10 its turn
//! ```
//!
//! Invariants:
//! - RELEASES-1. Regions are numbered in the order of the log, and `released` passes the end of
//!   region `n` only after that of `n - 1`.
//! - RELEASES-2. Exactly one thread releases the region of each number: its own thread, if it gets
//!   the turn before it delegates; otherwise the thread that has the turn when the number is
//!   reached. Both are one compare-and-swap of the node's state, which only one of them wins.
//! - RELEASES-3. A state includes its number, so a value left in a node by an earlier lap is
//!   neither a turn nor a delegation of this lap. A node is used again when the region it was for
//!   has long been durable.
//!
//! Algorithm 4 of "Aether: A Scalable Approach to Logging" (appendix A.1, A.3). Differences: the
//! queue is an array of nodes with numbers that the cursor's latch gives out, so that a node is
//! found without a pointer and there is nothing to free. As in the paper, a thread occasionally
//! refuses to delegate and waits for its turn, so that no thread releases for the others for ever.

use clearway_base::Lsn;
use clearway_log::HEADER_BYTES;
use clearway_sync::{
    Backoff, CachePadded,
    atomic::{AtomicU64, Ordering},
};

/// One region in this many is not delegated.
const REFUSED: u64 = 32;

/// States of a node, in the low bits; its number above them (RELEASES-3).
const TURN: u64 = 1;
const DELEGATED: u64 = 2;

fn state(number: u64, what: u64) -> u64 {
    number << 2 | what
}

#[derive(Default)]
struct Node {
    state: AtomicU64,
    /// The end of the region.
    end: AtomicU64,
}

/// The queue of regions that are not released yet.
pub(super) struct Releases {
    nodes: Box<[Node]>,
    /// Everything before it is filled.
    released: CachePadded<AtomicU64>,
}

impl Releases {
    /// Creates the queue for a ring of `ring_bytes`, a power of two, released up to `start`. The
    /// first number is 0.
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

    /// Records that the region with this number ends at `end`. Called under the cursor's latch, in
    /// the order of the numbers.
    #[inline]
    pub(super) fn enter(&self, number: u64, end: Lsn) {
        // Relaxed: the releasing thread sees it through the state, which the filling thread sets.
        self.node(number).end.store(end.0, Ordering::Relaxed);
    }

    /// Releases the region with this number, which is filled, or delegates the release.
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

    /// Delegates the release to the predecessor. Returns false if it is this thread's turn
    /// (RELEASES-2).
    fn delegate(&self, mine: &AtomicU64, number: u64) -> bool {
        self.leave(mine, number, DELEGATED, TURN)
    }

    /// Changes a node's state to `to`, unless it is already `unless`.
    fn leave(&self, node: &AtomicU64, number: u64, to: u64, unless: u64) -> bool {
        let mut seen = node.load(Ordering::Acquire);
        while seen != state(number, unless) {
            // Release: the thread that releases a delegated region sees its fill, and the thread
            // that gets the turn sees all earlier fills. Acquire, here and in the load: to see
            // them.
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

    /// Releases this region and the delegated ones after it (RELEASES-1), and gives the turn to the
    /// next.
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
    fn predecessor_releases_for_its_successors() {
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
