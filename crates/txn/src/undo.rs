//! A transaction's undo list: the bodies of its `USER` records, newest last.
//!
//! The log has the same bodies. Rollback reads the list, which is faster; recovery reads the log,
//! since the list was lost with the process.
//!
//! Invariants:
//! - UNDO-1. The entries are exactly the transaction's changes that have not been undone, in the
//!   order in which they were logged. So an entry's undo-next is the entry before it. (While
//!   recovery undoes a change, the list has only this change and, without a body, the one before
//!   it.)
//! - UNDO-2. Bodies lie one after another in one arena; an entry's body ends where the next begins.

use clearway_base::Lsn;

/// The arena's memory is kept for the state's next transaction up to this size.
const KEEP_BYTES_MAX: usize = 64 << 10;

/// See the module.
#[derive(Default)]
pub(crate) struct UndoList {
    arena: Vec<u8>,
    entries: Vec<UndoEntry>,
}

struct UndoEntry {
    /// Start of the record.
    lsn: Lsn,
    /// Where its body begins in the arena.
    at: usize,
}

impl UndoList {
    /// Changes that could be undone now; also a position to come back to.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The newest change, where an undo from the log would start; zero if there is none.
    #[inline]
    pub(crate) fn head(&self) -> Lsn {
        self.entries.last().map_or(Lsn::ZERO, |entry| entry.lsn)
    }

    /// The change to undo after the newest one (UNDO-1).
    #[inline]
    pub(crate) fn next(&self) -> Lsn {
        let len = self.entries.len();
        if len < 2 { Lsn::ZERO } else { self.entries[len - 2].lsn }
    }

    /// Remembers a change.
    #[inline]
    pub(crate) fn push(&mut self, lsn: Lsn, body: &[u8]) {
        debug_assert!(lsn > self.head(), "UNDO-1: changes stand in the order of their records");
        self.entries.push(UndoEntry { lsn, at: self.arena.len() });
        self.arena.extend_from_slice(body);
    }

    /// The bodies of the newest changes, the newest first, at most `most` of them.
    pub(crate) fn newest(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        let mut end = self.arena.len();
        self.entries.iter().rev().take(most).map(move |entry| {
            let body = &self.arena[entry.at..end];
            end = entry.at;
            body
        })
    }

    /// Copies the newest change's body to `body`.
    pub(crate) fn copy_newest(&self, body: &mut Vec<u8>) {
        body.clear();
        if let Some(entry) = self.entries.last() {
            body.extend_from_slice(&self.arena[entry.at..]);
        }
    }

    /// Forgets the newest change, which has been undone. Returns the length of its body.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let entry = self.entries.pop()?;
        let len = self.arena.len() - entry.at;
        self.arena.truncate(entry.at);
        Some(len)
    }

    /// Forgets everything, and gives back what a large transaction has taken.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if self.arena.capacity() > KEEP_BYTES_MAX {
            *self = UndoList::default();
        }
        self.arena.clear();
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back_newest_first() {
        let mut list = UndoList::default();
        assert_eq!((list.head(), list.next(), list.pop()), (Lsn::ZERO, Lsn::ZERO, None));
        for (n, body) in ["one", "", "three"].iter().enumerate() {
            list.push(Lsn(100 + n as u64), body.as_bytes());
        }
        let mut body = Vec::new();
        for (lsn, next, text) in [(102, 101, "three"), (101, 100, ""), (100, 0, "one")] {
            assert_eq!((list.head(), list.next()), (Lsn(lsn), Lsn(next)));
            list.copy_newest(&mut body);
            assert_eq!(body, text.as_bytes());
            assert_eq!(list.pop(), Some(text.len()));
        }
        assert_eq!(list.len(), 0);
    }
}
