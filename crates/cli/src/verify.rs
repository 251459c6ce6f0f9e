//! `clearway verify`: checks every page, tree and free-space map.

use std::path::Path;

use clearway::{Database, LevelReport, TableReport, VerifyReport};
use clearway_console::table;
use serde_json::json;

use crate::{
    args::InspectArgs,
    failure::{Context, Failure, Outcome, is_damage},
    output::print,
    units::{grouped, size},
};

pub(crate) fn run(args: &InspectArgs) -> Outcome {
    let opened = args.open.open();
    let checked = opened.and_then(|db| {
        let report = check(&db, &args.open.dir)?;
        db.close().with_context(|| format!("cannot close {}", args.open.dir.display()))?;
        Ok(report)
    });
    let report = print_damage(args.json, checked)?;
    if args.json {
        print(format_args!("{}\n", to_json(&report)))
    } else {
        let (pages, lost) = (grouped(u64::from(report.pages)), grouped(report.unreachable_pages));
        let pages = format!("data file of {pages} pages, {lost} unreachable");
        print(format_args!("{}no damage; {pages}\n", tables(&report)))
    }
}

/// Prints damage as a JSON object if `json` is set, and returns `checked` unchanged.
pub(crate) fn print_damage<T>(json: bool, checked: Outcome<T>) -> Outcome<T> {
    if let Err(failure @ Failure::Failed { .. }) = &checked
        && json
        && failure.is_damage()
    {
        print(format_args!("{}\n", json!({ "damaged": true, "detail": failure.to_string() })))?;
    }
    checked
}

/// Checks an open database.
pub(crate) fn check(db: &Database, dir: &Path) -> Outcome<VerifyReport> {
    db.verify().map_err(|error| {
        let damaged = is_damage(&error);
        let attempt = if damaged { "damage in" } else { "cannot verify" };
        Failure::Failed { attempt: format!("{attempt} {}", dir.display()), cause: Box::new(error) }
    })
}

/// Returns the name of a table for display.
fn name_of(table: &TableReport) -> &str {
    if table.name.is_empty() { "(catalogue)" } else { &table.name }
}

/// Returns the report as text, with a line for each table.
pub(crate) fn tables(report: &VerifyReport) -> String {
    let head = ["table", "entries", "ghosts", "values", "pages", "overflow", "levels"];
    let mut lines = table(1, head);
    for table in &report.tables {
        let tree = &table.report;
        lines.add_row([
            name_of(table).to_string(),
            grouped(tree.records),
            grouped(tree.ghosts),
            size(tree.value_bytes),
            grouped(tree.pages.len() as u64),
            grouped(tree.overflow_pages),
            tree.levels.len().to_string(),
        ]);
    }
    format!("{}\n", lines.trim_fmt())
}

/// Returns the report as one JSON object.
pub(crate) fn to_json(report: &VerifyReport) -> serde_json::Value {
    // Levels are in order from the leaves up.
    let level = |level: &LevelReport| {
        json!({
            "nodes": level.pages,
            "fill": (level.fill() * 1000.0).round() / 1000.0,
            "slots": level.slots,
            "ghosts": level.ghosts,
            "foster_children": level.foster_children,
            "foster_chain_max": level.chain_max,
            "empty_nodes": level.empty_nodes,
            "one_child_branches": level.one_child_branches,
        })
    };
    let table = |table: &TableReport| {
        let tree = &table.report;
        json!({
            "name": table.name,
            "entries": tree.records,
            "ghosts": tree.ghosts,
            "value_bytes": tree.value_bytes,
            "pages": tree.pages.len(),
            "overflow_pages": tree.overflow_pages,
            "levels": tree.height(),
            "shape": tree.levels.iter().map(level).collect::<Vec<_>>(),
        })
    };
    json!({
        "damaged": false,
        "pages": report.pages,
        "unreachable_pages": report.unreachable_pages,
        "tables": report.tables.iter().map(table).collect::<Vec<_>>(),
    })
}
