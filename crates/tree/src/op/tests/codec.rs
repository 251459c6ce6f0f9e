//! Every operation survives encoding; nothing else decodes.

use clearway_base::{PAGE_SIZE, PageId, TreeId};
use proptest::prelude::*;

use super::super::*;
use crate::node::{Image, Node, NodeMut, NodeRecord};
use crate::overflow::OverflowRef;

const PAGE: PageId = PageId(77);
const TREE: TreeId = TreeId(5);

/// The image of a leaf with some records.
fn image() -> Vec<u8> {
    let mut page = [0; PAGE_SIZE];
    assert!(NodeMut::format(&mut page, 0, TREE, PAGE_SIZE, b"aa", Some(b"ab")));
    let mut node = NodeMut::new(&mut page);
    node.insert(0, b"aa1", NodeRecord { value: b"one", ..NodeRecord::default() });
    node.insert(1, b"aa2", NodeRecord { ghost: true, ..NodeRecord::default() });
    let mut image = Vec::new();
    assert!(Node::new(&page[..]).image_into(&mut image));
    image
}

fn user_ops<'a>(key: &'a [u8], a: &'a [u8], b: &'a [u8], slot: usize) -> Vec<Op<'a>> {
    let mut changes = vec![Change::between(a, b), Change::Delta { offset: 9, old: a, new: a }];
    for flag in [false, true] {
        changes.push(Change::Insert { value: a, overflow: flag, new_slot: !flag });
        let (old, new) = (a, b);
        changes.push(Change::Replace { old, old_overflow: flag, new, new_overflow: !flag });
        changes.push(Change::Delete { old: a, overflow: flag });
    }
    let user = |change| Op::User(UserOp { page: PAGE, tree: TREE, slot, key, change });
    let restores = [
        Restore::Hide,
        Restore::Patch { offset: slot, bytes: a },
        Restore::Value { value: b, overflow: true },
        Restore::Value { value: b, overflow: false },
    ];
    let compensation =
        |restore| Op::Compensation(CompensationOp { page: PAGE, tree: TREE, slot, restore });
    changes.into_iter().map(user).chain(restores.map(compensation)).collect()
}

fn system_ops<'a>(key: &'a [u8], image: Image<'a>, slot: usize) -> Vec<Op<'a>> {
    use SystemOp::*;
    let (page, tree, map) = (PAGE, TREE, PageId(2));
    let (left, right, parent, child) = (PageId(9), PageId(300), PageId(4), PageId(1 << 17));
    let pages = vec![PageId(70), PageId(3), PageId(65_000)];
    let rest = OverflowRef { first: PageId(8), checksum: 0, len: 9000 };
    let slots = vec![0, 1, 7, 200, 999];
    [
        FormatMap { map },
        FormatRoot { page, tree, node_bytes: 512 },
        ReclaimGhosts { page, tree, slots },
        Split { left, right, tree, slot, image },
        Adopt { parent, child, tree, foster: right, key },
        GrowRoot { root: left, child, tree, image },
        ShrinkRoot { root: left, child, tree, image },
        Merge { parent, left, right, tree, keep_fence: true, image },
        Merge { parent, left, right, tree, keep_fence: false, image },
        WriteOverflow { page, tree, next: PageId::NONE, payload: key },
        WriteOverflow { page, tree, next: child, payload: key },
        FreePages { tree, pages: pages.clone() },
        CutChain { leaf: left, tree, slot, rest, pages: pages.clone() },
        CutChain { leaf: left, tree, slot, rest: OverflowRef::EMPTY, pages: pages.clone() },
        Prune { node: left, tree, keep: slot, drop_foster: true, pages },
    ]
    .map(Op::System)
    .into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_operation_survives_encoding(
        key in prop::collection::vec(any::<u8>(), 0..200),
        a in prop::collection::vec(any::<u8>(), 0..300),
        b in prop::collection::vec(any::<u8>(), 0..300),
        slot in 0usize..1000,
    ) {
        let image = image();
        let mut ops = user_ops(&key, &a, &b, slot);
        ops.extend(system_ops(&key, Image::parse(&image).unwrap(), slot));
        let mut body = Vec::new();
        for op in ops {
            op.encode(&mut body);
            prop_assert_eq!(&Op::decode(&body).unwrap(), &op);
            prop_assert_eq!(tree_of_body(&body), op.tree());
            prop_assert!((1..=4).contains(&op.pages().iter().count()));
            // A shorter body is another operation or none; never a panic.
            for cut in 0..body.len().min(40) {
                if let Ok(shorter) = Op::decode(&body[..cut]) {
                    prop_assert_ne!(shorter, op.clone());
                }
            }
        }
    }

    #[test]
    fn decoding_and_applying_nonsense_returns(
        code in 0u8..50,
        noise in prop::collection::vec(any::<u8>(), 0..120),
        small in prop::collection::vec(0u8..4, 0..120),
        page_noise in prop::collection::vec(any::<u8>(), PAGE_SIZE),
    ) {
        for body in [noise, small] {
            let body = [vec![code], body].concat();
            let Ok(op) = Op::decode(&body) else { continue };
            let mut again = Vec::new();
            op.encode(&mut again);
            prop_assert_eq!(&again, &body, "a body has one encoding only");
            for (id, _) in op.pages().iter() {
                let mut page = page_noise.clone();
                let _ = op.apply_to(id, &mut page);
                page[16] = 2;
                if let Some(tree) = op.tree() {
                    page[20..24].copy_from_slice(&tree.0.to_le_bytes());
                }
                let _ = op.apply_to(id, &mut page);
            }
        }
    }

    #[test]
    fn update_logs_only_what_differs(
        common in prop::collection::vec(any::<u8>(), 0..40),
        a in any::<[u8; 4]>(),
        b in any::<[u8; 4]>(),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let old = [&common[..], &a, &tail].concat();
        let new = [&common[..], &b, &tail].concat();
        let Change::Delta { offset, old: from, new: to } = Change::between(&old, &new) else {
            panic!("equal lengths are a delta");
        };
        prop_assert!(from.len() <= 4 && from.len() == to.len());
        let mut patched = old.clone();
        patched[offset..offset + to.len()].copy_from_slice(to);
        prop_assert_eq!(patched, new);
    }
}

