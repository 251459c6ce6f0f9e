//! Runs a closure in the fetch stage.
//!
//! Invariants:
//! - FETCHING-1. The result of the run is dropped: a value, an error and a panic alike (STAGING-2
//!   of `txn`).
//! - FETCHING-2. The pins of the stage live until the operate stage has ended, in the last of its
//!   attempts. So the attempts after a deadlock find the pages in memory, too.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clearway_base::Result;
use clearway_pool::FetchedPages;
use clearway_txn::Kind;

use crate::{Stage, Transaction, inner::Inner, staging::FetchEnd};

/// Runs `body` in the fetch stage. Returns the pins of its pages; `None` if the stage could not
/// begin.
#[cold]
pub(crate) fn fetch<T>(
    database: &Inner,
    kind: Kind,
    body: &mut impl FnMut(&mut Transaction) -> Result<T>,
) -> Option<FetchedPages> {
    let mut tx = Transaction::begin_fetch(database, kind);
    if tx.stage() != Stage::Fetch {
        return None; // The operate stage reports why.
    }
    // The result is dropped here, since that may panic, too.
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(body(&mut tx)))).is_err();
    let (pages, is_cut_short) = tx.end_fetch()?;
    database.staging.count_fetch(kind, FetchEnd { panicked, is_cut_short }, &pages);
    Some(pages)
}
