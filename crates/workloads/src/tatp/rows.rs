//! The bytes of the subscribers' keys and rows, with each column's length. Every key and every row
//! of a table has one length, so that keys live on the stack and columns are patched in place.
//!
//! | table | key | row |
//! | --- | --- | --- |
//! | SUBSCRIBER | s_id 4 | sub_nbr 15, bits 2, hex digits 5, byte2 10, msc_ and vlr_location 4 |
//! | sub_nbr index | sub_nbr 15 | s_id 4 |
//! | ACCESS_INFO | s_id 4, ai_type 1 | data1 1, data2 1, data3 3, data4 5 |
//! | SPECIAL_FACILITY | s_id 4, sf_type 1 | is_active 1, error_cntrl 1, data_a 1, data_b 5 |
//! | CALL_FORWARDING | s_id 4, sf_type 1, start_time 1 | end_time 1, numberx 15 |
//!
//! Numbers in keys are big-endian, so that keys are in the order of their columns; numbers in rows
//! are little-endian. sub_nbr and numberx are decimal digits with leading zeros.

/// Digits of sub_nbr and numberx.
pub(super) const DIGITS: usize = 15;
/// A telephone number.
pub(super) type Number = [u8; DIGITS];

/// Offsets of the columns of SUBSCRIBER that are read or written alone.
const BITS_AT: usize = DIGITS;
/// hex_1, two to a byte.
pub(super) const HEX_AT: usize = BITS_AT + 2;
/// msc_location, after 5 bytes of hexadecimal digits and the 10 of byte2_1 to byte2_10.
pub(super) const MSC_LOCATION_AT: usize = HEX_AT + 5 + 10;
const VLR_LOCATION_AT: usize = MSC_LOCATION_AT + 4;

/// Length of a row of SUBSCRIBER.
pub(super) const SUBSCRIBER_LEN: usize = VLR_LOCATION_AT + 4;
/// Length of a row of ACCESS_INFO.
pub(super) const ACCESS_LEN: usize = 10;
/// Length of a row of SPECIAL_FACILITY.
pub(super) const FACILITY_LEN: usize = 8;
/// Length of a row of CALL_FORWARDING.
pub(super) const FORWARDING_LEN: usize = 1 + DIGITS;

/// ai_type and sf_type are 1 to 4.
pub(super) const TYPES: u8 = 4;
/// The start times of CALL_FORWARDING are 0, 8 and 16.
pub(super) const STARTS: u8 = 3;
/// Hours between two start times.
pub(super) const START_STEP: u8 = 8;
/// The largest end time.
pub(super) const END_MAX: u8 = 24;

/// The offset of data_a in SPECIAL_FACILITY.
pub(super) const DATA_A_AT: usize = 2;

/// The key of a subscriber.
#[inline]
pub(super) fn subscriber_key(id: u32) -> [u8; 4] {
    id.to_be_bytes()
}

/// The key in ACCESS_INFO or SPECIAL_FACILITY.
#[inline]
pub(super) fn typed_key(id: u32, kind: u8) -> [u8; 5] {
    let [a, b, c, d] = id.to_be_bytes();
    [a, b, c, d, kind]
}

/// The key in CALL_FORWARDING.
#[inline]
pub(super) fn forwarding_key(id: u32, kind: u8, start: u8) -> [u8; 6] {
    let [a, b, c, d] = id.to_be_bytes();
    [a, b, c, d, kind, start]
}

