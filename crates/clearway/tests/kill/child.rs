//! The child process that is killed.

use std::{
    collections::VecDeque,
    io::Write,
    ops::Range,
    path::{Path, PathBuf},
};

use clearway::{Database, Error, Options, Pending, Result};
use clearway_sync::thread;
use clearway_testkit::bank::{BankTransfer, pair};
use clearway_testkit::{Random, failpoint};

use crate::{
    bank::{BANK, BATCH, Books},
    patterned, restless, tasks,
};

pub(crate) const ROLE: &str = "CLEARWAY_KILL_ROLE";
pub(crate) const DIRECTORY: &str = "CLEARWAY_KILL_DIRECTORY";
pub(crate) const SEED: &str = "CLEARWAY_KILL_CHILD_SEED";

/// Agent threads, and clients of each.
pub(crate) const AGENTS: u64 = 2;
const CLIENTS: u64 = 12;

/// The work of a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Open and run transactions until killed, with frequent checkpoints.
    Load,
    /// The same without checkpoints.
    LoadWithoutCheckpoints,
    /// Open, and do nothing more until killed.
    Recover,
    /// Do everything that the engine can do, so that the child passes every failpoint.
    Restless,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Load => "load",
            Role::LoadWithoutCheckpoints => "load-without-checkpoints",
            Role::Recover => "recover",
            Role::Restless => "restless",
        }
    }

    fn asked() -> Option<Role> {
        let name = std::env::var(ROLE).ok()?;
        let roles = [Role::Load, Role::LoadWithoutCheckpoints, Role::Recover, Role::Restless];
        roles.into_iter().find(|role| role.name() == name)
    }
}

/// The way in which the transactions of a child's load wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Driver {
    Blocking,
    Tasks,
}

impl Driver {
    /// Returns the driver of a child. No three successive seeds have the same one, and of the seeds
    /// with the same options, or the same order of keys, about half have each.
    pub(crate) fn of(seed: u64) -> Driver {
        if seed.count_ones().is_multiple_of(2) { Driver::Blocking } else { Driver::Tasks }
    }
}

/// The line with which a child reports that its load is done by tasks.
pub(crate) const BY_TASKS: &str = "tasks";

/// Options that vary with the seed: caches from tight to ample, checkpoints from frequent to rare.
pub(crate) fn options(role: Role, seed: u64) -> Options {
    let cache = [1, 2, 8, 32][(seed % 4) as usize] << 20;
    let options = Options::new().cache_size(cache);
    match role {
        Role::Load => {
            let checkpoint = [256 << 10, 1 << 20, 4 << 20][(seed % 3) as usize];
            options.log_capacity(64 << 20).checkpoint_every(checkpoint)
        }
        // The same for both: otherwise recovery could find more log than its capacity.
        Role::LoadWithoutCheckpoints | Role::Recover => {
            options.log_capacity(512 << 20).checkpoint_every(128 << 20)
        }
        // Short segments, so that many are created and recycled.
        Role::Restless => options.log_capacity(8 << 20).checkpoint_every(256 << 10),
    }
}

/// Performs the role that the environment names, and does not return; returns if it names none.
pub(crate) fn run_if_asked() {
    let Some(role) = Role::asked() else { return };
    failpoint::arm_from_environment();
    let path = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let seed = std::env::var(SEED).unwrap().parse().unwrap();
    if role == Role::Restless {
        restless::run(&path, seed);
    }
    let db = open(&path, role, seed);
    if role != Role::Recover {
        load(&db, seed);
    }
    say("\nopen\n");
    loop {
        thread::park();
    }
}

/// Opens the database, or ends the process.
pub(crate) fn open(path: &Path, role: Role, seed: u64) -> Database {
    options(role, seed).open(path).unwrap_or_else(|error| {
        eprintln!("the child cannot open: {error}");
        std::process::exit(3)
    })
}

/// Writes whole lines with one call.
pub(crate) fn say(lines: &str) {
    let mut output = std::io::stdout().lock();
    output.write_all(lines.as_bytes()).and_then(|()| output.flush()).unwrap();
}

