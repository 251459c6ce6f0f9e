//! A forked child cannot use its parent's database: each call fails at once.
#![cfg(not(any(loom, shuttle)))]

use std::{
    fmt::Debug,
    os::unix::process::CommandExt,
    path::Path,
    pin::pin,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway::{
    AbsoluteMode, Cursor, Database, Direction, Error, LockWait, Options, Pending, Pipeline,
    PipelineOptions, Result, Savepoint, Table, Ticket, Transaction,
};
use clearway_sync::{
    Child,
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use clearway_testkit::disk::DelayedDisk;

/// Upper bound on the time of a child, on a machine that is busy with other work as well.
const LIMIT: Duration = Duration::from_secs(20);
/// Runs one test at a time, because a child inherits the directories that other tests have locked.
/// (The mutex is the standard library's: a child inherits no state of its waiters.)
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of threads that commit while other threads fork.
const WRITERS: u64 = 8;

fn options() -> Options {
    Options::new().cache_size(8 << 20).log_capacity(16 << 20)
}

/// A value of each type that a program can have of a database when it forks.
struct Everything {
    database: Database,
    table: Table,
    transaction: Transaction,
    savepoint: Savepoint,
    cursor: Cursor,
    pending: Vec<Pending<()>>,
    pipeline: Pipeline,
    tickets: Vec<Ticket<()>>,
}

impl Everything {
    /// Creates the values. Commits are not durable yet: each flush of the log takes 100 ms.
    fn of(directory: &Path) -> Result<Everything> {
        let disk = DelayedDisk::in_directory(directory, Duration::from_millis(100))?;
        let database = options().on_disk(disk).open(directory)?;
        let table = database.table("t")?;
        database.transact("first", |tx| tx.put(&table, "first", "1"))?;
        let mut transaction = database.begin_as("interactive");
        transaction.put(&table, "interactive", "1")?;
        let savepoint = transaction.savepoint()?;
        let mut cursor = transaction.cursor(&table, "first"..="first", Direction::Ascending)?;
        cursor.next(&mut transaction)?;
        let submit = |key| database.submit("submit", |tx| tx.put(&table, key, "1"));
        let pending =
            ["p1", "p2", "p3", "p4", "p5", "p6"].into_iter().map(submit).collect::<Result<_>>()?;
        let pipeline = PipelineOptions::new().agents(2).start(&database)?;
        let give = |key: &'static str| {
            let table = table.clone();
            pipeline.submit("give", move |tx| tx.put(&table, key, "1"))
        };
        let tickets = ["t1", "t2", "t3", "t4"].into_iter().map(give).collect::<Result<_>>()?;
        Ok(Everything {
            database,
            table,
            transaction,
            savepoint,
            cursor,
            pending,
            pipeline,
            tickets,
        })
    }

    /// Uses everything in a child, and drops it there.
    fn use_in_child(self) -> Result<(), String> {
        let Everything { database, table, transaction, savepoint, cursor, .. } = self;
        let Everything { pending, pipeline, tickets, .. } = self;
        refuses_pendings(pending)?;
        refuses_tickets(tickets)?;
        refuses_a_pipeline(&database, pipeline)?;
        refuses_a_transaction(transaction, &table, &savepoint, cursor)?;
        refuses_a_database(&database, &table)
    }

    /// Finishes everything in the parent.
    fn finish(self) -> Result<()> {
        let Everything { database, table, mut transaction, pending, pipeline, tickets, .. } = self;
        transaction.put(&table, "interactive", "2")?;
        transaction.commit()?;
        pending.into_iter().try_for_each(|pending| pending.wait().map(drop))?;
        tickets.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?;
        pipeline.close();
        database.transact("last", |tx| tx.put(&table, "last", "1"))?;
        database.close()
    }
}

/// Fails unless the call returned [`Error::Forked`].
fn refused<T: Debug>(call: &str, result: Result<T>) -> Result<(), String> {
    match result {
        Err(Error::Forked) => Ok(()),
        other => Err(format!("{call} gave {other:?}")),
    }
}

fn holds(what: &str, is_so: bool) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(format!("not so: {what}")) }
}

fn refuses_pendings(mut pending: Vec<Pending<()>>) -> Result<(), String> {
    let mut next = || pending.pop().ok_or("too few pendings");
    holds("a pending is ready", next()?.is_ready())?;
    holds("no deadline is waited for", next()?.wait_until(Instant::now() + 2 * LIMIT))?;
    refused("try_take", next()?.try_take().unwrap_or(Ok(())))?;
    refused("Pending::wait", next()?.wait())?;
    match pin!(next()?).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => refused("Pending::poll", result),
        Poll::Pending => Err("the pending waits".into()),
    }
}

fn refuses_tickets(mut tickets: Vec<Ticket<()>>) -> Result<(), String> {
    let mut next = || tickets.pop().ok_or("too few tickets");
    holds("a ticket is ready", next()?.is_ready())?;
    refused("Ticket::wait", next()?.wait())?;
    match pin!(next()?).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => refused("Ticket::poll", result),
        Poll::Pending => Err("the ticket waits".into()),
    }
}

