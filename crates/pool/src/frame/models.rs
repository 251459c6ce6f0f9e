//! Models of the hand-over of a page from one cleaner to the next.
//!
//! Deliberate error, and the model that was seen to fail for it:
//!
//! - `page_in_a_batch_is_dirty`: `begin_write` reads the recovery LSN before it sets `writing`
//!   (FRAME-2).

use std::sync::Arc;

use clearway_sync::{check, thread};

use super::*;

/// A page in memory, dirty, in the batch of a cleaner.
fn page_in_a_batch() -> Arc<Frame> {
    let frame = Frame::new();
    assert!(frame.latch.try_exclusive_absent());
    frame.latch.set_resident();
    frame.mark_dirty(Lsn(5));
    frame.latch.release_exclusive();
    assert!(frame.latch.try_shared());
    assert_eq!(frame.begin_write(Lsn::MAX), Some(Lsn(5)));
    frame.latch.release_shared();
    Arc::new(frame)
}

#[test]
fn page_in_a_batch_is_dirty() {
    check(3, || {
        let frame = page_in_a_batch();
        let next = {
            let frame = frame.clone();
            thread::spawn(move || {
                // As `copy_into` does.
                if frame.rec_lsn().is_none() || !frame.latch.try_shared() {
                    return;
                }
                let begun = frame.begin_write(Lsn::MAX);
                let is_dirty = frame.is_dirty();
                frame.latch.release_shared();
                if begun.is_some() {
                    assert!(is_dirty, "FRAME-2");
                    frame.finish_write(Lsn(9));
                }
            })
        };
        frame.finish_write(Lsn(7));
        next.join().unwrap();
        assert!(!frame.is_writing());
    });
}
