//! CRC-32C (Castagnoli), the one checksum of the format: pages, log records and the superblock.

/// The CRC-32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// Continues a CRC-32C: `crc32c_append(crc32c(a), b)` equals `crc32c` of `a` followed by `b`.
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(crc, bytes)
}
