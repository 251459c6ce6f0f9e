//! The bound on pages that are being loaded (LOAD-5).

use std::time::Instant;

use clearway_sync::{Condvar, Mutex};

/// The number of pages that are loading, for one call of [`Pool::load`](crate::Pool::load)
/// or for all of [`Pool::load_ahead`](crate::Pool::load_ahead).
#[derive(Default)]
pub(crate) struct LoadingPages {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl LoadingPages {
    /// Adds `count` pages unless there would be more than `most`.
    pub(crate) fn try_add(&self, count: usize, most: usize) -> bool {
        let mut loading = self.count.lock();
        let fits = *loading + count <= most;
        if fits {
            *loading += count;
        }
        fits
    }

    pub(crate) fn remove(&self, count: usize) {
        *self.count.lock() -= count;
        self.fewer.notify_all();
    }

    /// Waits until at most `most` pages are loading, but no longer than until the given time.
    /// Returns false if more are loading then.
    pub(crate) fn wait_for(&self, most: usize, until: Option<Instant>) -> bool {
        let mut count = self.count.lock();
        while *count > most {
            match until {
                Some(until) if self.fewer.wait_until(&mut count, until).timed_out() => {
                    return *count <= most;
                }
                Some(_) => {}
                None => self.fewer.wait(&mut count),
            }
        }
        true
    }
}