/// The s_id that a key of any table but the index begins with; `None` for one that is too short.
pub(super) fn key_id(key: &[u8]) -> Option<u32> {
    key.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// `number` in decimal digits: the sub_nbr of subscriber `number`.
#[inline]
pub(super) fn digits(mut number: u64) -> Number {
    let mut text = [b'0'; DIGITS];
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text
}

/// The sub_nbr of a subscriber's row; empty for a row that is too short.
pub(super) fn read_number(row: &[u8]) -> &[u8] {
    row.get(..DIGITS).unwrap_or_default()
}

/// The s_id of a row of the index; `None` for a row of another length.
#[inline]
pub(super) fn read_id(row: &[u8]) -> Option<u32> {
    row.try_into().ok().map(u32::from_le_bytes)
}

/// The row of the index.
pub(super) fn index_row(id: u32) -> [u8; 4] {
    id.to_le_bytes()
}

/// Sets bit_1 to bit_10, bit_1 the lowest.
pub(super) fn write_bits(row: &mut [u8; SUBSCRIBER_LEN], bits: u16) {
    row[BITS_AT..HEX_AT].copy_from_slice(&bits.to_le_bytes());
}

/// Sets bit_1 alone; false if the row is too short.
#[inline]
pub(super) fn write_bit_1(row: &mut [u8], bit: bool) -> bool {
    let Some(byte) = row.get_mut(BITS_AT) else { return false };
    *byte = *byte & !1 | u8::from(bit);
    true
}

/// Sets msc_location.
pub(super) fn write_msc_location(row: &mut [u8; SUBSCRIBER_LEN], location: u32) {
    row[MSC_LOCATION_AT..VLR_LOCATION_AT].copy_from_slice(&location.to_le_bytes());
}

/// The vlr_location; `None` for a row that is too short.
#[inline]
pub(super) fn read_vlr_location(row: &[u8]) -> Option<u32> {
    read_id(row.get(VLR_LOCATION_AT..)?)
}

/// Sets vlr_location; false if the row is too short.
#[inline]
pub(super) fn write_vlr_location(row: &mut [u8], location: u32) -> bool {
    let Some(bytes) = row.get_mut(VLR_LOCATION_AT..).and_then(|rest| rest.first_chunk_mut()) else {
        return false;
    };
    *bytes = location.to_le_bytes();
    true
}

/// Sets data_a; false if the row is too short.
#[inline]
pub(super) fn write_data_a(row: &mut [u8], value: u8) -> bool {
    row.get_mut(DATA_A_AT).map(|byte| *byte = value).is_some()
}

/// Whether a row of SPECIAL_FACILITY is of an active facility.
#[inline]
pub(super) fn is_active(row: &[u8]) -> bool {
    row.first() == Some(&1)
}

/// The row of CALL_FORWARDING.
#[inline]
pub(super) fn forwarding_row(end: u8, number: &Number) -> [u8; FORWARDING_LEN] {
    let mut row = [end; FORWARDING_LEN];
    row[1..].copy_from_slice(number);
    row
}

/// The end_time of a row of CALL_FORWARDING; 0, which none has, for an empty one.
#[inline]
pub(super) fn end_time(row: &[u8]) -> u8 {
    row.first().copied().unwrap_or(0)
}

/// Whether columns and length of a row of CALL_FORWARDING and the last parts of its key are of
/// the allowed values.
pub(super) fn is_forwarding_valid(key: &[u8], row: &[u8]) -> bool {
    let &[_, _, _, _, kind, start] = key else { return false };
    let Some((&end, number)) = row.split_first() else { return false };
    (1..=TYPES).contains(&kind)
        && start % START_STEP == 0
        && start / START_STEP < STARTS
        && (1..=END_MAX).contains(&end)
        && number.len() == DIGITS
        && number.iter().all(u8::is_ascii_digit)
}

/// Whether two rows of SUBSCRIBER agree except for the columns that transactions change: bit_1 and
/// vlr_location.
pub(super) fn is_same_subscriber(loaded: &[u8; SUBSCRIBER_LEN], row: &[u8]) -> bool {
    let Ok(mut found) = <[u8; SUBSCRIBER_LEN]>::try_from(row) else { return false };
    found[BITS_AT] = found[BITS_AT] & !1 | loaded[BITS_AT] & 1;
    found[VLR_LOCATION_AT..].copy_from_slice(&loaded[VLR_LOCATION_AT..]);
    found == *loaded && read_vlr_location(row).is_some_and(|location| location != 0)
}

/// Whether two rows of SPECIAL_FACILITY agree except for the column that transactions change:
/// data_a.
pub(super) fn is_same_facility(loaded: &[u8; FACILITY_LEN], row: &[u8]) -> bool {
    let Ok(mut found) = <[u8; FACILITY_LEN]>::try_from(row) else { return false };
    found[DATA_A_AT] = loaded[DATA_A_AT];
    found == *loaded
}
