//! Values too large for their leaf: chains of overflow pages.
//!
//! What it is
//! : A record whose value does not fit keeps a 16-byte [`OverflowRef`] instead: first page, length
//!   and checksum. Every page of the chain but the last is full, so the length says how many pages
//!   there are, and a reader's work is bounded by what the record says.
//!
//! Invariants
//! 1. *Immutable.* A chain is never changed. An update stores a new chain and changes the
//!    reference; the old chain is freed when no transaction can want it back.
//! 2. *Complete before referred to.* A chain is written from its last page to its first; its
//!    reference exists only once all pages are there.
//! 3. *Strict.* Chunk lengths follow from the value's length alone; any page that says otherwise,
//!    belongs to another tree or is no overflow page makes reading fail with a typed error.
//! 4. Freeing walks the chain under no lock: the caller knows that nobody else refers to it.
//!
//! Latch order
//! : Writing: map page, then the new page (see [`space`](crate::space)). Reading: one page at a
//!   time, shared; under the leaf's latch or without it, if the record's lock is held.
//!
//! Differences
//! : A crash between storing a chain and logging the record that refers to it leaks the chain's
//!   pages: `verify` counts them as unreachable, and nothing else is affected.

mod page;

#[cfg(test)]
mod tests;

use clearway_base::{Error, PAGE_SIZE, PageId, Result, TreeId, VALUE_LEN_MAX, crc32c};
use clearway_pool::Pool;

pub(crate) use page::{CHUNK_LEN_MAX, format_chunk};

use crate::context::Context;
use crate::op::{Op, SystemOp, perform};
use crate::space::{Allocation, SpaceMap, map_page_of};

/// Log bytes for one page of a chain: its image, header and allocation, rounded up.
const PAGE_RESERVE: usize = PAGE_SIZE + SpaceMap::ALLOCATE_RESERVE + 64;
/// Most pages that one record frees: a body of about 2 KiB.
const FREE_BATCH: usize = 512;

/// Where a large value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OverflowRef {
    /// The first page.
    pub(crate) first: PageId,
    /// CRC-32C of the whole value; 0, and not checked, for a chain that has been cut.
    pub(crate) checksum: u32,
    /// Length of the value in bytes.
    pub(crate) len: u64,
}

impl OverflowRef {
    /// Bytes of an encoded reference.
    pub(crate) const LEN: usize = 16;

    /// The reference to nothing: what is left of a chain that has been freed.
    pub(crate) const EMPTY: OverflowRef = OverflowRef { first: PageId::NONE, checksum: 0, len: 0 };

