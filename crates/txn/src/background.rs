//! Two of an engine's background threads: one takes checkpoints, one does upkeep.
//!
//! Twenty times a second the checkpointer checks how much log was written since the last
//! checkpoint, so that no commit has to; the log wakes it when log space runs short. The threads
//! hold references to the core, not to the engine, so that dropping the engine ends them.

use std::{sync::Arc, time::Duration};

use clearway_base::{Error, Lsn, Result};
use clearway_sync::{
    Condvar, Mutex,
    thread::{self, JoinHandle},
};

use crate::{checkpoints::Cleaning, core::Core, finish, transaction_state::Transactions, upkeep};

/// The interval between two checks. At 1 GB/s, 50 MB of log are written in it, a twentieth of the
/// default capacity.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The pause after a checkpoint that failed, and after one that was to make room in the log and
/// freed nothing, although no transaction or backup keeps the log.
const PAUSE: Duration = Duration::from_millis(200);

/// The work of a thread.
type Run = Box<dyn FnOnce() + Send>;

/// The running threads.
pub(crate) struct Background {
    signal: Arc<Signal>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Signal {
    wishes: Mutex<Wishes>,
    changed: Condvar,
}

#[derive(Default)]
struct Wishes {
    /// The log is short of space.
    space: bool,
    stop: bool,
}

/// The reason for which the checkpointer woke up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Look,
    Space,
    Stop,
}

impl Signal {
    fn wait(&self) -> Wish {
        let mut wishes = self.wishes.lock();
        if !wishes.stop && !wishes.space {
            self.changed.wait_for(&mut wishes, LOOK_EVERY);
        }
        if wishes.stop {
            Wish::Stop
        } else if std::mem::take(&mut wishes.space) {
            Wish::Space
        } else {
            Wish::Look
        }
    }

    fn raise(&self, wish: impl FnOnce(&mut Wishes)) {
        wish(&mut self.wishes.lock());
        self.changed.notify_all();
    }
}

impl Background {
    /// Starts the threads.
    pub(crate) fn start(transactions: &Arc<Transactions>) -> Result<Background> {
        Background::start_by(transactions, spawn)
    }

    fn start_by(
        transactions: &Arc<Transactions>,
        mut spawn: impl FnMut(&str, Run) -> Result<JoinHandle<()>>,
    ) -> Result<Background> {
        let core = &transactions.core;
        let signal = Arc::new(Signal::default());
        let mut background = Background { signal: signal.clone(), threads: Vec::new() };
        let waker = signal.clone();
        core.log.set_space_waker(Box::new(move || waker.raise(|wishes| wishes.space = true)));
        let (for_checkpoints, for_upkeep) = (transactions.clone(), transactions.clone());
        let runs: [(&str, Run); 2] = [
            ("clearway-checkpoint", Box::new(move || run_checkpointer(&for_checkpoints, &signal))),
            ("clearway-upkeep", Box::new(move || upkeep::run(&for_upkeep))),
        ];
        for (name, run) in runs {
            match spawn(name, run) {
                Ok(thread) => {
                    if background.threads.is_empty() {
                        core.log_space.set_checkpointer(Some(thread.thread().id()));
                    }
                    background.threads.push(thread);
                }
                Err(error) => {
                    background.stop(core);
                    return Err(error);
                }
            }
        }
        Ok(background)
    }

    /// Ends the threads and waits for them.
    pub(crate) fn stop(self, core: &Core) {
        self.signal.raise(|wishes| wishes.stop = true);
        core.upkeep.stop();
        core.log_space.set_checkpointer(None);
        core.log.set_space_waker(Box::new(|| ()));
        for thread in self.threads {
            // A panic there has been printed; the engine goes on closing.
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, run: Run) -> Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name(name.into()).spawn(run);
    thread.map_err(|source| Error::io("start a thread for", name, source))
}

/// Ends the waits for the checkpointer's checkpoints when its thread ends, even by a panic.
struct Checkpointer<'a>(&'a Core);

impl Drop for Checkpointer<'_> {
    fn drop(&mut self) {
        self.0.log_space.set_checkpointer(None);
    }
}

fn run_checkpointer(transactions: &Transactions, signal: &Signal) {
    let core = &*transactions.core;
    let _runs = Checkpointer(core);
    let mut shortage = Shortage::default();
    loop {
        let wish = signal.wait();
        if wish == Wish::Stop {
            return;
        }
        // A pool that could not write data cleans no more pages, so the log that its dirty pages
        // need is never freed. Stop the engine now, not only when the log is full.
        if let Err(error) = core.pool.health() {
            core.health.fail(error);
        }
        if core.health.check_open().is_err() {
            continue;
        }
        core.log_space.note_end(core.log.end(), core.log_space.kept_from());
        shortage.lasts |= wish == Wish::Space;
        let result = if shortage.can_be_relieved(core) {
            shortage.relieve(transactions)
        } else {
            keep_pace(transactions)
        };
        if result.is_err() {
            thread::sleep(PAUSE);
        }
    }
}

