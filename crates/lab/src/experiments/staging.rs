//! Shared by the experiments on two-stage execution, after "High-Performance Transaction Processing
//! in Charm": the policies, the disks, loaded databases with warm caches, and one measured run.
//!
//! Differences from the paper, of all these experiments:
//! - Data are in memory, behind a disk whose reads wait for a few servers. Writes and the log are
//!   not delayed. (The paper's log was asynchronous, and was on a disk of its own.)
//! - The cache is sized by the data, which are smaller, so that its hit rate is that of the paper.
//!   As there, each operation requests the pages from a root to a leaf; their number is estimated.
//! - Keys are locked, not pages. So without reads hardly any transaction waits for another one.
//! - Each client is a thread that waits for its commits; their number is the concurrency.
//! - All variants of a point run on the same database, one after the other. It is replaced by a
//!   copy of the loaded data, and warmed up again, when it has grown by a fourth.

mod counters;
mod device;
mod measures;
mod observed;
mod point;
mod policies;
mod site;
mod sizes;

pub(super) use device::{Device, FOUR_DISKS, TWO_DISKS, VOLUME};
pub(super) use measures::{NEW_ORDER, each, percent};
pub(super) use observed::TypeRuns;
pub(super) use point::{Load, Ran};
pub(super) use policies::{CONVENTIONAL, Policy, claimed, staged, variants};
pub(super) use site::{Data, Place, Sites};
pub(super) use sizes::Sizes;

/// Returns the title of a grid on TPC-C.
pub(super) fn title(warehouses: u32, device: Device) -> String {
    let plural = if warehouses == 1 { "" } else { "s" };
    format!("TPC-C, {warehouses} warehouse{plural}, {}", device.name)
}
