//! Several workers claim jobs from one table. None waits for another, and none gets a job twice.
//!
//! Shows `skip_locked`: a worker takes the first job that no other worker has locked, does it, and
//! deletes it, in one transaction. If the work fails, the transaction is rolled back and the job is
//! free again; here each worker fails with every fifth job it claims. At the end each job was done
//! once.
//!
//! `cargo run --release -p clearway --example job_queue [DIRECTORY]`

use std::thread;

use clearway::{Database, Error, Options, Result, Table};

const JOBS: u32 = 400;
const WORKERS: u32 = 4;

fn main() -> Result<()> {
    let db = match std::env::args_os().nth(1) {
        Some(directory) => Database::open(directory)?,
        None => Options::in_memory().cache_size(16 << 20).open("jobs")?,
    };
    // Do not touch the contents of a directory that the user names.
    if !db.tables().is_empty() {
        let reason = "it has tables already; name an absent or empty directory".into();
        return Err(Error::Aborted { reason });
    }
    run(&db)
}

/// Fills the queue, lets the workers empty it and checks what they did.
pub(crate) fn run(db: &Database) -> Result<()> {
    for name in ["jobs", "done"] {
        match db.drop_table(name) {
            Ok(()) | Err(Error::UnknownTable { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let (jobs, done) = (db.table("jobs")?, db.table("done")?);
    db.transact("fill", |tx| {
        (0..JOBS).try_for_each(|job| tx.insert(&jobs, job.to_be_bytes(), b"new"))
    })?;

    let claims = thread::scope(|scope| {
        let (jobs, done) = (&jobs, &done);
        let workers: Vec<_> =
            (0..WORKERS).map(|worker| scope.spawn(move || work(db, jobs, done, worker))).collect();
        workers.into_iter().map(|w| w.join().expect("a worker panicked")).sum::<Result<u32>>()
    })?;

    let finished = db.transact("audit", |tx| {
        assert!(tx.scan(&jobs, ..).next().is_none(), "no job is left");
        tx.scan(&done, ..).collect::<Result<Vec<_>>>()
    })?;
    assert_eq!(finished.len(), JOBS as usize, "each job is done");
    assert_eq!(claims, JOBS, "each job is done once");
    let waits = db.lock_waits();
    let on_jobs = waits.tables.iter().find(|table| table.name == "jobs");
    assert!(on_jobs.is_none(), "a worker waited for a job: {on_jobs:?}");
    println!("{claims} jobs done by {WORKERS} workers, none twice, and no worker waited for a job");
    Ok(())
}

/// Runs one worker, which claims jobs until none is free. Returns the number of jobs it did.
///
/// A job that another worker gives back later is not lost: that worker continues and finds it.
fn work(db: &Database, jobs: &Table, done: &Table, worker: u32) -> Result<u32> {
    let (mut count, mut claims) = (0, 0);
    loop {
        let result = db.transact("work", |tx| {
            let Some(job) = tx.scan_for_update(jobs, ..).skip_locked().next().transpose()? else {
                return Ok(false);
            };
            let (job, _) = job;
            claims += 1;
            tx.insert(done, &job, worker.to_be_bytes())?;
            if claims % 5 == 0 {
                return tx.abort("the machine is out of paper");
            }
            tx.delete(jobs, &job)?;
            Ok(true)
        });
        match result {
            Ok(true) => count += 1,
            Ok(false) => return Ok(count),
            // The rollback has freed the job, and this worker or another one will claim it again.
            Err(Error::Aborted { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}
