//! CRC-32C over the pieces of a log record, each a few dozen bytes.
//!
//! The general routine finds alignments and splits its input in three for throughput, which costs
//! 150 instructions before the first byte: as much as the rest of an insert. Here the processor's
//! instruction handles short pieces word by word, unaligned, and only long pieces use the general
//! routine. The result is the same (a test compares them).
//!
//! Invariants:
//! - LOG-CHECKSUM-1. The functions with a target feature run only after a check that the processor
//!   has SSE 4.2.

use clearway_base::crc32c_append;

/// Pieces from this length on take the general routine: the instruction's latency is 3 cycles for 8
/// bytes, so 512 bytes take about 200 cycles, and from there on the three-way split is faster.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 512;

/// Continues `crc` over `parts`, one after another.
#[inline]
pub(crate) fn append_parts(crc: u32, parts: &[&[u8]]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: LOG-CHECKSUM-1.
        return unsafe { append_parts_short(crc, parts) };
    }
    parts.iter().fold(crc, |crc, part| crc32c_append(crc, part))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn append_parts_short(mut crc: u32, parts: &[&[u8]]) -> u32 {
    for part in parts {
        crc = match part.len() {
            0..LONG => append_short(crc, part),
            _ => crc32c_append(crc, part),
        };
    }
    crc
}

/// Continues `crc` over the little-endian bytes of `words`.
#[inline]
pub(crate) fn append_words(crc: u32, words: [u64; 5]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: LOG-CHECKSUM-1.
        return unsafe { append_words_short(crc, words) };
    }
    words.iter().fold(crc, |crc, word| crc32c_append(crc, &word.to_le_bytes()))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn append_words_short(crc: u32, words: [u64; 5]) -> u32 {
    use std::arch::x86_64::_mm_crc32_u64;

    !words.into_iter().fold(u64::from(!crc), |state, word| _mm_crc32_u64(state, word)) as u32
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
#[inline]
fn append_short(crc: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u32, _mm_crc32_u64};

    let (words, mut rest) = bytes.as_chunks::<8>();
    let mut state = u64::from(!crc);
    for word in words {
        state = _mm_crc32_u64(state, u64::from_le_bytes(*word));
    }
    let mut state = state as u32;
    if let Some((half, after)) = rest.split_first_chunk::<4>() {
        state = _mm_crc32_u32(state, u32::from_le_bytes(*half));
        rest = after;
    }
    for &byte in rest {
        state = _mm_crc32_u8(state, byte);
    }
    !state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_general_way_agree_on_every_length_and_alignment() {
        let bytes: Vec<u8> = (0..1200u32).map(|i| ((i * i) >> 3) as u8).collect();
        for start in 0..9 {
            for end in start..bytes.len() {
                let piece = &bytes[start..end];
                let middle = piece.len() / 3;
                let expected = crc32c_append(77, piece);
                assert_eq!(append_parts(77, &[piece]), expected);
                let parts: [&[u8]; 3] = [&piece[..middle], &[], &piece[middle..]];
                assert_eq!(append_parts(77, &parts), expected);
            }
        }
    }

    #[test]
    fn words_count_as_their_little_endian_bytes() {
        let words = [1, u64::MAX, 0x0123_4567_89AB_CDEF, 0, 42];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        assert_eq!(append_words(77, words), crc32c_append(77, &bytes));
    }
}
