//! Cursors: the records of a key range in order, one at a time, in either direction.
//!
//! What it is
//! : A cursor is a position, not a copy: each step latches a leaf, looks up the position by key,
//!   locks what the protocol asks for, copies one record out and lets the latch go. Between steps
//!   it holds no latch, and remembers leaf and slot only as a hint: a slot counts if it still has
//!   the position's key, and then no search is needed. So splits, merges, adoptions, evictions and
//!   the transaction's own writes in between are harmless.
//!
//! Invariants
//! 1. *Ascending.* Once started, the gap from `position` to the next boundary is locked, so no
//!    other transaction can put a key there. A step goes to that boundary, be it record, ghost or
//!    low fence of the next leaf, and locks it under the latch of the leaf that owns it.
//! 2. *Descending.* Everything from `position` up to where the cursor started is locked. A step
//!    goes to the boundary before `position` and locks it with its gap, which reaches to
//!    `position`, under the latch of the leaf in which both lie.
//! 3. *Nothing unlocked leaves*, and nothing is returned that was read before its lock was granted.
//! 4. *Borders are boundaries.* A leaf's low fence is locked in passing whether or not a record
//!    stands there, so a key equal to it cannot slip in between two leaves ([`locking`] has the
//!    rule that makes an insert of that key ask for the same lock).
//! 5. A cursor that skips what is locked ([`Cursor::skip_locked`]) keeps none of 1 to 4 but
//!    "nothing is returned that was read before its lock was granted": see `skip`.
//! 6. *Buffers stay.* Keys and values are copied into vectors that the cursor keeps, so that a step
//!    allocates nothing; a caller that needs a record of its own takes or copies them.
//! 7. A leaf that is empty, or of whose records at least half are ghosts, is reported to upkeep
//!    when the cursor passes a ghost or the border there. Steps to records do not look at the
//!    counts.
//! 8. A cursor that comes to an absent leaf needs the leaves behind it, too: see `read_ahead`.
//! 9. After a wait the step starts over from `position`; the lock is kept if it is still the one to
//!    take.
//!
//! What is locked (key part, then gap part; with update intent `X` takes the place of the key's `S`
//! for records that are returned):
//!
//! | boundary | ascending | descending |
//! | --- | --- | --- |
//! | start, present, included | `SS` (`SN` if also the end) | `SN` |
//! | start, present, excluded | `NS` | – |
//! | start, absent | `NS` before it | – (the first step locks it) |
//! | next | `SS` (`SN` if it is the included end) | `SS` |
//! | past the end | – (the gap before is locked) | `NS` |
//!
//! Algorithm
//! : "Efficient Locking for Databases", section 2.2, table 3.
//!
//! Differences
//! : A low fence without a record is locked with its key in passing (`SS` where the table has `NS`
//!   for descending cursors): here an insert of that very key asks for the key and not for the gap.
//!
//! [`locking`]: crate::locking

mod ascend;
mod descend;
mod read_ahead;
mod skip;

use std::ops::Bound;

use clearway_base::{PageId, Result};
use clearway_lock::{Outcome, Part, RangeMode};
use clearway_pool::SharedPage;

use crate::locking::LockWaitState;
use crate::need::{Step, drive};
use crate::node::Node;
use crate::overflow::ChainReader;
use crate::tree::ReadIntent;
use crate::{LeafHint, Locks, Tree, Upkeep, Wait};
use read_ahead::ReadAhead;

/// The order in which a cursor goes through its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the lower bound up.
    Ascending,
    /// From the upper bound down.
    Descending,
}

/// The keys between two bounds.
pub type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The progress of a cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CursorState {
    /// Nothing is locked yet.
    Start,
    /// Invariant 1 or 2 holds for `position`.
    Between,
    /// There is no more, and what is beyond is locked as far as the range goes.
    End,
}

