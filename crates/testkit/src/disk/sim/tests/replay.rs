//! Tests that everything follows from the seed, that forks are independent, and that observers see
//! every operation.

use std::time::{Duration, Instant};

use clearway_sync::thread;

use super::*;

/// A run of drawn calls with faults in it.
fn run(seed: u64, mode: MetadataMode) -> SimDisk {
    let (disk, file) = with_file(mode, seed);
    let mut draws = Random::stream(seed, 0);
    let when = ReadWhen::PerMillion(300_000);
    disk.plan(Fault::Read { fault: ReadFault::FlipBit, when });
    disk.plan(Fault::MisdirectedWrite { at: 20 });
    disk.plan(Fault::SyncDropsWrites { at: 30 });
    disk.plan(Fault::PowerCut { at: 60 });
    for round in 0..80u64 {
        let (at, len) = (draws.below(5000), draws.below(3000) as usize);
        let _ = match draws.below(8) {
            0 => file.write_durable_at(&vec![round as u8; len], at),
            1 => file.sync_data(),
            2 => file.set_len(at),
            3 => file.allocate(at, len as u64),
            4 => file.read_at(&mut vec![0; len], at).map(drop),
            5 => disk.open(&format!("g{round}"), OpenMode::Create).map(drop),
            _ => file.write_at(&vec![round as u8; len], at),
        };
    }
    disk
}

fn everything(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    disk.file_names().into_iter().map(|name| (name.clone(), contents(disk, &name))).collect()
}

#[test]
fn equal_seeds_make_equal_runs_and_equal_crashes() {
    for metadata in BOTH_MODES {
        let mut digests = BTreeSet::new();
        for seed in 0..20 {
            let (one, two) = (run(seed, metadata), run(seed, metadata));
            assert_eq!(one.trace_digest(), two.trace_digest());
            assert_eq!(one.operations(), two.operations());
            digests.insert(one.trace_digest());
            assert_eq!(everything(&one.reboot()), everything(&two.reboot()));
            for image in CrashImage::kinds(seed) {
                assert_eq!(everything(&one.crash(image)), everything(&two.crash(image)));
            }
        }
        assert_eq!(digests.len(), 20, "other seeds make other runs");
    }
}

#[test]
fn digest_differs_for_operations_bytes_results_and_reads() {
    let digest = |call: &dyn Fn(&SimDisk, &dyn File)| {
        let (disk, file) = posix(1);
        call(&disk, &*file);
        disk.trace_digest()
    };
    let digests = BTreeSet::from([
        digest(&|_, _| ()),
        digest(&|_, file| file.write_at(b"12345678a", 0).unwrap()),
        digest(&|_, file| file.write_at(b"12345678b", 0).unwrap()),
        digest(&|_, file| file.write_at(b"12345678b", 1).unwrap()),
        digest(&|_, file| file.write_durable_at(b"12345678b", 0).unwrap()),
        digest(&|_, file| drop(file.read_at(&mut [0; 3], 0))),
        digest(&|_, file| drop(file.read_at(&mut [0; 4], 0))),
        digest(&|disk, _| drop(disk.rename("f", "g"))),
        digest(&|disk, _| drop(disk.rename("f", "h"))),
        digest(&|disk, _| {
            disk.plan(Fault::PowerCut { at: 1 });
            drop(disk.rename("f", "h"));
        }),
    ]);
    assert_eq!(digests.len(), 10);
}

#[test]
fn fork_keeps_what_is_unsynced_and_shares_no_change() {
    let (disk, file) = posix(1);
    file.write_at(&sectors_of(1, 20), 0).unwrap();
    disk.plan(Fault::PowerCut { at: 4 });
    let _guard = disk.lock().unwrap();
    let fork = disk.fork();
    assert_eq!((fork.operations(), fork.trace_digest()), (3, disk.trace_digest()));
    assert_eq!((fork.unsynced_changes(), crashed(&fork, CrashImage::DropAll).len()), (1, 0));
    let forked = fork.open("f", OpenMode::Existing).unwrap();
    forked.write_at(&sectors_of(2, 1), 0).unwrap();
    forked.sync_data().unwrap();
    assert!(fork.lock().is_ok(), "no lock, and no plan");
    assert_eq!(contents(&disk.clone().crash(CrashImage::KeepAll), "f"), sectors_of(1, 20));
    assert_eq!(disk.durable_len("f"), Some(0));
    let after = disk.crash(CrashImage::KeepAll);
    after.open("f", OpenMode::Existing).unwrap().set_len(0).unwrap();
    assert_eq!(crashed(&disk, CrashImage::KeepAll), sectors_of(1, 20));
}

