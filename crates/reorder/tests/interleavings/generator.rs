//! Random transactions.

mod statement;

use std::collections::BTreeSet;

use clearway_reorder::api::Server;
use clearway_testkit::Random;

use super::{
    known,
    machine::Level,
    source,
    transaction::{
        Action, Assigned, COLUMNS, FIRST_OPEN, Guard, Lock, Selected, Statement, TABLES,
        Transaction, Value,
    },
};

/// The most statements of a transaction, and the fewest.
const STATEMENTS: (u64, u64) = (2, 5);

/// The chance, in percent, that a choice falls on what most statements of a transaction use.
const FOCUS: u64 = 65;

/// A part of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// An increment of a hot row.
    Hot,
    /// A lock of the row that most statements use.
    Lock,
    Read,
    /// An exit that depends on what was read last.
    Decide,
    /// A write of what was read last.
    Write,
    Any,
}

struct Generator {
    random: Random,
    level: Level,
    /// The tables, without the first one, whose rows are hot.
    tables: Vec<usize>,
    /// The table, the key and the column that most statements use.
    focus: (usize, i64, usize),
    /// True if most statements choose their rows by another column than the key.
    chooses: bool,
    /// The variables that earlier statements read.
    variables: usize,
}

/// Returns the rows at the begin.
pub(crate) fn rows(seed: u64) -> Vec<(usize, [i64; COLUMNS])> {
    let mut random = Random::stream(seed, 1);
    let mut rows = Vec::new();
    for table in 0..TABLES.len() {
        for key in 1..=2 {
            if table >= FIRST_OPEN && random.chance(20) {
                continue;
            }
            rows.push((table, [key, random.below(3) as i64, random.below(2) as i64]));
        }
    }
    rows
}

/// Returns the transaction of a seed.
pub(crate) fn transaction(seed: u64, level: Level) -> Transaction {
    first_drawn(seed, 0, |random| {
        Generator::new(seed, random, level).transaction(format!("t{seed}"))
    })
}

/// Returns another transaction on the tables of the first one of a seed, or with its statements in
/// another order and with other keys.
pub(crate) fn partner(seed: u64, level: Level) -> Transaction {
    first_drawn(seed, 1, |mut random| {
        let name = format!("p{seed}");
        match random.chance(60) {
            true => shuffled(&transaction(seed, level), name, &mut random),
            false => Generator::new(seed, random, level).transaction(name),
        }
    })
}

/// Returns the first transaction that is not left out.
fn first_drawn(seed: u64, part: u64, draw: impl Fn(Random) -> Transaction) -> Transaction {
    let streams = (4 + part..).step_by(2);
    let mut drawn = streams.map(|stream| draw(Random::stream(seed, stream)));
    drawn.find(|one| !known::is_left_out(one)).expect("there are others")
}

/// Returns the statements of a transaction in another order, with other keys.
fn shuffled(transaction: &Transaction, name: String, random: &mut Random) -> Transaction {
    let mut left = transaction.statements.clone();
    let (mut statements, mut read) = (Vec::new(), BTreeSet::new());
    while !left.is_empty() {
        let uses = |one: &Statement| {
            let guard = one.guard.and_then(|guard| guard.value.variable());
            one.action.uses().into_iter().chain(guard).collect::<BTreeSet<usize>>()
        };
        let ready: Vec<usize> =
            (0..left.len()).filter(|&at| uses(&left[at]).is_subset(&read)).collect();
        let mut next = left.remove(random.pick(&ready));
        if let Action::Read { variable, .. } = next.action {
            read.insert(variable);
        }
        next.number = statements.len();
        statements.push(next);
    }
    let mut changed = statements.clone();
    changed.iter_mut().filter(|_| random.chance(25)).for_each(|one| change_key(&mut one.action));
    // Two statements may have become the same.
    let text = |one: &Statement| source::statement("", one, Server::Postgresql);
    let texts: BTreeSet<String> = changed.iter().map(text).collect();
    let statements = if texts.len() == changed.len() { changed } else { statements };
    Transaction { name, statements, ..transaction.clone() }
}

fn change_key(action: &mut Action) {
    let (Action::Read { condition, .. }
    | Action::Update { condition, .. }
    | Action::Delete { condition, .. }) = action
    else {
        return;
    };
    for (_, value) in condition.iter_mut().filter(|(column, _)| *column == 0) {
        if let Value::Constant(key) = value {
            *key = 3 - *key;
        }
    }
}

impl Generator {
    fn new(seed: u64, random: Random, level: Level) -> Generator {
        let mut shared = Random::stream(seed, 3);
        let mut tables: Vec<usize> = (1..TABLES.len()).collect();
        while tables.len() > 1 + shared.below(2) as usize {
            let at = shared.below(tables.len() as u64) as usize;
            tables.remove(at);
        }
        let column = 1 + shared.below(COLUMNS as u64 - 1) as usize;
        let focus = (shared.pick(&tables), shared.between(1, 2) as i64, column);
        let chooses = shared.chance(25);
        Generator { random, level, tables, focus, chooses, variables: 0 }
    }

