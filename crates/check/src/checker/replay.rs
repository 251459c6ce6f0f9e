//! The writes of each transaction, and its reads of other transactions' writes.

use std::collections::{BTreeSet, HashMap};

use crate::{
    format::{FormatError, Problem},
    history::{Op, Phase, Transaction, Way},
};

use super::{
    is_acknowledged,
    report::{Kind, Report},
    sums::{self, Sum, Total},
};

/// The key space of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Space {
    List,
    Register,
    Row,
}

/// A key with its versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Object {
    pub(super) space: Space,
    pub(super) key: u64,
}

/// The writer of a version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    pub(super) transaction: usize,
    /// Whether its transaction wrote no later version of the same object.
    pub(super) last: bool,
    /// Whether it removed a row.
    pub(super) removal: bool,
}

/// The version of an object that a read saw.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Seen {
    /// The initial version: nothing was written yet.
    Initial,
    /// This version.
    Version(u64),
    /// No row: not inserted yet, or removed.
    Absent,
}

/// A read of another transaction's work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reading {
    pub(super) transaction: usize,
    pub(super) seen: Seen,
    /// Whether a range was read.
    pub(super) predicate: bool,
}

/// All facts that the transactions give.
#[derive(Default)]
pub(super) struct Facts {
    /// For each transaction, true if it took effect: it was acknowledged, or another transaction
    /// saw its writes.
    pub(super) happened: Vec<bool>,
    pub(super) writers: HashMap<(Object, u64), Writer>,
    /// The versions that each transaction wrote, in its order.
    pub(super) writes: HashMap<(usize, Object), Vec<u64>>,
    pub(super) readings: HashMap<Object, Vec<Reading>>,
    /// Whole lists and ledgers as they were read, the reader's own appends included.
    pub(super) lists: HashMap<Object, Vec<(usize, Vec<u64>)>>,
    /// Keys that are written in the history, for range reads.
    keys: HashMap<Space, BTreeSet<u64>>,
}

/// Replays all transactions. Real time counts if `strict`.
pub(super) fn replay(
    transactions: &[Transaction],
    strict: bool,
    report: &mut Report,
) -> Result<Facts, FormatError> {
    let mut facts = Facts { happened: vec![false; transactions.len()], ..Facts::default() };
    for (index, transaction) in transactions.iter().enumerate() {
        facts.note_writes(index, transaction)?;
        facts.happened[index] = is_acknowledged(transaction);
    }
    let mut sums = Vec::new();
    for (index, transaction) in transactions.iter().enumerate() {
        if is_acknowledged(transaction) {
            let (facts, sums, own) = (&mut facts, &mut sums, HashMap::new());
            Replay { facts, sums, index, own, transaction, report }.run();
        }
    }
    sums::resolve(&mut facts, &sums, transactions, strict, report);
    facts.drop_misses(transactions);
    facts.judge_readings(transactions, report);
    facts.note_hits(transactions);
    Ok(facts)
}

/// The object and version that an operation writes.
fn written(op: &Op) -> Option<(Object, u64)> {
    let (space, key, version) = match *op {
        Op::Append { key, value } => (Space::List, key, value),
        Op::Write { key, value } | Op::Cas { key, value, .. } => (Space::Register, key, value),
        Op::Insert { key, version } | Op::Delete { key, version } => (Space::Row, key, version),
        _ => return None,
    };
    Some((Object { space, key }, version))
}

impl Facts {
    fn note_writes(&mut self, index: usize, transaction: &Transaction) -> Result<(), FormatError> {
        for op in &transaction.ops {
            let Some((object, version)) = written(op) else { continue };
            let removal = matches!(op, Op::Delete { .. });
            let writer = Writer { transaction: index, last: true, removal };
            if self.writers.insert((object, version), writer).is_some() {
                let problem = Problem::ValueUsedTwice(version);
                return Err(FormatError { line: 0, problem });
            }
            let earlier = self.writes.entry((index, object)).or_default();
            if let Some(earlier) = earlier.last() {
                self.writers.entry((object, *earlier)).and_modify(|writer| writer.last = false);
            }
            earlier.push(version);
            self.keys.entry(object.space).or_default().insert(object.key);
        }
        Ok(())
    }

