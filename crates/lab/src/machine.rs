//! What there is to know of the machine, beside every number.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use clearway_disk::{Disk, OpenMode};
use serde_json::Value;

use crate::experiment::Outcome;

/// Facts that every report has.
pub(crate) fn facts() -> Vec<(String, Value)> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let build = if cfg!(debug_assertions) { "debug: its numbers mean nothing" } else { "release" };
    let mut facts = vec![("cores".into(), cores.into()), ("build".into(), build.into())];
    facts.extend(processor().map(|model| ("processor".into(), model.into())));
    facts.extend(load().map(|load| ("load before".into(), load.into())));
    facts
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim().to_string())
}

/// Threads that ran or wanted to, on average over the last minute. The experiment is among them.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Processor time that this process has used so far, all its threads together.
pub(crate) fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Time that the calling thread has had a processor so far, in seconds; 0 where nobody says.
pub(crate) fn thread_cpu_seconds() -> f64 {
    // Linux, in nanoseconds, the first of three numbers.
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The name of the file that is flushed: of the log, so that delaying disks delay it.
const FLUSH_FILE: &str = "log/lab-flush";
/// Bytes of a measured flush.
const FLUSH_BYTES: usize = 4096;
/// How many are measured.
const FLUSHES: u64 = 100;

/// The median time of one small durable log write on `disk`, in microseconds: what a blocking
/// commit cannot go below. A delaying disk's flush takes somewhat longer than it is asked to.
pub(crate) fn flush_p50_us(disk: &dyn Disk) -> Outcome<f64> {
    disk.create_dir("log")?;
    let file = disk.open(FLUSH_FILE, OpenMode::Create)?;
    let bytes = clearway_disk::AlignedBuf::new(FLUSH_BYTES);
    file.write_durable_at(&bytes, 0)?;
    let mut times = Vec::new();
    for _ in 0..FLUSHES {
        let begun = Instant::now();
        file.write_durable_at(&bytes, 0)?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    disk.remove(FLUSH_FILE)?;
    Ok(crate::variants::Spread::of(&times).median)
}
