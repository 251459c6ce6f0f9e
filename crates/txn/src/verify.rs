//! Checking a whole database while it is in use.

use std::sync::Arc;

use clearway_base::{Error, PageId, Result};
use clearway_lock::IntentMode;
use clearway_tree::SPACE_SPAN;

use crate::{
    core::Core,
    finish,
    report::{TableReport, VerifyReport},
    slot::Slot,
    table::Table,
};

/// Checks every tree, and what they have in common: the space map.
///
/// While transactions run, pages move between "in use" and "free"; only what was in use both
/// before and after the trees were walked can be called unreachable, and only a page that two trees
/// claim on a second look is damage.
pub(crate) fn all(core: &Arc<Core>) -> Result<VerifyReport> {
    let before = allocated(core)?;
    let mut tables = vec![core.tables.catalogue()];
    tables.extend(core.tables.all());
    let mut reports = walk(core, &tables)?;
    if shared_page(&reports).is_some() {
        reports = walk(core, &tables)?;
    }
    if let Some(page) = shared_page(&reports) {
        return Err(Error::CorruptPage { page, detail: "two trees lead to it".into() });
    }
    let after = allocated(core)?;
    let mut reached: Vec<PageId> =
        reports.iter().flat_map(|table| table.report.pages.iter().copied()).collect();
    reached.sort_unstable();
    let is_map = |page: PageId| (page.0 - FIRST_MAP).is_multiple_of(SPACE_SPAN);
    let unreachable = before.iter().filter(|page| {
        !is_map(**page) && after.binary_search(page).is_ok() && reached.binary_search(page).is_err()
    });
    let unreachable_pages = unreachable.count() as u64;
    Ok(VerifyReport { pages: core.pool.page_count(), unreachable_pages, tables: reports })
}

/// The first space-map page.
const FIRST_MAP: u32 = 2;

fn allocated(core: &Core) -> Result<Vec<PageId>> {
    let mut pages = Vec::new();
    core.space.for_each_allocated(|page| pages.push(page))?;
    Ok(pages)
}

fn walk(core: &Arc<Core>, tables: &[Table]) -> Result<Vec<TableReport>> {
    let mut reports = Vec::new();
    for table in tables {
        // The intent lock keeps the table from being dropped under the walk.
        let mut slot = Slot::begin(core);
        let result = slot.enter(table, IntentMode::IS).and_then(|_| table.tree().verify());
        finish::leave(slot);
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

/// A page that more than one tree leads to.
fn shared_page(reports: &[TableReport]) -> Option<PageId> {
    let mut pages: Vec<PageId> =
        reports.iter().flat_map(|table| table.report.pages.iter().copied()).collect();
    pages.sort_unstable();
    pages.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