    fn transaction(&mut self, name: String) -> Transaction {
        let parts = self.parts();
        let mut statements: Vec<Statement> = Vec::new();
        let mut texts = BTreeSet::new();
        for part in parts {
            // The text of each statement is another one. There are only few on hot rows.
            for _ in 0..20 {
                let variables = self.variables;
                let statement = self.part(part);
                let alone = Statement { guard: None, helper: false, ..statement.clone() };
                if texts.insert(source::statement("", &alone, Server::Postgresql)) {
                    statements.push(Statement { number: statements.len(), ..statement });
                    break;
                }
                self.variables = variables;
            }
        }
        let returned = (0..self.variables).filter(|_| self.random.chance(40)).collect();
        let returns_early = self.random.chance(50);
        Transaction { name, statements, variables: self.variables, returned, returns_early }
    }

    /// Returns the parts of a transaction: mostly a read and a write that depends on it, behind a
    /// hot row.
    fn parts(&mut self) -> Vec<Part> {
        let any = |random: &mut Random| match random.chance(25) {
            true => Part::Hot,
            false => Part::Any,
        };
        if self.random.chance(35) {
            let count = self.random.between(STATEMENTS.0, STATEMENTS.1);
            return (0..count).map(|_| any(&mut self.random)).collect();
        }
        let mut parts = vec![Part::Read, Part::Write];
        if self.random.chance(20) {
            parts.insert(1, Part::Decide);
        }
        if self.random.chance(35) {
            parts.insert(0, Part::Lock);
        }
        let hot = match self.random.chance(70) {
            true => 0,
            false => self.random.below(parts.len() as u64 + 1) as usize,
        };
        parts.insert(hot, Part::Hot);
        while (parts.len() as u64) < STATEMENTS.1 && self.random.chance(40) {
            let at = self.random.below(parts.len() as u64 + 1) as usize;
            parts.insert(at, any(&mut self.random));
        }
        parts
    }

    fn part(&mut self, part: Part) -> Statement {
        let (table, key, column) = self.focus;
        let last = self.variables.checked_sub(1);
        let action = match (part, last) {
            (Part::Hot, _) => return self.hot(),
            (Part::Lock, _) => {
                let mut condition = vec![(0, Value::Constant(key))];
                if self.random.chance(20) {
                    condition.push((self.column(), Value::Constant(0)));
                }
                let lock =
                    Some(if self.random.chance(80) { Lock::Exclusive } else { Lock::Shared });
                let (selected, variable) = (Selected::Column(self.column()), self.new_variable());
                Action::Read { table, selected, condition, lock, variable }
            }
            (Part::Read, _) if self.random.chance(70) => self.plain_read(table),
            (Part::Read, _) => self.locking_read(table),
            (Part::Decide, Some(variable)) => Action::Leave { variable, least: 2 },
            (Part::Write, Some(variable)) if self.random.chance(75) => {
                let value = Value::Read { variable, plus: 1 };
                match self.random.below(100) {
                    0..25 if table >= FIRST_OPEN => {
                        let mut insert = self.insert(table);
                        if let Action::Insert { values, .. } = &mut insert {
                            let at = self.random.below(2) as usize;
                            values[at] = Assigned::Value(value);
                        }
                        insert
                    }
                    _ => {
                        let condition = self.condition(table, true);
                        let assigned = vec![(column, Assigned::Value(value))];
                        Action::Update { table, assigned, condition }
                    }
                }
            }
            (Part::Any | Part::Decide | Part::Write, _) => return self.statement(),
        };
        let percent = if part == Part::Lock { 40 } else { 8 };
        self.guarded(action, percent)
    }

    /// Returns a statement on a hot row that uses nothing that was read.
    fn hot(&mut self) -> Statement {
        let key = Value::Constant(if self.random.chance(80) { 1 } else { 2 });
        let column = 1 + self.random.below(2) as usize;
        let assigned = vec![(column, Assigned::Increment(1))];
        let action = Action::Update { table: 0, assigned, condition: vec![(0, key)] };
        Statement { number: 0, guard: None, helper: false, action }
    }

    fn statement(&mut self) -> Statement {
        let action = self.action();
        self.guarded(action, 10)
    }

    /// Returns a statement that may run on a condition, and in a function of its own.
    fn guarded(&mut self, action: Action, percent: u64) -> Statement {
        let leaves = matches!(action, Action::Leave { .. });
        let mut guard = None;
        if self.random.chance(percent) && !leaves {
            let before = match action {
                Action::Read { variable, .. } => variable,
                _ => self.variables,
            };
            let value = match before > 0 && self.random.chance(60) {
                true => {
                    Value::Read { variable: self.random.below(before as u64) as usize, plus: 0 }
                }
                false => Value::Parameter,
            };
            let above = if value == Value::Parameter { 1 } else { self.random.below(2) as i64 };
            guard = Some(Guard { value, above });
        }
        let constant = action.uses().is_empty() && !uses_parameter(&action);
        let chance = if guard.is_some() { 60 } else { 8 };
        let helper = constant && !leaves && self.random.chance(chance);
        Statement { number: 0, guard, helper, action }
    }
}

/// Returns true if a statement uses the parameter of the function.
fn uses_parameter(action: &Action) -> bool {
    format!("{action:?}").contains("Parameter")
}
