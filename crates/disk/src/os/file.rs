//! A file of the operating system, with two descriptors.
//!
//! Calls whose address, length and offset are aligned bypass the page cache through the direct
//! descriptor; all others go through the buffered one. The kernel keeps the two consistent for
//! calls that do not overlap in time: a direct write drops the cached pages of its range, and a
//! direct read first writes back dirty ones.
//!
//! Invariants:
//! - OS-FILE-1. Every `fsync` and `fdatasync` goes through the buffered descriptor, to which the
//!   kernel reports a write-back error once. (A durable write syncs its own range, through the
//!   descriptor that it is made with.)
//! - OS-FILE-2. `direct_unit` only ever changes 512 → 4096 → 0 (off). It is a hint: a stale value
//!   costs one refused call.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
};

use clearway_base::{Error, Result};
use clearway_sync::{
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    step,
};
use rustix::{
    fs::FallocateFlags,
    io::{Errno, ReadWriteFlags},
};

use super::repeat::{io_error, repeating};
use crate::{AlignedBuf, File};

/// The smallest alignment that any device accepts for direct I/O.
const UNIT_MIN: usize = 512;
/// The alignment that every device accepts for direct I/O.
const UNIT_MAX: usize = crate::IO_ALIGNMENT;
/// Bytes written at a time where a file system cannot reserve space: long enough that the cost of
/// the call is negligible, short enough for any heap.
const ZEROS_LEN: usize = 1 << 20;

pub(super) struct OsFile {
    buffered: OwnedFd,
    direct: Option<OwnedFd>,
    /// Alignment that direct I/O needs here, 0 if it does not work (OS-FILE-2).
    direct_unit: AtomicUsize,
    /// True once the kernel has refused a write that syncs itself (`RWF_DSYNC`).
    no_durable_writes: AtomicBool,
    path: PathBuf,
}

/// The time when the bytes of a write become durable: at a later sync, or before the write returns.
#[derive(Clone, Copy, PartialEq)]
enum Durability {
    Later,
    Now,
}

impl OsFile {
    pub(super) fn new(buffered: OwnedFd, direct: Option<OwnedFd>, path: PathBuf) -> OsFile {
        let direct_unit = AtomicUsize::new(if direct.is_some() { UNIT_MIN } else { 0 });
        OsFile { buffered, direct, direct_unit, no_durable_writes: AtomicBool::new(false), path }
    }

    fn error(&self, operation: &'static str, errno: Errno) -> Error {
        Error::io(operation, &self.path, io_error(errno))
    }

    /// Returns the unit to which this call is aligned for direct I/O; `None` if it is not, or if
    /// there is no direct I/O here. Relaxed: OS-FILE-2.
    fn direct_for(&self, bytes: *const [u8], offset: u64) -> Option<usize> {
        let unit = self.direct_unit.load(Relaxed);
        let all = bytes.addr() | bytes.len() | offset as usize;
        (unit != 0 && all & (unit - 1) == 0).then_some(unit)
    }

    /// Makes `direct_unit` stricter, or turns direct I/O off, after the kernel has refused a direct
    /// call that was aligned to `unit`.
    fn direct_refused(&self, unit: usize) {
        let stricter = if unit == UNIT_MIN { UNIT_MAX } else { 0 };
        // Relaxed, no partner: OS-FILE-2. If another thread has made the same change first, this
        // call changes nothing.
        let _ = self.direct_unit.compare_exchange(unit, stricter, Relaxed, Relaxed);
    }

