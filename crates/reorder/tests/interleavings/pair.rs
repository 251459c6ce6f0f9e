//! Two transactions, compared with their rewritten versions.

use std::collections::BTreeMap;

use super::{
    explore::{self, Outcome, Trail},
    generator,
    machine::{self, Level, Rows},
    tool::{Rewritten, Tool},
    transaction::{TABLES, Transaction},
};

/// The number of orders that are drawn for each transaction.
const DRAWN: u64 = 3;

/// The number of orders for a pair that was wrong.
const DRAWN_ALONE: u64 = 20;

/// Two instances of one transaction, or two transactions, and the rows at the begin.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) seed: u64,
    pub(crate) rows: Vec<(usize, [i64; 3])>,
    pub(crate) first: Transaction,
    /// The other transaction, if it is another one.
    pub(crate) second: Option<Transaction>,
}

/// An outcome of the rewritten pair that the original pair has not.
pub(crate) struct Wrong {
    pub(crate) parameters: [i64; 2],
    pub(crate) orders: [Vec<usize>; 2],
    /// True if the tool chooses these orders without a profile; others need other costs.
    pub(crate) chosen: bool,
    pub(crate) outcome: Outcome,
    pub(crate) trail: Trail,
    /// The outcomes of the original pair.
    pub(crate) original: Vec<Outcome>,
}

/// The number of checks.
#[derive(Default, Debug)]
pub(crate) struct Counts {
    /// Transactions, and those of them for which there is another order.
    pub(crate) transactions: usize,
    pub(crate) moved: usize,
    /// Pairs of orders that were compared, of one transaction and of two.
    pub(crate) same: usize,
    pub(crate) different: usize,
    /// Outcomes of original pairs.
    pub(crate) outcomes: usize,
}

/// Returns the pairs of a seed.
pub(crate) fn pairs(seed: u64, level: Level) -> Vec<Pair> {
    let rows = generator::rows(seed);
    let (one, other) = (generator::transaction(seed, level), generator::partner(seed, level));
    let pair = |first: &Transaction, second: Option<&Transaction>| {
        let (first, second) = (first.clone(), second.cloned());
        Pair { seed, rows: rows.clone(), first, second }
    };
    let mut pairs = vec![pair(&one, None), pair(&other, None)];
    if are_comparable(&one, &other) {
        pairs.push(pair(&one, Some(&other)));
    }
    pairs
}

/// Returns true if each transaction makes all those changes of the tables of the other that the
/// other makes: the tool considers only the transaction itself, see *Blind writes* in the
/// documentation.
pub(crate) fn are_comparable(one: &Transaction, other: &Transaction) -> bool {
    (0..TABLES.len()).all(|table| {
        let covers = |user: &Transaction, changer: &Transaction| {
            !user.uses_table(table) || changer.changes(table).are_among(&user.changes(table))
        };
        covers(one, other) && covers(other, one)
    })
}

impl Pair {
    pub(crate) fn transactions(&self) -> [&Transaction; 2] {
        [&self.first, self.second.as_ref().unwrap_or(&self.first)]
    }

    /// Returns the parameters of the two instances: several, if they decide what runs.
    fn parameters(&self) -> &[[i64; 2]] {
        match self.transactions().iter().any(|one| one.branches()) {
            true => &[[1, 2], [2, 1], [1, 1], [2, 2]],
            false => &[[1, 2]],
        }
    }

    /// Compares a pair alone.
    pub(crate) fn check_alone(&self, tool: &Tool) -> Result<Option<Wrong>, String> {
        let all: Vec<Transaction> =
            std::iter::once(&self.first).chain(&self.second).cloned().collect();
        let rewritten = tool.rewrite(&all, DRAWN_ALONE)?;
        let last = rewritten.last().expect("one for each transaction");
        Ok(self.check([&rewritten[0], last], tool.level, &mut Counts::default()))
    }

    fn check(
        &self,
        rewritten: [&Rewritten; 2],
        level: Level,
        counts: &mut Counts,
    ) -> Option<Wrong> {
        let rows = machine::initial(&self.rows);
        let orders = self.orders(rewritten);
        if orders.is_empty() {
            return None;
        }
        let each = self.parameters().iter();
        each.filter_map(|&parameters| {
            let original = explore::outcomes(&rows, self.transactions(), parameters, level);
            counts.outcomes += original.len();
            let original: Vec<Outcome> = original.into_keys().collect();
            let found = orders.iter().filter_map(|orders| {
                *if self.second.is_some() { &mut counts.different } else { &mut counts.same } += 1;
                let found = self.run_in(&rows, orders, parameters, level);
                let (outcome, trail) =
                    found.into_iter().find(|(one, _)| !original.contains(one))?;
                let chosen = (0..2).all(|at| orders[at] == rewritten[at].chosen);
                let (orders, original) = (orders.clone(), original.clone());
                Some(Wrong { parameters, orders, chosen, outcome, trail, original })
            });
            found.min_by_key(|one| !one.chosen)
        })
        .min_by_key(|one| !one.chosen)
    }

    /// Returns the orders to compare: both instances of one transaction have the same one.
    fn orders(&self, rewritten: [&Rewritten; 2]) -> Vec<[Vec<usize>; 2]> {
        let [one, other] = rewritten;
        let Some(second) = &self.second else {
            return one.orders.iter().map(|order| [order.clone(), order.clone()]).collect();
        };
        let source = |transaction: &Transaction| (0..transaction.statements.len()).collect();
        let (first, second): (Vec<usize>, Vec<usize>) = (source(&self.first), source(second));
        let firsts = || one.orders.iter().chain([&first]);
        let mut all = Vec::new();
        for order in other.orders.iter().chain([&second]) {
            all.extend(firsts().map(|first| [first.clone(), order.clone()]));
        }
        all.pop();
        all
    }

    fn run_in(
        &self,
        rows: &Rows,
        orders: &[Vec<usize>; 2],
        parameters: [i64; 2],
        level: Level,
    ) -> BTreeMap<Outcome, Trail> {
        let [one, other] = self.transactions();
        let (one, other) = (one.reordered(&orders[0]), other.reordered(&orders[1]));
        explore::outcomes(rows, [&one, &other], parameters, level)
    }
}

/// Compares all pairs of some seeds. Returns those with a wrong outcome.
pub(crate) fn check(
    tool: &Tool,
    seeds: impl Iterator<Item = u64>,
    counts: &mut Counts,
) -> Result<Vec<Pair>, String> {
    let all: Vec<Vec<Pair>> = seeds.map(|seed| pairs(seed, tool.level)).collect();
    let of_seed = |pairs: &Vec<Pair>| [pairs[0].first.clone(), pairs[1].first.clone()];
    let transactions: Vec<Transaction> = all.iter().flat_map(of_seed).collect();
    let rewritten = tool.rewrite(&transactions, DRAWN)?;
    counts.transactions += rewritten.len();
    counts.moved += rewritten.iter().filter(|one| !one.orders.is_empty()).count();
    let mut wrong = Vec::new();
    for (pairs, rewritten) in all.into_iter().zip(rewritten.chunks(2)) {
        for (at, pair) in pairs.into_iter().enumerate() {
            let [one, other] = [rewritten.first(), rewritten.last()].map(Option::unwrap);
            let both = [[one, one], [other, other], [one, other]][at];
            if pair.check(both, tool.level, counts).is_some() {
                wrong.push(pair);
            }
        }
    }
    Ok(wrong)
}
