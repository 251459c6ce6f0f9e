//! Tests that the disk gives the guarantees DISK-1 to DISK-6, and no stronger ones.

use super::*;

#[test]
fn d1_short_writes_are_never_seen_and_exist_when_the_power_goes() {
    let mut kept = BTreeSet::new();
    for seed in 0..60 {
        let (disk, file) = posix(seed);
        file.write_at(&sectors_of(1, 8), 0).unwrap();
        file.sync_data().unwrap();
        disk.plan(Fault::PowerCut { at: disk.operations() + 1 });
        assert!(file.write_at(&sectors_of(2, 8), 0).is_err());
        let left = crashed(&disk, CrashImage::KeepAll);
        let new = left.iter().take_while(|&&byte| byte == 2).count();
        assert!(left[new..].iter().all(|&byte| byte == 1), "a part from the front");
        kept.insert(new);
    }
    assert_eq!(kept, (0..=8).map(|count| count * SECTOR_SIZE).collect());
}

#[test]
fn d2_synced_bytes_and_their_length_survive_every_crash() {
    for metadata in BOTH_MODES {
        for seed in 0..20 {
            let (disk, file) = with_file(metadata, seed);
            file.allocate(0, 4096).unwrap();
            file.write_at(&sectors_of(1, 2), 100).unwrap();
            if seed % 2 == 0 { file.sync_data() } else { file.sync_all() }.unwrap();
            file.write_at(&sectors_of(2, 1), 3 * 512).unwrap();
            for image in CrashImage::kinds(seed) {
                let left = crashed(&disk, image);
                assert_eq!(left[100..1124], sectors_of(1, 2), "{image:?}");
            }
        }
    }
}

#[test]
fn d2_durable_bytes_survive_what_was_unsynced_before_and_comes_after() {
    for metadata in BOTH_MODES {
        for seed in 0..20 {
            let (disk, file) = with_file(metadata, seed);
            file.write_at(&sectors_of(1, 4), 0).unwrap();
            file.set_len(600).unwrap();
            file.write_at(&sectors_of(2, 3), 512).unwrap();
            file.write_durable_at(&[3; 700], 900).unwrap();
            file.write_at(&sectors_of(4, 1), 0).unwrap();
            for image in CrashImage::kinds(seed) {
                let left = crashed(&disk, image);
                assert_eq!(left[900..1600], [3; 700], "{image:?}");
                if !matches!(image, CrashImage::Garbage(_) | CrashImage::Random(_)) {
                    assert!(left[600..900].iter().all(|byte| *byte != 1), "cut: {image:?}");
                }
            }
        }
    }
}

#[test]
fn durable_write_makes_nothing_else_durable() {
    let (disk, file) = posix(1);
    file.write_at(b"early", 0).unwrap();
    file.write_at(b"beyond", 100).unwrap();
    file.write_durable_at(b"durable", 8).unwrap();
    assert_eq!(crashed(&disk, CrashImage::DropAll), b"\0\0\0\0\0\0\0\0durable");
    assert_eq!(disk.durable_len("f"), Some(15));
    let all = crashed(&disk, CrashImage::KeepAll);
    assert_eq!((&all[..5], &all[100..]), (&b"early"[..], &b"beyond"[..]));
}

#[test]
fn data_sync_covers_its_own_file_and_only_lengths_it_needs() {
    let (disk, file) = posix(1);
    let other = disk.open("g", OpenMode::Create).unwrap();
    disk.sync_dir("").unwrap();
    other.write_at(b"other", 0).unwrap();
    file.write_at(b"mine", 0).unwrap();
    file.allocate(0, 2000).unwrap();
    file.sync_data().unwrap();
    let left = disk.crash(CrashImage::DropAll);
    assert_eq!((contents(&left, "f"), contents(&left, "g")), (b"mine".to_vec(), vec![]));
    file.sync_all().unwrap();
    assert_eq!(disk.durable_len("f"), Some(2000));
    file.set_len(2).unwrap();
    file.sync_data().unwrap();
    assert_eq!(disk.durable_len("f"), Some(2000), "no write came after the cut");
    file.write_at(b"X", 1).unwrap();
    file.sync_data().unwrap();
    assert_eq!(crashed(&disk, CrashImage::DropAll), b"mX");
}

