//! Models of a read-in and the tasks that wait for it.
//!
//! The comment of each model names the deliberate errors with which it was seen to fail.

use std::{future::poll_fn, sync::Arc};

use clearway_sync::{ThreadWaker, block_on, check, thread};

use super::*;
use crate::frame::Frame;

#[derive(Default)]
struct Scene {
    waits: PageWaits,
}

const PAGE: PageId = PageId(7);

/// Ends the read-in of a page, as a completion does. Returns true if it has ended a wait.
fn end_read(waits: &PageWaits, frame: &Frame, arrives: bool) -> bool {
    let tasks = if arrives {
        frame.latch.set_resident();
        let tasks = waits.end(PAGE, &PageWaitEnd::Arrived, || frame.pin());
        frame.latch.release_exclusive();
        tasks
    } else {
        frame.latch.release_absent();
        waits.end(PAGE, &PageWaitEnd::Failed(Error::Closed), || ())
    };
    let is_any = !tasks.is_empty();
    tasks.into_iter().for_each(wake);
    is_any
}

/// Registers, and leaves the wait to the read-in if there is still one. Returns how it has ended.
fn wait(waits: &PageWaits, frame: &Frame) -> Option<PageWaitEnd> {
    let (wait, seen) = waits.begin(PAGE, &frame.latch, &ThreadWaker::current()).unwrap();
    if seen != Residency::Loading {
        return waits.cancel(wait);
    }
    Some(block_on(poll_fn(|cx| waits.poll(&wait, cx.waker()))))
}

/// A task that finds the page being read in is woken, and finds the page pinned. Seen to fail
/// without the fence of `residency`, without that of `is_any`, and if `begin` looks before it
/// registers: each is a lost wake-up, which loom reports as a deadlock.
#[test]
fn task_is_woken_by_the_end_of_the_read() {
    for arrives in [true, false] {
        check(3, move || {
            let (scene, frame) = (Arc::new(Scene::default()), Arc::new(Frame::new()));
            assert!(frame.latch.try_exclusive_absent());
            let task = {
                let (scene, frame) = (scene.clone(), frame.clone());
                thread::spawn(move || match wait(&scene.waits, &frame) {
                    Some(PageWaitEnd::Arrived) => {
                        assert!(arrives && frame.is_pinned());
                        frame.unpin();
                    }
                    Some(_) => assert!(!arrives),
                    None => assert_ne!(frame.latch.residency(), Residency::Loading),
                })
            };
            end_read(&scene.waits, &frame, arrives);
            task.join().unwrap();
            assert!(!frame.is_pinned());
            assert_eq!(scene.waits.counts(), (0, 0));
        });
    }
}

/// A task that is dropped at any time leaves no pin. Seen to fail if `cancel` does not return the
/// end of the wait.
#[test]
fn task_that_is_dropped_leaves_no_pin() {
    check(3, || {
        let (scene, frame) = (Arc::new(Scene::default()), Arc::new(Frame::new()));
        assert!(frame.latch.try_exclusive_absent());
        let waker = ThreadWaker::current();
        let (first, _) = scene.waits.begin(PAGE, &frame.latch, &waker).unwrap();
        let task = {
            let (scene, frame) = (scene.clone(), frame.clone());
            thread::spawn(move || {
                if let Some(PageWaitEnd::Arrived) = scene.waits.cancel(first) {
                    frame.unpin();
                }
            })
        };
        end_read(&scene.waits, &frame, true);
        task.join().unwrap();
        assert!(!frame.is_pinned());
        assert_eq!(scene.waits.counts(), (0, 0));
    });
}
