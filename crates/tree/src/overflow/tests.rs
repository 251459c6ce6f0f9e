//! Large values over a pool and a log in memory.

use super::*;
use crate::op::tests::memory::{Memory, TestContext};

const TREE: TreeId = TreeId(6);

fn value(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 256) as u8).collect()
}

fn pages_of(chain: OverflowRef) -> u64 {
    chain.len.div_ceil(CHUNK_LEN_MAX as u64)
}

/// Writes a value, and frees the chain if that fails.
fn store(ctx: &mut TestContext, memory: &Memory, value: &[u8]) -> Result<OverflowRef> {
    let mut writer = ChainWriter::new(TREE, value);
    let written = drive(&memory.pool, ctx, |ctx| writer.step(ctx, &memory.space));
    if written.is_err()
        && let Some((tree, chain)) = ctx.unlinked.take()
    {
        let chain = OverflowRef::from_bytes(&chain).unwrap();
        free(ctx, &memory.pool, &memory.space, tree, chain).unwrap();
    }
    written
}

fn load_of(memory: &Memory, chain: OverflowRef) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    load(&memory.pool, TREE, chain, &mut out).map(|()| out)
}

#[test]
fn values_of_every_shape_come_back_and_go_away() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let (pool, space) = (&memory.pool, &memory.space);
    let empty = space.allocated_count().unwrap();
    for len in [1, CHUNK_LEN_MAX - 1, CHUNK_LEN_MAX, CHUNK_LEN_MAX + 1, 3 * CHUNK_LEN_MAX, 100_000]
    {
        let value = value(len);
        let chain = store(&mut ctx, &memory, &value).unwrap();
        assert_eq!(OverflowRef::from_bytes(&chain.to_bytes()), Some(chain));
        assert_eq!(space.allocated_count().unwrap(), empty + pages_of(chain));
        assert!(load_of(&memory, chain).unwrap() == value);
        free(&mut ctx, pool, space, TREE, chain).unwrap();
        assert_eq!(space.allocated_count().unwrap(), empty);
    }
}

#[test]
fn redo_restores_chains() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let (a, b) = (value(50_000), value(20_000));
    let first = store(&mut ctx, &memory, &a).unwrap();
    free(&mut ctx, &memory.pool, &memory.space, TREE, first).unwrap();
    let second = store(&mut ctx, &memory, &b).unwrap();
    let again = memory.replayed();
    assert!(load_of(&again, second).unwrap() == b, "reused pages hold the later value");
}

#[test]
fn damaged_chains_are_typed_errors() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let chain = store(&mut ctx, &memory, &value(20_000)).unwrap();
    let wrong = [
        OverflowRef { len: chain.len - 1, ..chain },
        OverflowRef { len: chain.len + 1, ..chain },
        OverflowRef { len: CHUNK_LEN_MAX as u64, ..chain },
        OverflowRef { first: PageId(2), ..chain },
        OverflowRef { checksum: !chain.checksum, ..chain },
    ];
    for wrong in wrong {
        let error = load_of(&memory, wrong).unwrap_err();
        assert!(matches!(error, Error::CorruptPage { .. } | Error::Corrupt { .. }), "{error}");
    }
    let mut out = Vec::new();
    assert!(load(&memory.pool, TreeId(7), chain, &mut out).is_err());
    // A chain that leads back to its start ends with an error, not never.
    let mut page = memory.pool.exclusive(chain.first).unwrap();
    page.begin_change();
    page[28..32].copy_from_slice(&chain.first.0.to_le_bytes());
    page.finish_change(ctx.log_system(b"").unwrap().end);
    drop(page);
    assert!(load_of(&memory, chain).is_err());
    assert!(OverflowRef::from_bytes(&[0xFF; 16]).is_none());
    assert!(OverflowRef::of_record(b"short").is_err());
}

#[test]
fn front_walks_a_chain_in_steps() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let len = CHUNK_LEN_MAX * (FREE_BATCH + 3);
    let chain = store(&mut ctx, &memory, &value(len)).unwrap();
    let (pages, rest) = front(&memory.pool, TREE, chain).unwrap();
    assert_eq!((pages.len(), pages_of(rest)), (FREE_BATCH, 3));
    let (pages, rest) = front(&memory.pool, TREE, rest).unwrap();
    assert_eq!((pages.len(), rest), (3, OverflowRef::EMPTY));
}

#[test]
fn a_store_that_fails_frees_what_it_wrote() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    ctx.reserves_left = Some(3);
    let before = memory.space.allocated_count().unwrap();
    let stored = store(&mut ctx, &memory, &value(80_000));
    assert!(matches!(stored, Err(Error::LogFull { .. })));
    assert_eq!(memory.space.allocated_count().unwrap(), before);
}

#[test]
fn a_chunk_that_ends_too_early_or_too_late_is_damaged() {
    let mut bytes = vec![0; PAGE_SIZE];
    let read = |bytes: &[u8], left| page::read_chunk(PageId(9), bytes, TREE, left).is_ok();
    assert!(format_chunk(&mut bytes, TREE, PageId::NONE, &[1; 100]));
    assert!(read(&bytes, 100));
    assert!(!read(&bytes, 99) && !read(&bytes, 101), "the last chunk is as long as what is left");
    assert!(format_chunk(&mut bytes, TREE, PageId(8), &[1; 100]));
    assert!(!read(&bytes, 100), "nothing follows the last chunk");
    assert!(format_chunk(&mut bytes, TREE, PageId::NONE, &[1; CHUNK_LEN_MAX]));
    assert!(!read(&bytes, CHUNK_LEN_MAX + 1), "something follows a full chunk");
    assert!(!format_chunk(&mut bytes, TREE, PageId::NONE, &[]));
}
