//! Locks of rows and gaps, and inserts.

use super::{
    super::{
        known,
        transaction::{Assigned, COLUMNS, Condition, Conflict, Lock, TABLES},
    },
    Level, Scene, Session, Stop,
    rows::{self, Row, RowId},
};

/// The first identity of a row that is inserted, for each session and statement.
const INSERTED: RowId = 100;

/// The purpose of the locks of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Update,
    Delete,
}

impl Session {
    /// Returns true if the lock of another session on a row refuses one of this strength.
    fn refuses(&self, id: RowId, lock: Lock) -> bool {
        let held = self.locks.get(&id);
        held.is_some_and(|held| *held == Lock::Exclusive || lock == Lock::Exclusive)
    }

    fn lock(&mut self, id: RowId, lock: Lock) {
        let held = self.locks.entry(id).or_insert(lock);
        *held = lock.max(*held);
    }
}

impl Scene<'_> {
    fn other(&self) -> &Session {
        &self.machine.sessions[1 - self.me]
    }

    fn me(&self) -> &Session {
        &self.machine.sessions[self.me]
    }

    /// Returns the newest version of a row that this session may see.
    fn newest(&self, id: RowId) -> Option<Row> {
        match self.me().own.get(&id) {
            Some(row) => row.clone(),
            None => self.machine.committed.get(&id).cloned(),
        }
    }

    /// Locks the rows that a condition finds, and returns them.
    pub(super) fn locked(
        &mut self,
        table: usize,
        condition: &Condition,
        lock: Lock,
        purpose: Purpose,
    ) -> Result<Vec<(RowId, Row)>, Stop> {
        match self.level.is_postgresql() {
            true => self.locked_by_snapshot(table, condition, lock),
            false => self.locked_newest(table, condition, lock, purpose),
        }
    }

    fn locked_by_snapshot(
        &mut self,
        table: usize,
        condition: &Condition,
        lock: Lock,
    ) -> Result<Vec<(RowId, Row)>, Stop> {
        let seen = rows::with_own(&self.seen, &self.me().own);
        let mut found = Vec::new();
        for (id, row) in seen {
            if !self.me().finds(table, condition, &row) {
                continue;
            }
            if self.other().refuses(id, lock) {
                return Err(Stop::Wait);
            }
            let newest = self.newest(id);
            let changed = newest.as_ref().is_none_or(|newest| newest.version != row.version);
            if changed && self.level == Level::PostgresqlRepeatableRead {
                return Err(Stop::Retry);
            }
            let Some(newest) = newest else { continue };
            self.session().lock(id, lock);
            if self.me().finds(table, condition, &newest) {
                found.push((id, newest));
            }
        }
        Ok(found)
    }

    fn locked_newest(
        &mut self,
        table: usize,
        condition: &Condition,
        lock: Lock,
        purpose: Purpose,
    ) -> Result<Vec<(RowId, Row)>, Stop> {
        let repeatable = self.level == Level::MysqlRepeatableRead;
        let key = condition.iter().find(|(column, _)| TABLES[table].keyed && *column == 0);
        let key = key.map(|(_, value)| self.me().value(value));
        let (mut found, mut met) = (Vec::new(), false);
        for id in self.all_rows() {
            let own_or_committed = self.newest(id);
            let of_other = self.other().own.get(&id).cloned().flatten();
            let any = own_or_committed.as_ref().or(of_other.as_ref());
            let is_scanned = any.is_some_and(|row| {
                row.table == table && key.is_none_or(|key| row.values[0] == key)
            });
            if !is_scanned {
                continue;
            }
            let finds = |row: &Row| self.me().finds(table, condition, row);
            let is_found = own_or_committed.as_ref().is_some_and(finds);
            let skips = !repeatable && purpose == Purpose::Update && key.is_none() && !is_found;
            if self.other().refuses(id, lock) && !skips {
                return Err(Stop::Wait);
            }
            met |= own_or_committed.is_some();
            if repeatable || is_found || key.is_some() && purpose == Purpose::Read {
                self.session().lock(id, lock);
            }
            found.extend(own_or_committed.filter(|_| is_found).map(|row| (id, row)));
        }
        if repeatable && (key.is_none() || !met) {
            self.session().gaps.push(table);
            self.session().gaps.sort_unstable();
            self.session().gaps.dedup();
        }
        Ok(found)
    }

    /// Returns the rows that are committed or that a session has inserted.
    fn all_rows(&self) -> Vec<RowId> {
        let inserted = self.machine.sessions.iter().flat_map(|one| one.own.keys());
        let mut all: Vec<RowId> = self.machine.committed.keys().chain(inserted).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn insert(
        &mut self,
        table: usize,
        values: &[Assigned; COLUMNS],
        conflict: &Conflict,
    ) -> Result<(), Stop> {
        let values = [0, 1, 2].map(|column| self.assigned(&values[column], 0));
        if TABLES[table].keyed
            && let Some((id, row)) = self.holder(table, values[0])?
        {
            return self.handle(id, row, conflict);
        }
        if self.other().gaps.contains(&table) {
            return Err(Stop::Wait);
        }
        let id = INSERTED * (self.me + 1) + self.me().own.len();
        let row = Row { table, values, version: 0 };
        self.session().own.insert(id, Some(row));
        self.session().lock(id, Lock::Exclusive);
        Ok(())
    }

    /// Returns the row that has a key. Waits if that depends on the other transaction.
    fn holder(&self, table: usize, key: i64) -> Result<Option<(RowId, Row)>, Stop> {
        let has_key = |row: &Row| row.table == table && row.values[0] == key;
        for id in self.all_rows() {
            let newest = self.newest(id).filter(has_key);
            match self.other().own.get(&id) {
                Some(Some(row)) if has_key(row) && newest.is_none() => return Err(Stop::Wait),
                Some(None) if newest.is_some() => return Err(Stop::Wait),
                _ => {}
            }
            if let Some(row) = newest {
                return Ok(Some((id, row)));
            }
        }
        Ok(None)
    }

    /// Returns true if the violation of a key by a row counts as a serialization failure.
    fn is_retried(&self, id: RowId) -> bool {
        let is_seen = self.seen.contains_key(&id) || self.me().own.contains_key(&id);
        self.level == Level::PostgresqlRepeatableRead && known::VIOLATIONS_ARE_RETRIED && !is_seen
    }

    /// Handles a row with the key of one that is inserted.
    fn handle(&mut self, id: RowId, row: Row, conflict: &Conflict) -> Result<(), Stop> {
        let postgresql = self.level.is_postgresql();
        let lock = match conflict {
            Conflict::Fails if postgresql && self.is_retried(id) => return Err(Stop::Retry),
            Conflict::Fails if postgresql => return Err(Stop::RollBack),
            Conflict::Nothing if postgresql => None,
            Conflict::Fails => Some(Lock::Shared),
            Conflict::Nothing | Conflict::Update(..) => Some(Lock::Exclusive),
        };
        if lock.is_some_and(|lock| self.other().refuses(id, lock)) {
            return Err(Stop::Wait);
        }
        if self.level == Level::PostgresqlRepeatableRead {
            let seen = rows::with_own(&self.seen, &self.me().own);
            let is_seen = seen
                .get(&id)
                .is_some_and(|seen| seen.version == row.version || *conflict == Conflict::Nothing);
            if !is_seen {
                return Err(Stop::Retry);
            }
        }
        if let Some(lock) = lock {
            self.session().lock(id, lock);
        }
        match conflict {
            Conflict::Fails => return Err(Stop::RollBack),
            Conflict::Nothing => {}
            Conflict::Update(column, value) => {
                self.assign(id, row, &[(*column, value.clone())]);
            }
        }
        Ok(())
    }
}
