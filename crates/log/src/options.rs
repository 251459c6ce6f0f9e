//! Options of a log.

use std::{fmt, sync::Arc, time::Duration};

use clearway_base::{Error, RECORD_LEN_MAX, Result, SECTOR_SIZE};

use crate::parts::{LogParts, ProductLogParts};

/// The options of a [`Log`](crate::Log).
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Size of the buffer in memory: a power of two, at least 4096. A record is at most half of it.
    pub ring_bytes: usize,
    /// Log bytes of a segment file, without its label: a multiple of 4096. Fixed for the life of a
    /// database.
    pub segment_bytes: u64,
    /// Bytes that the segments in use may occupy together, at least two segments. The 4 KiB label
    /// after each segment does not count.
    pub capacity_bytes: u64,
    /// The group-commit delay: the time from the start of a group to the start of the next one if
    /// no thread waits for it. At most a second; default 100 µs; zero for no delay.
    pub group_commit_delay: Duration,
    /// Number of group writes that may overlap, 1 to 16.
    pub flushes_in_flight: usize,
    /// True if background threads write groups and prepare segments. Default true. Without them, a
    /// thread that waits for durability writes itself, requests without a waiter are ignored,
    /// polling does not write, and a reservation that finds no log space fails at once.
    pub background: bool,
    /// The parts of the log, by default the product's; others are for experiments.
    pub parts: Arc<dyn LogParts>,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            ring_bytes: 16 << 20,
            segment_bytes: 16 << 20,
            capacity_bytes: 1 << 30,
            group_commit_delay: GROUP_COMMIT_DELAY,
            flushes_in_flight: 2,
            background: true,
            parts: Arc::new(ProductLogParts),
        }
    }
}

/// Upper bound on the group-commit delay.
const GROUP_COMMIT_DELAY_MAX: Duration = Duration::from_secs(1);
/// The default group-commit delay: the duration of a flush on a fast device. Under shuttle, where
/// no time passes, the scheduler decides when it is over; loom's models do not cover it.
const GROUP_COMMIT_DELAY: Duration = if cfg!(loom) {
    Duration::ZERO
} else if cfg!(shuttle) {
    GROUP_COMMIT_DELAY_MAX
} else {
    Duration::from_micros(100)
};

/// The unit of memory mapping and of direct I/O; ring and segments are multiples of it.
const UNIT: u64 = 4096;

impl LogOptions {
    /// Refuses invalid values.
    pub(crate) fn validate(&self) -> Result<()> {
        let bad = |option, detail: String| Err(Error::BadOption { option, detail });
        if !self.ring_bytes.is_power_of_two() || (self.ring_bytes as u64) < UNIT {
            return bad("ring_bytes", format!("{} is no power of two ≥ {UNIT}", self.ring_bytes));
        }
        check_segment_bytes(self.segment_bytes)?;
        if self.capacity_bytes / 2 < self.segment_bytes {
            let (capacity, file) = (Size(self.capacity_bytes), Size(self.segment_bytes));
            let least = Size(self.segment_bytes.saturating_mul(2));
            let detail = format!(
                "{capacity} is less than two of the log's files, which are of {file} each (a \
                 database keeps the size that it was created with): at least {least}"
            );
            return bad("capacity_bytes", detail);
        }
        if !(1..=16).contains(&self.flushes_in_flight) {
            return bad("flushes_in_flight", format!("{} is not 1..=16", self.flushes_in_flight));
        }
        let delay = self.group_commit_delay;
        if delay > GROUP_COMMIT_DELAY_MAX {
            let detail = format!("{delay:?} is longer than {GROUP_COMMIT_DELAY_MAX:?}");
            return bad("group_commit_delay", detail);
        }
        self.parts.validate()
    }

    /// The longest record, header included, that this log takes.
    pub(crate) fn record_len_max(&self) -> usize {
        RECORD_LEN_MAX.min(self.ring_bytes / 2)
    }

    /// Returns the distance, a power of two, between the LSNs at which inserts request a flush by
    /// themselves: an insert that passes a multiple of it does, so that a load without commits
    /// keeps the device busy and does not fill the ring. The group-commit delay does not apply to
    /// such a flush.
    pub(crate) fn flush_trigger_bytes(&self) -> u64 {
        (self.ring_bytes as u64 / 8).clamp(SECTOR_SIZE as u64, 1 << 20)
    }
}

/// A human-readable number of bytes: `16 MiB`, `1000 B`.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let fits = |(unit, _): &(u64, &str)| self.0 > 0 && self.0.is_multiple_of(*unit);
        let (unit, name) = units.into_iter().find(fits).unwrap_or((1, "B"));
        write!(f, "{} {name}", self.0 / unit)
    }
}

/// Refuses a segment size that is unsuitable for direct I/O.
pub(crate) fn check_segment_bytes(segment_bytes: u64) -> Result<()> {
    if segment_bytes == 0 || !segment_bytes.is_multiple_of(UNIT) {
        let detail = format!("{segment_bytes} is no positive multiple of {UNIT}");
        return Err(Error::BadOption { option: "segment_bytes", detail });
    }
    Ok(())
}
