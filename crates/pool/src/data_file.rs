//! The data file: page `id` stands at byte `id × PAGE_SIZE`.
//!
//! Space is reserved before a page is allocated, so that the cleaner, which has no caller to report
//! an error to, does not meet a full disk. The file grows by an eighth, at least 1 MiB and at most
//! 64 MiB, or to the wanted page if that lies farther.

use std::sync::Arc;

use clearway_base::{Error, PAGE_SIZE, PageId, Result};
use clearway_disk::{Disk, File, OpenMode};
use clearway_sync::{
    Mutex,
    atomic::{AtomicU32, Ordering},
};

/// Name of the data file in the database directory.
const DATA_FILE: &str = "data";
/// 128 × 8 KiB = 1 MiB.
const STEP_PAGES: u64 = 128;
/// 8192 × 8 KiB = 64 MiB.
const STEP_PAGES_MAX: u64 = 8192;

/// The file and its length in pages.
pub(crate) struct DataFile {
    file: Arc<dyn File>,
    pages: AtomicU32,
    growing: Mutex<()>,
}

/// Opens a file of the directory, creating it durably if it is absent.
pub(crate) fn open_or_create(disk: &dyn Disk, name: &str) -> Result<Arc<dyn File>> {
    let present = disk.exists(name)?;
    let file = disk.open(name, OpenMode::Create)?;
    if !present {
        disk.sync_dir("")?;
    }
    Ok(file)
}

impl DataFile {
    pub(crate) fn open(disk: &dyn Disk) -> Result<DataFile> {
        let file = open_or_create(disk, DATA_FILE)?;
        let pages = file.len()? / PAGE_SIZE as u64;
        let pages = u32::try_from(pages).map_err(|_| {
            Error::corrupt("data file", format!("{pages} pages are more than page ids"))
        })?;
        Ok(DataFile { file, pages: AtomicU32::new(pages), growing: Mutex::new(()) })
    }

    pub(crate) fn file(&self) -> &dyn File {
        &*self.file
    }

    /// The file, for a request that may outlive the caller.
    pub(crate) fn shared_file(&self) -> Arc<dyn File> {
        self.file.clone()
    }

    /// Pages that the file holds.
    pub(crate) fn pages(&self) -> u32 {
        // Acquire pairs with the Release in `ensure`.
        self.pages.load(Ordering::Acquire)
    }

    /// Reads a page; bytes beyond the end of the file read as zero.
    pub(crate) fn read(&self, page: PageId, out: &mut [u8]) -> Result<()> {
        let read = self.file.read_at(out, offset(page))?;
        out[read..].fill(0);
        Ok(())
    }

    /// Makes the file long enough for `page`. `page_limit` is the first id that cannot exist.
    pub(crate) fn ensure(&self, page: PageId, page_limit: u32) -> Result<()> {
        if page.0 < self.pages() {
            return Ok(());
        }
        if page.0 >= page_limit {
            let detail = format!("page {page} of the data file lies beyond it");
            return Err(Error::BadOption { option: "max_bytes", detail });
        }
        let _growing = self.growing.lock();
        let (have, want) = (u64::from(self.pages()), u64::from(page.0) + 1);
        if want <= have {
            return Ok(());
        }
        let limit = u64::from(page_limit);
        let generous = want.max(have + (have / 8).clamp(STEP_PAGES, STEP_PAGES_MAX)).min(limit);
        let modest = want.next_multiple_of(STEP_PAGES).min(limit);
        match self.grow(have, generous) {
            // The remaining disk space may suffice for less.
            Err(Error::DiskFull { .. }) if modest < generous => self.grow(have, modest),
            other => other,
        }
    }

    fn grow(&self, have: u64, pages: u64) -> Result<()> {
        let page_size = PAGE_SIZE as u64;
        self.file.allocate(have * page_size, (pages - have) * page_size)?;
        // Release pairs with `pages`: a thread that sees the new length can write there.
        self.pages.store(pages as u32, Ordering::Release);
        Ok(())
    }
}

/// Returns the offset of a page in the file.
pub(crate) fn offset(page: PageId) -> u64 {
    u64::from(page.0) * PAGE_SIZE as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_disk::MemoryDisk;

    #[test]
    fn file_grows_in_steps_and_never_past_the_limit() {
        let data = DataFile::open(&MemoryDisk::new()).unwrap();
        data.ensure(PageId(0), 10_000).unwrap();
        assert_eq!(data.pages(), 128);
        data.ensure(PageId(5000), 10_000).unwrap();
        assert_eq!(data.pages(), 5001);
        data.ensure(PageId(5001), 10_000).unwrap();
        assert_eq!(data.pages(), 5001 + 625);
        data.ensure(PageId(9_999), 10_000).unwrap();
        assert_eq!(data.pages(), 10_000);
        assert!(matches!(data.ensure(PageId(10_000), 10_000), Err(Error::BadOption { .. })));
    }

    #[test]
    fn page_beyond_the_end_reads_as_zero() {
        let data = DataFile::open(&MemoryDisk::new()).unwrap();
        let mut page = vec![1; PAGE_SIZE];
        data.read(PageId(7), &mut page).unwrap();
        assert!(page.iter().all(|byte| *byte == 0));
    }
}
