//! The redo check: after a change, its pages are logged as they are then, and recovery compares
//! them with what redo makes of the change.
//!
//! ```text
//!   log    change of 7 and 9 │ image of 7, lsn e │ image of 9, lsn e │ …
//!                    ends at e
//!   redo   7 comes to e      │ 7 is at e:        │ 9 is beyond e:
//!                            │ compare           │ it was on disk, nothing to compare
//!
//!   image: code u8 | page u32 | content …
//! ```
//! The code is the change's. The content is what means something behind the pool's header: of a
//! node everything but the gap, of other pages everything but the zeros at the end.
//!
//! Invariants
//! 1. *Nothing in between.* An image is logged in the latch hold of its change and has the change's
//!    LSN; no other change of the page stands between the two.
//! 2. *Never below.* When recovery comes to an image, its page is at the image's LSN or beyond:
//!    either redo has just made the change, or it begins behind the change, and then the page was
//!    on disk with it.
//! 3. *Same bytes.* At the same LSN the content is the same byte for byte (node invariant 8), the
//!    places of records and the garbage between them included.
//! 4. *No promise.* An image that is missing says nothing: who has no log to spare leaves it out.
//! 5. *Looking only.* Neither logging an image nor checking one changes a page.
//!
//! Algorithm
//! : PostgreSQL's `wal_consistency_checking`, without its masks: nothing may differ here.

use std::{cmp::Ordering, ops::Range};

use clearway_base::{Error, Lsn, Result};
use clearway_pool::{ExclusivePage, Pool};

use super::codec::Reader;
use crate::{
    Journal,
    node::{KIND, Node},
};

