//! The bytes of a page, whether latched (`[u8]`) or read while others may write them.
//!
//! Invariants
//! 1. *Total.* Every method answers for every position and length; what lies outside the page
//!    reads as zero. None panics, so a reader may walk a torn mix of two versions of a page and
//!    find out only afterwards, when it validates, that what it read was nonsense.
//! 2. No reference into a page that others may write ever exists: values are copied out.

use std::cmp::Ordering;

use clearway_pool::OptimisticPage;

/// Read access to a page that never fails.
pub(crate) trait NodeBytes {
    /// The byte at `at`.
    fn u8(&self, at: usize) -> u8;
    /// The little-endian number at `at`.
    fn u16(&self, at: usize) -> u16;
    /// The little-endian number at `at`.
    fn u32(&self, at: usize) -> u32;
    /// The little-endian number at `8 × index`: what a search loads, one check and one load.
    fn word(&self, index: usize) -> u64;
    /// Fills `out` from `at`; zeros beyond the page.
    fn copy(&self, at: usize, out: &mut [u8]);
    /// Appends the `len` bytes at `at` to `out`; zeros beyond the page.
    fn append_to(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let from = out.len();
        out.resize(from + len, 0);
        self.copy(at, &mut out[from..]);
    }
    /// Orders the `len` bytes at `at` against `other`, as byte strings.
    fn compare(&self, at: usize, len: usize, other: &[u8]) -> Ordering;
    /// Whether the bytes at `at` are `other`.
    fn is_equal(&self, at: usize, other: &[u8]) -> bool {
        self.compare(at, other.len(), other) == Ordering::Equal
    }
}

impl NodeBytes for [u8] {
    #[inline]
    fn u8(&self, at: usize) -> u8 {
        self.get(at).copied().unwrap_or(0)
    }
    #[inline]
    fn u16(&self, at: usize) -> u16 {
        number::<2>(self, at).map_or(0, u16::from_le_bytes)
    }
    #[inline]
    fn u32(&self, at: usize) -> u32 {
        number::<4>(self, at).map_or(0, u32::from_le_bytes)
    }
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.as_chunks::<8>().0.get(index).map_or(0, |word| u64::from_le_bytes(*word))
    }
    fn copy(&self, at: usize, out: &mut [u8]) {
        let from = self.get(at..).unwrap_or(&[]);
        let n = from.len().min(out.len());
        out[..n].copy_from_slice(&from[..n]);
        out[n..].fill(0);
    }
    #[inline]
    fn append_to(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        match self.get(at..at.saturating_add(len)) {
            Some(bytes) => out.extend_from_slice(bytes),
            None => {
                let from = out.len();
                out.resize(from + len, 0);
                self.copy(at, &mut out[from..]);
            }
        }
    }
    #[inline]
    fn compare(&self, at: usize, len: usize, other: &[u8]) -> Ordering {
        let start = at.min(self.len());
        let end = (at + len).clamp(start, self.len());
        compare_bytes(&self[start..end], other)
    }
    #[inline(always)] // so is its only caller
    fn is_equal(&self, at: usize, other: &[u8]) -> bool {
        let Some(own) = self.get(at..).and_then(|rest| rest.get(..other.len())) else {
            return false;
        };
        // Of equal length: two words that overlap cover what is no longer than both.
        match other.len() {
            4..=8 => {
                own.first_chunk::<4>() == other.first_chunk()
                    && own.last_chunk::<4>() == other.last_chunk()
            }
            9..=16 => {
                own.first_chunk::<8>() == other.first_chunk()
                    && own.last_chunk::<8>() == other.last_chunk()
            }
            _ => compare_bytes(own, other) == Ordering::Equal,
        }
    }
}

/// The `N` bytes at `at`, if they are all there.
#[inline]
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

/// Orders two byte strings. Keys are short: whole words first, so that a key of eight bytes costs
/// one comparison and no call.
#[inline]
pub(crate) fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let (mut x, mut y) = (a, b);
    while let (Some((p, rest_x)), Some((q, rest_y))) =
        (x.split_first_chunk::<8>(), y.split_first_chunk::<8>())
    {
        if p != q {
            return u64::from_be_bytes(*p).cmp(&u64::from_be_bytes(*q));
        }
        (x, y) = (rest_x, rest_y);
    }
    if let (Some((p, rest_x)), Some((q, rest_y))) =
        (x.split_first_chunk::<4>(), y.split_first_chunk::<4>())
    {
        if p != q {
            return u32::from_be_bytes(*p).cmp(&u32::from_be_bytes(*q));
        }
        (x, y) = (rest_x, rest_y);
    }
    for (p, q) in x.iter().zip(y) {
        if p != q {
            return p.cmp(q);
        }
    }
    x.len().cmp(&y.len())
}

impl NodeBytes for OptimisticPage<'_> {
    #[inline]
    fn u8(&self, at: usize) -> u8 {
        self.read_u8(at)
    }
    #[inline]
    fn u16(&self, at: usize) -> u16 {
        self.read_u16(at)
    }
    #[inline]
    fn u32(&self, at: usize) -> u32 {
        self.read_u32(at)
    }
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.read_u64(index.saturating_mul(8))
    }
    #[inline]
    fn copy(&self, at: usize, out: &mut [u8]) {
        OptimisticPage::copy(self, at, out);
    }
    #[inline]
    fn compare(&self, at: usize, len: usize, other: &[u8]) -> Ordering {
        OptimisticPage::compare(self, at, len, other)
    }
}
