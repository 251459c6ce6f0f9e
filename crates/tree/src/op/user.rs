//! User operations: insert, update, delete. Each is one change to one record of one leaf, and says
//! how it is undone.
//!
//! ```text
//!   code u8 | page u32 | tree | slot | key length | key | the change:
//!   insert   1: flags u8, value …
//!   delta    2: offset, length n, n old bytes, n new bytes
//!   replace  3: flags u8, old length, old value, new value …
//!   delete   4: flags u8, old value …
//! ```
//! TPC-B's balance update (8-byte key, 8 changed bytes of 100) has
//! 1 + 4 + 1 + 1 + 1 + 8 + 1 + 1 + 16 = 34 bytes.

use std::cmp::Ordering;

use clearway_base::{PageId, Result, TreeId};

use super::codec::{Reader, put_bytes, put_len, put_number, start};
use super::mismatch;
use crate::node::{Node, NodeMut, NodeRecord};

const INSERT: u8 = 1;
const DELTA: u8 = 2;
const REPLACE: u8 = 3;
const DELETE: u8 = 4;

/// The value (of a replace: the new one) is an overflow reference.
const FLAG_OVERFLOW: u8 = 1;
/// The old value of a replace is an overflow reference.
const FLAG_OLD_OVERFLOW: u8 = 2;
/// The insert creates its slot, instead of finding a ghost there.
const FLAG_NEW_SLOT: u8 = 4;

/// Bytes that are compared at once where two values are expected to be the same: two vectors.
const BLOCK: usize = 32;

/// A change of one record's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UserOp<'a> {
    /// The leaf.
    pub(crate) page: PageId,
    /// Its tree.
    pub(crate) tree: TreeId,
    /// The record's slot when the change was made; good for redo, meaningless for undo.
    pub(crate) slot: usize,
    /// The record's full key: what undo goes by.
    pub(crate) key: &'a [u8],
    /// The change to the record.
    pub(crate) change: Change<'a>,
}

/// A change to a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change<'a> {
    /// A ghost becomes a record, or, with `new_slot`, a slot with the record is inserted. The
    /// transaction holds the key's lock, and the undo leaves a ghost in either case.
    Insert {
        /// The value, or the reference to it.
        value: &'a [u8],
        /// Whether `value` is an overflow reference.
        overflow: bool,
        /// Whether the slot is created.
        new_slot: bool,
    },
    /// Bytes of a value are overwritten; its length stays.
    Delta {
        /// Where in the value.
        offset: usize,
        /// The bytes that stood there.
        old: &'a [u8],
        /// The bytes that stand there now; as long as `old`.
        new: &'a [u8],
    },
    /// The value is replaced.
    Replace {
        /// The whole old value.
        old: &'a [u8],
        /// Whether `old` is an overflow reference.
        old_overflow: bool,
        /// The whole new value.
        new: &'a [u8],
        /// Whether `new` is an overflow reference.
        new_overflow: bool,
    },
    /// The record becomes a ghost. Its value stays in the page until the ghost is reclaimed or
    /// inserted over, but undo relies on the copy here.
    Delete {
        /// The value.
        old: &'a [u8],
        /// Whether `old` is an overflow reference.
        overflow: bool,
    },
}

impl<'a> Change<'a> {
    /// The update from one value that stands in the leaf to another: of equally long values, only
    /// the bytes from the first to the last that differ.
    #[inline]
    pub(crate) fn between(old: &'a [u8], new: &'a [u8]) -> Change<'a> {
        if old.len() != new.len() {
            return Change::Replace { old, old_overflow: false, new, new_overflow: false };
        }
        let offset = common_prefix(old, new);
        let (old, new) = (&old[offset..], &new[offset..]);
        let differ = old.len() - common_suffix(old, new);
        Change::Delta { offset, old: &old[..differ], new: &new[..differ] }
    }
}

/// The length in bytes of the common prefix of `a` and `b`, which are equally long. Compares words.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let ((words_a, rest_a), (words_b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (at, (x, y)) in words_a.iter().zip(words_b).enumerate() {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return at * 8 + differ.trailing_zeros() as usize / 8;
        }
    }
    words_a.len() * 8 + rest_a.iter().zip(rest_b).take_while(|(x, y)| x == y).count()
}

