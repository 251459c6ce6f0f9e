//! The encoding of bodies: one code byte, then fields.
//!
//! Page ids are four bytes; tree ids, slots, offsets and lengths are variable-length numbers (seven
//! bits a byte, low bits first, high bit set on all but the last), and the last byte string of a
//! body has no length: it ends where the body ends.

use clearway_base::{PageId, TreeId};

/// Appends a variable-length number.
#[inline]
pub(super) fn put_number(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length or a slot.
#[inline]
pub(super) fn put_len(out: &mut Vec<u8>, value: usize) {
    put_number(out, value as u32);
}

/// Appends a byte string with its length.
#[inline]
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Starts a body: code and first page.
#[inline]
pub(super) fn start(out: &mut Vec<u8>, code: u8, page: PageId) {
    out.clear();
    out.push(code);
    out.extend_from_slice(&page.0.to_le_bytes());
}

/// Reads fields off the front of a body. `None` from any method means a damaged body.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { rest: body }
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// A page that is there.
    #[inline]
    pub(super) fn page(&mut self) -> Option<PageId> {
        self.page_or_none().filter(|&page| page != PageId::NONE)
    }

    #[inline]
    pub(super) fn page_or_none(&mut self) -> Option<PageId> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(PageId(u32::from_le_bytes(*bytes)))
    }

    /// A number in its shortest form, so that a body has one encoding only.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u32> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u32::from(first));
        }
        let mut value = u64::from(first & 0x7F);
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return u32::try_from(value).ok().filter(|_| byte != 0);
            }
        }
        None
    }

    #[inline]
    pub(super) fn len(&mut self) -> Option<usize> {
        self.number().map(|n| n as usize)
    }

    #[inline]
    pub(super) fn tree(&mut self) -> Option<TreeId> {
        self.number().map(TreeId)
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A byte string with its length.
    #[inline]
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    /// All that is left.
    #[inline]
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// `value`, if nothing is left.
    #[inline]
    pub(super) fn end<T>(self, value: T) -> Option<T> {
        self.rest.is_empty().then_some(value)
    }
}
