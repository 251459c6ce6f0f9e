//! Redo from any mix of page versions gives the bytes that forward processing left.
//!
//! A miniature tree of two levels is driven at random through every kind of operation, over pages
//! in plain memory. Each page version is kept. Then a crash is simulated: every page falls back to
//! a version of its own, and the log is redone from the start.

use std::collections::BTreeMap;

use clearway_base::{PAGE_SIZE, PageId, TreeId};
use proptest::prelude::*;

use super::super::*;
use crate::node::{Division, Image, Node, Place};

const TREE: TreeId = TreeId(3);
const MAP: PageId = PageId(2);
const ROOT: PageId = PageId(3);
const NODE_BYTES: usize = 320;

type Page = Box<[u8; PAGE_SIZE]>;
type Pages = BTreeMap<PageId, Page>;

fn lsn_of(page: &Page) -> u64 {
    u64::from_le_bytes(*page[8..].first_chunk().unwrap())
}

/// Applies a body to its pages as [`redo`] does: record number `lsn` ends at `lsn`.
fn apply(pages: &mut Pages, body: &[u8], lsn: u64) {
    let op = Op::decode(body).unwrap();
    for (id, formats) in op.pages().iter() {
        let page = pages.entry(id).or_insert_with(|| Box::new([0; PAGE_SIZE]));
        if formats {
            page.fill(0);
        }
        if lsn_of(page) < lsn {
            op.apply_to(id, &mut page[..]).unwrap_or_else(|error| panic!("{op:?}: {error}"));
            page[8..16].copy_from_slice(&lsn.to_le_bytes());
        }
    }
}

/// The miniature tree, its log and its content.
#[derive(Default)]
struct Mini {
    pages: Pages,
    /// After each record, the versions of the pages it touched.
    versions: BTreeMap<PageId, Vec<Page>>,
    log: Vec<Vec<u8>>,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    next_page: u32,
}

impl Mini {
    fn new() -> Mini {
        let mut mini = Mini { next_page: ROOT.0 + 1, ..Mini::default() };
        mini.system(SystemOp::FormatMap { map: MAP });
        mini.system(SystemOp::FormatRoot { page: ROOT, tree: TREE, node_bytes: NODE_BYTES });
        let child = mini.new_page();
        let image = mini.image(ROOT);
        let image = Image::parse(&image).unwrap();
        mini.system(SystemOp::GrowRoot { root: ROOT, child, tree: TREE, image });
        mini
    }

    fn log(&mut self, op: &Op<'_>) {
        let mut body = Vec::new();
        op.encode(&mut body);
        apply(&mut self.pages, &body, self.log.len() as u64 + 1);
        self.log.push(body);
        for (id, _) in op.pages().iter() {
            self.versions.entry(id).or_default().push(self.pages[&id].clone());
        }
    }

    fn system(&mut self, op: SystemOp<'_>) {
        self.log(&Op::System(op));
    }

    fn user(&mut self, page: PageId, slot: usize, key: &[u8], change: Change<'_>) {
        self.log(&Op::User(UserOp { page, tree: TREE, slot, key, change }));
    }

    fn compensate(&mut self, page: PageId, slot: usize, restore: Restore<'_>) {
        self.log(&Op::Compensation(CompensationOp { page, tree: TREE, slot, restore }));
    }

    fn new_page(&mut self) -> PageId {
        self.next_page += 1;
        PageId(self.next_page - 1)
    }

