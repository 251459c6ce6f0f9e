//! All commits of a run in the order of their commit records, and which states they allow after a
//! crash.
//!
//! Invariants:
//! - Y1. `commits` is in the order of the commit records; `state` is the state after all of them.
//! - Y2. `commits[i].digest` is the digest of the state after `settled + i + 1` commits; `before`
//!   takes the state back to that after one less.
//!
//! Commits are numbered from 1 over the whole run; those that a crash took back give their numbers
//! to later ones.

use clearway_base::Lsn;

use super::{Oracle, Row, Rows, State, Verdict, Violation};

/// One thing that a commit changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A key has a new value, or none.
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
    /// A key gets a value.
    pub fn put(table: &str, key: &[u8], value: &[u8]) -> Change {
        Change::Row { table: table.into(), key: key.into(), value: Some(value.into()) }
    }

    /// A key is deleted.
    pub fn delete(table: &str, key: &[u8]) -> Change {
        Change::Row { table: table.into(), key: key.into(), value: None }
    }
}

/// What a change has replaced.
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

/// How many commits a crash must leave, and how many it may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Commits up to the last one that was acknowledged, or that an acknowledged answer rests on.
    pub acknowledged: usize,
    /// Commits whose record was in the log's buffer.
    pub appended: usize,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct History {
    commits: Vec<Commit>,
    state: State,
    acknowledged: usize,
    /// Commits before those in `commits`: they are durable for ever.
    settled: usize,
    /// The digest after those.
    initial: u64,
}

impl History {
    /// The history of a database that says `state` and has no commits on their way.
    pub fn new(state: State) -> History {
        History { initial: state.digest(), state, ..History::default() }
    }

    /// The state after all commits.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A commit whose record ends at `lsn` has returned. Answers how many there are with it.
    pub fn commit(&mut self, lsn: Lsn, changes: impl IntoIterator<Item = Change>) -> usize {
        debug_assert!(self.commits.last().is_none_or(|last| last.lsn <= lsn), "Y1");
        let writer = self.settled + self.commits.len() + 1;
        let before = changes.into_iter().map(|change| apply(&mut self.state, change, writer));
        let before = before.collect();
        self.commits.push(Commit { lsn, before, digest: self.state.digest() });
        writer
    }

    /// The result of a transaction with this `ack` was shown: whatever was committed up to there
    /// must survive.
    pub fn acknowledge(&mut self, ack: Lsn) {
        let up_to = self.commits.partition_point(|commit| commit.lsn <= ack);
        self.acknowledged = self.acknowledged.max(self.settled + up_to);
    }

    /// The result of the `count`-th commit was shown.
    pub fn acknowledge_commit(&mut self, count: usize) {
        self.acknowledged = self.acknowledged.max(count);
    }

    /// What a crash at this moment must leave and may leave.
    pub fn bounds(&self) -> Bounds {
        Bounds { acknowledged: self.acknowledged, appended: self.settled + self.commits.len() }
    }

    /// Where the `count`-th commit's record ends; 0 if that is settled.
    pub fn lsn_of(&self, count: usize) -> Lsn {
        self.last_of(count).map_or(Lsn::ZERO, |commit| commit.lsn)
    }

    fn last_of(&self, count: usize) -> Option<&Commit> {
        Some(&self.commits[count.checked_sub(self.settled + 1)?])
    }

    /// O3: a transaction that only read rests on the first `rests_on` commits; it may be shown
    /// when the log is durable up to `ack`, and is durable up to `durable` already.
    ///
    /// # Errors
    /// If it could be shown before what it rests on is durable.
    pub fn check_reader(&self, rests_on: usize, ack: Lsn, durable: Lsn) -> Verdict {
        let lsn = self.lsn_of(rests_on);
        if lsn <= ack.max(durable) {
            return Ok(());
        }
        let detail = format!("a reader rests on the commit at {lsn}; ack {ack}, durable {durable}");
        Err(Violation::new(Oracle::ReadOnly, detail))
    }

    /// O1 and O2: after how many commits the database says what was `found`; the most, if there
    /// are several.
    ///
    /// # Errors
    /// If it says something else.
    pub fn judge(&self, found: &State, bounds: Bounds) -> Verdict<usize> {
        let matches = |count: &usize| self.digest_after(*count) == found.digest();
        let within = (bounds.acknowledged..=bounds.appended).rev().find(matches);
        let Some(survived) = within else { return Err(self.refuse(found, bounds)) };
        match self.state_after(survived).difference(found) {
            None => Ok(survived),
            Some(detail) => Err(Violation::new(Oracle::Prefix, detail)),
        }
    }

    /// As [`judge`](Self::judge), when there are transactions of which nobody knows whether, and
    /// where, their commit records stand. They did not conflict with each other, so any of them may
    /// have taken place, after all that is known. Answers how many commits survived of those that
    /// are known, and which of the others took place.
    ///
    /// # Errors
    /// If no combination gives what was found.
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

    /// The run goes on from the state after `survived` commits: later ones did not take place, and
    /// these are durable.
    pub fn settle(&mut self, survived: usize) {
        while self.settled + self.commits.len() > survived {
            let commit = self.commits.pop().expect("there are more than that");
            commit.before.into_iter().rev().for_each(|before| take_back(&mut self.state, before));
        }
        self.commits.clear();
        (self.acknowledged, self.settled) = (survived, survived);
        self.initial = self.state.digest();
    }

    /// The state after the first `count` commits.
    pub fn state_after(&self, count: usize) -> State {
        let mut state = self.state.clone();
        for commit in self.commits[count - self.settled..].iter().rev() {
            commit.before.iter().rev().for_each(|before| take_back(&mut state, before.clone()));
        }
        state
    }

    fn digest_after(&self, count: usize) -> u64 {
        self.last_of(count).map_or(self.initial, |commit| commit.digest)
    }

    /// Says what is wrong with a state that no allowed prefix gives.
    fn refuse(&self, found: &State, bounds: Bounds) -> Violation {
        let Bounds { acknowledged, appended } = bounds;
        let earlier =
            (self.settled..acknowledged).rev().find(|n| self.digest_after(*n) == found.digest());
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

fn take_back(state: &mut State, before: Before) {
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
    fn a_settled_history_goes_on_from_what_survived() {
        let mut history = history();
        history.settle(2);
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
    fn a_reader_waits_for_what_it_rests_on() {
        let history = history();
        assert!(history.check_reader(3, Lsn(300), Lsn::ZERO).is_ok());
        assert!(history.check_reader(3, Lsn::ZERO, Lsn(300)).is_ok());
        assert!(history.check_reader(3, Lsn(299), Lsn(200)).is_err());
    }
}
