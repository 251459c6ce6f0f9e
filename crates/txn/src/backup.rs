//! Hot backup: a fuzzy copy of the pages, and the log that makes it consistent.
//!
//! ```text
//!   hold the log from the retention LSN ─► copy pages as the disk has them, in any state
//!   ─► make the log durable up to E ─► copy the log from there to E ─► superblock, last
//! ```
//!
//! From the first step to the end no log is recycled: a backup that takes long needs a log that is
//! large enough for what is written meanwhile.
//!
//! The copy is equivalent to what a crash at E would have left, and is recovered in the same way
//! when it is opened.
//!
//! Invariants:
//! - BACKUP-1. Every page is copied after the superblock was read that the copy will have: each
//!   change that a copied page lacks is in the log from that superblock's redo LSN on.
//! - BACKUP-2. The log is copied after the last page, up to an E that was durable then: by the WAL
//!   rule no copied page has seen a record beyond E.
//! - BACKUP-3. No log byte beyond E is copied, although the segment contains some: they would be a
//!   group behind a hole.
//! - BACKUP-4. The copy's superblock marks it as an unfinished copy until everything else is
//!   durable: an interrupted backup is refused, and is not mistaken for an interrupted creation.
//! - BACKUP-5. The database stays open, and its directory locked, until everything is copied: after
//!   a close, the files may already be those of another opening.

use std::sync::Arc;

use clearway_base::{Error, Lsn, PAGE_SIZE, PageId, Result, crc32c, crc32c_append};
use clearway_disk::{AlignedBuf, Disk, File, OpenMode};
use clearway_sync::thread;

use crate::{
    checkpoints::Cleaning,
    core::Core,
    health,
    superblock::{self, DATA_FILE, FoundDatabase, Superblock},
};

/// Pages copied at a time: 1 MiB.
const BATCH_PAGES: usize = 128;
/// The superblock's pages, which are not copied.
const FIRST_PAGE: u32 = 2;
/// The maximum number of further reads of a page that looks damaged: a thread may be writing it.
const ATTEMPTS: u32 = 200;

/// Copies the database to the empty directory `to`.
pub(crate) fn copy(core: &Core, to: &dyn Disk) -> Result<()> {
    match superblock::find(to)? {
        // Old log behind the copy's own would be taken for its continuation.
        FoundDatabase::Nothing if to.list("log")?.is_empty() => {}
        _ => return Err(not_empty(to)),
    }
    let _locked = to.lock()?;
    // Not needed for correctness; it makes the copy's log short. What has no room for it may have
    // room for the copy.
    match core.checkpoints.take(Cleaning::All) {
        Ok(())
        | Err(Error::DiskFull { .. } | Error::LogFull { .. } | Error::NoFileDescriptor { .. }) => {}
        Err(error) => return Err(error),
    }
    let hold = core.checkpoints.hold_log();
    let block = core.superblock.get();
    let data = begin(to, &block)?;
    copy_pages(core, &*data)?;
    health::make_durable(&core.log, core.log.end())?;
    copy_log(core, to, hold.from, core.log.durable())?;
    core.health.check_open()?; // BACKUP-5
    finish(to, &*data, block)
}

fn not_empty(to: &dyn Disk) -> Error {
    let source = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it holds a database");
    Error::io("back up to", to.path(), source)
}

/// BACKUP-4: before anything else is there.
fn begin(to: &dyn Disk, block: &Superblock) -> Result<Arc<dyn File>> {
    let data = to.open(DATA_FILE, OpenMode::CreateNew)?;
    data.allocate(0, u64::from(FIRST_PAGE) * PAGE_SIZE as u64)?;
    superblock::write_copy(&*data, &Superblock { copying: true, ..block.clone() })?;
    to.sync_dir("")?;
    Ok(data)
}

