//! Allocation over a pool and a log in memory.

use std::collections::BTreeSet;

use super::*;
use crate::op::tests::memory::{Memory, TestContext};
use clearway_base::TreeId;

const TREE: TreeId = TreeId(4);

fn allocate(memory: &Memory, ctx: &mut TestContext) -> PageId {
    let (mut body, mut preparation) = (Vec::new(), Preparation::default());
    let allocated = drive(&memory.pool, ctx, |ctx| {
        memory.space.prepare(ctx, 1, &mut preparation)?;
        let Allocation { mut map, mut page } = memory.space.allocate(ctx)?;
        let id = page.id();
        let op = SystemOp::FormatRoot { page: id, tree: TREE, node_bytes: 8192 };
        op.encode(&mut body);
        perform(ctx, Journal::log_system, &body, &mut [&mut page, &mut map])?;
        Ok(id)
    });
    allocated.unwrap()
}

fn prepare(memory: &Memory, ctx: &mut TestContext) {
    let mut preparation = Preparation::default();
    drive(&memory.pool, ctx, |ctx| memory.space.prepare(ctx, 1, &mut preparation)).unwrap();
}

fn free(memory: &Memory, ctx: &mut TestContext, pages: Vec<PageId>) {
    let mut body = Vec::new();
    let lowest = *pages.iter().min().unwrap();
    let mut map = memory.space.map_for(lowest).unwrap();
    SystemOp::FreePages { tree: TREE, pages }.encode(&mut body);
    perform(ctx, Journal::log_system, &body, &mut [&mut map]).unwrap();
    drop(map);
    memory.space.note_freed(lowest);
}

fn allocated(memory: &Memory) -> BTreeSet<PageId> {
    let mut pages = BTreeSet::new();
    memory.space.for_each_allocated(|page| assert!(pages.insert(page))).unwrap();
    assert_eq!(memory.space.allocated_count().unwrap(), pages.len() as u64);
    pages
}

#[test]
fn file_does_not_grow_under_latches() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    for _ in 0..300 {
        prepare(&memory, &mut ctx);
        let prepared = memory.pool.page_count();
        allocate(&memory, &mut ctx);
        assert_eq!(memory.pool.page_count(), prepared);
    }
}

#[test]
fn freed_pages_are_allocated_again_lowest_first() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let pages: Vec<_> = (0..100).map(|_| allocate(&memory, &mut ctx)).collect();
    assert_eq!(pages, (3..103).map(PageId).collect::<Vec<_>>());
    free(&memory, &mut ctx, vec![PageId(70), PageId(20), PageId(21)]);
    assert!(!memory.space.is_allocated(PageId(20)).unwrap());
    assert!(memory.space.is_allocated(PageId(22)).unwrap());
    let again: Vec<_> = (0..4).map(|_| allocate(&memory, &mut ctx).0).collect();
    assert_eq!(again, [20, 21, 70, 103]);
    assert_eq!(allocated(&memory), (2..104).map(PageId).collect());
}

#[test]
fn full_map_leads_to_the_next_one() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    // All of the first map's pages, in two records.
    let first = memory.space.map_for(PageId(3)).unwrap();
    let id = first.id();
    let mut first = first;
    let all: Vec<_> = (3..2 + SPACE_SPAN).map(PageId).collect();
    first.begin_change();
    assert!(set_allocated(id, &mut first, &all, true));
    first.finish_change(ctx.log_system(b"").unwrap().end);
    drop(first);
    let page = allocate(&memory, &mut ctx);
    assert_eq!(page, PageId(2 + SPACE_SPAN + 1));
    assert_eq!(map_page_of(page), PageId(2 + SPACE_SPAN));
    assert_eq!(memory.space.allocated_count().unwrap(), u64::from(SPACE_SPAN) + 2);
    free(&memory, &mut ctx, vec![PageId(5)]);
    assert_eq!(allocate(&memory, &mut ctx), PageId(5));
    assert_eq!(allocate(&memory, &mut ctx), PageId(2 + SPACE_SPAN + 2));
}

#[test]
fn an_allocation_that_is_not_logged_gives_the_page_back() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    prepare(&memory, &mut ctx);
    let first = memory.space.allocate(&mut ctx).unwrap().page.id();
    assert_eq!(memory.space.allocate(&mut ctx).unwrap().page.id(), first);
    assert!(!memory.space.is_allocated(first).unwrap());
}

#[test]
fn a_latched_page_is_passed_over_and_stays_free() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let pages: Vec<_> = (0..3).map(|_| allocate(&memory, &mut ctx)).collect();
    free(&memory, &mut ctx, pages.clone());
    // As the pages of a tree are whose map has lost their bits.
    let in_use =
        [memory.pool.exclusive(pages[0]).unwrap(), memory.pool.exclusive(pages[1]).unwrap()];
    assert_eq!(allocate(&memory, &mut ctx), pages[2]);
    drop(in_use);
    assert_eq!(allocate(&memory, &mut ctx), pages[0]);
    assert_eq!(allocate(&memory, &mut ctx), pages[1]);
}

#[test]
fn redo_restores_the_map() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let pages: Vec<_> = (0..10).map(|_| allocate(&memory, &mut ctx)).collect();
    free(&memory, &mut ctx, pages[2..5].to_vec());
    let again = memory.replayed();
    assert_eq!(allocated(&again), allocated(&memory));
    assert_eq!(allocate(&again, &mut again.context()), pages[2], "the hint is found again");
}

#[test]
fn a_page_in_the_maps_place_is_reported() {
    let memory = Memory::new();
    let mut ctx = memory.context();
    let mut map = memory.space.map_for(PageId(3)).unwrap();
    map.begin_change();
    map[16] = 2;
    map.finish_change(ctx.log_system(b"").unwrap().end);
    drop(map);
    let error = memory.space.allocate(&mut ctx).err().unwrap().need().unwrap_err();
    assert!(matches!(error, Error::CorruptPage { page: PageId(2), .. }));
}

#[test]
fn pages_of_the_superblock_are_neither_allocated_nor_freed() {
    let mut map = vec![0; 8192];
    assert!(format_map(&mut map));
    for page in [0, 1, 2] {
        for allocated in [true, false] {
            assert!(!set_allocated(PageId(2), &mut map, &[PageId(page)], allocated));
        }
    }
    assert!(set_allocated(PageId(2), &mut map, &[PageId(3)], true));
}