    fn node(&self, page: PageId) -> Node<'_, [u8]> {
        Node::new(&self.pages[&page][..])
    }

    fn image(&self, page: PageId) -> Vec<u8> {
        let mut image = Vec::new();
        assert!(self.node(page).image_into(&mut image));
        image
    }

    /// The leaf of a key, by way of the foster chain.
    fn leaf(&self, key: &[u8]) -> PageId {
        let mut page = ROOT;
        loop {
            match self.node(page).place(key) {
                Place::Foster(foster) => page = foster,
                Place::Here if self.node(page).is_branch() => {
                    page = self.node(page).child_for(key).1;
                }
                Place::Here => return page,
                wrong => panic!("{wrong:?} at page {page}"),
            }
        }
    }

    /// Splits the leaf of `key`, and adopts if the root has room.
    fn make_room(&mut self, key: &[u8]) -> bool {
        let left = self.leaf(key);
        let insert_at = self.node(left).find(key).unwrap_or_else(|slot| slot);
        let Some(slot) = self.node(left).split_slot(insert_at, Division::ByPattern) else {
            return false;
        };
        let right = self.new_page();
        let mut image = Vec::new();
        assert!(self.node(left).upper_image_into(slot, &mut image));
        let image = Image::parse(&image).unwrap();
        self.system(SystemOp::Split { left, right, tree: TREE, slot, image });
        true
    }

    fn adopt(&mut self, key: &[u8]) {
        let (_, child) = self.node(ROOT).child_for(key);
        let Some((foster, separator)) = self.node(child).foster_link() else { return };
        let separator = separator.to_vec();
        if self.node(ROOT).fits(separator.len(), 4) {
            let (parent, key) = (ROOT, &separator[..]);
            self.system(SystemOp::Adopt { parent, child, tree: TREE, foster, key });
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8], style: u8) {
        for _ in 0..20 {
            let page = self.leaf(key);
            let node = self.node(page);
            match node.find(key) {
                Ok(slot) if node.fits_value(slot, value.len()) => {
                    let (old, ghost) = (node.value(slot).to_vec(), node.is_ghost(slot));
                    let insert = Change::Insert { value, overflow: false, new_slot: false };
                    let change = if ghost { insert } else { Change::between(&old, value) };
                    self.user(page, slot, key, change);
                    self.model.insert(key.to_vec(), value.to_vec());
                    if style == 3 && !ghost {
                        // The transaction rolls back.
                        let value = &old[..];
                        self.compensate(page, slot, Restore::Value { value, overflow: false });
                        self.model.insert(key.to_vec(), old);
                    }
                    return;
                }
                Err(slot) if node.fits(key.len(), value.len()) => {
                    let change = Change::Insert { value, overflow: false, new_slot: true };
                    self.user(page, slot, key, change);
                    if style == 3 {
                        self.compensate(page, slot, Restore::Hide);
                    } else {
                        self.model.insert(key.to_vec(), value.to_vec());
                    }
                    return;
                }
                _ if self.make_room(key) => {}
                _ => return,
            }
        }
    }

    fn delete(&mut self, key: &[u8]) {
        let page = self.leaf(key);
        let Ok(slot) = self.node(page).find(key) else { return };
        if !self.node(page).is_ghost(slot) {
            let old = self.node(page).value(slot).to_vec();
            self.user(page, slot, key, Change::Delete { old: &old, overflow: false });
            self.model.remove(key);
        }
    }

    fn reclaim(&mut self, key: &[u8]) {
        let page = self.leaf(key);
        let node = self.node(page);
        let ghosts = (0..node.count()).filter(|&slot| node.is_ghost(slot));
        let slots: Vec<u16> = ghosts.map(|slot| slot as u16).collect();
        if !slots.is_empty() {
            self.system(SystemOp::ReclaimGhosts { page, tree: TREE, slots });
        }
    }

    /// Merges the leaf of `key` with its right neighbour, if they fit.
    fn merge(&mut self, key: &[u8], keep_fence: bool) {
        let (slot, left) = self.node(ROOT).child_for(key);
        if self.node(left).foster().is_some() || slot + 1 >= self.node(ROOT).count() {
            return;
        }
        let (parent, right) = (ROOT, self.node(ROOT).child(slot + 1));
        if self.node(left).used_absorbed(self.node(right), keep_fence).is_some() {
            let image = self.image(right);
            let image = Image::parse(&image).unwrap();
            let tree = TREE;
            self.system(SystemOp::Merge { parent, left, right, tree, keep_fence, image });
        }
    }

    fn overflow(&mut self, value: &[u8]) {
        let page = self.new_page();
        let (tree, next) = (TREE, PageId::NONE);
        self.system(SystemOp::WriteOverflow { page, tree, next, payload: value });
        self.system(SystemOp::FreePages { tree: TREE, pages: vec![page] });
    }

    fn run(&mut self, (action, key, value): &(u8, Vec<u8>, Vec<u8>)) {
        match action {
            0..=8 => self.put(key, value, action % 4),
            9..=11 => self.delete(key),
            12 => self.reclaim(key),
            13..=15 => self.adopt(key),
            16..=17 => self.merge(key, action % 2 == 0),
            _ if !value.is_empty() => self.overflow(value),
            _ => {}
        }
    }

    /// Every record of every reachable leaf; checks nodes and fences on the way.
    fn content(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut found = BTreeMap::new();
        let root = self.node(ROOT);
        assert_eq!(root.check(), Ok(()));
        for slot in 0..root.count() {
            let (mut page, mut low) = (Some(root.child(slot)), root.key(slot));
            let high = (slot + 1 < root.count()).then(|| root.key(slot + 1));
            while let Some(id) = page {
                let node = self.node(id);
                assert_eq!(node.check(), Ok(()), "page {id}");
                assert_eq!((node.low_fence(), node.high_fence()), (&low[..], high.as_deref()));
                for slot in (0..node.count()).filter(|&slot| !node.is_ghost(slot)) {
                    found.insert(node.key(slot), node.value(slot).to_vec());
                }
                (page, low) = match node.foster_link() {
                    Some((foster, key)) => (Some(foster), key.to_vec()),
                    None => (None, Vec::new()),
                };
            }
        }
        found
    }
}

fn action() -> impl Strategy<Value = (u8, Vec<u8>, Vec<u8>)> {
    let byte = prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(255)];
    (0u8..19, prop::collection::vec(byte, 0..6), prop::collection::vec(any::<u8>(), 0..20))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn redo_from_any_mix_of_versions_gives_the_same_bytes(
        actions in prop::collection::vec(action(), 0..150),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let mut mini = Mini::new();
        for action in &actions {
            mini.run(action);
        }
        prop_assert_eq!(&mini.content(), &mini.model);

        // The crash: some pages are as new as can be, some were never written.
        let mut pages = Pages::new();
        for ((id, versions), pick) in mini.versions.iter().zip(picks.iter().cycle()) {
            match pick.index(versions.len() + 1) {
                0 => {}
                n => drop(pages.insert(*id, versions[n - 1].clone())),
            }
        }
        for round in 0..2 {
            for (index, body) in mini.log.iter().enumerate() {
                apply(&mut pages, body, index as u64 + 1);
            }
            prop_assert!(pages == mini.pages, "round {}", round);
        }
    }
}

