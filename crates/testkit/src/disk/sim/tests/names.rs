//! Tests of the names that a crash leaves.

use super::*;

type Names = Vec<String>;

/// Returns every set of names that some subset of the unsynced changes leaves.
fn all_names(disk: &SimDisk) -> BTreeSet<Names> {
    let subsets = 0..1u64 << disk.unsynced_changes();
    subsets.map(|subset| disk.crash(CrashImage::Subset(subset)).file_names()).collect()
}

fn sets(expected: &[&[&str]]) -> BTreeSet<Names> {
    let owned = |names: &&[&str]| names.iter().map(|name| name.to_string()).collect();
    expected.iter().map(owned).collect()
}

fn create(disk: &SimDisk, name: &str) {
    let file = disk.open(name, OpenMode::CreateNew).unwrap();
    file.write_at(name.as_bytes(), 0).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn posix_keeps_each_change_independently_and_ext4_in_order() {
    let any: &[&[&str]] = &[&[], &["a"], &["b"], &["c"], &["a", "b"], &["a", "c"], &["b", "c"]];
    for (metadata, expected) in BOTH_MODES.into_iter().zip([any, &[&[], &["a"], &["a", "b"]]]) {
        let disk = disk_in(metadata, 1);
        for name in ["a", "b", "c"] {
            disk.open(name, OpenMode::CreateNew).unwrap();
        }
        let expected = sets(expected).into_iter().chain(sets(&[&["a", "b", "c"]])).collect();
        assert_eq!(all_names(&disk), expected, "{metadata:?}");
    }
}

#[test]
fn rename_is_atomic() {
    for metadata in BOTH_MODES {
        let disk = disk_in(metadata, 1);
        create(&disk, "new");
        create(&disk, "old");
        disk.sync_dir("").unwrap();
        disk.rename("new", "old").unwrap();
        assert_eq!(all_names(&disk), sets(&[&["new", "old"], &["old"]]));
        assert_eq!(contents(&disk.crash(CrashImage::DropAll), "old"), b"old");
        assert_eq!(contents(&disk.crash(CrashImage::KeepAll), "old"), b"new");
        disk.sync_dir("").unwrap();
        assert_eq!(contents(&disk.crash(CrashImage::DropAll), "old"), b"new");
    }
}

#[test]
fn removal_is_lost_or_kept_and_a_new_file_of_the_name_is_another() {
    let disk = disk_in(MetadataMode::PosixMinimal, 1);
    create(&disk, "f");
    disk.sync_dir("").unwrap();
    disk.remove("f").unwrap();
    assert_eq!(all_names(&disk), sets(&[&["f"], &[]]));
    disk.open("f", OpenMode::CreateNew).unwrap();
    assert_eq!(contents(&disk.crash(CrashImage::DropAll), "f"), b"f");
    assert!(disk.crash(CrashImage::DropLast).file_names().is_empty());
    assert_eq!(contents(&disk.crash(CrashImage::Subset(2)), "f"), b"", "the other file");
}

#[test]
fn removal_concerns_one_file_even_if_its_name_is_reused() {
    let disk = disk_in(MetadataMode::PosixMinimal, 1);
    create(&disk, "f");
    disk.sync_dir("").unwrap();
    disk.rename("f", "g").unwrap();
    disk.open("f", OpenMode::CreateNew).unwrap();
    disk.remove("f").unwrap();
    let removal_only = disk.crash(CrashImage::Subset(0b100));
    assert_eq!(contents(&removal_only, "f"), b"f", "another file than the one removed");
}

#[test]
fn unreachable_files_are_forgotten() {
    let disk = disk_in(MetadataMode::PosixMinimal, 1);
    for name in ["gone", "held", "kept"] {
        create(&disk, name);
    }
    disk.sync_dir("").unwrap();
    let held = disk.open("held", OpenMode::Existing).unwrap();
    disk.remove("gone").unwrap();
    disk.remove("held").unwrap();
    let stored =
        || -> Vec<u64> { disk.0.state.lock().files.iter().map(|f| f.durable.len).collect() };
    assert_eq!(stored(), [4, 4, 4]);
    disk.sync_dir("").unwrap();
    assert_eq!(stored(), [0, 4, 4]);
    drop(held);
    disk.sync_dir("").unwrap();
    assert_eq!(stored(), [0, 0, 4]);
}

#[test]
fn rename_between_directories_needs_both_of_them() {
    let disk = disk_in(MetadataMode::PosixMinimal, 1);
    for dir in ["a", "b"] {
        disk.create_dir(dir).unwrap();
    }
    create(&disk, "a/f");
    disk.sync_dir("").unwrap();
    disk.sync_dir("a").unwrap();
    disk.rename("a/f", "b/f").unwrap();
    let fork = disk.fork();
    assert_eq!(all_names(&disk), sets(&[&["a/f"], &["b/f"]]));
    disk.sync_dir("b").unwrap();
    assert_eq!(all_names(&disk), sets(&[&["a/f", "b/f"], &["b/f"]]));
    let both = disk.crash(CrashImage::DropAll);
    both.open("a/f", OpenMode::Existing).unwrap().write_at(b"!", 0).unwrap();
    assert_eq!(contents(&both, "b/f"), b"!/f", "one file of two names");
    fork.sync_dir("a").unwrap();
    assert_eq!(all_names(&fork), sets(&[&["b/f"]]));
}

#[test]
fn lost_directory_loses_its_files() {
    let disk = disk_in(MetadataMode::PosixMinimal, 1);
    disk.create_dir("log").unwrap();
    create(&disk, "log/0");
    disk.sync_dir("log").unwrap();
    let left = disk.crash(CrashImage::DropAll);
    assert!(left.file_names().is_empty() && !left.exists("log").unwrap());
    disk.sync_dir("").unwrap();
    assert_eq!(disk.crash(CrashImage::DropAll).list("log").unwrap(), ["0"]);
}

#[test]
fn ext4_sync_of_a_file_commits_all_names_before_it() {
    for (metadata, count) in BOTH_MODES.into_iter().zip([0, 2]) {
        let disk = disk_in(metadata, 1);
        disk.open("a", OpenMode::Create).unwrap();
        create(&disk, "b");
        disk.open("c", OpenMode::Create).unwrap();
        assert_eq!(disk.crash(CrashImage::DropAll).file_names().len(), count);
    }
}

#[test]
fn ext4_journal_holds_names_and_lengths_of_all_files() {
    for (metadata, len) in BOTH_MODES.into_iter().zip([0, 2000]) {
        let (disk, file) = with_file(metadata, 1);
        file.allocate(0, 2000).unwrap();
        disk.sync_dir("").unwrap();
        assert_eq!(disk.durable_len("f"), Some(len), "{metadata:?}");
        disk.open("a", OpenMode::Create).unwrap();
        file.write_durable_at(b"x", 3000).unwrap();
        let kept = disk.crash(CrashImage::DropAll).exists("a").unwrap();
        assert_eq!(kept, metadata == MetadataMode::Ext4Ordered);
    }
}

#[test]
fn ext4_sync_without_metadata_commits_no_names() {
    let (disk, file) = with_file(MetadataMode::Ext4Ordered, 1);
    file.write_durable_at(b"x", 0).unwrap();
    disk.open("a", OpenMode::Create).unwrap();
    file.write_durable_at(b"y", 0).unwrap();
    file.sync_data().unwrap();
    assert_eq!(disk.crash(CrashImage::DropAll).file_names(), ["f"]);
}
