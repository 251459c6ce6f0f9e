//! No result of a transaction is delivered before everything that it depends on is durable,
//! however the transaction ends: with a value, with an error of the closure, with a lost conflict
//! or with a panic, in the first attempt or in a later one.
//!
//! Writers commit numbered values to a few rows and keep their [`Pending`]s; the log is slow.
//! Readers lock the rows in random order, so that many of them lose deadlocks, and end at random
//! in one of these ways. When a reader has its result, each commit from which any of its attempts
//! has read must be durable. `cargo xtask prove --lane mutants` plants bugs that this test must
//! find.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway::{Database, Error, Options, Pending, PipelineOptions, Result, Table, Transaction};
use clearway_testkit::Random;
use clearway_testkit::disk::DelayedDisk;

const ROWS: usize = 3;
const THREADS: u64 = 4;
/// Lower bound on the checks of each kind of result in which there was something to wait for.
const CHECKS_MIN: u64 = 8;
/// Upper bound on the time of a run. It fails if some kind of result was not checked by then.
const TIME_MAX: Duration = Duration::from_secs(30);

/// The kinds of results that readers get.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Value,
    Aborted,
    Panicked,
    /// The error of the last attempt, which lost a conflict.
    Conflict,
    /// The closure panicked after its transaction had lost a conflict.
    VictimPanicked,
    /// An attempt before the last one read what the last one reports.
    Retried,
    Ticket,
    Interactive,
}

const KINDS: usize = Kind::Interactive as usize + 1;

struct Run {
    db: Database,
    table: Table,
    /// The commits, by number. A commit is readable a moment before it is in here.
    commits: Mutex<HashMap<u64, Pending<()>>>,
    next: AtomicU64,
    checks: [AtomicU64; KINDS],
}

/// The commits that the attempts of one closure have read, and how the attempts went.
#[derive(Default)]
struct Seen {
    commits: Vec<u64>,
    attempts: u32,
    is_victim: bool,
    /// Whether something that was read was not durable when the closure ended.
    matters: bool,
}

/// The rows, in an order drawn at random.
fn order(random: &mut Random) -> [u8; ROWS] {
    let mut rows: [u8; ROWS] = std::array::from_fn(|row| row as u8);
    random.shuffle(&mut rows);
    rows
}

impl Run {
    fn is_durable(&self, commit: u64) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if commit == 0 {
                return true;
            }
            if let Some(pending) =
                self.commits.lock().unwrap_or_else(PoisonError::into_inner).get(&commit)
            {
                return pending.is_ready();
            }
            assert!(Instant::now() < deadline, "commit {commit} was read and never returned");
            thread::yield_now();
        }
    }

    fn write(&self, random: &mut Random) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let rows = order(random);
        let written = self.db.submit("write", |tx| {
            rows[..2].iter().try_for_each(|row| {
                thread::yield_now();
                tx.put(&self.table, [*row], number.to_be_bytes()).map(drop)
            })
        });
        match written {
            Ok(pending) => drop(
                self.commits.lock().unwrap_or_else(PoisonError::into_inner).insert(number, pending),
            ),
            // The writer has lost too many deadlocks. No transaction can have read its values.
            Err(error) => assert!(matches!(error, Error::Deadlock { .. }), "{error}"),
        }
    }

    /// One attempt of a reader.
    fn read(&self, tx: &mut Transaction, seen: &RefCell<Seen>, random: &mut Random) -> Result<()> {
        seen.borrow_mut().attempts += 1;
        seen.borrow_mut().is_victim = false;
        let mut result = Ok(());
        for row in order(random) {
            match tx.get_for_update(&self.table, [row]) {
                Ok(Some(value)) => {
                    let number = u64::from_be_bytes(value.try_into().unwrap());
                    seen.borrow_mut().commits.push(number);
                }
                Ok(None) => panic!("the rows are there"),
                Err(error) => {
                    seen.borrow_mut().is_victim = true;
                    result = Err(error);
                    break;
                }
            }
            thread::sleep(Duration::from_micros(random.below(300)));
        }
        let mut seen = seen.borrow_mut();
        seen.matters = seen.commits.iter().any(|commit| !self.is_durable(*commit));
        result
    }

    /// An attempt that reads nothing: its result depends only on the attempts before it.
    fn remember(&self, seen: &RefCell<Seen>) -> Result<()> {
        let mut seen = seen.borrow_mut();
        (seen.attempts, seen.is_victim) = (seen.attempts + 1, false);
        seen.matters = seen.commits.iter().any(|commit| !self.is_durable(*commit));
        Ok(())
    }

    /// The closure of a reader: reads, or remembers what a lost attempt has read, and ends at
    /// random with a value, an error or a panic.
    fn body(&self, tx: &mut Transaction, seen: &RefCell<Seen>, random: &mut Random) -> Result<()> {
        let remembers = seen.borrow().attempts > 0 && random.below(2) == 0;
        let result = if remembers { self.remember(seen) } else { self.read(tx, seen, random) };
        match random.below(4) {
            0 => panic!("after reading {:?}", seen.borrow().commits),
            1 if result.is_ok() => tx.abort(format!("after reading {:?}", seen.borrow().commits)),
            _ => result,
        }
    }

    /// Called when the result has been delivered: everything it may reveal must be durable.
    fn check(&self, kind: Kind, seen: &Seen) {
        for commit in &seen.commits {
            if !self.is_durable(*commit) {
                // Poison the mutex, so that the other threads stop as well.
                let _commits = self.commits.lock();
                panic!("{kind:?} delivered before commit {commit} was durable");
            }
        }
        self.checks[kind as usize].fetch_add(u64::from(seen.matters), Ordering::Relaxed);
    }

    fn run_reader(&self, random: &mut Random) {
        let seen = RefCell::default();
        let result = if random.below(2) == 0 {
            self.db.transact("transact", |tx| self.body(tx, &seen, random))
        } else {
            self.db.submit("submit", |tx| self.body(tx, &seen, random)).and_then(Pending::wait)
        };
        let seen = seen.into_inner();
        let kind = match result {
            Ok(()) if seen.attempts > 1 => Kind::Retried,
            Ok(()) => Kind::Value,
            Err(Error::Aborted { .. }) => Kind::Aborted,
            Err(Error::Panicked { .. }) if seen.is_victim => Kind::VictimPanicked,
            Err(Error::Panicked { .. }) => Kind::Panicked,
            Err(Error::Deadlock { .. }) => Kind::Conflict,
            Err(error) => panic!("{error}"),
        };
        self.check(kind, &seen);
    }

    /// Runs a transaction that its owner ends.
    fn run_interactive(&self, random: &mut Random) {
        let seen = RefCell::default();
        let mut tx = self.db.begin();
        if self.read(&mut tx, &seen, random).is_ok() {
            tx.commit().unwrap();
            self.check(Kind::Interactive, &seen.into_inner());
        }
    }

    fn is_done(&self) -> bool {
        self.checks.iter().all(|count| count.load(Ordering::Relaxed) >= CHECKS_MIN)
            || self.commits.is_poisoned()
    }
}

