//! O7: the log comes first. Watches what the engine asks of its disk.
//!
//! Checked of each operation, *before* it happens:
//! - P1. A page goes to its place only if the log is durable up to its page LSN.
//! - P2. A log sector is written once in an opening, and never before what was acknowledged.
//! - P3. A segment loses its name only if it is wholly below the keep-from LSN of the superblock
//!   that is durable (or was never written).
//! - P4. Nothing is acknowledged beyond what is durable: the lane says what it acknowledges.
//!
//! The observer knows only what it sees: files, offsets and bytes. "Durable" is what one gapless
//! run of durable log writes of this opening covers; what recovery found, it has synced.

use std::collections::BTreeMap;

use clearway_base::{Lsn, PAGE_SIZE};

use super::{Oracle, Verdict, Violation};

const LOG_PREFIX: &str = "log/";
const DATA_FILE: &str = "data";
/// Pages 0 and 1 hold the superblock.
const SUPERBLOCKS: u64 = 2;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct WriteAhead {
    segment_bytes: u64,
    /// Start and end of what this opening has written to the log.
    written: Option<(Lsn, Lsn)>,
    /// Of `written`, what is durable without a gap.
    durable: Lsn,
    /// Durable writes beyond a gap.
    early: BTreeMap<Lsn, Lsn>,
    /// The highest page LSN written before this opening's first log write.
    redone: Lsn,
    /// Nothing before this was given up by a durable superblock.
    keep_from: Lsn,
    acknowledged: Lsn,
    /// The highest log byte ever written.
    highest: Lsn,
}

impl WriteAhead {
    /// An observer of a new database with segments of this size.
    pub fn new(segment_bytes: u64) -> WriteAhead {
        WriteAhead { segment_bytes, ..WriteAhead::default() }
    }

    /// The database is about to be opened again; what was acknowledged stays so.
    pub fn reopen(&mut self) {
        let (segment_bytes, keep_from) = (self.segment_bytes, self.keep_from);
        let (acknowledged, highest) = (self.acknowledged, self.highest);
        *self =
            WriteAhead { segment_bytes, keep_from, acknowledged, highest, ..WriteAhead::default() };
    }

    /// What the disk has of this opening's log.
    pub fn durable(&self) -> Lsn {
        self.durable
    }

    /// P4: a result with this `ack` is about to be shown.
    ///
    /// # Errors
    /// If it could still be lost.
    pub fn acknowledge(&mut self, ack: Lsn) -> Verdict {
        // What stood in the log when it was opened was durable before its first write.
        let durable = self.written.map_or(Lsn::MAX, |(start, _)| start.max(self.durable));
        if ack > durable {
            return violated(format!("acknowledged at {ack}, durable up to {durable}"));
        }
        self.acknowledged = self.acknowledged.max(ack);
        Ok(())
    }

    /// A write of `bytes` at `offset` of `name` is about to happen.
    ///
    /// # Errors
    /// P1 and P2.
    pub fn write(&mut self, name: &str, offset: u64, bytes: &[u8]) -> Verdict {
        if let Some(segment) = self.segment(name) {
            // Behind the log's bytes a segment has its label.
            if offset >= self.segment_bytes {
                return Ok(());
            }
            return self.write_log(Lsn(segment.0 + offset), bytes.len() as u64);
        }
        if name == DATA_FILE { self.write_pages(offset, bytes) } else { Ok(()) }
    }

    /// A durable write has succeeded.
    pub fn written_durably(&mut self, name: &str, offset: u64, bytes: &[u8]) {
        if let Some(segment) = self.segment(name).filter(|_| offset < self.segment_bytes) {
            let start = Lsn(segment.0 + offset);
            self.early.insert(start, Lsn(start.0 + bytes.len() as u64));
            while let Some(end) = self.early.remove(&self.durable) {
                self.durable = end;
            }
        } else if name == DATA_FILE && offset < SUPERBLOCKS * PAGE_SIZE as u64 {
            self.note_superblock(bytes);
        }
    }