/// The log is short of space.
#[derive(Default)]
struct Shortage {
    lasts: bool,
    /// The LSN from which on a transaction or backup kept the log when the last checkpoint freed
    /// nothing. As long as it is the same, another checkpoint would free nothing either.
    kept_by: Option<Lsn>,
}

impl Shortage {
    /// Returns true if a checkpoint may free something; always if threads wait for it without a
    /// time limit (TXN-LOG-SPACE-3).
    fn can_be_relieved(&self, core: &Core) -> bool {
        let is_kept = self.kept_by.is_some() && self.kept_by == core.log_space.kept_from();
        self.lasts && (!is_kept || core.log_space.can_give_back(core.log.end()))
    }

    /// Takes a checkpoint that cleans all pages, so that as much log as possible is freed.
    fn relieve(&mut self, transactions: &Transactions) -> Result<()> {
        let core = &transactions.core;
        finish::retry_deallocations(transactions);
        let keeper = core.log_space.kept_from();
        let before = core.log.retention_lsn();
        core.checkpoints.take(Cleaning::All)?;
        let has_helped = core.log.retention_lsn() > before;
        self.kept_by = if has_helped { None } else { keeper };
        // Without a keeper, wait for the next report: a thread that still finds no space wakes the
        // checkpointer again.
        self.lasts = self.kept_by.is_some();
        if !has_helped && keeper.is_none() {
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// Makes a checkpoint each time that the log has grown by a fixed number of bytes.
fn keep_pace(transactions: &Transactions) -> Result<()> {
    let core = &transactions.core;
    let step = core.options.checkpoint_log_bytes.min(core.log.capacity_bytes() / 4);
    if core.checkpoints.log_bytes_since() < step {
        return Ok(());
    }
    finish::retry_deallocations(transactions);
    core.checkpoints.take(Cleaning::Old)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicU32, Ordering},
            mpsc,
        },
        time::Instant,
    };

    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{Engine, EngineOptions};

    #[test]
    fn a_thread_that_cannot_be_started_leaves_none_behind() {
        let options = EngineOptions { background: false, ..EngineOptions::default() };
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let transactions = engine.transactions();
        let before = Arc::strong_count(transactions);
        let mut started = 0;
        let failed = Background::start_by(transactions, |name, run| {
            started += 1;
            let refused = std::io::ErrorKind::WouldBlock.into();
            if started == 1 { spawn(name, run) } else { Err(Error::io("start", name, refused)) }
        });
        assert!(failed.is_err());
        assert_eq!((started, Arc::strong_count(transactions)), (2, before));
    }

    /// Longer than a reservation waits if no checkpoint can make room.
    const LATE: Duration = Duration::from_millis(400);

    /// The checkpointer gets no processor until writers have waited for long. None is refused.
    #[test]
    fn writers_wait_for_a_checkpointer_that_begins_late() {
        let mut options = EngineOptions::simulation();
        options.log.background = true;
        options.log.segment_bytes = 64 << 10;
        options.log.capacity_bytes = 256 << 10;
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let core = engine.core();
        let table = engine.create_table("t").unwrap();
        let (let_run, may_run) = mpsc::channel::<()>();
        let mut may_run = Some(may_run);
        let background =
            Background::start_by(engine.transactions(), |name, run| match may_run.take() {
                Some(may_run) => {
                    assert_eq!(name, "clearway-checkpoint");
                    spawn(name, Box::new(move || may_run.recv().map_or((), |()| run())))
                }
                None => spawn(name, run),
            });
        let committed = AtomicU32::new(0);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for n in 0..2_000u32 {
                    let mut txn = engine.begin();
                    txn.put(&table, &(n % 50).to_be_bytes(), &[n as u8; 400])?;
                    core.log.wait_durable(txn.commit()?.ack)?;
                    committed.store(n, Ordering::SeqCst);
                }
                Ok::<(), Error>(())
            });
            // Until the writer makes no progress.
            let (mut last, mut since) = (u32::MAX, Instant::now());
            while since.elapsed() < LATE && !writer.is_finished() {
                let now = committed.load(Ordering::SeqCst);
                if now != last {
                    (last, since) = (now, Instant::now());
                }
                thread::sleep(Duration::from_millis(1));
            }
            let was_waiting = !writer.is_finished();
            let_run.send(()).unwrap();
            let result = writer.join().unwrap();
            assert!(result.is_ok(), "{result:?} after {last} commits");
            assert!(was_waiting, "or it shows nothing");
        });
        background.unwrap().stop(core);
    }
}
