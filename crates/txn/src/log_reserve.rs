//! The engine's own log reserve, from which page splits of undos and checkpoints are paid
//! (TXN-SPACE-3).

use clearway_base::{Error, Result};
use clearway_log::Log;
use clearway_sync::Mutex;

/// Log space that belongs to the engine (TXN-SPACE-3). Commits do not use it: its mutex is taken by
/// rollbacks that need more than their own reservation, by checkpoints, and for statistics.
pub(crate) struct Reserve {
    held: Mutex<u64>,
    target: u64,
}

/// Eight records of the longest kind.
const RESERVE_BYTES: u64 = 8 * clearway_base::RECORD_LEN_MAX as u64;

impl Reserve {
    /// Reserves its log space: 1/32 of the log's capacity, but at most [`RESERVE_BYTES`]. On a full
    /// disk it begins with nothing, and checkpoints refill it.
    pub(crate) fn open(log: &Log) -> Result<Reserve> {
        let target = RESERVE_BYTES.min(log.capacity_bytes() / 32);
        let held = match log.reserve_space(target) {
            Ok(()) => target,
            Err(Error::DiskFull { .. }) => 0,
            Err(error) => return Err(error),
        };
        Ok(Reserve { held: Mutex::new(held), target })
    }

    /// Takes `bytes`, or what is left.
    pub(crate) fn take(&self, bytes: u64) -> u64 {
        let mut held = self.held.lock();
        let taken = bytes.min(*held);
        *held -= taken;
        taken
    }

    /// Takes `bytes` for a checkpoint; those that the reserve does not have are reserved in the
    /// log, without waiting, since threads that wait for space wait for the checkpoint. `refill`
    /// brings the reserve back to its size afterwards.
    ///
    /// # Errors
    /// Those of [`Log::try_reserve_space`]; nothing is taken then.
    pub(crate) fn take_all(&self, bytes: u64, log: &Log) -> Result<()> {
        let taken = self.take(bytes);
        if taken == bytes {
            return Ok(());
        }
        log.try_reserve_space(bytes - taken).inspect_err(|_| self.put(taken))
    }

    /// The bytes in the reserve now.
    pub(crate) fn held(&self) -> u64 {
        *self.held.lock()
    }

    /// Puts back what was taken and not used.
    pub(crate) fn put(&self, bytes: u64) {
        *self.held.lock() += bytes;
    }

    /// Brings the reserve back to its size, if the log has room. Does not wait for room: the caller
    /// is a checkpoint, for which threads that need room wait.
    pub(crate) fn refill(&self, log: &Log) {
        let missing = self.target.saturating_sub(*self.held.lock());
        if missing > 0 && log.try_reserve_space(missing).is_ok() {
            self.put(missing);
        }
    }
}
