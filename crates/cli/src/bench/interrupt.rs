//! Ctrl-C ends the run early, with its report and its clean-up; a second one ends the program.

use clearway_sync::atomic::{AtomicBool, Ordering};

static CAME: AtomicBool = AtomicBool::new(false);

extern "C" fn on_interrupt(signal: libc::c_int) {
    // Relaxed: a flag that carries no data.
    CAME.store(true, Ordering::Relaxed);
    // SAFETY: `signal` with SIG_DFL may be called in a handler (POSIX, async-signal-safe), and
    // touches no memory of ours.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// Catches the first Ctrl-C.
pub(crate) fn install() {
    let handler: extern "C" fn(libc::c_int) = on_interrupt;
    // SAFETY: the handler only stores to an atomic and calls an async-signal-safe function.
    unsafe {
        libc::signal(libc::SIGINT, handler as libc::sighandler_t);
    }
}

/// Whether Ctrl-C was pressed.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}
