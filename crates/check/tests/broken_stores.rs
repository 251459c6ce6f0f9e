//! Stores that are broken on purpose, each in a different way. The checker must report each of
//! them.

use std::{collections::BTreeMap, sync::Arc};

use clearway::{Error, Result};
use clearway_check::{
    Kind, Report, check,
    history::{Op, Way},
    workload::{self, Access, Body, How, Place, Settings, Store, Ticket, Workload},
};
use clearway_sync::{Mutex, thread};

type Map = BTreeMap<(Place, u64), Vec<u8>>;
type Undo = ((Place, u64), Option<Vec<u8>>);

/// The flaw of a store.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Flaw {
    /// Not at all: one transaction at a time.
    None,
    /// No locks; every write is seen at once.
    NoLocks,
    /// No locks, and rollbacks undo nothing.
    NoUndo,
    /// Snapshots, and the first to commit wins: everything but write skew is prevented.
    Snapshot,
    /// As `None`, but transactions that only read see an old state.
    StaleReads,
    /// As `None`, but now and then a commit is acknowledged and forgotten.
    Forgets,
    /// As `None`, but range reads miss what was inserted last.
    Phantoms,
}

struct BrokenStore {
    flaw: Flaw,
    /// Held over whole transactions where these run one at a time.
    turn: Mutex<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    map: Map,
    /// The states before, newest last.
    old: Vec<Map>,
    /// The commit that last wrote each key.
    written: BTreeMap<(Place, u64), u64>,
    commits: u64,
}

impl BrokenStore {
    fn new(flaw: Flaw) -> BrokenStore {
        BrokenStore { flaw, turn: Mutex::new(0), state: Mutex::new(State::default()) }
    }

    fn is_serial(&self) -> bool {
        !matches!(self.flaw, Flaw::NoLocks | Flaw::NoUndo | Flaw::Snapshot)
    }

    fn attempt(&self, body: &mut Body<'_>) -> Result<Vec<Op>> {
        let (map, begun) = {
            let state = self.state.lock();
            (state.map.clone(), state.commits)
        };
        let before = Map::new();
        let mut access = BrokenAccess {
            store: self,
            map,
            before,
            wrote: Vec::new(),
            mark: Vec::new(),
            undo: Vec::new(),
        };
        let result = body(&mut access);
        let BrokenAccess { map, wrote, undo, .. } = access;
        let mut state = self.state.lock();
        match (&result, self.flaw) {
            (Err(_), Flaw::NoLocks) => undo.into_iter().rev().for_each(|(key, value)| {
                restore(&mut state.map, key, value);
            }),
            (_, Flaw::NoLocks | Flaw::NoUndo) | (Err(_), _) => {}
            (Ok(_), _) => self.commit(&mut state, &map, &wrote, begun)?,
        }
        result
    }

    fn commit(
        &self,
        state: &mut State,
        map: &Map,
        wrote: &[(Place, u64)],
        begun: u64,
    ) -> Result<()> {
        if wrote.iter().any(|key| state.written.get(key).is_some_and(|at| *at > begun)) {
            return Err(Error::Deadlock { txn: clearway::TxnId::NONE, cycle: None });
        }
        state.commits += 1;
        if self.flaw == Flaw::Forgets && state.commits.is_multiple_of(100) {
            return Ok(());
        }
        let before = state.map.clone();
        state.old.push(before);
        for key in wrote {
            restore(&mut state.map, *key, map.get(key).cloned());
            let commits = state.commits;
            state.written.insert(*key, commits);
        }
        if state.old.len() > 20 {
            state.old.remove(0);
        }
        Ok(())
    }
}

fn restore(map: &mut Map, key: (Place, u64), value: Option<Vec<u8>>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

impl Store for BrokenStore {
    fn run(&self, _: How, body: &mut Body<'_>) -> Result<Ticket> {
        let ops = loop {
            let turn = self.is_serial().then(|| self.turn.lock());
            match self.attempt(body) {
                Err(error) if error.is_retryable() => drop(turn),
                result => break result?,
            }
            thread::yield_now();
        };
        Ok(Box::new(|| Ok(ops)))
    }
}

struct BrokenAccess<'a> {
    store: &'a BrokenStore,
    /// A private copy, unless there are no locks.
    map: Map,
    before: Map,
    wrote: Vec<(Place, u64)>,
    /// The old value of each write.
    undo: Vec<Undo>,
    mark: Vec<(Map, usize)>,
}

impl BrokenAccess<'_> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Map) -> T) -> T {
        match self.store.flaw {
            Flaw::NoLocks | Flaw::NoUndo => act(&mut self.store.state.lock().map),
            _ => act(&mut self.map),
        }
    }

    fn change(&mut self, key: (Place, u64), value: Option<Vec<u8>>) {
        let before = self.with(|map| {
            let before = map.get(&key).cloned();
            restore(map, key, value);
            before
        });
        self.undo.push((key, before));
        self.wrote.push(key);
        thread::yield_now();
    }
}

