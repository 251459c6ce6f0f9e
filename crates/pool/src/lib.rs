//! Pages in memory: residency, latches, pins, eviction and cleaning.
//!
//! A page has an address of its own in one large reserved range, so finding it is arithmetic: no
//! hash table, no frame numbers. A 64-bit word beside it carries its version, its latch and whether
//! it is in memory.
//!
//! ```text
//!            optimistic · shared · exclusive · format · pin
//!                                │
//!        state word ── absent? ──┤
//!            │                  miss ── room? ── clock ── all dirty? ── clean it yourself
//!         the bytes              │                                          │
//!                             data file   ◄── in place ◄── double-write ◄───┤
//!                                                                  background cleaner
//! ```
//!
//! Many pages at once, and those that a task waits for, come in through the disk's I/O queue
//! ([`Pool::load`], [`OperationPins::poll_take`]).
//!
//! Guarantees, each with a test in `tests/`:
//!
//! 1. **Latches.** An optimistic read that validates saw one version of the page. A page's version
//!    survives its eviction, and a number is used again only after 2⁴⁸ increments.
//! 2. **WAL.** No byte of a page is written anywhere before the log is durable up to the page LSN.
//! 3. **Torn pages** are repaired when the pool is opened. After that, all contents of the data
//!    file are durable. A damaged or misplaced page is reported as an error to the caller, never
//!    returned as contents.
//! 4. **Bound.** At most `cache_bytes / 8 KiB` pages are resident, besides a reserve of a 64th of
//!    that number (at least 8 pages). The reserve is used only if a search has found no clean page
//!    to evict and, except in [`Pool::try_format_at_once`], still found none after the dirty pages
//!    that it met were written.
//! 5. **Recovery LSN.** [`Pool::redo_start`] is never later than the first record that some page's
//!    durable copy lacks, however changes and writes interleave.
//! 6. **Progress.** A miss succeeds although every page is dirty, whatever latches its caller has.
//!
//! The pool depends on neither log nor tree: it uses the log through [`Wal`], and accesses only the
//! first sixteen bytes of a page (checksum, page id, page LSN), described in `docs/page-format.md`.

mod admission;
mod awaited_page;
mod clean;
mod data_file;
mod evict;
mod exclusive;
mod fetch_pins;
mod fetched_pages;
mod frame;
mod frames;
mod header;
mod latch;
mod latching;
mod load;
mod loader;
mod loader_work;
mod loading_pages;
mod miss;
mod operation_pins;
mod optimistic;
mod options;
mod page_bytes;
mod page_set;
mod page_waits;
mod pool;
mod region;
mod resident;
mod shared;
mod slots;
mod space;
mod task_reads;
mod wal;

pub use awaited_page::AwaitedPage;
pub use clean::DirectoryLock;
pub use clearway_disk::{IoPriority, IoQueueChoice, IoQueueKind};
pub use exclusive::ExclusivePage;
pub use fetched_pages::FetchedPages;
pub use header::{PAGE_HEADER_BYTES, PAGE_KIND_AT};
pub use operation_pins::OperationPins;
pub use optimistic::{OptimisticPage, Restart};
pub use options::{PoolOptions, PoolStats};
pub use pool::Pool;
pub use resident::NotResident;
pub use shared::{Pin, SharedPage};
pub use wal::Wal;
