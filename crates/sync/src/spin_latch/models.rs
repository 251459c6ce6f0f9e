//! Models of the spin latch.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `holders_exclude_each_other`: `Relaxed` in place of `Release` in `drop`; `Relaxed` in
//!   place of `Acquire` in `try_lock` (SPIN-LATCH-2).
//! - `refused_try_frees_nothing`: a guard that is created before the check of `taken`
//!   (SPIN-LATCH-1).

use std::sync::Arc;

use super::*;
use crate::{check, thread};

#[test]
fn holders_exclude_each_other() {
    check(3, || {
        let latch = Arc::new(SpinLatch::new(0));
        let threads = [1, 2].map(|step| {
            let latch = latch.clone();
            thread::spawn(move || *latch.lock() += step)
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*latch.lock(), 3);
    });
}

#[test]
fn refused_try_frees_nothing() {
    check(3, || {
        let latch = Arc::new(SpinLatch::new(0));
        let threads = [0, 1].map(|_| {
            let latch = latch.clone();
            thread::spawn(move || match latch.try_lock() {
                Some(mut value) => {
                    *value += 1;
                    1
                }
                None => 0,
            })
        });
        let entered: i32 = threads.map(|thread| thread.join().unwrap()).iter().sum();
        assert!(entered >= 1 && *latch.lock() == entered);
    });
}
