//! A workload similar to TPC-B: each transaction changes an account, a teller and a branch, and
//! adds a line to the history, in four tables. The sums of all four tables stay equal.

use std::ops::Bound;

use clearway_testkit::Random;
use clearway_tree::ReadIntent;

use super::{Answer, Operation, Program, Verb, Workload, Write, number};
use crate::oracles::{Oracle, State, Verdict, Violation};

const ACCOUNTS: &str = "accounts";
const TELLERS: &str = "tellers";
const BRANCHES: &str = "branches";
const HISTORY: &str = "history";
const TELLERS_PER_BRANCH: u64 = 3;

/// See the module.
pub struct Counters {
    branches: u64,
    accounts_per_branch: u64,
    lines: u64,
}

impl Counters {
    /// Draws the number of branches: one, which all transactions contend for, or several.
    pub fn new(random: &mut Random) -> Counters {
        let (branches, accounts_per_branch) = (random.pick(&[1, 2, 6]), random.pick(&[4, 20]));
        Counters { branches, accounts_per_branch, lines: 0 }
    }
}

fn value(sum: i64, padding: usize) -> Vec<u8> {
    let mut value = sum.to_be_bytes().to_vec();
    value.resize(8 + padding, 0);
    value
}

fn sum(state: &State, table: &str) -> i64 {
    let rows = state.range(table, (Bound::Unbounded, Bound::Unbounded));
    rows.filter_map(|(_, row)| row.value.as_deref()).map(number).sum()
}

impl Workload for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn tables(&self) -> Vec<String> {
        [ACCOUNTS, TELLERS, BRANCHES, HISTORY].map(str::to_string).to_vec()
    }

    fn load(&mut self, _: &mut Random) -> Vec<Write> {
        let rows = |table: &'static str, count: u64| {
            let row = move |n: u64| {
                (table.to_string(), n.to_be_bytes().to_vec(), Verb::Put(value(0, 20)))
            };
            (0..count).map(row)
        };
        let branches = self.branches;
        rows(ACCOUNTS, branches * self.accounts_per_branch)
            .chain(rows(TELLERS, branches * TELLERS_PER_BRANCH))
            .chain(rows(BRANCHES, branches))
            .collect()
    }

    fn program(&mut self, random: &mut Random, _: &State) -> Box<dyn Program> {
        let teller = random.below(self.branches * TELLERS_PER_BRANCH);
        let account = random.below(self.branches * self.accounts_per_branch);
        self.lines += 1;
        Box::new(Profile {
            keys: [account, teller, teller / TELLERS_PER_BRANCH, self.lines],
            by: random.between(0, 200) as i64 - 100,
            at: 0,
            was_read: false,
        })
    }

    fn check(&self, state: &State) -> Verdict {
        let sums = [ACCOUNTS, TELLERS, BRANCHES, HISTORY].map(|table| sum(state, table));
        if sums.iter().all(|sum| *sum == sums[0]) {
            return Ok(());
        }
        Err(Violation::new(Oracle::Prefix, format!("the sums differ: {sums:?}")))
    }
}

/// Reads and writes an account, a teller and a branch, and adds a line to the history.
#[derive(Clone)]
struct Profile {
    keys: [u64; 4],
    by: i64,
    at: usize,
    was_read: bool,
}

impl Program for Profile {
    fn next(&mut self, _: &mut Random, answer: &Answer) -> Operation {
        if self.at == 4 {
            return Operation::Commit;
        }
        let table = [ACCOUNTS, TELLERS, BRANCHES, HISTORY][self.at].to_string();
        let key = self.keys[self.at].to_be_bytes().to_vec();
        if self.at < 3 && !std::mem::replace(&mut self.was_read, true) {
            return Operation::Get { table, key, intent: ReadIntent::Update };
        }
        self.was_read = false;
        self.at += 1;
        let verb = match answer {
            Answer::Value(Some(old)) if self.at < 4 => {
                Verb::Update(value(number(old) + self.by, 20))
            }
            _ => Verb::Insert(value(self.by, 30)),
        };
        Operation::Write { table, key, verb }
    }

    fn copy(&self) -> Option<Box<dyn Program>> {
        Some(Box::new(self.clone()))
    }
}
