//! Checking a whole database while it is in use.
//!
//! A tree checks itself (`clearway_tree`'s `verify`). Here is checked what concerns several trees,
//! although no two trees are read at the same moment while transactions run:
//!
//! - *No page belongs to two trees.* Every page, an overflow page too, names its tree, and a tree's
//!   own check compares that with the pointer that led there, both latched. So if two trees lead to
//!   one page, the check of at least one of them finds the damage, provided that their ids differ,
//!   which is checked here. A page that the walks of two trees have met one after the other has
//!   moved from the one to the other in between.
//! - *No page in use is unreachable.* A page counts as unreachable if it was in use before and
//!   after a walk over all trees that did not meet it, and if the same holds for the next walk. As
//!   long as that removes pages from the list of the walk before, another walk follows, up to four.

use std::sync::Arc;

use clearway_base::{Error, PageId, Result};
use clearway_lock::IntentMode;
use clearway_tree::SPACE_SPAN;

use crate::{
    core::Core,
    finish,
    report::{TableReport, VerifyReport},
    table::Table,
    transaction_state::Transactions,
};

/// The maximum number of walks.
const LOOKS_MAX: u32 = 4;

/// Checks every tree, and what they have in common.
pub(crate) fn all(transactions: &Arc<Transactions>) -> Result<VerifyReport> {
    let (mut tables, mut unreachable) = look(transactions)?;
    for _ in 1..LOOKS_MAX {
        if unreachable.is_empty() {
            break;
        }
        let suspects = unreachable;
        (tables, unreachable) = look(transactions)?;
        unreachable.retain(|page| suspects.binary_search(page).is_ok());
        if unreachable.len() == suspects.len() {
            break;
        }
    }
    let unreachable_pages = unreachable.len() as u64;
    Ok(VerifyReport { pages: transactions.core.pool.page_count(), unreachable_pages, tables })
}

/// Walks all trees once. Also returns the pages that seem unreachable, in ascending order.
fn look(transactions: &Arc<Transactions>) -> Result<(Vec<TableReport>, Vec<PageId>)> {
    let core = &transactions.core;
    // No record leads to the pages of deferred deallocations.
    finish::finish_deallocations(transactions);
    let mut unreachable = allocated(core)?;
    let mut tables = vec![core.tables.catalogue()];
    tables.extend(core.tables.all());
    check_ids(&tables)?;
    let reports = walk(transactions, &tables)?;
    let after = allocated(core)?;
    let mut reached: Vec<PageId> =
        reports.iter().flat_map(|table| table.report.pages.iter().copied()).collect();
    reached.sort_unstable();
    let is_map = |page: PageId| (page.0 - FIRST_MAP).is_multiple_of(SPACE_SPAN);
    unreachable.retain(|page| {
        !is_map(*page) && after.binary_search(page).is_ok() && reached.binary_search(page).is_err()
    });
    Ok((reports, unreachable))
}

/// Checks that each table has a tree of its own.
fn check_ids(tables: &[Table]) -> Result<()> {
    let mut by_id: Vec<&Table> = tables.iter().collect();
    by_id.sort_unstable_by_key(|table| table.id().0);
    match by_id.windows(2).find(|pair| pair[0].id() == pair[1].id()) {
        None => Ok(()),
        Some(pair) => {
            let (one, two) = (pair[0].name(), pair[1].name());
            Err(Error::corrupt("catalogue", format!("{one:?} and {two:?} have one tree")))
        }
    }
}

/// The first space-map page.
const FIRST_MAP: u32 = 2;

fn allocated(core: &Core) -> Result<Vec<PageId>> {
    let mut pages = Vec::new();
    core.space.for_each_allocated(|page| pages.push(page))?;
    Ok(pages)
}

fn walk(transactions: &Arc<Transactions>, tables: &[Table]) -> Result<Vec<TableReport>> {
    let mut reports = Vec::new();
    for table in tables {
        // The intent lock keeps the table from being dropped under the walk.
        let mut state = transactions.begin()?;
        let result = state.enter(table, IntentMode::IS).and_then(|_| table.tree().verify());
        finish::leave(state);
        match result {
            Ok(report) => reports.push(TableReport {
                name: table.name().into(),
                tree: table.id(),
                root: table.tree().root(),
                report,
            }),
            Err(Error::UnknownTable { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reports)
}
