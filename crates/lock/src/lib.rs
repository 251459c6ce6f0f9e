//! Transactional locks: range locks on keys and gaps, intent locks on tables, waiting, deadlocks,
//! and the commit tags that make early lock release safe.
//!
//! The crate knows nothing of pages, trees or logs: a lock is a 64-bit identity and a mode, a tag
//! is a log sequence number. *When* to ask for *which* lock is the tree's business, *what* a tag
//! means at commit is the transaction's.
//!
//! | module | what it is |
//! | --- | --- |
//! | `mode`, `intent` | lock modes and what is compatible |
//! | `protocol` | which mode is taken where one is wanted; others for comparison |
//! | `identity` | the names of locks |
//! | `entries`, `queue` | a bucket's requests, and the rules that grant them |
//! | `resource` | the counters of intent locks |
//! | `registry` | what others see of a waiting owner; statistics |
//! | `owner` | what a transaction knows of its own locks |
//! | `table` | buckets and tags; what never waits |
//! | `wait`, `intents` | what may wait, and how |
//! | `intents::main_table`, `intents::inherited` | intent locks kept otherwise, to compare |
//! | `deadlock` | finding or preventing deadlocks: five methods |
//! | `victims` | who dies, and who may not die again |
//! | `cycle` | telling about deadlocks, and about who holds a lock |
//!
//! ```
//! use clearway_base::{Lsn, TreeId};
//! use clearway_lock::{LockId, LockOptions, LockTable, Outcome, RangeMode, WaitLimit};
//!
//! let table = LockTable::new(LockOptions::default());
//! let (mut alice, mut bob) = (table.owner(), table.owner());
//! let key = LockId::of(TreeId(7), b"key");
//!
//! // The key itself is locked exclusively; the gap behind it stays open.
//! assert_eq!(table.try_acquire(&mut alice, key, RangeMode::XN), Outcome::Granted);
//! assert_eq!(table.try_acquire(&mut bob, key, RangeMode::SN), Outcome::Denied);
//! assert_eq!(table.try_acquire(&mut bob, key, RangeMode::NS), Outcome::Granted);
//!
//! // Alice commits: her commit record ends at 4711, and everyone who locks the key learns it.
//! table.release_all(&mut alice, Some(Lsn(4711)));
//! table.acquire(&mut bob, key, RangeMode::SN, WaitLimit::Default)?;
//! assert_eq!(bob.max_tag(), Lsn(4711));
//! # Ok::<(), clearway_base::Error>(())
//! ```

mod cycle;
mod deadlock;
mod entries;
mod identity;
mod intent;
mod intents;
mod mode;
mod owner;
mod protocol;
mod queue;
mod registry;
mod resource;
mod table;
mod victims;
mod wait;

pub use cycle::{Awaited, CycleMember};
pub use deadlock::{DeadlockMethod, digest::Digests};
pub use identity::{LockId, ResourceId};
pub use intent::{AbsoluteMode, IntentMode};
pub use intents::IntentMethod;
pub use mode::{Part, RangeMode};
pub use owner::LockOwner;
pub use protocol::RangeProtocol;
pub use registry::LockStats;
pub use table::{LockOptions, LockTable, Outcome, WaitLimit};
pub use victims::{Standing, VictimPolicy};
pub use wait::WaitPolicy;
