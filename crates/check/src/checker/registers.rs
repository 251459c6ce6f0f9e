//! Registers: the known part of the order of their versions.
//!
//! A transaction that read version *u* and wrote version *v* put *v* directly after *u*. Versions
//! therefore form *runs*, and a run is a block: no other version comes between two of its versions.
//! The first run begins with the initial version and comes before all others. Of any two other
//! runs, one comes before the other, which is a choice of two: the last version of the first run,
//! and its readers, come before the head of the second. Real time decides most pairs, and then
//! there is no choice: *n* blind writes have *n²/2* pairs, and few of them overlap.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::history::Transaction;

use super::{
    Evidence,
    choices::{Choice, Open},
    graph::{Edge, EdgeKind, Graph},
    replay::{Facts, Object, Seen, Space},
    report::Report,
    versions::report_lost_update,
};

/// A version: its writer (`None` if initial), its value, and its readers.
struct Version {
    value: Option<u64>,
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// Versions that follow each other directly.
type Run = Vec<Version>;

/// Adds the edges of all registers, and the open choices.
pub(super) fn connect(
    evidence: Evidence<'_>,
    graph: &mut Graph,
    open: &mut Open,
    report: &mut Report,
) {
    let Evidence { facts, transactions, strict } = evidence;
    let mut registers: BTreeMap<Object, Vec<usize>> = BTreeMap::new();
    for (transaction, object) in facts.writes.keys() {
        if object.space == Space::Register && facts.happened[*transaction] {
            registers.entry(*object).or_default().push(*transaction);
        }
    }
    for (object, mut writers) in registers {
        writers.sort_unstable();
        let register = Register { facts, transactions, strict, object, writers };
        let runs = register.runs(report);
        register.connect_runs(&runs, graph);
        register.choices(&runs, open);
    }
}

struct Register<'a> {
    facts: &'a Facts,
    transactions: &'a [Transaction],
    strict: bool,
    object: Object,
    writers: Vec<usize>,
}

impl Register<'_> {
    /// Returns the runs, with the run of the initial version first.
    fn runs(&self, report: &mut Report) -> Vec<Run> {
        let mut readers: HashMap<Option<u64>, Vec<usize>> = HashMap::new();
        let mut following: HashMap<Option<u64>, usize> = HashMap::new();
        let mut heads: HashSet<usize> = self.writers.iter().copied().collect();
        for reading in self.facts.readings.get(&self.object).into_iter().flatten() {
            let (reader, seen) = (reading.transaction, self.last_of(reading.seen));
            readers.entry(seen).or_default().push(reader);
            if !self.facts.writes.contains_key(&(reader, self.object)) {
                continue;
            }
            // If it also read a second version, the edges form a cycle.
            heads.remove(&reader);
            let first = *following.entry(seen).or_insert(reader);
            if first != reader {
                heads.insert(reader);
                let pair = [first, reader].map(|index| self.transactions[index].id);
                report_lost_update(pair, self.object, reading.seen, report);
            }
        }
        let mut heads: Vec<usize> = heads.into_iter().collect();
        heads.sort_unstable();
        let starts = std::iter::once(None).chain(heads.into_iter().map(Some));
        starts.map(|start| self.run(start, &mut readers, &following)).collect()
    }

    /// Returns the last version of the transaction whose earlier version was read.
    fn last_of(&self, seen: Seen) -> Option<u64> {
        let Seen::Version(version) = seen else { return None };
        let Some(writer) = self.facts.writers.get(&(self.object, version)) else {
            return Some(version);
        };
        self.facts.writes[&(writer.transaction, self.object)].last().copied()
    }

    fn run(
        &self,
        start: Option<usize>,
        readers: &mut HashMap<Option<u64>, Vec<usize>>,
        following: &HashMap<Option<u64>, usize>,
    ) -> Run {
        let mut run = Run::new();
        let mut writer = start;
        loop {
            let values = writer.map(|writer| &self.facts.writes[&(writer, self.object)]);
            let value = values.and_then(|values| values.last().copied());
            let readers = readers.remove(&value).unwrap_or_default();
            run.push(Version { value, writer, readers });
            match following.get(&value) {
                // Each transaction is in one run once; transactions that read in a circle form a wr
                // cycle.
                Some(next) if run.iter().all(|version| version.writer != Some(*next)) => {
                    writer = Some(*next);
                }
                _ => return run,
            }
        }
    }

    fn connect_runs(&self, runs: &[Run], graph: &mut Graph) {
        for run in runs {
            for version in run {
                let Some(writer) = version.writer else { continue };
                for &reader in &version.readers {
                    let value = version.value;
                    graph.add(self.edge(EdgeKind::WriteRead, (writer, value), (reader, value)));
                }
            }
            for pair in run.windows(2) {
                self.order(&pair[0], &pair[1]).into_iter().for_each(|edge| graph.add(edge));
            }
        }
        // Before any of the others comes the run of the initial version.
        let Some((initial, others)) = runs.split_first() else { return };
        for other in others {
            self.order_runs(initial, other).into_iter().for_each(|edge| graph.add(edge));
        }
    }

    /// The edges that put `second` after `first` and after the readers of `first`.
    fn order(&self, first: &Version, second: &Version) -> Vec<Edge> {
        let Some(next) = second.writer else { return Vec::new() };
        let to = (next, second.value);
        let write = first.writer.map(|writer| (EdgeKind::WriteWrite, writer));
        let reads = first.readers.iter().map(|&reader| (EdgeKind::ReadWrite, reader));
        let edges = write.into_iter().chain(reads);
        let edges = edges.map(|(kind, from)| self.edge(kind, (from, first.value), to));
        edges.filter(|edge| edge.from != edge.to).collect()
    }

    fn order_runs(&self, first: &Run, second: &Run) -> Vec<Edge> {
        match (first.last(), second.first()) {
            (Some(last), Some(head)) => self.order(last, head),
            _ => Vec::new(),
        }
    }

    fn edge(
        &self,
        kind: EdgeKind,
        (from, first): (usize, Option<u64>),
        (to, second): (usize, Option<u64>),
    ) -> Edge {
        Edge { from, to, kind, object: Some(self.object), first, second }
    }

    /// One choice for each two runs after the first that real time does not order.
    fn choices(&self, runs: &[Run], open: &mut Open) {
        let others = runs.get(1..).unwrap_or_default();
        for (at, one) in others.iter().enumerate() {
            for other in &others[at + 1..] {
                if self.is_in_time(one, other) || self.is_in_time(other, one) {
                    continue;
                }
                let alternatives = vec![self.order_runs(one, other), self.order_runs(other, one)];
                open.add(Choice { alternatives });
            }
        }
    }

    /// Whether real time alone puts `first` before `second`: every edge between them is between
    /// transactions of which one was acknowledged before the other was invoked.
    fn is_in_time(&self, first: &Run, second: &Run) -> bool {
        let (Some(last), Some(head)) = (first.last(), second.first()) else { return true };
        let Some(next) = head.writer else { return true };
        let invoked = self.transactions[next].invoked;
        let before = |&from: &usize| {
            let end = self.transactions[from].acknowledged;
            from == next || end.is_some_and(|end| end < invoked)
        };
        self.strict && last.writer.iter().chain(&last.readers).all(before)
    }
}
