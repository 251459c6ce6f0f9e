//! The descent from the root to the leaf of a key.
//!
//! What it is
//! : Branches are read optimistically, without a latch; only the leaf is latched, shared for reads
//!   and exclusively for writes. Foster pointers are followed on every level.
//!
//! Invariants
//! 1. *Nothing unvalidated is used.* The child read from a branch is used only after the branch was
//!    validated, and the first read of the child counts only if the branch is still unchanged when
//!    the child has been opened (optimistic lock coupling).
//! 2. *The latched page is checked, not the way to it.* A latched page is accepted iff it is a leaf
//!    of this tree whose own range covers the key, that is, the key is between the leaf's low fence
//!    and its foster key (or its high fence if it has no foster child). The own ranges of a tree's
//!    leaves are disjoint, and a page that leaves the tree is marked as freed under its exclusive
//!    latch, so an accepted page is *the* leaf of the key, however it was reached. A leaf that has
//!    the key in one of its slots covers it. This makes the leaf hint and every race with splits,
//!    adoptions, merges and page reuse harmless. (Exception: the pages of a dropped tree still look
//!    like its leaves after they are freed. This does no harm: no operation uses the tree any more,
//!    and no other tree gets its id while the database is open.)
//! 3. *Bounded.* An attempt goes down at most [`LEVELS_MAX`] levels and along foster chains, which
//!    [`chain`] shows to end; after [`RESTARTS_MAX`] attempts the descent couples latches instead
//!    ([`latched`]).
//! 4. *One latch at a time*, but for the coupling of invariant 3; and no page is read in while
//!    another page is latched.
//! 5. *Progress.* An optimistic descent that ends because a page below the root is absent names
//!    that page in the hint, and the operation's next descent starts there: by invariant 2, a node
//!    of this tree whose range covers the key is as good a start as the root. So a path of any
//!    length needs only the root and the page that was read in last, however small the cache is.
//!    (The coupled descent names none: after its need, the next descent starts at the root.)
//! 6. *The topmost foster child is noted.* A descent notes the topmost node on its path, the leaf
//!    included, that has a foster child, whether the key lies in that child or before it: a node
//!    into which keys are inserted in descending order is split again and again, and no descent
//!    ever follows its foster pointer. An `insert`, `put`, `update` or `delete` that succeeds then
//!    tries to make the adoption of the noted foster child. Upkeep, and an operation that splits a
//!    leaf, repeat descent and adoption, at most 32 times, until nothing is noted or an adoption
//!    fails (`PathAdopter` in `restructure`). `survey` reports the note, and all other operations
//!    discard it. Apart from the foster children below the topmost one, three kinds are not noted:
//!    those farther along a chain; the foster child of a leaf that was found by the hint, without a
//!    descent; and those that only the coupled descent of invariant 3 meets.
//!
//! Algorithm
//! : Leis, Haubenschild, Neumann, "Optimistic Lock Coupling" (IEEE Data Engineering Bulletin
//!   2019) for the branches; Graefe, Kimura, Kuno, "Foster B-trees" (TODS 2012), for the checks
//!   along the way.

mod chain;
mod latched;
mod visit;

use std::ops::Deref;

use clearway_base::{Error, PageId};
use clearway_pool::{ExclusivePage, NotResident, OptimisticPage, Pool, SharedPage};
use clearway_sync::Backoff;

use crate::need::{Incomplete, Step};
use crate::node::{Node, Place};
use crate::{Tree, resident};

/// Levels that one attempt goes down: a node's level is one byte, and each step of a sound tree
/// leads to the level below.
const LEVELS_MAX: usize = 256;

/// Number of optimistic attempts before the descent uses latch coupling. A coupled descent may have
/// to wait for each latch that it takes.
const RESTARTS_MAX: usize = 48;

