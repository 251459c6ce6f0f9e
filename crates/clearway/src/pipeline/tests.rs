//! Many clients, few agents.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    task::Poll,
    time::{Duration, Instant},
};

use clearway_testkit::disk::{CrashImage, DelayedDisk, Fault, SimDisk, SimOptions};

use super::*;
use crate::{Database, Options, Table};

fn open() -> (Database, Table) {
    let db = Options::in_memory().cache_size(8 << 20).open("pipeline").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

fn start(db: &Database, agents: usize) -> Pipeline {
    PipelineOptions::new().agents(agents).start(db).unwrap()
}

/// Adds one to a row and returns its new value.
fn add_one(tx: &mut Transaction, table: &Table, key: &[u8]) -> Result<u64> {
    let old = tx
        .get_for_update(table, key)?
        .map_or(0, |row| u64::from_le_bytes(row.try_into().expect("a row is eight bytes")));
    tx.put(table, key, (old + 1).to_le_bytes())?;
    Ok(old + 1)
}

fn count(db: &Database, table: &Table, key: &'static [u8]) -> u64 {
    let row = db.transact("count", |tx| tx.get(table, key)).unwrap();
    row.map_or(0, |row| u64::from_le_bytes(row.try_into().unwrap()))
}

#[test]
fn every_client_gets_its_own_result() {
    let (db, table) = open();
    let pipeline = start(&db, 3);
    let tickets: Vec<_> = (0..2_000u32)
        .map(|_| {
            let table = table.clone();
            pipeline.submit("add", move |tx| add_one(tx, &table, b"n")).unwrap()
        })
        .collect();
    let mut seen: Vec<u64> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(1..=2_000));
    assert_eq!(pipeline.stats().results, 2_000);
}

/// A task gives two jobs to its agent, which has no task left. The first one waits for a lock on
/// another agent; a third agent is woken for the second one (INBOX-4).
#[test]
fn each_job_of_an_agent_with_all_its_tasks_wakes_an_agent() {
    for _ in 0..20 {
        let (db, table) = open();
        let options = PipelineOptions::new().agents(3).tasks(1);
        let pipeline = Arc::new(options.start(&db).unwrap());
        let mut holder = db.begin();
        holder.put(&table, "held", "1").unwrap();
        thread::sleep(Duration::from_millis(2)); // All agents sleep now, or soon.
        let (send, second) = mpsc::channel();
        let (inner, shared) = (table.clone(), Arc::clone(&pipeline));
        let submits = async move |_: LentTransaction| {
            let waits = inner.clone();
            let put = move |tx: &mut Transaction| tx.put(&waits, "held", "2").map(drop);
            let first = shared.submit("waits", put)?;
            let runs = inner.clone();
            let add = move |tx: &mut Transaction| add_one(tx, &runs, b"n");
            let send = send.clone();
            shared.submit_then("runs", add, move |result| drop(send.send(result)))?;
            first.await
        };
        let both = pipeline.submit_async("submits", submits).unwrap();
        let second = second.recv_timeout(Duration::from_secs(20)).expect("an agent was woken");
        assert_eq!(second.unwrap(), 1);
        holder.rollback().unwrap();
        both.wait().unwrap();
    }
}

/// After the close an agent with all its tasks runs the job for which its task waits.
#[test]
fn task_that_waits_for_its_own_job_does_not_keep_the_pipeline_open() {
    for _ in 0..20 {
        let (db, table) = open();
        let pipeline = Arc::new(PipelineOptions::new().agents(1).tasks(1).start(&db).unwrap());
        let (inner, shared) = (table.clone(), Arc::clone(&pipeline));
        let (send, begun) = mpsc::channel();
        let submits = async move |_: LentTransaction| {
            let runs = inner.clone();
            let job = shared.submit("runs", move |tx| add_one(tx, &runs, b"n"))?;
            let _ = send.send(());
            job.await
        };
        let waits = pipeline.submit_async("submits", submits).unwrap();
        begun.recv().unwrap();
        let ended = thread::spawn(move || pipeline.end());
        let until = Instant::now() + Duration::from_secs(20);
        while !waits.is_ready() {
            assert!(Instant::now() < until, "the job is never run");
            thread::yield_now();
        }
        ended.join().unwrap();
        assert_eq!(waits.wait().unwrap(), 1);
    }
}

