//! The bytes of the bank's keys and rows.
//!
//! Account, teller and branch: balance (8 bytes, little-endian), id (8), filler to 100.
//! History: delta (8), account (8), teller (8), branch (8), sequence (8), filler to 50.

/// Length of account, teller and branch rows.
pub(super) const ROW_LEN: usize = 100;
/// Length of history rows.
pub(super) const HISTORY_LEN: usize = 50;
/// Bits of a history key that hold the sequence: 2³² transactions a client, 2³² clients.
const SEQUENCE_BITS: u32 = 32;

pub(super) fn key(id: u64) -> [u8; 8] {
    id.to_be_bytes()
}

pub(super) fn new_row(id: u64) -> [u8; ROW_LEN] {
    let mut row = [b' '; ROW_LEN];
    row[..8].copy_from_slice(&0i64.to_le_bytes());
    row[8..16].copy_from_slice(&id.to_le_bytes());
    row
}

/// The balance of a row, or the delta of a history row; 0 for a row that is too short.
#[inline]
pub(super) fn read_balance(row: &[u8]) -> i64 {
    row.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

#[inline]
pub(super) fn write_balance(row: &mut [u8], balance: i64) {
    if let Some(bytes) = row.first_chunk_mut() {
        *bytes = balance.to_le_bytes();
    }
}

pub(super) fn history_key(client: u64, sequence: u64) -> [u8; 8] {
    key(client << SEQUENCE_BITS | sequence)
}

pub(super) fn history_client(key: &[u8]) -> u64 {
    key.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes) >> SEQUENCE_BITS)
}

pub(super) fn history_sequence(key: &[u8]) -> u64 {
    let mask = (1 << SEQUENCE_BITS) - 1;
    key.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes) & mask)
}

pub(super) fn history_row(
    delta: i64,
    account: u64,
    teller: u64,
    branch: u64,
    sequence: u64,
) -> [u8; HISTORY_LEN] {
    let mut row = [b' '; HISTORY_LEN];
    row[..8].copy_from_slice(&delta.to_le_bytes());
    for (at, number) in [(8, account), (16, teller), (24, branch), (32, sequence)] {
        row[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    row
}

/// The branch of a history row; `u64::MAX` for a row that is too short.
pub(super) fn history_branch(row: &[u8]) -> u64 {
    row.get(24..32)
        .and_then(|bytes| bytes.first_chunk())
        .map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))
}