/// Starts the threads of the load.
fn load(db: &Database, seed: u64) {
    let driver = Driver::of(seed);
    for agent in 0..AGENTS {
        let db = db.clone();
        thread::spawn(move || {
            let books = Books::open(&db).unwrap();
            exit_on_error(clients(&db, &books, agent, driver, Random::new(seed * 31 + agent)));
        });
    }
    let filled = db.clone();
    thread::spawn(move || {
        exit_on_error(patterned::fill(&filled, seed, driver, Random::new(seed * 41)));
    });
    let db = db.clone();
    thread::spawn(move || {
        let books = Books::open(&db).unwrap();
        exit_on_error(batches(&db, &books, seed, driver, Random::new(seed * 37)));
    });
}

pub(crate) fn exit_on_error(result: Result<()>) {
    if let Err(error) = result {
        eprintln!("the child's load failed: {error}");
        std::process::exit(4);
    }
}

/// The clients of an agent.
pub(crate) fn clients_of(agent: u64) -> Range<u64> {
    agent * CLIENTS..(agent + 1) * CLIENTS
}

/// Performs the transfers of an agent's clients.
pub(crate) fn clients(
    db: &Database,
    books: &Books,
    agent: u64,
    driver: Driver,
    random: Random,
) -> Result<()> {
    match driver {
        Driver::Blocking => pipeline(db, books, agent, random),
        Driver::Tasks => {
            say(&format!("\n{BY_TASKS}\n"));
            tasks::clients(db, books, agent, random)
        }
    }
}

/// Keeps one transaction of each of its clients in progress, and reports the acknowledged ones.
fn pipeline(db: &Database, books: &Books, agent: u64, mut random: Random) -> Result<()> {
    let mut under_way: VecDeque<(u64, u64, Pending<()>)> = VecDeque::new();
    let mut free: VecDeque<(u64, u64)> = VecDeque::new();
    for client in clients_of(agent) {
        free.push_back((client, books.last_sequence(client)?));
    }
    let mut lines = String::new();
    loop {
        while let Some((client, last)) = free.pop_front() {
            let sequence = last + 1;
            let transfer = BANK.draw(&mut random, client, sequence);
            if random.below(20) == 0 {
                abort(db, books, &transfer)?;
            }
            let pending = db.submit("transfer", |tx| books.transfer(tx, &transfer))?;
            under_way.push_back((client, sequence, pending));
        }
        if let Some((client, sequence, pending)) = under_way.pop_front() {
            pending.wait()?;
            acknowledge(&mut lines, &mut free, client, sequence);
        }
        while under_way.front().is_some_and(|(.., pending)| pending.is_ready()) {
            if let Some((client, sequence, pending)) = under_way.pop_front() {
                pending.wait()?;
                acknowledge(&mut lines, &mut free, client, sequence);
            }
        }
        say(&lines);
        lines.clear();
    }
}

fn acknowledge(lines: &mut String, free: &mut VecDeque<(u64, u64)>, client: u64, sequence: u64) {
    lines.push_str(&format!("ack {client} {sequence}\n"));
    free.push_back((client, sequence));
}

/// Runs a transaction that aborts after all its work.
fn abort(db: &Database, books: &Books, transfer: &BankTransfer) -> Result<()> {
    let result: Result<()> = db.transact("abort", |tx| {
        books.transfer(tx, transfer)?;
        tx.abort("on purpose")
    });
    match result {
        Err(Error::Aborted { .. }) => Ok(()),
        other => other,
    }
}

/// Runs long transactions of many rows and rolls some of them back, so that a kill leaves much to
/// undo.
pub(crate) fn batches(
    db: &Database,
    books: &Books,
    writer: u64,
    driver: Driver,
    mut random: Random,
) -> Result<()> {
    if driver == Driver::Tasks {
        return tasks::block_on(tasks::batches(db, books, writer, random));
    }
    for batch in 0.. {
        let mut tx = db.begin();
        for index in 0..BATCH {
            let key = [&pair(writer, batch)[..], &index.to_be_bytes()].concat();
            tx.put(&books.batch, key, batch_value(&mut random))?;
            if index % 8 == 7 {
                thread::yield_now();
            }
        }
        match random.below(3) {
            0 => tx.rollback()?,
            1 => tx.commit()?,
            _ => drop(tx.commit_pipelined()?),
        }
    }
    Ok(())
}

/// Returns a value of a batch: from nothing to overflow pages.
pub(crate) fn batch_value(random: &mut Random) -> Vec<u8> {
    vec![7; [0, 50, 700, 9_000][random.below(4) as usize]]
}
