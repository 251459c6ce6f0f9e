//! Checks that stay on in release builds. A broken invariant stops the engine; it does not unwind.
//!
//! [`invariant`] is called at the transitions that the module heads draw, often under a latch. A
//! panic there would run the drops of latch guards over a structure that is known to be wrong, and
//! the next holder would read it. So the function only reports: every [`Stop`] in the process,
//! which is every open log, is stopped as by a failed sync, and the caller goes on. What it still
//! changes does not become durable, since no log completes another flush (INVARIANT-1). The caller
//! must not rely on the condition for memory safety; where it would, it returns instead.
//!
//! Invariants:
//! - INVARIANT-1. Once an invariant is broken, no log of the process completes another flush: each
//!   is stopped before [`invariant`] returns, and a later one is refused by [`broken`].
//! - INVARIANT-2. [`Stop::stop`] takes no latch that the caller could hold. Waking the waiters
//!   takes some; [`Stop::wake_waiters`] is called on a thread of its own.
//!
//! The whole process is stopped, and not one database, because a check does not know to which
//! database the memory belongs that it has found wrong.
//!
//! Where nothing is registered, in tests of single structures, a broken invariant panics, as it
//! does in the models of loom and shuttle.

use std::{
    panic::Location,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

/// An invariant that did not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The invariant: its label and what it says.
    pub what: &'static str,
    /// Where it was checked.
    pub place: &'static Location<'static>,
}

/// Something that a broken invariant stops.
pub trait Stop: Send + Sync {
    /// Refuses everything from now on. Takes no latch (INVARIANT-2), and may be called again.
    fn stop(&self, broken: Broken);

    /// Wakes the threads and tasks that wait for it, so that they see that it has stopped.
    fn wake_waiters(&self);
}

static IS_BROKEN: AtomicBool = AtomicBool::new(false);
static FIRST: OnceLock<Broken> = OnceLock::new();
static STOPS: Mutex<Vec<Weak<dyn Stop>>> = Mutex::new(Vec::new());

/// Checks that `condition` holds, and returns it. If it does not, every open log of the process is
/// stopped (see the module).
#[inline(always)]
#[track_caller]
pub fn invariant(condition: bool, what: &'static str) -> bool {
    if !condition {
        report(Broken { what, place: Location::caller() });
    }
    condition
}

/// The first invariant that was broken in this process.
#[inline]
pub fn broken() -> Option<Broken> {
    // Acquire pairs with the Release in `report`: `FIRST` is set.
    if IS_BROKEN.load(Ordering::Acquire) { FIRST.get().copied() } else { None }
}

/// Registers something to be stopped. The caller checks [`broken`] afterwards (INVARIANT-1).
pub fn stop_if_broken(stop: Weak<dyn Stop>) {
    let mut stops = STOPS.lock().unwrap_or_else(PoisonError::into_inner);
    stops.retain(|known| known.strong_count() > 0);
    stops.push(stop);
}

fn registered() -> Vec<Arc<dyn Stop>> {
    let stops = STOPS.lock().unwrap_or_else(PoisonError::into_inner);
    stops.iter().filter_map(Weak::upgrade).collect()
}

#[cold]
#[inline(never)]
fn report(broken: Broken) {
    if registered().is_empty() || cfg!(any(loom, shuttle)) {
        panic!("{} ({})", broken.what, broken.place);
    }
    let is_first = FIRST.set(broken).is_ok();
    // Release pairs with the Acquire in `broken`. Before the list is read again: a log that
    // registers later sees this (INVARIANT-1).
    IS_BROKEN.store(true, Ordering::Release);
    let (stops, first) = (registered(), FIRST.get().copied().unwrap_or(broken));
    // By every reporter, not by the first alone: another one returns only when all are stopped.
    stops.iter().for_each(|stop| stop.stop(first));
    if is_first {
        // On a thread of its own: the caller may hold a latch that the waiters' lists need. If none
        // can be made, the waiters wake at the next flush, which does not complete.
        let wake = move || stops.iter().for_each(|stop| stop.wake_waiters());
        let _ = std::thread::Builder::new().name("clearway-stop".into()).spawn(wake);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::{
        Arc, Mutex,
        mpsc::{Sender, channel},
    };

    use super::*;

    struct Witness {
        seen: Mutex<Vec<Broken>>,
        woken: Mutex<Sender<()>>,
    }

    impl Stop for Witness {
        fn stop(&self, broken: Broken) {
            self.seen.lock().unwrap().push(broken);
        }

        fn wake_waiters(&self) {
            self.woken.lock().unwrap().send(()).unwrap();
        }
    }

    // One test: what is broken stays broken for the process.
    #[test]
    fn broken_invariant_panics_alone_and_stops_what_is_registered() {
        assert!(invariant(true, "X1: holds"));
        let alone = std::panic::catch_unwind(|| invariant(false, "X1: alone"));
        let message = alone.unwrap_err();
        assert!(message.downcast_ref::<String>().unwrap().starts_with("X1: alone"));
        assert_eq!(broken(), None);

        let (sender, woken) = channel();
        let witness = Arc::new(Witness { seen: Mutex::default(), woken: Mutex::new(sender) });
        let gone = Arc::new(Witness { seen: Mutex::default(), woken: Mutex::new(channel().0) });
        stop_if_broken(Arc::downgrade(&gone) as Weak<dyn Stop>);
        drop(gone);
        stop_if_broken(Arc::downgrade(&witness) as Weak<dyn Stop>);
        assert!(!invariant(false, "X2: first"));
        assert!(!invariant(false, "X3: second"));
        woken.recv().unwrap();
        let seen = witness.seen.lock().unwrap();
        assert_eq!(seen.len(), 2, "each report stops before it returns");
        assert_eq!(seen[0], seen[1], "because of the first");
        assert_eq!((seen[0].what, broken()), ("X2: first", Some(seen[0])));
        assert!(seen[0].place.file().ends_with("invariant.rs"));
    }
}