/// An agent that has as many tasks as it may have leaves the jobs of its inbox to another one:
/// those of other threads, and those of its own tasks (INBOX-4).
#[test]
fn agent_with_all_its_tasks_keeps_no_job_from_another_one() {
    let (db, table) = open();
    let pipeline = Arc::new(PipelineOptions::new().agents(2).tasks(1).start(&db).unwrap());
    let mut holder = db.begin();
    holder.put(&table, "held", "1").unwrap();
    let waits = {
        let table = table.clone();
        let wait = async move |mut tx: LentTransaction| tx.put(&table, "held", "2").await;
        pipeline.submit_async("waits", wait).unwrap()
    };
    let until = Instant::now() + Duration::from_secs(20);
    let wait_for = |what: &dyn Fn() -> bool| {
        while !what() {
            assert!(Instant::now() < until, "a job waits while an agent sleeps");
            thread::yield_now();
        }
    };
    wait_for(&|| !db.waits().is_empty());
    for round in 0..20 {
        let table = table.clone();
        let job = pipeline.submit("add", move |tx| add_one(tx, &table, b"n")).unwrap();
        wait_for(&|| job.is_ready());
        assert_eq!(job.wait().unwrap(), round + 1);
        // Both agents sleep now, or soon.
        thread::sleep(Duration::from_millis(2));
    }
    // A task gives a job to its own agent, which has no task left: the other agent runs it.
    holder.rollback().unwrap();
    assert!(waits.wait().is_ok());
    thread::sleep(Duration::from_millis(10));
    let submits = {
        let (table, shared) = (table.clone(), Arc::clone(&pipeline));
        let submit = async move |_: LentTransaction| {
            let table = table.clone();
            shared.submit("add", move |tx| add_one(tx, &table, b"n"))?.await
        };
        pipeline.submit_async("submits", submit).unwrap()
    };
    wait_for(&|| submits.is_ready());
    assert_eq!(submits.wait().unwrap(), 21);
}

#[test]
fn results_of_one_agent_come_in_order_and_in_batches() {
    let disk = DelayedDisk::in_memory(Duration::from_millis(5));
    let db = Options::new().on_disk(disk).cache_size(8 << 20).open("slow").unwrap();
    let table = db.table("t").unwrap();
    let pipeline = start(&db, 1);
    let (sender, results) = mpsc::channel();
    for _ in 0..1_000 {
        let (table, sender) = (table.clone(), sender.clone());
        let body = move |tx: &mut Transaction| add_one(tx, &table, b"n");
        pipeline.submit_then("add", body, move |n| sender.send(n.unwrap()).unwrap()).unwrap();
    }
    drop(sender);
    assert!(results.iter().eq(1..=1_000));
    let stats = pipeline.stats();
    assert!(stats.batches <= stats.results / 2, "{stats:?}");
    assert!(stats.parks <= stats.results / 2, "{stats:?}");
}

