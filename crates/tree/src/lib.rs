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
//! 1. No lock is waited for and no log space is reserved under a latch, and a latch is held across
//!    no I/O but its own page's read-in (but for map pages and file growth lost to a race).
//! 2. System transactions change how content is represented and never what it is; each is one log
//!    record.
//! 3. Latch order: parent before child, left before right, tree pages before space-map pages. Who
//!    would have to break it tries, and gives up if the latch is taken.
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
