//! A clock that all processes of a machine share, so that a history can continue after a crash.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock: since the machine started, never set back.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
