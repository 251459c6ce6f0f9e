//! What a power failure leaves of a simulated disk.
//!
//! Every unsynced change gets a fate: writes are dropped, kept, or torn sector by sector; changes
//! of names and lengths are dropped or kept. The fates depend on the kind of image, on its seed and
//! on the change's number, and on nothing else.
//!
//! Invariants:
//! - K1. What is durable is never lost, and no byte outside of an unsynced write changes. Garbage
//!   fills the torn write's own bytes only.
//! - K2. [`MetadataMode::PosixMinimal`]: each change of a name or length is kept or not for itself;
//!   a file may be longer than its bytes, or its bytes lost because the length is.
//! - K3. [`MetadataMode::Ext4Ordered`]: the changes of names and lengths that are kept are the
//!   first so many of them; a write at the end of a file lengthens it exactly as far as its bytes
//!   are kept.
//! - K4. Writes may take effect out of order, but none before a cut that is kept and none before
//!   it after it: a file system waits for them.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    MetadataMode,
    contents::{Change, Contents, Unsynced, UnsyncedWrite, sectors},
    image::Image,
    names::{Directories, FileId},
    random::Draws,
    state::State,
};
use crate::mix;

/// Which of the unsynced changes a crash keeps. Changes are numbered in the order in which they
/// were made. In [`MetadataMode::Ext4Ordered`] changes of names and lengths end before the first
/// one that would be dropped.
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
    /// One image of each kind, but for the subsets.
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
enum Fate {
    Dropped,
    Kept,
    Torn,
}

enum SectorFate {
    Old,
    New,
    Garbage,
}

/// What draws are for; each kind of decision has its own.
#[derive(Clone, Copy)]
enum About {
    Metadata = 1,
    Write,
    Sectors,
    Order,
    Bytes,
    Style,
}

/// Decides about every unsynced change of one crash.
struct Judge {
    image: CrashImage,
    mode: MetadataMode,
    /// Of all unsynced changes, in order.
    sequences: Vec<u64>,
    last_write: u64,
    /// K3: changes of names and lengths up to here are kept.
    metadata_limit: u64,
}

/// Of 100 changes that a random image meets, so many are kept; each image takes one of these, so
/// that nearly full and nearly empty images are common too.
const KEPT_PERCENT: [u64; 4] = [10, 40, 70, 95];

/// The numbers of all unsynced changes, in order.
pub(super) fn sequences(state: &State) -> Vec<u64> {
    let writes = state.files.iter().flat_map(|file| file.unsynced.iter().map(|one| one.sequence));
    let names = state.names.unsynced.iter().map(|(sequence, _)| *sequence);
    let mut sequences: Vec<u64> = writes.chain(names).collect();
    sequences.sort_unstable();
    sequences.dedup(); // a write from whose middle something was taken is two entries
    sequences
}

