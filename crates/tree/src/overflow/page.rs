//! The bytes of an overflow page.
//!
//! ```text
//!   0          24         28        32         36         40                   8192
//!   +----------+----------+---------+----------+----------+--------------------+
//!   | pool     | tree u32 | next    | chunk    | reserved | chunk, then zeros  |
//!   | header   |          | page u32| len u32  | 0        |                    |
//!   +----------+----------+---------+----------+----------+--------------------+
//! ```

use clearway_base::{Error, PAGE_SIZE, PageId, Result, TreeId};

use crate::node::{NodeBytes, PageKind};

/// Offset of the kind byte.
const KIND: usize = 16;
/// `u32`: the tree that the value belongs to.
const TREE: usize = 24;
/// `u32`: the page of the next chunk, 0 in the last.
const NEXT: usize = 28;
/// `u32`: bytes of the chunk.
const CHUNK_LEN: usize = 32;
/// The chunk.
const CHUNK: usize = 40;

/// Bytes of value on a page; all but the last page of a chain hold as many.
pub(crate) const CHUNK_LEN_MAX: usize = PAGE_SIZE - CHUNK;

/// Makes `bytes` an overflow page. `false` if the chunk is too long.
pub(crate) fn format_chunk(bytes: &mut [u8], tree: TreeId, next: PageId, chunk: &[u8]) -> bool {
    if chunk.is_empty() || chunk.len() > CHUNK_LEN_MAX {
        return false;
    }
    bytes[KIND..].fill(0);
    bytes[KIND] = PageKind::Overflow as u8;
    bytes[TREE..TREE + 4].copy_from_slice(&tree.0.to_le_bytes());
    bytes[NEXT..NEXT + 4].copy_from_slice(&next.0.to_le_bytes());
    bytes[CHUNK_LEN..CHUNK_LEN + 4].copy_from_slice(&(chunk.len() as u32).to_le_bytes());
    bytes[CHUNK..CHUNK + chunk.len()].copy_from_slice(chunk);
    true
}

/// The next page and the chunk of an overflow page, when `left` bytes of the value are still to
/// come, this page's included.
pub(super) fn read_chunk(
    page: PageId,
    bytes: &[u8],
    tree: TreeId,
    left: usize,
) -> Result<(PageId, &[u8])> {
    let corrupt = |detail: String| Error::CorruptPage { page, detail };
    if PageKind::of(bytes.u8(KIND)) != PageKind::Overflow {
        return Err(corrupt("not an overflow page".into()));
    }
    if bytes.u32(TREE) != tree.0 {
        return Err(corrupt(format!("overflow page of tree {}, not {}", bytes.u32(TREE), tree.0)));
    }
    let (next, len) = (PageId(bytes.u32(NEXT)), bytes.u32(CHUNK_LEN) as usize);
    if len != left.min(CHUNK_LEN_MAX) || (next == PageId::NONE) != (len == left) {
        let detail = format!("overflow chunk of {len} bytes, next {next}, {left} bytes to come");
        return Err(corrupt(detail));
    }
    Ok((next, &bytes[CHUNK..CHUNK + len]))
}