#[test]
fn operations_refuse_pages_they_were_not_logged_for() {
    let mut mini = Mini::new();
    mini.put(b"key", b"value", 2);
    let leaf = mini.leaf(b"key");
    let user = |key, slot, change| Op::User(UserOp { page: leaf, tree: TREE, slot, key, change });
    let insert = |new_slot| Change::Insert { value: b"v", overflow: false, new_slot };
    let refused = [
        user(b"key", 0, insert(true)),
        user(b"key", 0, insert(false)),
        user(b"kex", 0, Change::Delete { old: b"", overflow: false }),
        user(b"key", 1, Change::Delete { old: b"", overflow: false }),
        user(b"key", 0, Change::Delta { offset: 4, old: b"xx", new: b"yy" }),
        Op::System(SystemOp::ReclaimGhosts { page: leaf, tree: TREE, slots: vec![0] }),
    ];
    let mut image = Vec::new();
    mini.put(b"kez", b"value", 2);
    assert!(mini.node(leaf).upper_image_into(1, &mut image));
    let image = Image::parse(&image).unwrap();
    let (left, right, tree, slot) = (leaf, PageId(50), TREE, 0);
    let split = Op::System(SystemOp::Split { left, right, tree, slot, image });
    for op in refused.into_iter().chain([split]) {
        let mut page = mini.pages[&leaf].clone();
        assert!(op.apply_to(leaf, &mut page[..]).is_err(), "{op:?}");
        assert!(page == mini.pages[&leaf], "{op:?} changed nothing");
    }
    let free = Op::System(SystemOp::FreePages { tree: TREE, pages: vec![PageId(4000)] });
    let mut map = mini.pages[&MAP].clone();
    assert!(free.apply_to(MAP, &mut map[..]).is_err(), "a free page is not freed again");
}

#[test]
fn root_grows_and_shrinks_back() {
    let mut mini = Mini::new();
    mini.put(b"key", b"value", 2);
    let child = mini.leaf(b"key");
    let image = mini.image(child);
    let image = Image::parse(&image).unwrap();
    mini.system(SystemOp::ShrinkRoot { root: ROOT, child, tree: TREE, image });
    assert_eq!(mini.leaf(b"key"), ROOT);
    assert_eq!(mini.node(ROOT).value(0), b"value");
    assert_eq!(mini.node(child).kind(), crate::node::PageKind::Freed);
    assert_eq!(mini.node(ROOT).check(), Ok(()));
}

#[test]
fn prune_takes_children_away() {
    let mut mini = Mini::new();
    for key in 0..60u8 {
        mini.put(&[key], &[1; 20], 2);
        mini.adopt(&[key]);
    }
    let count = mini.node(ROOT).count();
    assert!(count > 2, "the miniature tree has grown");
    let pages = (1..count).map(|slot| mini.node(ROOT).child(slot)).collect();
    let (node, drop_foster) = (ROOT, false);
    mini.system(SystemOp::Prune { node, tree: TREE, keep: 1, drop_foster, pages });
    assert_eq!(mini.node(ROOT).count(), 1);
    assert_eq!(mini.node(ROOT).check(), Ok(()));
}

#[test]
fn cut_chain_moves_the_reference_along() {
    use crate::overflow::OverflowRef;
    let mut mini = Mini::new();
    let mut next = PageId::NONE;
    let mut pages = Vec::new();
    for _ in 0..2 {
        let page = mini.new_page();
        mini.system(SystemOp::WriteOverflow { page, tree: TREE, next, payload: b"chunk" });
        next = page;
        pages.push(page);
    }
    let chain = OverflowRef { first: pages[1], checksum: 1, len: 10 };
    let (leaf, key) = (mini.leaf(b"key"), b"key");
    let value = &chain.to_bytes()[..];
    mini.user(leaf, 0, key, Change::Insert { value, overflow: true, new_slot: true });
    mini.user(leaf, 0, key, Change::Delete { old: value, overflow: true });
    for (rest, freed) in [
        (OverflowRef { first: pages[0], checksum: 0, len: 5 }, pages[1]),
        (OverflowRef::EMPTY, pages[0]),
    ] {
        let (tree, slot, pages) = (TREE, 0, vec![freed]);
        mini.system(SystemOp::CutChain { leaf, tree, slot, rest, pages });
        let expected = if rest.is_empty() { Vec::new() } else { rest.to_bytes().to_vec() };
        assert_eq!(mini.node(leaf).value(0), expected);
        assert_eq!(mini.node(leaf).is_overflow(0), !rest.is_empty());
    }
    assert_eq!(mini.node(leaf).check(), Ok(()));
}
