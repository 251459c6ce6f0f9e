//! Tests of crash images, compared with a naive model that keeps whole histories.

use super::*;

/// The maximum length of a file in these tests: three sectors and 164 bytes.
const ROOM: usize = 1700;

enum Call {
    Write(usize, Vec<u8>),
    Grow(usize),
    Cut(usize),
}

/// Prints one byte and the length of a write: all bytes would make a history unreadable.
impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Call::Write(at, bytes) => write!(f, "write {}*{} at {at}", bytes[0], bytes.len()),
            Call::Grow(len) => write!(f, "grow {len}"),
            Call::Cut(len) => write!(f, "cut {len}"),
        }
    }
}

/// The whole history of a file, in order. The flag of a call is true if the call can no longer be
/// lost.
#[derive(Default)]
struct Naive(Vec<(Call, bool)>);

impl Naive {
    fn len(&self) -> usize {
        self.image(|_| true).len()
    }

    /// The bytes that are left if, of the calls that can be lost, only the `chosen` ones are kept.
    fn image(&self, chosen: impl Fn(usize) -> bool) -> Vec<u8> {
        let (mut bytes, mut len, mut index) = ([0; ROOM], 0, 0);
        let mut full_len = 0; // as the caller saw it: a write inside it does not grow the file
        for (call, durable) in &self.0 {
            let kept = *durable || chosen(index);
            index += usize::from(!durable);
            match call {
                Call::Write(at, written) => {
                    let end = at + written.len();
                    if kept {
                        bytes[*at..end].copy_from_slice(written);
                    }
                    if kept && (*durable || end > full_len) {
                        len = len.max(end);
                    }
                    full_len = full_len.max(end);
                }
                Call::Grow(end) => {
                    len = if kept { len.max(*end) } else { len };
                    full_len = full_len.max(*end);
                }
                Call::Cut(end) => {
                    if kept {
                        bytes[*end..].fill(0);
                        len = len.min(*end);
                    }
                    full_len = *end;
                }
            }
        }
        bytes[..len].to_vec()
    }

    fn at_risk(&self) -> usize {
        self.0.iter().filter(|(_, durable)| !durable).count()
    }

    fn images(&self) -> BTreeSet<Vec<u8>> {
        (0..1u32 << self.at_risk()).map(|kept| self.image(|index| kept >> index & 1 == 1)).collect()
    }

    fn sync(&mut self, all: bool) {
        let at_risk = |(call, durable): &(Call, bool)| matches!(call, Call::Write(..)) && !durable;
        let last = self.0.iter().rposition(at_risk);
        for (index, (call, durable)) in self.0.iter_mut().enumerate() {
            let needed = !matches!(call, Call::Grow(_)) && last.is_some_and(|last| index <= last);
            *durable |= all || needed;
        }
    }

    fn durable_write(&mut self, at: usize, bytes: Vec<u8>) {
        let end = at + bytes.len();
        for (call, durable) in &mut self.0 {
            *durable |= matches!(call, Call::Cut(len) if *len < end);
        }
        self.0.push((Call::Write(at, bytes), true));
    }
}

/// Makes drawn calls on a file and on its model.
fn history(seed: u64, calls: usize) -> (SimDisk, Naive) {
    let (disk, file) = posix(seed);
    let (mut naive, mut draws) = (Naive::default(), Random::stream(seed, 1));
    for call in 1..=calls as u8 {
        let at = [0, 100, 500, 512, 1024][draws.below(5) as usize];
        let bytes = vec![call; [1, 12, 512, 600][draws.below(4) as usize]];
        match draws.below(12) {
            0 => {
                file.sync_data().unwrap();
                naive.sync(false);
            }
            1 => {
                file.sync_all().unwrap();
                naive.sync(true);
            }
            2..4 => {
                file.write_durable_at(&bytes, at).unwrap();
                naive.durable_write(at as usize, bytes);
            }
            4..6 if at as usize <= naive.len() => {
                file.set_len(at).unwrap();
                naive.0.push((Call::Cut(at as usize), false));
            }
            6 => {
                let end = at as usize + 300;
                file.allocate(at, 300).unwrap();
                if end > naive.len() {
                    naive.0.push((Call::Grow(end), false));
                }
            }
            _ => {
                file.write_at(&bytes, at).unwrap();
                naive.0.push((Call::Write(at as usize, bytes), false));
            }
        }
        assert_eq!(contents(&disk, "f"), naive.image(|_| true), "seed {seed}, call {call}");
    }
    (disk, naive)
}

