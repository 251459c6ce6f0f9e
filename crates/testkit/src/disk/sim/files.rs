//! The calls of [`Disk`] and [`File`] on a simulated disk.

use std::{io, path::PathBuf, sync::Arc};

use clearway_base::{Error, Result};
use clearway_disk::{Disk, File, OpenMode, name};

use super::{
    Shared, SimDisk,
    fault::{SimEvent, SimOperation},
    names::{FileId, NameChange},
    state::{Extent, State, failure, path},
};
use crate::{Random, mix};

/// Makes the numbers that the engine draws from the disk differ from the disk's own draws.
const NUMBER_SALT: u64 = 0x9E37_79B9_7F4A_7C15;

fn event(operation: SimOperation, name: &str) -> SimEvent<'_> {
    SimEvent { number: 0, operation, name, offset: 0, len: 0, bytes: &[], failed: false }
}

/// Returns true if an operation that cannot take effect in part has no effect at all.
fn skipped(extent: Extent) -> bool {
    match extent {
        Extent::Part(mut draws) => draws.chance(50),
        _ => false,
    }
}

fn check(name: &str) -> Result<()> {
    name::check(&path(""), name)
}

impl State {
    fn open(&mut self, name: &str, mode: OpenMode, extent: Extent) -> Result<FileId> {
        let failed = |kind| Err(failure(SimOperation::Open, name, kind));
        let names = &self.names.live;
        match names.files.get(name) {
            Some(_) if mode == OpenMode::CreateNew => failed(io::ErrorKind::AlreadyExists),
            Some(&id) => Ok(id),
            None if names.dirs.contains(name) => failed(io::ErrorKind::IsADirectory),
            None if mode == OpenMode::Existing || !names.has_dir(name::parent(name)) => {
                failed(io::ErrorKind::NotFound)
            }
            None if skipped(extent) => failed(io::ErrorKind::Other),
            None => {
                let id = self.files.len();
                self.files.push(super::contents::Contents::default());
                self.change_names(NameChange::Link { name: Arc::from(name), id });
                Ok(id)
            }
        }
    }

    fn rename(&mut self, from: &str, to: &str, extent: Extent) -> Result<()> {
        let failed = |kind| Err(failure(SimOperation::Rename, from, kind));
        let names = &self.names.live;
        if !names.has_dir(name::parent(to)) {
            return failed(io::ErrorKind::NotFound);
        }
        if names.dirs.contains(from) || names.dirs.contains(to) {
            return failed(io::ErrorKind::IsADirectory);
        }
        let Some(&id) = names.files.get(from) else { return failed(io::ErrorKind::NotFound) };
        let replaced = names.files.get(to).copied();
        if from == to || skipped(extent) {
            return Ok(());
        }
        self.change_names(NameChange::Rename { from: Arc::from(from), to: Arc::from(to), id });
        replaced.into_iter().for_each(|id| self.release(id));
        Ok(())
    }

    fn remove(&mut self, name: &str, extent: Extent) -> Result<()> {
        let failed = |kind| Err(failure(SimOperation::Remove, name, kind));
        if self.names.live.dirs.contains(name) {
            return failed(io::ErrorKind::IsADirectory);
        }
        let Some(&id) = self.names.live.files.get(name) else {
            return failed(io::ErrorKind::NotFound);
        };
        if !skipped(extent) {
            self.change_names(NameChange::Unlink { name: Arc::from(name), id });
            self.release(id);
        }
        Ok(())
    }