impl Judge {
    fn new(state: &State, image: CrashImage) -> Judge {
        let unsynced = || state.files.iter().flat_map(|file| &file.unsynced);
        let writes = unsynced().filter(|one| one.is_write()).map(|one| one.sequence);
        let mut judge = Judge {
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
                let kept = judge.draws(About::Style, 1).below(metadata.len() as u64 + 1);
                metadata.get(kept as usize)
            }
            _ => metadata.iter().find(|&&sequence| !judge.wishes(sequence)),
        };
        judge.metadata_limit = first_lost.map_or(u64::MAX, |first| first - 1);
        judge
    }

    fn draws(&self, about: About, subject: u64) -> Draws {
        Draws::new(self.image.seed() ^ mix(about as u64), subject)
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

    /// Whether a change of a name or length is kept, if it is judged for itself.
    fn wishes(&self, sequence: u64) -> bool {
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
            MetadataMode::PosixMinimal => self.wishes(sequence), // K2
            MetadataMode::Ext4Ordered => sequence <= self.metadata_limit, // K3
        }
    }

    fn fate(&self, sequence: u64) -> Fate {
        let kept = |kept| if kept { Fate::Kept } else { Fate::Dropped };
        match self.image {
            CrashImage::DropAll | CrashImage::KeepMetadataDropData => Fate::Dropped,
            CrashImage::KeepAll | CrashImage::DropMetadataKeepData | CrashImage::Reorder(_) => {
                Fate::Kept
            }
            CrashImage::DropLast => kept(!self.is_last(sequence)),
            CrashImage::TearLast if sequence == self.last_write => Fate::Torn,
            CrashImage::TearLast => Fate::Kept,
            CrashImage::TearAll(_) | CrashImage::Garbage(_) => Fate::Torn,
            CrashImage::Random(_) => {
                let mut draws = self.draws(About::Write, sequence);
                let torn = draws.chance(25);
                let chosen = kept(draws.chance(self.kept_percent(About::Write)));
                if torn { Fate::Torn } else { chosen }
            }
            CrashImage::Subset(subset) => kept(self.in_subset(sequence, subset)),
        }
    }

    /// What becomes of sector `nth` of `count` of a torn write.
    fn sector_fate(&self, sequence: u64, nth: u64, count: u64) -> SectorFate {
        let mut draws = self.draws(About::Sectors, sequence << 20 ^ nth);
        match (self.image, draws.below(100)) {
            (CrashImage::TearLast, _) if nth < count / 2 => SectorFate::New,
            (CrashImage::TearLast, _) => SectorFate::Old,
            (CrashImage::Garbage(_), 0..50) => SectorFate::Garbage,
            (CrashImage::Garbage(_), _) => SectorFate::New,
            (CrashImage::Random(_), 0..10) => SectorFate::Garbage,
            (_, 0..55) => SectorFate::Old,
            _ => SectorFate::New,
        }
    }

    /// Where write number `index` comes among those between two cuts (K4).
    fn rank(&self, sequence: u64, index: usize) -> u64 {
        let mut draws = self.draws(About::Order, sequence);
        match self.image {
            CrashImage::Reorder(_) => draws.next(),
            CrashImage::Random(_) if draws.chance(10) => 1 << 32 | index as u64,
            _ => index as u64,
        }
    }

    fn file_after(&self, file: &Contents) -> Contents {
        if file.unsynced.is_empty() {
            return Contents::settled(file.durable.clone(), file.old.clone());
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
        Contents::settled(image, file.old.clone())
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
        let fate = self.fate(sequence);
        if write.grows && self.mode == MetadataMode::Ext4Ordered {
            let kept_end = self.ordered_end(sequence, write, fate);
            write.put(image, 0..kept_end);
            image.grow(kept_end); // K3
            return;
        }
        match fate {
            Fate::Dropped => (),
            Fate::Kept => write.put(image, 0..u64::MAX),
            Fate::Torn => self.put_torn(image, sequence, write),
        }
        if write.grows && self.wishes(sequence) {
            image.grow(write.end()); // K2
        }
    }

    /// How far a write at the end of a file gets, where the length follows the bytes.
    fn ordered_end(&self, sequence: u64, write: &UnsyncedWrite, fate: Fate) -> u64 {
        match fate {
            Fate::Dropped => 0,
            Fate::Kept => write.end(),
            Fate::Torn => {
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
            match self.sector_fate(sequence, nth as u64, count) {
                SectorFate::Old => (),
                SectorFate::New => write.put(image, sector),
                SectorFate::Garbage => {
                    let within = sector.start.max(write.offset)..sector.end.min(write.end());
                    self.put_garbage(image, within); // K1
                }
            }
        }
    }

    fn put_garbage(&self, image: &mut Image, range: Range<u64>) {
        let mut draws = self.draws(About::Bytes, range.start);
        let garbage: Vec<u8> = range.clone().map(|_| draws.next() as u8).collect();
        image.put(&garbage, range.start);
    }

    /// The names that are left, still meaning the files of before.
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

/// The disk that is found when the power is back.
pub(super) fn crash(state: &State, image: CrashImage) -> State {
    let judge = Judge::new(state, image);
    let mut names = judge.names_after(&state.names);
    let mut after = State::new(mix(state.seed ^ mix(image.seed() + 1)), state.options.clone());
    let mut renumbered: BTreeMap<FileId, FileId> = BTreeMap::new();
    for id in names.files.values_mut() {
        *id = *renumbered.entry(*id).or_insert_with(|| {
            after.files.push(judge.file_after(&state.files[*id]));
            after.files.len() - 1
        });
    }
    after.used = after.files.iter().map(|file| file.live.len).sum();
    let names = Arc::new(names);
    after.names = Directories { live: names.clone(), durable: names, unsynced: Vec::new() };
    after
}
