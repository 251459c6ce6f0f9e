//! Measures raw flushes of the run's average size on the same disk, right after the run. No engine
//! can make one commit at a time durable in less than the time of such a flush.
//!
//! The probe writes as the log does: with direct I/O into space that was written before, and with
//! the data sync in the same call. If the file system refuses direct I/O, it writes through the
//! page cache.

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSlice},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    time::Instant,
};

use clearway_workloads::{Histogram, Outcome as Run};
use rustix::{
    fs::OFlags,
    io::{Errno, ReadWriteFlags, pwritev2},
};

use super::work::Work;
use crate::output::print_status;

/// The times of raw flushes, for comparison.
pub(crate) struct Probe {
    /// The number of bytes in each flush.
    pub(crate) bytes: u64,
    /// The nanoseconds that each flush took.
    pub(crate) times: Histogram,
}

/// The number of measured flushes.
const FLUSHES: u64 = 400;
/// The probe's file. Its space is written once in advance, as that of the log's segments.
const FILE: &str = "flush-probe";
const FILE_BYTES: usize = 4 << 20;
/// The alignment that direct I/O requires of a buffer's address.
const ALIGNMENT: usize = 4096;
const SECTOR: u64 = 512;

/// Times [`FLUSHES`] writes in `directory`, one after the other. Returns `None` if the run had no
/// commits or the probe's I/O failed.
pub(crate) fn flush_times(directory: &Path, work: &Work, run: &Run) -> Option<Probe> {
    if run.commits == 0 {
        return None;
    }
    let average = work.flush_bytes().next_multiple_of(SECTOR);
    let bytes = average.clamp(SECTOR, FILE_BYTES as u64 / 4) as usize;
    let path = directory.join(FILE);
    let times = measure(&path, bytes);
    // The file is removed whether or not the writes succeeded.
    let _ = std::fs::remove_file(&path);
    match times {
        Ok(times) => Some(Probe { bytes: bytes as u64, times }),
        Err(error) => {
            print_status(format_args!("no raw flush times: {error}"));
            None
        }
    }
}

fn measure(path: &Path, bytes: usize) -> io::Result<Histogram> {
    let plain = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    plain.write_all_at(&vec![0; FILE_BYTES], 0)?;
    plain.sync_all()?;
    let direct = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(path)
        .unwrap_or(plain);
    // The part of the memory that begins at the alignment.
    let memory = vec![0; bytes + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    let buffer = &memory[start..start + bytes];
    let (mut times, mut offset) = (Histogram::new(), 0);
    for _ in 0..FLUSHES {
        if offset + bytes > FILE_BYTES {
            offset = 0;
        }
        let started = Instant::now();
        flush(&direct, buffer, offset as u64)?;
        times.record(started.elapsed().as_nanos() as u64);
        offset += bytes;
    }
    Ok(times)
}

/// Writes durably, in one call if the system has one.
fn flush(file: &File, buffer: &[u8], offset: u64) -> io::Result<()> {
    match pwritev2(file, &[IoSlice::new(buffer)], offset, ReadWriteFlags::DSYNC) {
        Ok(written) if written == buffer.len() => Ok(()),
        Ok(_) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            file.write_all_at(buffer, offset)?;
            file.sync_data()
        }
        Err(error) => Err(error.into()),
    }
}
