//! Tests that each planned fault occurs at its operation and has the documented effect.

use super::*;

fn fail(at: u64, kind: io::ErrorKind, lasting: Lasting) -> Fault {
    Fault::Fail { at, operation: None, kind, lasting }
}

#[test]
fn error_occurs_once_or_permanently_at_its_operation() {
    for (lasting, expected) in [
        (Lasting::Once, [true, false, true, true]),
        (Lasting::Forever, [true, false, false, false]),
    ] {
        let (disk, file) = posix(1);
        disk.plan(fail(disk.operations() + 2, io::ErrorKind::Other, lasting));
        let results = [
            file.set_len(1).is_ok(),
            disk.rename("f", "g").is_ok(),
            disk.open("h", OpenMode::Create).is_ok(),
            disk.sync_dir("").is_ok(),
        ];
        assert_eq!(results, expected);
        assert_eq!(disk.file_names().first().unwrap(), "f", "the failed rename did nothing");
        disk.clear_plan();
        file.sync_all().unwrap();
        assert_eq!(disk.operations(), 7, "failed operations count");
    }
}

#[test]
fn error_can_be_limited_to_a_kind_of_operation() {
    let (disk, file) = posix(1);
    let (operation, lasting) = (Some(SimOperation::SyncData), Lasting::Once);
    disk.plan(Fault::Fail { at: 1, operation, kind: io::ErrorKind::Other, lasting });
    file.write_at(b"x", 0).unwrap();
    file.sync_all().unwrap();
    assert!(file.sync_data().is_err());
    file.sync_data().unwrap();
}

#[test]
fn planned_full_disk_changes_nothing() {
    for seed in 0..20 {
        let (disk, file) = posix(seed);
        file.write_at(b"old", 0).unwrap();
        disk.plan(fail(disk.operations() + 1, io::ErrorKind::StorageFull, Lasting::Forever));
        assert!(is_full(file.write_at(b"new bytes", 0)) && is_full(file.allocate(0, 100)));
        disk.clear_plan();
        assert_eq!(contents(&disk, "f"), b"old");
    }
}

#[test]
fn failed_write_may_have_happened_in_part() {
    let lens: BTreeSet<usize> = (0..60)
        .map(|seed| {
            let (disk, file) = posix(seed);
            disk.plan(fail(disk.operations() + 1, io::ErrorKind::Other, Lasting::Once));
            assert!(file.write_durable_at(&sectors_of(1, 2), 0).is_err());
            contents(&disk, "f").len()
        })
        .collect();
    assert_eq!(lens, BTreeSet::from([0, 512, 1024]));
}

#[test]
fn failed_sync_drops_pages_that_reads_still_see_and_the_next_succeeds() {
    for metadata in BOTH_MODES {
        let (disk, file) = with_file(metadata, 1);
        file.write_durable_at(b"durable", 0).unwrap();
        file.write_at(b"dropped", 0).unwrap();
        disk.plan(Fault::SyncDropsWrites { at: 1 });
        assert_eq!(io_kind(file.sync_data()), io::ErrorKind::Other);
        file.write_at(b"later", 100).unwrap();
        file.sync_data().unwrap();
        assert_eq!(&contents(&disk, "f")[..7], b"dropped");
        for image in CrashImage::kinds(1) {
            let left = crashed(&disk, image);
            assert_eq!((&left[..7], &left[100..]), (&b"durable"[..], &b"later"[..]));
        }
    }
}

