//! Key ranges: every standard range over anything that is bytes.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys.
///
/// Implemented for the range expressions (`a..b`, `a..=b`, `a..`, `..b`, `..=b`, `..`) and pairs of
/// [`Bound`]s over any type that converts to bytes (`&[u8]`, `b"literal"`, `Vec<u8>`, `&str`,
/// arrays), and for [`Prefix`], which [`prefix`] returns. It takes the place of `RangeBounds`, so
/// that `..` needs no type annotation. An empty or reversed range holds no keys.
///
/// ```
/// use clearway::{KeyRange, prefix};
/// use std::ops::Bound::*;
///
/// assert_eq!((b"a"..b"c").bounds(), (Included(b"a".to_vec()), Excluded(b"c".to_vec())));
/// assert_eq!((..).bounds(), (Unbounded, Unbounded));
/// assert_eq!(prefix("ab").bounds(), (Included(b"ab".to_vec()), Excluded(b"ac".to_vec())));
/// ```
pub trait KeyRange {
    /// Returns the lower and the upper bound.
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>);
}

fn owned(key: &impl AsRef<[u8]>) -> Vec<u8> {
    key.as_ref().to_vec()
}

impl KeyRange for RangeFull {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyRange for Range<K> {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Included(owned(&self.start)), Bound::Excluded(owned(&self.end)))
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeInclusive<K> {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Included(owned(self.start())), Bound::Included(owned(self.end())))
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeFrom<K> {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Included(owned(&self.start)), Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeTo<K> {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Unbounded, Bound::Excluded(owned(&self.end)))
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeToInclusive<K> {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Unbounded, Bound::Included(owned(&self.end)))
    }
}

impl<K: AsRef<[u8]>, L: AsRef<[u8]>> KeyRange for (Bound<K>, Bound<L>) {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (self.0.as_ref().map(owned), self.1.as_ref().map(owned))
    }
}

/// All keys that begin with some bytes; see [`prefix`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prefix(Vec<u8>);

/// Returns the range of all keys that begin with `bytes`.
pub fn prefix(bytes: impl AsRef<[u8]>) -> Prefix {
    Prefix(bytes.as_ref().to_vec())
}

impl KeyRange for Prefix {
    fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        // Compute the first key after all keys with the prefix: increment the last byte that is not
        // 0xFF and drop what follows it. If there is no such byte (all 0xFF, or empty), the range
        // has no upper bound.
        let raised = self.0.iter().rposition(|&byte| byte != u8::MAX);
        let upper = raised.map_or(Bound::Unbounded, |at| {
            let mut key = self.0[..=at].to_vec();
            key[at] += 1;
            Bound::Excluded(key)
        });
        (Bound::Included(self.0.clone()), upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_of_high_bytes_raises_the_byte_before() {
        let upper = |bytes: &[u8]| prefix(bytes).bounds().1;
        assert_eq!(upper(b"a\xFF\xFF"), Bound::Excluded(b"b".to_vec()));
        assert_eq!(upper(b"\xFF"), Bound::Unbounded);
        assert_eq!(upper(b""), Bound::Unbounded);
    }

    #[test]
    fn every_standard_range_is_a_key_range() {
        fn accept(_: impl KeyRange) {}
        accept(..);
        accept("a"..);
        accept(..vec![1u8]);
        accept(..=[1u8, 2]);
        accept(&b"a"[..]..=&b"b"[..]);
        accept((Bound::Excluded("a"), Bound::<&[u8]>::Unbounded));
    }
}
