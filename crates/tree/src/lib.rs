//! The Foster B-tree: ordered byte keys and their values, in latched pages, under key-range locks.
//!
//! The tree decides *when* a lock is requested (at the leaf, under its latch) and when a change is
//! logged. The transaction, which implements [`Locks`], [`Journal`] and [`Upkeep`], decides *how*.
//! An operation never waits for a lock, for log space or for a page to be read in: it returns what
//! it lacks ([`Need`]) to its driver. (A call that logs may wait for room in the log buffer.)
//!
//! | module | what it is |
//! | --- | --- |
//! | `capabilities` | what an operation uses of the transaction that runs it |
//! | `need` | what an operation lacks, and the driver that waits for it |
//! | `resident` | pages in memory, as an operation gets them |
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
//! | `operation` | operations as values, for drivers that do not block |
//! | `survey` | what a leaf has for upkeep to do |
//! | `verify` | checking a tree while it is in use |
//!
//! What holds everywhere:
//!
//! 1. A step of an operation waits for no lock, log space or page and does no I/O: it returns a
//!    need, and its driver waits with no latch held. (`destroy`, `verify`, redo and some calls of
//!    the space map read absent pages themselves, outside of steps; `docs/latch-order.md` has the
//!    exceptions of pool and log.)
//! 2. System transactions change how content is represented and never what it is; each is one log
//!    record.
//! 3. Latch order: parent before child, left before right, tree pages before space-map pages. A
//!    thread that needs a latch against this order only tries it. If it is taken, the thread gives
//!    up, or releases its own latches before it waits.
//! 4. Nothing after an operation's log record can fail the operation: room and log space are found
//!    before.

mod branches;
mod capabilities;
mod need;
mod resident;
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
mod operation;
mod prefetch;
mod survey;
mod verify;

pub use branches::WayEnd;
pub use capabilities::{Environment, Journal, Locks, Upkeep};
pub use cursor::{Cursor, Direction, KeyBounds, behind};
pub use descend::LeafHint;
pub use need::{Incomplete, Need, PAGE_LIMIT, Step, Wait};
pub use op::{changed_key, check_redo, for_each_page, key_of_body, redo, tree_of_body};
pub use operation::WriteSurvey;
pub use space::{SPACE_SPAN, SpaceMap};
pub use survey::LeafSurvey;
pub use tree::{ReadIntent, Tree, TreeConfig};
pub use verify::{LevelReport, Load, TreeReport};
pub use write::Goal;