/// A position in a key range of a tree. It belongs to one transaction, whose locks make it stable;
/// pass the tree and the context of that transaction to every step.
#[derive(Debug)]
pub struct Cursor {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    intent: ReadIntent,
    state: CursorState,
    /// Ascending: where the locked gap is. Descending: everything from here on is done; empty and
    /// `at_infinity` before the first step of a range without an upper bound.
    position: Vec<u8>,
    at_infinity: bool,
    hint: LeafHint,
    /// The boundary that a step looks at, and the key that a descending step searches for.
    candidate: Vec<u8>,
    probe: Vec<u8>,
    /// The value of the record at `position`, if the last step came to one.
    value: Vec<u8>,
    /// Looks since the position moved.
    looks: u16,
    /// Whether records that others have locked are passed over; see `skip`.
    skips: bool,
    /// Of a cursor that skips: whether the record at the position is still to be looked at.
    includes: bool,
    /// The leaf that was reported to upkeep last.
    reported: PageId,
    read_ahead: ReadAhead,
    /// The overflow chain of `candidate`'s record, which is locked, as far as it has not been read
    /// into `value`.
    chain: Option<Box<ChainReader>>,
}

/// Looks without a move after which a step gives up: each is a race that was lost, so a step in a
/// sound tree needs only a few.
const LOOKS_MAX: u16 = 1_000;

/// The result of one look.
enum Look {
    /// A record: its key is the position.
    Record,
    /// The position moved over a ghost or a border, or has to be looked up anew.
    Moved,
    /// The end of the range.
    End,
}

impl Tree {
    /// A cursor over the records between two bounds. Nothing is locked before its first step; an
    /// empty range locks nothing at all.
    pub fn cursor(
        &self,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        direction: Direction,
        intent: ReadIntent,
    ) -> Cursor {
        let state = if is_empty(&lower, &upper) { CursorState::End } else { CursorState::Start };
        Cursor {
            lower,
            upper,
            direction,
            intent,
            state,
            position: Vec::new(),
            at_infinity: false,
            hint: LeafHint::default(),
            candidate: Vec::new(),
            probe: Vec::new(),
            value: Vec::new(),
            looks: 0,
            skips: false,
            includes: false,
            reported: PageId::NONE,
            read_ahead: ReadAhead::default(),
            chain: None,
        }
    }
}

/// Whether no key can lie between the bounds.
fn is_empty(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> bool {
    match (lower, upper) {
        // Below the empty key there is nothing, and no boundary to lock.
        (_, Bound::Excluded(high)) if high.is_empty() => true,
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Excluded(high))
        | (Bound::Excluded(low), Bound::Included(high)) => low >= high,
        _ => false,
    }
}

/// Returns the part of a range at `key` and behind it, in the order of `direction`.
pub fn behind<'a>(
    key: &'a [u8],
    (lower, upper): KeyBounds<'a>,
    direction: Direction,
) -> KeyBounds<'a> {
    match (direction, lower, upper) {
        (Direction::Ascending, Bound::Included(low) | Bound::Excluded(low), _) if low >= key => {
            (lower, upper)
        }
        (Direction::Ascending, ..) => (Bound::Included(key), upper),
        (Direction::Descending, _, Bound::Included(high) | Bound::Excluded(high))
            if high <= key =>
        {
            (lower, upper)
        }
        (Direction::Descending, ..) => (lower, Bound::Included(key)),
    }
}