/// Runs a reader on an agent. Its closure must be `'static`, so it borrows nothing.
fn run_ticket(run: &'static Run, pipeline: &clearway::Pipeline, random: &mut Random) {
    let mut random = Random::new(random.next_u64());
    let (send, seen) = std::sync::mpsc::channel();
    let body = move |tx: &mut Transaction| {
        let seen = RefCell::default();
        let result = run.body_of_agent(tx, &seen, &mut random);
        let _ = send.send(seen.into_inner());
        result
    };
    let result = pipeline.submit("agent", body).unwrap().wait();
    let seen = seen.try_iter().fold(Seen::default(), |mut all, seen| {
        all.commits.extend(seen.commits);
        all.matters |= seen.matters;
        all
    });
    assert!(matches!(result, Ok(()) | Err(Error::Aborted { .. } | Error::Deadlock { .. })));
    run.check(Kind::Ticket, &seen);
}

impl Run {
    fn body_of_agent(
        &self,
        tx: &mut Transaction,
        seen: &RefCell<Seen>,
        random: &mut Random,
    ) -> Result<()> {
        self.read(tx, seen, random)?;
        if random.below(2) == 0 { tx.abort("as it should") } else { Ok(()) }
    }
}

#[test]
fn nothing_that_was_read_is_revealed_before_it_is_durable() {
    run_with(Options::new());
}

/// If a retry does not first lock what the lost attempt has read, it does not meet the tags of
/// those rows a second time.
#[test]
fn nothing_that_a_lost_attempt_has_read_is_revealed_before_it_is_durable() {
    run_with(Options::new().retries_lock_first(false));
}

fn run_with(options: Options) {
    let options = options.cache_size(8 << 20).attempts(2);
    let disk = DelayedDisk::in_memory(Duration::from_millis(10));
    let db = options.on_disk(disk).open("answers").unwrap();
    let table = db.table("t").unwrap();
    let zero = 0u64.to_be_bytes();
    let fill =
        |tx: &mut Transaction| (0..ROWS as u8).try_for_each(|row| tx.insert(&table, [row], zero));
    db.transact("fill", fill).unwrap();
    let run: &'static Run = Box::leak(Box::new(Run {
        db,
        table,
        commits: Mutex::default(),
        next: AtomicU64::new(1),
        checks: Default::default(),
    }));
    let pipeline = PipelineOptions::new().agents(2).start(&run.db).unwrap();
    let deadline = Instant::now() + TIME_MAX;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let pipeline = &pipeline;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                while !run.is_done() && Instant::now() < deadline {
                    run.write(&mut random);
                    match random.below(8) {
                        0 => run.run_interactive(&mut random),
                        1 => run_ticket(run, pipeline, &mut random),
                        _ => run.run_reader(&mut random),
                    }
                }
            });
        }
    });
    pipeline.close();
    assert!(run.is_done(), "some kind of result was not checked: {:?}", run.checks);
    run.db.close().unwrap();
}