/// The length in bytes of the common suffix of `a` and `b`, which are equally long. Most of a row
/// stays as it is, so whole blocks are compared first, and then words.
#[inline]
fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let (blocks_a, blocks_b) = (a.as_rchunks::<BLOCK>().1, b.as_rchunks::<BLOCK>().1);
    let same = blocks_a.iter().zip(blocks_b).rev().take_while(|(x, y)| x == y).count() * BLOCK;
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    let ((rest_a, words_a), (rest_b, words_b)) = (a.as_rchunks::<8>(), b.as_rchunks::<8>());
    for (at, (x, y)) in words_a.iter().zip(words_b).rev().enumerate() {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return same + at * 8 + differ.leading_zeros() as usize / 8;
        }
    }
    let rest = rest_a.iter().zip(rest_b).rev().take_while(|(x, y)| x == y).count();
    same + words_a.len() * 8 + rest
}

/// The undo of a user operation: logical, by key, in the leaf that has the record by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UndoOf<'a> {
    /// The tree.
    pub(crate) tree: TreeId,
    /// The record's key.
    pub(crate) key: &'a [u8],
    /// The leaf at the time: a hint.
    pub(crate) page: PageId,
    /// The change that undo makes to the record.
    pub(crate) action: UndoAction<'a>,
}

/// A change that undo makes to a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UndoAction<'a> {
    /// The inserted record becomes a ghost.
    Remove,
    /// The old bytes are put back.
    RestoreDelta {
        /// Where in the value.
        offset: usize,
        /// The bytes.
        old: &'a [u8],
    },
    /// The old value is put back.
    RestoreValue {
        /// The value.
        old: &'a [u8],
        /// Whether `old` is an overflow reference.
        overflow: bool,
    },
    /// The ghost becomes a record with its old value.
    Revive {
        /// The value.
        value: &'a [u8],
        /// Whether `value` is an overflow reference.
        overflow: bool,
    },
}

