//! Fields of a row: numbers and texts at fixed places, read and patched in place.
//!
//! A row that is too short for a field reads as zero or as nothing, and is not written.

use std::marker::PhantomData;

/// A little-endian number at a fixed place.
#[derive(Clone, Copy)]
pub(crate) struct Field<T> {
    at: usize,
    kind: PhantomData<T>,
}

impl<T> Field<T> {
    pub(crate) const fn at(at: usize) -> Field<T> {
        Field { at, kind: PhantomData }
    }

    /// The offset at which the next field may begin.
    pub(crate) const fn end(&self) -> usize {
        self.at + size_of::<T>()
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Field<$number> {
            #[inline]
            pub(crate) fn get(self, row: &[u8]) -> $number {
                let bytes = row.get(self.at..).and_then(<[u8]>::first_chunk);
                bytes.map_or(0, |bytes| <$number>::from_le_bytes(*bytes))
            }

            #[inline]
            pub(crate) fn set(self, row: &mut [u8], value: $number) {
                if let Some(bytes) = row.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
                    *bytes = value.to_le_bytes();
                }
            }
        }
    )*};
}
numbers!(u8 u32 i64);

macro_rules! sums {
    ($($number:ty)*) => {$(
        impl Field<$number> {
            /// Adds to the number and returns the sum.
            #[inline]
            pub(crate) fn add(self, row: &mut [u8], value: $number) -> $number {
                let sum = self.get(row).wrapping_add(value);
                self.set(row, sum);
                sum
            }
        }
    )*};
}
sums!(u32 i64);

/// A text at a fixed place, padded with spaces.
#[derive(Clone, Copy)]
pub(crate) struct Text<const LEN: usize> {
    at: usize,
}

impl<const LEN: usize> Text<LEN> {
    pub(crate) const fn at(at: usize) -> Text<LEN> {
        Text { at }
    }

    /// The offset at which the next field may begin.
    pub(crate) const fn end(self) -> usize {
        self.at + LEN
    }

    /// The text with its padding.
    #[inline]
    pub(crate) fn get(self, row: &[u8]) -> [u8; LEN] {
        row.get(self.at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([b' '; LEN])
    }

    #[inline]
    pub(crate) fn set(self, row: &mut [u8], text: [u8; LEN]) {
        if let Some(bytes) = row.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = text;
        }
    }
}

/// A text of varying length that is a row's last field.
#[derive(Clone, Copy)]
pub(crate) struct Tail {
    at: usize,
}

impl Tail {
    pub(crate) const fn at(at: usize) -> Tail {
        Tail { at }
    }

    #[inline]
    pub(crate) fn get(self, row: &[u8]) -> &[u8] {
        row.get(self.at..).unwrap_or_default()
    }

    /// Puts `text` before what is there and cuts the field to `len_max` bytes.
    #[inline]
    pub(crate) fn prepend(self, row: &mut Vec<u8>, text: &[u8], len_max: usize) {
        let Some(kept) = row.len().checked_sub(self.at) else { return };
        let len = (kept + text.len()).min(len_max);
        row.resize(row.len() + text.len(), 0);
        row.copy_within(self.at..self.at + kept, self.at + text.len());
        row[self.at..self.at + text.len()].copy_from_slice(text);
        row.truncate(self.at + len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_patched_in_place_and_short_rows_are_left_alone() {
        const COUNT: Field<u32> = Field::at(1);
        const SUM: Field<i64> = Field::at(COUNT.end());
        const NAME: Text<3> = Text::at(SUM.end());
        let mut row = vec![7; NAME.end() + 1];
        COUNT.set(&mut row, 5);
        SUM.set(&mut row, -3);
        NAME.set(&mut row, *b"abc");
        assert_eq!((COUNT.add(&mut row, 2), SUM.add(&mut row, -4)), (7, -7));
        assert_eq!((COUNT.get(&row), SUM.get(&row), NAME.get(&row)), (7, -7, *b"abc"));
        assert_eq!((row[0], row[NAME.end()]), (7, 7));
        let mut short = vec![1, 2];
        SUM.set(&mut short, 1);
        NAME.set(&mut short, *b"abc");
        assert_eq!((SUM.get(&short), NAME.get(&short), &short[..]), (0, *b"   ", &[1, 2][..]));
    }

    #[test]
    fn what_is_prepended_pushes_the_rest_out_on_the_right() {
        const DATA: Tail = Tail::at(2);
        let mut row = b"##old".to_vec();
        DATA.prepend(&mut row, b"new", 6);
        assert_eq!(row, b"##newold");
        DATA.prepend(&mut row, b"xy", 6);
        assert_eq!((&row[..], DATA.get(&row)), (&b"##xynewo"[..], &b"xynewo"[..]));
        let mut short = b"#".to_vec();
        DATA.prepend(&mut short, b"new", 6);
        assert_eq!((&short[..], DATA.get(&short)), (&b"#"[..], &b""[..]));
    }
}
