//! One session: a thread with at most one transaction, doing one operation at a time.

use std::{
    collections::HashMap,
    ops::Bound,
    sync::{
        Arc,
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

use clearway_base::{Error, Lsn, Result};
use clearway_lock::{AbsoluteMode, WaitLimit};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, Savepoint, Table, TableCursor, Transaction};

/// The limit of each lock wait. Only a deadlock that was not found reaches it: then the spec fails,
/// and reports what happened, instead of hanging.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// The state of a session between operations.
pub(crate) struct Session {
    engine: Arc<Engine>,
    table: Table,
    txn: Option<Transaction>,
    savepoints: HashMap<String, Savepoint>,
    cursor: Option<TableCursor>,
    wait: WaitLimit,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, table: Table) -> Session {
        let (txn, savepoints, cursor) = (None, HashMap::new(), None);
        Session { engine, table, txn, savepoints, cursor, wait: WaitLimit::For(WAIT_MAX) }
    }

    /// Performs each operation of `orders`, and sends its outcome.
    pub(crate) fn run(mut self, orders: &Receiver<Vec<String>>, outcomes: &Sender<String>) {
        for words in orders {
            let outcome = self.perform(&words);
            if outcomes.send(outcome).is_err() {
                return;
            }
        }
    }

    /// One operation, as a word or a few.
    pub(crate) fn perform(&mut self, words: &[String]) -> String {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match self.attempt(&words) {
            Ok(outcome) => outcome,
            Err(error @ Error::Deadlock { .. }) => {
                self.forget();
                named(&error)
            }
            Err(error) => named(&error),
        }
    }

    fn forget(&mut self) {
        (self.txn, self.cursor) = (None, None);
        self.savepoints.clear();
    }

    fn attempt(&mut self, words: &[&str]) -> Result<String> {
        if let ["commit"] | ["rollback"] = words {
            return self.end(words[0]);
        }
        if let ["nowait"] = words {
            self.wait = WaitLimit::NoWait;
            return Ok("ok".into());
        }
        let (engine, table) = (self.engine.clone(), self.table.clone());
        let txn = self.txn.get_or_insert_with(|| engine.begin());
        txn.set_wait_limit(self.wait);
        match *words {
            ["get", key] => Ok(shown(txn.get(&table, &bytes(key))?)),
            ["lock", key] => Ok(shown(txn.get_for_update(&table, &bytes(key))?)),
            ["insert", key, value] => done(txn.insert(&table, &bytes(key), &bytes(value))),
            ["put", key, value] => done(txn.put(&table, &bytes(key), &bytes(value)).map(drop)),
            ["update", key, value] => done(txn.update(&table, &bytes(key), &bytes(value))),
            ["delete", key] => done(txn.delete(&table, &bytes(key))),
            ["fill", first, last, value] => {
                let ends = [first, last].map(|key| key.as_bytes()[0]);
                for key in ends[0]..=ends[1] {
                    txn.put(&table, &[key], &bytes(value))?;
                }
                Ok("ok".into())
            }
            ["lock_table", mode] => done(txn.lock_table(&table, absolute(mode))),
            ["lock_database", mode] => done(txn.lock_database(absolute(mode))),
            ["savepoint", name] => {
                let savepoint = txn.savepoint()?;
                self.savepoints.insert(name.into(), savepoint);
                Ok("ok".into())
            }
            ["rollback_to", name] => {
                txn.rollback_to(&self.savepoints[name])?;
                Ok("ok".into())
            }
            ["open", range, ref how @ ..] => {
                self.cursor = Some(open(txn, &table, range, how)?);
                Ok("ok".into())
            }
            ["next"] => {
                let cursor = self.cursor.as_mut().expect("an open cursor");
                Ok(entry(cursor.next(txn)?))
            }
            ["scan", range, ref how @ ..] => {
                let mut cursor = open(txn, &table, range, how)?;
                let mut found = Vec::new();
                while let Some(next) = cursor.next(txn)? {
                    found.push(entry(Some(next)));
                }
                Ok(if found.is_empty() { "nothing".into() } else { found.join(" ") })
            }
            _ => panic!("what is {words:?}?"),
        }
    }

    fn end(&mut self, how: &str) -> Result<String> {
        self.cursor = None;
        self.savepoints.clear();
        let Some(txn) = self.txn.take() else { return Ok("nothing to end".into()) };
        if how == "rollback" {
            txn.rollback()?;
            return Ok("ok".into());
        }
        let ack = txn.commit()?.ack;
        let durable = ack == Lsn::ZERO || ack <= self.engine.log().durable();
        Ok(if durable { "durable".into() } else { "committed".into() })
    }
}

fn absolute(mode: &str) -> AbsoluteMode {
    match mode {
        "S" => AbsoluteMode::Shared,
        "X" => AbsoluteMode::Exclusive,
        other => panic!("an absolute lock {other:?}?"),
    }
}

fn done(result: Result<()>) -> Result<String> {
    result.map(|()| "ok".into())
}

fn named(error: &Error) -> String {
    match error {
        Error::Deadlock { .. } => "deadlock".into(),
        Error::DuplicateKey => "duplicate".into(),
        Error::NotFound => "absent".into(),
        Error::WouldBlock { .. } => "would block".into(),
        other => format!("error: {other}"),
    }
}

/// `""` is the empty key, `x*40` forty times x, everything else itself.
fn bytes(word: &str) -> Vec<u8> {
    match word.split_once('*') {
        Some((part, count)) => part.repeat(count.parse().unwrap()).into_bytes(),
        None if word == "\"\"" => Vec::new(),
        None => word.as_bytes().to_vec(),
    }
}

/// Long values are cut: their length is not what a spec is about.
fn word(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.is_empty() { "\"\"".into() } else { text.chars().take(4).collect() }
}

fn shown(value: Option<Vec<u8>>) -> String {
    value.map_or("absent".into(), |value| word(&value))
}

fn entry(entry: Option<(Vec<u8>, Vec<u8>)>) -> String {
    entry.map_or("end".into(), |(key, value)| format!("{}={}", word(&key), word(&value)))
}

/// Opens a cursor on a range like `[b,d)`, in which `-` is the end of all keys on that side.
fn open(txn: &mut Transaction, table: &Table, range: &str, how: &[&str]) -> Result<TableCursor> {
    let (lower, upper) = range.split_once(',').expect("a range has a comma");
    let bound = |word: &str, bracket: char| match (word, bracket) {
        ("-", _) => Bound::Unbounded,
        (key, '[' | ']') => Bound::Included(bytes(key)),
        (key, _) => Bound::Excluded(bytes(key)),
    };
    let low = bound(&lower[1..], lower.chars().next().unwrap());
    let high = bound(&upper[..upper.len() - 1], upper.chars().last().unwrap());
    let direction =
        if how.contains(&"desc") { Direction::Descending } else { Direction::Ascending };
    let intent = if how.contains(&"lock") { ReadIntent::Update } else { ReadIntent::Read };
    let mut cursor = txn.cursor(table, low, high, direction, intent)?;
    if how.contains(&"skip") {
        cursor.skip_locked();
    }
    Ok(cursor)
}