    /// Whether there is no chain.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The 16 bytes kept as the record's value: page, checksum, length, little-endian.
    pub(crate) fn to_bytes(self) -> [u8; OverflowRef::LEN] {
        let mut bytes = [0; OverflowRef::LEN];
        bytes[..4].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[8..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](OverflowRef::to_bytes) wrote; `None` if it cannot have.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<OverflowRef> {
        let bytes: &[u8; OverflowRef::LEN] = bytes.try_into().ok()?;
        let first = PageId(u32::from_le_bytes(*bytes.first_chunk()?));
        let checksum = u32::from_le_bytes(*bytes[4..].first_chunk()?);
        let len = u64::from_le_bytes(*bytes[8..].first_chunk()?);
        let sound = len <= VALUE_LEN_MAX as u64 && (len == 0) == (first == PageId::NONE);
        sound.then_some(OverflowRef { first, checksum, len })
    }

    /// Reads the value of a record that is flagged as an overflow reference.
    ///
    /// # Errors
    /// `Corrupt` if it is none.
    pub(crate) fn of_record(value: &[u8]) -> Result<OverflowRef> {
        OverflowRef::from_bytes(value)
            .ok_or_else(|| Error::corrupt("tree", "a record's overflow reference is damaged"))
    }
}

/// Writes a value as a chain, one system transaction a page. The caller holds no latch.
///
/// # Errors
/// What allocation or the log returns; the pages written until then are freed again.
pub(crate) fn store(
    ctx: &mut impl Context,
    pool: &Pool,
    space: &SpaceMap,
    tree: TreeId,
    value: &[u8],
) -> Result<OverflowRef> {
    let mut chain = OverflowRef::EMPTY;
    let mut body = Vec::with_capacity(PAGE_SIZE);
    // The last page first, so that each knows the next. Only the last chunk may be short.
    for chunk in value.chunks(CHUNK_LEN_MAX).rev() {
        match store_chunk(ctx, space, (tree, chain.first), chunk, &mut body) {
            Ok(first) => {
                let len = chain.len + chunk.len() as u64;
                chain = OverflowRef { first, checksum: 0, len };
            }
            Err(error) => {
                // Best effort: if this fails as well, the pages are leaked, not lost.
                let _ = free(ctx, pool, space, tree, chain);
                return Err(error);
            }
        }
    }
    Ok(OverflowRef { checksum: crc32c(value), ..chain })
}

/// Allocates and writes one page; `(tree, next)` go into its header.
fn store_chunk(
    ctx: &mut impl Context,
    space: &SpaceMap,
    (tree, next): (TreeId, PageId),
    payload: &[u8],
    body: &mut Vec<u8>,
) -> Result<PageId> {
    ctx.reserve(PAGE_RESERVE)?;
    space.prepare(ctx, 1)?;
    let Allocation { mut map, mut page } = space.allocate(ctx)?;
    let id = page.id();
    Op::System(SystemOp::WriteOverflow { page: id, tree, next, payload }).encode(body);
    perform(ctx, Context::log_system, body, &mut [&mut page, &mut map])?;
    Ok(id)
}

/// Replaces `out` by the value. The caller holds the record's lock or its leaf's latch, so that
/// the chain cannot be freed meanwhile.
///
/// # Errors
/// `CorruptPage` for a page that is not the chain's, `Corrupt` for a wrong checksum.
pub(crate) fn load(pool: &Pool, tree: TreeId, chain: OverflowRef, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    let (mut id, mut left) = (chain.first, chain.len as usize);
    while left > 0 {
        let page = pool.shared(id)?;
        let (next, payload) = page::read_chunk(id, &page, tree, left)?;
        out.extend_from_slice(payload);
        (id, left) = (next, left - payload.len());
    }
    if crc32c(out) != chain.checksum {
        return Err(Error::corrupt(
            "tree",
            format!("the value that begins on page {} has a wrong checksum", chain.first),
        ));
    }
    Ok(())
}

/// Walks the front of a chain: its first pages, as many as one record can free (at least one,
/// unless the chain is empty), and the reference to what comes after them.
///
/// # Errors
/// `CorruptPage` for a page that is not the chain's.
pub(crate) fn front(
    pool: &Pool,
    tree: TreeId,
    chain: OverflowRef,
) -> Result<(Vec<PageId>, OverflowRef)> {
    let (mut pages, mut id, mut left) = (Vec::new(), chain.first, chain.len as usize);
    let map = map_page_of(id);
    while left > 0 && pages.len() < FREE_BATCH && map_page_of(id) == map {
        let page = pool.shared(id)?;
        let (next, payload) = page::read_chunk(id, &page, tree, left)?;
        pages.push(id);
        (id, left) = (next, left - payload.len());
    }
    let rest = OverflowRef { first: id, checksum: 0, len: left as u64 };
    Ok((pages, if left == 0 { OverflowRef::EMPTY } else { rest }))
}

/// Frees a chain to which nothing refers any more, some hundred pages a system transaction. The
/// caller holds no latch.
///
/// # Errors
/// What the pool or the log returns; what was not freed by then is leaked.
pub(crate) fn free(
    ctx: &mut impl Context,
    pool: &Pool,
    space: &SpaceMap,
    tree: TreeId,
    mut chain: OverflowRef,
) -> Result<()> {
    let mut body = Vec::new();
    while !chain.is_empty() {
        let (pages, rest) = front(pool, tree, chain)?;
        ctx.reserve(pages.len() * 4 + 64)?;
        let lowest = pages.iter().copied().min().unwrap_or(chain.first);
        let mut map = space.map_for(lowest)?;
        Op::System(SystemOp::FreePages { tree, pages }).encode(&mut body);
        perform(ctx, Context::log_system, &body, &mut [&mut map])?;
        drop(map);
        space.note_freed(lowest);
        chain = rest;
    }
    Ok(())
}