/// The page in which a transaction's last operation on a tree ended, and the slot of the key that
/// it last read: the next one looks there first. A hint may be stale or plain wrong without harm
/// (descent invariant 2).
#[derive(Clone, Copy, Debug)]
pub struct LeafHint {
    pub(crate) page: PageId,
    /// The slot in which the last read found its key, so that an update that follows finds it
    /// there. Writes leave it as it is.
    pub(crate) slot: usize,
    /// The absent node at which the last descent ended (invariant 5).
    pub(crate) resume: Option<Located>,
}

impl LeafHint {
    /// A hint at a page, wherever the key is in it.
    pub fn at(page: PageId) -> LeafHint {
        LeafHint { page, slot: 0, resume: None }
    }

    /// The page that is named, if any.
    pub fn page(&self) -> Option<PageId> {
        (self.page != PageId::NONE).then_some(self.page)
    }

    /// Whether both hint at the same leaf.
    pub fn is_same_leaf(&self, other: &LeafHint) -> bool {
        self.page == other.page
    }
}

impl Default for LeafHint {
    fn default() -> LeafHint {
        LeafHint::at(PageId::NONE)
    }
}

/// A foster child that a descent noted, to be adopted by the parent of its foster parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PendingAdoption {
    /// The foster parent's parent, which adopts; none if the foster parent is the root.
    pub(crate) parent: PageId,
    /// The foster parent.
    pub(crate) child: PageId,
}

/// A page latched one way or the other.
pub(crate) trait Latched<'a>: Deref<Target = [u8]> + Sized {
    /// Waits for the latch of a page in memory.
    fn latch(pool: &'a Pool, page: PageId) -> Result<Self, NotResident>;
}

impl<'a> Latched<'a> for SharedPage<'a> {
    #[inline]
    fn latch(pool: &'a Pool, page: PageId) -> Result<Self, NotResident> {
        pool.shared_if_resident(page)
    }
}

impl<'a> Latched<'a> for ExclusivePage<'a> {
    #[inline]
    fn latch(pool: &'a Pool, page: PageId) -> Result<Self, NotResident> {
        pool.exclusive_if_resident(page)
    }
}

/// Where an attempt ended.
enum End {
    /// The node to latch, which has not been checked yet, and the page above it: its parent. There
    /// is one exception: if the attempt ended at the node at which it began, the page above may be
    /// the foster parent, or none if that node is the root ([`Located::above`]).
    Node(PageId, PageId),
    /// Something changed on the way.
    Restart,
}

/// The node that owns a key on some level, and where its one incoming pointer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Located {
    /// The node.
    pub(crate) page: PageId,
    /// Its parent or foster parent; none for the root.
    pub(crate) above: PageId,
    /// Whether `above` is the foster parent.
    pub(crate) is_foster: bool,
}

impl Located {
    fn child(page: PageId, parent: PageId) -> Located {
        Located { page, above: parent, is_foster: false }
    }

    fn foster(page: PageId, left: PageId) -> Located {
        Located { page, above: left, is_foster: true }
    }
}

impl Tree {
    /// Returns the leaf of `key`, latched as `L` requires. Tries the hinted page first and sets the
    /// hint to the leaf that it found. A descent notes the topmost foster child that it meets in
    /// `pending` (invariant 6).
    #[inline]
    pub(crate) fn leaf<'a, L: Latched<'a>>(
        &'a self,
        key: &[u8],
        hint: &mut LeafHint,
        pending: &mut Option<PendingAdoption>,
    ) -> Step<L> {
        self.leaf_and_slot(key, hint, pending).map(|(leaf, _)| leaf)
    }

    /// As [`leaf`](Tree::leaf); also returns the key's slot, if the hint named it.
    #[inline(always)] // as a call it is 30 instructions more for each point read
    pub(crate) fn leaf_and_slot<'a, L: Latched<'a>>(
        &'a self,
        key: &[u8],
        hint: &mut LeafHint,
        pending: &mut Option<PendingAdoption>,
    ) -> Step<(L, Option<usize>)> {
        // If the hinted page is not in memory, the descent says whether it is needed: it may no
        // longer belong to any tree.
        if hint.page != PageId::NONE
            && let Ok(leaf) = L::latch(&self.pool, hint.page)
        {
            // This may be any page, in any state, so it is checked (invariant 2).
            let node = Node::new(&*leaf);
            if node.is_leaf() && node.tree() == self.id {
                if node.has_key_at(hint.slot, key) {
                    return Ok((leaf, Some(hint.slot)));
                }
                if node.place(key) == Place::Here {
                    return Ok((leaf, None));
                }
            }
        }
        self.descend(key, hint, pending).map(|leaf| (leaf, None))
    }

