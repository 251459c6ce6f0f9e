//! Facts about the machine, which accompany every number.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use clearway_disk::{Disk, OpenMode};
use serde_json::Value;

use crate::experiment::Outcome;

/// Returns the facts that every report contains.
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

/// Returns the number of threads that were running or runnable, on average over the last minute. It
/// includes the threads of the experiment.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Returns the processor time that this process has used so far, in all its threads.
pub(crate) fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Returns the processor time that the calling thread has used so far, in seconds; 0 if the system
/// does not report it.
pub(crate) fn thread_cpu_seconds() -> f64 {
    // On Linux the first of three numbers, in nanoseconds.
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The name of the flushed file. It is in the log's directory, so delaying disks delay its flushes.
const FLUSH_FILE: &str = "log/lab-flush";
/// The number of bytes in a measured flush.
const FLUSH_BYTES: usize = 4096;
/// The number of measured flushes.
const FLUSHES: u64 = 100;

/// Returns the median time of one small durable log write on `disk`, in microseconds: the lower
/// bound for a blocking commit. A flush on a delaying disk takes somewhat longer than the requested
/// delay.
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
