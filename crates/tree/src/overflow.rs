//! Values too large for their leaf: chains of overflow pages.
//!
//! What it is
//! : A record whose value does not fit keeps a 16-byte [`OverflowRef`] instead: first page, length
//!   and checksum. Every page of the chain but the last is full, so the length says how many pages
//!   there are, and a reader's work is bounded by what the record says.
//!
//! Invariants
//! 1. *Immutable.* A chain is never changed. An update stores the new value elsewhere and changes
//!    the record; the old chain is freed when no transaction can want it back.
//! 2. *Complete before referred to.* A chain is written from its last page to its first; a record
//!    refers to it only once all pages are there.
//! 3. *Strict.* Chunk lengths follow from the value's length alone; any page that says otherwise,
//!    belongs to another tree or is no overflow page makes reading fail with a typed error.
//! 4. Freeing walks the chain under no lock: the caller knows that no record refers to it, or that
//!    the tree was dropped.
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

use std::sync::Arc;

use clearway_base::{Error, PAGE_SIZE, PageId, Result, TreeId, VALUE_LEN_MAX, crc32c};
use clearway_pool::Pool;

pub(crate) use page::{CHUNK_LEN_MAX, format_chunk};

use crate::need::{Step, drive, drive_reads, reserve};
use crate::op::{Op, SystemOp, perform};
use crate::space::{Allocation, Preparation, SpaceMap, map_page_of};
use crate::{Environment, Journal, Wait, resident};

/// Log bytes for one page of a chain: its image, header and allocation, rounded up.
const PAGE_RESERVE: usize = PAGE_SIZE + SpaceMap::ALLOCATE_RESERVE + 64;
/// Upper bound on the pages that one record frees: a body of about 2 KiB.
const FREE_BATCH: usize = 512;

/// Where a large value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OverflowRef {
    /// The first page.
    pub(crate) first: PageId,
    /// CRC-32C of the whole value; 0, and not checked, for a chain that is unfinished or was cut.
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
    /// `Corrupt` if the value is no such reference.
    pub(crate) fn of_record(value: &[u8]) -> Result<OverflowRef> {
        OverflowRef::from_bytes(value)
            .ok_or_else(|| Error::corrupt("tree", "a record's overflow reference is damaged"))
    }
}

/// The writing of a value as a chain, one system transaction a page.
pub(crate) struct ChainWriter<'v> {
    tree: TreeId,
    value: &'v [u8],
    /// The pages that are written, which are the last ones of the chain.
    written: OverflowRef,
    preparation: Preparation,
}

impl<'v> ChainWriter<'v> {
    pub(crate) fn new(tree: TreeId, value: &'v [u8]) -> ChainWriter<'v> {
        let (written, preparation) = (OverflowRef::EMPTY, Preparation::default());
        ChainWriter { tree, value, written, preparation }
    }

    /// Writes the pages that are still to be written, and returns the chain. No record leads to it
    /// yet; from the first page on, the transaction remembers that
    /// ([`Upkeep::note_unlinked`](crate::Upkeep::note_unlinked)).
    ///
    /// # Errors
    /// Those of the allocation and of the log. The caller holds no latch.
    pub(crate) fn step(
        &mut self,
        ctx: &mut impl Environment,
        space: &SpaceMap,
    ) -> Step<OverflowRef> {
        let mut body = Vec::with_capacity(PAGE_SIZE);
        loop {
            let left = self.value.len() - self.written.len as usize;
            if left == 0 {
                return Ok(OverflowRef { checksum: crc32c(self.value), ..self.written });
            }
            // The last page first, so that each knows the next. Only the last chunk may be short.
            let chunk = &self.value[(left - 1) / CHUNK_LEN_MAX * CHUNK_LEN_MAX..left];
            let first = self.write(ctx, space, chunk, &mut body)?;
            let len = self.written.len + chunk.len() as u64;
            self.written = OverflowRef { first, checksum: 0, len };
            ctx.note_unlinked(Some((self.tree, self.written.to_bytes())));
        }
    }

    /// Allocates and writes one page.
    fn write(
        &mut self,
        ctx: &mut impl Environment,
        space: &SpaceMap,
        payload: &[u8],
        body: &mut Vec<u8>,
    ) -> Step<PageId> {
        reserve(ctx, PAGE_RESERVE)?;
        space.prepare(ctx, 1, &mut self.preparation)?;
        let Allocation { mut map, mut page } = space.allocate(ctx)?;
        let (page_id, tree, next) = (page.id(), self.tree, self.written.first);
        Op::System(SystemOp::WriteOverflow { page: page_id, tree, next, payload }).encode(body);
        perform(ctx, Journal::log_system, body, &mut [&mut page, &mut map])?;
        self.preparation = Preparation::default();
        Ok(page_id)
    }
}

/// The reading of a value from its chain.
#[derive(Debug)]
pub(crate) struct ChainReader {
    chain: OverflowRef,
    next: PageId,
    left: usize,
}

impl ChainReader {
    pub(crate) fn new(chain: OverflowRef) -> ChainReader {
        ChainReader { chain, next: chain.first, left: chain.len as usize }
    }

