//! Models of jobs that are handed over while the thread ends, and of replies that no one awaits.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `job_handed_over_while_the_thread_ends_is_run`: the thread ends after a wait without a look at
//!   the queue; `stop` does not notify.
//! - `later_job_finds_the_reply_while_the_thread_ends`: a job that comes after `stop` is run by the
//!   caller though the thread still works.
//! - `value_is_dropped_once_if_no_one_awaits_it`: the drop of a reply forgets the value.

use std::future::poll_fn;

use clearway_sync::{
    atomic::{AtomicUsize, Ordering},
    block_on, check, thread,
};

use super::*;

/// An offload whose thread runs.
fn running() -> (Arc<Offload>, thread::JoinHandle<()>) {
    let offload = Arc::new(Offload::default());
    offload.start();
    let works = offload.clone();
    (offload, thread::spawn(move || works.work()))
}

/// A job that is not run, or whose reply wakes no one, is a deadlock, which loom reports.
#[test]
fn job_handed_over_while_the_thread_ends_is_run() {
    check(2, || {
        let (offload, works) = running();
        let calls = {
            let offload = offload.clone();
            thread::spawn(move || {
                let mut reply = offload.call(|| 7);
                block_on(poll_fn(|cx| reply.poll(cx)))
            })
        };
        offload.stop();
        assert_eq!(calls.join().unwrap().unwrap(), 7);
        works.join().unwrap();
    });
}

/// OFFLOAD-2.
#[test]
fn later_job_finds_the_reply_while_the_thread_ends() {
    check(3, || {
        let (offload, works) = running();
        let calls = {
            let offload = offload.clone();
            thread::spawn(move || {
                let earlier = offload.call(|| 7);
                let mut reply = offload.call(move || earlier.take_in_later_job());
                block_on(poll_fn(|cx| reply.poll(cx)))
            })
        };
        offload.stop();
        assert!(matches!(calls.join().unwrap(), Ok(Ok(7))));
        works.join().unwrap();
    });
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// OFFLOAD-3: delivered, or dropped by the thread or with the reply.
#[test]
fn value_is_dropped_once_if_no_one_awaits_it() {
    check(2, || {
        let (offload, works) = running();
        let drops = Arc::new(AtomicUsize::new(0));
        let counted = Counted(drops.clone());
        let mut reply = offload.call(move || counted);
        let _ = reply.poll(&mut Context::from_waker(Waker::noop()));
        drop(reply);
        offload.stop();
        works.join().unwrap();
        assert_eq!(drops.load(Ordering::Acquire), 1);
    });
}
