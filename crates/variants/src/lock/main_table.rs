//! Intent locks in the lock table, for comparison with lightweight intent locks.
//!
//! An intent lock is a request in the queue of its resource's bucket, like a range lock, coded so
//! that the queue's own algebra is that of the intent modes. Grants, conversions, order, hand-over
//! and the edges of the wait-for graph are the queue's, unchanged.
//!
//! Invariants:
//! - MAIN-TABLE-1. An owner has an entry in the resource's queue for exactly the mode in its
//!   private table (OWNER-2), or one that waits, or was granted and is not picked up; or it left
//!   the entry to its next transaction (`inherited`).
//! - MAIN-TABLE-2. The tags are those of the resource's entry and not of the bucket, so that only
//!   absolute requests meet the tags of writers of parts. They rise before the queue's latch is
//!   taken to release, and are read after the grant (RESOURCE-5, BUCKET-2, BUCKET-3).
//! - MAIN-TABLE-3. No range lock has the identity of a resource, but for a collision of 64 bits:
//!   those of resources are hashed under a tree number that no tree has.
//!
//! Source: "Efficient Locking Techniques for Databases on Modern Hardware", section 3.1: "each
//! transaction must create a lock request for intent locks in the lock table and then remove it
//! when it commits". Difference: there a bucket is under a mutex and holds a queue for each lock;
//! here both are the lean ones that range locks use.

use clearway_base::{Lsn, TreeId};
use clearway_lock::{
    IntentMode, LockId,
    parts::{Holder, IntentStore, Resources},
};

use super::inherited::Inheritance;

/// The store.
pub(super) struct MainTable {
    /// Present if intent locks are inherited.
    inheritance: Option<Inheritance>,
}

/// The name of a resource in the lock table (MAIN-TABLE-3).
pub(super) fn name_of(entry: u32) -> LockId {
    LockId::of(TreeId(u32::MAX), &entry.to_le_bytes())
}

impl MainTable {
    pub(super) fn new(inheritance: Option<Inheritance>) -> MainTable {
        MainTable { inheritance }
    }

    /// Ends an absolute request, which was granted, refused or withdrawn.
    fn end_absolute(&self, entry: u32, mode: IntentMode) {
        if let Some(inheritance) = &self.inheritance {
            inheritance.end_absolute(entry, mode);
        }
    }
}

impl IntentStore for MainTable {
    fn name(&self, entry: u32) -> LockId {
        name_of(entry)
    }

    fn start(&self, holder: &mut Holder<'_>, entry: u32, wanted: IntentMode, queue: bool) -> bool {
        if let Some(inheritance) = &self.inheritance {
            if inheritance.claim(holder, entry, wanted) {
                holder.wake();
                return true;
            }
            inheritance.begin_absolute(holder, entry, wanted);
        }
        let mut latched = holder.resources().queue(name_of(entry));
        if let Some(inheritance) = &self.inheritance {
            inheritance.flush_conflicting(&mut latched, holder, entry, wanted);
        }
        let granted = latched.request(holder.number(), wanted, queue);
        if granted {
            drop(latched);
            self.end_absolute(entry, wanted);
            holder.note(entry, wanted);
        } else if queue {
            holder.wait(latched, entry, wanted);
        } else {
            drop(latched);
            self.end_absolute(entry, wanted);
        }
        // Flushing may have granted others.
        holder.wake();
        granted
    }

    fn picked_up(&self, entry: u32, mode: IntentMode) {
        self.end_absolute(entry, mode);
    }

    fn withdraw(
        &self,
        holder: &mut Holder<'_>,
        entry: u32,
        before: Option<IntentMode>,
        wanted: IntentMode,
        undo: bool,
    ) -> bool {
        let mut queue = holder.resources().queue(name_of(entry));
        if !holder.withdraw(&mut queue, before, undo) {
            return false;
        }
        drop(queue);
        self.end_absolute(entry, wanted);
        true
    }

    fn lower(
        &self,
        holder: &mut Holder<'_>,
        entry: u32,
        mode: IntentMode,
        to: Option<IntentMode>,
        commit: Option<Lsn>,
    ) {
        if let Some(inheritance) = &self.inheritance
            && to.is_none()
            && inheritance.pass_on(holder, entry, mode, commit)
        {
            return;
        }
        if let Some(commit) = commit {
            // MAIN-TABLE-2: before the lock is free.
            holder.resources().raise_tags(entry, mode, commit);
        }
        let mut queue = holder.resources().queue(name_of(entry));
        queue.lower(holder.number(), to, holder.granted());
    }

    fn end(&self, holder: &mut Holder<'_>) {
        if let Some(inheritance) = &self.inheritance {
            inheritance.drop_unused(holder);
        }
    }

    fn flush(&self, resources: Resources<'_>, entry: u32) {
        if let Some(inheritance) = &self.inheritance {
            inheritance.flush_entry(resources, entry);
        }
    }
}
