//! A model of publication against marks.
//!
//! Deliberate errors that were seen to fail: a publication that stores the word without a check for
//! marks in between (DIGEST-2); the flag cleared before gathering.

use std::sync::Arc;

use clearway_sync::{check, thread};

use super::*;

const SHAPE: Digests = Digests {
    exact_owners: 128,
    bloom_bits: 64,
    fingerprint_bits: 1,
    confirm: true,
    accepts_marked: false,
};

/// A queue with one holder, and the digest of its waiter.
#[derive(Default)]
struct Wait {
    holder: SpinLatch<u32>,
    digest: Published,
}

impl Wait {
    /// Runs a check of the waiter. Returns whether it published a fresh digest.
    fn refresh(&self) -> bool {
        let noted = self.digest.note();
        let mut digest = Digest::default();
        digest.clear(SHAPE);
        digest.insert(SHAPE, Member { slot: *self.holder.lock(), lock_epoch: 0 });
        self.digest.publish(noted, &digest)
    }

    fn release(&self, next: u32) {
        let mut holder = self.holder.lock();
        *holder = next;
        self.digest.mark();
    }

    fn contains(&self, me: u32) -> bool {
        let mut sum = Digest::default();
        sum.clear(SHAPE);
        self.digest.gather(SHAPE, Member { slot: me, lock_epoch: 0 }, &mut sum)
    }
}

#[test]
fn releaser_does_not_find_itself_in_a_fresh_digest() {
    check(3, || {
        let wait = Arc::new(Wait::default());
        *wait.holder.lock() = 1;
        assert!(wait.refresh());
        let waiter = {
            let wait = wait.clone();
            thread::spawn(move || wait.refresh())
        };
        // The holder releases and begins its next transaction.
        wait.release(2);
        assert!(!wait.contains(1), "DIGEST-2");
        waiter.join().unwrap();
        assert!(!wait.contains(1), "DIGEST-2");
        // At the latest, the next check makes it fresh.
        assert!(wait.refresh() && wait.contains(2));
    });
}
