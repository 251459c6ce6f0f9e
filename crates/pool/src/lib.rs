//! Pages in memory: residency, latches, pins, eviction and cleaning.
//!
//! A page has an address of its own in one large reserved range, so the way to it is arithmetic:
//! no hash table, no frame numbers. A 64-bit word beside it carries its version, its latch and
//! whether it is in memory.
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
//! What holds, each with a test in `tests/`:
//!
//! 1. **Latches.** What an optimistic reader validated was one version of the page; a version
//!    never comes back, eviction or not.
//! 2. **WAL.** No byte of a page is written anywhere before the log is durable up to the page LSN.
//! 3. **Torn pages** are repaired when the pool is opened, and what is in place is durable then; a
//!    damaged or misplaced page is an error for whoever asked for it, never contents.
//! 4. **Bound.** Resident pages number at most `cache_bytes / 8 KiB`, plus a 64th (at least 8)
//!    while everything else is latched or pinned.
//! 5. **recLSN.** [`Pool::redo_start`] is never later than the first record that some page's
//!    durable copy lacks, however changes and writes interleave.
//! 6. **Progress.** A miss succeeds although every page is dirty, whatever latches its caller has.
//!
//! The pool knows neither log nor tree: it sees the log through [`Wal`], and of a page's bytes it
//! touches the first sixteen (checksum, page id, page LSN), described in `docs/page-format.md`.

mod clean;
mod data_file;
mod evict;
mod exclusive;
mod frame;
mod frames;
mod header;
mod latch;
mod miss;
mod optimistic;
mod options;
mod page_bytes;
mod pool;
mod region;
mod shared;
mod slots;
mod space;
mod wal;

pub use exclusive::ExclusivePage;
pub use header::{PAGE_HEADER_BYTES, PAGE_KIND_AT};
pub use optimistic::{OptimisticPage, Restart};
pub use options::{PoolOptions, PoolStats};
pub use pool::Pool;
pub use shared::{Pin, SharedPage};
pub use wal::Wal;
