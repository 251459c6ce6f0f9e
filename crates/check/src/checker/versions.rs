//! Lists and rows: the order of versions, as reads of lists and ledgers show it.
//!
//! Of any two reads of a list, one is a prefix of the other, so the longest read gives the order of
//! its versions. Versions that it lacks, of transactions that took effect, come after it in an
//! unknown order: if there are several, they follow the longest read and have no order among
//! themselves.

use std::collections::HashMap;

use crate::history::{History, Transaction};

use super::{
    choices::{Choice, Open},
    graph::{Edge, EdgeKind, Graph},
    replay::{Facts, Object, Reading, Seen, Space},
    report::{Kind, Report},
};

/// The versions of one list or row.
struct Order<'a> {
    facts: &'a Facts,
    object: Object,
    /// Version and writer, first to last.
    chain: Vec<(u64, usize)>,
    place: HashMap<u64, usize>,
    /// Writers after the chain, with their last version, in unknown order.
    tail: Vec<(u64, usize)>,
}

/// Adds the edges of all lists and rows, and the open choices. Lost writes are defined by real
/// time, so they are checked only if a `history` is given.
pub(super) fn connect(
    facts: &Facts,
    transactions: &[Transaction],
    history: Option<&History>,
    graph: &mut Graph,
    open: &mut Open,
    report: &mut Report,
) {
    let mut objects: HashMap<Object, Vec<usize>> = HashMap::new();
    for (transaction, object) in facts.writes.keys() {
        objects.entry(*object).or_default().push(*transaction);
    }
    let mut objects: Vec<_> = objects.into_iter().collect();
    objects.sort_unstable();
    for (object, mut writers) in objects {
        writers.sort_unstable();
        if object.space == Space::Register {
            continue;
        }
        let longest = longest_list(facts, object, transactions, report);
        let Some(order) = Order::new(facts, object, &longest, &writers) else { continue };
        if let Some(history) = history {
            order.report_lost(transactions, history, report);
        }
        order.report_lost_updates(transactions, report);
        order.connect_writers(graph);
        for reading in facts.readings.get(&object).into_iter().flatten() {
            let strict = history.map(|_| transactions);
            if let Some(choice) = order.connect_reader(reading, strict, graph) {
                open.add(choice);
            }
        }
    }
}

/// Returns the longest read of a list, and reports reads that contradict each other or themselves.
fn longest_list(
    facts: &Facts,
    object: Object,
    transactions: &[Transaction],
    report: &mut Report,
) -> Vec<u64> {
    let Some(lists) = facts.lists.get(&object) else { return Vec::new() };
    let Some((longest_reader, longest)) = lists.iter().max_by_key(|(_, list)| list.len()) else {
        return Vec::new();
    };
    let mut sorted = longest.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let id = transactions[*longest_reader].id;
        report.add(Kind::Duplicate, vec![id], || {
            format!("T{id} read {object} as {longest:?}, with {} in it twice", pair[0])
        });
    }
    for (reader, list) in lists.iter().filter(|(_, list)| !longest.starts_with(list)) {
        let (one, other) = (transactions[*reader].id, transactions[*longest_reader].id);
        report.add(Kind::IncompatibleOrder, vec![one, other], || {
            format!("T{one} read {object} as {list:?}, T{other} as {longest:?}")
        });
    }
    longest.clone()
}

