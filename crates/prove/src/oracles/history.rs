//! The commits of a run in the order of their commit records, and the states that they permit after
//! a crash.
//!
//! Invariants:
//! - HISTORY-1. `commits` is in the order of the commit records; `state` is the state after all of
//!   them.
//! - HISTORY-2. `commits[i].digest` is the digest of the state after `base_count + i + 1` commits;
//!   undoing its `before` gives the state after one commit less.
//!
//! Commits are numbered from 1 over the whole run. The numbers of commits that a crash undid are
//! used again for later ones.

use clearway_base::Lsn;

use super::{Oracle, Row, Rows, State, Verdict, Violation};

/// One change of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A key gets a new value or is deleted.
    Row {
        /// The table.
        table: String,
        /// The key.
        key: Vec<u8>,
        /// Its value, `None` if it was deleted.
        value: Option<Vec<u8>>,
    },
    /// A table was created.
    Create {
        /// Its name.
        table: String,
    },
    /// A table was dropped.
    Drop {
        /// Its name.
        table: String,
    },
}

impl Change {
    /// Returns a change that sets the value of a key.
    pub fn put(table: &str, key: &[u8], value: &[u8]) -> Change {
        Change::Row { table: table.into(), key: key.into(), value: Some(value.into()) }
    }

    /// Returns a change that deletes a key.
    pub fn delete(table: &str, key: &[u8]) -> Change {
        Change::Row { table: table.into(), key: key.into(), value: None }
    }
}

/// The row or table that a change has replaced.
#[derive(Clone, Debug)]
enum Before {
    Row { table: String, key: Vec<u8>, row: Option<Row> },
    Table { table: String, rows: Option<Rows> },
}

#[derive(Clone, Debug)]
struct Commit {
    lsn: Lsn,
    before: Vec<Before>,
    digest: u64,
}

/// The number of commits that a crash must leave, and the number that it may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// The number of commits up to the last one that was acknowledged, or on which an acknowledged
    /// result depends.
    pub acknowledged: usize,
    /// The number of commits whose record was in the log buffer.
    pub appended: usize,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct History {
    commits: Vec<Commit>,
    state: State,
    acknowledged: usize,
    /// The number of commits before those in `commits`. A crash cannot undo them any more.
    base_count: usize,
    /// The digest of the state after those.
    base_digest: u64,
}

impl History {
    /// Returns the history of a database with the contents `state` and no commits in progress.
    pub fn new(state: State) -> History {
        History { base_digest: state.digest(), state, ..History::default() }
    }

    /// Returns the state after all commits.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Records that a commit whose record ends at `lsn` has returned. Returns the number of this
    /// commit.
    pub fn commit(&mut self, lsn: Lsn, changes: impl IntoIterator<Item = Change>) -> usize {
        debug_assert!(self.commits.last().is_none_or(|last| last.lsn <= lsn), "HISTORY-1");
        let writer = self.base_count + self.commits.len() + 1;
        let before = changes.into_iter().map(|change| apply(&mut self.state, change, writer));
        let before = before.collect();
        self.commits.push(Commit { lsn, before, digest: self.state.digest() });
        writer
    }

    /// Records that the result of a transaction with this `ack` was acknowledged: every commit up
    /// to that LSN must survive.
    pub fn acknowledge(&mut self, ack: Lsn) {
        let up_to = self.commits.partition_point(|commit| commit.lsn <= ack);
        self.acknowledged = self.acknowledged.max(self.base_count + up_to);
    }

    /// Records that the result of the `count`-th commit was acknowledged.
    pub fn acknowledge_commit(&mut self, count: usize) {
        self.acknowledged = self.acknowledged.max(count);
    }

    /// Returns what a crash at this moment must leave and may leave.
    pub fn bounds(&self) -> Bounds {
        Bounds { acknowledged: self.acknowledged, appended: self.base_count + self.commits.len() }
    }

    /// Returns the end of the `count`-th commit's record; 0 if it precedes the last restart.
    pub fn lsn_of(&self, count: usize) -> Lsn {
        self.last_of(count).map_or(Lsn::ZERO, |commit| commit.lsn)
    }

