//! Operations as values: for drivers that do not block, and so cannot call the methods that run an
//! operation to its end.
//!
//! Each is a function that runs one step. Its driver calls it with the tree, the transaction and a
//! leaf hint, meets the need that it returns, and calls it again with the same arguments. An
//! operation that is dropped between two steps has changed no record (need invariants 2 and 5).
//!
//! Before it begins an operation as a value, such a driver tries the operation (`try_…`), which
//! costs less: one step, whose state is not kept. If that does not complete the operation, the
//! driver begins it as a value. An adoption that the attempt has noted would be lost then, since a
//! later step need not come by that branch again (descend invariant 6): so the attempt makes its
//! leaf hint invalid.

use clearway_base::{PageId, Result};
use clearway_pool::SharedPage;
use clearway_sync::step;

use crate::cursor::Cursor;
use crate::locking::LockWaitState;
use crate::need::Step;
use crate::node::Node;
use crate::read::Get;
use crate::tree::ReadIntent;
use crate::write::{Delete, Goal, Store};
use crate::{Environment, LeafHint, Locks, Tree, Upkeep, resident};

/// The findings of [`Tree::survey_write`].
#[derive(Clone, Copy, Debug)]
pub struct WriteSurvey {
    /// True if the key is present.
    pub is_present: bool,
    /// The space-map page in which the write would allocate pages, if it needs any.
    pub map: Option<PageId>,
}

impl Tree {
    /// Tries to read a value as [`Tree::get`] does, in one step.
    ///
    /// # Errors
    /// `KeyTooLarge`; what the operation needs, or the error with which it has failed.
    #[inline]
    pub fn try_get<C: Locks>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Step<bool> {
        let mut get = Get::new(self, key, intent, out)?;
        get.expect(ctx);
        get.step(self, ctx, hint, out)
    }

