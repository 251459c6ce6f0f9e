//! Sequences of calls, wrong ones included, against an ordered map.
//!
//! The first bytes choose the size of pages, a pattern of keys, and the drivers: the operations
//! block, or they are those of a task. Then each pair of bytes is an instruction for one of two
//! transactions, some of which take steps of the pattern. Must hold: every result equals the map's,
//! no valid call is refused for a reason other than a full log, an operation that is dropped before
//! it is finished has had no effect, every misuse is a typed error, and the database verifies.

mod contention;
mod driven;

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Mutex, PoisonError},
};

use clearway_base::Error;
use clearway_disk::MemoryDisk;
use clearway_lock::WaitLimit;
use clearway_testkit::{
    Drawn, Limits, Pattern, Random, Step, Steps,
    errors::{self, Circumstances},
};
use clearway_tree::Direction;
use clearway_txn::{Engine, EngineOptions, Table};

use super::image::options;
use crate::target::Target;
pub(crate) use contention::waits;
use driven::{DrivenTransaction, Driver};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn target() -> Target {
    Target { name: "api", examples, take, must_fail: false }
}

fn examples() -> Vec<Vec<u8>> {
    (0..24u8)
        .map(|n| (0..90u8).map(|i| i.wrapping_mul(37) ^ n.wrapping_mul(11)).collect())
        .collect()
}

/// A database, its model, and at most one transaction with the model of its uncommitted state.
struct World {
    engine: Arc<Engine>,
    table: Table,
    driver: Driver,
    committed: Map,
    running: Option<(DrivenTransaction, Map)>,
    marks: Vec<(clearway_txn::Savepoint, Map)>,
    steps: Steps,
}

/// Bytes of the input that choose the pattern.
const HEAD: usize = 4;
/// Insertions of a pattern.
const INSERTIONS: u64 = 400;
/// One in this many inputs uses pages of the default size.
const LARGE_NODE_ONE_IN: u64 = 3;
const LARGE_NODE: usize = 8192;
/// Bytes of a value that the log has room for after a rollback and a checkpoint.
const PROBE_LEN: usize = 40_000;

/// The patterns that the inputs have drawn so far.
static DRAWN: Mutex<Option<Drawn>> = Mutex::new(None);

/// The patterns that the inputs of this process have chosen.
pub(crate) fn drawn() -> Drawn {
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
}

/// The pages, the pattern and the drivers that an input chooses. Each input runs with the blocking
/// driver, every second one as a task too.
fn choose(input: &[u8]) -> (EngineOptions, Pattern, &'static [Driver]) {
    let seed = input.iter().take(HEAD).fold(1, |seed, byte| seed << 8 | u64::from(*byte));
    let (mut random, mut options) = (Random::new(seed), options());
    if random.one_in(LARGE_NODE_ONE_IN) {
        options.node_bytes = LARGE_NODE;
    }
    let pattern = Pattern::draw(&mut random, Limits::of_node(options.node_bytes));
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    drawn.get_or_insert_default().note(&pattern);
    let with_tasks = random.one_in(2);
    let drivers: &[Driver] =
        if with_tasks { &[Driver::Blocking, Driver::Task] } else { &[Driver::Blocking] };
    (options, pattern, drivers)
}

fn take(input: &[u8]) -> Result<(), String> {
    let (options, pattern, drivers) = choose(input);
    let run = |driver| {
        let ran = take_with(input, options.clone(), pattern.steps(INSERTIONS), driver);
        ran.map_err(|wrong| format!("{driver:?}: {wrong}"))
    };
    drivers.iter().try_for_each(|driver| run(*driver))
}

fn take_with(
    input: &[u8],
    options: EngineOptions,
    steps: Steps,
    driver: Driver,
) -> Result<(), String> {
    let disk = MemoryDisk::new();
    let engine = Engine::open(Arc::new(disk), options).map_err(|error| error.to_string())?;
    let table = engine.create_table("t").map_err(|error| error.to_string())?;
    let (committed, marks) = (Map::new(), Vec::new());
    let mut world = World { engine, table, driver, committed, running: None, marks, steps };
    for pair in input.get(HEAD..).unwrap_or_default().chunks(2).take(400) {
        world.step(pair[0], pair.get(1).copied().unwrap_or(0))?;
    }
    world.running = None;
    world.marks.clear();
    world.check_all()?;
    let report = world.engine.verify().map_err(|error| format!("verify: {error}"))?;
    match report.unreachable_pages {
        0 => Ok(()),
        pages => Err(format!("{pages} pages belong to no table and are not free")),
    }
}

impl World {
    fn step(&mut self, what: u8, with: u8) -> Result<(), String> {
        match what % 16 {
            0..=7 => self.operate(what % 16, with),
            8 if with.is_multiple_of(4) => self.operate(8, with),
            8 | 9 => self.advance(with),
            10 => self.commit(),
            11 => {
                self.marks.clear();
                self.running.take().map_or(Ok(()), |(txn, _)| expect(txn.rollback()))
            }
            12 => self.savepoint(with),
            13 if self.running.is_none() => self.check_all(),
            14 => self.maintain(),
            15 if with.is_multiple_of(8) => expect(self.engine.checkpoint()),
            13 | 15 if self.driver == Driver::Task && !with.is_multiple_of(4) => self.contend(with),
            _ => self.misuse(with),
        }
    }

