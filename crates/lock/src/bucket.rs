//! A bucket of the lock table: never freed, with the requests that hash to it and a tag.
//!
//! Invariants:
//! - BUCKET-1. A bucket is one cache line and, for entries beyond the first two, an overflow. It
//!   holds every entry of every identity that hashes to it, and one tag for all of them: a tag is
//!   at least the end of the commit record of every owner that held a lock here exclusively when it
//!   committed.
//! - BUCKET-2. A tag never decreases, and is raised *before* the lock becomes grantable: in the
//!   same latch hold, ahead of the release.
//! - BUCKET-3. An owner that is granted a lock or passes a check reads the tag afterwards.
//! - BUCKET-4. A thread that holds a bucket's latch takes no other bucket's latch, calls no waker,
//!   and waits for nothing but the latches that follow in the latch order and the memory allocator.
//!   It allocates only for an entry that finds no place in the cache line (the bucket's overflow),
//!   and for the calling owner's lists: the locks that it holds and publishes, the owners that it
//!   grants, and those that its search for a cycle meets. No cycle of waits can contain such an
//!   allocation: the allocator calls nothing of the engine, so no thread waits for a latch while it
//!   holds what the allocator needs. Threads that want the latch meanwhile spin a little longer.
//!
//! Algorithm: "Efficient Locking for Databases", sections 2.2 and 5.3, algorithms 6 and 7.

use clearway_base::Lsn;
use clearway_sync::{
    SpinLatch,
    atomic::{AtomicU64, Ordering},
    invariant,
};

use crate::{entries::Entries, identity::LockId, mode::RangeMode, queue::Handover};

/// One cache line (BUCKET-1): 8 bytes for the latch, 48 bytes for the entries, 8 bytes for the tag.
#[repr(align(64))]
pub(crate) struct Bucket {
    pub(crate) entries: SpinLatch<Entries>,
    tag: AtomicU64,
}

#[cfg(not(any(loom, shuttle)))] // A model's atomics are larger.
const _: () = assert!(size_of::<Bucket>() == 64);

impl Bucket {
    pub(crate) fn new() -> Bucket {
        Bucket { entries: SpinLatch::new(Entries::new()), tag: AtomicU64::new(0) }
    }

    /// Returns the tag, for an owner that was granted a lock here (BUCKET-3), or for `pass_tag`.
    #[inline]
    pub(crate) fn tag(&self) -> Lsn {
        // Relaxed: the caller holds the bucket's latch; or was granted its lock after the tag rose,
        // which the Acquire of `WaitRecord::is_granted` saw (BUCKET-2); or is `pass_tag`, which
        // states its reason.
        Lsn(self.tag.load(Ordering::Relaxed))
    }

    /// Raises the tag. The caller holds the latch, so no other thread writes it.
    #[inline]
    pub(crate) fn raise_tag(&self, lsn: Lsn) {
        // Relaxed: published by the latch's release, or by a grant that follows (BUCKET-2).
        if self.tag.load(Ordering::Relaxed) < lsn.0 {
            self.tag.store(lsn.0, Ordering::Relaxed);
        }
    }

    /// Lowers an owner's lock: with `keep` = NN releases it, with `keep` = XX releases only its
    /// shared parts. Returns the mode that remains. Raises the tag before it grants waiters, in one
    /// latch hold (BUCKET-2).
    #[inline]
    pub(crate) fn release(
        &self,
        id: LockId,
        owner: u32,
        keep: RangeMode,
        commit: Option<Lsn>,
        handover: impl Handover,
    ) -> RangeMode {
        let mut entries = self.entries.lock();
        let Some(at) = entries.position(id, owner) else {
            invariant(false, "OWNER-1: a held lock has an entry");
            return RangeMode::NN;
        };
        let mode = entries.get(at).granted;
        let left = mode.exclusive_part().infimum(keep);
        let commit = commit.filter(|_| mode.is_exclusive());
        if let Some(commit) = commit {
            self.raise_tag(commit);
        }
        entries.lower(at, left, handover);
        left
    }
}