    fn last_of(&self, count: usize) -> Option<&Commit> {
        Some(&self.commits[count.checked_sub(self.base_count + 1)?])
    }

    /// ORACLE-3: checks a transaction that only read. It depends on the first `depends_on` commits,
    /// and may be acknowledged once the log is durable up to `ack`. The log is already durable up
    /// to `durable`.
    ///
    /// # Errors
    /// If the result could be acknowledged before the commits on which it depends are durable.
    pub fn check_reader(&self, depends_on: usize, ack: Lsn, durable: Lsn) -> Verdict {
        let lsn = self.lsn_of(depends_on);
        if lsn <= ack.max(durable) {
            return Ok(());
        }
        let detail =
            format!("a reader depends on the commit at {lsn}; ack {ack}, durable {durable}");
        Err(Violation::new(Oracle::ReadOnly, detail))
    }

    /// ORACLE-1 and ORACLE-2: returns the number of commits after which the state equals `found`;
    /// the largest one if there are several.
    ///
    /// # Errors
    /// If no number within the bounds gives that state.
    pub fn judge(&self, found: &State, bounds: Bounds) -> Verdict<usize> {
        let matches = |count: &usize| self.digest_after(*count) == found.digest();
        let within = (bounds.acknowledged..=bounds.appended).rev().find(matches);
        let Some(survived) = within else { return Err(self.refuse(found, bounds)) };
        match self.state_after(survived).difference(found) {
            None => Ok(survived),
            Some(detail) => Err(Violation::new(Oracle::Prefix, detail)),
        }
    }

    /// As [`judge`](Self::judge), for a history with transactions in doubt: it is unknown whether,
    /// and at which LSN, their commit records are in the log. They did not conflict with each
    /// other, so any of them may have taken place after all known commits. Returns the number of
    /// known commits that survived, and for each transaction in doubt whether it took place.
    ///
    /// # Errors
    /// If no combination gives the state that was found.
    pub fn judge_in_doubt(
        &self,
        found: &State,
        bounds: Bounds,
        in_doubt: &[Vec<Change>],
    ) -> Verdict<(usize, Vec<bool>)> {
        assert!(in_doubt.len() <= 12, "{} transactions in doubt are too many", in_doubt.len());
        for count in (bounds.acknowledged..=bounds.appended).rev() {
            let base = self.state_after(count);
            for chosen in 0..1u32 << in_doubt.len() {
                let is_chosen = |index: usize| chosen >> index & 1 == 1;
                let mut state = base.clone();
                let changes = in_doubt.iter().enumerate().filter(|(index, _)| is_chosen(*index));
                for change in changes.flat_map(|(_, changes)| changes.iter().cloned()) {
                    apply(&mut state, change, 0);
                }
                if state.digest() == found.digest() && state.difference(found).is_none() {
                    return Ok((count, (0..in_doubt.len()).map(is_chosen).collect()));
                }
            }
        }
        Err(self.refuse(found, bounds))
    }

    /// Continues from the state after `survived` commits: these are durable, and later ones did not
    /// take place.
    pub fn restart_after(&mut self, survived: usize) {
        while self.base_count + self.commits.len() > survived {
            let commit = self.commits.pop().expect("there are more than that");
            commit.before.into_iter().rev().for_each(|before| undo(&mut self.state, before));
        }
        self.commits.clear();
        (self.acknowledged, self.base_count) = (survived, survived);
        self.base_digest = self.state.digest();
    }

    /// Returns the state after the first `count` commits.
    pub fn state_after(&self, count: usize) -> State {
        let mut state = self.state.clone();
        for commit in self.commits[count - self.base_count..].iter().rev() {
            commit.before.iter().rev().for_each(|before| undo(&mut state, before.clone()));
        }
        state
    }

    fn digest_after(&self, count: usize) -> u64 {
        self.last_of(count).map_or(self.base_digest, |commit| commit.digest)
    }

