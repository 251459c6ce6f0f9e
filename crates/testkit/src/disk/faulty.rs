//! Any disk, with planned failures: for tests of the engine's reaction to them.
//!
//! A test keeps a [`Faults`] handle to the plan that a [`FaultyDisk`] follows:
//!
//! ```
//! use std::io::ErrorKind;
//! use clearway_disk::{Disk, MemoryDisk, OpenMode};
//! use clearway_testkit::disk::{FaultyDisk, Faults, Lasting, Operation};
//!
//! let faults = Faults::new();
//! let disk = FaultyDisk::new(MemoryDisk::new(), faults.clone());
//! let file = disk.open("data", OpenMode::Create)?;
//! faults.fail(Operation::Sync, "data", 2, ErrorKind::Other, Lasting::Once);
//! assert!(file.sync_data().is_ok());
//! assert!(file.sync_data().is_err());
//! assert!(file.sync_data().is_ok());
//! assert_eq!(faults.count(Operation::Sync, "data"), 3);
//! # Ok::<(), clearway_base::Error>(())
//! ```
//!
//! A hook ([`Faults::watch`]) sees every operation before it happens; it may record it, block it
//! (a stalled device) or fail it.

use std::{collections::BTreeMap, io, sync::Arc};

use clearway_base::{Error, Result};
use clearway_disk::{Disk, File, OpenMode};
use clearway_sync::Mutex;

use crate::{forward_disk, forward_file};

/// The kinds of operation that can be made to fail, and are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// `Disk::open`.
    Open,
    /// `File::read_at`.
    Read,
    /// `File::write_at`, and the first half of `write_durable_at`: nothing is written.
    Write,
    /// `sync_data`, `sync_all`, and the second half of `write_durable_at`: the bytes are written,
    /// but not synced.
    Sync,
    /// `File::allocate`.
    Allocate,
    /// `File::set_len`.
    SetLen,
    /// `Disk::rename`, under the old name.
    Rename,
    /// `Disk::remove`.
    Remove,
    /// `Disk::sync_dir` and `Disk::create_dir`, under the directory's name.
    Directory,
}

/// The duration of a planned fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lasting {
    /// One operation fails, the next succeeds.
    Once,
    /// This operation and all later ones of its kind fail.
    Forever,
}

/// An operation that is about to happen.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The operation.
    pub operation: Operation,
    /// The file or directory, by the name with which it was opened.
    pub name: &'a str,
    /// The offset in the file; 0 for operations without a range.
    pub offset: u64,
    /// The bytes of a write; empty for all others.
    pub bytes: &'a [u8],
}