impl Access for BrokenAccess<'_> {
    fn get(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        thread::yield_now();
        if self.store.flaw == Flaw::StaleReads && self.wrote.is_empty() {
            self.before = self.store.state.lock().old.first().cloned().unwrap_or_default();
            return Ok(self.before.get(&(place, key)).cloned());
        }
        Ok(self.with(|map| map.get(&(place, key)).cloned()))
    }

    fn get_for_update(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.with(|map| map.get(&(place, key)).cloned()))
    }

    fn put(&mut self, place: Place, key: u64, value: &[u8]) -> Result<()> {
        self.change((place, key), Some(value.to_vec()));
        Ok(())
    }

    fn remove(&mut self, place: Place, key: u64) -> Result<()> {
        self.change((place, key), None);
        Ok(())
    }

    fn range(
        &mut self,
        place: Place,
        low: u64,
        high: u64,
        way: Way,
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        let range = (place, low)..=(place, high);
        let found = |map: &mut Map| map.range(range).map(|(k, v)| (k.1, v.clone())).collect();
        let mut found: Vec<(u64, Vec<u8>)> = self.with(found);
        if way == Way::Down {
            found.reverse();
        }
        if self.store.flaw == Flaw::Phantoms && self.wrote.is_empty() {
            let state = self.store.state.lock();
            if let Some(before) = state.old.first() {
                found.retain(|(key, _)| before.contains_key(&(place, *key)));
            }
        }
        Ok(found)
    }

    fn savepoint(&mut self) -> Result<()> {
        self.mark = vec![(self.map.clone(), self.undo.len())];
        Ok(())
    }

    fn rollback_to_savepoint(&mut self) -> Result<()> {
        let Some((map, undo)) = self.mark.pop() else { return Err(Error::UnknownSavepoint) };
        self.map = map;
        for (key, value) in self.undo.split_off(undo).into_iter().rev() {
            if self.store.flaw == Flaw::NoLocks {
                self.with(|map| restore(map, key, value));
            }
        }
        Ok(())
    }
}

/// Number of histories in which a flaw may show; whether it does depends on the interleaving, too.
const CHANCES: u64 = 10;

fn run(flaw: Flaw, workload: Workload, seed: u64) -> Report {
    let store = Arc::new(BrokenStore::new(flaw));
    let (history, result) = workload::run(&*store, &Settings::new(workload, seed, 500));
    result.unwrap();
    let report = check(&history).unwrap();
    let kinds: Vec<String> = report.kinds().iter().map(Kind::to_string).collect();
    println!("{flaw:?}, {}: {kinds:?}", workload.name());
    report
}

/// The first report that shows it.
#[track_caller]
fn find(flaw: Flaw, workload: Workload, shows: impl Fn(&Report) -> bool) -> Report {
    let mut reports = (0..CHANCES).map(|chance| run(flaw, workload, 7 + chance));
    let found = reports.find(shows);
    found.unwrap_or_else(|| panic!("{flaw:?} does not show in {workload:?}"))
}

fn is_wrong(report: &Report) -> bool {
    !report.is_valid()
}

#[test]
fn sound_store_is_valid() {
    for workload in Workload::ALL {
        let report = run(Flaw::None, workload, 7);
        assert!(report.is_valid() && report.undecided == 0, "{report}");
        assert!(report.ambiguous_sums < report.transactions / 50, "{report}");
    }
}

#[test]
fn store_without_locks_is_found_out() {
    for flaw in [Flaw::NoLocks, Flaw::NoUndo] {
        for workload in Workload::ALL {
            find(flaw, workload, is_wrong);
        }
    }
}

#[test]
fn rollbacks_that_undo_nothing_are_g1a() {
    find(Flaw::NoUndo, Workload::Append, |report| report.has(Kind::AbortedRead));
}

#[test]
fn snapshots_allow_write_skew_and_nothing_worse() {
    for workload in Workload::ALL {
        let report = find(Flaw::Snapshot, workload, is_wrong);
        for kind in report.kinds() {
            let name = kind.to_string();
            assert!(name.starts_with("G2"), "{name}: {report}");
        }
    }
}

#[test]
fn stale_reads_need_real_time_to_be_seen() {
    for workload in Workload::ALL {
        find(Flaw::StaleReads, workload, is_wrong);
    }
}

#[test]
fn forgotten_commits_are_found_out() {
    for workload in Workload::ALL {
        find(Flaw::Forgets, workload, is_wrong);
    }
    find(Flaw::Forgets, Workload::Append, |report| report.has(Kind::LostWrite));
}

#[test]
fn range_reads_that_miss_something_are_phantoms() {
    let is_phantom = |kind: &Kind| kind.to_string().contains("predicate");
    for workload in [Workload::Append, Workload::Range, Workload::Sum, Workload::Mixed] {
        find(Flaw::Phantoms, workload, |report| report.kinds().iter().any(is_phantom));
    }
}
