//! The handle of a tree: its identity and what it works on. The operations are in the modules
//! beside this one.

use std::sync::Arc;

use clearway_base::{Error, PageId, Result, TreeId, VALUE_LEN_MAX};
use clearway_lock::LockId;
use clearway_pool::Pool;

use crate::SpaceMap;
use crate::node::Limits;

/// The layout of a tree's pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeConfig {
    /// Bytes of a page that a node may use, 256 to [`PAGE_SIZE`](clearway_base::PAGE_SIZE). Less
    /// than a whole page is for tests, which want nodes of a few keys.
    pub node_bytes: usize,
}

impl Default for TreeConfig {
    fn default() -> TreeConfig {
        TreeConfig { node_bytes: clearway_base::PAGE_SIZE }
    }
}

/// The purpose of a read, which decides what is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadIntent {
    /// Reading: others may read too.
    Read,
    /// Reading before writing: the key, or the gap in which it would be, is locked exclusively, so
    /// that a later write of the same transaction neither waits nor deadlocks.
    Update,
}

/// A tree: ordered byte keys and their values.
///
/// A handle is cheap to clone and holds no latch, lock or page. The id of the root page never
/// changes while the tree lives, so any number of handles may exist, in any number of threads.
#[derive(Clone)]
pub struct Tree {
    pub(crate) id: TreeId,
    pub(crate) root: PageId,
    pub(crate) pool: Arc<Pool>,
    pub(crate) space: Arc<SpaceMap>,
    pub(crate) node_bytes: usize,
    pub(crate) limits: Limits,
}

impl Tree {
    /// The handle of an existing tree.
    pub fn open(
        pool: Arc<Pool>,
        space: Arc<SpaceMap>,
        id: TreeId,
        root: PageId,
        config: TreeConfig,
    ) -> Tree {
        let node_bytes = config.node_bytes.clamp(Limits::NODE_BYTES_MIN, clearway_base::PAGE_SIZE);
        Tree { id, root, pool, space, node_bytes, limits: Limits::of(node_bytes) }
    }

    /// The tree's identity.
    pub fn id(&self) -> TreeId {
        self.id
    }

    /// The tree's root page.
    pub fn root(&self) -> PageId {
        self.root
    }

    /// The lock of `key` in this tree.
    #[inline]
    pub fn lock_of(&self, key: &[u8]) -> LockId {
        LockId::of(self.id, key)
    }

    /// Refuses a key that no node could hold.
    ///
    /// # Errors
    /// `KeyTooLarge`.
    #[inline]
    pub fn check_key(&self, key: &[u8]) -> Result<()> {
        let max = self.limits.key_len_max;
        if key.len() <= max { Ok(()) } else { Err(Error::KeyTooLarge { len: key.len(), max }) }
    }

    /// Returns true if a value of `len` bytes can replace one of `len_before` bytes in its leaf,
    /// however full that is.
    #[inline]
    pub fn fits_in_place(&self, key: &[u8], len_before: usize, len: usize) -> bool {
        len <= len_before && self.limits.is_inline(key.len(), len_before)
    }

    /// Refuses a value that is too large even for overflow pages.
    #[inline]
    pub(crate) fn check_value(&self, value: &[u8]) -> Result<()> {
        let (len, max) = (value.len(), VALUE_LEN_MAX);
        if len <= max { Ok(()) } else { Err(Error::ValueTooLarge { len, max }) }
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("id", &self.id).field("root", &self.root).finish()
    }
}
