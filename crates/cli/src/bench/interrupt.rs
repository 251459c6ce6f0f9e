//! Ctrl-C, or a request to terminate, ends the loading or the run early, with its report and its
//! clean-up. A second one ends the program at once, and a temporary database stays behind.

use clearway_sync::atomic::{AtomicBool, Ordering};

use crate::output::tell;

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
        tell(format_args!("Ctrl-C will not be caught: {error}"));
    }
}

/// Whether Ctrl-C was pressed.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}