/// Logs an image of each of the `pages` that the change in `body` has changed. Its record ends at
/// `lsn`.
#[cold]
pub(super) fn log_images<C: Journal>(
    ctx: &mut C,
    body: &[u8],
    pages: &[&mut ExclusivePage<'_>],
    lsn: Lsn,
) {
    for page in pages {
        let mut name = [body[0]; 5];
        name[1..].copy_from_slice(&page.id().0.to_le_bytes());
        let [front, back] = content(page);
        ctx.log_image(lsn, &[&name, &page[front], &page[back]]);
    }
}

/// Compares an image, taken at `lsn`, with its page, if that has come there and not further.
/// Returns true if it has.
///
/// # Errors
/// `CorruptPage` if redo has made something else of the page, or has left it behind; `Corrupt` for
/// a body that cannot be read; and what the pool returns for pages it cannot read.
pub fn check_redo(pool: &Pool, body: &[u8], lsn: Lsn) -> Result<bool> {
    let unreadable = || Error::corrupt("log record", "an image of no page");
    let mut reader = Reader::new(body);
    let code = reader.byte().ok_or_else(unreadable)?;
    let id = reader.page().ok_or_else(unreadable)?;
    let page = pool.shared(id)?;
    let found = match page.page_lsn().cmp(&lsn) {
        Ordering::Greater => return Ok(false),
        Ordering::Less => format!("stays at {}", page.page_lsn()),
        Ordering::Equal => match first_difference(&page, reader.rest()) {
            Some(at) => format!("differs from byte {at} on"),
            None => return Ok(true),
        },
    };
    let detail = format!("redo of operation {code} to {lsn} is not what was done: it {found}");
    Err(Error::CorruptPage { page: id, detail })
}

/// The byte ranges of a page that have a meaning: one at the front, one at the back.
fn content(page: &[u8]) -> [Range<usize>; 2] {
    Node::new(page).content().unwrap_or_else(|| {
        let zeros = page.iter().rev().take_while(|&&byte| byte == 0).count();
        let end = KIND.max(page.len() - zeros);
        [KIND..end, end..end]
    })
}

/// Where the content of `page` begins to differ from what was logged of it.
fn first_difference(page: &[u8], logged: &[u8]) -> Option<usize> {
    let ([front, back], mut logged) = (content(page), logged.iter());
    let end = back.end;
    let differs = |at: &usize| logged.next() != Some(&page[*at]);
    let differs = front.chain(back).find(differs);
    differs.or_else(|| logged.next().map(|_| end))
}

#[cfg(test)]
mod tests {
    use clearway_base::{PageId, TreeId};

    use super::*;
    use crate::op::{Change, Op, SystemOp, UserOp, perform, tests::memory::Memory};

    const TREE: TreeId = TreeId(4);

    /// A leaf with two records and a ghost, and the image of its last change.
    fn leaf(memory: &Memory) -> (PageId, Lsn, Vec<u8>) {
        let mut ctx = memory.context();
        let (id, mut body) = (PageId(5), Vec::new());
        memory.pool.ensure_len(id).unwrap();
        let mut page = memory.pool.format(id).unwrap();
        let mut map = memory.space.map_for(id).unwrap();
        let op = SystemOp::FormatRoot { page: id, tree: TREE, node_bytes: 512 };
        Op::System(op).encode(&mut body);
        perform(&mut ctx, Journal::log_system, &body, &mut [&mut page, &mut map]).unwrap();
        let insert = |value| Change::Insert { value, overflow: false, new_slot: true };
        let delete = Change::Delete { old: b"seven", overflow: false };
        let changes: [(&[u8], _); 3] =
            [(b"b", insert(b"seven")), (b"a", insert(b"one")), (b"b", delete)];
        let mut span = None;
        for (slot, (key, change)) in [0, 0, 1].into_iter().zip(changes) {
            Op::User(UserOp { page: id, tree: TREE, slot, key, change }).encode(&mut body);
            span = Some(perform(&mut ctx, Journal::log_user, &body, &mut [&mut page]).unwrap());
        }
        let [front, back] = content(&page);
        let mut image = [&[body[0]][..], &id.0.to_le_bytes()].concat();
        image.extend([&page[front], &page[back]].concat());
        (id, span.unwrap().end, image)
    }

    /// Where the page of `error` differs.
    fn detail(error: Error, page: PageId) -> String {
        match error {
            Error::CorruptPage { page: at, detail } if at == page => detail,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn each_byte_of_an_image_counts_and_the_error_says_which() {
        let memory = Memory::new();
        let (id, lsn, image) = leaf(&memory);
        assert!(check_redo(&memory.pool, &image, lsn).unwrap());
        let offsets = content(&memory.pool.shared(id).unwrap()).into_iter().flatten();
        for (index, at) in (5..).zip(offsets) {
            let mut other = image.clone();
            other[index] ^= 1;
            let detail = detail(check_redo(&memory.pool, &other, lsn).unwrap_err(), id);
            let wanted = format!(
                "redo of operation 4 to {lsn} is not what was done: it differs from byte {at} on"
            );
            assert_eq!(detail, wanted);
        }
    }

    #[test]
    fn shorter_longer_and_meaningless_images_are_errors() {
        let memory = Memory::new();
        let (id, lsn, image) = leaf(&memory);
        for len in 5..image.len() {
            let error = check_redo(&memory.pool, &image[..len], lsn).unwrap_err();
            assert!(detail(error, id).contains("differs from byte"));
        }
        let error = check_redo(&memory.pool, &[&image[..], &[0]].concat(), lsn).unwrap_err();
        assert!(detail(error, id).contains("differs from byte 512 on"));
        for len in 0..5 {
            let error = check_redo(&memory.pool, &image[..len], lsn).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        }
        let far = [&[4][..], &u32::MAX.to_le_bytes()].concat();
        assert!(check_redo(&memory.pool, &far, lsn).is_err());
    }

    #[test]
    fn a_page_beyond_the_image_says_nothing_and_one_before_it_was_left_behind() {
        let memory = Memory::new();
        let (id, lsn, mut image) = leaf(&memory);
        *image.last_mut().unwrap() ^= 1;
        assert!(!check_redo(&memory.pool, &image, Lsn(lsn.0 - 8)).unwrap());
        let error = check_redo(&memory.pool, &image, Lsn(lsn.0 + 8)).unwrap_err();
        assert!(detail(error, id).ends_with(&format!("it stays at {lsn}")));
    }

    #[test]
    fn other_pages_end_where_their_zeros_begin() {
        let memory = Memory::new();
        let map = memory.pool.shared(PageId(2)).unwrap();
        assert_eq!(content(&map), [16..33, 33..33]);
        assert_eq!(content(&[0; 8192]), [16..16, 16..16]);
        let damaged: Vec<u8> = map.iter().map(|_| 0xFF).collect();
        assert_eq!(content(&damaged), [16..8192, 8192..8192]);
        let mut torn_leaf = damaged;
        torn_leaf[16] = 2;
        let [front, back] = content(&torn_leaf);
        assert!(front.end <= back.start && back.end <= 8192, "{front:?} {back:?}");
    }
}
