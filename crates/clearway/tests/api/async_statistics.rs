//! Statistics of tasks and agents: locks that were granted to tasks which were not polled, and long
//! steps.

use std::{
    future::Future,
    pin::Pin,
    sync::mpsc,
    task::{Context, Waker},
    thread,
    time::Duration,
};

use clearway::{AsyncTransaction, Database, GrantToPoll, Options, PipelineOptions, Result, Table};

fn database() -> (Database, Table) {
    let db = Options::in_memory().cache_size(16 << 20).open("statistics").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

fn of_type(db: &Database, name: &str) -> GrantToPoll {
    let waits = db.stats().lock_waits;
    let found = waits.types.iter().find(|kind| kind.name == name);
    found.map_or(GrantToPoll::default(), |kind| kind.counts.grant_to_poll)
}

type Wait = Pin<Box<dyn Future<Output = Result<AsyncTransaction>>>>;

/// Begins a task that waits for the key.
fn wait(db: &Database, table: &Table) -> Wait {
    let (mut tx, table) = (db.begin_async("task"), table.clone());
    let mut wait: Wait = Box::pin(async move {
        tx.get_for_update(&table, b"k").await?;
        Ok(tx)
    });
    assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    wait
}

#[test]
fn the_time_from_a_grant_to_the_next_poll_is_counted() {
    const LATE: Duration = Duration::from_millis(30);
    let (db, table) = database();
    for late in [true, false] {
        let mut holder = db.begin();
        holder.put(&table, b"k", b"1").unwrap();
        let mut task = wait(&db, &table);
        // The time before the grant does not count.
        thread::sleep(Duration::from_millis(60));
        holder.commit().unwrap();
        thread::sleep(if late { LATE } else { Duration::ZERO });
        let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let std::task::Poll::Ready(Ok(tx)) = polled else { panic!("it was granted") };
        drop(tx);
        let waits = db.lock_waits();
        let counts = &waits.types.iter().find(|kind| kind.name == "task").unwrap().counts;
        let late_us = LATE.as_micros() as u64;
        let polled = counts.grant_to_poll;
        assert_eq!(polled.count, if late { 1 } else { 2 });
        assert!(polled.us >= late_us && polled.us_max >= late_us, "{polled:?}");
        assert!(polled.us + polled.count * 60_000 <= counts.wait_us + 2, "{counts:?}");
        assert!(late || polled.us_max < polled.us || polled.us == polled.us_max, "{polled:?}");
    }
    assert_eq!(waits_of_table(&db).count, 2);
}

fn waits_of_table(db: &Database) -> GrantToPoll {
    db.lock_waits().tables[0].counts.grant_to_poll
}

#[test]
fn other_waits_have_no_time_from_grant_to_poll() {
    let (db, table) = database();
    let mut holder = db.begin();
    holder.put(&table, b"k", b"1").unwrap();
    // A task that is dropped, before and after its grant.
    drop(wait(&db, &table));
    let granted = wait(&db, &table);
    thread::scope(|scope| {
        let blocked = scope.spawn(|| db.transact("thread", |tx| tx.get(&table, b"k")));
        while db.stats().engine.lock.waiting < 2 {
            thread::yield_now();
        }
        holder.commit().unwrap();
        drop(granted);
        blocked.join().unwrap().unwrap();
    });
    let waits = db.lock_waits();
    assert_eq!(waits.types.iter().map(|kind| kind.counts.waits).sum::<u64>(), 3);
    assert_eq!((of_type(&db, "task"), of_type(&db, "thread")), Default::default());
}

/// Keeps the thread for longer than an agent should be kept.
fn long_sleep() -> Result<()> {
    thread::sleep(Duration::from_millis(25));
    Ok(())
}

#[test]
fn long_steps_of_agents_are_counted_by_type() {
    const SHORT_ONES: u64 = 20;
    let (db, table) = database();
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    let closure = pipeline.submit("closure", |_| long_sleep()).unwrap();
    closure.wait().unwrap();
    let of_task = table.clone();
    let task = pipeline.submit_async("task", async move |mut tx| {
        long_sleep()?;
        tx.put(&of_task, "k", "1").await?;
        Ok(())
    });
    task.unwrap().wait().unwrap();
    // A callback is not a part of a transaction, and not of the next one either.
    for _ in 0..SHORT_ONES {
        let (done, is_done) = mpsc::channel();
        let callback = move |_: Result<()>| {
            thread::sleep(Duration::from_millis(12));
            done.send(()).unwrap();
        };
        pipeline.submit_then("callback", |_| Ok(()), callback).unwrap();
        let of_task = table.clone();
        let put = move |tx: &mut clearway::Transaction| tx.put(&of_task, b"q", b"1");
        pipeline.submit("short", put).unwrap().wait().unwrap();
        is_done.recv().unwrap();
    }
    // The same closure on another thread.
    db.transact("thread", |_| long_sleep()).unwrap();
    pipeline.close();
    let types = db.stats().types;
    let long = |name| types.iter().find(|kind| kind.name == name).unwrap().long_steps;
    assert_eq!((long("closure"), long("task"), long("thread")), (1, 1, 0));
    // A busy machine makes some of them long.
    let is_few = |name| long(name) < SHORT_ONES / 2;
    assert!(is_few("callback") && is_few("short"), "{types:?}");
}
