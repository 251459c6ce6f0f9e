//! Deferred deallocations: large values that a transaction has replaced or deleted.
//!
//! They are freed after the commit, because a rollback restores them. The commit record lists them,
//! so that recovery can free those that a crash has left:
//!
//! ```text
//!   entry   tree id u32 │ length u8 │ the tree's reference
//!   body    entries; a commit record holds the last ones, FREES records before it the others
//! ```
//!
//! Every step of a deallocation is logged with that deallocation's number. A deallocation has begun
//! once a step of it is in the log, and is not begun again, so no page is freed twice. A step frees
//! at most 512 pages (4 MiB). If a crash or an error prevents a later step, the rest of the value's
//! pages stay allocated and unreachable (`verify` counts them).

use std::ops::Range;

use clearway_base::TreeId;
use clearway_log::{RECORD_ALIGN, record_bytes};

/// Bytes of one record's body: with its header below the longest record.
const BODY_BYTES_MAX: usize = 30 << 10;
/// The longest entry: 4 + 1 + 255.
const ENTRY_BYTES_MAX: usize = 260;

/// The frees a transaction has deferred, in order.
#[derive(Default)]
pub(crate) struct DeferredDeallocations {
    bytes: Vec<u8>,
    /// Of each entry: the position of its change in the undo list, and where it ends in `bytes`.
    ends: Vec<(usize, usize)>,
}

impl DeferredDeallocations {
    /// The most log bytes that the frees add to a commit: the entries, and a header for each record
    /// needed besides the one that ends every transaction (the `FREES` records, and `END` after
    /// `COMMIT`).
    pub(crate) fn log_bytes(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        // A body ends when the next entry has no room, so all but the last are about full.
        let bodies = self.bytes.len() / (BODY_BYTES_MAX - ENTRY_BYTES_MAX) + 1;
        self.bytes.len() as u64 + bodies as u64 * record_bytes(RECORD_ALIGN)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Defers a free for the change at position `change` of the undo list.
    pub(crate) fn push(&mut self, change: usize, tree: TreeId, reference: &[u8]) {
        self.bytes.extend_from_slice(&tree.0.to_le_bytes());
        self.bytes.push(reference.len() as u8);
        self.bytes.extend_from_slice(reference);
        self.ends.push((change, self.bytes.len()));
    }

    /// The changes from position `keep` on are about to be undone: their values are wanted again.
    pub(crate) fn forget_from(&mut self, keep: usize) {
        while self.ends.last().is_some_and(|(change, _)| *change >= keep) {
            self.ends.pop();
        }
        self.bytes.truncate(self.ends.last().map_or(0, |(_, end)| *end));
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Where the bodies of the records begin and end: whole entries, as many as fit.
    fn bodies(&self) -> Vec<Range<usize>> {
        let mut bodies = Vec::new();
        let (mut start, mut end) = (0, 0);
        for (_, next) in &self.ends {
            if next - start > BODY_BYTES_MAX {
                bodies.push(start..end);
                start = end;
            }
            end = *next;
        }
        bodies.push(start..end);
        bodies
    }

    /// The bodies of the FREES records, oldest first.
    pub(crate) fn full_bodies(&self) -> impl Iterator<Item = &[u8]> {
        let mut bodies = self.bodies();
        bodies.pop();
        bodies.into_iter().map(|range| &self.bytes[range])
    }

    /// The body of the commit record.
    #[inline]
    pub(crate) fn last_body(&self) -> &[u8] {
        if self.is_empty() {
            return &[];
        }
        let last = self.bodies().pop().unwrap_or(0..0);
        &self.bytes[last]
    }

    /// Reads a record's body back, in front of what was read already: records are read newest
    /// first. `None` if it is damaged.
    pub(crate) fn prepend(&mut self, body: &[u8]) -> Option<()> {
        let mut whole = DeferredDeallocations::default();
        let mut rest = body;
        while !rest.is_empty() {
            let (tree, after) = rest.split_first_chunk::<4>()?;
            let (len, after) = after.split_first()?;
            let (reference, after) = after.split_at_checked(usize::from(*len))?;
            whole.push(0, TreeId(u32::from_le_bytes(*tree)), reference);
            rest = after;
        }
        for (tree, reference) in self.iter() {
            whole.push(0, tree, reference);
        }
        *self = whole;
        Some(())
    }

    /// The frees in order: the tree and its reference.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TreeId, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |(_, end)| {
            let entry = &self.bytes[start..*end];
            start = *end;
            let tree = u32::from_le_bytes(entry[..4].try_into().expect("4 bytes"));
            (TreeId(tree), &entry[5..])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frees_survive_their_records() {
        let mut frees = DeferredDeallocations::default();
        for n in 0..4000u32 {
            frees.push(n as usize, TreeId(n % 7), &n.to_le_bytes().repeat(4));
        }
        let full: Vec<Vec<u8>> = frees.full_bodies().map(<[u8]>::to_vec).collect();
        assert_eq!(full.len(), 2, "4,000 × 21 bytes are three bodies");
        let mut read = DeferredDeallocations::default();
        read.prepend(frees.last_body()).unwrap();
        for body in full.iter().rev() {
            assert!(body.len() <= BODY_BYTES_MAX);
            read.prepend(body).unwrap();
        }
        assert!(read.iter().eq(frees.iter()));
        assert!(read.prepend(&[1, 2, 3]).is_none());
    }

    #[test]
    fn commit_with_frees_takes_no_more_log_than_was_reserved() {
        let mut frees = DeferredDeallocations::default();
        for n in 0..10_000usize {
            frees.push(n, TreeId(7), &[7; 16]);
            let records = frees.full_bodies().chain([frees.last_body(), &[]]);
            let taken: u64 = records.map(|body| record_bytes(body.len())).sum();
            // The record that ends every transaction is paid for anyway.
            let reserved = frees.log_bytes() + record_bytes(0);
            assert!(taken <= reserved, "{n}: {taken} > {reserved}");
            assert!(reserved < taken + 200, "{n}: {reserved} is far more than {taken}");
        }
        frees.forget_from(1);
        assert_eq!(frees.log_bytes(), 21 + 40);
        frees.forget_from(0);
        assert_eq!(frees.log_bytes(), 0);
    }

    #[test]
    fn undone_changes_take_their_frees_with_them() {
        let mut frees = DeferredDeallocations::default();
        for change in [0, 3, 5] {
            frees.push(change, TreeId(9), b"reference");
        }
        frees.forget_from(3);
        assert_eq!(frees.iter().count(), 1);
        frees.forget_from(0);
        assert!(frees.is_empty() && frees.last_body().is_empty());
    }
}
