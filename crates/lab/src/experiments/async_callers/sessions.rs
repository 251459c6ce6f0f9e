//! A chain of sessions: session i holds key i and waits for key i − 1, and each commits when it has
//! it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway::{Options, PipelineOptions, Result};

use crate::experiment::{Outcome, Sample};

/// Builds the chain on `agents` threads, releases its first member, and measures both.
pub(super) fn run(count: u64, agents: usize) -> Outcome<Sample> {
    let options = Options::in_memory().cache_size(256 << 20).lock_wait_limit(None);
    let db = options.open("sessions")?;
    let table = db.table("keys")?;
    db.transact("fill", |tx| (0..count).try_for_each(|n| tx.insert(&table, n.to_be_bytes(), "")))?;
    let pipeline = PipelineOptions::new().agents(agents).tasks(1 << 16).start(&db)?;
    let holding = Arc::new(AtomicU64::new(0));
    let last_grant = Arc::new(Mutex::new(Instant::now()));
    let mut first = db.begin();
    first.get_for_update(&table, 0u64.to_be_bytes())?;
    let started = Instant::now();
    let mut sessions = Vec::new();
    for n in 1..count {
        let (table, held, granted) = (table.clone(), holding.clone(), last_grant.clone());
        let session = async move |mut tx: clearway::LentTransaction| -> Result<()> {
            tx.get_for_update(&table, n.to_be_bytes()).await?;
            held.fetch_add(1, Ordering::Release);
            tx.get_for_update(&table, (n - 1).to_be_bytes()).await?;
            *granted.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            Ok(())
        };
        sessions.push(pipeline.submit_async("session", session)?);
        // Each waits for one that holds its key already.
        while holding.load(Ordering::Acquire) < n {
            thread::yield_now();
        }
    }
    let built = started.elapsed();
    // The last request is queued soon after its session has counted itself.
    thread::sleep(Duration::from_millis(50));
    let committed = Instant::now();
    first.commit()?;
    // The last one first, so that this thread is woken once, and not by each session.
    sessions.into_iter().rev().try_for_each(|session| session.wait())?;
    let last = *last_grant.lock().unwrap_or_else(PoisonError::into_inner);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let chain = ms(last.saturating_duration_since(committed));
    pipeline.close();
    Ok(vec![("chain ms", chain), ("build ms", ms(built))])
}
