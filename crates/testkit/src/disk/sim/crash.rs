//! The images that a power failure can leave of a simulated disk.
//!
//! Every unsynced change has one of several outcomes: writes are dropped, kept, or torn sector by
//! sector; changes of names and lengths are dropped or kept. The outcomes depend on the kind of
//! image, on its seed and on the change's number, and on nothing else.
//!
//! Invariants:
//! - SIM-CRASH-1. What is durable is never lost, and no byte outside of an unsynced write changes.
//!   Garbage replaces only bytes of the torn write itself.
//! - SIM-CRASH-2. [`MetadataMode::PosixMinimal`]: each change of a name or length is kept or
//!   dropped independently of the others. A file may be longer than its bytes, and bytes may be
//!   lost because the length is lost.
//! - SIM-CRASH-3. [`MetadataMode::Ext4Ordered`]: the changes of names and lengths that are kept are
//!   a prefix of all of them. A write at the end of a file lengthens it exactly as far as its bytes
//!   are kept.
//! - SIM-CRASH-4. Writes may take effect out of order, but never across a cut that is kept: a file
//!   system waits for the writes before a cut, and begins later writes after it.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    MetadataMode,
    contents::{Change, Contents, Unsynced, UnsyncedWrite, sectors},
    image::Image,
    names::{Directories, FileId},
    state::State,
};
use crate::{Random, mix};

/// The selection of unsynced changes that a crash keeps. Changes are numbered in the order in which
/// they were made. In [`MetadataMode::Ext4Ordered`], all changes of names and lengths from the
/// first dropped one on are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CrashImage {
    /// Nothing: the least that may be left.
    DropAll,
    /// Everything: what a killed process leaves.
    KeepAll,
    /// Everything but the last change.
    DropLast,
    /// Everything, but of the last write only the first half of the sectors, rounded down.
    TearLast,
    /// All names and lengths, and no bytes.
    KeepMetadataDropData,
    /// All bytes, and no names and lengths.
    DropMetadataKeepData,
    /// Everything, but of each write only some sectors.
    TearAll(u64),
    /// Everything, the writes in some other order.
    Reorder(u64),
    /// Everything, but some sectors of the writes are garbage.
    Garbage(u64),
    /// A mixture of all that may happen.
    Random(u64),
    /// The changes whose bits are set, bit 0 for the first; the 65th and later are dropped.
    Subset(u64),
}

impl CrashImage {
    /// Returns one image of each kind except the subsets.
    pub fn kinds(seed: u64) -> [CrashImage; 10] {
        [
            CrashImage::DropAll,
            CrashImage::KeepAll,
            CrashImage::DropLast,
            CrashImage::TearLast,
            CrashImage::KeepMetadataDropData,
            CrashImage::DropMetadataKeepData,
            CrashImage::TearAll(seed),
            CrashImage::Reorder(seed),
            CrashImage::Garbage(seed),
            CrashImage::Random(seed),
        ]
    }

