//! An agent's clients that have no transaction outstanding, and whose turn it is.
//!
//! Invariants:
//! - C1. Each client is free, or thinks, or has a [`Turn`] that was handed out.
//! - C2. A turn is handed out when its client's pause is over, and not before.
//! - C3. While nobody thinks no clock is read.

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

/// What an agent is to do next.
pub(super) enum Next<Work> {
    /// Submit this.
    Turn(Turn<Work>),
    /// Wait until then, when the first of those who think is due; if nobody thinks, all are out.
    Nobody(Option<Instant>),
}

/// A client that is not due yet, with what it does then.
struct Thinker<Work> {
    due: Instant,
    turn: Turn<Work>,
}

/// The clients of one agent.
pub(super) struct Clients<S: Store, W: Workload<S>> {
    all: Vec<W::Client>,
    /// Those for whom nothing was drawn yet; the first is next.
    free: VecDeque<usize>,
    /// Whoever is due first is on top.
    thinking: BinaryHeap<Thinker<W::Work>>,
}

impl<S: Store, W: Workload<S>> Clients<S, W> {
    /// All of them free.
    pub(super) fn new(all: Vec<W::Client>) -> Clients<S, W> {
        Clients { free: (0..all.len()).collect(), all, thinking: BinaryHeap::new() }
    }

    pub(super) fn get(&mut self, client: usize) -> &mut W::Client {
        &mut self.all[client]
    }

    /// The client has no transaction any more, and is the last of the free ones: each has its turn,
    /// however few it takes to keep the agent busy.
    pub(super) fn freed(&mut self, client: usize) {
        self.free.push_back(client);
    }

    /// Whose turn it is: of those who think the one that was due first, then the free ones, of whom
    /// each begins its pause now if it has one.
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
        Next::Nobody(self.thinking.peek().map(|first| first.due))
    }
}

impl<Work> Ord for Thinker<Work> {
    /// The earlier one is the greater one, as the heap wants it.
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
