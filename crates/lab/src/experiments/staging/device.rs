//! The disks, by their reads.

use std::time::Duration;

use clearway_testkit::disk::ReadServers;

/// A disk that serves a few reads at a time, each of which takes a constant time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Device {
    pub(in super::super) name: &'static str,
    servers: usize,
    read_ms: u64,
}

/// The data disks of the paper.
pub(in super::super) const TWO_DISKS: Device =
    Device { name: "2 servers of 10 ms", servers: 2, read_ms: 10 };
/// Twice as many of them.
pub(in super::super) const FOUR_DISKS: Device =
    Device { name: "4 servers of 10 ms", servers: 4, read_ms: 10 };
/// A volume in a cloud.
pub(in super::super) const VOLUME: Device =
    Device { name: "64 servers of 1 ms", servers: 64, read_ms: 1 };

impl Device {
    /// Returns the servers of a disk of this kind, whose delay is off.
    pub(in super::super) fn servers(self) -> ReadServers {
        ReadServers::new(self.servers, Duration::from_millis(self.read_ms))
    }
}
