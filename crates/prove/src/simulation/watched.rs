//! A disk that reports each operation to the write-ahead observer before it is executed.
//!
//! The observer needs the current name of a file, but a segment is written through a handle that
//! was opened when the file was a spare (a reserved segment with another name). So this disk
//! follows each name through renames.

use std::{collections::BTreeMap, sync::Arc};

use clearway_base::{Lsn, Result};
use clearway_disk::{Disk, File, OpenMode};
use clearway_sync::Mutex;
use clearway_testkit::{forward_disk, forward_file};

use crate::oracles::{Verdict, Violation, WriteAhead};

/// The observer and its findings, which the watched disk and its files share with the run.
#[derive(Clone, Default)]
pub(super) struct Watch(Arc<Mutex<Observed>>);

#[derive(Default)]
struct Observed {
    observer: WriteAhead,
    violation: Option<Violation>,
    names: BTreeMap<String, Name>,
}

type Name = Arc<Mutex<String>>;

impl Watch {
    /// Returns a watch over a new database with segments of this size.
    pub(super) fn new(segment_bytes: u64) -> Watch {
        let observed = Observed { observer: WriteAhead::new(segment_bytes), ..Observed::default() };
        Watch(Arc::new(Mutex::new(observed)))
    }

    /// Returns `disk` with its operations observed. The database on it is about to be opened.
    pub(super) fn over(&self, disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
        let mut observed = self.0.lock();
        observed.observer.reopen();
        observed.names.clear();
        drop(observed);
        Arc::new(WatchedDisk { disk, watch: self.clone() })
    }

    /// Checks a result with this `ack`, which is about to be acknowledged.
    ///
    /// # Errors
    /// If the result could still be lost.
    pub(super) fn acknowledge(&self, ack: Lsn) -> Verdict {
        self.0.lock().observer.acknowledge(ack)
    }

    /// Reports the first violation observed so far.
    ///
    /// # Errors
    /// That violation.
    pub(super) fn verdict(&self) -> Verdict {
        self.0.lock().violation.clone().map_or(Ok(()), Err)
    }

    fn observe(&self, check: impl FnOnce(&mut WriteAhead) -> Verdict) {
        let mut observed = self.0.lock();
        if let Err(violation) = check(&mut observed.observer) {
            observed.violation.get_or_insert(violation);
        }
    }

    fn name(&self, name: &str) -> Name {
        let new = || Arc::new(Mutex::new(name.to_string()));
        self.0.lock().names.entry(name.to_string()).or_insert_with(new).clone()
    }

    fn renamed(&self, from: &str, to: &str) {
        let mut observed = self.0.lock();
        if let Some(name) = observed.names.remove(from) {
            *name.lock() = to.to_string();
            observed.names.insert(to.to_string(), name);
        }
    }
}

struct WatchedDisk {
    disk: Arc<dyn Disk>,
    watch: Watch,
}

impl Disk for WatchedDisk {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        let file = self.disk.open(name, mode)?;
        Ok(Arc::new(WatchedFile { file, name: self.watch.name(name), watch: self.watch.clone() }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.watch.observe(|observer| observer.unname(from));
        self.disk.rename(from, to)?;
        self.watch.renamed(from, to);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.watch.observe(|observer| observer.unname(name));
        self.disk.remove(name)?;
        self.watch.0.lock().names.remove(name);
        Ok(())
    }

    forward_disk!(disk; exists, list, create_dir, sync_dir, lock, random, path);
}

struct WatchedFile {
    file: Arc<dyn File>,
    name: Name,
    watch: Watch,
}

impl WatchedFile {
    fn before_write(&self, offset: u64, bytes: &[u8]) {
        let name = self.name.lock();
        self.watch.observe(|observer| observer.write(&name, offset, bytes));
    }
}

impl File for WatchedFile {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.before_write(offset, buf);
        self.file.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.before_write(offset, buf);
        self.file.write_durable_at(buf, offset)?;
        let name = self.name.lock();
        self.watch.0.lock().observer.written_durably(&name, offset, buf);
        Ok(())
    }

    forward_file!(file; read_at, sync_data, sync_all, len, set_len, allocate, path);
}
