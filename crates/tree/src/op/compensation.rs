//! Compensations: what undoing a user operation did to a page. Redone like anything else, never
//! undone, and therefore without old values.
//!
//! ```text
//!   code u8 | page u32 | tree | slot | the change:
//!   hide    16: nothing
//!   patch   17: offset, bytes …
//!   value   18: flags u8, value …
//! ```

use clearway_base::{PageId, Result, TreeId};

use super::codec::{Reader, put_len, put_number, start};
use super::{COMPENSATIONS, mismatch};
use crate::node::{Node, NodeMut};

const HIDE: u8 = COMPENSATIONS;
const PATCH: u8 = COMPENSATIONS + 1;
const VALUE: u8 = COMPENSATIONS + 2;

/// The redo half of an undo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CompensationOp<'a> {
    /// The leaf in which the record was found.
    pub(crate) page: PageId,
    /// Its tree.
    pub(crate) tree: TreeId,
    /// The record's slot there.
    pub(crate) slot: usize,
    /// The change that undo made to it.
    pub(crate) restore: Restore<'a>,
}

/// A change that undo made to a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Restore<'a> {
    /// It became a ghost.
    Hide,
    /// Bytes of its value were put back.
    Patch {
        /// Where in the value.
        offset: usize,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Its value was put back; if it was a ghost it is a record again.
    Value {
        /// The value.
        value: &'a [u8],
        /// Whether `value` is an overflow reference.
        overflow: bool,
    },
}

impl<'a> CompensationOp<'a> {
    /// Replaces `out` by the body.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let code = match self.restore {
            Restore::Hide => HIDE,
            Restore::Patch { .. } => PATCH,
            Restore::Value { .. } => VALUE,
        };
        start(out, code, self.page);
        put_number(out, self.tree.0);
        put_len(out, self.slot);
        match self.restore {
            Restore::Hide => {}
            Restore::Patch { offset, bytes } => {
                put_len(out, offset);
                out.extend_from_slice(bytes);
            }
            Restore::Value { value, overflow } => {
                out.push(u8::from(overflow));
                out.extend_from_slice(value);
            }
        }
    }

    /// Reads a body; `None` if it is damaged.
    pub(crate) fn decode(body: &'a [u8]) -> Option<CompensationOp<'a>> {
        let mut reader = Reader::new(body);
        let code = reader.byte()?;
        let (page, tree, slot) = (reader.page()?, reader.tree()?, reader.len()?);
        let restore = match code {
            HIDE => Restore::Hide,
            PATCH => Restore::Patch { offset: reader.len()?, bytes: reader.rest() },
            VALUE => {
                let overflow = reader.byte().filter(|&flags| flags <= 1)? == 1;
                Restore::Value { value: reader.rest(), overflow }
            }
            _ => return None,
        };
        reader.end(CompensationOp { page, tree, slot, restore })
    }

    /// Makes the change.
    pub(super) fn apply_to(&self, page: PageId, bytes: &mut [u8]) -> Result<()> {
        let (node, slot) = (Node::new(&*bytes), self.slot);
        let owns = node.is_leaf() && node.tree() == self.tree && page == self.page;
        let done = owns && slot < node.count() && {
            let mut node = NodeMut::new(bytes);
            match self.restore {
                Restore::Hide => {
                    node.set_ghost(slot, true);
                    true
                }
                Restore::Patch { offset, bytes } => node.patch_value(slot, offset, bytes),
                Restore::Value { value, overflow } => {
                    node.set_overflow(slot, overflow);
                    node.set_ghost(slot, false);
                    node.set_value(slot, value)
                }
            }
        };
        if done { Ok(()) } else { Err(mismatch(page, "a compensation")) }
    }
}