#[test]
fn subsets_of_the_unsynced_changes_match_the_model_exactly() {
    let mut images = 0;
    for seed in 0..400 {
        let (disk, naive) = history(seed, 8);
        let subsets = 0..1u64 << disk.unsynced_changes();
        let left: BTreeSet<_> =
            subsets.map(|subset| crashed(&disk, CrashImage::Subset(subset))).collect();
        assert!(left == naive.images(), "seed {seed}: {:?}", naive.0);
        images += left.len();
        assert_eq!(crashed(&disk, CrashImage::DropAll), naive.image(|_| false), "seed {seed}");
        assert_eq!(crashed(&disk, CrashImage::KeepAll), naive.image(|_| true), "seed {seed}");
    }
    assert!(images > 2000, "{images} images are too few to mean anything");
}

/// Returns, for each byte, the values that a crash without garbage may leave, and true if the byte
/// may be garbage.
fn allowed_bytes(naive: &Naive) -> Vec<(BTreeSet<u8>, bool)> {
    let mut allowed = vec![(BTreeSet::from([0]), false); ROOM];
    for (call, durable) in &naive.0 {
        match call {
            Call::Write(at, bytes) => {
                for (one, &byte) in allowed[*at..].iter_mut().zip(bytes) {
                    if *durable {
                        *one = (BTreeSet::new(), false);
                    }
                    one.0.insert(byte);
                    one.1 |= !durable;
                }
            }
            Call::Cut(end) => {
                for one in &mut allowed[*end..] {
                    if *durable {
                        *one = (BTreeSet::new(), false);
                    }
                    one.0.insert(0);
                }
            }
            Call::Grow(_) => (),
        }
    }
    allowed
}

/// The lengths that a crash may leave the file with: the ends of the changes, and 0.
fn allowed_lens(naive: &Naive) -> BTreeSet<usize> {
    let ends = naive.0.iter().map(|(call, _)| match call {
        Call::Write(at, bytes) => at + bytes.len(),
        Call::Grow(end) | Call::Cut(end) => *end,
    });
    ends.chain([0]).collect()
}

#[test]
fn every_image_is_one_that_a_crash_may_leave() {
    let mut garbage = 0;
    for seed in 0..400 {
        let (disk, naive) = history(seed, 12);
        let (bytes, lens) = (allowed_bytes(&naive), allowed_lens(&naive));
        let kinds = (0..6).flat_map(|more| CrashImage::kinds(seed ^ more << 32));
        for image in kinds {
            let left = crashed(&disk, image);
            assert!(lens.contains(&left.len()), "seed {seed}, {image:?}");
            let may_be_garbage = matches!(image, CrashImage::Random(_) | CrashImage::Garbage(_));
            for (at, byte) in left.iter().enumerate() {
                let clean = bytes[at].0.contains(byte);
                garbage += usize::from(!clean);
                assert!(
                    clean || may_be_garbage && bytes[at].1,
                    "{seed} {image:?} {at}: {:?}",
                    naive.0
                );
            }
        }
    }
    assert!(garbage > 1000);
}

/// A file of eight durable sectors of ones, overwritten by two unsynced writes.
fn overwritten(seed: u64) -> SimDisk {
    let (disk, file) = posix(seed);
    file.write_durable_at(&sectors_of(1, 8), 0).unwrap();
    file.write_at(&sectors_of(2, 8), 0).unwrap();
    file.write_at(&sectors_of(3, 5), 0).unwrap();
    disk
}

fn first_bytes(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(SECTOR_SIZE).map(|sector| sector[0]).collect()
}