    /// A compare-and-set of unknown outcome counts as a miss unless some transaction saw its value.
    fn drop_misses(&mut self, transactions: &[Transaction]) {
        for (index, transaction) in transactions.iter().enumerate() {
            for op in &transaction.ops {
                let Op::Cas { key, value, .. } = *op else { continue };
                let object = Object { space: Space::Register, key };
                let readings = self.readings.get(&object).into_iter().flatten();
                let mut seen = readings.map(|reading| reading.seen);
                if seen.any(|seen| seen == Seen::Version(value)) {
                    continue;
                }
                let Some(writes) = self.writes.get_mut(&(index, object)) else { continue };
                writes.retain(|version| *version != value);
                match writes.last().copied() {
                    Some(last) => {
                        let writer = self.writers.entry((object, last));
                        writer.and_modify(|writer| writer.last = true);
                    }
                    None => drop(self.writes.remove(&(index, object))),
                }
            }
        }
    }

    /// Reports reads of values that must not be read, and marks transactions that took effect
    /// because their writes were seen.
    fn judge_readings(&mut self, transactions: &[Transaction], report: &mut Report) {
        let mut seen: Vec<(Object, u64, usize)> = Vec::new();
        for (object, readings) in &self.readings {
            for reading in readings {
                if let Seen::Version(version) = reading.seen {
                    seen.push((*object, version, reading.transaction));
                    self.judge_intermediate(*object, version, reading, transactions, report);
                }
            }
        }
        for (object, lists) in &self.lists {
            for (reader, list) in lists {
                seen.extend(list.iter().map(|&version| (*object, version, *reader)));
            }
        }
        seen.sort_unstable();
        seen.dedup_by_key(|&mut (object, version, _)| (object, version));
        for (object, version, reader) in seen {
            self.judge_version(object, version, reader, transactions, report);
        }
    }

    fn judge_version(
        &mut self,
        object: Object,
        version: u64,
        reader: usize,
        transactions: &[Transaction],
        report: &mut Report,
    ) {
        let reader = transactions[reader].id;
        let Some(writer) = self.writers.get(&(object, version)) else {
            report.add(Kind::Garbage, vec![reader], || {
                format!("T{reader} read {version} of {object}, which no transaction wrote")
            });
            return;
        };
        self.happened[writer.transaction] = true;
        let source = &transactions[writer.transaction];
        if source.outcome == Phase::Fail {
            report.add(Kind::AbortedRead, vec![source.id, reader], || {
                format!(
                    "T{reader} read {version} of {object}, written by T{}, which was rolled back",
                    source.id
                )
            });
        }
    }

    fn judge_intermediate(
        &self,
        object: Object,
        version: u64,
        reading: &Reading,
        transactions: &[Transaction],
        report: &mut Report,
    ) {
        let Some(writer) = self.writers.get(&(object, version)) else { return };
        if !writer.last && writer.transaction != reading.transaction {
            let reader = transactions[reading.transaction].id;
            let writer = transactions[writer.transaction].id;
            report.add(Kind::IntermediateRead, vec![writer, reader], || {
                format!(
                    "T{reader} read {version} of {object}, which T{writer} went on to replace \
                     within its transaction"
                )
            });
        }
    }

    /// Records the read of each compare-and-set of unknown outcome that did not miss: it read what
    /// it expected.
    fn note_hits(&mut self, transactions: &[Transaction]) {
        for (index, transaction) in transactions.iter().enumerate() {
            for op in &transaction.ops {
                let Op::Cas { key, expected, value } = *op else { continue };
                let object = Object { space: Space::Register, key };
                let first = self.writes.get(&(index, object)).is_some_and(|all| all[0] == value);
                if self.happened[index] && first {
                    let seen = expected.map_or(Seen::Initial, Seen::Version);
                    let reading = Reading { transaction: index, seen, predicate: false };
                    self.readings.entry(object).or_default().push(reading);
                }
            }
        }
    }
}

/// One acknowledged transaction, operation by operation.
struct Replay<'a, 'h> {
    facts: &'a mut Facts,
    sums: &'a mut Vec<Sum<'h>>,
    index: usize,
    transaction: &'h Transaction,
    /// Its writes so far: versions of each object, and a flag that is set if the last one removed a
    /// row.
    own: HashMap<Object, (Vec<u64>, bool)>,
    report: &'a mut Report,
}

