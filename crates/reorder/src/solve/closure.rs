//! The closed set of units with the greatest value: a minimum cut (Picard, 1976).
//!
//! A set is *closed* if it contains each unit that must stand before one of its units. With a value
//! for each unit, positive or negative, the source of a network feeds the units of positive value,
//! those of negative value feed its sink, and an edge of infinite capacity leads from each unit to
//! those that it requires. The units that the source still reaches after a maximum flow (Dinic,
//! 1970) are the smallest closed set of greatest value.

use std::collections::VecDeque;

/// The capacity of an edge that no cut contains.
const UNBOUNDED: i128 = i128::MAX / 4;

struct Edge {
    to: usize,
    room: i128,
}

/// A network: the units, then the source, then the sink. Each edge is followed by its reverse.
struct Network {
    edges: Vec<Edge>,
    /// The edges that leave each node.
    leaving: Vec<Vec<usize>>,
}

impl Network {
    fn new(nodes: usize) -> Network {
        Network { edges: Vec::new(), leaving: vec![Vec::new(); nodes] }
    }

    fn connect(&mut self, from: usize, to: usize, room: i128) {
        self.leaving[from].push(self.edges.len());
        self.edges.push(Edge { to, room });
        self.leaving[to].push(self.edges.len());
        self.edges.push(Edge { to: from, room: 0 });
    }

    /// Returns the distance of each node from `source` over edges with room.
    fn distances(&self, source: usize) -> Vec<Option<usize>> {
        let mut distance = vec![None; self.leaving.len()];
        distance[source] = Some(0);
        let mut open = VecDeque::from([(source, 0)]);
        while let Some((node, far)) = open.pop_front() {
            for &edge in &self.leaving[node] {
                let Edge { to, room } = self.edges[edge];
                if room > 0 && distance[to].is_none() {
                    distance[to] = Some(far + 1);
                    open.push_back((to, far + 1));
                }
            }
        }
        distance
    }

    /// Sends as much as fits, up to `room`, from `node` to `sink` over edges that lead away from
    /// the source. `tried` counts the edges of each node that have no more to give.
    fn push(
        &mut self,
        node: usize,
        sink: usize,
        room: i128,
        distance: &[Option<usize>],
        tried: &mut [usize],
    ) -> i128 {
        if node == sink {
            return room;
        }
        let mut sent = 0;
        while let Some(&edge) = self.leaving[node].get(tried[node]) {
            let to = self.edges[edge].to;
            if self.edges[edge].room > 0 && distance[to] == distance[node].map(|far| far + 1) {
                let wanted = self.edges[edge].room.min(room - sent);
                let passed = self.push(to, sink, wanted, distance, tried);
                self.edges[edge].room -= passed;
                self.edges[edge ^ 1].room += passed;
                sent += passed;
                if sent == room {
                    return sent;
                }
            }
            tried[node] += 1;
        }
        sent
    }
}

/// Returns the smallest closed set of greatest value, as a flag for each unit; empty if no closed
/// set has a positive value. `requires` lists the units that each unit requires.
pub(super) fn best_closed_set(value: &[i128], requires: &[Vec<usize>]) -> Vec<bool> {
    let count = value.len();
    let (source, sink) = (count, count + 1);
    let mut network = Network::new(count + 2);
    for (unit, &value) in value.iter().enumerate() {
        match value {
            1.. => network.connect(source, unit, value),
            ..0 => network.connect(unit, sink, -value),
            0 => {}
        }
        for &required in &requires[unit] {
            network.connect(unit, required, UNBOUNDED);
        }
    }
    loop {
        let distance = network.distances(source);
        if distance[sink].is_none() {
            return distance[..count].iter().map(Option::is_some).collect();
        }
        let mut tried = vec![0; count + 2];
        network.push(source, sink, UNBOUNDED, &distance, &mut tried);
    }
}