    /// A file is about to lose its name, by a removal or a rename.
    ///
    /// # Errors
    /// P3.
    pub fn unname(&mut self, name: &str) -> Verdict {
        let Some(Lsn(start)) = self.segment(name) else { return Ok(()) };
        let end = Lsn(start + self.segment_bytes);
        if end <= self.keep_from || Lsn(start) >= self.highest || self.keep_from == Lsn::ZERO {
            return Ok(());
        }
        violated(format!("{name} was given up, and {} is still needed", self.keep_from))
    }

    fn write_log(&mut self, start: Lsn, len: u64) -> Verdict {
        let end = Lsn(start.0 + len);
        if start < self.acknowledged {
            let acknowledged = self.acknowledged;
            return violated(format!("log written at {start}, acknowledged up to {acknowledged}"));
        }
        match &mut self.written {
            None => {
                if self.redone > start {
                    let redone = self.redone;
                    return violated(format!("a page of {redone} before log from {start} on"));
                }
                self.written = Some((start, end));
                self.durable = start;
            }
            // Groups are begun in order, and each is written once.
            Some((_, last)) if start >= *last => *last = end,
            Some((_, last)) => {
                return violated(format!("log written at {start} again, up to {last} before"));
            }
        }
        self.highest = self.highest.max(end);
        Ok(())
    }

    fn write_pages(&mut self, offset: u64, bytes: &[u8]) -> Verdict {
        let first = offset / PAGE_SIZE as u64;
        for (page, bytes) in (first..).zip(bytes.chunks(PAGE_SIZE)) {
            if page < SUPERBLOCKS || bytes.len() < PAGE_SIZE {
                continue;
            }
            let lsn = Lsn(long(bytes, 8));
            match self.written {
                None => self.redone = self.redone.max(lsn),
                Some((start, _)) if lsn > self.durable.max(start) => {
                    let durable = self.durable;
                    return violated(format!("page {page} of {lsn}, log durable to {durable}"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn note_superblock(&mut self, bytes: &[u8]) {
        let is_creating = bytes[68] & 1 != 0;
        if bytes.len() >= 512 && !is_creating {
            self.keep_from = Lsn(long(bytes, 48));
        }
    }

    /// Where the segment of this name begins.
    fn segment(&self, name: &str) -> Option<Lsn> {
        let digits = name.strip_prefix(LOG_PREFIX)?;
        u64::from_str_radix(digits, 16).ok().map(Lsn)
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn violated(detail: String) -> Verdict {
    Err(Violation::new(Oracle::WriteAhead, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lsn: u64) -> Vec<u8> {
        let mut page = vec![0; PAGE_SIZE];
        page[8..16].copy_from_slice(&lsn.to_le_bytes());
        page
    }

    fn log(observer: &mut WriteAhead, at: u64) -> Verdict {
        observer.write("log/0000000000000000", at, &[0; 512])?;
        observer.written_durably("log/0000000000000000", at, &[0; 512]);
        Ok(())
    }

    #[test]
    fn a_page_before_its_log_is_caught() {
        let mut observer = WriteAhead::new(4096);
        log(&mut observer, 0).unwrap();
        let data = 2 * PAGE_SIZE as u64;
        assert!(observer.write(DATA_FILE, data, &page(512)).is_ok());
        assert!(observer.write(DATA_FILE, data, &page(513)).is_err());
        assert!(observer.acknowledge(Lsn(512)).is_ok());
        assert!(observer.acknowledge(Lsn(513)).is_err());
    }

    #[test]
    fn a_gap_in_the_log_is_not_durable() {
        let mut observer = WriteAhead::new(4096);
        log(&mut observer, 0).unwrap();
        log(&mut observer, 1024).unwrap();
        assert_eq!(observer.durable(), Lsn(512));
        assert!(log(&mut observer, 512).is_err(), "groups are begun in order");
    }

    #[test]
    fn a_needed_segment_keeps_its_name() {
        let mut observer = WriteAhead::new(512);
        log(&mut observer, 0).unwrap();
        let mut block = vec![0; PAGE_SIZE];
        block[48..56].copy_from_slice(&100u64.to_le_bytes());
        observer.written_durably(DATA_FILE, 0, &block);
        assert!(observer.unname("log/0000000000000000").is_err());
        block[48..56].copy_from_slice(&512u64.to_le_bytes());
        observer.written_durably(DATA_FILE, 0, &block);
        assert!(observer.unname("log/0000000000000000").is_ok());
    }
}