/// Suspends a task this many times. It is ready again at once.
async fn yield_times(mut times: u32) {
    poll_fn(|context| {
        if times == 0 {
            return Poll::Ready(());
        }
        times -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// As [`add_one`], by a task.
async fn add_one_as_task(tx: &mut LentTransaction, table: &Table, key: &[u8]) -> Result<u64> {
    let old = tx.get_for_update(table, key).await?;
    let old = old.map_or(0, |row| u64::from_le_bytes(row.try_into().expect("eight bytes")));
    tx.put(table, key, (old + 1).to_le_bytes()).await?;
    Ok(old + 1)
}

/// Each transaction returns the number of transactions that have ended before it, so the results
/// say in which order the transactions have ended (PIPELINE-5).
#[test]
fn results_of_tasks_and_closures_come_in_the_order_of_their_ends() {
    let disk = DelayedDisk::in_memory(Duration::from_millis(2));
    let db = Options::new().on_disk(disk).cache_size(8 << 20).open("slow").unwrap();
    let table = db.table("t").unwrap();
    let pipeline = start(&db, 1);
    let (sender, results) = mpsc::channel();
    for submitted in 0..1_000u32 {
        let (table, sender) = (table.clone(), sender.clone());
        let done = move |n: Result<u64>| sender.send((n.unwrap(), submitted)).unwrap();
        if submitted % 3 == 0 {
            let body = move |tx: &mut Transaction| add_one(tx, &table, b"n");
            pipeline.submit_then("closure", body, done).unwrap();
        } else {
            // No lock is held while the task is suspended: the closures could not wait for it.
            let body = async move |mut tx: LentTransaction| {
                yield_times(submitted % 5).await;
                add_one_as_task(&mut tx, &table, b"n").await
            };
            pipeline.submit_async_then("task", body, done).unwrap();
        }
    }
    drop(sender);
    let (ended, submitted): (Vec<u64>, Vec<u32>) = results.iter().unzip();
    assert!(ended.into_iter().eq(1..=1_000));
    assert!(!submitted.is_sorted(), "no task has ended after a later one");
    let stats = pipeline.stats();
    assert!(stats.batches <= stats.results / 2, "{stats:?}");
}

/// A client that submits its next transaction when it has the result of the last one.
fn go_on(pipeline: &Arc<Pipeline>, table: &Table, left: u32, over: mpsc::Sender<()>) {
    let (again, body_table, table) = (Arc::clone(pipeline), table.clone(), table.clone());
    let body = move |tx: &mut Transaction| add_one(tx, &body_table, b"n");
    let done = move |result: Result<u64>| {
        result.unwrap();
        match left {
            0 => over.send(()).unwrap(),
            left => go_on(&again, &table, left - 1, over),
        }
    };
    pipeline.submit_then("add", body, done).unwrap();
}

#[test]
fn callbacks_go_on_and_the_last_of_them_may_hold_the_pipeline() {
    let (db, table) = open();
    let pipeline = Arc::new(start(&db, 2));
    let (sender, over) = mpsc::channel();
    (0..20).for_each(|_| go_on(&pipeline, &table, 49, sender.clone()));
    drop((pipeline, sender));
    assert_eq!(over.iter().count(), 20);
    assert_eq!(count(&db, &table, b"n"), 1_000);
}

#[test]
fn what_was_accepted_before_the_close_is_run_and_delivered() {
    let (db, table) = open();
    let delivered = Arc::new(AtomicU64::new(0));
    let pipeline = start(&db, 2);
    for _ in 0..500 {
        let (table, delivered) = (table.clone(), Arc::clone(&delivered));
        let body = move |tx: &mut Transaction| add_one(tx, &table, b"n");
        let done = move |result: Result<u64>| {
            result.unwrap();
            delivered.fetch_add(1, Ordering::SeqCst);
        };
        pipeline.submit_then("add", body, done).unwrap();
    }
    pipeline.close();
    assert_eq!(delivered.load(Ordering::SeqCst), 500);
    assert_eq!(count(&db, &table, b"n"), 500);
}

#[test]
fn panics_harm_no_other_client() {
    let (db, table) = open();
    let pipeline = start(&db, 1);
    let broken = pipeline.submit::<(), _>("panic", |_| panic!("as it should")).unwrap();
    let body_table = table.clone();
    pipeline
        .submit_then(
            "add",
            move |tx| add_one(tx, &body_table, b"n"),
            |_| panic!("a callback that panics, as it should"),
        )
        .unwrap();
    let next = table.clone();
    let sound = pipeline.submit("add", move |tx| add_one(tx, &next, b"n")).unwrap();
    assert!(matches!(broken.wait(), Err(Error::Panicked { .. })));
    assert_eq!(sound.wait().unwrap(), 2);
}

#[test]
fn a_full_inbox_refuses_and_serves_what_it_has() {
    let (db, table) = open();
    // Two inboxes, each with room for half of the backlog, rounded up: 4.
    let pipeline = PipelineOptions::new().agents(2).backlog(7).start(&db).unwrap();
    let mut held = db.begin();
    held.put(&table, b"n", 0u64.to_le_bytes()).unwrap();
    let mut accepted = Vec::new();
    let refused = loop {
        let table = table.clone();
        match pipeline.submit("add", move |tx| add_one(tx, &table, b"n")) {
            Ok(ticket) => accepted.push(ticket),
            Err(error) => break error,
        }
        assert!(accepted.len() <= 64, "no limit");
    };
    assert!(matches!(refused, Error::BacklogFull { waiting: 4 }), "{refused}");
    assert!(refused.is_retryable());
    let expected = "4 transactions wait for an agent of the pipeline, its share of the backlog; \
                    submit again later";
    assert_eq!(refused.to_string(), expected);
    held.commit().unwrap();
    assert!(accepted.len() >= 4);
    assert!(accepted.into_iter().all(|ticket| ticket.wait().is_ok()));
    for agents in [0, 5_000] {
        let refused = PipelineOptions::new().agents(agents).start(&db);
        assert!(matches!(refused, Err(Error::BadOption { option: "agents", .. })));
    }
}

#[test]
fn an_agent_that_waits_for_a_lock_holds_up_no_other_inbox() {
    let (db, table) = open();
    let pipeline = start(&db, 2);
    let mut held = db.begin();
    held.put(&table, b"held", b"").unwrap();
    let (sender, begun) = mpsc::channel();
    let stuck = {
        let table = table.clone();
        let body = move |tx: &mut Transaction| {
            sender.send(()).unwrap();
            tx.replace(&table, b"held", b"mine")
        };
        pipeline.submit("stuck", body).unwrap()
    };
    begun.recv().unwrap();
    let others: Vec<_> = (0..100u8)
        .map(|n| {
            let table = table.clone();
            pipeline.submit("free", move |tx| tx.put(&table, [n], b"")).unwrap()
        })
        .collect();
    // Half of them were given to the agent that sits in the lock wait.
    assert!(others.into_iter().all(|ticket| ticket.wait().is_ok()));
    assert!(!stuck.is_ready());
    assert!(pipeline.stats().stolen > 0);
    held.commit().unwrap();
    assert!(stuck.wait().unwrap().is_some());
}

#[test]
fn what_is_delivered_survives_a_crash() {
    let disk = SimDisk::new(3, SimOptions::default());
    let options = || Options::in_memory().on_disk(Arc::new(disk.clone())).cache_size(8 << 20);
    let db = options().open("sim").unwrap();
    let table = db.table("t").unwrap();
    let pipeline = start(&db, 2);
    for n in 0..50u8 {
        let body_table = table.clone();
        let ticket = pipeline.submit("put", move |tx| tx.put(&body_table, [n], b"")).unwrap();
        ticket.wait().unwrap();
        let crashed = Arc::new(disk.crash(CrashImage::DropAll));
        let again = Options::in_memory().on_disk(crashed).cache_size(8 << 20).open("").unwrap();
        let table = again.table("t").unwrap();
        assert!(again.transact("get", |tx| tx.get(&table, [n])).unwrap().is_some(), "{n}");
    }
}

#[test]
fn when_the_log_fails_every_client_gets_an_error() {
    let disk = SimDisk::new(4, SimOptions::default());
    let options = Options::in_memory().on_disk(Arc::new(disk.clone())).cache_size(8 << 20);
    let db = options.open("sim").unwrap();
    let table = db.table("t").unwrap();
    let pipeline = start(&db, 2);
    disk.plan(Fault::PowerCut { at: disk.operations() + 1 });
    let tickets: Vec<_> = (0..200u8)
        .map(|n| {
            let table = table.clone();
            let ticket = pipeline.submit("put", move |tx| tx.put(&table, [n], b"")).unwrap();
            // So that there are two flushes at least.
            while n == 0 && !ticket.is_ready() {
                thread::yield_now();
            }
            ticket
        })
        .collect();
    let mut failed = 0;
    for ticket in tickets {
        match ticket.wait() {
            Ok(_) => {}
            Err(Error::OutcomeUnknown { .. } | Error::Poisoned { .. }) => failed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(failed > 0);
    pipeline.close();
}
