//! Random statements.

use super::{
    super::transaction::{
        Action, Assigned, COLUMNS, Condition, Conflict, FIRST_OPEN, Lock, Selected, TABLES, Value,
    },
    FOCUS, Generator,
};

impl Generator {
    pub(super) fn action(&mut self) -> Action {
        let table = self.table();
        let open = table >= FIRST_OPEN;
        match self.random.below(100) {
            0..30 => self.plain_read(table),
            30..46 => self.locking_read(table),
            46..74 => self.update(table),
            74..86 if open => self.insert(table),
            86..93 if open => {
                let condition = self.condition(table, true);
                Action::Delete { table, condition }
            }
            93..100 if self.variables > 0 => {
                let variable = self.random.below(self.variables as u64) as usize;
                Action::Leave { variable, least: self.random.between(1, 3) as i64 }
            }
            _ => self.update(table),
        }
    }

    fn table(&mut self) -> usize {
        match self.random.below(100) {
            0..FOCUS => self.focus.0,
            FOCUS..80 => 0,
            _ => self.random.pick(&self.tables),
        }
    }

    pub(super) fn column(&mut self) -> usize {
        match self.random.chance(FOCUS) {
            true => self.focus.2,
            false => 1 + self.random.below(COLUMNS as u64 - 1) as usize,
        }
    }

    fn key(&mut self) -> Value {
        match self.random.below(100) {
            0..FOCUS => Value::Constant(self.focus.1),
            FOCUS..85 => Value::Constant(self.random.between(1, 2) as i64),
            85..92 => Value::Parameter,
            _ => self.read().unwrap_or(Value::Constant(1)),
        }
    }

    /// Returns a value that was read.
    fn read(&mut self) -> Option<Value> {
        let variable = self.random.below(self.variables as u64) as usize;
        let plus = self.random.below(2) as i64;
        (self.variables > 0).then_some(Value::Read { variable, plus })
    }

    /// Returns a value for a column that is no key.
    fn value(&mut self) -> Value {
        match self.random.below(100) {
            0..55 => self.read().unwrap_or(Value::Parameter),
            55..70 => Value::Parameter,
            _ => Value::Constant(self.random.below(4) as i64),
        }
    }

    /// Returns a condition; one that finds all rows only if that is wanted.
    pub(super) fn condition(&mut self, table: usize, all: bool) -> Condition {
        let column = self.column();
        let other = (column, Value::Constant(self.random.below(2) as i64));
        let percent = if self.chooses { 60 } else { 20 };
        match self.random.below(100) {
            one if one < percent => vec![other],
            95..100 if all && table >= FIRST_OPEN => Vec::new(),
            70..95 => vec![(0, self.key()), other],
            _ => vec![(0, self.key())],
        }
    }

    pub(super) fn new_variable(&mut self) -> usize {
        self.variables += 1;
        self.variables - 1
    }

    pub(super) fn plain_read(&mut self, table: usize) -> Action {
        let condition = self.condition(table, true);
        let selected = match self.random.below(100) {
            0..30 if table >= FIRST_OPEN => Selected::Count,
            30..45 if table >= FIRST_OPEN => Selected::Next,
            _ => Selected::Column(self.column()),
        };
        let condition = if selected == Selected::Next { Vec::new() } else { condition };
        Action::Read { table, selected, condition, lock: None, variable: self.new_variable() }
    }

    pub(super) fn locking_read(&mut self, table: usize) -> Action {
        let condition = self.condition(table, false);
        let lock = Some(if self.random.chance(75) { Lock::Exclusive } else { Lock::Shared });
        let selected = Selected::Column(self.column());
        Action::Read { table, selected, condition, lock, variable: self.new_variable() }
    }

    fn assigned(&mut self, table: usize) -> Assigned {
        match self.random.below(100) {
            0..40 => Assigned::Increment(self.random.between(1, 2) as i64),
            40..48 => self.count(table),
            _ => Assigned::Value(self.value()),
        }
    }

    /// Returns the number of rows of another table: in MySQL, such a query locks what it counts.
    fn count(&mut self, table: usize) -> Assigned {
        let others: Vec<usize> = self.tables.iter().copied().filter(|&one| one != table).collect();
        if others.is_empty() || !self.level.is_postgresql() {
            return Assigned::Increment(1);
        }
        let other = self.random.pick(&others);
        Assigned::Count(other, self.condition(other, true))
    }

    fn update(&mut self, table: usize) -> Action {
        let condition = self.condition(table, true);
        let assigned = vec![(self.column(), self.assigned(table))];
        Action::Update { table, assigned, condition }
    }

    pub(super) fn insert(&mut self, table: usize) -> Action {
        let key = match self.random.below(100) {
            0..30 => Value::Constant(3),
            30..55 => self.read().unwrap_or(Value::Constant(3)),
            _ => self.key(),
        };
        let first = match self.random.chance(15) {
            true => self.count(table),
            false => Assigned::Value(self.value()),
        };
        let first = if matches!(first, Assigned::Increment(_)) {
            Assigned::Value(Value::Constant(1))
        } else {
            first
        };
        let second = Assigned::Value(Value::Constant(self.random.below(2) as i64));
        let conflict = match self.random.below(100) {
            0..50 => Conflict::Fails,
            50..60 => Conflict::Nothing,
            _ => Conflict::Update(self.column(), self.merged()),
        };
        let conflict = if TABLES[table].keyed { conflict } else { Conflict::Fails };
        Action::Insert { table, values: [Assigned::Value(key), first, second], conflict }
    }

    fn merged(&mut self) -> Assigned {
        match self.random.chance(50) {
            true => Assigned::Increment(1),
            false => Assigned::Value(self.value()),
        }
    }
}
