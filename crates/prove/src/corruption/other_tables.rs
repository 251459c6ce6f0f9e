//! Checks that damage in the pages of some tables leaves the other tables readable and writable.
//!
//! Only databases that were closed in order are checked, since their opening has nothing to
//! recover: damage in a page that recovery must change may prevent a killed database from opening.
//! Damage to the parts that all tables share (the superblock, the log, the catalogue and the space
//! map) is not checked here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use clearway_base::{PAGE_SIZE, PageId, Result};
use clearway_testkit::disk::SimDisk;
use clearway_txn::Engine;

use super::{
    inject::Corruption,
    original::{Original, open},
};
use crate::oracles::{Oracle, State, Verdict, Violation, check_same, read_table};

/// The table to which each page belongs, without the pages that belong to no user table.
pub(super) type Owners = BTreeMap<PageId, String>;

/// Returns the owners of the pages of an undamaged database.
///
/// # Errors
/// An error of `verify`.
pub(super) fn owners(engine: &Arc<Engine>) -> Result<Owners> {
    let names = engine.tables();
    let tables = engine.verify()?.tables.into_iter().filter(|table| names.contains(&table.name));
    let pages = |table: clearway_txn::TableReport| {
        let name = table.name;
        table.report.pages.into_iter().map(move |page| (page, name.clone()))
    };
    Ok(tables.flat_map(pages).collect())
}

/// Examines the tables that are not damaged. Returns true if there was one.
///
/// # Errors
/// If the contents of one of them have changed, if it does not accept a change, or if the database
/// does not open.
pub(super) fn examine(
    original: &Original,
    damaged: &SimDisk,
    corruptions: &[Corruption],
) -> Verdict<bool> {
    let Some(affected) = damaged_tables(original, corruptions) else { return Ok(false) };
    let all = original.contents.tables();
    let intact: Vec<&str> = all.filter(|name| !affected.contains(name)).collect();
    if intact.is_empty() {
        return Ok(false);
    }
    let what = |step: &str| format!("{step}, with damage in the tables {affected:?} alone");
    let disk = damaged.fork();
    let engine = open(&disk, &original.options);
    let engine = engine.map_err(|error| Violation::unexpected(&what("opening"), &error))?;
    let (mut before, mut after) = (State::new(), State::new());
    for name in &intact {
        let rows = read_table(&engine, name);
        let reading = |error| Violation::unexpected(&what(&format!("reading {name:?}")), &error);
        after.set_table(name, Some(rows.map_err(reading)?));
        before.set_table(name, original.contents.rows(name).cloned());
    }
    check_same(&before, &after)?;
    // Reading the damaged tables may fail, but must not stop the engine.
    for name in &affected {
        let _ = read_table(&engine, name);
    }
    let changed = change(&engine, intact[0]);
    changed.map_err(|error| Violation::unexpected(&what("a change in another table"), &error))?;
    match engine.health() {
        Ok(()) => Ok(true),
        Err(error) => {
            let detail = format!("{}: {error}", what("the engine has stopped"));
            Err(Violation::new(Oracle::Answer, detail))
        }
    }
}

/// Returns the tables whose pages were corrupted; `None` if anything else was corrupted as well.
fn damaged_tables<'a>(
    original: &'a Original,
    corruptions: &[Corruption],
) -> Option<BTreeSet<&'a str>> {
    let owner = |corruption: &Corruption| {
        let page = PageId(u32::try_from(corruption.offset / PAGE_SIZE as u64).ok()?);
        let owner = original.owners.as_ref()?.get(&page)?;
        (corruption.file == "data").then_some(owner.as_str())
    };
    corruptions.iter().map(owner).collect()
}

/// Inserts a key, durably.
fn change(engine: &Arc<Engine>, name: &str) -> Result<()> {
    let mut txn = engine.begin();
    txn.put(&engine.open_table(name)?, b"\xFFbeside", b"changed")?;
    let committed = txn.commit()?;
    engine.log().wait_durable(committed.ack)
}