#[test]
fn power_cut_is_permanent_and_typed() {
    let (disk, file) = posix(1);
    let guard = disk.lock().unwrap();
    disk.plan(Fault::PowerCut { at: disk.operations() + 1 });
    assert!(PowerCut::caused(&file.sync_data().unwrap_err()) && disk.is_off());
    disk.clear_plan();
    let (mut buf, operations) = ([0; 1], disk.operations());
    let errors = [
        file.read_at(&mut buf, 0).err(),
        file.write_at(b"x", 0).err(),
        file.write_durable_at(b"x", 0).err(),
        file.sync_all().err(),
        file.len().err(),
        file.set_len(0).err(),
        file.allocate(0, 1).err(),
        disk.open("f", OpenMode::Existing).err(),
        disk.exists("f").err(),
        disk.rename("f", "g").err(),
        disk.remove("f").err(),
        disk.list("").err(),
        disk.create_dir("d").err(),
        disk.sync_dir("").err(),
        disk.lock().err(),
        disk.fork().exists("f").err(),
    ];
    for error in errors {
        assert!(PowerCut::caused(&error.unwrap()));
    }
    drop(guard);
    assert_eq!((disk.operations(), disk.file_names().len()), (operations, 1), "nothing changed");
    let after = disk.reboot();
    assert!(!after.is_off() && after.exists("f").unwrap() && after.lock().is_ok());
}

#[test]
fn power_cut_is_recognized_in_the_cause_of_engine_errors() {
    let (disk, file) = posix(1);
    disk.cut_power();
    let cause = Arc::new(file.sync_data().unwrap_err());
    assert!(PowerCut::caused(&Error::Poisoned { cause: cause.clone() }));
    assert!(PowerCut::caused(&Error::OutcomeUnknown { cause }));
    assert!(!PowerCut::caused(&Error::WouldBlock { conflict: None }));
}