fn refuses_a_pipeline(database: &Database, pipeline: Pipeline) -> Result<(), String> {
    let _ = pipeline.stats();
    refused("Pipeline::submit", pipeline.submit("", |_| Ok(())))?;
    refused("submit_then", pipeline.submit_then("", |_| Ok(()), |_: Result<()>| {}))?;
    refused("PipelineOptions::start", PipelineOptions::new().start(database))?;
    pipeline.close();
    Ok(())
}

fn refuses_a_transaction(
    mut tx: Transaction,
    table: &Table,
    savepoint: &Savepoint,
    mut cursor: Cursor,
) -> Result<(), String> {
    let mut value = Vec::new();
    refused("get", tx.get(table, "first"))?;
    refused("get_into", tx.get_into(table, "first", &mut value))?;
    refused("get_for_update", tx.get_for_update(table, "first"))?;
    refused("get_for_update_into", tx.get_for_update_into(table, "first", &mut value))?;
    let never = LockWait::Never;
    refused("get_for_update_with", tx.get_for_update_with(table, "first", never))?;
    refused("waiting", tx.waiting(never, |tx| tx.get(table, "first")))?;
    refused("insert", tx.insert(table, "child", "1"))?;
    refused("put", tx.put(table, "child", "1"))?;
    refused("update", tx.update(table, "first", "2"))?;
    refused("delete", tx.delete(table, "first"))?;
    refused("scan", tx.scan(table, ..).next().unwrap_or(Ok(Default::default())))?;
    refused("next_ref", tx.scan_descending(table, ..).next_ref())?;
    refused("skip_locked", tx.scan_for_update(table, ..).skip_locked().next_ref())?;
    refused("cursor", tx.cursor(table, .., Direction::Ascending).map(drop))?;
    refused("Cursor::next", cursor.next(&mut tx))?;
    refused("Cursor::next_ref", cursor.next_ref(&mut tx))?;
    refused("lock_table", tx.lock_table(table, AbsoluteMode::Shared))?;
    refused("lock_database", tx.lock_database(AbsoluteMode::Shared))?;
    refused("savepoint", tx.savepoint())?;
    refused("rollback_to", tx.rollback_to(savepoint))?;
    tx.lock_wait(never);
    refused("commit", tx.commit())
}

fn refuses_a_database(database: &Database, table: &Table) -> Result<(), String> {
    let run = |tx: &mut Transaction| tx.put(table, "child", "1");
    refused("transact", database.transact("child", run))?;
    refused("submit", database.submit("child", run))?;
    refused("begin, commit", database.begin().commit())?;
    refused("begin_as, commit_pipelined", database.begin_as("new").commit_pipelined())?;
    refused("rollback", database.begin().rollback())?;
    refused("table", database.table("child"))?;
    refused("open_table", database.open_table("t"))?;
    refused("create_table", database.create_table("child"))?;
    refused("drop_table", database.drop_table("t"))?;
    refused("sync", database.sync())?;
    refused("checkpoint", database.checkpoint())?;
    refused("verify", database.verify())?;
    refused("health", database.health())?;
    let copy = database.path().join("../copy");
    refused("backup", database.backup(&copy))?;
    holds("no backup was begun", !copy.exists())?;
    holds("there is nothing to report", database.stats().types.is_empty())?;
    holds("no table is listed", database.tables().is_empty())?;
    let _ = (database.lock_waits(), database.timings(), database.type_stats());
    assert!(database.waits().is_empty());
    let _ = (database.recovery(), table.name(), format!("{database:?}"));
    refused("close", database.close())
}

/// Returns the rows of the table `t`: opens the database, checks it, reads them and closes it.
fn rows(directory: &Path) -> Vec<String> {
    let database = options().open(directory).unwrap();
    database.verify().unwrap();
    let table = database.open_table("t").unwrap();
    let key = |entry: Result<(Vec<u8>, Vec<u8>)>| Ok(String::from_utf8(entry?.0).unwrap());
    let rows = database.transact("read", |tx| tx.scan(&table, ..).map(key).collect());
    database.close().unwrap();
    rows.unwrap()
}

#[test]
fn every_call_in_a_child_is_refused_and_its_drops_touch_nothing() {
    let (_alone, root) = (alone(), tempfile::tempdir().unwrap());
    let directory = root.path().join("db");
    let mut everything = Some(Everything::of(&directory).unwrap());
    let lock_file = directory.join("LOCK");
    let owner = std::fs::read(&lock_file).unwrap();
    let child = Child::start(|| {
        let everything = everything.take().ok_or("it is here")?;
        everything.use_in_child()?;
        refused("open", options().open(&directory))?;
        refused("open", options().open(directory.join("../another")))?;
        holds("nothing was made for it", !directory.join("../another").exists())?;
        refused("open", Options::in_memory().cache_size(1 << 20).open(""))
    });
    child.unwrap().wait(LIMIT).unwrap();
    assert_eq!(std::fs::read(&lock_file).unwrap(), owner, "the child wrote to the lock file");
    everything.unwrap().finish().unwrap();
    let expected = [
        "first",
        "interactive",
        "last",
        "p1",
        "p2",
        "p3",
        "p4",
        "p5",
        "p6",
        "t1",
        "t2",
        "t3",
        "t4",
    ];
    assert_eq!(rows(&directory), expected);
}

