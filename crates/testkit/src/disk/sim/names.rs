//! The files to which names refer, now and after a crash.
//!
//! Invariants:
//! - SIM-NAMES-1. The live names are the durable ones with all unsynced changes applied in order.
//! - SIM-NAMES-2. An unsynced change identifies its file, not only the name, so any subset of the
//!   unsynced changes can be applied without the others.
//! - SIM-NAMES-3. After `sync_dir`, no change in that directory is unsynced. A rename from another
//!   directory leaves the removal of the old name unsynced until that directory is synced.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use clearway_disk::name;

/// The number of a file, which it keeps when it is renamed.
pub(super) type FileId = usize;

#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) files: BTreeMap<Arc<str>, FileId>,
    pub(super) dirs: BTreeSet<Arc<str>>,
}

#[derive(Clone)]
pub(super) enum NameChange {
    Link { name: Arc<str>, id: FileId },
    Unlink { name: Arc<str>, id: FileId },
    Rename { from: Arc<str>, to: Arc<str>, id: FileId },
    CreateDir { name: Arc<str> },
}

/// The names of a disk, live and durable.
#[derive(Clone, Default)]
pub(super) struct Directories {
    pub(super) live: Arc<Names>,
    pub(super) durable: Arc<Names>,
    /// The unsynced changes with their sequence numbers, in order.
    pub(super) unsynced: Vec<(u64, NameChange)>,
}

impl Names {
    pub(super) fn has_dir(&self, dir: &str) -> bool {
        dir.is_empty() || self.dirs.contains(dir)
    }

    pub(super) fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Link { name, id } => self.link(name, *id),
            NameChange::Unlink { name, id } => self.unlink(name, *id),
            NameChange::Rename { from, to, id } => {
                self.unlink(from, *id);
                self.link(to, *id);
            }
            NameChange::CreateDir { name } => {
                self.dirs.insert(name.clone());
            }
        }
    }

    fn link(&mut self, name: &Arc<str>, id: FileId) {
        self.files.insert(name.clone(), id);
    }

    fn unlink(&mut self, name: &str, id: FileId) {
        if self.files.get(name) == Some(&id) {
            // SIM-NAMES-2: the change is not about another file of this name.
            self.files.remove(name);
        }
    }

    /// Removes the names in directories that do not exist.
    pub(super) fn drop_unreachable(&mut self) {
        let reachable = |dirs: &BTreeSet<Arc<str>>, of: &str| {
            std::iter::successors(Some(name::parent(of)), |dir| {
                (!dir.is_empty()).then(|| name::parent(dir))
            })
            .all(|dir| dir.is_empty() || dirs.contains(dir))
        };
        let dirs = self.dirs.clone();
        self.files.retain(|name, _| reachable(&dirs, name));
        self.dirs.retain(|name| reachable(&dirs, name));
    }
}

impl NameChange {
    /// Splits this change into the part that a sync of `dir` makes durable and the part that it
    /// leaves unsynced (SIM-NAMES-3).
    fn split(self, dir: &str) -> (Option<NameChange>, Option<NameChange>) {
        let within = match &self {
            NameChange::Link { name, .. }
            | NameChange::Unlink { name, .. }
            | NameChange::CreateDir { name } => name::parent(name) == dir,
            NameChange::Rename { from, to, id } => {
                if name::parent(to) == dir && name::parent(from) != dir {
                    let linked = NameChange::Link { name: to.clone(), id: *id };
                    let left = NameChange::Unlink { name: from.clone(), id: *id };
                    return (Some(linked), Some(left));
                }
                name::parent(from) == dir
            }
        };
        if within { (Some(self), None) } else { (None, Some(self)) }
    }

    pub(super) fn concerns(&self, file: FileId) -> bool {
        match self {
            NameChange::Link { id, .. }
            | NameChange::Unlink { id, .. }
            | NameChange::Rename { id, .. } => *id == file,
            NameChange::CreateDir { .. } => false,
        }
    }
}

impl Directories {
    pub(super) fn change(&mut self, sequence: u64, change: NameChange) {
        Arc::make_mut(&mut self.live).apply(&change);
        self.unsynced.push((sequence, change));
    }

    /// Makes the first `limit` unsynced changes in `dir` durable.
    pub(super) fn sync_dir(&mut self, dir: &str, limit: u64) {
        let durable = Arc::make_mut(&mut self.durable);
        let mut committed = 0;
        for (sequence, change) in std::mem::take(&mut self.unsynced) {
            let (now, later) =
                if committed < limit { change.split(dir) } else { (None, Some(change)) };
            if let Some(change) = now {
                durable.apply(&change);
                committed += 1;
            }
            self.unsynced.extend(later.map(|change| (sequence, change)));
        }
    }

    /// Makes every unsynced change durable.
    pub(super) fn commit_all(&mut self) {
        self.unsynced.clear();
        self.durable = self.live.clone(); // SIM-NAMES-1
    }
}
