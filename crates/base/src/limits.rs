//! Sizes that the format fixes. Changing one changes the format version.

/// Bytes of a page, both in the data file and in memory.
pub const PAGE_SIZE: usize = 8192;

/// The unit in which a disk is trusted to write, in bytes: log groups start and end at its
/// multiples.
pub const SECTOR_SIZE: usize = 512;

// A page holds up to three full keys as bounds (low fence, high fence and foster key; 3 KiB) and
// still has room for four records of the largest inline size.
/// Longest key, in bytes.
pub const KEY_LEN_MAX: usize = 1024;

/// Longest value, in bytes. Values too large for a page of the table go to pages of their own.
pub const VALUE_LEN_MAX: usize = 16 << 20;

/// Longest log record in bytes, header included: a system transaction that carries two page images
/// fits.
pub const RECORD_LEN_MAX: usize = 32 << 10;

/// Longest table name, in bytes.
pub const TABLE_NAME_LEN_MAX: usize = 255;
