//! Damage in the pages of some tables leaves the other tables readable and writable.
//!
//! Asked of databases that were closed in order, where opening has nothing to recover: damage in a
//! page that recovery must change may keep a killed database closed. Damage to what all tables
//! share, the superblock, the log, the catalogue and the space map, is not judged here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use clearway_base::{PAGE_SIZE, PageId, Result};
use clearway_testkit::disk::SimDisk;
use clearway_txn::Engine;

use super::{
    patient::{Patient, open},
    wound::Wound,
};
use crate::oracles::{Oracle, State, Verdict, Violation, check_same, read_table};

/// Which table each page belongs to; the pages that no user's table has are left out.
pub(super) type Owners = BTreeMap<PageId, String>;

/// The owners of the pages of a database that nothing has happened to.
///
/// # Errors
/// What `verify` says.
pub(super) fn owners(engine: &Arc<Engine>) -> Result<Owners> {
    let names = engine.tables();
    let tables = engine.verify()?.tables.into_iter().filter(|table| names.contains(&table.name));
    let pages = |table: clearway_txn::TableReport| {
        let name = table.name;
        table.report.pages.into_iter().map(move |page| (page, name.clone()))
    };
    Ok(tables.flat_map(pages).collect())
}

/// Looks at the tables that are not damaged. Returns whether there was one to look at.
///
/// # Errors
/// If one of them does not say what it said, takes no change, or if the database does not open.
pub(super) fn examine(patient: &Patient, damaged: &SimDisk, wounds: &[Wound]) -> Verdict<bool> {
    let Some(hurt) = hurt_tables(patient, wounds) else { return Ok(false) };
    let whole: Vec<&str> = patient.contents.tables().filter(|name| !hurt.contains(name)).collect();
    if whole.is_empty() {
        return Ok(false);
    }
    let what = |step: &str| format!("{step}, with damage in the tables {hurt:?} alone");
    let disk = damaged.fork();
    let engine = open(&disk, &patient.options);
    let engine = engine.map_err(|error| Violation::unexpected(&what("opening"), &error))?;
    let (mut before, mut after) = (State::new(), State::new());
    for name in &whole {
        let rows = read_table(&engine, name);
        let reading = |error| Violation::unexpected(&what(&format!("reading {name:?}")), &error);
        after.set_table(name, Some(rows.map_err(reading)?));
        before.set_table(name, patient.contents.rows(name).cloned());
    }
    check_same(&before, &after)?;
    // Whatever the damaged tables answer, the engine goes on.
    for name in &hurt {
        let _ = read_table(&engine, name);
    }
    let changed = change(&engine, whole[0]);
    changed.map_err(|error| Violation::unexpected(&what("a change beside it"), &error))?;
    match engine.health() {
        Ok(()) => Ok(true),
        Err(error) => {
            let detail = format!("{}: {error}", what("the engine has stopped"));
            Err(Violation::new(Oracle::Answer, detail))
        }
    }
}

/// The tables whose pages have changed; `None` if anything else has.
fn hurt_tables<'a>(patient: &'a Patient, wounds: &[Wound]) -> Option<BTreeSet<&'a str>> {
    let owner = |wound: &Wound| {
        let page = PageId(u32::try_from(wound.offset / PAGE_SIZE as u64).ok()?);
        let owner = patient.owners.as_ref()?.get(&page)?;
        (wound.file == "data").then_some(owner.as_str())
    };
    wounds.iter().map(owner).collect()
}

/// Adds a key, and makes that durable.
fn change(engine: &Arc<Engine>, name: &str) -> Result<()> {
    let mut txn = engine.begin();
    txn.put(&engine.open_table(name)?, b"\xFFbeside", b"changed")?;
    let committed = txn.commit()?;
    engine.log().wait_durable(committed.ack)
}
