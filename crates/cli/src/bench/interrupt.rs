//! Ctrl-C ends the run early, with its report and its clean-up; a second one ends the program.

use clearway_sync::atomic::{AtomicBool, Ordering};

static CAME: AtomicBool = AtomicBool::new(false);

/// What a shell expects of a program that an interrupt ended: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// Catches the first Ctrl-C.
pub(crate) fn install() {
    let caught = ctrlc::set_handler(|| {
        // Relaxed: a flag that carries no data.
        if CAME.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    });
    if let Err(error) = caught {
        eprintln!("Ctrl-C will not be caught: {error}");
    }
}

/// Whether Ctrl-C was pressed.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}
