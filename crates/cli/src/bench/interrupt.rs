//! Handles Ctrl-C and requests to terminate. The first one ends the loading or the run early, and
//! the program still cleans up: an interrupted run is checked and reported, an interrupted loading
//! has no result. A second one ends the program at once and leaves a temporary database behind.

use clearway_sync::atomic::{AtomicBool, Ordering};

use crate::output::print_status;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The exit code that shells expect of an interrupted program: 128 + SIGINT.
const EXIT_CODE: i32 = 130;

/// Installs the handler.
pub(crate) fn install() {
    let caught = ctrlc::set_handler(|| {
        // Relaxed: a flag that carries no data.
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(EXIT_CODE);
        }
    });
    if let Err(error) = caught {
        print_status(format_args!("Ctrl-C will not be caught: {error}"));
    }
}

/// Returns true once an interrupt was received.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
