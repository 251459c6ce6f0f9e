//! The state of a simulated disk, under its one latch, and the steps common to all operations.
//!
//! Invariants:
//! - SIM-STATE-1. Operations take effect one after the other, in the order of their numbers; the
//!   observer sees them in that order, each after it has taken effect.
//! - SIM-STATE-2. `used` is the sum of the live lengths of all files that have a name or a handle.
//! - SIM-STATE-3. Once the power is off, nothing changes any more.

use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc};

use clearway_base::{Error, Result, SECTOR_SIZE};

use super::{
    MetadataMode, SimOptions,
    contents::Contents,
    fault::{Effect, Plan, PowerCut, SimEvent, SimOperation},
    image::Image,
    names::{Directories, FileId, NameChange},
};
use crate::{Random, mix};

pub(super) type Observer = Arc<dyn Fn(&SimEvent<'_>) + Send + Sync>;

/// The maximum length of a file: 16 TiB, as on ext4 with blocks of 4 KiB.
const FILE_BYTES_MAX: u64 = 1 << 44;

pub(super) struct State {
    pub(super) seed: u64,
    pub(super) options: SimOptions,
    pub(super) files: Vec<Contents>,
    pub(super) names: Directories,
    pub(super) sequence: u64,
    pub(super) operations: u64,
    pub(super) reads: u64,
    /// The count of random numbers that the disk has drawn.
    pub(super) drawn: u64,
    pub(super) digest: u64,
    pub(super) used: u64,
    pub(super) powered: bool,
    pub(super) locked: bool,
    pub(super) plan: Plan,
    pub(super) observer: Option<Observer>,
}

/// The part of an operation that takes effect.
pub(super) enum Extent {
    Whole,
    /// A part that the draws determine.
    Part(Random),
    /// A sync drops the unsynced writes instead.
    DropWrites,
    /// A write changes another place of its file, or no place if there are no draws.
    Misdirected(Option<Random>),
}

pub(super) fn path(name: &str) -> PathBuf {
    PathBuf::from(":sim:").join(name)
}

pub(super) fn failure(operation: SimOperation, name: &str, kind: io::ErrorKind) -> Error {
    Error::io(operation.verb(), path(name), kind.into())
}

fn power_cut(verb: &'static str, name: &str) -> Error {
    Error::io(verb, path(name), io::Error::other(PowerCut))
}

impl State {
    pub(super) fn new(seed: u64, options: SimOptions) -> State {
        State {
            seed,
            options,
            files: Vec::new(),
            names: Directories::default(),
            sequence: 0,
            operations: 0,
            reads: 0,
            drawn: 0,
            digest: mix(seed),
            used: 0,
            powered: true,
            locked: false,
            plan: Plan::default(),
            observer: None,
        }
    }

    pub(super) fn check_power(&self, verb: &'static str, name: &str) -> Result<()> {
        if self.powered { Ok(()) } else { Err(power_cut(verb, name)) }
    }

    /// Counts one operation, performs it and shows it to the observer. `apply` performs the part of
    /// it that the plan allows.
    pub(super) fn perform<T>(
        &mut self,
        mut event: SimEvent<'_>,
        apply: impl FnOnce(&mut State, Extent) -> Result<T>,
    ) -> Result<T> {
        let (operation, name) = (event.operation, event.name);
        self.check_power(operation.verb(), name)?;
        self.operations += 1;
        event.number = self.operations;
        let draws = Random::stream(self.seed, event.number);
        let result = match self.plan.effect_on(operation, event.number) {
            Effect::Succeed => apply(self, Extent::Whole),
            Effect::CutPower => {
                let _ = apply(self, Extent::Part(draws));
                self.powered = false; // SIM-STATE-3
                Err(power_cut(operation.verb(), name))
            }
            Effect::Fail(kind) => {
                let failed = failure(operation, name, kind);
                let partial = matches!(operation, SimOperation::Write | SimOperation::WriteDurable);
                if partial && !matches!(failed, Error::DiskFull { .. }) {
                    let _ = apply(self, Extent::Part(draws));
                }
                Err(failed)
            }
            Effect::DropWrites => {
                let _ = apply(self, Extent::DropWrites);
                Err(failure(operation, name, io::ErrorKind::Other))
            }
            Effect::Misdirect => apply(self, Extent::Misdirected(Some(draws))),
            Effect::Lose => apply(self, Extent::Misdirected(None)),
        };
        event.failed = result.is_err();
        self.show(&event);
        result
    }

    /// Adds an operation to the digest and shows it to the observer.
    pub(super) fn show(&mut self, event: &SimEvent<'_>) {
        let head = event.number << 8 | (event.operation as u64) << 1 | u64::from(event.failed);
        let mut digest = self.digest;
        for word in [head, event.offset, event.len] {
            digest = mix(digest ^ word);
        }
        digest = digest_bytes(digest, event.name.as_bytes());
        self.digest = digest_bytes(digest, event.bytes);
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }

    pub(super) fn contents_digest(&self) -> u64 {
        let names = &self.names.live;
        let dirs = names.dirs.iter().fold(0, |digest, dir| digest_bytes(digest, dir.as_bytes()));
        names.files.iter().fold(dirs, |digest, (name, id)| {
            let live = &self.files[*id].live;
            let digest = mix(digest_bytes(digest, name.as_bytes()) ^ live.len);
            live.stored().fold(digest, |digest, (index, bytes)| {
                digest_bytes(mix(digest ^ index as u64), bytes)
            })
        })
    }

    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Reserves the space for a file to be `len` bytes long.
    fn reserve(&mut self, id: FileId, name: &str, len: u64) -> Result<()> {
        let more = len.saturating_sub(self.files[id].live.len);
        let limit = self.options.space_bytes.unwrap_or(u64::MAX);
        let used = self.used.checked_add(more).filter(|&used| used <= limit || more == 0);
        match used {
            Some(used) if len <= FILE_BYTES_MAX => self.used = used, // SIM-STATE-2
            _ => return Err(Error::DiskFull { path: path(name) }),
        }
        Ok(())
    }

    /// Frees the space of a file if it has neither a name nor a handle (SIM-STATE-2).
    pub(super) fn release(&mut self, id: FileId) {
        let named = self.names.live.files.values().any(|&named| named == id);
        if self.files[id].handles == 0 && !named {
            self.used -= self.files[id].live.len;
            self.files[id].live = Image::default();
            self.files[id].old = Image::default();
        }
    }

    pub(super) fn write(
        &mut self,
        (id, name): (FileId, &str),
        (buf, offset): (&[u8], u64),
        mut durable: bool,
        extent: Extent,
    ) -> Result<()> {
        let (mut buf, mut at) = (buf, Some(offset));
        match extent {
            Extent::Part(mut draws) => {
                let end = offset.saturating_add(buf.len() as u64);
                buf = &buf[..part_of(offset, end, &mut draws)];
                durable &= draws.chance(50);
            }
            Extent::Misdirected(draws) => {
                at = draws.and_then(|mut draws| self.elsewhere(id, offset, buf.len(), &mut draws));
            }
            _ => (),
        }
        let Some(offset) = at.filter(|_| !buf.is_empty()) else { return Ok(()) };
        let end = offset.saturating_add(buf.len() as u64);
        self.reserve(id, name, end)?;
        if durable {
            self.commit_journal_for(id, end);
            self.files[id].write_durable(buf, offset);
        } else {
            let sequence = self.next_sequence();
            self.files[id].write(buf, offset, sequence);
        }
        Ok(())
    }

    /// Draws another sector boundary from which on the file has `len` bytes; `None` if there is
    /// none.
    pub(super) fn elsewhere(
        &self,
        id: FileId,
        offset: u64,
        len: usize,
        draws: &mut Random,
    ) -> Option<u64> {
        let size = SECTOR_SIZE as u64;
        let last = self.files[id].live.len.checked_sub(len as u64)? / size;
        let own = (offset.is_multiple_of(size) && offset / size <= last).then_some(offset / size);
        let drawn = draws.below(last + 1 - u64::from(own.is_some()));
        let other = drawn + u64::from(own.is_some_and(|own| drawn >= own));
        (other <= last).then_some(other * size)
    }

    pub(super) fn sync(&mut self, id: FileId, all: bool, extent: Extent) {
        match extent {
            Extent::DropWrites => self.files[id].drop_writes(),
            Extent::Part(mut draws) => {
                let end = self.files[id].live.len;
                if draws.chance(50) {
                    self.commit_journal_for(id, end);
                }
                let limit = draws.below(self.files[id].unsynced.len() as u64 + 1) as usize;
                let posix = self.options.metadata == MetadataMode::PosixMinimal;
                // No length may become durable before the changes that precede it in the journal.
                if posix || !self.files[id].has_unsynced_length() {
                    self.files[id].sync(all && posix, limit);
                }
            }
            _ => {
                let end = self.files[id].live.len;
                self.commit_journal_for(id, end);
                self.files[id].sync(all, usize::MAX);
            }
        }
    }

    pub(super) fn sync_dir(&mut self, dir: &str, extent: Extent) {
        match extent {
            Extent::Part(mut draws) if self.options.metadata == MetadataMode::PosixMinimal => {
                let limit = draws.below(self.names.unsynced.len() as u64 + 1);
                self.names.sync_dir(dir, limit);
            }
            Extent::Part(_) => (),
            _ if self.options.metadata == MetadataMode::Ext4Ordered => self.commit_journal(),
            _ => self.names.sync_dir(dir, u64::MAX),
        }
        self.forget_unreachable();
    }

    /// Frees the memory of files that can no longer be reached: no name, no handle and no unsynced
    /// change refers to them.
    fn forget_unreachable(&mut self) {
        let Directories { live, durable, unsynced } = &self.names;
        for (id, file) in self.files.iter_mut().enumerate() {
            let named =
                |files: &BTreeMap<Arc<str>, FileId>| files.values().any(|&named| named == id);
            let concerned = || unsynced.iter().any(|(_, change)| change.concerns(id));
            if file.handles == 0 && !named(&live.files) && !named(&durable.files) && !concerned() {
                *file = Contents::default();
            }
        }
    }

    /// Commits the whole journal for a sync of a file, if the journal holds a change of this file,
    /// or if the durable length is below `end`, the length that the file is to have.
    fn commit_journal_for(&mut self, id: FileId, end: u64) {
        let file = &self.files[id];
        let concerned = || self.names.unsynced.iter().any(|(_, change)| change.concerns(id));
        if self.options.metadata == MetadataMode::Ext4Ordered
            && (file.durable.len < end || file.has_unsynced_length() || concerned())
        {
            self.commit_journal();
        }
    }

    fn commit_journal(&mut self) {
        self.names.commit_all();
        self.files.iter_mut().for_each(Contents::commit_lengths);
    }

    pub(super) fn set_len(&mut self, id: FileId, name: &str, len: u64) -> Result<()> {
        let old_len = self.files[id].live.len;
        if len >= old_len {
            return self.grow(id, name, len);
        }
        let sequence = self.next_sequence();
        self.files[id].cut(len, sequence);
        self.used -= old_len - len; // SIM-STATE-2
        Ok(())
    }

    /// Lengthens the file to `len` if it is shorter.
    pub(super) fn grow(&mut self, id: FileId, name: &str, len: u64) -> Result<()> {
        if len > self.files[id].live.len {
            self.reserve(id, name, len)?;
            let sequence = self.next_sequence();
            self.files[id].grow(len, sequence);
        }
        Ok(())
    }

    pub(super) fn change_names(&mut self, change: NameChange) {
        let sequence = self.next_sequence();
        self.names.change(sequence, change);
    }
}

/// Draws the number of bytes that an interrupted write has written: up to some sector boundary, or
/// up to its end.
fn part_of(offset: u64, end: u64, draws: &mut Random) -> usize {
    let size = SECTOR_SIZE as u64;
    let (first, count) = (offset / size, end.div_ceil(size) - offset / size);
    let stop = (first + draws.below(count + 1)) * size;
    (stop.clamp(offset, end) - offset) as usize
}

/// Adds `bytes` to a digest in four independent sums: a single sum would wait for each of its
/// multiplications.
fn digest_bytes(digest: u64, bytes: &[u8]) -> u64 {
    let step = |digest: u64, word: u64| {
        (digest.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    let mut lanes = [digest, 1, 2, 3];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = step(*lane, u64::from_le_bytes(*word));
        }
    }
    let digest = rest.iter().fold(lanes[0], |digest, &byte| step(digest, u64::from(byte)));
    lanes[1..].iter().fold(mix(digest ^ bytes.len() as u64), |digest, &lane| step(digest, lane))
}
