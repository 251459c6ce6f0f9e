//! The bytes of a space-map page.
//!
//! ```text
//!   0          24            28         32                                      8192
//!   +----------+-------------+----------+---------------------------------------+
//!   | pool     | allocated   | reserved | 65,280 bits: page = map page + index, |
//!   | header   | pages u32   | 0        | bit index % 8 of byte 32 + index / 8  |
//!   +----------+-------------+----------+---------------------------------------+
//! ```
//! Bit 0 is the map page's own and always set.

use clearway_base::{Error, PAGE_SIZE, PageId, Result};

use crate::node::{NodeBytes, PageKind};

/// Offset of the kind byte.
const KIND: usize = 16;
/// `u32`: how many bits are set.
const COUNT: usize = 24;
/// First byte of bits.
const BITS: usize = 32;

/// Pages that one map page covers, itself included: one bit each, `(8192 − 32) × 8` = 65,280, that
/// is 510 MiB.
pub const SPACE_SPAN: u32 = ((PAGE_SIZE - BITS) * 8) as u32;

/// The first map page. Before it stand the two slots of the superblock.
pub(super) const FIRST_MAP: PageId = PageId(2);

/// Log bytes for the format of a map page: a body of 5 bytes and its record header, rounded up.
pub(super) const FORMAT_RESERVE: usize = 64;

/// The map page that covers `page`; its own for a map page. For the superblock's pages, which no
/// map covers, the first.
pub(crate) fn map_page_of(page: PageId) -> PageId {
    let index = page.0.saturating_sub(FIRST_MAP.0) / SPACE_SPAN;
    PageId(FIRST_MAP.0 + index * SPACE_SPAN)
}

/// Makes `bytes` a map page with nothing allocated but itself.
pub(crate) fn format_map(bytes: &mut [u8]) -> bool {
    bytes[KIND..].fill(0);
    bytes[KIND] = PageKind::SpaceMap as u8;
    bytes[COUNT] = 1;
    bytes[BITS] = 1;
    true
}

/// Sets or clears the bits of `pages` in the map page `map`. `false`, and nothing is changed, if
/// the page is no map page, does not cover one of them, or has one's bit in that state already.
pub(crate) fn set_allocated(
    map: PageId,
    bytes: &mut [u8],
    pages: &[PageId],
    allocated: bool,
) -> bool {
    let sound = |page: &PageId| {
        map_page_of(*page) == map && *page > map && is_allocated(bytes, map, *page) != allocated
    };
    if !is_map(bytes) || !pages.iter().all(sound) {
        return false;
    }
    for page in pages {
        let index = (page.0 - map.0) as usize;
        // Assigned, not flipped: a page listed twice counts twice, and `check` finds it.
        let bit = 1 << (index % 8);
        let byte = &mut bytes[BITS + index / 8];
        *byte = if allocated { *byte | bit } else { *byte & !bit };
    }
    let (count, change) = (bytes.u32(COUNT), pages.len() as u32);
    let count = if allocated { count + change } else { count.saturating_sub(change) };
    bytes[COUNT..COUNT + 4].copy_from_slice(&count.to_le_bytes());
    true
}

/// Whether the bit of `page` is set.
pub(super) fn is_allocated(bytes: &[u8], map: PageId, page: PageId) -> bool {
    let index = page.0.wrapping_sub(map.0) as usize;
    bytes.u8(BITS.saturating_add(index / 8)) & (1 << (index % 8)) != 0
}

/// The first free page at or after `from`.
pub(super) fn first_free(bytes: &[u8], map: PageId, from: PageId) -> Option<PageId> {
    let start = from.0.saturating_sub(map.0);
    let mut wanted = u64::MAX << (start % 64);
    for word in start / 64..SPACE_SPAN / 64 {
        let free = !bytes.word(BITS / 8 + word as usize) & wanted;
        if free != 0 {
            // The last map page's span may reach past the last page id.
            return map.0.checked_add(word * 64 + free.trailing_zeros()).map(PageId);
        }
        wanted = u64::MAX;
    }
    None
}

/// Every page whose bit is set, rising. Bytes without one are skipped: most maps are nearly empty.
pub(super) fn allocated(map: PageId, bytes: &[u8]) -> impl Iterator<Item = PageId> + '_ {
    let used = bytes[BITS..].iter().enumerate().filter(|&(_, &byte)| byte != 0);
    used.flat_map(|(index, &byte)| bits_of(byte).map(move |bit| index as u32 * 8 + bit))
        .filter_map(move |index| map.0.checked_add(index).map(PageId))
}

/// The numbers of the bits that are set, rising.
fn bits_of(byte: u8) -> impl Iterator<Item = u32> {
    (0..8).filter(move |bit| byte & 1 << bit != 0)
}

/// The number of allocated pages, as the map page states it.
pub(super) fn count(bytes: &[u8]) -> u64 {
    u64::from(bytes.u32(COUNT))
}

/// Checks the map page by itself: its own bit, and the count.
pub(super) fn check(map: PageId, bytes: &[u8]) -> Result<()> {
    let bits: u32 = bytes[BITS..].iter().map(|byte| byte.count_ones()).sum();
    if is_allocated(bytes, map, map) && bits == bytes.u32(COUNT) {
        return Ok(());
    }
    let detail = format!("space map with {bits} bits set, {} counted", bytes.u32(COUNT));
    Err(Error::CorruptPage { page: map, detail })
}

/// Whether the page is a map page.
pub(super) fn is_map(bytes: &[u8]) -> bool {
    PageKind::of(bytes.u8(KIND)) == PageKind::SpaceMap
}

/// Whether the page has never been written.
pub(super) fn is_blank(bytes: &[u8]) -> bool {
    bytes[KIND..].iter().all(|&byte| byte == 0)
}

/// The error for a page in a map page's place.
pub(super) fn not_a_map(map: PageId) -> Error {
    Error::CorruptPage { page: map, detail: "not a space-map page".into() }
}
