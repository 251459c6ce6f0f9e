//! The two threads of an engine: one takes checkpoints, one visits sparse leaves.
//!
//! The checkpointer looks twenty times a second at how much log there is since the last
//! checkpoint, so that no commit has to; the log wakes it when space runs short. The threads hold
//! the core and not the engine, so dropping the engine ends them.

use std::{sync::Arc, time::Duration};

use clearway_base::{Error, Result};
use clearway_sync::{
    Condvar, Mutex,
    thread::{self, JoinHandle},
};

use crate::{
    checkpoint::{self, Cleaning},
    core::Core,
    finish, ghosts,
};

/// How often the checkpointer looks. At 1 GB/s of log that is 50 MB, a twentieth of the default
/// capacity.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// After a checkpoint that failed for want of space, and at most this often for want of log.
const PAUSE: Duration = Duration::from_millis(200);

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
        let signal = Arc::new(Signal::default());
        let waker = signal.clone();
        core.log.set_space_waker(Box::new(move || waker.raise(|wishes| wishes.space = true)));
        let mut threads = Vec::new();
        let (own, for_core) = (signal.clone(), core.clone());
        threads.push(spawn("clearway-checkpoint", move || run_checkpointer(&for_core, &own))?);
        let for_core = core.clone();
        threads.push(spawn("clearway-maintain", move || ghosts::run(&for_core))?);
        Ok(Background { signal, threads })
    }

    /// Ends the threads and waits for them.
    pub(crate) fn stop(self, core: &Core) {
        self.signal.raise(|wishes| wishes.stop = true);
        core.ghosts.stop();
        core.log.set_space_waker(Box::new(|| ()));
        for thread in self.threads {
            // A panic there has been printed; the engine goes on closing.
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name(name.into()).spawn(run);
    thread.map_err(|source| Error::io("start a thread for", name, source))
}

fn run_checkpointer(core: &Arc<Core>, signal: &Signal) {
    loop {
        let wish = signal.wait();
        if wish == Wish::Stop {
            return;
        }
        // Data that could not be written: nothing it belongs to may be truncated from the log, and
        // what is dirty will never be clean. Better to say so than to fill up.
        if let Err(error) = core.pool.health() {
            core.fail(error);
        }
        if core.check_open().is_err() {
            continue;
        }
        let result = if wish == Wish::Space { make_space(core) } else { keep_pace(core) };
        if result.is_err() {
            thread::sleep(PAUSE);
        }
    }
}

/// The log is short of space: clean everything, so that as much as possible can go.
fn make_space(core: &Arc<Core>) -> Result<()> {
    finish::retry_stranded(core);
    let before = core.log.keep_from();
    checkpoint::take(core, Cleaning::All)?;
    if core.log.keep_from() == before {
        // An old transaction holds the log: another checkpoint right now would change nothing.
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// A checkpoint after every so many bytes of log.
fn keep_pace(core: &Arc<Core>) -> Result<()> {
    let step = core.options.checkpoint_log_bytes.min(core.log.capacity_bytes() / 4);
    if core.checkpoints.log_bytes_since(core.log.end()) < step {
        return Ok(());
    }
    finish::retry_stranded(core);
    checkpoint::take(core, Cleaning::Old)
}