#[test]
fn a_child_of_a_process_that_has_closed_its_databases_opens_its_own() {
    let (_alone, root) = (alone(), tempfile::tempdir().unwrap());
    let directory = root.path().join("db");
    let fill = |key: &'static str| -> Result<()> {
        let database = options().open(&directory)?;
        let table = database.table("t")?;
        database.transact("fill", |tx| tx.put(&table, key, "1"))?;
        database.close()
    };
    fill("parent").unwrap();
    let child = Child::start(|| fill("child").map_err(|error| error.to_string()));
    child.unwrap().wait(LIMIT).unwrap();
    fill("parent again").unwrap();
    assert_eq!(rows(&directory), ["child", "parent", "parent again"]);
}

#[test]
fn a_fork_within_a_closure_ends_it_in_the_child() {
    let (_alone, root) = (alone(), tempfile::tempdir().unwrap());
    let database = options().open(root.path().join("db")).unwrap();
    let table = database.table("t").unwrap();
    let done = database.transact("fork", |tx| {
        tx.put(&table, "before", "1")?;
        let child = Child::start(|| {
            refused("put", tx.put(&table, "child", "1"))?;
            refused("transact", database.transact("child", |_| Ok(())))
        });
        child.unwrap().wait(LIMIT).map_err(|reason| Error::Aborted { reason })?;
        tx.put(&table, "after", "1")
    });
    done.unwrap();
    database.close().unwrap();
    assert_eq!(rows(&root.path().join("db")), ["after", "before"]);
}

#[test]
fn forks_while_eight_threads_commit_harm_nothing() {
    let (_alone, root) = (alone(), tempfile::tempdir().unwrap());
    let directory = root.path().join("db");
    let mut handles = {
        let database = options().open(&directory).unwrap();
        let table = database.table("t").unwrap();
        Some((database, table))
    };
    let (database, table) = handles.clone().unwrap();
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (database, table) = (&database, &table);
            let (acknowledged, is_over) = (&acknowledged[writer as usize], &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let next = acknowledged.load(Ordering::Relaxed);
                    let key = format!("{writer}-{next:08}");
                    database.transact("write", |tx| tx.insert(table, &key, "x")).unwrap();
                    acknowledged.store(next + 1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..20 {
            let child = Child::start(|| {
                let (database, table) = handles.take().ok_or("it is here")?;
                refuses_a_database(&database, &table)?;
                let begun = database.begin();
                drop((begun, table, database));
                if round % 2 == 0 { Ok(()) } else { std::process::exit(0) }
            });
            let result = child.unwrap().wait(LIMIT);
            if result.is_err() {
                is_over.store(true, Ordering::Relaxed);
            }
            result.unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    database.close().unwrap();
    drop((database, table, handles));
    let expected: Vec<String> = (0..WRITERS)
        .flat_map(|writer| {
            let rows = acknowledged[writer as usize].load(Ordering::Relaxed);
            (0..rows).map(move |row| format!("{writer}-{row:08}"))
        })
        .collect();
    assert!(expected.len() >= WRITERS as usize, "nothing was written meanwhile");
    assert_eq!(rows(&directory), expected);
}

#[test]
fn an_executed_program_inherits_no_descriptor_and_no_lock() {
    let (_alone, root) = (alone(), tempfile::tempdir().unwrap());
    let directory = root.path().join("db");
    let database = options().open(&directory).unwrap();
    database.table("t").unwrap();
    let list = format!("! ls -l /proc/self/fd | grep -q -e '{}' -e clearway", directory.display());
    let child = Child::start(|| Err(Command::new("sh").args(["-c", &list]).exec().to_string()));
    child.unwrap().wait(LIMIT).unwrap();
    let asleep = Child::start(|| Err(Command::new("sleep").arg("60").exec().to_string())).unwrap();
    let name = format!("/proc/{}/comm", asleep.id());
    let begun = Instant::now();
    while std::fs::read_to_string(&name).unwrap() != "sleep\n" {
        assert!(begun.elapsed() < LIMIT, "it does not exec");
        thread::yield_now();
    }
    database.close().unwrap();
    drop(database);
    assert!(rows(&directory).is_empty(), "opened while the program lives");
}

#[test]
fn a_child_that_did_not_exec_keeps_the_directory_locked() {
    let (_alone, root) = (alone(), tempfile::tempdir().unwrap());
    let directory = root.path().join("db");
    let database = options().open(&directory).unwrap();
    database.table("t").unwrap();
    let child = Child::start(|| {
        thread::sleep(10 * LIMIT);
        Ok(())
    });
    database.close().unwrap();
    drop(database);
    let refusal = options().open(&directory).unwrap_err();
    assert!(matches!(refusal, Error::AlreadyOpen { .. }), "{refusal:?}");
    assert!(refusal.to_string().contains("forked"), "{refusal}");
    drop(child); // kills it
    assert!(rows(&directory).is_empty());
}
