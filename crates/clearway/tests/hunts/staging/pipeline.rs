//! Two-stage execution of blocking closures on a pipeline: a run in the fetch stage is over at its
//! first absent page, the agent runs others meanwhile, and the closure is run again.

use std::{
    io::ErrorKind,
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway::{
    Database, Error, LentTransaction, Options, Pipeline, PipelineOptions, Result, Stage, Staging,
    Table, Ticket,
};
use clearway_testkit::disk::{HeldReads, HeldReadsDisk};

use super::{
    stats,
    tasks::{
        ACCOUNTS, accounts, accounts_on, assert_nothing_is_held, key, options, reading, repeat,
    },
};

/// A quarter of this cache holds the pages of all closures of a test.
const LARGE: u64 = 8 << 20;

/// The key of an account whose leaf is not in memory, one of 50 on leaves of their own.
fn cold(number: u64) -> [u8; 8] {
    assert!(number < 50);
    key(number * 400 + 37)
}

/// A database whose reads a test completes. The branches of its table are in memory, and so are the
/// row `hot` and the leaves of accounts with round numbers: threads read their pages themselves.
fn held(options: Options) -> (Database, Table, HeldReads) {
    let reads = HeldReads::new(1);
    let (db, table) = accounts_on(options, |disk| HeldReadsDisk::new(disk, reads.clone()));
    let mut warm = db.begin();
    for account in (0..ACCOUNTS).step_by(1000) {
        warm.get(&table, key(account)).unwrap();
    }
    warm.put(&table, "hot", "old").unwrap();
    warm.commit().unwrap();
    (db, table, reads)
}

/// A pipeline. If its test fails, its reads are completed, so that it can be closed.
struct Agents {
    pipeline: Option<Pipeline>,
    reads: HeldReads,
}

impl Agents {
    fn start(options: PipelineOptions, db: &Database, reads: &HeldReads) -> Agents {
        Agents { pipeline: Some(options.start(db).unwrap()), reads: reads.clone() }
    }

    fn one(db: &Database, reads: &HeldReads) -> Agents {
        Agents::start(PipelineOptions::new().agents(1), db, reads)
    }

    fn close(self) {
        drop(self);
    }
}

impl Deref for Agents {
    type Target = Pipeline;

    fn deref(&self) -> &Pipeline {
        self.pipeline.as_ref().unwrap()
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        let pipeline = self.pipeline.take();
        if thread::panicking() {
            reading(&self.reads, || drop(pipeline));
        }
    }
}

/// Checks that nothing is held, and closes the database. A read that was begun ahead may be late.
fn end(db: &Database, reads: &HeldReads) {
    reading(reads, || {
        assert_nothing_is_held(db);
        db.close().unwrap();
    });
}

/// Submits a closure that reads the values of `keys`, one after the other, and returns the number
/// of its runs.
fn submit_reads(
    pipeline: &Pipeline,
    name: &'static str,
    table: &Table,
    keys: Vec<[u8; 8]>,
) -> Ticket<u64> {
    let (table, mut runs) = (table.clone(), 0);
    let read = move |tx: &mut clearway::Transaction| {
        runs += 1;
        for key in &keys {
            assert!(tx.get(&table, key)?.is_some());
        }
        Ok(runs)
    };
    pipeline.submit(name, read).unwrap()
}

#[test]
fn pages_of_many_blocking_closures_are_read_at_the_same_time() {
    for policy in [Staging::TwoStage, Staging::Optimistic] {
        let (db, table, reads) = held(options(policy).cache_size(LARGE));
        let pipeline = Agents::one(&db, &reads);
        let pay = |number: u64| {
            let (table, mut runs) = (table.clone(), 0);
            let body = move |tx: &mut clearway::Transaction| {
                runs += 1;
                tx.put(&table, "hot", [number as u8])?;
                tx.put(&table, cold(number), [runs])?;
                Ok(runs)
            };
            pipeline.submit("pay", body).unwrap()
        };
        let payments: Vec<_> = (0..32).map(pay).collect();
        repeat("they are not read at the same time", || reads.count() == 32);
        // None of them has locks, and the agent is free.
        let others = pipeline.submit("other", {
            let table = table.clone();
            move |tx| Ok(tx.replace(&table, "hot", "other")?.is_some())
        });
        assert!(others.unwrap().wait().unwrap());
        assert!(payments.iter().all(|payment| !payment.is_ready()));
        reading(&reads, || {
            // Two runs in the fetch stage, and one in the operate stage.
            payments.into_iter().for_each(|payment| assert_eq!(payment.wait().unwrap(), 3));
        });
        pipeline.close();
        for number in 0..32 {
            assert_eq!(db.begin().get(&table, cold(number)).unwrap().unwrap(), [3]);
        }
        let counted = stats(&db, "pay");
        assert_eq!((counted.fetches, counted.fetch_waits, counted.fetch_reruns), (32, 32, 32));
        assert_eq!((counted.operates, counted.mis_prefetches), (32, 0));
        assert_eq!(counted.conversions, if policy == Staging::Optimistic { 32 } else { 0 });
        assert_eq!((counted.fetches_with_reads, counted.fetches_cut_short), (32, 0));
        end(&db, &reads);
    }
}

#[test]
fn closure_that_needs_many_pages_reads_the_last_of_them_itself() {
    let (db, table, reads) = held(options(Staging::TwoStage).cache_size(LARGE));
    let pipeline = Agents::one(&db, &reads);
    let runs = submit_reads(&pipeline, "many", &table, (0..40).map(cold).collect());
    // The first run, 32 reruns, and the operate stage.
    assert_eq!(reading(&reads, || runs.wait().unwrap()), 34);
    let counted = stats(&db, "many");
    assert_eq!((counted.fetches, counted.fetch_waits, counted.fetch_reruns), (1, 40, 32));
    assert_eq!((counted.operates, counted.operate_waits, counted.fetches_cut_short), (1, 0, 0));
    // Keys that are known together need one rerun.
    let together = pipeline.submit("together", {
        let table = table.clone();
        move |tx| tx.get_many(&table, &(40..50).map(cold).collect::<Vec<_>>())
    });
    let values = reading(&reads, || together.unwrap().wait().unwrap());
    assert!(values.iter().all(Option::is_some));
    let counted = stats(&db, "together");
    assert_eq!((counted.fetches, counted.fetch_waits, counted.fetch_reruns), (1, 1, 1));
    assert_eq!((counted.operates, counted.mis_prefetches), (1, 0));
    pipeline.close();
    end(&db, &reads);
}

#[test]
fn pages_of_earlier_runs_stay_pinned_while_a_closure_waits_for_the_next() {
    const PAGES: u64 = 4;
    let (db, table, reads) = held(options(Staging::TwoStage));
    let pipeline = Agents::one(&db, &reads);
    let runs = submit_reads(&pipeline, "several", &table, (0..PAGES).map(cold).collect());
    for page in 0..PAGES {
        repeat("it reads nothing", || reads.count() == 1);
        assert!(db.stats().engine.pool.fetched_pages >= page, "page {page}");
        // Drives all leaves out that are not pinned, but not the branch above those of the closure,
        // which this thread needs, too.
        for account in (2000..ACCOUNTS).step_by(15) {
            db.begin().get(&table, key(account)).unwrap();
            db.begin().get(&table, key(1900)).unwrap();
        }
        assert!(db.stats().engine.pool.fetched_pages >= page, "page {page}");
        assert!(reads.complete_one());
    }
    assert_eq!(runs.wait().unwrap(), PAGES + 2);
    let counted = stats(&db, "several");
    assert_eq!((counted.fetch_waits, counted.fetch_reruns), (PAGES, PAGES));
    assert_eq!((counted.operates, counted.mis_prefetches), (1, 0));
    pipeline.close();
    end(&db, &reads);
}

#[test]
fn closures_that_wait_for_a_page_when_their_pipeline_is_closed_are_run() {
    let (db, table, reads) = held(options(Staging::TwoStage).cache_size(LARGE));
    let pipeline = Arc::new(Mutex::new(Some(Agents::one(&db, &reads))));
    let delivered = Arc::new(AtomicU64::new(0));
    let mut waiting = Vec::new();
    for number in 0..8 {
        let guard = pipeline.lock().unwrap();
        let pipeline = guard.as_ref().unwrap();
        let (in_body, in_done) = (table.clone(), delivered.clone());
        let body = move |tx: &mut clearway::Transaction| tx.put(&in_body, cold(number), "paid");
        let done = move |result: Result<()>| {
            result.unwrap();
            in_done.fetch_add(1, Ordering::Relaxed);
        };
        pipeline.submit_then("pay", body, done).unwrap();
        waiting.push(submit_reads(pipeline, "read", &table, vec![cold(10 + number)]));
    }
    repeat("they do not wait", || reads.count() == 16);
    // The agent's own call closes the pipeline without waiting for the agent.
    let closes = {
        let slot = pipeline.clone();
        let guard = pipeline.lock().unwrap();
        guard.as_ref().unwrap().submit("close", move |_| {
            drop(slot.lock().unwrap().take());
            Ok(())
        })
    };
    closes.unwrap().wait().unwrap();
    assert!(pipeline.lock().unwrap().is_none());
    reading(&reads, || {
        waiting.into_iter().for_each(|read| assert_eq!(read.wait().unwrap(), 3));
        repeat("a result is lost", || delivered.load(Ordering::Relaxed) == 8);
    });
    for number in 0..8 {
        assert_eq!(db.begin().get(&table, cold(number)).unwrap().unwrap(), b"paid");
    }
    end(&db, &reads);
}

#[test]
fn closure_of_a_database_that_is_closed_while_it_waits_for_a_page_reports_the_close() {
    let (db, table, reads) = held(options(Staging::TwoStage));
    let pipeline = Agents::one(&db, &reads);
    let waits = submit_reads(&pipeline, "read", &table, vec![cold(1), cold(2)]);
    repeat("it does not wait", || reads.count() == 1);
    thread::scope(|scope| {
        let closes = scope.spawn(|| db.close());
        repeat("it is not closed", || matches!(db.begin().get(&table, "hot"), Err(Error::Closed)));
        reading(&reads, || {
            assert!(matches!(waits.wait(), Err(Error::Closed)));
            closes.join().unwrap().unwrap();
        });
    });
    pipeline.close();
}

#[test]
fn closure_that_panics_in_its_fetch_stage_is_not_run_again_for_each_page() {
    for panics_in in [1, 2] {
        let (db, table, reads) = held(options(Staging::TwoStage));
        let pipeline = Agents::one(&db, &reads);
        let body = {
            let (table, mut runs) = (table.clone(), 0);
            move |tx: &mut clearway::Transaction| {
                runs += 1;
                let first = tx.get(&table, cold(1));
                assert_ne!(runs, panics_in, "a panic of the test");
                first?;
                (2..6).try_for_each(|number| tx.get(&table, cold(number)).map(drop))?;
                Ok(runs)
            }
        };
        let ran = pipeline.submit("panics", body).unwrap();
        assert_eq!(reading(&reads, || ran.wait().unwrap()), 3);
        let counted = stats(&db, "panics");
        assert_eq!((counted.fetches, counted.fetch_reruns, counted.fetch_panics), (1, 1, 1));
        assert_eq!(counted.operates, 1);
        // What panics in its operate stage fails.
        let table = table.clone();
        let panics = pipeline.submit("panics", move |tx| -> Result<()> {
            tx.get(&table, cold(9))?;
            panic!("a panic of the test, in both stages")
        });
        let failed = reading(&reads, || panics.unwrap().wait());
        assert!(matches!(failed, Err(Error::Panicked { .. })));
        pipeline.close();
        end(&db, &reads);
    }
}

#[test]
fn page_that_cannot_be_read_is_left_to_the_operate_stage() {
    let (db, table, reads) = held(options(Staging::TwoStage));
    let pipeline = Agents::one(&db, &reads);
    let fails = submit_reads(&pipeline, "read", &table, vec![cold(1)]);
    repeat("it does not wait", || reads.fail_one(ErrorKind::Other));
    // That reads the page itself, and this time the disk delivers it.
    assert_eq!(fails.wait().unwrap(), 2);
    let counted = stats(&db, "read");
    assert_eq!((counted.fetches, counted.fetches_cut_short, counted.fetch_reruns), (1, 1, 0));
    assert_eq!((counted.operates, counted.mis_prefetches), (1, 1));
    pipeline.close();
    end(&db, &reads);
}

#[test]
fn read_that_does_not_end_cuts_the_fetch_stage_short_and_fails_the_operate_stage() {
    let limit = Some(Duration::from_millis(50));
    let (db, table, reads) = held(options(Staging::TwoStage).lock_wait_limit(limit));
    let pipeline = Agents::one(&db, &reads);
    let waits = submit_reads(&pipeline, "read", &table, vec![cold(1)]);
    repeat("it does not wait", || reads.count() == 1);
    let other = submit_reads(&pipeline, "other", &table, vec![key(1000)]);
    assert_eq!(other.wait().unwrap(), 2);
    assert!(matches!(waits.wait(), Err(Error::ReadTimeout { .. })));
    let counted = stats(&db, "read");
    assert_eq!((counted.fetches, counted.fetches_cut_short, counted.fetch_reruns), (1, 1, 0));
    reads.complete_all();
    assert_eq!(submit_reads(&pipeline, "read", &table, vec![cold(1)]).wait().unwrap(), 2);
    pipeline.close();
    end(&db, &reads);
}

#[test]
fn agent_begins_no_more_closures_that_wait_than_tasks_that_it_may_have() {
    let (db, table, reads) = held(options(Staging::TwoStage).cache_size(LARGE));
    let pipeline = Agents::start(PipelineOptions::new().agents(1).tasks(3), &db, &reads);
    let read = |number| submit_reads(&pipeline, "read", &table, vec![cold(number)]);
    let waiting: Vec<_> = (0..12).map(read).collect();
    for left in (1..=12).rev() {
        repeat("they do not wait", || reads.count() == left.min(3));
        assert!(reads.complete_one());
    }
    waiting.into_iter().for_each(|read| assert_eq!(read.wait().unwrap(), 3));
    assert_eq!(db.stats().engine.pool.queued_reads_in_flight_max, 3);
    pipeline.close();
    end(&db, &reads);
}

#[test]
fn closure_asks_for_its_stage_in_each_run_on_a_pipeline() {
    let (db, table, reads) = held(options(Staging::TwoStage));
    let pipeline = Agents::one(&db, &reads);
    let mut stages = Vec::new();
    let ran = pipeline.submit("ask", move |tx| {
        stages.push(tx.stage());
        // An error of its own that hides the one of the stage.
        tx.get(&table, cold(1)).map_err(|_| Error::not_found())?;
        Ok(stages.clone())
    });
    let stages = reading(&reads, || ran.unwrap().wait().unwrap());
    assert_eq!(stages, [Stage::Fetch, Stage::Fetch, Stage::Operate]);
    pipeline.close();
    end(&db, &reads);
}

#[test]
fn pages_that_the_disk_reads_at_once_need_no_rerun() {
    let (db, table) = accounts(Staging::TwoStage);
    let pipeline = Agents::one(&db, &HeldReads::new(1));
    let runs = submit_reads(&pipeline, "read", &table, (0..6).map(cold).collect());
    assert_eq!(runs.wait().unwrap(), 2);
    let counted = stats(&db, "read");
    assert!(counted.fetch_waits >= 6, "{counted:?}");
    assert_eq!((counted.fetch_reruns, counted.mis_prefetches), (0, 0));
}

/// The pages of the closures that wait are more than the fetch stages may pin.
#[test]
fn money_is_kept_by_closures_of_a_pipeline_in_a_tiny_cache() {
    for policy in [Staging::TwoStage, Staging::Optimistic, Staging::Hybrid] {
        let (db, table, reads) = held(options(policy).cache_size(512 << 10));
        let pipeline = Agents::start(PipelineOptions::new().agents(2), &db, &reads);
        let transfer = |number: u64| {
            let table = table.clone();
            // In an order that deadlocks.
            let (mut from, mut to) = (number % 3, (1000 + number * 104_729) % ACCOUNTS);
            if number.is_multiple_of(2) {
                (from, to) = (to, from);
            }
            let body = move |tx: &mut clearway::Transaction| {
                let mut one = tx.get_for_update(&table, key(from))?.unwrap();
                let mut two = tx.get_for_update(&table, key(to))?.unwrap();
                if from != to && one[0] > 0 && two[0] < 255 {
                    (one[0], two[0]) = (one[0] - 1, two[0] + 1);
                    tx.put(&table, key(from), &one)?;
                    tx.put(&table, key(to), &two)?;
                }
                Ok(())
            };
            pipeline.submit("transfer", body).unwrap()
        };
        let transfers: Vec<_> = (0..300).map(transfer).collect();
        reading(&reads, || {
            transfers.into_iter().for_each(|transfer| transfer.wait().unwrap());
            pipeline.close();
            let mut tx = db.begin();
            let accounts = tx.scan(&table, ..&key(ACCOUNTS)[..]);
            let total: u64 = accounts.map(|entry| u64::from(entry.unwrap().1[0])).sum();
            assert_eq!(total, ACCOUNTS, "{policy:?}");
        });
        assert!(stats(&db, "transfer").fetch_reruns > 0, "{policy:?}");
        end(&db, &reads);
    }
}

#[test]
fn blocking_closure_reads_while_tasks_of_its_agent_have_all_pins_of_tasks() {
    // Two operations of tasks may keep pins in 64 pages.
    let (db, table, reads) = held(options(Staging::Conventional).cache_size(512 << 10));
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    let read = |number| {
        let table = table.clone();
        let body = async move |mut tx: LentTransaction| tx.get(&table, cold(number)).await;
        pipeline.submit_async("task", body).unwrap()
    };
    let mut tickets: Vec<_> = (0..8).map(read).collect();
    repeat("no two of them read", || reads.count() >= 2);
    let in_body = table.clone();
    tickets.push(pipeline.submit("closure", move |tx| tx.get(&in_body, cold(20))).unwrap());
    let until = Instant::now() + Duration::from_secs(10);
    let are_ready = reading(&reads, || {
        while !tickets.iter().all(Ticket::is_ready) && Instant::now() < until {
            thread::yield_now();
        }
        tickets.iter().all(Ticket::is_ready)
    });
    if !are_ready {
        std::mem::forget((pipeline, db)); // They cannot be closed.
        panic!("the agent waits for its own tasks");
    }
    assert!(tickets.into_iter().all(|ticket| ticket.wait().unwrap().is_some()));
    reading(&reads, || pipeline.close());
    end(&db, &reads);
}
