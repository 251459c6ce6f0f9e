//! Runs a scenario on a disk that fails at one operation: the engine survives, or stops itself.

use clearway_testkit::disk::CrashImage;

use super::{damage::Failure, examine::Expected, recorder::Cut, runner::Planned, setup::Recording};
use crate::oracles::Verdict;

/// Returns true if this failure makes sense at the operation of `cut`: only syncs can lose data,
/// and space can run out only at a change. A failing read makes sense at any operation, since the
/// next read after it fails.
pub(super) fn applies_to(failure: Failure, cut: &Cut) -> bool {
    match failure {
        Failure::SyncLies => cut.what.starts_with("sync"),
        Failure::Full | Failure::FullForever => cut.is_change,
        _ => true,
    }
}

/// Runs a scenario on a disk that fails at `cut`, and examines the disk at the end. Returns true if
/// the engine stopped itself.
///
/// # Errors
/// A violation found during the run or at its end.
pub(super) fn run(recording: &Recording, cut: &Cut, failure: Failure) -> Verdict<bool> {
    let Cut { disk_index, operation, read, .. } = *cut;
    let planned = Planned { failure, disk_index, operation, read };
    let (mut runner, has_stopped) = recording.setup.run_failing(planned)?;
    runner.abandon();
    runner.disk.clear_plan();
    runner.disk.set_space_bytes(None);
    let moment = runner.moment();
    let expected = Expected { history: &runner.history, moment, options: &recording.options };
    if !runner.sync_lies() {
        // The process is restarted, and the machine goes on running.
        expected.examine(runner.disk.fork())?;
    }
    let random = CrashImage::Random(operation);
    for image in [CrashImage::DropAll, CrashImage::KeepAll, random] {
        expected.examine(runner.disk.crash(image))?;
    }
    Ok(has_stopped)
}
