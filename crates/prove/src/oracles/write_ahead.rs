//! ORACLE-7: write-ahead logging. Observes the operations of the engine on its disk.
//!
//! Checked for each operation, *before* it is executed:
//! - WRITE-AHEAD-1. A page is written in place only if the log is durable up to its page LSN.
//! - WRITE-AHEAD-2. A log sector is written once in an opening, and never below the acknowledged
//!   LSN.
//! - WRITE-AHEAD-3. A segment loses its name only if it is completely below the retention LSN of
//!   the durable superblock (or was never written).
//! - WRITE-AHEAD-4. No result is acknowledged beyond the durable LSN; the lane reports its
//!   acknowledgements.
//!
//! The observer sees only files, offsets and bytes. The durable LSN is the end of the gapless run
//! of durable log writes of this opening. Log that recovery found counts as durable: recovery has
//! synced it.

use std::collections::BTreeMap;

use clearway_base::{Lsn, PAGE_SIZE, SECTOR_SIZE};

use super::{Oracle, Verdict, Violation};

const LOG_PREFIX: &str = "log/";
const DATA_FILE: &str = "data";
/// Pages 0 and 1 hold the superblock.
const SUPERBLOCKS: u64 = 2;
/// The offset of the retention LSN in a superblock (`docs/page-format.md`).
const RETENTION: usize = 48;
/// The offset of the flags, and the flag of a database that is being created.
const FLAGS: usize = 68;
const CREATING: u8 = 1;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct WriteAhead {
    segment_bytes: u64,
    /// The start and the end of the log that this opening has written.
    written: Option<(Lsn, Lsn)>,
    /// The LSN up to which `written` is durable without a gap.
    durable: Lsn,
    /// Durable writes beyond a gap, from start to end.
    early: BTreeMap<Lsn, Lsn>,
    /// The highest LSN of a page that was written before this opening's first log write.
    redone: Lsn,
    /// The retention LSN of the durable superblock: log from here on is still needed.
    retention: Lsn,
    acknowledged: Lsn,
    /// The end of the highest log write so far.
    highest: Lsn,
}

impl WriteAhead {
    /// Returns an observer of a new database with segments of this size.
    pub fn new(segment_bytes: u64) -> WriteAhead {
        WriteAhead { segment_bytes, ..WriteAhead::default() }
    }

    /// Prepares for the next opening of the database. The acknowledged LSN stays.
    pub fn reopen(&mut self) {
        let (segment_bytes, retention) = (self.segment_bytes, self.retention);
        let (acknowledged, highest) = (self.acknowledged, self.highest);
        *self =
            WriteAhead { segment_bytes, retention, acknowledged, highest, ..WriteAhead::default() };
    }

    /// Returns the LSN up to which this opening's log is durable.
    pub fn durable(&self) -> Lsn {
        self.durable
    }

    /// WRITE-AHEAD-4: checks a result with this `ack`, which is about to be acknowledged.
    ///
    /// # Errors
    /// If the result could still be lost.
    pub fn acknowledge(&mut self, ack: Lsn) -> Verdict {
        // The log found at the opening was durable before the first write of this opening.
        let durable = self.written.map_or(Lsn::MAX, |(start, _)| start.max(self.durable));
        if ack > durable {
            return violated(format!("acknowledged at {ack}, durable up to {durable}"));
        }
        self.acknowledged = self.acknowledged.max(ack);
        Ok(())
    }

    /// Checks a write of `bytes` at `offset` of `name`, which is about to be executed.
    ///
    /// # Errors
    /// A violation of WRITE-AHEAD-1 or WRITE-AHEAD-2.
    pub fn write(&mut self, name: &str, offset: u64, bytes: &[u8]) -> Verdict {
        if let Some(segment) = self.segment(name) {
            // The label of the segment follows its log bytes.
            if offset >= self.segment_bytes {
                return Ok(());
            }
            return self.write_log(Lsn(segment.0 + offset), bytes.len() as u64);
        }
        if name == DATA_FILE { self.write_pages(offset, bytes) } else { Ok(()) }
    }

    /// Records that a durable write has succeeded.
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

    /// Checks a file that is about to lose its name, by a removal or a rename.
    ///
    /// # Errors
    /// A violation of WRITE-AHEAD-3.
    pub fn unname(&mut self, name: &str) -> Verdict {
        let Some(Lsn(start)) = self.segment(name) else { return Ok(()) };
        let end = Lsn(start + self.segment_bytes);
        if end <= self.retention || Lsn(start) >= self.highest || self.retention == Lsn::ZERO {
            return Ok(());
        }
        violated(format!("{name} was removed, and {} is still needed", self.retention))
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
            // Groups are started in order, and each is written once.
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
        if bytes.len() >= SECTOR_SIZE && bytes[FLAGS] & CREATING == 0 {
            self.retention = Lsn(long(bytes, RETENTION));
        }
    }

    /// Returns the start of the segment of this name.
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
