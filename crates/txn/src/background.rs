//! The two threads of an engine: one takes checkpoints, one does upkeep.
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

use crate::{
    checkpoint::{self, Cleaning},
    core::Core,
    finish, upkeep,
};

/// The interval between two checks. At 1 GB/s, 50 MB of log are written in it, a twentieth of the
/// default capacity.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The pause after a checkpoint that failed, and after one that was to make room in the log and
/// freed nothing, although no transaction or backup keeps the log.
const PAUSE: Duration = Duration::from_millis(200);

/// What a thread does.
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

/// Why the checkpointer woke up.
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
    pub(crate) fn start(core: &Arc<Core>) -> Result<Background> {
        Background::start_by(core, spawn)
    }

    fn start_by(
        core: &Arc<Core>,
        mut spawn: impl FnMut(&str, Run) -> Result<JoinHandle<()>>,
    ) -> Result<Background> {
        let signal = Arc::new(Signal::default());
        let mut background = Background { signal: signal.clone(), threads: Vec::new() };
        let waker = signal.clone();
        core.log.set_space_waker(Box::new(move || waker.raise(|wishes| wishes.space = true)));
        let (for_checkpoints, for_upkeep) = (core.clone(), core.clone());
        let runs: [(&str, Run); 2] = [
            ("clearway-checkpoint", Box::new(move || run_checkpointer(&for_checkpoints, &signal))),
            ("clearway-upkeep", Box::new(move || upkeep::run(&for_upkeep))),
        ];
        for (name, run) in runs {
            match spawn(name, run) {
                Ok(thread) => background.threads.push(thread),
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

fn run_checkpointer(core: &Arc<Core>, signal: &Signal) {
    let mut shortage = Shortage::default();
    loop {
        let wish = signal.wait();
        if wish == Wish::Stop {
            return;
        }
        // A pool that could not write data cleans no more pages, so the log that its dirty pages
        // need is never freed. Stop the engine now, not only when the log is full.
        if let Err(error) = core.pool.health() {
            core.fail(error);
        }
        if core.check_open().is_err() {
            continue;
        }
        core.log_space.note_end(core.log.end(), core.log_kept_from());
        shortage.lasts |= wish == Wish::Space;
        let result =
            if shortage.can_be_relieved(core) { shortage.relieve(core) } else { keep_pace(core) };
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
    fn can_be_relieved(&self, core: &Core) -> bool {
        self.lasts && (self.kept_by.is_none() || self.kept_by != core.log_kept_from())
    }

    /// Takes a checkpoint that cleans all pages, so that as much log as possible is freed.
    fn relieve(&mut self, core: &Arc<Core>) -> Result<()> {
        finish::retry_deallocations(core);
        let keeper = core.log_kept_from();
        let before = core.log.retention_lsn();
        checkpoint::take(core, Cleaning::All)?;
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
fn keep_pace(core: &Arc<Core>) -> Result<()> {
    let step = core.options.checkpoint_log_bytes.min(core.log.capacity_bytes() / 4);
    if core.checkpoints.log_bytes_since(core.log.end()) < step {
        return Ok(());
    }
    finish::retry_deallocations(core);
    checkpoint::take(core, Cleaning::Old)
}

#[cfg(test)]
mod tests {
    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{Engine, EngineOptions};

    #[test]
    fn a_thread_that_cannot_be_started_leaves_none_behind() {
        let options = EngineOptions { background: false, ..EngineOptions::default() };
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let core = engine.core();
        let before = Arc::strong_count(core);
        let mut started = 0;
        let failed = Background::start_by(core, |name, run| {
            started += 1;
            let refused = std::io::ErrorKind::WouldBlock.into();
            if started == 1 { spawn(name, run) } else { Err(Error::io("start", name, refused)) }
        });
        assert!(failed.is_err());
        assert_eq!((started, Arc::strong_count(core)), (2, before));
    }
}
