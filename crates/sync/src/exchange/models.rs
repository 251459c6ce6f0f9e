//! A model of the exchange.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `each_value_is_taken_once`: a load and a store in place of the swap (EXCHANGE-1).
//! - `value_is_seen_as_it_was_put_in`: `Relaxed` in place of `AcqRel`.

use std::sync::Arc;

use loom::cell::UnsafeCell;

use super::*;
use crate::{check, thread};

#[test]
fn each_value_is_taken_once() {
    check(3, || {
        let exchange = Arc::new(Exchange::default());
        exchange.put(Box::new(1));
        let threads = [0, 1].map(|_| {
            let exchange = exchange.clone();
            thread::spawn(move || exchange.take().map_or(0, |value| *value))
        });
        let taken: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(taken, 1);
    });
}

#[test]
fn value_is_seen_as_it_was_put_in() {
    check(3, || {
        let exchange = Arc::new(Exchange::default());
        let puts = exchange.clone();
        let thread = thread::spawn(move || {
            let value = Box::new(UnsafeCell::new(0));
            // SAFETY: the box is this thread's (EXCHANGE-1), which loom checks.
            value.with_mut(|value| unsafe { *value = 7 });
            puts.put(value);
        });
        if let Some(value) = exchange.take() {
            // SAFETY: as above.
            value.with(|value| assert_eq!(unsafe { *value }, 7));
        }
        thread.join().unwrap();
    });
}
