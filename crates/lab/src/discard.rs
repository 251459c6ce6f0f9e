//! A disk that discards all writes, for measuring the work before the disk without the time of the
//! disk.
//!
//! Invariants:
//! - Every call succeeds at once. No written byte can be read back.
//! - A file has the length that writes, `set_len` and `allocate` gave it. No file is listed, so a
//!   log that is started here is new.

use std::{path::PathBuf, sync::Arc};

use clearway_base::Result;
use clearway_disk::{Disk, File, OpenMode};
use clearway_sync::atomic::{AtomicU64, Ordering};

/// A disk without contents.
pub(crate) struct DiscardingDisk;

/// A file that keeps its length only.
struct Discarded {
    len: AtomicU64,
}

impl Disk for DiscardingDisk {
    fn open(&self, _name: &str, _mode: OpenMode) -> Result<Arc<dyn File>> {
        Ok(Arc::new(Discarded { len: AtomicU64::new(0) }))
    }

    fn exists(&self, _name: &str) -> Result<bool> {
        Ok(false)
    }

    fn rename(&self, _from: &str, _to: &str) -> Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    fn list(&self, _dir: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn create_dir(&self, _dir: &str) -> Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _dir: &str) -> Result<()> {
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }

    fn random(&self) -> Result<u64> {
        Ok(1)
    }

    fn path(&self) -> PathBuf {
        "nowhere".into()
    }
}

impl Discarded {
    fn lengthen(&self, len: u64) {
        // Relaxed: no other data depends on the length.
        self.len.fetch_max(len, Ordering::Relaxed);
    }
}

impl File for Discarded {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let there = self.len()?.saturating_sub(offset).min(buf.len() as u64) as usize;
        buf[..there].fill(0);
        Ok(there)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.lengthen(offset + buf.len() as u64);
        Ok(())
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.write_at(buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.len.load(Ordering::Relaxed))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.len.store(len, Ordering::Relaxed);
        Ok(())
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        self.lengthen(offset + len);
        Ok(())
    }

    fn path(&self) -> PathBuf {
        "nowhere".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_length_is_kept() {
        let file = DiscardingDisk.open("x", OpenMode::Create).unwrap();
        file.write_durable_at(&[7; 8], 4).unwrap();
        let mut read = [9; 16];
        assert_eq!((file.len().unwrap(), file.read_at(&mut read, 0).unwrap()), (12, 12));
        assert_eq!((&read[..12], &read[12..]), (&[0; 12][..], &[9; 4][..]));
    }
}
