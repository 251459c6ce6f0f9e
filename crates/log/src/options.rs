//! Options of a log.

use std::{fmt, time::Duration};

use clearway_base::{Error, RECORD_LEN_MAX, Result, SECTOR_SIZE};

/// The strategy by which threads reserve space in the log buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// One mutex around reservation and fill: the baseline.
    Mutex,
    /// Like `Mutex`, but a thread that finds it taken joins a group that takes it once.
    Consolidated,
    /// A short latch around the reservation alone; fills run in parallel.
    Decoupled,
    /// Groups that take a short latch once; fills run in parallel.
    Hybrid,
    /// Like `Hybrid`, but regions are released in log order, by the first thread able to do so.
    Delegated,
    /// No latch: one compare-and-swap reserves; fills run in parallel.
    #[default]
    LockFree,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 6] = [
        Strategy::Mutex,
        Strategy::Consolidated,
        Strategy::Decoupled,
        Strategy::Hybrid,
        Strategy::Delegated,
        Strategy::LockFree,
    ];
}

/// The sizes of the consolidation array, for the strategies that have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Consolidation {
    /// Number of places, 1 to 64, at each of which one group can form at a time.
    pub places: usize,
    /// Number of groups that may exist at a time, forming or filling: at least `places`, at
    /// most 4096.
    pub slots: usize,
}

impl Default for Consolidation {
    fn default() -> Consolidation {
        Consolidation { places: 2, slots: 64 }
    }
}

/// The policy that determines when gathered records are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupPolicy {
    /// Write at once if the device is idle and a thread waits, or after the [group-commit
    /// delay](LogOptions::linger); while writes are in flight, the next group gathers.
    #[default]
    Adaptive,
    /// Write when the first of three limits is reached.
    Fixed {
        /// Number of flush requests since the last group.
        commits: u32,
        /// Number of bytes gathered since the last group.
        bytes: u64,
        /// Time since the first request that the last group does not cover.
        time: Duration,
    },
}

/// The options of a [`Log`](crate::Log).
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Size of the buffer in memory: a power of two, at least 4096. A record is at most half of it.
    pub ring_bytes: usize,
    /// Size of a segment file: a multiple of 4096. Fixed for the life of a database.
    pub segment_bytes: u64,
    /// Bytes that the live segments may occupy together, at least two segments. The 4 KiB label
    /// after each segment does not count.
    pub capacity_bytes: u64,
    /// The strategy by which threads reserve.
    pub strategy: Strategy,
    /// The sizes of the consolidation array, for strategies that reserve in groups.
    pub consolidation: Consolidation,
    /// The policy that determines when groups are written.
    pub group: GroupPolicy,
    /// The group-commit delay: under [`GroupPolicy::Adaptive`], the time from the start of a group
    /// to the start of the next one if no thread waits for it. At most a second; default 100 µs;
    /// zero for no delay.
    pub linger: Duration,
    /// Number of group writes that may overlap, 1 to 16.
    pub flushes_in_flight: usize,
    /// Whether threads write groups and prepare segments. Default true. Without them, a thread that
    /// waits for durability writes itself, requests without a waiter are ignored, polling does not
    /// write, and a claim that finds no room fails at once.
    pub background: bool,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            ring_bytes: 16 << 20,
            segment_bytes: 16 << 20,
            capacity_bytes: 1 << 30,
            strategy: Strategy::default(),
            consolidation: Consolidation::default(),
            group: GroupPolicy::default(),
            linger: LINGER,
            flushes_in_flight: 2,
            background: true,
        }
    }
}

/// Upper bound on the group-commit delay.
const LINGER_MAX: Duration = Duration::from_secs(1);
/// The default group-commit delay: the duration of a flush on a fast device. Under shuttle, where
/// no time passes, the scheduler decides when it is over; loom's models do not cover it.
const LINGER: Duration = if cfg!(loom) {
    Duration::ZERO
} else if cfg!(shuttle) {
    LINGER_MAX
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
        if self.linger > LINGER_MAX {
            return bad("linger", format!("{:?} is longer than {LINGER_MAX:?}", self.linger));
        }
        let Consolidation { places, slots } = self.consolidation;
        if !(1..=64).contains(&places) || !(places..=4096).contains(&slots) {
            return bad("consolidation", format!("{places} places and {slots} slots"));
        }
        Ok(())
    }

    /// The longest record, header included, that this log takes.
    pub(crate) fn record_len_max(&self) -> usize {
        RECORD_LEN_MAX.min(self.ring_bytes / 2)
    }

    /// An insert that passes a multiple of this, a power of two, requests a flush by itself, so
    /// that a load without commits keeps the device busy and does not fill the ring. The
    /// group-commit delay does not apply to such a flush. A fixed policy is not affected.
    pub(crate) fn flush_trigger_bytes(&self) -> u64 {
        match self.group {
            GroupPolicy::Adaptive => {
                (self.ring_bytes as u64 / 8).clamp(SECTOR_SIZE as u64, 1 << 20)
            }
            GroupPolicy::Fixed { .. } => u64::MAX,
        }
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
