//! Any disk, with slower log flushes.
//!
//! For experiments that compare commit protocols on devices of 100 µs, 1 ms or 10 ms. Only files
//! of the log are delayed (their names start with `log/`), so that the data file's writes do not
//! blur the comparison.

use std::{
    num::NonZeroU64,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::Result;
use clearway_disk::{Disk, File, MemoryDisk, OpenMode, OsDisk};
use clearway_sync::thread;

use crate::{forward_disk, forward_file};

/// Files whose names start with this are delayed.
const DELAYED_PREFIX: &str = "log/";

/// A disk whose log syncs and durable log writes take at least `delay` each. Concurrent ones delay
/// each other no more than they do on the underlying disk.
pub struct DelayedDisk<D> {
    inner: D,
    delay: Duration,
}

impl<D: Disk> DelayedDisk<D> {
    /// Delays the log flushes of `inner`. Zero delays nothing.
    pub fn new(inner: D, delay: Duration) -> DelayedDisk<D> {
        DelayedDisk { inner, delay }
    }
}

impl DelayedDisk<MemoryDisk> {
    /// A new disk in memory with delayed log flushes, of the type that a database takes.
    pub fn in_memory(delay: Duration) -> Arc<DelayedDisk<MemoryDisk>> {
        Arc::new(DelayedDisk::new(MemoryDisk::new(), delay))
    }
}

impl DelayedDisk<OsDisk> {
    /// The directory at `path`, which is created if it is missing, with delayed log flushes.
    pub fn in_directory(
        path: impl AsRef<Path>,
        delay: Duration,
    ) -> Result<Arc<DelayedDisk<OsDisk>>> {
        Ok(Arc::new(DelayedDisk::new(OsDisk::open_dir(path, true)?, delay)))
    }
}

impl<D: Disk> Disk for DelayedDisk<D> {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        let inner = self.inner.open(name, mode)?;
        if self.delay.is_zero() || !name.starts_with(DELAYED_PREFIX) {
            return Ok(inner);
        }
        Ok(Arc::new(DelayedFile { inner, delay: self.delay }))
    }

    forward_disk!(inner);
    forward_disk!(inner; io_queue);
}

struct DelayedFile {
    inner: Arc<dyn File>,
    delay: Duration,
}

impl DelayedFile {
    /// Runs `flush` and sleeps for what is left of the delay.
    fn delayed(&self, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        let result = flush();
        let left = self.delay.saturating_sub(start.elapsed());
        if !left.is_zero() {
            sleep_precisely(left);
        }
        result
    }
}

/// Sleeps for `time`. The kernel may add up to 50 µs to a sleep to save power, half of the shortest
/// delay of interest, so each thread asks the kernel not to before its first sleep.
pub(super) fn sleep_precisely(time: Duration) {
    thread_local! {
        static ASKED: () = {
            // If the kernel refuses, sleeps are somewhat longer and still correct.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        };
    }
    ASKED.with(|()| ());
    thread::sleep(time);
}

impl File for DelayedFile {
    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.delayed(|| self.inner.write_durable_at(buf, offset))
    }

    fn sync_data(&self) -> Result<()> {
        self.delayed(|| self.inner.sync_data())
    }

    fn sync_all(&self) -> Result<()> {
        self.delayed(|| self.inner.sync_all())
    }

    forward_file!(inner; read_at, write_at, len, set_len, allocate, path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_log_flushes_are_delayed() {
        let delay = Duration::from_millis(20);
        let disk = DelayedDisk::new(MemoryDisk::new(), delay);
        disk.create_dir("log").unwrap();
        let log = disk.open("log/0", OpenMode::Create).unwrap();
        let data = disk.open("data", OpenMode::Create).unwrap();
        let time = |operation: &dyn Fn() -> Result<()>| {
            let start = Instant::now();
            operation().unwrap();
            start.elapsed()
        };
        assert!(time(&|| log.write_durable_at(b"x", 0)) >= delay);
        assert!(time(&|| log.sync_data()) >= delay);
        assert!(time(&|| log.sync_all()) >= delay);
        // The quickest of several, because the machine may be busy.
        let quickest = (0..10)
            .map(|_| time(&|| log.write_at(b"x", 0).and_then(|()| data.write_durable_at(b"x", 0))));
        assert!(quickest.min().unwrap() < delay);
    }
}