    /// Tries to store a record as [`Tree::store_operation`] does, in one step and one latch hold.
    /// Returns `None` if more is to be done: the leaf has no room, or the value is to be written
    /// to overflow pages. Nothing was changed then.
    ///
    /// # Errors
    /// `KeyTooLarge`, `ValueTooLarge`; what the operation needs, or the error with which it has
    /// failed.
    #[inline]
    pub fn try_store<C: Environment>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value: &[u8],
        goal: Goal,
    ) -> Step<Option<bool>> {
        let mut store = Store::new(self, key, value, goal)?;
        ctx.expect(self.lock_of(key));
        let stored = store.try_leaf(self, ctx, hint);
        if !matches!(stored, Ok(Some(_))) && store.has_pending() {
            *hint = LeafHint::default();
        }
        stored
    }

    /// Tries to delete a record as [`Tree::delete_operation`] does, in one step.
    ///
    /// # Errors
    /// `KeyTooLarge`; what the operation needs, or the error with which it has failed.
    #[inline]
    pub fn try_delete<C: Environment>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Step<()> {
        self.check_key(key)?;
        let mut delete = Delete::default();
        let deleted = delete.step(self, ctx, hint, key);
        if deleted.is_err() && delete.has_pending() {
            *hint = LeafHint::default();
        }
        deleted
    }

    /// [`Tree::get`] as an operation, which uses the memory of `value`. Its result is `None` if the
    /// key is absent.
    ///
    /// # Errors
    /// `KeyTooLarge`.
    #[inline]
    #[allow(clippy::type_complexity)] // The type of a closure has no name.
    pub fn read_operation<'a, C: Locks>(
        &self,
        key: &'a [u8],
        intent: ReadIntent,
        mut value: Vec<u8>,
    ) -> Result<impl FnMut(&Tree, &mut C, &mut LeafHint) -> Step<Option<Vec<u8>>> + use<'a, C>>
    {
        let mut get = Get::new(self, key, intent, &mut value)?;
        Ok(move |tree: &Tree, ctx: &mut C, hint: &mut LeafHint| {
            get.expect(ctx);
            let found = get.step(tree, ctx, hint, &mut value)?;
            Ok(found.then(|| std::mem::take(&mut value)))
        })
    }

    /// A look at what a write of `value` to `key` (a deletion, if it is `None`) would come to, as
    /// an operation that requests no lock and reads no value. The answer may depend on changes that
    /// are not committed, and may be out of date at once. The pages that the write would need are
    /// in memory when it is given.
    ///
    /// # Errors
    /// `KeyTooLarge`, `ValueTooLarge`.
    #[allow(clippy::type_complexity)] // The type of a closure has no name.
    pub fn survey_write<'a, C>(
        &self,
        key: &'a [u8],
        value: Option<&[u8]>,
    ) -> Result<impl FnMut(&Tree, &mut C, &mut LeafHint) -> Step<WriteSurvey> + use<'a, C>> {
        self.check_key(key)?;
        self.check_value(value.unwrap_or_default())?;
        let len = value.map(<[u8]>::len);
        let is_chained = len.is_some_and(|len| !self.limits.is_inline(key.len(), len));
        Ok(move |tree: &Tree, _: &mut C, hint: &mut LeafHint| {
            let (leaf, known): (SharedPage<'_>, _) = tree.leaf_and_slot(key, hint, &mut None)?;
            let node = Node::new(&*leaf);
            let found = known.map_or_else(|| node.find(key), Ok);
            let fits = len.is_none_or(|len| match found {
                Ok(slot) => node.fits_value(slot, len),
                Err(_) => node.fits(key.len(), len),
            });
            let is_present = found.is_ok_and(|slot| !node.is_ghost(slot));
            drop(leaf);
            let map = (is_chained || !fits).then(|| tree.space.next_map());
            map.map_or(Ok(()), |map| resident::optimistic(&tree.pool, map).map(drop))?;
            Ok(WriteSurvey { is_present, map })
        })
    }

    /// [`Tree::insert`], [`Tree::put`] or [`Tree::update`] as an operation.
    ///
    /// # Errors
    /// `KeyTooLarge`, `ValueTooLarge`.
    #[inline]
    pub fn store_operation<'a, C: Environment>(
        &self,
        key: &'a [u8],
        value: &'a [u8],
        goal: Goal,
    ) -> Result<impl FnMut(&Tree, &mut C, &mut LeafHint) -> Step<bool> + use<'a, C>> {
        let mut store = Store::new(self, key, value, goal)?;
        Ok(move |tree: &Tree, ctx: &mut C, hint: &mut LeafHint| {
            ctx.expect(tree.lock_of(key));
            store.step(tree, ctx, hint)
        })
    }

    /// [`Tree::delete`] as an operation.
    ///
    /// # Errors
    /// `KeyTooLarge`.
    #[inline]
    pub fn delete_operation<'a, C: Environment>(
        &self,
        key: &'a [u8],
    ) -> Result<impl FnMut(&Tree, &mut C, &mut LeafHint) -> Step<()> + use<'a, C>> {
        self.check_key(key)?;
        let mut delete = Delete::default();
        Ok(move |tree: &Tree, ctx: &mut C, hint: &mut LeafHint| delete.step(tree, ctx, hint, key))
    }

    /// Runs a step of an operation. In debug builds, a blocking call made while it runs panics,
    /// with the exceptions of [`step`].
    ///
    /// # Errors
    /// What the operation needs, or the error with which it has failed.
    #[inline]
    pub fn step<C, T>(
        &self,
        operation: &mut impl FnMut(&Tree, &mut C, &mut LeafHint) -> Step<T>,
        ctx: &mut C,
        hint: &mut LeafHint,
    ) -> Step<T> {
        let _inside = step::Inside::begin();
        operation(self, ctx, hint)
    }
}

impl Cursor {
    /// [`Cursor::advance`] as an operation, or the rest of one, after
    /// [`begin_advance`](Cursor::begin_advance).
    pub fn advance_operation<C: Locks + Upkeep>(
        &mut self,
    ) -> impl FnMut(&Tree, &mut C, &mut LeafHint) -> Step<bool> + use<'_, C> {
        let mut waited = LockWaitState::default();
        move |tree: &Tree, ctx: &mut C, _: &mut LeafHint| self.advance_step(tree, ctx, &mut waited)
    }
}
