//! Options for experiments with the engine and for tests of it. The feature `experiments` adds
//! them and changes nothing else.

use std::time::Duration;

use clearway_txn::EngineOptions;

use super::Options;

impl Options {
    /// For experts: sets the group-commit delay, the minimum time from the start of a flush to the
    /// start of the next one if no thread waits for it. At most a second; default 100 µs. A longer
    /// delay makes fewer, larger flushes while threads are busy.
    ///
    /// Waiting for a [`Pending`](crate::Pending), with a thread or as a future, ends the delay for
    /// all commits. Three things do not end it: checking a `Pending` with
    /// [`try_take`](crate::Pending::try_take) or [`is_ready`](crate::Pending::is_ready); waiting
    /// for the [`Ticket`](crate::Ticket) of a pipeline whose agents have more to run; commits of
    /// [`CommitMode::Lazy`](crate::CommitMode::Lazy).
    pub fn group_commit_delay(mut self, delay: Duration) -> Options {
        self.engine.log.group_commit_delay = delay;
        self
    }

    /// Sets whether a transaction that was a deadlock's victim begins its next attempt by trying to
    /// take the locks that the lost attempt held or was denied, if it held fewer than 64, in an
    /// order that is the same for all transactions. Default: true. The benefit where deadlocks are
    /// frequent is measured by `clearway-lab deadlock_retries`.
    pub fn retries_lock_first(mut self, lock_first: bool) -> Options {
        self.engine.retries_lock_first = lock_first;
        self
    }

    /// For tests of the engine itself: logs images of the changed pages after each change, and
    /// recovery compares them with the result of redo. A difference is reported as
    /// [`Error::CorruptPage`](crate::Error::CorruptPage), and the database is not opened. This is
    /// slow: the log becomes many times as long. An image is left out if the log would be more than
    /// half full with it, or if the prepared log files have no room for it. Recovery compares all
    /// images it finds, whether or not the option is set. Default off.
    pub fn redo_check(mut self, on: bool) -> Options {
        self.engine.redo_check = on;
        self
    }

    /// For tests and experiments: changes any other option of the engine, those of locks included.
    pub fn engine(mut self, change: impl FnOnce(&mut EngineOptions)) -> Options {
        change(&mut self.engine);
        self
    }

    /// Sets the usable bytes of a page, so that tests get deep trees from few keys.
    pub fn node_bytes(mut self, bytes: usize) -> Options {
        self.engine.node_bytes = bytes;
        self
    }

    /// Sets whether checkpoints and space reclamation run automatically; off only in tests.
    pub fn background(mut self, on: bool) -> Options {
        self.engine.background = on;
        self
    }
}
