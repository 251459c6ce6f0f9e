//! Locking clauses: the rows that a query locks, and how.
//!
//! A clause locks the rows of the tables of its own `FROM`. PostgreSQL's also locks those of the
//! queries in it, but not those of common table expressions and of queries within expressions;
//! MySQL's locks only its own. A table of which one place is not locked is read plainly there.

use std::collections::BTreeMap;

use sqlparser::ast::{LockClause, LockType, NonBlock};

use super::Analysis;
use crate::{
    api::Server,
    sql::{BadQuery, Held, QueryKind, scope::Scope},
};

/// The effect of one locking clause, or of several that name the same table.
#[derive(Clone, Copy, Default)]
pub(in crate::sql) struct Locking {
    held: Held,
    skips: bool,
    fails: bool,
}

impl Locking {
    /// Returns the locking of two clauses.
    fn and(self, other: Locking) -> Locking {
        Locking {
            held: self.held.max(other.held),
            skips: self.skips || other.skips,
            fails: self.fails || other.fails,
        }
    }
}

impl Analysis<'_> {
    /// Returns the locking of a clause. If one of the query is `FOR KEY SHARE`, each that is
    /// `FOR SHARE` counts as that one.
    fn locking(&self, clause: &LockClause) -> Locking {
        let held = match clause.lock_type {
            LockType::Update => Held::Exclusive,
            LockType::Share if self.key_share => Held::Not,
            LockType::Share => Held::Shared,
        };
        let skips = clause.nonblock == Some(NonBlock::SkipLocked);
        Locking { held, skips, fails: clause.nonblock == Some(NonBlock::Nowait) }
    }

    /// Returns how the clauses lock what the queries in the `FROM` read; `None` if they do not.
    pub(super) fn locked_within(
        &self,
        clauses: &[LockClause],
        outer: Option<Locking>,
    ) -> Option<Locking> {
        let all = clauses.iter().map(|clause| self.locking(clause)).chain(outer);
        let all = all.reduce(Locking::and)?;
        let unnamed = clauses.iter().filter(|clause| clause.of.is_none());
        let unnamed = unnamed.map(|clause| self.locking(clause)).chain(outer);
        let held = unnamed.map(|one| one.held).max().unwrap_or_default();
        let reaches = self.server == Server::Postgresql;
        Some(Locking { held: if reaches { held } else { Held::Not }, ..all })
    }

    /// Records that a `SELECT` locks rows of its tables, or only of those that `OF` names.
    pub(super) fn lock(
        &mut self,
        clauses: &[LockClause],
        outer: Option<Locking>,
        scope: &Scope<'_>,
    ) -> Result<(), BadQuery> {
        self.query.kind = QueryKind::Write;
        let mut every = outer;
        let mut named: BTreeMap<String, Locking> = BTreeMap::new();
        for clause in clauses {
            let locking = self.locking(clause);
            let alias = clause.of.as_ref().map(|name| self.parts(name)).transpose()?;
            match alias.and_then(|mut parts| parts.pop()) {
                Some(alias) => {
                    let one = named.entry(alias).or_default();
                    *one = one.and(locking);
                }
                None => every = Some(every.map_or(locking, |every| every.and(locking))),
            }
        }
        for relation in &scope.relations {
            let own = relation.alias.as_ref().and_then(|alias| named.remove(alias));
            if let Some(locking) = own.into_iter().chain(every).reduce(Locking::and)
                && let Some(table) = &relation.table
            {
                self.lock_table(table, locking);
            }
        }
        match named.pop_first() {
            Some((name, _)) => {
                let message = format!("`OF {name}` names no table of this `FROM`: correct the SQL");
                Err(BadQuery { line: 0, column: 0, message })
            }
            None => Ok(()),
        }
    }

    /// Records that the rows of one place of a table are locked.
    fn lock_table(&mut self, table: &str, locking: Locking) {
        let access = self.query.tables.entry(table.to_owned()).or_default();
        access.locks = true;
        access.skips_locked |= locking.skips;
        access.fails_locked |= locking.fails;
        let held = self.held.entry(table.to_owned()).or_insert((0, locking.held));
        *held = (held.0 + 1, held.1.min(locking.held));
    }
}
