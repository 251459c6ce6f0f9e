//! `clearway verify`: every page, tree and free-space map.

use clearway::{TableReport, VerifyReport};
use serde_json::json;

use crate::{
    args::LookArgs,
    failure::{Doing, Outcome},
    units::{grouped, size},
};

pub(crate) fn run(args: &LookArgs) -> Outcome {
    let db = args.open.open()?;
    let report = db.verify().doing(|| format!("{} is damaged", args.open.dir.display()))?;
    db.close().doing(|| format!("cannot close {}", args.open.dir.display()))?;
    if args.json {
        println!("{}", to_json(&report));
    } else {
        print_tables(&report);
        println!("{} pages checked: no damage", grouped(u64::from(report.pages)));
    }
    Ok(())
}

/// The table's name, as people should see it.
fn name_of(table: &TableReport) -> &str {
    if table.name.is_empty() { "(catalogue)" } else { &table.name }
}

/// One line for each table.
pub(crate) fn print_tables(report: &VerifyReport) {
    let head = ["table", "entries", "ghosts", "values", "pages", "overflow", "levels"];
    let [table, entries, ghosts, values, pages, overflow, levels] = head;
    println!(
        "{table:<20} {entries:>13} {ghosts:>9} {values:>11} {pages:>9} {overflow:>9} {levels:>6}"
    );
    for table in &report.tables {
        let tree = &table.report;
        println!(
            "{:<20} {:>13} {:>9} {:>11} {:>9} {:>9} {:>6}",
            name_of(table),
            grouped(tree.records),
            grouped(tree.ghosts),
            size(tree.value_bytes),
            grouped(tree.pages.len() as u64),
            grouped(tree.overflow_pages),
            tree.levels.len(),
        );
    }
}

/// The report as one object.
pub(crate) fn to_json(report: &VerifyReport) -> serde_json::Value {
    let table = |table: &TableReport| {
        let tree = &table.report;
        json!({
            "name": table.name,
            "entries": tree.records,
            "ghosts": tree.ghosts,
            "value_bytes": tree.value_bytes,
            "pages": tree.pages.len(),
            "overflow_pages": tree.overflow_pages,
            "levels": tree.levels.len(),
        })
    };
    json!({
        "damaged": false,
        "pages": report.pages,
        "tables": report.tables.iter().map(table).collect::<Vec<_>>(),
    })
}
