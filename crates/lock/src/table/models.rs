//! Models of range locks: tags, hand-over, and reused numbers.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `granted_owner_reads_the_commits_tag`: the tag raised after the latch hold; `Relaxed` in
//!   `WaitRecord::grant` (BUCKET-2).
//! - `try_after_the_release_reads_the_tag`: the tag raised after the latch hold.
//! - `owners_do_not_share_a_number`: `give_back` before the locks are released (PARTICIPANT-2).

use clearway_sync::{check, thread};

use super::*;
use crate::{LockOptions, WaitLimit};

/// One bucket, no spinning, no time limits.
pub(crate) fn table() -> LockTable {
    LockTable::new(LockOptions {
        buckets: 1,
        intents: 1,
        wait_limit: None,
        spins: 0,
        ..LockOptions::default()
    })
}

const KEY: LockId = LockId(1);
const COMMIT: Lsn = Lsn(77);

#[test]
fn granted_owner_reads_the_commits_tag() {
    check(3, || {
        let table = table();
        let (mut writer, mut reader) = (table.owner(), table.owner());
        assert_eq!(table.try_acquire(&mut writer, KEY, RangeMode::XN), Outcome::Granted);
        let releaser = {
            let table = table.clone();
            thread::spawn(move || {
                table.release_all(&mut writer, Some(COMMIT));
                writer
            })
        };
        table.acquire(&mut reader, KEY, RangeMode::SN, WaitLimit::Forever).unwrap();
        assert_eq!(reader.max_tag(), COMMIT, "BUCKET-3");
        drop(releaser.join().unwrap());
        drop(reader);
        assert!(table.is_quiescent());
    });
}

#[test]
fn try_after_the_release_reads_the_tag() {
    check(3, || {
        let table = table();
        let (mut writer, mut reader) = (table.owner(), table.owner());
        assert_eq!(table.try_acquire(&mut writer, KEY, RangeMode::XX), Outcome::Granted);
        let releaser = {
            let table = table.clone();
            thread::spawn(move || {
                table.release_all(&mut writer, Some(COMMIT));
                writer
            })
        };
        if table.check(&mut reader, KEY, RangeMode::SN) == Outcome::Granted {
            assert_eq!(reader.max_tag(), COMMIT, "BUCKET-3");
        }
        if table.try_acquire(&mut reader, KEY, RangeMode::NS) == Outcome::Granted {
            assert_eq!(reader.max_tag(), COMMIT, "BUCKET-3");
        }
        drop(releaser.join().unwrap());
    });
}

#[test]
fn owners_do_not_share_a_number() {
    check(3, || {
        let table = table();
        // Allocate the records' memory before the threads start.
        drop([table.owner(), table.owner()]);
        let threads = [0, 1].map(|_| {
            let table = table.clone();
            thread::spawn(move || {
                let mut owner = table.owner();
                table.acquire(&mut owner, KEY, RangeMode::XN, WaitLimit::Forever).unwrap();
                assert!(owner.holds(KEY, RangeMode::XN), "no other owner released it");
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(table.is_quiescent());
    });
}
