//! The clients of an agent that have no transaction outstanding, and the order in which they are
//! served.
//!
//! Invariants:
//! - CLIENTS-1. Each client is free, or thinks, or has a [`Turn`] that was handed out.
//! - CLIENTS-2. A turn is handed out when its client's pause is over, and not before.
//! - CLIENTS-3. While no client thinks, the clock is not read.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, VecDeque},
    time::Instant,
};

use super::Workload;
use crate::store::Store;

/// A transaction that was drawn for a client.
pub(super) struct Turn<Work> {
    /// The client's place among the agent's.
    pub(super) client: usize,
    pub(super) kind: usize,
    pub(super) work: Work,
}

/// The next action of an agent.
pub(super) enum Next<Work> {
    /// Submit this.
    Turn(Turn<Work>),
    /// Wait until this time, when the first thinking client is due; `None` if no client thinks,
    /// since all have a transaction outstanding.
    Idle(Option<Instant>),
}

/// A client that is not due yet, with its next transaction.
struct Thinker<Work> {
    due: Instant,
    turn: Turn<Work>,
}

/// The clients of one agent.
pub(super) struct Clients<S: Store, W: Workload<S>> {
    all: Vec<W::Client>,
    /// Clients for which no transaction was drawn yet; the first one is next.
    free: VecDeque<usize>,
    /// Clients that think; the one due first is on top.
    thinking: BinaryHeap<Thinker<W::Work>>,
}

impl<S: Store, W: Workload<S>> Clients<S, W> {
    /// Creates the clients, all of them free.
    pub(super) fn new(all: Vec<W::Client>) -> Clients<S, W> {
        Clients { free: (0..all.len()).collect(), all, thinking: BinaryHeap::new() }
    }

    pub(super) fn get(&mut self, client: usize) -> &mut W::Client {
        &mut self.all[client]
    }

    /// Appends a client whose transaction has ended to the free ones. Every client is served in
    /// turn, even if a few would keep the agent busy.
    pub(super) fn freed(&mut self, client: usize) {
        self.free.push_back(client);
    }

    /// Returns the next client to serve: first the thinking client that was due first, then the
    /// free ones. A free client with a pause begins it now.
    pub(super) fn next(&mut self, workload: &W) -> Next<W::Work> {
        if let Some(first) = self.thinking.peek()
            && first.due <= Instant::now()
            && let Some(Thinker { turn, .. }) = self.thinking.pop()
        {
            return Next::Turn(turn);
        }
        while let Some(client) = self.free.pop_front() {
            let (kind, work) = workload.draw(&mut self.all[client]);
            let pause = workload.pause(&mut self.all[client], kind);
            let turn = Turn { client, kind, work };
            if pause.is_zero() {
                return Next::Turn(turn);
            }
            self.thinking.push(Thinker { due: Instant::now() + pause, turn });
        }
        Next::Idle(self.thinking.peek().map(|first| first.due))
    }
}

impl<Work> Ord for Thinker<Work> {
    /// The earlier client is the greater one, since the heap is a max-heap.
    fn cmp(&self, other: &Thinker<Work>) -> Ordering {
        other.due.cmp(&self.due)
    }
}

impl<Work> PartialOrd for Thinker<Work> {
    fn partial_cmp(&self, other: &Thinker<Work>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<Work> PartialEq for Thinker<Work> {
    fn eq(&self, other: &Thinker<Work>) -> bool {
        self.due == other.due
    }
}

impl<Work> Eq for Thinker<Work> {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_is_due_first_is_on_top() {
        let start = Instant::now();
        let thinker = |client| Thinker {
            due: start + Duration::from_secs(client as u64),
            turn: Turn { client, kind: 0, work: () },
        };
        let mut heap: BinaryHeap<_> = [3, 1, 4, 2].map(thinker).into();
        let order: Vec<_> =
            std::iter::from_fn(|| heap.pop()).map(|first| first.turn.client).collect();
        assert_eq!(order, [1, 2, 3, 4]);
    }
}
