//! The end of an engine that is closed in good order.
//!
//! ```text
//!   pending leaves visited ─► no more work ─► threads joined ─► no more transactions
//!   ─► deallocations done, or left to recovery ─► pages clean, checkpoint
//!   ─► log closed ─► cleaner joined ─► done ─► directory's lock released
//! ```
//!
//! Invariants:
//! - CLOSING-1. Closing neither commits nor rolls back. The unfinished work of a transaction that
//!   has not committed stays registered (TXN-TABLE-6), so the closing checkpoint lists the
//!   transaction, and the next opening undoes it. A commit record is in the log before the closing
//!   trailer, or is refused.
//! - CLOSING-2. No wait of a close for the write of a page lasts longer than the pool allows: the
//!   pool learns of the close before the first wait for a thread that may clean pages.
//!
//! Latch order: the engine's outcome → the mutex of checkpoints and what comes after it.

use std::sync::Arc;

use clearway_base::{
    Error, Result,
    failpoint::{self, Failpoint},
};

use crate::{
    background::Background, checkpoints::Cleaning, finish, transaction_state::Transactions, upkeep,
};

/// Closes the engine. Called once.
pub(crate) fn close(
    transactions: &Arc<Transactions>,
    background: Option<Background>,
) -> Result<()> {
    let core = &transactions.core;
    core.pool.begin_close(); // CLOSING-2
    core.task_work.wait_idle();
    if background.is_some() {
        upkeep::finish_soon(transactions);
    }
    core.directory.refuse_work();
    core.task_work.stop();
    if let Some(background) = background {
        background.stop(core);
    }
    transactions.close();
    finish::close_deallocations(transactions);
    let healthy = core.log.health();
    let written = healthy.and_then(|()| {
        core.pool.clean_all()?;
        core.checkpoints.take(Cleaning::All)
    });
    failpoint::pass(Failpoint::LogNotClosed);
    let log = core.log.close();
    // Its cleaner must not outlive the directory's lock. The pages are clean, or stay as they are:
    // the log has failed, or a transaction that the close refuses has changed them meanwhile.
    let closed = core.pool.close();
    failpoint::pass(Failpoint::LogClosed);
    core.directory.finish_closing();
    match closed {
        // The cause of the other errors, if there are any.
        Err(error @ Error::WriteTimeout { .. }) => Err(error),
        Err(error @ Error::ReadTimeout { .. }) => written.and(log).and(Err(error)),
        _ => written.and(log),
    }
}
