//! Waits of a thread for itself: they fail at once, and nothing else does.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway::{
    AbsoluteMode, Database, Error, LockConflict, LockWait, Options, PipelineOptions, Result, Table,
};

fn database() -> (Database, Table) {
    let db = Options::in_memory().cache_size(16 << 20).open("self waits").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

/// Returns the conflict of a wait that failed as one for itself.
fn self_wait<T: std::fmt::Debug>(result: Result<T>) -> Arc<LockConflict> {
    match result {
        Err(Error::SelfWait { conflict: Some(conflict) }) => conflict,
        other => panic!("{other:?}"),
    }
}

fn until_waiting(db: &Database, count: usize) {
    let begun = Instant::now();
    while db.waits().len() != count {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", db.waits());
        thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_closure_within_a_closure_does_not_wait_for_it() {
    let (db, table) = database();
    db.transact("outer", |tx| {
        tx.put(&table, b"k", b"1")?;
        let conflict = self_wait(db.transact("inner", |tx| tx.put(&table, b"k", b"2")));
        assert_eq!(
            (conflict.lock.to_string().as_str(), conflict.wanted),
            ("key \"k\" of table \"t\"", "XN")
        );
        assert_eq!(conflict.holders.len(), 1);
        assert_eq!((conflict.holders[0].0.kind, conflict.holders[0].1), ("outer", "XN"));
        // What does not meet its locks is as always.
        db.transact("inner", |tx| tx.put(&table, b"other", b"2"))?;
        // Two closures further up.
        db.transact("middle", |_| {
            self_wait(db.transact("inner", |tx| tx.get(&table, b"k")));
            Ok(())
        })
    })
    .unwrap();
    assert_eq!(db.begin().get(&table, b"k").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.begin().get(&table, b"other").unwrap().as_deref(), Some(&b"2"[..]));
    let error = db.transact("outer", |tx| {
        tx.put(&table, b"k", b"3")?;
        db.transact("inner", |tx| tx.get(&table, b"k"))
    });
    let message = error.unwrap_err().to_string();
    assert!(message.contains("use that transaction") && message.contains("\"outer\""), "{message}");
    assert!(!Error::SelfWait { conflict: None }.is_retryable());
}

#[test]
fn submitted_closures_do_not_wait_for_themselves() {
    let (db, table) = database();
    let outer = db.submit("outer", |tx| {
        tx.put(&table, b"k", b"1")?;
        let inner = db.submit("inner", |tx| tx.put(&table, b"k", b"2"));
        match inner {
            Ok(pending) => _ = self_wait(pending.wait()),
            failed => _ = self_wait(failed.map(drop)),
        }
        Ok(())
    });
    outer.unwrap().wait().unwrap();
}

#[test]
fn an_interactive_transaction_does_not_wait_for_the_closure_that_uses_it() {
    let (db, table) = database();
    db.transact("outer", |tx| {
        tx.put(&table, b"k", b"1")?;
        let mut inner = db.begin_as("inner");
        inner.put(&table, b"other", b"1")?;
        self_wait(inner.get(&table, b"k"));
        self_wait(inner.scan(&table, ..).next().unwrap());
        // It goes on.
        inner.put(&table, b"another", b"1")?;
        inner.acknowledge_error();
        inner.commit()
    })
    .unwrap();
    let counts = db.lock_waits();
    let inner = counts.types.iter().find(|kind| kind.name == "inner").unwrap();
    assert_eq!((inner.counts.waits, inner.counts.timeouts, inner.counts.deadlocks), (2, 0, 0));
}

#[test]
fn nothing_is_guessed_of_transactions_that_are_merely_open() {
    let options = Options::in_memory().cache_size(16 << 20);
    let db = options.lock_wait_limit(Some(Duration::from_millis(5))).open("").unwrap();
    let table = db.table("t").unwrap();
    let mut open = db.begin();
    open.put(&table, b"k", b"1").unwrap();
    let late = db.transact("late", |tx| tx.get(&table, b"k"));
    assert!(matches!(late, Err(Error::LockTimeout { .. })), "{late:?}");
    // Nor is a closure that has returned remembered, however it did.
    open.commit().unwrap();
    let _ = db.transact("panics", |tx| -> Result<()> {
        tx.put(&table, b"k", b"2")?;
        panic!("on purpose")
    });
    let _ = db.transact("aborts", |tx| tx.abort::<()>("on purpose"));
    let mut holder = db.begin();
    holder.put(&table, b"k", b"1").unwrap();
    let late = db.transact("late", |tx| tx.get(&table, b"k"));
    assert!(matches!(late, Err(Error::LockTimeout { .. })), "{late:?}");
}

#[test]
fn a_closure_of_another_thread_is_waited_for() {
    let (db, table) = database();
    let holds = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            db.transact("holder", |tx| {
                tx.put(&table, b"k", b"1")?;
                holds.wait();
                until_waiting(&db, 1);
                Ok(())
            })
            .unwrap();
        });
        holds.wait();
        let read = db.transact("outer", |tx| {
            tx.put(&table, b"other", b"1")?;
            db.transact("inner", |tx| tx.get(&table, b"k"))
        });
        assert_eq!(read.unwrap().as_deref(), Some(&b"1"[..]));
    });
}

