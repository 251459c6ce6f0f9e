//! One session: at most one transaction, which does one operation at a time.

use std::{collections::HashMap, ops::Bound, sync::Arc, time::Duration};

use clearway_base::{Error, Lsn, Result};
use clearway_lock::{AbsoluteMode, WaitLimit};
use clearway_sync::block_on;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, Savepoint, Table, TableCursor};

use crate::driver::{DrivenTransaction, Driver};

/// The limit of each lock wait of a thread. Only a deadlock that was not found reaches it: then the
/// spec fails, and reports what happened, instead of hanging. Tasks wait without a limit: no thread
/// waits for them, and an engine without background threads wakes a task that has a limit again and
/// again, which would hide a wake-up that was lost.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// The state of a session between operations.
pub(crate) struct Session {
    engine: Arc<Engine>,
    table: Table,
    driver: Driver,
    txn: Option<DrivenTransaction>,
    savepoints: HashMap<String, Savepoint>,
    cursor: Option<TableCursor>,
    wait: WaitLimit,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, table: Table, driver: Driver) -> Session {
        let (txn, savepoints, cursor) = (None, HashMap::new(), None);
        let wait = match driver {
            Driver::Blocking => WaitLimit::For(WAIT_MAX),
            Driver::Task | Driver::DroppingTask => WaitLimit::Forever,
        };
        Session { engine, table, driver, txn, savepoints, cursor, wait }
    }

    /// Performs one operation, and blocks as long as it waits.
    pub(crate) fn perform(&mut self, words: &[String]) -> String {
        block_on(self.outcome(words))
    }

    /// Returns the outcome of one operation, as a word or a few.
    pub(crate) async fn outcome(&mut self, words: &[String]) -> String {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match self.attempt(&words).await {
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

    async fn attempt(&mut self, words: &[&str]) -> Result<String> {
        if let ["commit"] | ["rollback"] = words {
            return self.end(words[0]).await;
        }
        if let ["nowait"] = words {
            self.wait = WaitLimit::NoWait;
            return Ok("ok".into());
        }
        let (engine, table) = (self.engine.clone(), self.table.clone());
        let begin = || DrivenTransaction::begin(&engine, self.driver);
        let txn = self.txn.get_or_insert_with(begin);
        txn.set_wait_limit(self.wait);
        match *words {
            ["get", key] => Ok(shown(txn.get(&table, &bytes(key), ReadIntent::Read).await?)),
            ["lock", key] => Ok(shown(txn.get(&table, &bytes(key), ReadIntent::Update).await?)),
            ["insert", key, value] => done(txn.insert(&table, &bytes(key), &bytes(value)).await),
            ["put", key, value] => {
                done(txn.put(&table, &bytes(key), &bytes(value)).await.map(drop))
            }
            ["update", key, value] => done(txn.update(&table, &bytes(key), &bytes(value)).await),
            ["delete", key] => done(txn.delete(&table, &bytes(key)).await),
            ["fill", first, last, value] => {
                let ends = [first, last].map(|key| key.as_bytes()[0]);
                for key in ends[0]..=ends[1] {
                    txn.put(&table, &[key], &bytes(value)).await?;
                }
                Ok("ok".into())
            }
            ["lock_table", mode] => done(txn.lock_table(&table, absolute(mode)).await),
            ["lock_database", mode] => done(txn.lock_database(absolute(mode)).await),
            ["savepoint", name] => {
                let savepoint = txn.savepoint().await?;
                self.savepoints.insert(name.into(), savepoint);
                Ok("ok".into())
            }
            ["rollback_to", name] => {
                txn.rollback_to(&self.savepoints[name]).await?;
                Ok("ok".into())
            }
            ["open", range, ref how @ ..] => {
                self.cursor = Some(open(txn, &table, range, how).await?);
                Ok("ok".into())
            }
            ["next"] => {
                let cursor = self.cursor.as_mut().expect("an open cursor");
                Ok(entry(txn.next(cursor).await?))
            }
            ["scan", range, ref how @ ..] => {
                let mut cursor = open(txn, &table, range, how).await?;
                let mut found = Vec::new();
                while let Some(next) = txn.next(&mut cursor).await? {
                    found.push(entry(Some(next)));
                }
                Ok(if found.is_empty() { "nothing".into() } else { found.join(" ") })
            }
            _ => panic!("what is {words:?}?"),
        }
    }

    async fn end(&mut self, how: &str) -> Result<String> {
        self.cursor = None;
        self.savepoints.clear();
        let Some(txn) = self.txn.take() else { return Ok("nothing to end".into()) };
        if how == "rollback" {
            txn.rollback().await?;
            return Ok("ok".into());
        }
        let ack = txn.commit().await?.ack;
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
        Error::DuplicateKey { .. } => "duplicate".into(),
        Error::NotFound { .. } => "absent".into(),
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
async fn open(
    txn: &mut DrivenTransaction,
    table: &Table,
    range: &str,
    how: &[&str],
) -> Result<TableCursor> {
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
    let mut cursor = txn.cursor(table, (low, high), direction, intent).await?;
    if how.contains(&"skip") {
        cursor.skip_locked();
    }
    Ok(cursor)
}