#[test]
fn kinds_keep_the_documented_changes() {
    let disk = overwritten(1);
    let left = |image| first_bytes(&crashed(&disk, image));
    assert_eq!(left(CrashImage::DropAll), [1; 8]);
    assert_eq!(left(CrashImage::KeepAll), [3, 3, 3, 3, 3, 2, 2, 2]);
    assert_eq!(left(CrashImage::DropLast), [2; 8]);
    assert_eq!(left(CrashImage::TearLast), [3, 3, 2, 2, 2, 2, 2, 2]);
    assert_eq!(left(CrashImage::Subset(2)), [3, 3, 3, 3, 3, 1, 1, 1]);
    let many = |image: fn(u64) -> CrashImage| -> BTreeSet<Vec<u8>> {
        (0..200).map(|seed| left(image(seed))).collect()
    };
    assert_eq!(many(CrashImage::Reorder), BTreeSet::from([vec![2; 8], left(CrashImage::KeepAll)]));
    let torn = many(CrashImage::TearAll);
    assert!(torn.len() > 100 && torn.iter().flatten().all(|byte| (1..=3).contains(byte)));
    assert!(many(CrashImage::Garbage).len() > 190 && many(CrashImage::Random).len() > 60);
}

#[test]
fn data_and_lengths_are_lost_apart() {
    for (metadata, kept_len) in BOTH_MODES.into_iter().zip([[1024, 300], [300, 1024]]) {
        let (disk, file) = with_file(metadata, 1);
        file.write_durable_at(&[1; 300], 0).unwrap();
        file.write_at(&[2; 724], 300).unwrap();
        let names_only = crashed(&disk, CrashImage::KeepMetadataDropData);
        assert_eq!(names_only.len(), kept_len[0]);
        assert!(names_only[300..].iter().all(|&byte| byte == 0));
        assert_eq!(crashed(&disk, CrashImage::DropMetadataKeepData).len(), kept_len[1]);
    }
}

#[test]
fn bytes_whose_length_was_lost_are_zeros_when_the_file_grows_again() {
    let (disk, file) = posix(1);
    file.write_at(&sectors_of(1, 2), 0).unwrap();
    let after = disk.crash(CrashImage::DropMetadataKeepData);
    let file = after.open("f", OpenMode::Existing).unwrap();
    assert!(file.is_empty().unwrap());
    file.set_len(1024).unwrap();
    assert_eq!(contents(&after, "f"), sectors_of(0, 2));
}

#[test]
fn ext4_length_reaches_as_far_as_the_bytes() {
    let mut lens = BTreeSet::new();
    for seed in 0..200 {
        let (disk, file) = with_file(MetadataMode::Ext4Ordered, 1);
        file.write_at(&sectors_of(1, 4), 0).unwrap();
        for image in CrashImage::kinds(seed) {
            let left = crashed(&disk, image);
            assert!(left.iter().all(|&byte| byte == 1), "{image:?}");
            lens.insert(left.len() / SECTOR_SIZE);
        }
    }
    assert_eq!(lens, BTreeSet::from([0, 1, 2, 3, 4]));
}

#[test]
fn ext4_keeps_lengths_and_names_in_order() {
    for seed in 0..100 {
        let (disk, file) = with_file(MetadataMode::Ext4Ordered, seed);
        for step in 1..8 {
            file.allocate(0, step * 100).unwrap();
            disk.open(&format!("g{step}"), OpenMode::Create).unwrap();
        }
        for image in CrashImage::kinds(seed) {
            let after = disk.crash(image);
            let (len, files) = (contents(&after, "f").len(), after.file_names().len() - 1);
            assert!([files * 100, files * 100 + 100].contains(&len), "{image:?} {len} {files}");
        }
    }
}

#[test]
fn garbage_never_leaves_the_torn_write() {
    let (disk, file) = posix(1);
    file.write_durable_at(&sectors_of(1, 1), 0).unwrap();
    file.write_at(&[2; 100], 200).unwrap();
    let mut garbage = 0;
    for seed in 0..50 {
        let left = crashed(&disk, CrashImage::Garbage(seed));
        assert!(left[..200] == [1; 200] && left[300..] == [1; 212]);
        garbage += usize::from(left[200..300] != [2; 100]);
    }
    assert!((10..40).contains(&garbage));
}

#[test]
fn random_images_drop_keep_and_tear_and_reorder() {
    let mut seen = BTreeSet::new();
    for seed in 0..2000 {
        seen.insert(first_bytes(&crashed(&overwritten(1), CrashImage::Random(seed))));
    }
    let whole = [[1; 8], [2; 8], [3, 3, 3, 3, 3, 2, 2, 2], [3, 3, 3, 3, 3, 1, 1, 1]];
    assert!(whole.iter().all(|image| seen.contains(&image[..])));
    assert!(seen.len() > 500, "{}", seen.len());
}
