//! The checksums of pages, by an implementation of `docs/page-format.md` that uses no code of the
//! pool.

use std::io;

use clearway_base::{Error, PAGE_SIZE, Result, crc32c, crc32c_append};
use clearway_disk::{Disk, OpenMode};

/// Recomputes the checksum and the page id of a page, so that changed bytes pass the checksum test.
pub fn seal_page(page: u32, bytes: &mut [u8]) {
    bytes[4..8].copy_from_slice(&page.to_le_bytes());
    let checksum = crc32c_append(crc32c(&page.to_le_bytes()), &bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}

/// Changes a page of the data file and recomputes its checksum.
///
/// # Errors
/// An error of the disk; [`Error::Io`] if the file ends before the page does.
pub fn forge_page(disk: &dyn Disk, page: u32, change: impl FnOnce(&mut [u8])) -> Result<()> {
    let file = disk.open("data", OpenMode::Existing)?;
    let (at, mut bytes) = (u64::from(page) * PAGE_SIZE as u64, vec![0; PAGE_SIZE]);
    if file.read_at(&mut bytes, at)? < PAGE_SIZE {
        let short = io::Error::from(io::ErrorKind::UnexpectedEof);
        return Err(Error::io("read page", "data", short));
    }
    change(&mut bytes);
    seal_page(page, &mut bytes);
    file.write_at(&bytes, at)
}