/// BACKUP-1. Pages are read from the disk and not from the pool, so that a backup evicts nothing.
fn copy_pages(core: &Core, data: &dyn File) -> Result<()> {
    let from = core.disk.open(DATA_FILE, OpenMode::Existing)?;
    let pages = core.pool.page_count();
    data.allocate(0, u64::from(pages) * PAGE_SIZE as u64)?;
    let mut batch = AlignedBuf::new(BATCH_PAGES * PAGE_SIZE);
    let mut first = FIRST_PAGE;
    while first < pages {
        core.health.check_open()?; // BACKUP-5
        let count = BATCH_PAGES.min((pages - first) as usize);
        let bytes = &mut batch[..count * PAGE_SIZE];
        let offset = u64::from(first) * PAGE_SIZE as u64;
        let read = from.read_at(bytes, offset)?;
        bytes[read..].fill(0);
        for (index, page) in bytes.chunks_exact_mut(PAGE_SIZE).enumerate() {
            settle(&*from, PageId(first + index as u32), page)?;
        }
        data.write_at(bytes, offset)?;
        first += count as u32;
    }
    Ok(())
}

/// Makes sure that `page` is whole, reading it again if it was caught while it was written.
fn settle(from: &dyn File, id: PageId, page: &mut [u8]) -> Result<()> {
    let mut again = AlignedBuf::new(PAGE_SIZE);
    for attempt in 0..ATTEMPTS {
        if is_whole(id, page) {
            return Ok(());
        }
        thread::sleep(std::time::Duration::from_micros(u64::from(attempt) * 50));
        from.read_at(&mut again, u64::from(id.0) * PAGE_SIZE as u64)?;
        page.copy_from_slice(&again);
    }
    Err(Error::CorruptPage { page: id, detail: "its checksum does not fit; not backed up".into() })
}

/// Whether a page of the data file is intact or was never written. The checksum is that of the
/// pool: CRC-32C of the page id and of bytes 4 to the end.
fn is_whole(id: PageId, page: &[u8]) -> bool {
    let stored = u32::from_le_bytes(page[..4].try_into().expect("4 bytes"));
    let computed = crc32c_append(crc32c(&id.0.to_le_bytes()), &page[4..]);
    (stored == computed && page[4..8] == id.0.to_le_bytes()) || page.iter().all(|&byte| byte == 0)
}

/// Copies the segments that hold the log from `from` to `end` (BACKUP-3).
fn copy_log(core: &Core, to: &dyn Disk, from: Lsn, end: Lsn) -> Result<()> {
    to.create_dir("log")?;
    let segment_bytes = core.superblock.get().segment_bytes;
    let mut batch = AlignedBuf::new(BATCH_PAGES * PAGE_SIZE);
    let mut first = from.0 - from.0 % segment_bytes;
    while first < end.0 {
        let name = format!("log/{first:016x}");
        let source = core.disk.open(&name, OpenMode::Existing)?;
        let target = to.open(&name, OpenMode::Create)?;
        target.allocate(0, source.len()?)?;
        copy_label(&*source, &*target, segment_bytes)?;
        let wanted = segment_bytes.min(end.0 - first);
        let mut at = 0;
        while at < wanted {
            let len = (wanted - at).min(batch.len() as u64) as usize;
            // Whole blocks for direct I/O; what lies beyond the end is zeroed.
            let padded = len.next_multiple_of(PAGE_SIZE).min((segment_bytes - at) as usize);
            let read = source.read_at(&mut batch[..padded], at)?;
            batch[read.min(len)..padded].fill(0);
            target.write_at(&batch[..padded], at)?;
            at += len as u64;
        }
        target.sync_all()?;
        first += segment_bytes;
    }
    to.sync_dir("log")
}

/// Copies the label behind a segment's log bytes. The copy shares its labels with this database;
/// from its first opening on it has a salt of its own.
fn copy_label(source: &dyn File, target: &dyn File, segment_bytes: u64) -> Result<()> {
    let mut label = AlignedBuf::new((source.len()? - segment_bytes) as usize);
    source.read_at(&mut label, segment_bytes)?;
    target.write_at(&label, segment_bytes)
}

/// Makes the copy durable and then, by its superblock, a database (BACKUP-4). The block goes where
/// the first one stands: torn, it is no database either.
fn finish(to: &dyn Disk, data: &dyn File, block: Superblock) -> Result<()> {
    data.sync_all()?;
    to.sync_dir("")?;
    superblock::write_copy(data, &block)
}