    /// Begins to read the value of a record that is flagged as an overflow reference.
    ///
    /// # Errors
    /// `Corrupt` if the value is no such reference.
    pub(crate) fn of_record(value: &[u8]) -> Result<ChainReader> {
        OverflowRef::of_record(value).map(ChainReader::new)
    }

    /// Appends the value, or what is left of it, to `out`, to which nothing but this value is
    /// appended. The caller holds the record's lock or its leaf's latch, so that the chain cannot
    /// be freed meanwhile.
    ///
    /// # Errors
    /// `CorruptPage` for a page that is not the chain's, `Corrupt` for a wrong checksum.
    pub(crate) fn step(&mut self, pool: &Pool, tree: TreeId, out: &mut Vec<u8>) -> Step<()> {
        while self.left > 0 {
            let page = resident::shared(pool, self.next)?;
            let (next, payload) = page::read_chunk(self.next, &page, tree, self.left)?;
            out.extend_from_slice(payload);
            (self.next, self.left) = (next, self.left - payload.len());
        }
        if crc32c(out) != self.chain.checksum {
            let first = self.chain.first;
            let detail = format!("the value that begins on page {first} has a wrong checksum");
            return Err(Error::corrupt("tree", detail).into());
        }
        Ok(())
    }
}

/// Replaces `out` by the value, reading its pages in.
///
/// # Errors
/// Those of [`ChainReader::step`], and of reading a page.
pub(crate) fn load(
    pool: &Arc<Pool>,
    tree: TreeId,
    chain: OverflowRef,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    let mut reader = ChainReader::new(chain);
    drive_reads(pool, || reader.step(pool, tree, out))
}

/// A walk over the front of a chain: its first pages, as many as one record can free (at least one,
/// unless the chain is empty).
struct Front {
    pages: Vec<PageId>,
    /// The reference to what comes after them.
    rest: OverflowRef,
}

impl Front {
    fn new(chain: OverflowRef) -> Front {
        Front { pages: Vec::new(), rest: OverflowRef { checksum: 0, ..chain } }
    }

    /// Completes the walk.
    ///
    /// # Errors
    /// `CorruptPage` for a page that is not the chain's.
    fn step(&mut self, pool: &Pool, tree: TreeId) -> Step<()> {
        let map = map_page_of(*self.pages.first().unwrap_or(&self.rest.first));
        while !self.rest.is_empty()
            && self.pages.len() < FREE_BATCH
            && map_page_of(self.rest.first) == map
        {
            let (id, left) = (self.rest.first, self.rest.len as usize);
            let page = resident::shared(pool, id)?;
            let (next, payload) = page::read_chunk(id, &page, tree, left)?;
            let len = (left - payload.len()) as u64;
            self.pages.push(id);
            self.rest = OverflowRef { first: next, checksum: 0, len };
            if len == 0 {
                self.rest = OverflowRef::EMPTY;
            }
        }
        Ok(())
    }
}

/// Walks the front of a chain, reading its pages in: its first pages, as many as one record can
/// free (at least one, unless the chain is empty), and the reference to what comes after them.
///
/// # Errors
/// `CorruptPage` for a page that is not the chain's, and the errors of reading a page.
pub(crate) fn front(
    pool: &Arc<Pool>,
    tree: TreeId,
    chain: OverflowRef,
) -> Result<(Vec<PageId>, OverflowRef)> {
    let mut front = Front::new(chain);
    drive_reads(pool, || front.step(pool, tree))?;
    Ok((front.pages, front.rest))
}

/// Frees a chain to which nothing leads any more, up to 512 pages in each system transaction. The
/// caller holds no latch.
///
/// # Errors
/// Those of the pool and the log; what was not freed by then is leaked.
pub(crate) fn free(
    ctx: &mut (impl Environment + Wait),
    pool: &Arc<Pool>,
    space: &SpaceMap,
    tree: TreeId,
    mut chain: OverflowRef,
) -> Result<()> {
    while !chain.is_empty() {
        let mut front = Front::new(chain);
        drive(pool, ctx, |ctx| free_front(ctx, pool, space, tree, &mut front))?;
        chain = front.rest;
    }
    Ok(())
}

/// Frees the front of a chain in one system transaction.
fn free_front(
    ctx: &mut impl Environment,
    pool: &Pool,
    space: &SpaceMap,
    tree: TreeId,
    front: &mut Front,
) -> Step<()> {
    front.step(pool, tree)?;
    reserve(ctx, front.pages.len() * 4 + 64)?;
    let lowest = front.pages.iter().copied().min().unwrap_or(front.rest.first);
    let mut map = space.map_for(lowest)?;
    let mut body = Vec::new();
    let pages = front.pages.clone();
    Op::System(SystemOp::FreePages { tree, pages }).encode(&mut body);
    perform(ctx, Journal::log_system, &body, &mut [&mut map])?;
    drop(map);
    space.note_freed(lowest);
    Ok(())
}