impl<'h> Replay<'_, 'h> {
    fn run(mut self) {
        let transaction = self.transaction;
        for op in &transaction.ops {
            if let Some((object, version)) = written(op) {
                let own = self.own.entry(object).or_default();
                own.0.push(version);
                own.1 = matches!(op, Op::Delete { .. });
            } else {
                self.read(op);
            }
        }
    }

    fn read(&mut self, op: &'h Op) {
        let object = |space, key| Object { space, key };
        match op {
            Op::List { key, values: Some(values) } => {
                self.read_list(object(Space::List, *key), values, false);
            }
            Op::Ledger { key, versions: Some(versions) } => {
                self.read_list(object(Space::Row, *key), versions, false);
            }
            Op::Read { key, value: Some(value) } => {
                let seen = value.map_or(Seen::Initial, Seen::Version);
                self.read_version(object(Space::Register, *key), seen, false);
            }
            Op::Lists { low, high, way, found: Some(found) } => {
                let keys: Vec<u64> = found.iter().map(|(key, _)| *key).collect();
                self.check_range(*low, *high, *way, &keys, op);
                for (key, values) in found {
                    self.read_list(object(Space::List, *key), values, true);
                }
                for key in self.missed(Space::List, *low, *high, &keys) {
                    self.read_list(object(Space::List, key), &[], true);
                }
            }
            Op::Rows { low, high, way, found: Some(found) } => {
                let keys: Vec<u64> = found.iter().map(|(key, _)| *key).collect();
                self.check_range(*low, *high, *way, &keys, op);
                let predicate = low != high;
                for (key, version) in found {
                    let seen = Seen::Version(*version);
                    self.read_version(object(Space::Row, *key), seen, predicate);
                }
                for key in self.missed(Space::Row, *low, *high, &keys) {
                    self.read_version(object(Space::Row, key), Seen::Absent, predicate);
                }
            }
            Op::Sum { low, high, found: Some((rows, sum)), .. } if low <= high => {
                let own = self.own.iter().filter(|(object, _)| {
                    object.space == Space::Row && (*low..=*high).contains(&object.key)
                });
                let left = |(versions, removed): &(Vec<u64>, bool)| {
                    versions.last().copied().filter(|_| !removed)
                };
                self.sums.push(Sum {
                    transaction: self.index,
                    op,
                    low: *low,
                    high: *high,
                    own: own.map(|(object, own)| (object.key, left(own))).collect(),
                    total: Total { rows: *rows, sum: *sum },
                });
            }
            _ => {}
        }
    }

    /// Returns the keys of a range that some transaction writes and that a read of the range did
    /// not return.
    fn missed(&self, space: Space, low: u64, high: u64, found: &[u64]) -> Vec<u64> {
        let found: BTreeSet<u64> = found.iter().copied().collect();
        let keys = self.facts.keys.get(&space).filter(|_| low <= high);
        let within = keys.into_iter().flat_map(|keys| keys.range(low..=high));
        within.copied().filter(|key| !found.contains(key)).collect()
    }

    fn check_range(&mut self, low: u64, high: u64, way: Way, keys: &[u64], op: &Op) {
        let ordered = keys.windows(2).all(|pair| match way {
            Way::Up => pair[0] < pair[1],
            Way::Down => pair[0] > pair[1],
        });
        if !ordered || keys.iter().any(|key| !(low..=high).contains(key)) {
            self.internal(format!("a range read out of order or out of its range: {op:?}"));
        }
    }

    fn read_list(&mut self, object: Object, values: &[u64], predicate: bool) {
        self.facts.lists.entry(object).or_default().push((self.index, values.to_vec()));
        let own = self.own.get(&object).map_or(&[][..], |(own, _)| own);
        let Some(others) = values.strip_suffix(own) else {
            let text = format!("read {object} as {values:?} after its own appends {own:?}");
            return self.internal(text);
        };
        let seen = others.last().map_or(Seen::Initial, |&version| Seen::Version(version));
        self.note(object, seen, predicate);
    }

    fn read_version(&mut self, object: Object, seen: Seen, predicate: bool) {
        let Some((own, removed)) = self.own.get(&object) else {
            if let Seen::Version(version) = seen
                && self.facts.writers.get(&(object, version)).is_some_and(|writer| writer.removal)
            {
                return self.internal(format!("read {version} of {object}, a removal"));
            }
            return self.note(object, seen, predicate);
        };
        let last = own.last().copied().filter(|_| !removed);
        let expected = last.map_or(Seen::Absent, Seen::Version);
        if seen != expected {
            self.internal(format!("read {seen:?} of {object}, having left it {expected:?}"));
        }
    }

    fn note(&mut self, object: Object, seen: Seen, predicate: bool) {
        if let Seen::Version(version) = seen
            && let Some(writer) = self.facts.writers.get(&(object, version))
            && writer.transaction == self.index
        {
            return self.internal(format!("read {version} of {object} before writing it"));
        }
        let reading = Reading { transaction: self.index, seen, predicate };
        self.facts.readings.entry(object).or_default().push(reading);
    }

    fn internal(&mut self, text: String) {
        let id = self.transaction.id;
        self.report.add(Kind::Internal, vec![id], || format!("T{id} {text}"));
    }
}