    /// Runs `call` on the direct descriptor if `unit` says that the range is aligned for it, and on
    /// the buffered one if it is not or if the direct one refuses.
    fn on_best<T>(
        &self,
        unit: Option<usize>,
        mut call: impl FnMut(BorrowedFd<'_>) -> rustix::io::Result<T>,
    ) -> rustix::io::Result<T> {
        let (Some(unit), Some(direct)) = (unit, &self.direct) else {
            return repeating(|| call(self.buffered.as_fd()));
        };
        match repeating(|| call(direct.as_fd())) {
            Err(Errno::INVAL) => {
                let done = repeating(|| call(self.buffered.as_fd()))?;
                self.direct_refused(unit);
                Ok(done)
            }
            other => other,
        }
    }

    fn write_fully(&self, mut buf: &[u8], mut offset: u64, durability: Durability) -> Result<()> {
        let operation = if durability == Durability::Now { "write durably" } else { "write" };
        while !buf.is_empty() {
            let unit = self.direct_for(buf, offset);
            let written = self.on_best(unit, |fd| match durability {
                Durability::Later => rustix::io::pwrite(fd, buf, offset),
                Durability::Now => {
                    let slices = [io::IoSlice::new(buf)];
                    rustix::io::pwritev2(fd, &slices, offset, ReadWriteFlags::DSYNC)
                }
            });
            match written {
                Ok(0) => {
                    let nothing = io::ErrorKind::WriteZero.into();
                    return Err(Error::io(operation, &self.path, nothing));
                }
                Ok(n) => {
                    buf = &buf[n..];
                    offset += n as u64;
                }
                Err(Errno::NOSYS | Errno::OPNOTSUPP) if durability == Durability::Now => {
                    // Relaxed, no partner: a stale `false` costs one refused call.
                    self.no_durable_writes.store(true, Relaxed);
                    return self.write_then_sync(buf, offset);
                }
                Err(errno) => return Err(self.error(operation, errno)),
            }
        }
        Ok(())
    }

    fn write_then_sync(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.write_fully(buf, offset, Durability::Later)?;
        self.sync_data()
    }

    /// Fills the range from the end of the file to `end` with zeros.
    fn fill_up_to(&self, end: u64) -> Result<()> {
        let mut at = self.len()?;
        let zeros = AlignedBuf::new(ZEROS_LEN);
        while at < end {
            // The first piece ends on an aligned offset, so that the others can be direct.
            let piece = (ZEROS_LEN as u64 - at % ZEROS_LEN as u64).min(end - at);
            self.write_fully(&zeros[..piece as usize], at, Durability::Later)?;
            at += piece;
        }
        Ok(())
    }
}

impl File for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        step::assert_may_block("a read of a file");
        let mut done = 0;
        while done < buf.len() {
            let rest = &mut buf[done..];
            let at = offset + done as u64;
            let unit = self.direct_for(rest, at);
            match self.on_best(unit, |fd| rustix::io::pread(fd, &mut *rest, at)) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(errno) => return Err(self.error("read", errno)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        step::assert_may_block("a write to a file");
        self.write_fully(buf, offset, Durability::Later)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        step::assert_may_block("a write to a file");
        // Relaxed: see the store in `write_fully`.
        if self.no_durable_writes.load(Relaxed) {
            return self.write_then_sync(buf, offset);
        }
        self.write_fully(buf, offset, Durability::Now)
    }

    fn sync_data(&self) -> Result<()> {
        step::assert_may_block("a sync of a file");
        // OS-FILE-1. An interrupted sync has reported nothing, so repeating it hides no error
        // (DISK-3).
        repeating(|| rustix::fs::fdatasync(&self.buffered)).map_err(|e| self.error("sync", e))
    }

    fn sync_all(&self) -> Result<()> {
        step::assert_may_block("a sync of a file");
        repeating(|| rustix::fs::fsync(&self.buffered)).map_err(|e| self.error("sync", e))
    }

    fn len(&self) -> Result<u64> {
        let stat = rustix::fs::fstat(&self.buffered).map_err(|e| self.error("examine", e))?;
        Ok(stat.st_size as u64)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        step::assert_may_block("a change of the length of a file");
        repeating(|| rustix::fs::ftruncate(&self.buffered, len))
            .map_err(|errno| self.error("set the length of", errno))
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        step::assert_may_block("a change of the length of a file");
        if len == 0 {
            return Ok(());
        }
        // Past `i64::MAX` the kernel would report an invalid argument.
        let end = offset.checked_add(len).filter(|&end| i64::try_from(end).is_ok());
        let end = end.ok_or_else(|| self.error("grow", Errno::FBIG))?;
        // Reserve first and lengthen afterwards, so that a full disk leaves the length alone
        // (DISK-5). The second call finds the space reserved; unlike `set_len` it can never
        // shorten.
        for flags in [FallocateFlags::KEEP_SIZE, FallocateFlags::empty()] {
            match repeating(|| rustix::fs::fallocate(&self.buffered, flags, offset, len)) {
                Ok(()) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => return self.fill_up_to(end),
                Err(errno) => return Err(self.error("grow", errno)),
            }
        }
        Ok(())
    }

    fn io_descriptor(&self, memory: *const [u8], offset: u64) -> Option<BorrowedFd<'_>> {
        let direct = self.direct.as_ref().filter(|_| self.direct_for(memory, offset).is_some());
        Some(direct.unwrap_or(&self.buffered).as_fd())
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags};