    fn operate(&mut self, what: u8, with: u8) -> Result<(), String> {
        let (engine, table) = (self.engine.clone(), self.table.clone());
        let begin = || (DrivenTransaction::begin(&engine, self.driver), self.committed.clone());
        let (txn, map) = self.running.get_or_insert_with(begin);
        let key = key_of(with);
        let value = vec![with; [0, 5, 60, 300, 9_000][usize::from(what) % 5]];
        match what {
            0 | 1 => {
                let result = txn.insert(&table, &key, &value);
                match result {
                    Ok(()) if !map.contains_key(&key) => drop(map.insert(key, value)),
                    Err(Error::DuplicateKey { .. }) if map.contains_key(&key) => {}
                    Err(Error::LogFull { .. }) => return self.give_up(),
                    other => return Err(format!("insert: {other:?}")),
                }
            }
            2 | 3 => match txn.put(&table, &key, &value) {
                Ok(replaced) if replaced == map.insert(key, value).is_some() => {}
                Err(Error::LogFull { .. }) => return self.give_up(),
                other => return Err(format!("put: {other:?}")),
            },
            4 => match txn.update(&table, &key, &value) {
                Ok(()) if map.contains_key(&key) => drop(map.insert(key, value)),
                Err(Error::NotFound { .. }) if !map.contains_key(&key) => {}
                Err(Error::LogFull { .. }) => return self.give_up(),
                other => return Err(format!("update: {other:?}")),
            },
            5 => match txn.delete(&table, &key) {
                Ok(()) if map.remove(&key).is_some() => {}
                Err(Error::NotFound { .. }) if !map.contains_key(&key) => {}
                Err(Error::LogFull { .. }) => return self.give_up(),
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

    /// Takes up to 16 steps of the pattern. Steps that were rolled back are not repeated, so a key
    /// to delete may be missing.
    fn advance(&mut self, with: u8) -> Result<(), String> {
        let (engine, table) = (self.engine.clone(), self.table.clone());
        let begin = || (DrivenTransaction::begin(&engine, self.driver), self.committed.clone());
        let (txn, map) = self.running.get_or_insert_with(begin);
        for step in self.steps.by_ref().take(1 + usize::from(with % 16)) {
            let result = match &step {
                Step::Put { key, value } => txn.put(&table, key, value).map(drop),
                Step::Delete { key } => txn.delete(&table, key),
            };
            match (result, step) {
                (Ok(()), Step::Put { key, value }) => drop(map.insert(key, value)),
                (Ok(()), Step::Delete { key }) if map.remove(&key).is_some() => {}
                (Err(Error::NotFound { .. }), Step::Delete { key }) if !map.contains_key(&key) => {}
                (Err(Error::LogFull { .. }), _) => return self.give_up(),
                (Err(error), step) => {
                    let call = match step {
                        Step::Put { .. } => "Transaction::put",
                        Step::Delete { .. } => "Transaction::delete",
                    };
                    errors::check(call, &error, Circumstances::SOUND)?;
                    return Err(format!("{step:?}: {error}"));
                }
                (Ok(()), step) => return Err(format!("{step:?} misjudged what was there")),
            }
        }
        Ok(())
    }

    /// Does the pending upkeep. A transaction that has filled the log keeps it from that.
    fn maintain(&mut self) -> Result<(), String> {
        match self.engine.maintain() {
            Err(Error::LogFull { .. }) if self.running.is_some() => {
                self.give_up()?;
                expect(self.engine.maintain())
            }
            maintained => expect(maintained),
        }
    }

    /// Rolls back a transaction for which the log has no room, and makes room.
    fn give_up(&mut self) -> Result<(), String> {
        self.marks.clear();
        let rolled_back = self.running.take().map(|(txn, _)| txn.rollback());
        expect(rolled_back.unwrap_or(Ok(())))?;
        expect(self.engine.checkpoint())?;
        // Nothing keeps the log any more, so it has room for a long value.
        let mut probe = self.engine.begin();
        expect(probe.put(&self.table, b"probe", &[7; PROBE_LEN]).map(drop))?;
        expect(probe.rollback().map(drop))
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
        let mut txn = DrivenTransaction::begin(&self.engine, self.driver);
        for with in 0..4 {
            scan(&mut txn, &self.table, &self.committed, with)?;
        }
        Ok(())
    }
}

fn expect(result: clearway_base::Result<()>) -> Result<(), String> {
    result.map_err(|error| error.to_string())
}

/// The key of an instruction.
fn key_of(with: u8) -> Vec<u8> {
    vec![b'k'; usize::from(with % 4)].into_iter().chain([with / 4]).collect()
}

/// Checks that a scan returns the same entries as the map.
fn scan(txn: &mut DrivenTransaction, table: &Table, map: &Map, with: u8) -> Result<(), String> {
    let key = |byte: u8| vec![b'k', byte];
    let low = [Bound::Unbounded, Bound::Included(key(with / 8)), Bound::Excluded(key(with / 8))];
    let high = [Bound::Unbounded, Bound::Included(key(with)), Bound::Excluded(key(with))];
    let bounds = (low[usize::from(with) % 3].clone(), high[usize::from(with) / 3 % 3].clone());
    let descending = with & 1 == 1;
    let direction = if descending { Direction::Descending } else { Direction::Ascending };
    let opened = txn.cursor(table, bounds.clone(), direction);
    let mut cursor = opened.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(entry) = txn.next(&mut cursor).map_err(|error| error.to_string())? {
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
