//! Transactional locks: range locks on keys and gaps, intent locks on tables, waiting, deadlocks,
//! and the commit tags that make early lock release safe.
//!
//! The crate does not depend on pages, trees or logs: a lock is a 64-bit identity and a mode, and a
//! tag is a log sequence number. The tree decides *when* to request *which* lock; the transaction
//! interprets tags at commit.
//!
//! | module | contents |
//! | --- | --- |
//! | `mode`, `intent` | lock modes and their compatibility |
//! | `identity` | lock identities |
//! | `entries`, `queue` | a bucket's requests, and the rules that grant them |
//! | `resource` | the counters of intent locks |
//! | `participants` | the participant records: one for each owner, with what others see of it |
//! | `wait_record` | the lock table's part of such a record: the state of a waiting owner |
//! | `owner` | the private lock state of a transaction |
//! | `shared`, `bucket` | the table as a value; its buckets, with the tags |
//! | `table` | operations that never wait |
//! | `wait`, `intents` | operations that may wait |
//! | `deadlock`, `search_memory` | finding deadlocks |
//! | `victims` | victim selection and protection from starvation |
//! | `cycle`, `cycle_member` | diagnosis of deadlocks and lock holders |
//! | `current` | diagnosis of the waits that go on |
//! | `stalls`, `stall_clocks` | the part of a wait that the page reads of others caused |
//! | [`parts`] | the interface for variants of the above |
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
//! // Alice commits: her commit record ends at 4711, and the next owner of the key meets that tag.
//! table.release_all(&mut alice, Some(Lsn(4711)));
//! table.acquire(&mut bob, key, RangeMode::SN, WaitLimit::Default)?;
//! assert_eq!(bob.max_tag(), Lsn(4711));
//! # Ok::<(), clearway_base::Error>(())
//! ```

mod bucket;
mod current;
mod cycle;
mod cycle_member;
mod deadlock;
mod entries;
mod identity;
mod intent;
mod intents;
mod mode;
mod owner;
mod participants;
pub mod parts;
mod published_intents;
mod queue;
mod resource;
mod search_memory;
mod shared;
mod stall_clocks;
mod stalls;
mod table;
mod victims;
mod wait;
mod wait_record;

pub use current::{BlockingOwner, InTheWay, OngoingWait};
pub use cycle_member::{Awaited, CycleMember};
pub use identity::{LockId, ResourceId};
pub use intent::{AbsoluteMode, IntentMode};
pub use mode::{Part, RangeMode};
pub use owner::{LockOwner, WaitLength};
pub use participants::{PARTICIPANTS_MAX, Participant, Participants};
pub use parts::LockParts;
pub use shared::{LockOptions, LockTable, Outcome, WaitLimit};
pub use victims::RetryPriority;
pub use wait_record::LockStats;
