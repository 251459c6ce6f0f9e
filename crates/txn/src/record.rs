//! The kinds of log records this layer writes, and the bodies of its own.
//!
//! | kind | txn | prev | body |
//! | --- | --- | --- | --- |
//! | `USER` | writer | its previous change not yet undone | the tree's |
//! | `SYSTEM` | none | none | the tree's |
//! | `SYSTEM` | writer | number | a step of the deferred free that `prev` numbers, from 1 |
//! | `COMPENSATION` | writer | undo-next: the change to undo after this one | the tree's |
//! | `FREES` | writer | its previous `FREES` | deferred frees that do not fit into `COMMIT` |
//! | `COMMIT` | writer | its last `FREES` | deferred frees |
//! | `END` | writer | none | empty: rolled back, or all deferred frees done |
//! | `CHECKPOINT_BEGIN` | none | none | empty |
//! | `CHECKPOINT_ACTIVE` | none | none | begin LSN, then [`ActiveEntry`]s |
//! | `CHECKPOINT_END` | none | none | begin LSN, redo LSN, number of entries |
//! | `IMAGE` | none | end of the change | a page as the change left it: the tree's |
//!
//! The `prev` links of a transaction's `USER` records are its undo chain: a record that has been
//! undone is not on it, so an undo that follows the chain from its head undoes each change once.

use clearway_base::{Lsn, TxnId};

pub(crate) const USER: u8 = 1;
pub(crate) const SYSTEM: u8 = 2;
pub(crate) const COMPENSATION: u8 = 3;
pub(crate) const FREES: u8 = 4;
pub(crate) const COMMIT: u8 = 5;
pub(crate) const END: u8 = 6;
pub(crate) const CHECKPOINT_BEGIN: u8 = 7;
pub(crate) const CHECKPOINT_ACTIVE: u8 = 8;
pub(crate) const CHECKPOINT_END: u8 = 9;
pub(crate) const IMAGE: u8 = 10;

/// Bytes of an encoded [`ActiveEntry`].
const ENTRY_BYTES: usize = 32;
/// Entries of one `CHECKPOINT_ACTIVE` record: 1,000 × 32 bytes, below the longest record.
pub(crate) const ACTIVE_ENTRIES_MAX: usize = 1000;

/// Whether a record changes pages, that is, whether redo does it again.
#[inline]
pub(crate) fn is_change(kind: u8) -> bool {
    matches!(kind, USER | SYSTEM | COMPENSATION)
}

/// The work that recovery would have for a running transaction if the engine stopped now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecoveryWork {
    /// Undo, from the `USER` record at this LSN backwards.
    Undo(Lsn),
    /// It committed; of its deferred frees, listed by its `COMMIT` record, some may not be done.
    Frees {
        /// The commit record.
        commit: Lsn,
        /// The number of those that have begun, and are not to be begun again.
        begun: u64,
    },
}

impl RecoveryWork {
    /// Two words: what was begun plus one (0 for an undo), and the LSN.
    fn encode(self) -> [u64; 2] {
        match self {
            RecoveryWork::Undo(lsn) => [0, lsn.0],
            RecoveryWork::Frees { commit, begun } => [begun + 1, commit.0],
        }
    }

    fn decode([begun, lsn]: [u64; 2]) -> RecoveryWork {
        match begun.checked_sub(1) {
            None => RecoveryWork::Undo(Lsn(lsn)),
            Some(begun) => RecoveryWork::Frees { commit: Lsn(lsn), begun },
        }
    }
}

/// An unfinished transaction, as a checkpoint lists it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ActiveEntry {
    /// The transaction.
    pub(crate) txn: TxnId,
    /// At or before its first record.
    pub(crate) first: Lsn,
    /// The work that it leaves to recovery.
    pub(crate) need: RecoveryWork,
}

fn long(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// The body of a `CHECKPOINT_ACTIVE` record.
pub(crate) fn encode_active(begin: Lsn, entries: &[ActiveEntry]) -> Vec<u8> {
    debug_assert!(entries.len() <= ACTIVE_ENTRIES_MAX);
    let mut body = Vec::with_capacity(8 + entries.len() * ENTRY_BYTES);
    body.extend_from_slice(&begin.0.to_le_bytes());
    for entry in entries {
        let [begun, lsn] = entry.need.encode();
        for word in [entry.txn.0, entry.first.0, begun, lsn] {
            body.extend_from_slice(&word.to_le_bytes());
        }
    }
    body
}

/// The entries of a `CHECKPOINT_ACTIVE` record, if it belongs to the checkpoint that began at
/// `begin`.
pub(crate) fn decode_active(body: &[u8], begin: Lsn) -> Option<Vec<ActiveEntry>> {
    let (head, entries) = body.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*head) != begin.0 {
        return None;
    }
    let entry = |bytes: &[u8]| ActiveEntry {
        txn: TxnId(long(&bytes[..8])),
        first: Lsn(long(&bytes[8..16])),
        need: RecoveryWork::decode([long(&bytes[16..24]), long(&bytes[24..32])]),
    };
    Some(entries.chunks_exact(ENTRY_BYTES).map(entry).collect())
}

/// The body of a `CHECKPOINT_END` record.
pub(crate) fn encode_checkpoint_end(begin: Lsn, redo: Lsn, entries: usize) -> [u8; 24] {
    let mut body = [0; 24];
    body[..8].copy_from_slice(&begin.0.to_le_bytes());
    body[8..16].copy_from_slice(&redo.0.to_le_bytes());
    body[16..].copy_from_slice(&(entries as u64).to_le_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_entries_survive_encoding() {
        let entries = [
            ActiveEntry { txn: TxnId(7), first: Lsn(512), need: RecoveryWork::Undo(Lsn(1000)) },
            ActiveEntry {
                txn: TxnId(8),
                first: Lsn(600),
                need: RecoveryWork::Frees { commit: Lsn(2000), begun: 3 },
            },
        ];
        let body = encode_active(Lsn(900), &entries);
        assert_eq!(decode_active(&body, Lsn(900)).unwrap(), entries);
        assert_eq!(decode_active(&body, Lsn(901)), None, "another checkpoint's");
    }
}