#[test]
fn a_queue_behind_the_closure_leads_to_it() {
    let (db, table) = database();
    db.transact("fill", |tx| tx.put(&table, b"k", b"1")).unwrap();
    thread::scope(|scope| {
        db.transact("outer", |tx| {
            tx.get(&table, b"k")?;
            let inner = || db.transact("inner", |tx| tx.get(&table, b"k"));
            inner().unwrap(); // Two readers.
            scope.spawn(|| db.transact("writer", |tx| tx.put(&table, b"k", b"2")).unwrap());
            until_waiting(&db, 1);
            self_wait(inner()); // Behind the writer, which waits for the outer closure.
            Ok(())
        })
        .unwrap();
    });
    assert_eq!(db.begin().get(&table, b"k").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn a_closure_that_was_a_victim_holds_nothing_any_more() {
    let (db, table) = database();
    db.transact("fill", |tx| (0..2u8).try_for_each(|n| tx.insert(&table, [n], [0]))).unwrap();
    let holds = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = db.begin();
            other.put(&table, [1], [1]).unwrap();
            holds.wait();
            other.put(&table, [0], [1]).unwrap();
            other.commit().unwrap();
        });
        let mut is_first = true;
        db.transact("outer", |tx| {
            if !std::mem::take(&mut is_first) {
                return Ok(());
            }
            tx.put(&table, [0], [2])?;
            holds.wait();
            until_waiting(&db, 1);
            let died = tx.put(&table, [1], [2]);
            assert!(matches!(died, Err(Error::Deadlock { .. })), "{died:?}");
            db.transact("inner", |tx| tx.put(&table, [0], [3]))?;
            died.map(drop)
        })
        .unwrap();
    });
    assert_eq!(db.begin().get(&table, [0]).unwrap(), Some(vec![3]));
}

#[test]
fn a_closure_that_has_locked_a_whole_table_is_not_waited_for() {
    let (db, table) = database();
    let other = db.table("other").unwrap();
    db.transact("outer", |tx| {
        tx.lock_table(&table, AbsoluteMode::Exclusive)?;
        let conflict = self_wait(db.transact("inner", |tx| tx.get(&table, b"k")));
        assert_eq!((conflict.lock.to_string().as_str(), conflict.wanted), ("table \"t\"", "IS"));
        assert_eq!((conflict.holders[0].0.kind, conflict.holders[0].1), ("outer", "X"));
        let mut hasty = db.begin();
        hasty.lock_wait(LockWait::Never);
        assert!(matches!(hasty.get(&table, b"k"), Err(Error::WouldBlock { .. })));
        drop(hasty);
        db.transact("inner", |tx| tx.put(&other, b"k", b"1"))?;
        let conflict = self_wait(db.drop_table("t"));
        assert_eq!(conflict.holders.len(), 1);
        Ok(())
    })
    .unwrap();
    db.transact("outer", |tx| {
        tx.lock_database(AbsoluteMode::Shared)?;
        db.transact("inner", |tx| tx.get(&table, b"k"))?;
        let conflict = self_wait(db.transact("inner", |tx| tx.put(&table, b"k", b"1")));
        assert_eq!(conflict.lock.table, "(database)");
        Ok(())
    })
    .unwrap();
}