    pub(super) fn seed(self) -> u64 {
        match self {
            CrashImage::TearAll(seed)
            | CrashImage::Reorder(seed)
            | CrashImage::Garbage(seed)
            | CrashImage::Random(seed)
            | CrashImage::Subset(seed) => seed,
            _ => 0,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeOutcome {
    Dropped,
    Kept,
    Torn,
}

enum SectorOutcome {
    Old,
    New,
    Garbage,
}

/// The purpose of draws; each kind of decision has its own draws.
#[derive(Clone, Copy)]
enum About {
    Metadata = 1,
    Write,
    Sectors,
    Order,
    Bytes,
    Style,
}

/// The decisions about every unsynced change in one crash.
struct Decisions {
    image: CrashImage,
    mode: MetadataMode,
    /// The sequence numbers of all unsynced changes, in order.
    sequences: Vec<u64>,
    last_write: u64,
    /// SIM-CRASH-3: changes of names and lengths up to this sequence number are kept.
    metadata_limit: u64,
}

/// Percentages of the changes that a random image keeps. Each image uses one of them, so that
/// nearly full and nearly empty images are common too.
const KEPT_PERCENT: [u64; 4] = [10, 40, 70, 95];

/// The numbers of all unsynced changes, in order.
pub(super) fn sequences(state: &State) -> Vec<u64> {
    let writes = state.files.iter().flat_map(|file| file.unsynced.iter().map(|one| one.sequence));
    let names = state.names.unsynced.iter().map(|(sequence, _)| *sequence);
    let mut sequences: Vec<u64> = writes.chain(names).collect();
    sequences.sort_unstable();
    sequences.dedup(); // a write with a range removed from its middle has two entries
    sequences
}

impl Decisions {
    fn new(state: &State, image: CrashImage) -> Decisions {
        let unsynced = || state.files.iter().flat_map(|file| &file.unsynced);
        let writes = unsynced().filter(|one| one.is_write()).map(|one| one.sequence);
        let mut decisions = Decisions {
            image,
            mode: state.options.metadata,
            sequences: sequences(state),
            last_write: writes.max().unwrap_or(0),
            metadata_limit: u64::MAX,
        };
        let lengths = unsynced().filter(|one| !one.is_write()).map(|one| one.sequence);
        let names = state.names.unsynced.iter().map(|(sequence, _)| *sequence);
        let mut metadata: Vec<u64> = lengths.chain(names).collect();
        metadata.sort_unstable();
        let first_lost = match image {
            CrashImage::Random(_) => {
                let kept = decisions.draws(About::Style, 1).below(metadata.len() as u64 + 1);
                metadata.get(kept as usize)
            }
            _ => metadata.iter().find(|&&sequence| !decisions.keeps_alone(sequence)),
        };
        decisions.metadata_limit = first_lost.map_or(u64::MAX, |first| first - 1);
        decisions
    }

    fn draws(&self, about: About, subject: u64) -> Random {
        Random::stream(self.image.seed() ^ mix(about as u64), subject)
    }

    fn is_last(&self, sequence: u64) -> bool {
        self.sequences.last() == Some(&sequence)
    }

    fn in_subset(&self, sequence: u64, subset: u64) -> bool {
        let index = self.sequences.binary_search(&sequence).unwrap_or(usize::MAX);
        index < 64 && subset >> index & 1 == 1
    }

    fn kept_percent(&self, about: About) -> u64 {
        KEPT_PERCENT[self.draws(About::Style, about as u64).below(4) as usize]
    }

    /// Returns true if a change of a name or length is kept, considered independently of the
    /// others.
    fn keeps_alone(&self, sequence: u64) -> bool {
        match self.image {
            CrashImage::DropAll | CrashImage::DropMetadataKeepData => false,
            CrashImage::DropLast => !self.is_last(sequence),
            CrashImage::Random(_) => {
                let percent = self.kept_percent(About::Metadata);
                self.draws(About::Metadata, sequence).chance(percent)
            }
            CrashImage::Subset(subset) => self.in_subset(sequence, subset),
            _ => true,
        }
    }

    fn keeps_metadata(&self, sequence: u64) -> bool {
        match self.mode {
            MetadataMode::PosixMinimal => self.keeps_alone(sequence), // SIM-CRASH-2
            MetadataMode::Ext4Ordered => sequence <= self.metadata_limit, // SIM-CRASH-3
        }
    }

    fn outcome(&self, sequence: u64) -> ChangeOutcome {
        let kept = |kept| if kept { ChangeOutcome::Kept } else { ChangeOutcome::Dropped };
        match self.image {
            CrashImage::DropAll | CrashImage::KeepMetadataDropData => ChangeOutcome::Dropped,
            CrashImage::KeepAll | CrashImage::DropMetadataKeepData | CrashImage::Reorder(_) => {
                ChangeOutcome::Kept
            }
            CrashImage::DropLast => kept(!self.is_last(sequence)),
            CrashImage::TearLast if sequence == self.last_write => ChangeOutcome::Torn,
            CrashImage::TearLast => ChangeOutcome::Kept,
            CrashImage::TearAll(_) | CrashImage::Garbage(_) => ChangeOutcome::Torn,
            CrashImage::Random(_) => {
                let mut draws = self.draws(About::Write, sequence);
                let torn = draws.chance(25);
                let chosen = kept(draws.chance(self.kept_percent(About::Write)));
                if torn { ChangeOutcome::Torn } else { chosen }
            }
            CrashImage::Subset(subset) => kept(self.in_subset(sequence, subset)),
        }
    }

    /// The outcome of sector `nth` of the `count` sectors of a torn write.
    fn sector_outcome(&self, sequence: u64, nth: u64, count: u64) -> SectorOutcome {
        let mut draws = self.draws(About::Sectors, sequence << 20 ^ nth);
        match (self.image, draws.below(100)) {
            (CrashImage::TearLast, _) if nth < count / 2 => SectorOutcome::New,
            (CrashImage::TearLast, _) => SectorOutcome::Old,
            (CrashImage::Garbage(_), 0..50) => SectorOutcome::Garbage,
            (CrashImage::Garbage(_), _) => SectorOutcome::New,
            (CrashImage::Random(_), 0..10) => SectorOutcome::Garbage,
            (_, 0..55) => SectorOutcome::Old,
            _ => SectorOutcome::New,
        }
    }

    /// The rank of write number `index` in the order of the writes between two cuts (SIM-CRASH-4).
    fn rank(&self, sequence: u64, index: usize) -> u64 {
        let mut draws = self.draws(About::Order, sequence);
        match self.image {
            CrashImage::Reorder(_) => draws.next_u64(),
            CrashImage::Random(_) if draws.chance(10) => 1 << 32 | index as u64,
            _ => index as u64,
        }
    }

    fn file_after(&self, file: &Contents) -> Contents {
        if file.unsynced.is_empty() {
            return Contents::after_crash(file.durable.clone(), file.old.clone());
        }
        let mut image = file.durable.clone();
        let kept_cut = |one: &Unsynced| {
            matches!(one.change, Change::Cut(_)) && self.keeps_metadata(one.sequence)
        };
        for between_cuts in file.unsynced.split_inclusive(kept_cut) {
            self.put_in_order(&mut image, between_cuts);
        }
        let len = image.len;
        image.cut(len); // bytes whose length was lost
        Contents::after_crash(image, file.old.clone())
    }

    /// Applies changes of which at most the last is a cut that is kept.
    fn put_in_order(&self, image: &mut Image, changes: &[Unsynced]) {
        let mut writes = Vec::new();
        for (index, one) in changes.iter().enumerate() {
            match &one.change {
                Change::Write(write) => {
                    writes.push((self.rank(one.sequence, index), one.sequence, write));
                }
                Change::Grow(len) if self.keeps_metadata(one.sequence) => image.grow(*len),
                _ => (),
            }
        }
        writes.sort_by_key(|&(rank, ..)| rank);
        for (_, sequence, write) in writes {
            self.put_write(image, sequence, write);
        }
        if let Some(Unsynced { sequence, change: Change::Cut(len) }) = changes.last()
            && self.keeps_metadata(*sequence)
        {
            image.cut(*len);
        }
    }

    fn put_write(&self, image: &mut Image, sequence: u64, write: &UnsyncedWrite) {
        let outcome = self.outcome(sequence);
        if write.grows && self.mode == MetadataMode::Ext4Ordered {
            let kept_end = self.ordered_end(sequence, write, outcome);
            write.put(image, 0..kept_end);
            image.grow(kept_end); // SIM-CRASH-3
            return;
        }
        match outcome {
            ChangeOutcome::Dropped => (),
            ChangeOutcome::Kept => write.put(image, 0..u64::MAX),
            ChangeOutcome::Torn => self.put_torn(image, sequence, write),
        }
        if write.grows && self.keeps_alone(sequence) {
            image.grow(write.end()); // SIM-CRASH-2
        }
    }

    /// The position up to which a write at the end of a file is kept, if the length follows the
    /// bytes.
    fn ordered_end(&self, sequence: u64, write: &UnsyncedWrite, outcome: ChangeOutcome) -> u64 {
        match outcome {
            ChangeOutcome::Dropped => 0,
            ChangeOutcome::Kept => write.end(),
            ChangeOutcome::Torn => {
                let ends: Vec<u64> =
                    sectors(write.offset, write.end()).map(|sector| sector.end).collect();
                let done = match self.image {
                    CrashImage::TearLast => ends.len() as u64 / 2,
                    _ => self.draws(About::Sectors, sequence).below(ends.len() as u64 + 1),
                };
                let last = done.checked_sub(1).map(|last| ends[last as usize]);
                last.map_or(0, |end| end.min(write.end()))
            }
        }
    }

    fn put_torn(&self, image: &mut Image, sequence: u64, write: &UnsyncedWrite) {
        let touched = sectors(write.offset, write.end());
        let count = touched.size_hint().0 as u64;
        for (nth, sector) in touched.enumerate() {
            match self.sector_outcome(sequence, nth as u64, count) {
                SectorOutcome::Old => (),
                SectorOutcome::New => write.put(image, sector),
                SectorOutcome::Garbage => {
                    let within = sector.start.max(write.offset)..sector.end.min(write.end());
                    self.put_garbage(image, within); // SIM-CRASH-1
                }
            }
        }
    }

    fn put_garbage(&self, image: &mut Image, range: Range<u64>) {
        let mut draws = self.draws(About::Bytes, range.start);
        let garbage: Vec<u8> = range.clone().map(|_| draws.next_u64() as u8).collect();
        image.put(&garbage, range.start);
    }

    /// The names that are left, which still refer to the numbers of files before the crash.
    fn names_after(&self, names: &Directories) -> super::names::Names {
        let mut left = (*names.durable).clone();
        for (sequence, change) in &names.unsynced {
            if self.keeps_metadata(*sequence) {
                left.apply(change);
            }
        }
        left.drop_unreachable();
        left
    }
}

/// The state of the disk when the power is back.
pub(super) fn crash(state: &State, image: CrashImage) -> State {
    let decisions = Decisions::new(state, image);
    let mut names = decisions.names_after(&state.names);
    let mut after = State::new(mix(state.seed ^ mix(image.seed() + 1)), state.options.clone());
    let mut renumbered: BTreeMap<FileId, FileId> = BTreeMap::new();
    for id in names.files.values_mut() {
        *id = *renumbered.entry(*id).or_insert_with(|| {
            after.files.push(decisions.file_after(&state.files[*id]));
            after.files.len() - 1
        });
    }
    after.used = after.files.iter().map(|file| file.live.len).sum();
    let names = Arc::new(names);
    after.names = Directories { live: names.clone(), durable: names, unsynced: Vec::new() };
    after
}
