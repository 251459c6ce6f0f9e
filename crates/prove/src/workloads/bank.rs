//! Transfers between accounts: the sum of all balances never changes, and every reader sees it.

use std::ops::Bound;

use clearway_testkit::Random;
use clearway_tree::{Direction, ReadIntent};

use super::{Answer, Operation, Program, Verb, Workload, Write, number};
use crate::oracles::{Oracle, State, Verdict, Violation};

const TABLE: &str = "accounts";
const BALANCE: i64 = 1000;

/// See the module.
pub struct Bank {
    accounts: u64,
    padding: usize,
}

impl Bank {
    /// Draws the number of accounts: a few, which many transactions contend for, or many.
    pub fn new(random: &mut Random) -> Bank {
        Bank { accounts: random.pick(&[3, 10, 60]), padding: random.pick(&[0, 30, 100]) }
    }

    fn value(&self, balance: i64) -> Vec<u8> {
        value(balance, self.padding)
    }
}

fn key(account: u64) -> Vec<u8> {
    format!("account {account:04}").into_bytes()
}

fn value(balance: i64, padding: usize) -> Vec<u8> {
    let mut value = balance.to_be_bytes().to_vec();
    value.resize(8 + padding, balance as u8);
    value
}

impl Workload for Bank {
    fn name(&self) -> &'static str {
        "bank"
    }

    fn tables(&self) -> Vec<String> {
        vec![TABLE.into()]
    }

    fn load(&mut self, _: &mut Random) -> Vec<Write> {
        let row = |account| (TABLE.to_string(), key(account), Verb::Put(self.value(BALANCE)));
        (0..self.accounts).map(row).collect()
    }

    fn program(&mut self, random: &mut Random, _: &State) -> Box<dyn Program> {
        if random.one_in(4) {
            return Box::new(Audit::default());
        }
        let from = random.below(self.accounts);
        let to = (from + 1 + random.below(self.accounts - 1)) % self.accounts;
        let by = random.between(1, 50) as i64;
        let (padding, accounts) = (self.padding, [from, to]);
        Box::new(Transfer { accounts, by, padding, step: 0, balances: [0; 2] })
    }

    fn check(&self, state: &State) -> Verdict {
        let balances = state.range(TABLE, (Bound::Unbounded, Bound::Unbounded));
        let sum: i64 = balances.filter_map(|(_, row)| row.value.as_deref()).map(number).sum();
        if sum == BALANCE * self.accounts as i64 {
            return Ok(());
        }
        Err(Violation::new(Oracle::Prefix, format!("all accounts together have {sum}")))
    }
}

#[derive(Clone)]
struct Transfer {
    accounts: [u64; 2],
    by: i64,
    padding: usize,
    step: usize,
    balances: [i64; 2],
}

impl Program for Transfer {
    fn next(&mut self, random: &mut Random, answer: &Answer) -> Operation {
        if let (1..=2, Answer::Value(Some(value))) = (self.step, answer) {
            self.balances[self.step - 1] = number(value);
        }
        self.step += 1;
        let which = (self.step - 1) % 2;
        let (table, key) = (TABLE.to_string(), key(self.accounts[which]));
        match self.step {
            1 | 2 => {
                let intent =
                    random.pick(&[ReadIntent::Update, ReadIntent::Update, ReadIntent::Read]);
                Operation::Get { table, key, intent }
            }
            3 | 4 => {
                let by = if which == 0 { -self.by } else { self.by };
                let verb = Verb::Update(value(self.balances[which] + by, self.padding));
                Operation::Write { table, key, verb }
            }
            _ if random.one_in(10) => Operation::Rollback,
            _ => Operation::Commit,
        }
    }

    fn copy(&self) -> Option<Box<dyn Program>> {
        Some(Box::new(self.clone()))
    }
}

/// Reads all accounts.
#[derive(Default)]
struct Audit {
    is_done: bool,
}

impl Program for Audit {
    fn next(&mut self, random: &mut Random, _: &Answer) -> Operation {
        if std::mem::replace(&mut self.is_done, true) {
            return Operation::Commit;
        }
        Operation::Scan {
            table: TABLE.into(),
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: random.pick(&[Direction::Ascending, Direction::Descending]),
            intent: ReadIntent::Read,
            limit: usize::MAX,
        }
    }
}