/// Whatever number of tables the closure uses, and in whichever order it has used them.
#[test]
fn a_closure_that_uses_a_table_is_not_waited_for_by_one_that_locks_it() {
    let (db, _) = database();
    let tables: Vec<_> = (0..20).map(|n| db.table(&format!("t{n}")).unwrap()).collect();
    db.transact("fill", |tx| {
        tables.iter().try_for_each(|table| tx.put(table, b"k", b"0").map(drop))
    })
    .unwrap();
    for used in [1, 7, 8, 9, 20] {
        db.transact("outer", |tx| {
            tables[..used].iter().try_for_each(|table| tx.get(table, b"k").map(drop))?;
            tables[..used / 2].iter().try_for_each(|table| tx.put(table, b"k", b"1").map(drop))?;
            for (at, table) in tables[..used].iter().enumerate() {
                let lock = |mode| db.transact("inner", |tx| tx.lock_table(table, mode));
                let conflict = self_wait(lock(AbsoluteMode::Exclusive));
                let mode = if at < used / 2 { "IX" } else { "IS" };
                assert_eq!(conflict.lock.to_string(), format!("table \"t{at}\""));
                assert_eq!((conflict.holders[0].0.kind, conflict.holders[0].1), ("outer", mode));
                match mode {
                    "IX" => _ = self_wait(lock(AbsoluteMode::Shared)),
                    _ => lock(AbsoluteMode::Shared)?,
                }
                self_wait(db.drop_table(table.name()));
            }
            let conflict =
                self_wait(db.transact("inner", |tx| tx.lock_database(AbsoluteMode::Exclusive)));
            assert_eq!((conflict.lock.table.as_str(), conflict.holders.len()), ("(database)", 1));
            // Those that it does not use are free.
            tables[used..].iter().try_for_each(|table| {
                db.transact("inner", |tx| tx.lock_table(table, AbsoluteMode::Exclusive))
            })
        })
        .unwrap();
    }
    // It has ended.
    db.transact("late", |tx| tx.lock_database(AbsoluteMode::Exclusive)).unwrap();
}

#[test]
fn an_asynchronous_closure_that_blocks_does_not_wait_for_itself() {
    let (db, table) = database();
    let mut run = pin!(db.transact_async("outer", async |mut tx| {
        tx.put(&table, "k", "1").await?;
        self_wait(db.transact("inner", |tx| tx.get(&table, b"k")));
        Ok(())
    }));
    let begun = Instant::now();
    while run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::yield_now();
    }
}