    /// Returns the violation that a state shows which no permitted prefix gives.
    fn refuse(&self, found: &State, bounds: Bounds) -> Violation {
        let Bounds { acknowledged, appended } = bounds;
        let earlier =
            (self.base_count..acknowledged).rev().find(|n| self.digest_after(*n) == found.digest());
        if let Some(survived) = earlier {
            let detail = format!(
                "{survived} commits survived, {acknowledged} were acknowledged; the first one \
                 lost ends at {}",
                self.lsn_of(survived + 1)
            );
            return Violation::new(Oracle::Durability, detail);
        }
        let nearest = self.state_after(appended).difference(found).unwrap_or_default();
        let detail = format!(
            "no state after {acknowledged} to {appended} commits; compared with the last: {nearest}"
        );
        Violation::new(Oracle::Prefix, detail)
    }
}

fn apply(state: &mut State, change: Change, writer: usize) -> Before {
    match change {
        Change::Row { table, key, value } => {
            let row = state.set_row(&table, &key, Some(Row { value, writer }));
            Before::Row { table, key, row }
        }
        Change::Create { table } => {
            let rows = state.set_table(&table, Some(Rows::new()));
            Before::Table { table, rows }
        }
        Change::Drop { table } => {
            let rows = state.set_table(&table, None);
            Before::Table { table, rows }
        }
    }
}

fn undo(state: &mut State, before: Before) {
    match before {
        Before::Row { table, key, row } => drop(state.set_row(&table, &key, row)),
        Before::Table { table, rows } => drop(state.set_table(&table, rows)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        let mut history = History::new(State::new());
        history.commit(Lsn(100), [Change::Create { table: "t".into() }]);
        history.commit(Lsn(200), [Change::put("t", b"a", b"1"), Change::put("t", b"b", b"1")]);
        history.commit(Lsn(300), [Change::delete("t", b"a")]);
        history
    }

    #[test]
    fn every_prefix_within_the_bounds_is_found_and_no_other() {
        let mut history = history();
        history.acknowledge(Lsn(250));
        let bounds = history.bounds();
        assert_eq!(bounds, Bounds { acknowledged: 2, appended: 3 });
        for count in 2..=3 {
            assert_eq!(history.judge(&history.state_after(count), bounds).unwrap(), count);
        }
        let lost = history.judge(&history.state_after(1), bounds).unwrap_err();
        assert_eq!(lost.oracle, Oracle::Durability);
        let mut half = history.state_after(1);
        half.set_row("t", b"a", Some(Row { value: Some(b"1".to_vec()), writer: 0 }));
        assert_eq!(history.judge(&half, bounds).unwrap_err().oracle, Oracle::Prefix);
    }

    #[test]
    fn a_history_continues_from_the_surviving_commits() {
        let mut history = history();
        history.restart_after(2);
        assert_eq!(history.state().value("t", b"a"), Some(b"1".as_slice()));
        assert_eq!(history.commit(Lsn(280), [Change::put("t", b"c", b"1")]), 3);
        assert_eq!(history.judge(history.state(), history.bounds()).unwrap(), 3);
    }

    #[test]
    fn transactions_in_doubt_may_have_taken_place() {
        let history = history();
        let in_doubt = [vec![Change::put("t", b"x", b"1")], vec![Change::put("t", b"y", b"1")]];
        let mut found = history.state_after(3);
        found.set_row("t", b"y", Some(Row { value: Some(b"1".to_vec()), writer: 0 }));
        let verdict = history.judge_in_doubt(&found, history.bounds(), &in_doubt).unwrap();
        assert_eq!(verdict, (3, vec![false, true]));
    }

    #[test]
    fn a_reader_waits_for_the_commits_that_it_depends_on() {
        let history = history();
        assert!(history.check_reader(3, Lsn(300), Lsn::ZERO).is_ok());
        assert!(history.check_reader(3, Lsn::ZERO, Lsn(300)).is_ok());
        assert!(history.check_reader(3, Lsn(299), Lsn(200)).is_err());
    }
}