impl<'a> Order<'a> {
    /// Returns `None` if a list contains a value that no transaction wrote, or a value twice; that
    /// was already reported.
    fn new(
        facts: &'a Facts,
        object: Object,
        longest: &[u64],
        writers: &[usize],
    ) -> Option<Order<'a>> {
        let writer =
            |&version: &u64| Some((version, facts.writers.get(&(object, version))?.transaction));
        let mut chain: Vec<(u64, usize)> = longest.iter().map(writer).collect::<Option<_>>()?;
        let place_of = |chain: &[(u64, usize)]| -> HashMap<u64, usize> {
            chain.iter().enumerate().map(|(at, (version, _))| (*version, at)).collect()
        };
        let mut place = place_of(&chain);
        if place.len() < chain.len() {
            return None;
        }
        let unseen = |writer: usize| {
            let versions = &facts.writes[&(writer, object)];
            versions.iter().copied().filter(|version| !longest.contains(version))
        };
        let happened = writers.iter().copied().filter(|&writer| facts.happened[writer]);
        let mut tail: Vec<(u64, usize)> =
            happened.filter_map(|writer| Some((unseen(writer).next_back()?, writer))).collect();
        // A single version has no unknown order.
        if let [(_, writer)] = tail[..] {
            chain.extend(unseen(writer).map(|version| (version, writer)));
            place = place_of(&chain);
            tail.clear();
        }
        Some(Order { facts, object, chain, place, tail })
    }

    /// Reports acknowledged versions that a later read of the whole list did not show.
    fn report_lost(&self, transactions: &[Transaction], history: &History, report: &mut Report) {
        let Some(lists) = self.facts.lists.get(&self.object) else { return };
        let mut longest: Vec<(u64, usize, usize)> =
            lists.iter().map(|(r, list)| (transactions[*r].invoked, list.len(), *r)).collect();
        longest.sort_unstable();
        let Some(&(invoked, _, reader)) = longest.last() else { return };
        let unseen = |writer: usize| {
            let versions = &self.facts.writes[&(writer, self.object)];
            let list = |(r, list): &(usize, Vec<u64>)| *r == reader && list.contains(&versions[0]);
            !lists.iter().any(list)
        };
        let mut writers: Vec<usize> =
            self.chain.iter().chain(&self.tail).map(|&(_, writer)| writer).collect();
        writers.dedup();
        for writer in writers.into_iter().filter(|&writer| unseen(writer)) {
            let Some(acknowledged) = transactions[writer].acknowledged else { continue };
            if acknowledged >= invoked {
                continue;
            }
            let crash = history.crashes.iter().any(|time| (acknowledged..invoked).contains(time));
            let kind = if crash { Kind::LostInCrash } else { Kind::LostWrite };
            let (writer, reader) = (transactions[writer].id, transactions[reader].id);
            report.add(kind, vec![writer, reader], || {
                format!(
                    "T{writer} was acknowledged, and what it wrote to {} is not there when \
                     T{reader} reads it later",
                    self.object
                )
            });
        }
    }

    /// Reports transactions that read the same version and both wrote the next one.
    fn report_lost_updates(&self, transactions: &[Transaction], report: &mut Report) {
        let mut updates: HashMap<Seen, usize> = HashMap::new();
        for reading in self.facts.readings.get(&self.object).into_iter().flatten() {
            let writes = self.facts.writes.contains_key(&(reading.transaction, self.object));
            if !writes || reading.seen == Seen::Absent {
                continue;
            }
            let first = *updates.entry(reading.seen).or_insert(reading.transaction);
            if first != reading.transaction {
                let pair = [first, reading.transaction].map(|index| transactions[index].id);
                report_lost_update(pair, self.object, reading.seen, report);
            }
        }
    }

    fn connect_writers(&self, graph: &mut Graph) {
        for pair in self.chain.windows(2) {
            graph.add(self.edge(EdgeKind::WriteWrite, Some(pair[0]), pair[1]));
        }
        for &end in &self.tail {
            if let Some(&last) = self.chain.last() {
                graph.add(self.edge(EdgeKind::WriteWrite, Some(last), end));
            }
        }
    }

    /// An edge between two versions; `from` is `None` for the initial version.
    fn edge(&self, kind: EdgeKind, from: Option<(u64, usize)>, to: (u64, usize)) -> Edge {
        Edge {
            from: from.map_or(to.1, |(_, writer)| writer),
            to: to.1,
            kind,
            object: Some(self.object),
            first: from.map(|(version, _)| version),
            second: Some(to.0),
        }
    }

    /// Adds the edges of a read, or returns the alternatives if it may have seen several versions.
    fn connect_reader(
        &self,
        reading: &Reading,
        strict: Option<&[Transaction]>,
        graph: &mut Graph,
    ) -> Option<Choice> {
        let place = match reading.seen {
            Seen::Initial => None,
            Seen::Absent => {
                let places = self.absences(reading, strict)?;
                let [place] = places[..] else {
                    let edges = places.iter().map(|&place| self.edges_at(reading, place));
                    return Some(Choice { alternatives: edges.collect() });
                };
                place
            }
            Seen::Version(version) => match self.place.get(&version) {
                Some(place) => Some(*place),
                None => {
                    // The version comes after the longest read, in unknown order.
                    let writer = self.facts.writers.get(&(self.object, version))?.transaction;
                    graph.add(self.read_edge(reading, (version, writer)));
                    return None;
                }
            },
        };
        self.edges_at(reading, place).into_iter().for_each(|edge| graph.add(edge));
        None
    }

    fn read_edge(&self, reading: &Reading, (version, writer): (u64, usize)) -> Edge {
        Edge {
            from: writer,
            to: reading.transaction,
            kind: EdgeKind::WriteRead,
            object: Some(self.object),
            first: Some(version),
            second: Some(version),
        }
    }

    /// The edges that follow if a read saw the version at `place` of the chain, or the state before
    /// all of them.
    fn edges_at(&self, reading: &Reading, place: Option<usize>) -> Vec<Edge> {
        let seen = place.map(|place| self.chain[place]);
        let mut edges: Vec<Edge> =
            seen.map(|version| self.read_edge(reading, version)).into_iter().collect();
        let next = self.chain.get(place.map_or(0, |place| place + 1));
        let next = next.map_or(&self.tail[..], std::slice::from_ref);
        let kind = match reading.predicate {
            true => EdgeKind::PredicateReadWrite,
            false => EdgeKind::ReadWrite,
        };
        edges.extend(next.iter().map(|&version| Edge {
            from: reading.transaction,
            first: seen.map(|(version, _)| version),
            ..self.edge(kind, seen, version)
        }));
        edges.retain(|edge| edge.from != edge.to);
        edges
    }

    /// The places in the chain where the row was absent: before the first version, or after a
    /// removal. Returns `None` if the absence gives no information. Real time, where it counts,
    /// leaves few places, often one.
    fn absences(
        &self,
        reading: &Reading,
        strict: Option<&[Transaction]>,
    ) -> Option<Vec<Option<usize>>> {
        if self.tail.iter().any(|&(version, _)| self.removes(version)) {
            return None; // after any of them, and their order is unknown
        }
        // If a transaction inserts the row again after its removal, no other transaction sees it
        // absent.
        let removals = self.chain.iter().enumerate().filter(|&(place, &(version, writer))| {
            let next = self.chain.get(place + 1);
            // Nor did the reader see its own removal: it read before it wrote.
            let own = writer == reading.transaction;
            self.removes(version) && !own && next.is_none_or(|&(_, next)| next != writer)
        });
        let removals = removals.map(|(place, _)| Some(place));
        let all: Vec<Option<usize>> = std::iter::once(None).chain(removals).collect();
        let Some(transactions) = strict else { return Some(all) };
        let timely = |place: &&Option<usize>| self.is_timely(reading, **place, transactions);
        let timely: Vec<Option<usize>> = all.iter().filter(timely).copied().collect();
        // If no place is timely, any of them shows the anomaly.
        Some(if timely.is_empty() { all } else { timely })
    }

    /// Whether real time allows a read to fall between the version at `place` and the next.
    fn is_timely(
        &self,
        reading: &Reading,
        place: Option<usize>,
        transactions: &[Transaction],
    ) -> bool {
        let before = |first: usize, second: usize| {
            let end = transactions[first].acknowledged;
            end.is_some_and(|end| end < transactions[second].invoked)
        };
        let writer = place.map(|place| self.chain[place].1);
        let next = self.chain.get(place.map_or(0, |place| place + 1));
        !writer.is_some_and(|writer| before(reading.transaction, writer))
            && !next.is_some_and(|&(_, next)| before(next, reading.transaction))
    }

    fn removes(&self, version: u64) -> bool {
        self.facts.writers.get(&(self.object, version)).is_some_and(|writer| writer.removal)
    }
}

/// Reports that both of a pair read the same version and wrote the next one.
pub(super) fn report_lost_update(pair: [u64; 2], object: Object, seen: Seen, report: &mut Report) {
    let [one, other] = pair;
    report.add(Kind::LostUpdate, pair.to_vec(), || {
        format!("T{one} and T{other} both read {object} as {seen:?}, and both wrote it")
    });
}