type Hook = Arc<dyn Fn(&Event<'_>) -> Option<io::ErrorKind> + Send + Sync>;

/// A plan of failures. Clones share it.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Default)]
struct Plan {
    faults: Vec<Fault>,
    counts: BTreeMap<(Operation, String), u64>,
    hook: Option<Hook>,
}

struct Fault {
    operation: Operation,
    prefix: String,
    /// The number of matching operations that will still succeed.
    spared: u64,
    kind: io::ErrorKind,
    lasting: Lasting,
    spent: bool,
}

impl Faults {
    /// A plan without failures.
    pub fn new() -> Faults {
        Faults::default()
    }

    /// Plans a fault: the `nth` operation of this kind from now on (1 is the next) on a file whose
    /// name starts with `prefix` fails with `kind`; `ErrorKind::StorageFull` becomes
    /// [`Error::DiskFull`]. Several faults may be planned.
    pub fn fail(
        &self,
        operation: Operation,
        prefix: &str,
        nth: u64,
        kind: io::ErrorKind,
        lasting: Lasting,
    ) {
        let (prefix, spared) = (prefix.to_string(), nth.saturating_sub(1));
        let fault = Fault { operation, prefix, spared, kind, lasting, spent: false };
        self.0.lock().faults.push(fault);
    }

    /// Calls `hook` before every operation, in the thread that performs it and under no latch of
    /// this disk. The operation fails with the error kind that the hook returns, if any.
    pub fn watch(
        &self,
        hook: impl Fn(&Event<'_>) -> Option<io::ErrorKind> + Send + Sync + 'static,
    ) {
        self.0.lock().hook = Some(Arc::new(hook));
    }

    /// Removes the planned failures and the hook. The counts stay.
    pub fn clear(&self) {
        let mut plan = self.0.lock();
        plan.faults.clear();
        plan.hook = None;
    }

    /// The number of operations of this kind that were requested on files whose name starts with
    /// `prefix`, failed operations included.
    pub fn count(&self, operation: Operation, prefix: &str) -> u64 {
        let plan = self.0.lock();
        let matching =
            |(of, name): &(Operation, String)| *of == operation && name.starts_with(prefix);
        plan.counts.iter().filter(|(key, _)| matching(key)).map(|(_, count)| count).sum()
    }

    /// Counts the operation, and returns the kind of its error if it is to fail.
    fn next_error(&self, event: &Event<'_>) -> Option<io::ErrorKind> {
        let mut plan = self.0.lock();
        *plan.counts.entry((event.operation, event.name.to_string())).or_default() += 1;
        let matching = plan.faults.iter_mut().filter(|fault| fault.matches(event));
        // Every matching fault counts this operation; the first fault that is due determines the
        // error.
        let kinds: Vec<_> = matching.filter_map(Fault::error_if_due).collect();
        let hook = plan.hook.clone();
        drop(plan);
        let hooked = hook.and_then(|hook| hook(event));
        kinds.first().copied().or(hooked)
    }
}

impl Fault {
    fn matches(&self, event: &Event<'_>) -> bool {
        self.operation == event.operation && event.name.starts_with(&self.prefix)
    }

    /// Counts one matching operation, and returns the kind of its error if the fault is due.
    fn error_if_due(&mut self) -> Option<io::ErrorKind> {
        if self.spared > 0 {
            self.spared -= 1;
            return None;
        }
        let due = !self.spent;
        self.spent = self.lasting == Lasting::Once;
        due.then_some(self.kind)
    }
}

/// A disk that does what `inner` does, except for the planned failures.
pub struct FaultyDisk<D> {
    inner: D,
    faults: Faults,
}

impl<D: Disk> FaultyDisk<D> {
    /// A disk over `inner` that follows the plan `faults`.
    pub fn new(inner: D, faults: Faults) -> FaultyDisk<D> {
        FaultyDisk { inner, faults }
    }

    fn check(&self, operation: Operation, verb: &'static str, name: &str) -> Result<()> {
        let event = Event { operation, name, offset: 0, bytes: &[] };
        let failed = |kind: io::ErrorKind| Error::io(verb, self.path().join(name), kind.into());
        self.faults.next_error(&event).map_or(Ok(()), |kind| Err(failed(kind)))
    }
}

impl<D: Disk> Disk for FaultyDisk<D> {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.check(Operation::Open, "open", name)?;
        let inner = self.inner.open(name, mode)?;
        Ok(Arc::new(FaultyFile { inner, name: name.to_string(), faults: self.faults.clone() }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.check(Operation::Rename, "rename", from)?;
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.check(Operation::Remove, "remove", name)?;
        self.inner.remove(name)
    }

    fn create_dir(&self, dir: &str) -> Result<()> {
        self.check(Operation::Directory, "create directory", dir)?;
        self.inner.create_dir(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        self.check(Operation::Directory, "sync directory", dir)?;
        self.inner.sync_dir(dir)
    }

    forward_disk!(inner; exists, list, lock, random, path);
}

struct FaultyFile {
    inner: Arc<dyn File>,
    name: String,
    faults: Faults,
}

impl FaultyFile {
    fn check(
        &self,
        operation: Operation,
        verb: &'static str,
        offset: u64,
        bytes: &[u8],
    ) -> Result<()> {
        let event = Event { operation, name: &self.name, offset, bytes };
        match self.faults.next_error(&event) {
            Some(kind) => Err(Error::io(verb, self.inner.path(), kind.into())),
            None => Ok(()),
        }
    }
}

impl File for FaultyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.check(Operation::Read, "read", offset, &[])?;
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.check(Operation::Write, "write", offset, buf)?;
        self.inner.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.check(Operation::Write, "write durably", offset, buf)?;
        if let Err(failed) = self.check(Operation::Sync, "write durably", offset, &[]) {
            self.inner.write_at(buf, offset)?;
            return Err(failed);
        }
        self.inner.write_durable_at(buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        self.check(Operation::Sync, "sync", 0, &[])?;
        self.inner.sync_data()
    }

    fn sync_all(&self) -> Result<()> {
        self.check(Operation::Sync, "sync", 0, &[])?;
        self.inner.sync_all()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.check(Operation::SetLen, "set the length of", len, &[])?;
        self.inner.set_len(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        self.check(Operation::Allocate, "grow", offset, &[])?;
        self.inner.allocate(offset, len)
    }

    forward_file!(inner; len, path);
}

#[cfg(test)]
mod tests;
