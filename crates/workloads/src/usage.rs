//! Operating system counters of this process.

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

/// Counters of the process, all its threads included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Context switches because a thread waited.
    pub switches_voluntary: u64,
    /// Context switches because a thread's time slice was used up.
    pub switches_involuntary: u64,
    /// Processor time in user mode, microseconds.
    pub user_us: u64,
    /// Processor time in the kernel, microseconds.
    pub system_us: u64,
    /// The largest resident memory so far, bytes.
    pub memory_max_bytes: u64,
}

impl Usage {
    /// Returns the current counters, or zeros if the system does not report them.
    pub fn now() -> Usage {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Usage::default() };
        let micros = |time: TimeVal| time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64;
        Usage {
            switches_voluntary: usage.voluntary_context_switches() as u64,
            switches_involuntary: usage.involuntary_context_switches() as u64,
            user_us: micros(usage.user_time()),
            system_us: micros(usage.system_time()),
            memory_max_bytes: usage.max_rss() as u64 * 1024,
        }
    }

    /// Returns the difference since `before`; memory is the largest so far.
    #[must_use]
    pub fn since(self, before: &Usage) -> Usage {
        Usage {
            switches_voluntary: self.switches_voluntary - before.switches_voluntary,
            switches_involuntary: self.switches_involuntary - before.switches_involuntary,
            user_us: self.user_us - before.user_us,
            system_us: self.system_us - before.system_us,
            memory_max_bytes: self.memory_max_bytes,
        }
    }

    /// All context switches.
    pub fn switches(&self) -> u64 {
        self.switches_voluntary + self.switches_involuntary
    }
}