    fn create_dir(&mut self, dir: &str, extent: Extent) -> Result<()> {
        let failed = |kind| Err(failure(SimOperation::CreateDir, dir, kind));
        if !self.names.live.has_dir(name::parent(dir)) {
            return failed(io::ErrorKind::NotFound);
        }
        if self.names.live.files.contains_key(dir) {
            return failed(io::ErrorKind::AlreadyExists);
        }
        if !self.names.live.has_dir(dir) && !skipped(extent) {
            self.change_names(NameChange::CreateDir { name: Arc::from(dir) });
        }
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>> {
        check(name)?;
        let mut state = self.0.state.lock();
        let opened = event(SimOperation::Open, name);
        let id = state.perform(opened, |state, extent| state.open(name, mode, extent))?;
        state.files[id].handles += 1;
        Ok(Arc::new(SimFile { disk: self.0.clone(), id, name: Box::from(name) }))
    }

    fn exists(&self, name: &str) -> Result<bool> {
        check(name)?;
        let state = self.0.state.lock();
        state.check_power("look up", name)?;
        let names = &state.names.live;
        Ok(names.files.contains_key(name) || names.dirs.contains(name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        check(from)?;
        check(to)?;
        let renamed = SimEvent { bytes: to.as_bytes(), ..event(SimOperation::Rename, from) };
        let mut state = self.0.state.lock();
        state.perform(renamed, |state, extent| state.rename(from, to, extent))
    }

    fn remove(&self, name: &str) -> Result<()> {
        check(name)?;
        let removed = event(SimOperation::Remove, name);
        self.0.state.lock().perform(removed, |state, extent| state.remove(name, extent))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        name::check_dir(&path(""), dir)?;
        let state = self.0.state.lock();
        state.check_power("list", dir)?;
        let files = &state.names.live.files;
        if files.contains_key(dir) {
            return Err(Error::io("list", path(dir), io::ErrorKind::NotADirectory.into()));
        }
        let within = files.keys().filter(|name| name::parent(name) == dir);
        Ok(within.map(|name| name.rsplit('/').next().unwrap_or(name).to_string()).collect())
    }

    fn create_dir(&self, dir: &str) -> Result<()> {
        check(dir)?;
        let created = event(SimOperation::CreateDir, dir);
        self.0.state.lock().perform(created, |state, extent| state.create_dir(dir, extent))
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        name::check_dir(&path(""), dir)?;
        let synced = event(SimOperation::SyncDir, dir);
        self.0.state.lock().perform(synced, |state, extent| {
            if !state.names.live.has_dir(dir) {
                return Err(failure(SimOperation::SyncDir, dir, io::ErrorKind::NotFound));
            }
            state.sync_dir(dir, extent);
            Ok(())
        })
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        let mut state = self.0.state.lock();
        state.check_power("lock", "")?;
        if state.locked {
            return Err(Error::AlreadyOpen { path: path(""), process: Some(std::process::id()) });
        }
        state.locked = true;
        Ok(Box::new(DirGuard(self.0.clone())))
    }

    fn random(&self) -> Result<u64> {
        let mut state = self.0.state.lock();
        state.check_power("draw a random number for", "")?;
        state.drawn += 1;
        Ok(Random::stream(mix(state.seed ^ NUMBER_SALT), state.drawn).next_u64())
    }

    fn path(&self) -> PathBuf {
        path("")
    }
}

/// Holds the lock of the directory until it is dropped.
struct DirGuard(Arc<Shared>);

impl Drop for DirGuard {
    fn drop(&mut self) {
        self.0.state.lock().locked = false;
    }
}

/// A handle of a file. It must be dropped outside the disk's latch, because its `drop` takes the
/// latch.
struct SimFile {
    disk: Arc<Shared>,
    id: FileId,
    name: Box<str>,
}

impl SimFile {
    fn perform(
        &self,
        event: SimEvent<'_>,
        apply: impl FnOnce(&mut State, Extent) -> Result<()>,
    ) -> Result<()> {
        self.disk.state.lock().perform(event, apply)
    }

    fn write(&self, operation: SimOperation, buf: &[u8], offset: u64) -> Result<()> {
        let len = buf.len() as u64;
        let written = SimEvent { offset, len, bytes: buf, ..event(operation, &self.name) };
        let durable = operation == SimOperation::WriteDurable;
        self.perform(written, |state, extent| {
            state.write((self.id, &self.name), (buf, offset), durable, extent)
        })
    }

    fn sync(&self, operation: SimOperation) -> Result<()> {
        self.perform(event(operation, &self.name), |state, extent| {
            state.sync(self.id, operation == SimOperation::SyncAll, extent);
            Ok(())
        })
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.disk.state.lock().read((self.id, &self.name), buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.write(SimOperation::Write, buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.write(SimOperation::WriteDurable, buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        self.sync(SimOperation::SyncData)
    }

    fn sync_all(&self) -> Result<()> {
        self.sync(SimOperation::SyncAll)
    }

    fn len(&self) -> Result<u64> {
        let state = self.disk.state.lock();
        state.check_power("read the length of", &self.name)?;
        Ok(state.files[self.id].live.len)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let set = SimEvent { offset: len, ..event(SimOperation::SetLen, &self.name) };
        self.perform(set, |state, extent| match skipped(extent) {
            true => Ok(()),
            false => state.set_len(self.id, &self.name, len),
        })
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        let allocated = SimEvent { offset, len, ..event(SimOperation::Allocate, &self.name) };
        self.perform(allocated, |state, extent| {
            if len == 0 || skipped(extent) {
                return Ok(());
            }
            state.grow(self.id, &self.name, offset.saturating_add(len))
        })
    }

    fn path(&self) -> PathBuf {
        path(&self.name)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.state.lock();
        state.files[self.id].handles -= 1;
        state.release(self.id);
    }
}
