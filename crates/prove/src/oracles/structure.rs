//! ORACLE-4: runs the engine's own check of pages, trees and maps, and checks that upkeep ends and
//! leaves the trees in good shape.

use std::sync::Arc;

use clearway_base::Error;
use clearway_txn::{Engine, VerifyReport};

use super::{Oracle, Verdict, Violation};

/// Checks the whole database. No transaction may be running.
///
/// # Errors
/// The first damage, or pages that are reachable on two paths.
pub fn check_structure(engine: &Arc<Engine>) -> Verdict<VerifyReport> {
    let damaged = |detail: String| Violation::new(Oracle::Structure, detail);
    let report = engine.verify().map_err(|error| damaged(error.to_string()))?;
    match report.tables.iter().find(|table| !table.report.met_twice.is_empty()) {
        None => Ok(report),
        Some(table) => {
            let pages = &table.report.met_twice;
            Err(damaged(format!("pages {pages:?} are met twice in table {:?}", table.name)))
        }
    }
}

/// The number of calls after which upkeep must be idle. A walk and two visits of each leaf take
/// three calls; the work that a visit finds above or beside its leaf is left to the next call.
const CALLS_MAX: u32 = 64;

/// Checks that upkeep knows each leaf with a ghost, runs all pending upkeep on this thread, and
/// checks the shape of all trees. No transaction may be running or waiting.
///
/// # Errors
/// Upkeep that does not end; an error of upkeep other than a full disk, after which nothing is
/// checked; and the errors of [`check_structure`] and `TreeReport::check_idle`.
pub fn check_upkeep(engine: &Arc<Engine>) -> Verdict {
    let violation = |detail: String| Violation::new(Oracle::Structure, detail);
    let pending = || {
        let stats = engine.stats();
        (stats.upkeep_leaves, stats.upkeep_walks)
    };
    // Before upkeep changes anything: a leaf that it does not know may be merged by chance.
    let unknown = engine.ghosts_unknown_to_upkeep();
    let unknown = unknown.map_err(|error| Violation::unexpected("surveying the leaves", &error))?;
    if let Some((tree, leaf)) = unknown.first() {
        let detail = format!("upkeep does not know the ghosts in leaf {leaf:?} of tree {}", tree.0);
        return Err(violation(detail));
    }
    let mut calls = 0;
    while pending() != (0, 0) {
        if calls == CALLS_MAX {
            let (leaves, walks) = pending();
            let detail = format!("upkeep does not end: {leaves} leaves and {walks} walks are left");
            return Err(violation(detail));
        }
        calls += 1;
        // A small log may have no room before a checkpoint.
        match engine.checkpoint().and_then(|()| engine.maintain()) {
            Ok(()) | Err(Error::LogFull { .. }) => {}
            Err(Error::DiskFull { .. }) => return Ok(()),
            Err(error) => return Err(Violation::unexpected("upkeep", &error)),
        }
    }
    for table in check_structure(engine)?.tables {
        let checked = table.report.check_idle();
        checked.map_err(|flaw| violation(format!("table {:?}: {flaw}", table.name)))?;
    }
    Ok(())
}
