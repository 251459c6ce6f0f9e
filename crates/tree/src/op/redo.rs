//! Doing a logged operation for the first time, and doing it again.

use clearway_base::{KeyName, KeySample, LsnSpan, PageId, Result, TreeId};
use clearway_lock::LockId;
use clearway_pool::{ExclusivePage, Pool};

use super::{Op, redo_check, user::UndoOf};
use crate::Journal;

/// Logs the operation in `body` by calling `log`, and applies it to its pages, which the caller has
/// exclusively latched. Returns where the record stands.
///
/// The pages are marked dirty *before* the record is logged, so that a fuzzy checkpoint which
/// begins in between cannot miss them. They get their page LSN after the change.
///
/// # Errors
/// What `log` returns: nothing was logged or changed then. `CorruptPage` after logging only if the
/// operation was not built from these very pages; pool and log have failed then.
///
/// # Panics
/// In debug builds, if `pages` are not the operation's.
pub(crate) fn perform<C: Journal>(
    ctx: &mut C,
    log: impl FnOnce(&mut C, &[u8]) -> Result<LsnSpan>,
    body: &[u8],
    pages: &mut [&mut ExclusivePage<'_>],
) -> Result<LsnSpan> {
    perform_decoded(ctx, log, &Op::decode(body)?, body, pages)
}

/// As [`perform`], for a caller that already has a decoded operation: the one from which `body` was
/// encoded, or another that [changes the pages](Op::apply_to) in the same way.
#[inline]
pub(crate) fn perform_decoded<C: Journal>(
    ctx: &mut C,
    log: impl FnOnce(&mut C, &[u8]) -> Result<LsnSpan>,
    op: &Op<'_>,
    body: &[u8],
    pages: &mut [&mut ExclusivePage<'_>],
) -> Result<LsnSpan> {
    debug_assert_eq!(op.pages().iter().count(), pages.len());
    for page in pages.iter_mut() {
        debug_assert!(op.pages().iter().any(|(id, _)| id == page.id()));
        page.begin_change();
    }
    let span = log(ctx, body)?;
    for page in pages.iter_mut() {
        apply(op, page)?;
        page.finish_change(span.end);
    }
    if ctx.checks_redo() {
        redo_check::log_images(ctx, body, pages, span.end);
    }
    Ok(span)
}

/// Applies a logged operation. If it does not fit, the page is not what the log says and never will
/// be, so the pool and the log stop.
#[inline]
fn apply(op: &Op<'_>, page: &mut ExclusivePage<'_>) -> Result<()> {
    op.apply_to(page.id(), page).inspect_err(|error| page.poison(error))
}

/// Does again what a record of this crate says (user, compensation or system operation), on those
/// of its pages that do not have it yet.
///
/// # Errors
/// `Corrupt` for a body that cannot be read, `CorruptPage` for a page that the operation does not
/// fit, and what the pool returns for pages it cannot read.
pub fn redo(pool: &Pool, body: &[u8], span: LsnSpan) -> Result<()> {
    let op = Op::decode(body)?;
    for (id, formats) in op.pages().iter() {
        // The data file may be shorter than when the record was logged, if a crash lost the growth
        // of the file.
        pool.ensure_len(id)?;
        let mut page = if formats { pool.format(id)? } else { pool.exclusive(id)? };
        // A formatted page has page LSN 0 again and starts over: what later records did to it is
        // redone after this one.
        if page.page_lsn() < span.end {
            page.begin_change();
            apply(&op, &mut page)?;
            page.finish_change(span.end);
        }
    }
    Ok(())
}

/// Calls `visit` with each page that a record of this crate changes; with none for a body that
/// cannot be read.
pub fn for_each_page(body: &[u8], mut visit: impl FnMut(PageId)) {
    if let Ok(op) = Op::decode(body) {
        op.pages().iter().for_each(|(page, _)| visit(page));
    }
}

/// The tree that a record of this crate belongs to; `None` for the space map's own records and for
/// bodies that cannot be read.
pub fn tree_of_body(body: &[u8]) -> Option<TreeId> {
    Op::decode(body).ok()?.tree()
}

/// The lock of the key that a user operation with this body has changed, and its name; `None` for
/// other bodies.
pub fn key_of_body(body: &[u8]) -> Option<(LockId, KeyName)> {
    let (tree, key) = changed_key(body)?;
    Some((LockId::of(tree, key), KeyName { tree, key: KeySample::of(key) }))
}

/// The tree and the key that a user operation with this body has changed; `None` for other bodies.
pub fn changed_key(body: &[u8]) -> Option<(TreeId, &[u8])> {
    let Op::User(user) = Op::decode(body).ok()? else { return None };
    let UndoOf { tree, key, .. } = user.undo();
    Some((tree, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::SystemOp;
    use crate::op::tests::memory::Memory;

    #[test]
    fn logged_operation_that_does_not_apply_stops_everything() {
        let memory = Memory::new();
        let mut ctx = memory.context();
        let mut body = Vec::new();
        let (id, tree) = (PageId(5), TreeId(4));
        Op::System(SystemOp::ReclaimGhosts { page: id, tree, slots: vec![0] }).encode(&mut body);
        let mut page = memory.pool.exclusive(id).unwrap();
        perform(&mut ctx, Journal::log_system, &body, &mut [&mut page]).unwrap_err();
        drop(page);
        assert!(memory.pool.health().is_err());
        assert!(memory.pool.clean_all().is_err(), "the page is not what the log says");
    }
}
