//! `clearway stats`: the contents of a database, and what opening it had to recover.

use clearway::{RecoveryReport, Stats};
use serde_json::json;

use crate::{
    args::InspectArgs,
    failure::{Context, Outcome},
    output::print,
    units::{grouped, size, time},
    verify,
};

pub(crate) fn run(args: &InspectArgs) -> Outcome {
    let inspected = args.open.open().and_then(|db| {
        let stats = db.stats();
        let report = verify::check(&db, &args.open.dir)?;
        Ok((db, stats, report))
    });
    let (db, stats, report) = verify::print_damage(args.json, inspected)?;
    let text = if args.json {
        let mut object = verify::to_json(&report);
        object["database"] = json!(stats.engine.database.to_string());
        object["recovery"] = recovery_json(db.recovery());
        object["log"] = json!({
            "segments": stats.engine.log.segments,
            "redo_bytes": stats.engine.redo_bytes,
        });
        object["upkeep"] = json!({
            "leaves": stats.engine.upkeep_leaves,
            "walks": stats.engine.upkeep_walks,
        });
        format!("{object}\n")
    } else {
        format!("{}\n{}", verify::tables(&report), state(db.recovery(), &stats, report.pages))
    };
    db.close().with_context(|| format!("cannot close {}", args.open.dir.display()))?;
    print(text)
}

fn state(recovery: &RecoveryReport, stats: &Stats, pages: u32) -> String {
    let data = u64::from(pages) * 8192;
    let log = recovery.redo_to.0.saturating_sub(recovery.redo_from.0);
    let lines = [
        ("database", stats.engine.database.to_string()),
        ("data file", format!("{} ({} pages)", size(data), grouped(u64::from(pages)))),
        (
            "log files",
            format!("{}, {} to redo", stats.engine.log.segments, size(stats.engine.redo_bytes)),
        ),
        ("opening", format!("number {}", recovery.epoch.0)),
        (
            "recovery",
            format!(
                "{} records, {} of log, in {}",
                grouped(recovery.records),
                size(log),
                time(recovery.took.as_nanos() as u64)
            ),
        ),
        (
            "rolled back",
            format!(
                "{} transactions, {} changes",
                grouped(recovery.losers),
                grouped(recovery.undone)
            ),
        ),
        (
            "upkeep",
            format!(
                "{} leaves to visit, {} tables to walk",
                grouped(stats.engine.upkeep_leaves),
                grouped(stats.engine.upkeep_walks)
            ),
        ),
    ];
    lines.map(|(name, value)| format!("{name:<15}{value}\n")).concat()
}

fn recovery_json(recovery: &RecoveryReport) -> serde_json::Value {
    json!({
        "epoch": recovery.epoch.0,
        "records": recovery.records,
        "log_bytes": recovery.redo_to.0.saturating_sub(recovery.redo_from.0),
        "rolled_back": recovery.losers,
        "undone": recovery.undone,
        "seconds": recovery.took.as_secs_f64(),
    })
}