#[test]
fn account_update_fits_in_fifty_bytes() {
    let (mut old, mut new) = ([7; 100], [7; 100]);
    old[8..16].copy_from_slice(&1_000_000u64.to_be_bytes());
    new[8..16].copy_from_slice(&(-5i64 as u64).to_be_bytes());
    let key = 99_999u64.to_be_bytes();
    let change = Change::between(&old, &new);
    let op = UserOp { page: PageId(16_000), tree: TreeId(12), slot: 61, key: &key, change };
    let mut body = Vec::new();
    op.encode(&mut body);
    assert!(body.len() <= 34, "{} bytes", body.len());
}

#[test]
fn undo_is_in_the_body() {
    let undo = |change| {
        let op = UserOp { page: PAGE, tree: TREE, slot: 3, key: b"k", change };
        let mut body = Vec::new();
        op.encode(&mut body);
        match Op::decode(&body).unwrap() {
            Op::User(op) => format!("{:?}", op.undo().action),
            _ => panic!("not a user operation"),
        }
    };
    let (old, new) = (&b"abcd"[..], &b"abXd"[..]);
    let (flag, tail) = (false, &b"tail"[..]);
    let cases = [
        (Change::Insert { value: old, overflow: flag, new_slot: flag }, UndoAction::Remove),
        (Change::between(old, new), UndoAction::RestoreDelta { offset: 2, old: b"c" }),
        (Change::between(old, b"ab"), UndoAction::RestoreValue { old, overflow: flag }),
        (
            Change::Delete { old: tail, overflow: true },
            UndoAction::Revive { value: tail, overflow: true },
        ),
    ];
    for (change, action) in cases {
        assert_eq!(undo(change), format!("{action:?}"));
    }
}

#[test]
fn pages_of_several_maps_do_not_decode() {
    let pages = vec![PageId(3), PageId(2 + crate::space::SPACE_SPAN + 1)];
    let mut body = Vec::new();
    SystemOp::FreePages { tree: TREE, pages }.encode(&mut body);
    assert!(Op::decode(&body).is_err());
    SystemOp::FreePages { tree: TREE, pages: vec![PageId(2)] }.encode(&mut body);
    assert!(Op::decode(&body).is_err(), "a map page is never freed");
}

#[test]
fn numbers_have_one_encoding() {
    let body = |slot: &[u8]| [&[16, 77, 0, 0, 0, 5], slot].concat();
    assert!(Op::decode(&body(&[1])).is_ok());
    assert!(Op::decode(&body(&[0x81, 1])).is_ok());
    assert!(Op::decode(&body(&[0x81, 0])).is_err(), "1 in two bytes");
    assert!(Op::decode(&body(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F])).is_err(), "more than 32 bits");
    assert!(Op::decode(&body(&[0x81])).is_err(), "unfinished");
}
