//! From format version 1 to version 2, at an opening.
//!
//! ```text
//!  version 1: recover ─► close in order ─► superblock: version 2, id, the log is empty from L on
//!  version 2: recover (nothing) ─► first segment at L ─► epoch begins ─► checkpoint, not empty
//! ```
//!
//! `L` is the first segment boundary at or behind the end of the old log, so that no segment holds
//! log of two versions. Data pages have one format in both, and keep their page LSNs, none of which
//! is beyond `L`.
//!
//! Invariants:
//! - UP-1. The superblock changes its version in one write (SUPERBLOCK-2), when the old log is no
//!   longer needed: its closing checkpoint has nothing to redo and lists no transaction.
//! - UP-2. Until then the database is one of version 1 in every way, and a crash leaves it to be
//!   recovered, by this program or an older one. From then on it is one of version 2, and older
//!   programs refuse it as newer.
//! - UP-3. Segments of version 1 are removed by the log's start, when both copies of the superblock
//!   are of version 2: the opening raised the epoch before.
//!
//! So a crash at any point, in a recovery of a recovery too, leaves one of three states that every
//! opening knows: version 1; version 2 with an empty log, whatever the files there hold
//! (SUPERBLOCK-4); version 2.

use clearway_base::{Error, Lsn, Result};

use crate::{
    closing,
    core::Core,
    opening::{self, LockedDisk, Opening},
    options::EngineOptions,
    report::RecoveryReport,
    superblock::{FORMAT_VERSION, Identity, Superblock},
};

/// Opens a database of version 1 as one of version 2.
pub(crate) fn upgrade(
    disk: LockedDisk,
    options: EngineOptions,
    block: Superblock,
) -> Result<(Opening, RecoveryReport)> {
    let (opening, old) = opening::recover(disk.clone(), options.clone(), block)?;
    let (transactions, background) = opening.ready();
    closing::close(&transactions, background)?;
    let block = convert(&transactions.core)?;
    drop(transactions);
    let (opening, new) = opening::recover(disk, options, block)?;
    let RecoveryReport { epoch, drops_unfinished, .. } = new;
    Ok((opening, RecoveryReport { epoch, drops_unfinished, ..old }))
}

/// Makes a database of version 1 that was closed in order one of version 2 (UP-1).
fn convert(core: &Core) -> Result<Superblock> {
    let old = core.superblock.get();
    if old.retention_lsn < old.checkpoint {
        let detail = "its closing checkpoint has left something to recover: open it again";
        return Err(Error::corrupt("superblock", detail));
    }
    let begin = Lsn(core.log.end().0.next_multiple_of(old.segment_bytes));
    let identity = Identity::draw(&*core.disk, old.epoch, begin)?;
    core.superblock.update(|block| {
        block.version = FORMAT_VERSION;
        block.identity = identity;
        (block.checkpoint, block.redo, block.retention_lsn) = (begin, begin, begin);
        block.log_empty = true;
    })
}
