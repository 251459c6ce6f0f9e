//! `clearway stats`: what is in a database, and what opening it had to recover.

use clearway::{RecoveryReport, Stats};
use serde_json::json;

use crate::{
    args::LookArgs,
    failure::{Doing, Outcome},
    units::{grouped, size, time},
    verify,
};

pub(crate) fn run(args: &LookArgs) -> Outcome {
    let db = args.open.open()?;
    let stats = db.stats();
    let report = db.verify().doing(|| format!("{} is damaged", args.open.dir.display()))?;
    if args.json {
        let mut object = verify::to_json(&report);
        object["recovery"] = recovery_json(db.recovery());
        object["log"] = json!({
            "segments": stats.engine.log.segments,
            "redo_bytes": stats.engine.redo_bytes,
        });
        println!("{object}");
    } else {
        verify::print_tables(&report);
        print_state(db.recovery(), &stats, report.pages);
    }
    db.close().doing(|| format!("cannot close {}", args.open.dir.display()))
}

fn print_state(recovery: &RecoveryReport, stats: &Stats, pages: u32) {
    let data = u64::from(pages) * 8192;
    println!();
    println!("data file      {} ({} pages)", size(data), grouped(u64::from(pages)));
    println!("log files      {}", stats.engine.log.segments);
    println!("opening        number {}", recovery.epoch.0);
    println!(
        "recovery       {} records, {} of log, in {}",
        grouped(recovery.records),
        size(recovery.redo_to.0.saturating_sub(recovery.redo_from.0)),
        time(recovery.took.as_nanos() as u64)
    );
    println!(
        "rolled back    {} transactions, {} changes",
        grouped(recovery.losers),
        grouped(recovery.undone)
    );
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