#[test]
fn growth_before_a_synced_cut_never_comes_back() {
    let (disk, file) = posix(1);
    file.allocate(0, 2000).unwrap();
    file.set_len(600).unwrap();
    file.write_at(b"x", 0).unwrap();
    file.sync_data().unwrap();
    assert_eq!(crashed(&disk, CrashImage::DropAll).len(), 1);
    assert_eq!(crashed(&disk, CrashImage::KeepAll).len(), 600);
}

#[test]
fn d3_bytes_of_a_failed_sync_may_be_lost_or_kept() {
    let (disk, file) = posix(1);
    file.write_at(b"x", 0).unwrap();
    let at = disk.operations() + 1;
    let (operation, kind) = (Some(SimOperation::SyncData), io::ErrorKind::Other);
    disk.plan(Fault::Fail { at, operation, kind, lasting: Lasting::Once });
    assert_eq!(io_kind(file.sync_data()), io::ErrorKind::Other);
    assert_eq!(crashed(&disk, CrashImage::DropAll), b"");
    assert_eq!(crashed(&disk, CrashImage::KeepAll), b"x");
}

#[test]
fn d4_names_need_a_sync_of_their_directory() {
    let disk = disk_in(MetadataMode::PosixMinimal, 1);
    let file = disk.open("a", OpenMode::Create).unwrap();
    file.write_at(b"a", 0).unwrap();
    file.sync_all().unwrap();
    assert!(disk.crash(CrashImage::DropAll).file_names().is_empty());
    assert_eq!(disk.crash(CrashImage::KeepAll).file_names(), ["a"]);
    disk.sync_dir("").unwrap();
    assert_eq!(disk.crash(CrashImage::DropAll).file_names(), ["a"]);
}

#[test]
fn d5_full_disk_is_typed_and_changes_nothing() {
    for metadata in BOTH_MODES {
        let disk = SimDisk::new(1, SimOptions { metadata, space_bytes: Some(10) });
        let file = disk.open("f", OpenMode::Create).unwrap();
        disk.sync_dir("").unwrap();
        file.write_at(b"12345678", 0).unwrap();
        assert!(is_full(file.write_at(b"xyz", 8)) && is_full(file.write_durable_at(b"xyz", 8)));
        assert!(is_full(file.allocate(8, 3)) && is_full(file.set_len(11)));
        assert_eq!(contents(&disk, "f"), b"12345678");
        assert_eq!(disk.unsynced_changes(), 1);
        file.write_at(b"xy", 8).unwrap();
        let other = disk.open("other", OpenMode::Create).unwrap();
        assert!(is_full(other.write_at(b"z", 0)));
        disk.remove("f").unwrap();
        assert!(is_full(other.write_at(b"z", 0)), "an open handle keeps the space");
        drop(file);
        other.write_at(b"z", 0).unwrap();
        assert_eq!(disk.used_bytes(), 1);
        disk.set_space_bytes(None);
        other.write_at(&[1; 100], 0).unwrap();
        assert_eq!(disk.used_bytes(), 100);
        other.set_len(40).unwrap();
        assert_eq!(disk.fork().used_bytes(), 40);
    }
}

#[test]
fn space_follows_names_that_are_replaced() {
    let disk = disk_in(MetadataMode::PosixMinimal, 1);
    for (name, len) in [("a", 10), ("b", 20)] {
        disk.open(name, OpenMode::Create).unwrap().set_len(len).unwrap();
    }
    disk.rename("a", "b").unwrap();
    assert_eq!((disk.used_bytes(), disk.file_names()), (10, vec!["b".to_string()]));
    let held = disk.open("b", OpenMode::Existing).unwrap();
    disk.remove("b").unwrap();
    assert_eq!((disk.used_bytes(), disk.fork().used_bytes()), (10, 0));
    assert_eq!(held.len().unwrap(), 10);
}

#[test]
fn d6_unwritten_bytes_are_zeros_also_after_a_crash() {
    for metadata in BOTH_MODES {
        let (disk, file) = with_file(metadata, 1);
        file.allocate(0, 16 << 20).unwrap();
        file.write_at(&[7; 10], 9 << 20).unwrap();
        file.set_len(1000).unwrap();
        file.allocate(0, 16 << 20).unwrap();
        file.sync_all().unwrap();
        for seen in [contents(&disk, "f"), crashed(&disk, CrashImage::DropAll)] {
            assert!(seen.len() == 16 << 20 && seen.iter().all(|&byte| byte == 0));
        }
    }
}
