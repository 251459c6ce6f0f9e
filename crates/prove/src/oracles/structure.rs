//! O4: what the engine's own check of pages, trees and maps says.

use std::sync::Arc;

use clearway_txn::{Engine, VerifyReport};

use super::{Oracle, Verdict, Violation};

/// Checks everything. Nobody else may be running.
///
/// # Errors
/// The first damage, and pages that two ways lead to.
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