impl Cursor {
    /// The next record, `None` at the end of the range, and from then on. After an error the
    /// position is as before the call.
    ///
    /// # Errors
    /// Whatever waiting for a lock or reading a page can fail with.
    pub fn next<C: Locks + Upkeep + Wait>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let found = self.advance(tree, ctx)?;
        Ok(found.then(|| self.take_entry()))
    }

    /// Takes the record that the last [`advance`](Cursor::advance) came to.
    pub fn take_entry(&mut self) -> (Vec<u8>, Vec<u8>) {
        (self.position.clone(), std::mem::take(&mut self.value))
    }

    /// The leaf that the last step came to, if any.
    pub fn leaf(&self) -> Option<PageId> {
        self.hint.page()
    }

    /// The order of the steps.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The part of the range that was not passed yet; `None` at the end.
    pub fn rest(&self) -> Option<KeyBounds<'_>> {
        let (lower, upper) = (self.lower.as_ref(), self.upper.as_ref());
        let (mut lower, mut upper) = (lower.map(Vec::as_slice), upper.map(Vec::as_slice));
        let position = match self.includes {
            true => Bound::Included(&self.position[..]),
            false => Bound::Excluded(&self.position[..]),
        };
        match self.state {
            CursorState::End => return None,
            CursorState::Start => {}
            CursorState::Between if self.at_infinity => {}
            CursorState::Between => match self.direction {
                Direction::Ascending => lower = position,
                Direction::Descending => upper = position,
            },
        }
        Some((lower, upper))
    }

    /// Returns a cursor over the part of the range that was not passed yet, from its other end.
    pub fn opposite(&self, tree: &Tree) -> Cursor {
        let nothing = (Bound::Excluded(&[][..]), Bound::Excluded(&[][..]));
        self.opposite_over(tree, self.rest().unwrap_or(nothing))
    }

    /// Returns a cursor over a range, of the same kind, in the other direction.
    pub fn opposite_over(&self, tree: &Tree, (lower, upper): KeyBounds<'_>) -> Cursor {
        let direction = match self.direction {
            Direction::Ascending => Direction::Descending,
            Direction::Descending => Direction::Ascending,
        };
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        let skips = self.skips;
        Cursor { skips, ..tree.cursor(lower, upper, direction, self.intent) }
    }

    /// Goes forward: the next step comes to the first record at `key` or behind it, in the order of
    /// the direction. What lies between is not locked. Does nothing if the cursor is there or
    /// behind it already.
    pub fn seek(&mut self, key: &[u8]) {
        let Some((lower, upper)) = self.rest() else { return };
        let (lower, upper) = behind(key, (lower, upper), self.direction);
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        self.state = if is_empty(&lower, &upper) { CursorState::End } else { CursorState::Start };
        (self.lower, self.upper) = (lower, upper);
        self.position.clear();
        (self.includes, self.at_infinity) = (false, false);
        self.looks = 0;
        self.chain = None;
    }

    /// As [`next`](Cursor::next), but the record stays in the cursor, whose buffers the next step
    /// uses again: `true` if there is one, and then [`entry`](Cursor::entry) is it.
    ///
    /// # Errors
    /// Those of `next`.
    pub fn advance<C: Locks + Upkeep + Wait>(&mut self, tree: &Tree, ctx: &mut C) -> Result<bool> {
        self.begin_advance();
        let mut waited = LockWaitState::default();
        drive(&tree.pool, ctx, |ctx| self.advance_step(tree, ctx, &mut waited))
    }

    /// Begins an advance: an earlier one may have failed, or been dropped, in the middle of a
    /// chain.
    #[inline]
    pub fn begin_advance(&mut self) {
        self.chain = None;
    }

    /// Runs a step of an advance.
    #[inline]
    pub(crate) fn advance_step<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<bool> {
        match self.step(tree, ctx, waited) {
            Ok(found) => {
                if self.read_ahead.is_triggered_by(self.hint.page) {
                    self.read_next_windows(tree);
                }
                Ok(found)
            }
            Err(incomplete) => Err(self.read_ahead(tree, incomplete)),
        }
    }

    /// Goes to the next record. Returns false at the end of the range.
    fn step<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<bool> {
        if self.chain.is_some() {
            return self.read_chain(tree);
        }
        if self.skips {
            return self.advance_free(tree, ctx);
        }
        while self.state != CursorState::End {
            let look = match self.direction {
                Direction::Ascending => self.ascend(tree, ctx, waited)?,
                Direction::Descending => self.descend(tree, ctx, waited)?,
            };
            match look {
                Look::Record => return Ok(true),
                Look::Moved if self.looks < LOOKS_MAX => self.looks += 1,
                Look::Moved => {
                    let detail = "a cursor finds no way on from its position".into();
                    return Err(tree.misplaced(self.hint.page, detail).into());
                }
                Look::End => {
                    waited.release_others(ctx);
                    self.state = CursorState::End;
                }
            }
        }
        Ok(false)
    }

    /// Reads the value of `candidate`'s record, or the rest of it, and moves there.
    #[cold]
    fn read_chain(&mut self, tree: &Tree) -> Step<bool> {
        let value = &mut self.value;
        self.chain.as_mut().map_or(Ok(()), |chain| chain.step(&tree.pool, tree.id, value))?;
        self.chain = None;
        self.move_to_candidate();
        Ok(true)
    }

    /// Moves to `candidate`, whose record, if it has one, is in `value`.
    #[inline]
    fn move_to_candidate(&mut self) {
        self.state = CursorState::Between;
        (self.includes, self.at_infinity) = (false, false);
        self.looks = 0;
        std::mem::swap(&mut self.position, &mut self.candidate);
    }

    /// Key and value of the record that the last [`advance`](Cursor::advance) came to.
    /// Meaningful only if that returned `true`.
    #[inline]
    pub fn entry(&self) -> (&[u8], &[u8]) {
        (&self.position, &self.value)
    }

    /// Whether `candidate` lies beyond the position, as it does in every sound tree: a damaged one
    /// must not send the cursor round in circles.
    fn is_progress(&self) -> bool {
        let is_first = self.state == CursorState::Start || self.at_infinity;
        is_first
            || match self.direction {
                Direction::Ascending => self.candidate > self.position,
                Direction::Descending => self.candidate < self.position,
            }
    }

    /// Latches the leaf of `key`, and says where in it the key is or would be.
    #[inline]
    fn find<'t>(
        hint: &mut LeafHint,
        tree: &'t Tree,
        key: &[u8],
    ) -> Step<(SharedPage<'t>, std::result::Result<usize, usize>)> {
        let (leaf, known): (SharedPage<'t>, _) = tree.leaf_and_slot(key, hint, &mut None)?;
        let found = known.map_or_else(|| Node::new(&*leaf).find(key), Ok);
        Ok((leaf, found))
    }

    /// The mode for `candidate`, a boundary inside the range: `slot` is its record, if it has one.
    fn mode_of(&self, node: Node<'_, [u8]>, slot: Option<usize>, gap: Part) -> RangeMode {
        let live = slot.is_some_and(|slot| !node.is_ghost(slot));
        let exclusive = live && self.intent == ReadIntent::Update;
        RangeMode::new(if exclusive { Part::X } else { Part::S }, gap)
    }

    /// Locks `candidate`, a boundary inside the range, moves there, and returns its record if it
    /// has one.
    fn take<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
        leaf: SharedPage<'_>,
        (slot, mode): (Option<usize>, RangeMode),
    ) -> Step<Look> {
        if !self.is_progress() {
            let detail = "a cursor meets keys that are out of order".into();
            return Err(tree.misplaced(leaf.id(), detail).into());
        }
        let id = tree.lock_of(&self.candidate);
        if ctx.request(id, mode) == Outcome::Denied {
            return Err(waited.lacks(ctx, id, mode, tree.name_of(&self.candidate)));
        }
        waited.keep_only(ctx, id);
        let node = Node::new(&*leaf);
        let record = slot.filter(|slot| !node.is_ghost(*slot));
        self.hint.slot = slot.unwrap_or(0);
        let Some(at) = record else {
            self.report_ghosts(tree, ctx, &leaf);
            self.move_to_candidate();
            return Ok(Look::Moved);
        };
        self.take_record(tree, leaf, at)?;
        Ok(Look::Record)
    }

    /// Reports a leaf, of which the cursor has passed a ghost or the border, to upkeep if at least
    /// half of its records are ghosts or it is empty, so that later scans need not pass them all
    /// again. Unless something is wrong with upkeep, it knows of all ghosts already: this report is
    /// a second safeguard.
    #[inline]
    fn report_ghosts<C: Upkeep>(&mut self, tree: &Tree, ctx: &mut C, leaf: &SharedPage<'_>) {
        let node = Node::new(&**leaf);
        let (ghosts, count) = (node.ghost_count(), node.count());
        if ghosts * 2 >= count
            && self.reported != leaf.id()
            && (ghosts > 0 || leaf.id() != tree.root)
        {
            self.reported = leaf.id();
            tree.report_leaf(ctx, node);
        }
    }

    /// Copies the value of the record at `slot`, which is `candidate`'s and locked, and then moves
    /// there, so that an error leaves the position where it was.
    #[inline]
    fn take_record(&mut self, tree: &Tree, leaf: SharedPage<'_>, slot: usize) -> Step<()> {
        let node = Node::new(&*leaf);
        self.value.clear();
        if node.is_overflow(slot) {
            self.chain = Some(Box::new(ChainReader::of_record(node.value(slot))?));
            drop(leaf);
            return self.read_chain(tree).map(drop);
        }
        self.value.extend_from_slice(node.value(slot));
        self.move_to_candidate();
        Ok(())
    }
}
