//! Disks for tests and experiments, behind the traits of `clearway_disk`.
//!
//! | disk | what it is for |
//! | --- | --- |
//! | [`DelayedDisk`] | any disk with slower log flushes, for experiments |
//! | [`FaultyDisk`] | any disk, with failures, stalls and observation planned by a test |
//! | [`HeldReadsDisk`] | any disk, with an I/O queue whose reads a test completes |
//! | [`HeldWritesDisk`] | any disk, with an I/O queue whose writes a test completes |
//! | [`QueueingDisk`] | any disk whose reads wait for a few servers, for experiments |
//! | [`SimDisk`] | power failures and faults of every kind, drawn from one seed |
//!
//! A disk of a test that wraps another one writes only what it changes:
//! [`forward_disk`](crate::forward_disk), [`forward_file`](crate::forward_file).
//!
//! [`forge_page`] changes a page of any of them in a way that its checksum does not reveal.

mod delayed;
mod faulty;
#[doc(hidden)]
pub mod forward;
mod held_reads;
mod held_writes;
mod page;
mod queueing;
mod sim;

pub use delayed::DelayedDisk;
pub use faulty::{Event, Faults, FaultyDisk, Lasting, Operation};
pub use held_reads::{HeldReads, HeldReadsDisk};
pub use held_writes::{HeldWrites, HeldWritesDisk};
pub use page::{forge_page, seal_page};
pub use queueing::{QueueingDisk, ReadServers, ServerStats, ThreadReads};
pub use sim::{
    CrashImage, Fault, MetadataMode, PowerCut, ReadFault, ReadWhen, SimDisk, SimEvent,
    SimOperation, SimOptions,
};
