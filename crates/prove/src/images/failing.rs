//! The other half: the disk fails at an operation, and the engine lives, or stops itself.

use clearway_testkit::disk::CrashImage;

use super::{damage::Failure, examine::Expected, play::Planned, stage::Performance, tape::Cut};
use crate::oracles::Verdict;

/// Whether it makes sense that an operation fails so: forgetting is for syncs, and reads fail after
/// something else.
pub(super) fn is_apt(failure: Failure, cut: &Cut) -> bool {
    match failure {
        Failure::SyncLies => cut.what.starts_with("sync"),
        Failure::Full | Failure::FullForever => cut.is_change,
        _ => true,
    }
}

/// Runs a script on a disk that fails at `cut`, and looks at what is there at the end. Answers
/// whether the engine stopped itself.
///
/// # Errors
/// What is wrong.
pub(super) fn run(performance: &Performance, cut: &Cut, failure: Failure) -> Verdict<bool> {
    let Cut { disk_index, operation, read, .. } = *cut;
    let planned = Planned { failure, disk_index, operation, read };
    let (mut play, has_stopped) = performance.stage.perform_failing(planned)?;
    play.abandon();
    play.disk.clear_plan();
    play.disk.set_space_bytes(None);
    let moment = play.moment();
    let expected = Expected { history: &play.history, moment, options: &performance.options };
    if !play.sync_lies() {
        // The process is started again; the machine has not noticed.
        expected.examine(play.disk.fork())?;
    }
    let random = CrashImage::Random(operation);
    for image in [CrashImage::DropAll, CrashImage::KeepAll, random] {
        expected.examine(play.disk.crash(image))?;
    }
    Ok(has_stopped)
}
