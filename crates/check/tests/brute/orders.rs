//! The brute-force checker: tries all orders.

use std::collections::BTreeMap;

use clearway_check::{
    Level,
    history::{History, Op, Phase, Transaction, Way},
};

/// A database that runs one transaction after the other.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) lists: BTreeMap<u64, Vec<u64>>,
    pub(crate) registers: BTreeMap<u64, u64>,
    pub(crate) rows: BTreeMap<u64, u64>,
    pub(crate) ledgers: BTreeMap<u64, Vec<u64>>,
}

impl State {
    /// Applies an operation, and returns it with its result.
    pub(crate) fn apply(&mut self, op: &Op) -> Op {
        match op.clone() {
            Op::Append { key, value } => self.lists.entry(key).or_default().push(value),
            Op::Write { key, value } => drop(self.registers.insert(key, value)),
            Op::Insert { key, version } => {
                self.rows.insert(key, version);
                self.ledgers.entry(key).or_default().push(version);
            }
            Op::Delete { key, version } => {
                self.rows.remove(&key);
                self.ledgers.entry(key).or_default().push(version);
            }
            Op::List { key, .. } => {
                let values = Some(self.lists.get(&key).cloned().unwrap_or_default());
                return Op::List { key, values };
            }
            Op::Read { key, .. } => {
                return Op::Read { key, value: Some(self.registers.get(&key).copied()) };
            }
            Op::Ledger { key, .. } => {
                let versions = Some(self.ledgers.get(&key).cloned().unwrap_or_default());
                return Op::Ledger { key, versions };
            }
            Op::Lists { low, high, way, .. } => {
                let found = self.lists.range(low..=high).map(|(k, v)| (*k, v.clone()));
                return Op::Lists { low, high, way, found: Some(turned(found.collect(), way)) };
            }
            Op::Rows { low, high, way, .. } => {
                let found = self.rows.range(low..=high).map(|(k, v)| (*k, *v));
                return Op::Rows { low, high, way, found: Some(turned(found.collect(), way)) };
            }
            Op::Sum { low, high, way, .. } => {
                let versions: Vec<u64> = self.rows.range(low..=high).map(|(_, v)| *v).collect();
                let sum = versions.iter().fold(0u64, |sum, version| sum.wrapping_add(*version));
                return Op::Sum { low, high, way, found: Some((versions.len() as u64, sum)) };
            }
            Op::Cas { .. } => unreachable!("not generated"),
        }
        op.clone()
    }
}

fn turned<T>(mut found: Vec<T>, way: Way) -> Vec<T> {
    if way == Way::Down {
        found.reverse();
    }
    found
}

/// Whether some order explains everything.
pub(crate) fn is_valid(history: &History, level: Level) -> bool {
    let transactions = history.transactions().unwrap();
    let taken: Vec<&Transaction> =
        transactions.iter().filter(|t| t.outcome != Phase::Fail).collect();
    extend(&taken, &mut vec![false; taken.len()], &State::default(), level)
}

/// Whether the remaining transactions can follow after `state`.
fn extend(all: &[&Transaction], done: &mut [bool], state: &State, level: Level) -> bool {
    // Transactions of unknown outcome may be left out.
    if all.iter().zip(&*done).all(|(t, done)| *done || t.outcome == Phase::Info) {
        return true;
    }
    for at in 0..all.len() {
        let next = all[at];
        let before = |other: &Transaction| other.acknowledged.is_some_and(|a| a < next.invoked);
        let too_early = || all.iter().zip(&*done).any(|(other, done)| !*done && before(other));
        if done[at] || (level == Level::StrictSerializable && too_early()) {
            continue;
        }
        let mut after = state.clone();
        let known = next.outcome == Phase::Ok;
        let explained = next.ops.iter().all(|op| after.apply(op) == *op || !known);
        if explained {
            done[at] = true;
            if extend(all, done, &after, level) {
                return true;
            }
            done[at] = false;
        }
    }
    false
}
