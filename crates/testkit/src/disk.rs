//! Disks for tests and experiments, behind the traits of `clearway_disk`.
//!
//! | disk | what it is for |
//! | --- | --- |
//! | [`DelayedDisk`] | any disk with slower log flushes, for experiments |
//! | [`FaultyDisk`] | any disk, with failures, stalls and observation planned by a test |
//! | [`SimDisk`] | power failures and faults of every kind, drawn from one seed |

mod delayed;
mod faulty;
mod sim;

pub use delayed::DelayedDisk;
pub use faulty::{Event, Faults, FaultyDisk, Lasting, Operation};
pub use sim::{
    CrashImage, Fault, MetadataMode, PowerCut, ReadFault, ReadWhen, SimDisk, SimEvent,
    SimOperation, SimOptions,
};