#[test]
fn observer_sees_each_operation_after_it_took_effect() {
    let (disk, file) = posix(1);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shared = seen.clone();
    disk.observe(move |event| {
        let (kind, bytes) = (event.operation, event.bytes.to_vec());
        shared.lock().push((event.number, kind, event.offset, event.len, bytes, event.failed));
    });
    file.write_durable_at(b"ab", 3).unwrap();
    file.read_at(&mut [0; 10], 4).unwrap();
    disk.rename("f", "g").unwrap();
    assert!(disk.remove("f").is_err());
    use SimOperation::*;
    let expected = [
        (3, WriteDurable, 3, 2, b"ab".to_vec(), false),
        (1, Read, 4, 10, b"b".to_vec(), false),
        (4, Rename, 0, 0, b"g".to_vec(), false),
        (5, Remove, 0, 0, vec![], true),
    ];
    assert_eq!(*seen.lock(), expected);
}

#[test]
fn threads_share_a_disk() {
    let (disk, file) = posix(1);
    thread::scope(|scope| {
        for at in 0..4u64 {
            let (disk, file) = (&disk, &file);
            scope.spawn(move || {
                for round in 0..200 {
                    file.write_durable_at(&[round; 512], at * 512).unwrap();
                    disk.open("g", OpenMode::Create).unwrap();
                }
            });
        }
    });
    assert_eq!(crashed(&disk, CrashImage::DropAll), [199; 2048]);
    assert_eq!(disk.operations(), 2 + 4 * 400);
}

/// A database of 400 KiB, with a log segment of 16 MiB of which little is used.
fn typical() -> SimDisk {
    let (disk, data) = posix(1);
    let log = disk.open("log", OpenMode::Create).unwrap();
    log.allocate(0, 16 << 20).unwrap();
    log.sync_all().unwrap();
    (0..50).for_each(|page| data.write_at(&[page as u8 + 1; 8192], page * 8192).unwrap());
    data.sync_data().unwrap();
    (0..50).for_each(|at| log.write_durable_at(&[1; 1536], at * 1536).unwrap());
    (0..20).for_each(|page| data.write_at(&[page as u8 + 2; 8192], page * 8192).unwrap());
    disk
}

/// The best of many tries, so that a busy machine does not matter.
fn best_of(tries: u32, mut work: impl FnMut()) -> Duration {
    let mut once = || {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..tries).map(|_| once()).min().unwrap()
}

#[test]
fn forks_and_crashes_are_cheap() {
    let disk = typical();
    let fork = best_of(200, || drop(disk.fork()));
    let crash = best_of(200, || drop(disk.crash(CrashImage::Random(1))));
    let build = best_of(20, || drop(typical()));
    eprintln!("fork {fork:?}, crash {crash:?}, 72 pages and 50 log writes {build:?}");
    assert!(fork < Duration::from_micros(50), "{fork:?}");
    assert!(crash < Duration::from_millis(2), "{crash:?}");
}

#[test]
fn random_numbers_follow_from_the_seed() {
    let drawn = |disk: &SimDisk| [0; 3].map(|_: u64| disk.random().unwrap());
    let disk = SimDisk::new(7, SimOptions::default());
    let first = drawn(&disk);
    assert_eq!(first, drawn(&SimDisk::new(7, SimOptions::default())));
    assert_ne!(first, drawn(&SimDisk::new(8, SimOptions::default())));
    // A fork draws the numbers that the original would draw, unless it is reseeded.
    let (same, other) = (disk.fork(), disk.fork());
    other.reseed(9);
    let next = drawn(&disk);
    assert_eq!(next, drawn(&same));
    assert_ne!(next, drawn(&other));
    assert_ne!(next, drawn(&disk.crash(CrashImage::KeepAll)));
}
