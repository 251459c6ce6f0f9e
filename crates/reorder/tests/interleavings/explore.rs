//! All interleavings of two transactions, and their outcomes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    machine::{Level, Machine, Rows, Status, Step},
    transaction::{COLUMNS, Transaction},
};

/// The tables at the end, and what each transaction has returned; `None` if it has rolled back.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<(usize, [i64; COLUMNS])>,
    pub(crate) returned: [Option<Vec<i64>>; 2],
}

/// The session that runs a step, and what the step has done.
pub(crate) type Trail = Vec<(usize, Step)>;

struct Explorer<'t> {
    transactions: [&'t Transaction; 2],
    level: Level,
    /// The variables that count as returned.
    returned: [BTreeSet<usize>; 2],
    seen: HashSet<Machine>,
    outcomes: BTreeMap<Outcome, Trail>,
    trail: Trail,
}

/// Returns the outcomes of all interleavings that no server ends for a deadlock or a serialization
/// failure, each with one of its interleavings.
pub(crate) fn outcomes(
    rows: &Rows,
    transactions: [&Transaction; 2],
    parameters: [i64; 2],
    level: Level,
) -> BTreeMap<Outcome, Trail> {
    let machine = Machine::new(rows.clone(), transactions, parameters);
    let mut explorer = Explorer {
        transactions,
        level,
        returned: transactions.map(compared),
        seen: HashSet::new(),
        outcomes: BTreeMap::new(),
        trail: Vec::new(),
    };
    explorer.explore(&machine);
    explorer.outcomes
}

/// Returns the returned variables that the documentation promises: those on which something
/// depends.
fn compared(transaction: &Transaction) -> BTreeSet<usize> {
    transaction.returned.intersection(&transaction.influential()).copied().collect()
}

impl Explorer<'_> {
    fn explore(&mut self, machine: &Machine) {
        if !self.seen.insert(machine.clone()) {
            return;
        }
        let mut runs = false;
        for me in 0..2 {
            if machine.sessions[me].status != Status::Running {
                continue;
            }
            runs = true;
            let mut next = machine.clone();
            let step = next.step(me, self.transactions[me], self.level);
            if step == Step::Dropped {
                continue;
            }
            self.trail.push((me, step));
            self.explore(&next);
            self.trail.pop();
        }
        let ended = |status: Status| matches!(status, Status::Committed | Status::RolledBack);
        if !runs && machine.sessions.iter().all(|one| ended(one.status)) {
            let outcome = self.outcome(machine);
            self.outcomes.entry(outcome).or_insert_with(|| self.trail.clone());
        }
    }

    fn outcome(&self, machine: &Machine) -> Outcome {
        let rows = machine.committed.values().map(|row| (row.table, row.values));
        let mut rows: Vec<(usize, [i64; COLUMNS])> = rows.collect();
        rows.sort_unstable();
        let returned = [0, 1].map(|me| {
            let session = &machine.sessions[me];
            let values = self.returned[me].iter().map(|&one| session.variables[one]);
            (session.status == Status::Committed).then(|| values.collect())
        });
        Outcome { rows, returned }
    }
}
