//! Prefetch: the nodes that lead to several keys are brought into memory together, before
//! operations on the keys need them one after the other.
//!
//! A look at the keys requests no lock, waits for nothing and changes nothing. It finds for each
//! key the first node on its way that is not in memory; these are read at the same time, and a
//! further look finds the nodes below them. So a prefetch waits about once for each level of the
//! tree, and not for each key. Nothing depends on it: a node may be evicted again before its key is
//! read, and the leaf may have moved.

use clearway_base::{PageId, Result};

use crate::need::{Step, Wait, drive};
use crate::{LeafHint, Need, Tree};

/// Upper bound on the keys that are looked at together.
const KEYS_MAX: usize = 128;

impl Tree {
    /// Returns the number of keys that are worth a prefetch together, at least one: their leaves
    /// take a part of the cache only, so they do not evict each other before they are read.
    pub fn prefetch_max(&self) -> usize {
        self.pool.read_ahead_max().clamp(1, KEYS_MAX)
    }

    /// Brings the nodes on the way to keys into memory. Returns the number of pages that were
    /// absent.
    ///
    /// # Errors
    /// Those of [`Wait::check_page_wait`], and those of a page that cannot be read.
    pub fn prefetch<E: Wait>(&self, env: &mut E, keys: &[impl AsRef<[u8]>]) -> Result<usize> {
        let mut look = PrefetchLook::new(keys);
        drive(&self.pool, env, |_| look.step(self))
    }

    /// [`Tree::prefetch`] as an operation.
    pub fn prefetch_operation<'a, C>(
        &self,
        keys: &'a [impl AsRef<[u8]>],
    ) -> impl FnMut(&Tree, &mut C, &mut LeafHint) -> Step<usize> {
        let mut look = PrefetchLook::new(keys);
        move |tree: &Tree, _: &mut C, _: &mut LeafHint| look.step(tree)
    }
}

/// The progress of a prefetch.
struct PrefetchLook<'a> {
    /// The keys whose leaves were not seen in memory.
    left: Vec<&'a [u8]>,
    /// Pages that were absent, each of them once.
    absent: Vec<PageId>,
    /// Upper bound on the further looks: pages may be evicted as fast as they are read.
    looks: usize,
}

impl<'a> PrefetchLook<'a> {
    fn new(keys: &'a [impl AsRef<[u8]>]) -> PrefetchLook<'a> {
        let left = keys.iter().map(AsRef::as_ref).collect();
        // A task waits for one page at a time, on each level.
        PrefetchLook { left, absent: Vec::new(), looks: 8 + 4 * keys.len() }
    }

    fn step(&mut self, tree: &Tree) -> Step<usize> {
        let mut wanted = Vec::new();
        self.left.retain(|key| {
            let absent = tree.absent_on_way(key);
            wanted.extend(absent);
            absent.is_some()
        });
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() || self.looks == 0 {
            return Ok(self.absent.len());
        }
        self.looks -= 1;
        self.absent.extend(&wanted);
        self.absent.sort_unstable();
        self.absent.dedup();
        Err(Need::Pages(wanted).into())
    }
}
