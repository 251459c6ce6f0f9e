//! The tree's log records: one type for each change, shared by forward processing and redo.
//!
//! What it is
//! : A *user* operation changes content and can be undone logically; a *compensation* is the redo
//!   half of such an undo; a *system* operation changes the representation only, is a whole system
//!   transaction in one record, and has no undo. All of them are physiological: they name their
//!   pages, and change each by what is in the body and in that page alone.
//!
//! Invariants
//! 1. *One apply.* Forward processing builds an operation, encodes it and logs the encoding. Then
//!    it applies what it decodes from the encoding ([`perform`]), or an operation that changes the
//!    pages in the same way ([`perform_decoded`]). Redo applies what it decodes from the same
//!    bytes, through the same `apply_to`. So redo cannot differ from forward processing, unless a
//!    caller of `perform_decoded` passes an operation that changes the pages in another way.
//! 2. *Page by page.* Applying an operation to one page reads no other page. What moves from one
//!    page to another is carried in the body.
//! 3. *Exactly once.* A page whose LSN is at or past the record's end has the change already.
//! 4. *Whole.* Decoding accepts exactly what encoding produces. An unknown code, a length that runs
//!    past the end, a list of pages that are not all covered by one space-map page, or bytes left
//!    over at the end: each is `Error::Corrupt`.
//! 5. *Undo from the body.* A user operation's body alone says how to undo it, by tree and key.
//!
//! Latch order
//! : [`Touched`] lists the pages in latch order: parent, child or left, right, space-map page.
//!
//! Algorithm
//! : Mohan et al., "ARIES" (TODS 1992): physiological redo, logical undo, page LSNs, compensations
//!   that are never undone. Graefe, "A survey of B-tree logging and recovery techniques" (TODS
//!   2012): system transactions.
//!
//! Differences
//! : A system transaction is a single record, so its atomicity is that of a checksum and it needs
//!   neither begin nor commit.

mod codec;
mod compensation;
mod redo;
mod redo_check;
mod system;
mod system_apply;
mod user;

#[cfg(test)]
pub(crate) mod tests;

use clearway_base::{Error, PageId, Result, TreeId};

pub(crate) use compensation::{CompensationOp, Restore};
pub use redo::{changed_key, for_each_page, key_of_body, redo, tree_of_body};
pub(crate) use redo::{perform, perform_decoded};
pub use redo_check::check_redo;
pub(crate) use system::SystemOp;
pub(crate) use user::{Change, UndoAction, UndoOf, UserOp};

/// First code of the compensations; below are the user operations.
const COMPENSATIONS: u8 = 16;
/// First code of the system operations.
const SYSTEM: u8 = 32;

/// Any logged operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op<'a> {
    /// Changes content; can be undone.
    User(UserOp<'a>),
    /// Takes a change of content back; is not undone.
    Compensation(CompensationOp<'a>),
    /// Changes the representation only.
    System(SystemOp<'a>),
}

impl<'a> Op<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// `Corrupt` if it is not exactly one operation.
    #[inline]
    pub(crate) fn decode(body: &'a [u8]) -> Result<Op<'a>> {
        let code = body.first().copied().unwrap_or(0);
        let op = match code {
            0..COMPENSATIONS => UserOp::decode(body).map(Op::User),
            COMPENSATIONS..SYSTEM => CompensationOp::decode(body).map(Op::Compensation),
            SYSTEM.. => SystemOp::decode(body).map(Op::System),
        };
        op.ok_or_else(|| bad_body(code, body.len()))
    }

    /// Replaces `out` by the body of the operation.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Op::User(op) => op.encode(out),
            Op::Compensation(op) => op.encode(out),
            Op::System(op) => op.encode(out),
        }
    }

    /// The tree that the operation belongs to; none for the space map's own.
    pub(crate) fn tree(&self) -> Option<TreeId> {
        match self {
            Op::User(op) => Some(op.tree),
            Op::Compensation(op) => Some(op.tree),
            Op::System(op) => op.tree(),
        }
    }

    /// The pages that the operation changes, in latch order.
    pub(crate) fn pages(&self) -> Touched {
        match self {
            Op::User(op) => Touched::one(op.page),
            Op::Compensation(op) => Touched::one(op.page),
            Op::System(op) => op.pages(),
        }
    }

    /// Makes the operation's change to one of its pages.
    ///
    /// # Errors
    /// `CorruptPage` if the page is not one that the operation can have been logged for. The page
    /// may then be changed in part and must not be written.
    #[inline]
    pub(crate) fn apply_to(&self, page: PageId, bytes: &mut [u8]) -> Result<()> {
        match self {
            Op::User(op) => op.apply_to(page, bytes),
            Op::Compensation(op) => op.apply_to(page, bytes),
            Op::System(op) => op.apply_to(page, bytes),
        }
    }
}

/// The pages that an operation touches: at most four, in latch order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Touched {
    pages: [(u32, bool); 4],
    len: usize,
}

impl Touched {
    fn one(page: PageId) -> Touched {
        Touched::default().change(page)
    }

    /// Adds a page that is changed where it is.
    fn change(self, page: PageId) -> Touched {
        self.push(page, false)
    }

    /// Adds a page whose whole content the operation carries.
    fn format(self, page: PageId) -> Touched {
        self.push(page, true)
    }

    fn push(mut self, page: PageId, formats: bool) -> Touched {
        self.pages[self.len] = (page.0, formats);
        self.len += 1;
        self
    }

    /// Each page, and whether its whole content is in the operation, so that what the page held
    /// before does not matter.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PageId, bool)> + '_ {
        self.pages[..self.len].iter().map(|&(page, formats)| (PageId(page), formats))
    }
}

#[cold]
fn bad_body(code: u8, len: usize) -> Error {
    Error::corrupt("log record", format!("tree operation {code}, {len} bytes, cannot be read"))
}

/// The error of an operation that meets a page it cannot have been logged for.
#[cold]
fn mismatch(page: PageId, op: &str) -> Error {
    Error::CorruptPage { page, detail: format!("{op} does not match the page's content") }
}