#[test]
fn power_cut_leaves_any_part_of_a_sync() {
    let lens: BTreeSet<u64> = (0..60)
        .map(|seed| {
            let (disk, file) = posix(seed);
            (0..3).for_each(|at| file.write_at(&[1], at).unwrap());
            disk.plan(Fault::PowerCut { at: disk.operations() + 1 });
            assert!(file.sync_data().is_err());
            disk.durable_len("f").unwrap()
        })
        .collect();
    assert_eq!(lens, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn power_cut_leaves_names_and_lengths_done_or_not() {
    let run = |seed| {
        let (disk, file) = posix(seed);
        disk.plan(Fault::PowerCut { at: disk.operations() + 1 });
        match seed % 4 {
            0 => drop(disk.open("new", OpenMode::Create).err().unwrap()),
            1 => disk.remove("f").unwrap_err().to_string().truncate(0),
            2 => disk.rename("f", "g").unwrap_err().to_string().truncate(0),
            _ => file.allocate(0, 10).unwrap_err().to_string().truncate(0),
        }
        (seed % 4, disk.unsynced_changes())
    };
    let seen: BTreeSet<_> = (0..80).map(run).collect();
    assert_eq!(seen.len(), 8, "{seen:?}");
}

#[test]
fn misdirected_write_changes_another_place_and_lost_write_none() {
    for seed in 0..30 {
        let (disk, file) = posix(seed);
        file.write_durable_at(&sectors_of(1, 8), 0).unwrap();
        disk.plan(Fault::LostWrite { at: 1 });
        file.write_durable_at(&sectors_of(2, 1), 1024).unwrap();
        assert_eq!(contents(&disk, "f"), sectors_of(1, 8));
        disk.plan(Fault::MisdirectedWrite { at: 1 });
        file.write_durable_at(&sectors_of(3, 1), 1024).unwrap();
        let seen = crashed(&disk, CrashImage::DropAll);
        let places: Vec<_> =
            (0..8).filter(|at| seen[at * 512..][..512] == sectors_of(3, 1)).collect();
        assert!(places.len() == 1 && places != [2] && seen.len() == 4096, "{places:?}");
    }
}

/// Reads from offset 512 of the file 1000 times, and returns how often the bytes were right, were
/// wrong, and could not be read.
fn read_often(disk: &SimDisk, right: &[u8], check: impl Fn(&[u8])) -> [usize; 3] {
    let file = disk.open("f", OpenMode::Existing).unwrap();
    let mut counts = [0; 3];
    for _ in 0..1000 {
        let mut seen = vec![0; right.len()];
        let index = match file.read_at(&mut seen, 512) {
            Ok(_) if seen == right => 0,
            Ok(_) => {
                check(&seen);
                1
            }
            Err(_) => 2,
        };
        counts[index] += 1;
    }
    counts
}

fn disk_for_reads(seed: u64) -> SimDisk {
    let (disk, file) = posix(seed);
    for round in 0..2 {
        (0..8)
            .for_each(|at| file.write_at(&sectors_of(round * 8 + at, 1), at as u64 * 512).unwrap());
    }
    disk
}

#[test]
fn read_faults_occur_at_their_rate() {
    let right = [sectors_of(9, 1), sectors_of(10, 1)].concat();
    type Check = fn(&[u8]);
    let checks: [(ReadFault, Check); 4] = [
        (ReadFault::Fail, |_| panic!("not refused")),
        (ReadFault::FlipBit, |seen| {
            let flipped = |(at, byte): (usize, &u8)| (byte ^ [9, 10][at / 512]).count_ones();
            assert_eq!(seen.iter().enumerate().map(flipped).sum::<u32>(), 1);
        }),
        (ReadFault::StaleSector, |seen| {
            let pair = (seen[0], seen[512]);
            assert!([(1, 10), (9, 2)].contains(&pair), "{pair:?}");
        }),
        (ReadFault::Misdirected, |seen| assert_eq!(seen[0] + 1, seen[512])),
    ];
    for (fault, check) in checks {
        let disk = disk_for_reads(3);
        disk.plan(Fault::Read { fault, when: ReadWhen::PerMillion(200_000) });
        let counts = read_often(&disk, &right, check);
        assert!((150..250).contains(&(counts[1] + counts[2])), "{fault:?} {counts:?}");
        assert_eq!(counts[2] > 0, fault == ReadFault::Fail);
        disk.clear_plan();
        assert_eq!(read_often(&disk, &right, check), [1000, 0, 0]);
    }
}

#[test]
fn read_fault_at_a_number_affects_only_that_read() {
    let disk = disk_for_reads(1);
    let when = ReadWhen::Number(disk.reads() + 7);
    disk.plan(Fault::Read { fault: ReadFault::FlipBit, when });
    assert_eq!(read_often(&disk, &sectors_of(9, 1), |_| ()), [999, 1, 0]);
    assert_eq!(disk.reads(), 1000);
}

#[test]
fn stale_sector_outlives_a_crash() {
    let (disk, file) = posix(1);
    file.write_durable_at(&sectors_of(1, 1), 0).unwrap();
    file.write_durable_at(&sectors_of(2, 1), 0).unwrap();
    let after = disk.crash(CrashImage::DropAll);
    after.plan(Fault::Read { fault: ReadFault::StaleSector, when: ReadWhen::Number(1) });
    assert_eq!(contents(&after, "f"), sectors_of(1, 1));
    assert_eq!(contents(&after, "f"), sectors_of(2, 1));
}

#[test]
fn direct_damage_is_live_and_durable() {
    let (disk, file) = posix(1);
    file.write_durable_at(&[0; 100], 0).unwrap();
    file.write_at(&[1; 100], 100).unwrap();
    disk.flip_bit("f", 8 * 50 + 3).unwrap();
    disk.overwrite("f", 98, b"####").unwrap();
    let mut expected = [vec![0; 98], vec![b'#'; 4], vec![1; 98]].concat();
    expected[50] = 8;
    assert_eq!(contents(&disk, "f"), expected);
    assert_eq!(crashed(&disk, CrashImage::DropAll), expected[..100]);
    assert_eq!(io_kind(disk.overwrite("f", 199, b"##")), io::ErrorKind::InvalidInput);
    assert_eq!(io_kind(disk.flip_bit("g", 0)), io::ErrorKind::NotFound);
}