impl<'a> UserOp<'a> {
    /// Returns the undo of the operation.
    pub(crate) fn undo(&self) -> UndoOf<'a> {
        let action = match self.change {
            Change::Insert { .. } => UndoAction::Remove,
            Change::Delta { offset, old, .. } => UndoAction::RestoreDelta { offset, old },
            Change::Replace { old, old_overflow: overflow, .. } => {
                UndoAction::RestoreValue { old, overflow }
            }
            Change::Delete { old: value, overflow } => UndoAction::Revive { value, overflow },
        };
        UndoOf { tree: self.tree, key: self.key, page: self.page, action }
    }

    /// The overflow reference that the record loses by this change. Its pages are freed after the
    /// commit of the transaction.
    pub(crate) fn dropped_overflow(&self) -> Option<&'a [u8]> {
        match self.change {
            Change::Replace { old, old_overflow: true, .. } => Some(old),
            Change::Delete { old, overflow: true } => Some(old),
            _ => None,
        }
    }

    /// The overflow reference that the record gains by this change. Its pages are freed if the
    /// change is undone.
    pub(crate) fn gained_overflow(&self) -> Option<&'a [u8]> {
        match self.change {
            Change::Replace { new, new_overflow: true, .. } => Some(new),
            Change::Insert { value, overflow: true, .. } => Some(value),
            _ => None,
        }
    }

    /// Replaces `out` by the body.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let code = match self.change {
            Change::Insert { .. } => INSERT,
            Change::Delta { .. } => DELTA,
            Change::Replace { .. } => REPLACE,
            Change::Delete { .. } => DELETE,
        };
        start(out, code, self.page);
        put_number(out, self.tree.0);
        put_len(out, self.slot);
        put_bytes(out, self.key);
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        match self.change {
            Change::Insert { value, overflow, new_slot } => {
                out.push(flag(overflow, FLAG_OVERFLOW) | flag(new_slot, FLAG_NEW_SLOT));
                out.extend_from_slice(value);
            }
            Change::Delta { offset, old, new } => {
                debug_assert_eq!(old.len(), new.len());
                put_len(out, offset);
                put_bytes(out, old);
                out.extend_from_slice(new);
            }
            Change::Replace { old, old_overflow, new, new_overflow } => {
                let old_flag = flag(old_overflow, FLAG_OLD_OVERFLOW);
                out.push(flag(new_overflow, FLAG_OVERFLOW) | old_flag);
                put_bytes(out, old);
                out.extend_from_slice(new);
            }
            Change::Delete { old, overflow } => {
                out.push(flag(overflow, FLAG_OVERFLOW));
                out.extend_from_slice(old);
            }
        }
    }

    /// Reads a body; `None` if it is damaged.
    #[inline]
    pub(crate) fn decode(body: &'a [u8]) -> Option<UserOp<'a>> {
        let mut reader = Reader::new(body);
        let code = reader.byte()?;
        let (page, tree, slot) = (reader.page()?, reader.tree()?, reader.len()?);
        let key = reader.bytes()?;
        let change = match code {
            INSERT => {
                let flags = flags_of(&mut reader, FLAG_OVERFLOW | FLAG_NEW_SLOT)?;
                let new_slot = flags & FLAG_NEW_SLOT != 0;
                let overflow = flags & FLAG_OVERFLOW != 0;
                Change::Insert { value: reader.rest(), overflow, new_slot }
            }
            DELTA => {
                let offset = reader.len()?;
                let old = reader.bytes()?;
                Change::Delta { offset, old, new: reader.take(old.len())? }
            }
            REPLACE => {
                let flags = flags_of(&mut reader, FLAG_OVERFLOW | FLAG_OLD_OVERFLOW)?;
                let old = reader.bytes()?;
                let old_overflow = flags & FLAG_OLD_OVERFLOW != 0;
                let new_overflow = flags & FLAG_OVERFLOW != 0;
                Change::Replace { old, old_overflow, new: reader.rest(), new_overflow }
            }
            DELETE => {
                let overflow = flags_of(&mut reader, FLAG_OVERFLOW)? != 0;
                Change::Delete { old: reader.rest(), overflow }
            }
            _ => return None,
        };
        reader.end(UserOp { page, tree, slot, key, change })
    }

    /// Makes the change.
    #[inline]
    pub(super) fn apply_to(&self, page: PageId, bytes: &mut [u8]) -> Result<()> {
        let node = Node::new(&*bytes);
        let owns = node.is_leaf() && node.tree() == self.tree && page == self.page;
        if owns && self.change_in(&mut NodeMut::new(bytes)) {
            Ok(())
        } else {
            Err(mismatch(page, "a user operation"))
        }
    }

    /// Makes the change if the slot is in the state that it was logged for.
    #[inline]
    fn change_in(&self, node: &mut NodeMut<'_>) -> bool {
        let slot = self.slot;
        if let Change::Insert { value, overflow, new_slot: true } = self.change {
            let record = NodeRecord { value, ghost: false, overflow };
            return node.read().belongs_at(slot, self.key) && node.insert(slot, self.key, record);
        }
        let view = node.read();
        if slot >= view.count() || view.compare_key(slot, self.key) != Ordering::Equal {
            return false;
        }
        let ghost = view.is_ghost(slot);
        match self.change {
            Change::Insert { value, overflow, .. } => {
                let done = ghost && node.set_value(slot, value);
                if done {
                    node.set_ghost(slot, false);
                    node.set_overflow(slot, overflow);
                }
                done
            }
            Change::Delta { offset, new, .. } => !ghost && node.patch_value(slot, offset, new),
            Change::Replace { new, new_overflow, .. } => {
                let done = !ghost && node.set_value(slot, new);
                if done {
                    node.set_overflow(slot, new_overflow);
                }
                done
            }
            Change::Delete { .. } => {
                node.set_ghost(slot, true);
                !ghost
            }
        }
    }
}

/// The flags byte, if it has none but the known flags.
fn flags_of(reader: &mut Reader<'_>, known: u8) -> Option<u8> {
    reader.byte().filter(|flags| flags & !known == 0)
}
