//! The first 24 bytes of every page. The pool itself uses the first 16 of them and no other part of
//! a page's contents (the checksum covers all of it); the rest belongs to the page's owner.
//!
//! ```text
//!  0        4        8                16   17                24
//!  +--------+--------+----------------+----+-----------------+
//!  | check- | page   | page LSN       |kind| owner's         |
//!  | sum    | id     |                |    |                 |
//!  +--------+--------+----------------+----+-----------------+
//! ```
//!
//! Little endian. The checksum is the CRC-32C of the page id (4 bytes) and then bytes `4..8192`;
//! a page that was read from another page's place therefore fails. Checksum and page id are
//! written on the way to disk, into the cleaner's copy; in memory they mean nothing. A page of
//! zeros was never written and is valid.

use clearway_base::{Error, Lsn, PAGE_SIZE, PageId, Result, crc32c, crc32c_append};

/// Bytes of the common page header.
pub const PAGE_HEADER_BYTES: usize = 24;
/// Offset of the page's kind, a byte that belongs to the page's owner.
pub const PAGE_KIND_AT: usize = 16;

pub(crate) const ID_AT: usize = 4;
pub(crate) const LSN_AT: usize = 8;

pub(crate) fn page_lsn(page: &[u8]) -> Lsn {
    Lsn(u64::from_le_bytes(page[LSN_AT..LSN_AT + 8].try_into().expect("8 bytes")))
}

pub(crate) fn set_page_lsn(page: &mut [u8], lsn: Lsn) {
    page[LSN_AT..LSN_AT + 8].copy_from_slice(&lsn.0.to_le_bytes());
}

fn word(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().expect("4 bytes"))
}

fn checksum(id: PageId, page: &[u8]) -> u32 {
    crc32c_append(crc32c(&id.0.to_le_bytes()), &page[ID_AT..PAGE_SIZE])
}

/// Writes page id and checksum as the last step before the page goes to disk. Returns the checksum.
pub(crate) fn seal(id: PageId, page: &mut [u8]) -> u32 {
    page[ID_AT..ID_AT + 4].copy_from_slice(&id.0.to_le_bytes());
    let checksum = checksum(id, page);
    page[..ID_AT].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// Checks that `page` holds page `id` undamaged, or zeros.
///
/// # Errors
/// [`Error::CorruptPage`] with a description of the damage.
pub(crate) fn verify(id: PageId, page: &[u8]) -> Result<()> {
    let stored = word(page, 0);
    let computed = checksum(id, page);
    let found = PageId(word(page, ID_AT));
    if stored == computed && found == id {
        return Ok(());
    }
    if is_zero(page) {
        return Ok(());
    }
    // A page that is intact under the id it carries was written to, or read from, the wrong place.
    let detail = if found != id && stored == checksum(found, page) {
        format!("page {found} stands in its place")
    } else {
        format!("checksum {stored:08x} stored, {computed:08x} computed")
    };
    Err(Error::CorruptPage { page: id, detail })
}

/// Checks that the log, durable up to `durable`, contains the last change of `page`.
///
/// # Errors
/// [`Error::CorruptPage`] with both positions.
pub(crate) fn check_page_lsn(id: PageId, page: &[u8], durable: Lsn) -> Result<()> {
    check_lsn(id, page_lsn(page), durable)
}

/// Checks the same for a page with this page LSN.
///
/// # Errors
/// Those of [`check_page_lsn`].
pub(crate) fn check_lsn(id: PageId, page_lsn: Lsn, durable: Lsn) -> Result<()> {
    if page_lsn <= durable {
        return Ok(());
    }
    let detail = format!("its page LSN is {page_lsn}, and the log ends at {durable}");
    Err(Error::CorruptPage { page: id, detail })
}

/// Returns true if every byte is zero.
pub(crate) fn is_zero(page: &[u8]) -> bool {
    // In chunks, so that the compiler compares whole vectors.
    page.chunks(64).all(|chunk| chunk.iter().fold(0, |all, byte| all | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(id: u32) -> Vec<u8> {
        let mut page: Vec<u8> = (0..PAGE_SIZE).map(|at| (at * 7) as u8).collect();
        seal(PageId(id), &mut page);
        page
    }

    #[test]
    fn sealed_page_verifies() {
        verify(PageId(5), &sealed(5)).unwrap();
    }

    #[test]
    fn zero_page_verifies_under_every_id() {
        verify(PageId(0), &[0; PAGE_SIZE]).unwrap();
        verify(PageId(9), &[0; PAGE_SIZE]).unwrap();
    }

    #[test]
    fn any_flipped_bit_is_found() {
        for at in (0..PAGE_SIZE).step_by(97) {
            let mut page = sealed(5);
            page[at] ^= 0x10;
            assert!(verify(PageId(5), &page).is_err(), "byte {at}");
        }
    }

    #[test]
    fn page_lsn_beyond_the_log_is_damage() {
        let mut page = sealed(5);
        set_page_lsn(&mut page, Lsn(100));
        check_page_lsn(PageId(5), &page, Lsn(100)).unwrap();
        let error = check_page_lsn(PageId(5), &page, Lsn(99)).unwrap_err();
        let detail = "its page LSN is 100, and the log ends at 99";
        assert!(error.to_string().contains(detail), "{error}");
    }

    #[test]
    fn page_in_a_wrong_place_is_named() {
        let error = verify(PageId(6), &sealed(5)).unwrap_err();
        assert!(error.to_string().contains("page 5 stands in its place"), "{error}");
    }

    /// The worked example of `docs/page-format.md`.
    #[test]
    fn documented_example_is_what_is_written() {
        let mut page = [0; PAGE_SIZE];
        set_page_lsn(&mut page, Lsn(0x1234));
        page[PAGE_KIND_AT] = 2;
        page[PAGE_HEADER_BYTES..29].copy_from_slice(b"hello");
        assert_eq!(seal(PageId(7), &mut page), 0x2928_a404);
        assert_eq!(page[..8], [0x04, 0xa4, 0x28, 0x29, 7, 0, 0, 0]);
    }
}