    use super::*;

    fn temporary_file(dir: &tempfile::TempDir, direct: bool) -> OsFile {
        let path = dir.path().join("f");
        let open = |flags| {
            let flags = flags | OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
            rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))
        };
        let buffered = open(OFlags::empty()).unwrap();
        let direct = if direct { open(OFlags::DIRECT).ok() } else { None };
        OsFile::new(buffered, direct, path.clone())
    }

    #[test]
    fn refused_direct_io_gets_stricter_and_then_stops() {
        let dir = tempfile::tempdir().unwrap();
        let file = temporary_file(&dir, true);
        if file.direct.is_none() {
            return; // this file system has no direct I/O
        }
        let buf = AlignedBuf::new(8192);
        assert!(file.direct_for(&buf[512..1024], 512).is_some());
        assert!(file.direct_for(&buf[1..513], 512).is_none());
        assert!(file.direct_for(&buf[..512], 1).is_none());
        assert!(file.direct_for(&buf[..100], 0).is_none());
        file.direct_refused(UNIT_MIN);
        file.direct_refused(UNIT_MIN); // a second thread whose call was refused too
        assert!(file.direct_for(&buf[512..1024], 512).is_none());
        assert!(file.direct_for(&buf[..4096], 4096).is_some());
        file.direct_refused(UNIT_MAX);
        assert!(file.direct_for(&raw const *buf, 0).is_none());
    }

    #[test]
    fn einval_from_the_direct_descriptor_falls_back_to_the_buffered_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = temporary_file(&dir, true);
        let Some(direct) = &file.direct else { return };
        let refuse_direct = |fd: BorrowedFd<'_>| {
            if fd.as_raw_fd() == direct.as_raw_fd() { Err(Errno::INVAL) } else { Ok(()) }
        };
        assert_eq!(file.on_best(Some(UNIT_MIN), refuse_direct), Ok(()));
        assert_eq!(file.direct_unit.load(Relaxed), UNIT_MAX);
        let refuse_all = |_: BorrowedFd<'_>| Err::<(), _>(Errno::INVAL);
        assert_eq!(file.on_best(Some(UNIT_MAX), refuse_all), Err(Errno::INVAL));
        assert_eq!(file.direct_unit.load(Relaxed), UNIT_MAX, "the call itself was at fault");
    }

    #[test]
    fn zero_filling_keeps_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        for direct in [false, true] {
            let file = temporary_file(&dir, direct);
            file.set_len(0).unwrap();
            file.write_at(b"kept", 0).unwrap();
            let end = ZEROS_LEN as u64 * 2 + 100;
            file.fill_up_to(end).unwrap();
            assert_eq!(file.len().unwrap(), end);
            let mut bytes = vec![1; end as usize + 10];
            assert_eq!(file.read_at(&mut bytes, 0).unwrap(), end as usize);
            assert_eq!(&bytes[..4], b"kept");
            assert!(bytes[4..end as usize].iter().all(|&byte| byte == 0));
            file.fill_up_to(3).unwrap();
            assert_eq!(file.len().unwrap(), end);
        }
    }

    #[test]
    fn durable_write_works_without_the_system_call() {
        let dir = tempfile::tempdir().unwrap();
        let file = temporary_file(&dir, true);
        file.no_durable_writes.store(true, Relaxed);
        file.write_durable_at(b"durable", 3).unwrap();
        let mut bytes = [9; 10];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 10);
        assert_eq!(&bytes, b"\0\0\0durable");
    }
}
