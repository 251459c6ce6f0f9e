//! The Foster B-tree: ordered byte keys and their values, in latched pages, under key-range locks.
//!
//! The tree knows *when* the locking protocol wants a lock (at the leaf, under its latch) and when
//! a change must be logged; a [`Context`], which a transaction implements, knows *how*.
//!
//! | module | what it is |
//! | --- | --- |
//! | `context` | what the tree needs of the transaction that runs it |
//! | `tree` | the handle |
//! | `node` | one page: slots, fences, prefix, ghosts |
//! | `op` | log records: built, applied, redone |
//! | `space` | which pages are in use |
//! | `overflow` | large values |
//! | `descend` | from the root to a leaf |
//! | `locking` | what happens when a lock is denied |
//! | `read`, `write` | point operations |
//! | `undo` | taking a write back |
//! | `restructure` | splits, adoptions, merges, ghost reclamation: system transactions |
//! | `maintain` | the tree's life cycle: creation, upkeep, destruction |
//! | `cursor` | ranges, in both directions |
//! | `survey` | what a leaf has for upkeep to do |
//! | `verify` | checking a tree while it is in use |
//!
//! What holds everywhere:
//!
//! 1. No lock is waited for and no log space is reserved under a latch. The tree holds a latch
//!    across no I/O but the read-in of the latched page itself, with one exception: if another
//!    thread has used up what an allocation had prepared, the allocation reads in a space-map page
//!    or makes the data file longer. (`docs/latch-order.md` has the exceptions of pool and log.)
//! 2. System transactions change how content is represented and never what it is; each is one log
//!    record.
//! 3. Latch order: parent before child, left before right, tree pages before space-map pages. A
//!    thread that needs a latch against this order only tries it. If it is taken, the thread gives
//!    up, or releases its own latches before it waits.
//! 4. Nothing after a log record can fail: room and log space are found before.

mod context;
mod tree;

mod node;
mod op;
mod overflow;
mod space;

mod descend;
mod locking;
mod scratch;

mod read;
mod undo;
mod write;

mod maintain;
mod restructure;

mod cursor;
mod survey;
mod verify;

pub use context::Context;
pub use cursor::{Cursor, Direction};
pub use descend::LeafHint;
pub use op::{check_redo, for_each_page, key_of_body, redo, tree_of_body};
pub use space::{SPACE_SPAN, SpaceMap};
pub use survey::LeafSurvey;
pub use tree::{ReadIntent, Tree, TreeConfig};
pub use verify::{LevelReport, Load, TreeReport};
