//! How long a raw flush of the run's average size takes on this disk, right after the run: what no
//! engine can go below for one durable commit at a time.

use std::{path::Path, time::Instant};

use clearway_disk::{AlignedBuf, Disk, File, OpenMode, OsDisk};
use clearway_workloads::{Histogram, Outcome as Run};

use super::{Probe, Work};

/// Flushes that are measured.
const FLUSHES: u64 = 400;
/// The probe's file; its space is written once before, as the log's segments are.
const FILE: &str = "flush-probe";
const FILE_BYTES: u64 = 4 << 20;
const SECTOR: u64 = 512;

/// Times [`FLUSHES`] writes in `directory`, one after the other; `None` if the disk refuses.
pub(crate) fn flush_times(directory: &Path, work: &Work, run: &Run) -> Option<Probe> {
    if run.commits == 0 {
        return None;
    }
    let bytes = work.flush_bytes().next_multiple_of(SECTOR).clamp(SECTOR, FILE_BYTES / 4);
    let disk = OsDisk::open_dir(directory, false).ok()?;
    let times = disk
        .open(FILE, OpenMode::Create)
        .and_then(|file| measure(file.as_ref(), bytes))
        .map_err(|error| eprintln!("no raw flush times: {error}"));
    // Whether or not it went well, nothing stays.
    let _ = disk.remove(FILE);
    Some(Probe { bytes, times: times.ok()? })
}

fn measure(file: &dyn File, bytes: u64) -> clearway::Result<Histogram> {
    file.allocate(0, FILE_BYTES)?;
    let zeros = AlignedBuf::new(1 << 20);
    for chunk in 0..FILE_BYTES >> 20 {
        file.write_at(&zeros, chunk << 20)?;
    }
    file.sync_all()?;
    let mut times = Histogram::new();
    let buffer = AlignedBuf::new(bytes as usize);
    let mut offset = 0;
    for _ in 0..FLUSHES {
        if offset + bytes > FILE_BYTES {
            offset = 0;
        }
        let started = Instant::now();
        file.write_durable_at(&buffer, offset)?;
        times.record(started.elapsed().as_nanos() as u64);
        offset += bytes;
    }
    Ok(times)
}