/// A task that waits until the flag is set.
async fn until_set(flag: Arc<AtomicBool>) {
    poll_fn(|cx| match flag.load(Ordering::SeqCst) {
        true => Poll::Ready(()),
        false => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

#[test]
fn a_closure_does_not_wait_for_a_task_of_its_agent() {
    let (db, table) = database();
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    let (holds, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let task = {
        let (table, holds, may_end) = (table.clone(), holds.clone(), may_end.clone());
        pipeline
            .submit_async("task", async move |mut tx| {
                tx.put(&table, "k", "1").await?;
                holds.store(true, Ordering::SeqCst);
                until_set(may_end.clone()).await;
                Ok(())
            })
            .unwrap()
    };
    while !holds.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    let of_agent = table.clone();
    let closure = pipeline.submit("closure", move |tx| tx.get(&of_agent, b"k")).unwrap();
    let conflict = self_wait(closure.wait());
    assert_eq!(conflict.holders[0].0.kind, "task");
    // A thread that is no agent waits, and so does an asynchronous closure of the agent.
    thread::scope(|scope| {
        let waiter = scope.spawn(|| db.transact("thread", |tx| tx.get(&table, b"k")));
        until_waiting(&db, 1);
        let of_agent = table.clone();
        let second = pipeline
            .submit_async("second", async move |mut tx| tx.get(&of_agent, "k").await)
            .unwrap();
        until_waiting(&db, 2);
        may_end.store(true, Ordering::SeqCst);
        task.wait().unwrap();
        assert_eq!(waiter.join().unwrap().unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(second.wait().unwrap().as_deref(), Some(&b"1"[..]));
    });
    // The task has ended: its agent's closures wait for others again.
    let mut holder = db.begin();
    holder.put(&table, b"k", b"2").unwrap();
    let of_agent = table.clone();
    let closure = pipeline.submit("closure", move |tx| tx.get(&of_agent, b"k")).unwrap();
    until_waiting(&db, 1);
    holder.commit().unwrap();
    assert_eq!(closure.wait().unwrap().as_deref(), Some(&b"2"[..]));
}

/// A task is a deadlock's victim, and the engine's thread is late with its rollback: a closure of
/// the same agent waits for that, since it comes whether or not the agent blocks.
#[test]
fn a_closure_waits_for_the_rollback_of_a_victim_of_its_agent() {
    let (db, table) = database();
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    let (holds, may_go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let mut other = db.begin();
    other.put(&table, b"b", b"1").unwrap();
    let victim = {
        let (table, holds, may_go_on) = (table.clone(), holds.clone(), may_go_on.clone());
        let body = async move |mut tx: clearway::LentTransaction| {
            tx.put(&table, "a", "1").await?;
            holds.store(true, Ordering::SeqCst);
            until_set(may_go_on.clone()).await;
            tx.put(&table, "b", "1").await
        };
        pipeline.submit_async("victim", body).unwrap()
    };
    while !holds.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    thread::scope(|scope| {
        let table = &table;
        let other = scope.spawn(move || {
            other.put(table, b"a", b"2").unwrap();
            other.commit().unwrap();
        });
        until_waiting(&db, 1);
        // The thread that rolls back is busy with this one first.
        clearway_sync::block_on(async {
            let mut large = db.begin_async("large");
            for n in 0..100_000u32 {
                large.put(table, n.to_be_bytes(), "large").await.unwrap();
            }
        });
        may_go_on.store(true, Ordering::SeqCst);
        while db.lock_waits().deadlocks.is_empty() {
            thread::yield_now();
        }
        let of_agent = table.clone();
        let closure = pipeline.submit("closure", move |tx| tx.get(&of_agent, b"a")).unwrap();
        closure.wait().unwrap();
        other.join().unwrap();
        victim.wait().unwrap();
    });
}

/// A closure ends while its transaction's state is still with a thread of the engine: only its
/// agent can commit it, so no closure of the agent waits for it.
#[test]
fn a_task_that_ends_slowly_is_not_waited_for_by_its_agent() {
    let (db, table) = database();
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    let rows = 60_000u32;
    let (begun, go_on) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let slow = {
        let (table, begun, go_on) = (table.clone(), begun.clone(), go_on.clone());
        let closure = async move |mut tx: clearway::LentTransaction| {
            tx.put(&table, b"k", b"1").await?;
            let savepoint = tx.savepoint().await?;
            for row in 0..rows {
                tx.put(&table, row.to_be_bytes(), b"1").await?;
            }
            begun.wait();
            while !go_on.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            // Begun, and dropped: it takes place on a thread of the engine.
            let mut undone = pin!(tx.rollback_to(&savepoint));
            poll_fn(|cx| {
                let _ = undone.as_mut().poll(cx);
                Poll::Ready(())
            })
            .await;
            Ok(())
        };
        pipeline.submit_async("slow", closure).unwrap()
    };
    begun.wait();
    let waits = table.clone();
    let other = pipeline.submit("other", move |tx| {
        tx.lock_wait(LockWait::For(Duration::from_secs(10)));
        tx.put(&waits, b"k", b"2")
    });
    go_on.store(true, Ordering::SeqCst);
    match other.unwrap().wait() {
        Ok(_) | Err(Error::SelfWait { .. }) => {}
        other => panic!("{other:?}"),
    }
    slow.wait().unwrap();
}
