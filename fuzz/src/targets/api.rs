//! Sequences of calls, wrong ones included, against an ordered map.
//!
//! Each byte is an instruction for one of two transactions. Must hold: every answer is the map's,
//! every misuse a typed error, and the database verifies.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use clearway_base::Error;
use clearway_disk::MemoryDisk;
use clearway_lock::WaitLimit;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, Table, Transaction};

use super::image::options;
use crate::target::Target;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn target() -> Target {
    Target { name: "api", examples, take, must_fail: false }
}

fn examples() -> Vec<Vec<u8>> {
    (0..24u8)
        .map(|n| (0..90u8).map(|i| i.wrapping_mul(37) ^ n.wrapping_mul(11)).collect())
        .collect()
}

/// A database, its model, and at most one transaction with the model of what it would make.
struct World {
    engine: Arc<Engine>,
    table: Table,
    committed: Map,
    running: Option<(Transaction, Map)>,
    marks: Vec<(clearway_txn::Savepoint, Map)>,
}

fn take(input: &[u8]) -> Result<(), String> {
    let disk = MemoryDisk::new();
    let engine = Engine::open(Arc::new(disk), options()).map_err(|error| error.to_string())?;
    let table = engine.create_table("t").map_err(|error| error.to_string())?;
    let (committed, marks) = (Map::new(), Vec::new());
    let mut world = World { engine, table, committed, running: None, marks };
    for pair in input.chunks(2).take(400) {
        world.step(pair[0], pair.get(1).copied().unwrap_or(0))?;
    }
    world.running = None;
    world.marks.clear();
    world.check_all()?;
    world.engine.verify().map(drop).map_err(|error| format!("verify: {error}"))
}

impl World {
    fn step(&mut self, what: u8, with: u8) -> Result<(), String> {
        match what % 16 {
            0..=9 => self.operate(what % 16, with),
            10 => self.commit(),
            11 => {
                self.marks.clear();
                self.running.take().map_or(Ok(()), |(txn, _)| expect(txn.rollback().map(drop)))
            }
            12 => self.savepoint(with),
            13 if self.running.is_none() => self.check_all(),
            14 => expect(self.engine.maintain()),
            15 if with.is_multiple_of(8) => expect(self.engine.checkpoint()),
            _ => self.misuse(with),
        }
    }

    fn operate(&mut self, what: u8, with: u8) -> Result<(), String> {
        let (engine, table) = (self.engine.clone(), self.table.clone());
        let begin = || (engine.begin(), self.committed.clone());
        let (txn, map) = self.running.get_or_insert_with(begin);
        let key =
            vec![b'k'; usize::from(with % 4)].into_iter().chain([with / 4]).collect::<Vec<_>>();
        let value = vec![with; [0, 5, 60, 300, 9_000][usize::from(what) % 5]];
        match what {
            0 | 1 => {
                let result = txn.insert(&table, &key, &value);
                match result {
                    Ok(()) if !map.contains_key(&key) => drop(map.insert(key, value)),
                    Err(Error::DuplicateKey) if map.contains_key(&key) => {}
                    other => return Err(format!("insert: {other:?}")),
                }
            }
            2 | 3 => {
                let replaced = txn.put(&table, &key, &value).map_err(|error| error.to_string())?;
                if replaced != map.insert(key, value).is_some() {
                    return Err("put misjudged what was there".into());
                }
            }
            4 => match txn.update(&table, &key, &value) {
                Ok(()) if map.contains_key(&key) => drop(map.insert(key, value)),
                Err(Error::NotFound) if !map.contains_key(&key) => {}
                other => return Err(format!("update: {other:?}")),
            },
            5 => match txn.delete(&table, &key) {
                Ok(()) if map.remove(&key).is_some() => {}
                Err(Error::NotFound) if !map.contains_key(&key) => {}
                other => return Err(format!("delete: {other:?}")),
            },
            6 | 7 => {
                let found = txn.get(&table, &key).map_err(|error| error.to_string())?;
                if found.as_ref() != map.get(&key) {
                    return Err(format!("get {key:?}: {found:?}"));
                }
            }
            _ => return scan(txn, &table, map, with),
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), String> {
        self.marks.clear();
        let Some((txn, map)) = self.running.take() else { return Ok(()) };
        let ack = txn.commit().map_err(|error| error.to_string())?.ack;
        self.committed = map;
        expect(self.engine.log().wait_durable(ack))
    }

    fn savepoint(&mut self, with: u8) -> Result<(), String> {
        let Some((txn, map)) = &mut self.running else { return Ok(()) };
        if with.is_multiple_of(2) {
            let mark = txn.savepoint().map_err(|error| error.to_string())?;
            self.marks.push((mark, map.clone()));
            return Ok(());
        }
        if self.marks.is_empty() {
            return Ok(());
        }
        let at = usize::from(with) % self.marks.len();
        self.marks.truncate(at + 1);
        let (mark, then) = &self.marks[at];
        *map = then.clone();
        expect(txn.rollback_to(mark))
    }

    /// Calls that must be refused, and change nothing.
    fn misuse(&mut self, with: u8) -> Result<(), String> {
        let refused = match with % 5 {
            0 => self.engine.create_table("t").map(drop),
            1 => self.engine.open_table("nobody").map(drop),
            2 => self.engine.create_table("").map(drop),
            3 => {
                let mut other = self.engine.begin();
                other.set_wait_limit(WaitLimit::NoWait);
                other.put(&self.table, &[9; 5_000], b"").map(drop)
            }
            _ => {
                let mut other = self.engine.begin();
                let mark = other.savepoint().map_err(|error| error.to_string())?;
                drop(other);
                self.engine.begin().rollback_to(&mark)
            }
        };
        if refused.is_err() { Ok(()) } else { Err(format!("misuse {} was not refused", with % 5)) }
    }

    fn check_all(&mut self) -> Result<(), String> {
        let mut txn = self.engine.begin();
        for with in 0..4 {
            scan(&mut txn, &self.table, &self.committed, with)?;
        }
        Ok(())
    }
}

fn expect(result: clearway_base::Result<()>) -> Result<(), String> {
    result.map_err(|error| error.to_string())
}

/// A scan must give what the map gives.
fn scan(txn: &mut Transaction, table: &Table, map: &Map, with: u8) -> Result<(), String> {
    let key = |byte: u8| vec![b'k', byte];
    let low = [Bound::Unbounded, Bound::Included(key(with / 8)), Bound::Excluded(key(with / 8))];
    let high = [Bound::Unbounded, Bound::Included(key(with)), Bound::Excluded(key(with))];
    let bounds = (low[usize::from(with) % 3].clone(), high[usize::from(with) / 3 % 3].clone());
    let descending = with & 1 == 1;
    let direction = if descending { Direction::Descending } else { Direction::Ascending };
    let opened = txn.cursor(table, bounds.0.clone(), bounds.1.clone(), direction, ReadIntent::Read);
    let mut cursor = opened.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(entry) = cursor.next(txn).map_err(|error| error.to_string())? {
        found.push(entry);
    }
    let is_empty = match (&bounds.0, &bounds.1) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Excluded(b) | Bound::Included(b)) => {
            a >= b
        }
        _ => false,
    };
    let mut wanted: Vec<_> = match is_empty {
        true => Vec::new(),
        false => map.range(bounds).map(|(k, v)| (k.clone(), v.clone())).collect(),
    };
    if descending {
        wanted.reverse();
    }
    if found == wanted { Ok(()) } else { Err(format!("a scan gave {} entries", found.len())) }
}