    /// The leaf that `hint` names, if `key` is in the very slot that it names too.
    #[inline]
    pub(crate) fn leaf_with(&self, key: &[u8], hint: &LeafHint) -> Option<SharedPage<'_>> {
        if hint.page == PageId::NONE {
            return None;
        }
        let leaf = self.pool.shared_if_resident(hint.page).ok()?;
        let node = Node::new(&*leaf);
        let has_key = node.is_leaf() && node.tree() == self.id && node.has_key_at(hint.slot, key);
        has_key.then_some(leaf)
    }

    /// Where `key` belongs, if the page is a leaf of this tree.
    #[inline]
    pub(crate) fn leaf_place(&self, page: &[u8], key: &[u8]) -> Option<Place> {
        let node = Node::new(page);
        (node.is_leaf() && node.tree() == self.id).then(|| node.place(key))
    }

    fn descend<'a, L: Latched<'a>>(
        &'a self,
        key: &[u8],
        hint: &mut LeafHint,
        pending: &mut Option<PendingAdoption>,
    ) -> Step<L> {
        let backoff = Backoff::new();
        for _ in 0..RESTARTS_MAX {
            // A foster child that an earlier attempt noted may be gone; if it is still there, this
            // attempt notes it again. But an attempt that starts at `hint.resume` may start below
            // that foster child, so the note is kept.
            if hint.resume.is_none() {
                *pending = None;
            }
            let resume = &mut hint.resume;
            if let End::Node(page, parent) = self.attempt(key, 0, resume, pending)?
                && let Some((id, leaf)) = self.latch_leaf((page, parent), key, resume, pending)?
            {
                hint.page = id;
                return Ok(leaf);
            }
            backoff.snooze();
        }
        let (id, leaf) = self.descend_latched(key)?;
        hint.page = id;
        Ok(leaf)
    }

    /// Walks the branches once, from `resume` or the root down to the node of `key` on level
    /// `stop`. An absent page below the root is noted in `resume`.
    #[inline(always)] // `stop` is a constant for the descents to leaves
    fn attempt(
        &self,
        key: &[u8],
        stop: u8,
        resume: &mut Option<Located>,
        pending: &mut Option<PendingAdoption>,
    ) -> Step<End> {
        let mut parent = PageId::NONE;
        let mut view = resident::optimistic(&self.pool, self.root)?;
        if let Some(absent) = resume.take() {
            let Some(start) = self.resumed(absent.page, key, stop) else {
                return Ok(End::Restart);
            };
            (view, parent) = (start, absent.above);
        }
        for _ in 0..LEVELS_MAX {
            let node = Node::new(&view);
            let level = node.level();
            if !node.is_branch() || level <= stop {
                // The caller checks the page once it is latched (invariant 2).
                return Ok(End::Node(view.id(), parent));
            }
            if node.foster().is_some() {
                pending.get_or_insert(PendingAdoption { parent, child: view.id() });
                match self.along_chain(view, level, key, resume)? {
                    Some(owner) => view = owner,
                    None => return Ok(End::Restart),
                }
            }
            let next = Node::new(&view).child_for(key).1;
            if view.validate().is_err() {
                return Ok(End::Restart);
            }
            if level == stop + 1 {
                return Ok(End::Node(next, view.id()));
            }
            // No latch is held if the child has to be read in (invariant 4).
            let Ok(child) = self.pool.optimistic_if_resident(next) else {
                return Err(lacking(Located::child(next, view.id()), resume));
            };
            if view.validate().is_err() {
                return Ok(End::Restart);
            }
            self.check_visited(&child, level.wrapping_sub(1), key)?;
            parent = view.id();
            view = child;
        }
        Ok(End::Restart)
    }

    /// The page that was absent, if it is here now and is a node on the path to `key`.
    #[cold]
    fn resumed(&self, page: PageId, key: &[u8], stop: u8) -> Option<OptimisticPage<'_>> {
        let view = self.pool.optimistic_if_resident(page).ok()?;
        let node = Node::new(&view);
        let is_on_path = (node.is_branch() || node.is_leaf())
            && node.tree() == self.id
            && node.level() >= stop
            && matches!(node.place(key), Place::Here | Place::Foster(_));
        (is_on_path && view.validate().is_ok()).then_some(view)
    }

    /// Latches the leaf `page`, or the foster child that owns the key. Returns `None` if the
    /// descent must start over.
    fn latch_leaf<'a, L: Latched<'a>>(
        &'a self,
        (page, parent): (PageId, PageId),
        key: &[u8],
        resume: &mut Option<Located>,
        pending: &mut Option<PendingAdoption>,
    ) -> Step<Option<(PageId, L)>> {
        let Ok(leaf) = L::latch(&self.pool, page) else {
            return Err(lacking(Located::child(page, parent), resume));
        };
        let place = self.leaf_place(&leaf, key);
        if place.is_some() && Node::new(&*leaf).foster().is_some() {
            pending.get_or_insert(PendingAdoption { parent, child: page });
        }
        match place {
            Some(Place::Here) => Ok(Some((page, leaf))),
            Some(Place::Foster(foster)) => {
                self.latch_in_chain(leaf, Located::foster(foster, page), key, resume)
            }
            _ => Ok(None),
        }
    }

    /// Returns the node on `level` to which the path for `key` leads, as far as can be determined
    /// without latches: for upkeep and checks, which check again under latches. `None` if the tree
    /// is not that high, or if it changes too fast.
    ///
    /// An absent page is noted in `resume`, where the next call goes on.
    pub(crate) fn locate(
        &self,
        key: &[u8],
        level: u8,
        resume: &mut Option<Located>,
    ) -> Step<Option<Located>> {
        let backoff = Backoff::new();
        for _ in 0..RESTARTS_MAX {
            let start = *resume;
            let End::Node(page, above) = self.attempt(key, level, resume, &mut None)? else {
                backoff.snooze();
                continue;
            };
            // If the attempt ended at the node at which it began (`start`), that node may be a
            // foster child.
            let is_foster = start.is_some_and(|start| start.page == page && start.is_foster);
            let at = Located { page, above, is_foster };
            if let Some(found) = self.locate_in_chain(at, key, level, resume)? {
                return Ok(found);
            }
            backoff.snooze();
        }
        Ok(None)
    }

    /// The topmost node on the path to `key` that has a foster child, with the parent that should
    /// adopt that foster child. Whether there is an absent page below that node does not matter.
    pub(crate) fn pending_on_path(
        &self,
        key: &[u8],
        hint: &mut LeafHint,
    ) -> Step<Option<PendingAdoption>> {
        let mut pending = None;
        match self.descend::<SharedPage<'_>>(key, hint, &mut pending) {
            Err(incomplete) if pending.is_none() => return Err(incomplete),
            _ => *hint = LeafHint::default(),
        }
        Ok(pending)
    }

    /// Returns the error for a page that is not what the path to it requires.
    #[cold]
    pub(crate) fn misplaced(&self, page: PageId, detail: String) -> Error {
        let tree = self.id.0;
        Error::CorruptPage { page, detail: format!("tree {tree}: {detail}") }
    }
}

/// The need for a node that a validated pointer leads to; the next descent begins there.
#[cold]
fn lacking(at: Located, resume: &mut Option<Located>) -> Incomplete {
    *resume = Some(at);
    resident::lacking(at.page)
}
