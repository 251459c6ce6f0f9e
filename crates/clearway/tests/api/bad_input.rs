//! Bad input causes a clear typed error, and no data are lost.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use clearway::{
    Creation, Database, Direction, Error, KEY_LEN_MAX, Options, TABLE_NAME_LEN_MAX, VALUE_LEN_MAX,
};
use clearway_disk::{Disk, OsDisk};

const PAGE: usize = 8192;

fn small() -> Options {
    Options::new().cache_size(4 << 20).log_capacity(8 << 20)
}

/// A closed database with one row, in a directory of its own.
fn closed_database() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let db = small().open(directory.path().join("db")).unwrap();
    let t = db.table("t").unwrap();
    db.transact("put", |tx| tx.put(&t, b"k", b"v")).unwrap();
    db.close().unwrap();
    directory
}

fn has_its_row(path: &Path) -> bool {
    let db = small().open(path).unwrap();
    let t = db.open_table("t").unwrap();
    db.transact("get", |tx| tx.get(&t, b"k")).unwrap().as_deref() == Some(&b"v"[..])
}

#[test]
fn too_large_a_key_is_refused_and_the_transaction_goes_on() {
    let db = Options::in_memory().cache_size(8 << 20).open("test").unwrap();
    let t = db.table("t").unwrap();
    db.transact("put", |tx| {
        let long = vec![7; KEY_LEN_MAX + 1];
        let refused = tx.put(&t, &long, b"v");
        assert!(matches!(refused, Err(Error::KeyTooLarge { len, max })
            if len == KEY_LEN_MAX + 1 && max == KEY_LEN_MAX));
        assert!(matches!(tx.insert(&t, &long, b"v"), Err(Error::KeyTooLarge { .. })));
        tx.put(&t, &long[1..], b"v")?;
        assert_eq!(tx.get(&t, &long[1..])?.as_deref(), Some(&b"v"[..]));
        Ok(())
    })
    .unwrap();
}

#[test]
fn too_large_a_value_is_refused_and_the_largest_kept() {
    let db = Options::in_memory().cache_size(64 << 20).open("test").unwrap();
    let t = db.table("t").unwrap();
    let mut value = vec![0x5A; VALUE_LEN_MAX + 1];
    let refused = db.transact("put", |tx| tx.put(&t, b"k", &value));
    assert!(matches!(refused, Err(Error::ValueTooLarge { len, .. }) if len == value.len()));
    value.pop();
    value[VALUE_LEN_MAX / 2] = 1;
    db.transact("put", |tx| tx.put(&t, b"k", &value)).unwrap();
    let read = db.transact("get", |tx| tx.get(&t, b"k")).unwrap().unwrap();
    assert!(read == value, "the largest value came back changed");
}

#[test]
fn the_empty_key_and_value_are_a_key_and_a_value() {
    let db = Options::in_memory().cache_size(8 << 20).open("test").unwrap();
    let t = db.table("t").unwrap();
    db.transact("put", |tx| tx.insert(&t, b"", b"")).unwrap();
    let rows = db.transact("scan", |tx| tx.scan(&t, ..).collect::<Result<Vec<_>, _>>());
    assert_eq!(rows.unwrap(), [(vec![], vec![])]);
    db.transact("delete", |tx| tx.delete(&t, b"")).unwrap();
    assert_eq!(db.transact("get", |tx| tx.get(&t, b"")).unwrap(), None);
}

#[test]
fn tables_that_are_unknown_foreign_dropped_or_misnamed_are_refused() {
    let db = Options::in_memory().cache_size(8 << 20).open("test").unwrap();
    let other = Options::in_memory().cache_size(8 << 20).open("other").unwrap();
    assert!(matches!(db.open_table("x"), Err(Error::UnknownTable { name }) if name == "x"));
    assert!(matches!(db.drop_table("x"), Err(Error::UnknownTable { .. })));
    let long = "x".repeat(TABLE_NAME_LEN_MAX + 1);
    assert!(matches!(db.table(""), Err(Error::BadTableName { .. })));
    assert!(matches!(db.table(&long), Err(Error::BadTableName { .. })));
    db.table(&long[1..]).unwrap();

    let t = db.create_table("x").unwrap();
    assert!(matches!(db.create_table("x"), Err(Error::TableExists { .. })));
    let foreign = other.table("x").unwrap();
    let refused = db.transact("get", |tx| tx.get(&foreign, b"k"));
    assert!(matches!(refused, Err(Error::UnknownTable { .. })));
    db.drop_table("x").unwrap();
    let refused = db.transact("put", |tx| tx.put(&t, b"k", b"v"));
    assert!(matches!(refused, Err(Error::UnknownTable { .. })));
    assert_eq!(db.tables(), [&long[1..]]);
}

#[test]
fn a_cursor_and_a_savepoint_of_another_database_are_refused() {
    let memory = || Options::in_memory().cache_size(8 << 20).open("test").unwrap();
    let (one, two) = (memory(), memory());
    let tables = [&one, &two].map(|db| db.table("t").unwrap());
    for (db, table) in [&one, &two].iter().zip(&tables) {
        db.transact("put", |tx| tx.put(table, b"k", b"v")).unwrap();
    }
    let (mut a, mut b) = (one.begin(), two.begin());
    b.get(&tables[1], b"k").unwrap();
    let mut cursor = a.cursor(&tables[0], .., Direction::Ascending).unwrap();
    assert!(matches!(cursor.next(&mut b), Err(Error::TransactionEnded)));
    assert!(matches!(b.get(&tables[0], b"k"), Err(Error::UnknownTable { .. })));
    let savepoint = a.savepoint().unwrap();
    b.savepoint().unwrap();
    assert!(matches!(b.rollback_to(&savepoint), Err(Error::UnknownSavepoint)));
    assert_eq!(cursor.next(&mut a).unwrap().unwrap().0, b"k");
}

#[test]
fn a_transaction_cannot_be_used_after_it_lost_a_deadlock() {
    let db = Options::in_memory().cache_size(8 << 20).open("test").unwrap();
    let t = db.table("t").unwrap();
    let (mut one, mut two) = (db.begin(), db.begin());
    one.put(&t, b"a", b"1").unwrap();
    two.put(&t, b"b", b"2").unwrap();
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| one.put(&t, b"b", b"1"));
        let second = two.put(&t, b"a", b"2");
        (first.join().unwrap(), second)
    });
    assert!(first.is_err() != second.is_err(), "{first:?} {second:?}");
    let (mut victim, two) = if first.is_err() { (one, two) } else { (two, one) };
    assert!(matches!(victim.get(&t, b"a"), Err(Error::TransactionEnded)));
    assert!(matches!(victim.savepoint(), Err(Error::TransactionEnded)));
    assert!(matches!(victim.commit(), Err(Error::TransactionEnded)));
    two.commit().unwrap();
}

#[test]
fn a_closed_database_refuses_work_and_reopens() {
    let directory = closed_database();
    let path = directory.path().join("db");
    let db = small().open(&path).unwrap();
    let t = db.table("t").unwrap();
    db.close().unwrap();
    assert!(matches!(db.health(), Err(Error::Closed)));
    assert!(matches!(db.transact("get", |tx| tx.get(&t, b"k")), Err(Error::Closed)));
    assert!(matches!(db.checkpoint(), Err(Error::Closed)));
    drop(db);
    assert!(has_its_row(&path));
}

#[test]
fn a_second_opener_is_refused_in_this_process_and_in_another() {
    if let Some(path) = std::env::var_os("CLEARWAY_SECOND_OPENER") {
        let Err(refused) = small().open(&path) else { std::process::exit(1) };
        let parent = std::os::unix::process::parent_id();
        let expected = format!("{} is in use by process {parent}", Path::new(&path).display());
        std::process::exit(if refused.to_string() == expected { 0 } else { 2 });
    }
    let directory = closed_database();
    let path = directory.path().join("db");
    let db = small().open(&path).unwrap();
    let refused = small().open(&path).unwrap_err();
    assert!(matches!(refused, Error::AlreadyOpen { .. }));
    assert!(refused.to_string().contains("in use by this process"), "{refused}");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bad_input::a_second_opener_is_refused_in_this_process_and_in_another"])
        .env("CLEARWAY_SECOND_OPENER", &path)
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    drop(db);
    assert!(has_its_row(&path));
}

#[test]
fn a_directory_that_is_no_database_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let letter = directory.path().join("letter.txt");
    fs::write(&letter, "dear reader").unwrap();
    for options in [small(), small().create(Creation::Never), small().create(Creation::New)] {
        let refused = options.open(directory.path());
        assert!(matches!(refused, Err(Error::NotADatabase { .. })), "{refused:?}");
    }
    assert_eq!(fs::read_to_string(&letter).unwrap(), "dear reader");
    let mut names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.retain(|name| name != "LOCK");
    assert_eq!(names, ["letter.txt"], "a refused opening leaves nothing behind");
    // A `data` file of another program.
    fs::write(directory.path().join("data"), vec![b'x'; 3 * PAGE]).unwrap();
    assert!(matches!(small().open(directory.path()), Err(Error::NotADatabase { .. })));
}

#[test]
fn the_creation_policy_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let absent = small().create(Creation::Never).open(&path);
    assert!(absent.is_err());
    assert!(!path.exists());
    small().create(Creation::New).open(&path).unwrap().close().unwrap();
    assert!(small().create(Creation::New).open(&path).is_err());
    small().create(Creation::Never).open(&path).unwrap();
}

/// Returns every file below `path` except `LOCK`, with its contents.
fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.extend(contents(&entry.path()));
        } else if entry.file_name() != "LOCK" {
            files.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    files
}

#[test]
fn a_blank_data_file_beside_a_log_is_damage_and_nothing_is_removed() {
    let directory = closed_database();
    let path = directory.path().join("db");
    fs::write(path.join("data"), b"").unwrap();
    let before = contents(&path);
    for options in [small(), small().create(Creation::Never), small().create(Creation::New)] {
        let refused = options.open(&path);
        assert!(matches!(refused, Err(Error::Corrupt { what: "superblock", .. })), "{refused:?}");
    }
    assert_eq!(contents(&path), before);
}

#[test]
fn files_of_others_are_not_taken_for_an_interrupted_creation() {
    let cases: [&[(&str, &str)]; 3] = [
        &[("data", ""), ("doublewrite", "mine")],
        &[("data", ""), ("log/app.log", "precious")],
        &[("doublewrite", "mine")],
    ];
    for files in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir(path.join("log")).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        let before = contents(path);
        for options in [small(), small().create(Creation::Never), small().create(Creation::New)] {
            let refused = options.open(path);
            assert!(refused.is_err(), "{files:?}");
            assert_eq!(contents(path), before, "{files:?}");
        }
    }
}

#[test]
fn an_interrupted_creation_starts_over_if_creating_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("data"), b"").unwrap();
    let refused = small().create(Creation::Never).open(&path);
    assert!(matches!(refused, Err(Error::NotADatabase { .. })), "{refused:?}");
    small().open(&path).unwrap().table("t").unwrap();
    small().create(Creation::Never).open(&path).unwrap().open_table("t").unwrap();
}

#[test]
fn an_interrupted_backup_is_refused_and_says_so() {
    let directory = closed_database();
    let db = small().open(directory.path().join("db")).unwrap();
    let copy = directory.path().join("copy");
    // The log, which the database has open, is not found by name, so a backup fails half way.
    let elsewhere = directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for entry in fs::read_dir(directory.path().join("db/log")).unwrap() {
        let entry = entry.unwrap();
        fs::rename(entry.path(), elsewhere.join(entry.file_name())).unwrap();
    }
    assert!(db.backup(&copy).is_err());
    // While the backup is written, its directory is locked.
    let locked = OsDisk::open_dir(&copy, false).unwrap().lock().unwrap();
    assert!(matches!(small().open(&copy), Err(Error::AlreadyOpen { .. })));
    drop(locked);
    for options in [small(), small().create(Creation::Never)] {
        match options.open(&copy) {
            Err(Error::NotADatabase { detail, .. }) => assert!(detail.contains("backup")),
            other => panic!("{other:?}"),
        }
    }
}

/// Fills a file with zeros.
fn blank(file: &Path) {
    let len = fs::metadata(file).unwrap().len();
    fs::write(file, vec![0; len as usize]).unwrap();
}

/// Rewrites the version in both superblocks, with a valid checksum.
fn set_version(path: &Path, version: u32) {
    let file = path.join("data");
    let mut bytes = fs::read(&file).unwrap();
    for copy in [0, PAGE] {
        let sector = &mut bytes[copy..copy + 512];
        if sector.iter().any(|&byte| byte != 0) {
            sector[8..12].copy_from_slice(&version.to_le_bytes());
            let checksum = clearway_base::crc32c(&sector[..508]);
            sector[508..].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    fs::write(&file, bytes).unwrap();
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let directory = closed_database();
    let path = directory.path().join("db");
    set_version(&path, 99);
    let before = fs::read(path.join("data")).unwrap();
    let refused = small().open(&path);
    assert!(matches!(refused, Err(Error::FormatTooNew { found: 99, .. })), "{refused:?}");
    assert!(before == fs::read(path.join("data")).unwrap());
    set_version(&path, 2);
    assert!(has_its_row(&path));
}

#[test]
fn one_damaged_superblock_is_survived_and_two_are_reported() {
    let directory = closed_database();
    let path = directory.path().join("db");
    let pristine = fs::read(path.join("data")).unwrap();
    let damage = |copies: &[usize]| {
        let mut bytes = pristine.clone();
        copies.iter().for_each(|copy| bytes[copy * PAGE + 100] ^= 0xFF);
        fs::write(path.join("data"), bytes).unwrap();
    };
    damage(&[0, 1]);
    let refused = small().open(&path);
    assert!(matches!(refused, Err(Error::Corrupt { what: "superblock", .. })), "{refused:?}");
    damage(&[]);
    assert!(has_its_row(&path));
}

/// Copies the files of a directory, and those one level below.
fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_damaged_page_is_reported_and_never_read_as_data() {
    let directory = closed_database();
    let pristine = directory.path().join("db");
    // The double-write area still has copies of these pages and would repair them.
    blank(&pristine.join("doublewrite"));
    let pages = fs::read(pristine.join("data")).unwrap();
    let mut reported = 0;
    for (page, bytes) in pages.chunks(PAGE).enumerate().skip(2) {
        if bytes.iter().all(|&byte| byte == 0) {
            continue;
        }
        let path = directory.path().join(format!("damaged-{page}"));
        copy_directory(&pristine, &path);
        let mut damaged = pages.clone();
        damaged[page * PAGE + 64] ^= 0x10;
        fs::write(path.join("data"), damaged).unwrap();
        let outcome = small().open(&path).and_then(|db| {
            let verified = db.verify().map(drop);
            let t = db.open_table("t")?;
            let read = db.transact("get", |tx| tx.get(&t, b"k"));
            if let Ok(value) = read {
                assert_eq!(value.as_deref(), Some(&b"v"[..]), "page {page}");
            }
            verified
        });
        let damage = matches!(outcome, Err(Error::CorruptPage { .. } | Error::Corrupt { .. }));
        assert!(damage, "page {page}: {outcome:?}");
        reported += 1;
        fs::remove_dir_all(path).unwrap();
    }
    assert!(reported >= 3, "space map, catalogue and table are three pages at least");
    assert!(has_its_row(&pristine));
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    fs::write(&path, "a file").unwrap();
    assert!(small().open(&path).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"a file");
}

#[test]
fn a_directory_without_permission_is_an_io_error() {
    let directory = closed_database();
    let path = directory.path().join("db");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let refused = small().open(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    // Permissions do not restrict the superuser.
    if let Err(error) = refused.map(drop) {
        assert!(
            matches!(&error, Error::Io { source, .. }
            if source.kind() == std::io::ErrorKind::PermissionDenied),
            "{error:?}"
        );
    }
    assert!(has_its_row(&path));
}

#[test]
fn options_that_cannot_work_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let open = |options: Options| options.open(directory.path().join("db"));
    let cache = open(Options::new().cache_size(1));
    assert!(matches!(cache, Err(Error::BadOption { option: "cache_size", .. })), "{cache:?}");
    let log = open(Options::new().log_capacity(1));
    assert!(matches!(log, Err(Error::BadOption { option: "log_capacity", .. })), "{log:?}");
    open(small()).unwrap();
}

#[test]
fn a_backup_goes_to_an_empty_directory_only_and_opens() {
    let directory = closed_database();
    let db: Database = small().open(directory.path().join("db")).unwrap();
    let refused = db.backup(directory.path().join("db"));
    assert!(matches!(refused, Err(Error::BackupIntoItself { .. })), "{refused:?}");
    // A directory counts as contents, too.
    let taken = directory.path().join("taken");
    fs::create_dir_all(taken.join("log")).unwrap();
    let refused = db.backup(&taken);
    assert!(matches!(&refused, Err(Error::Io { .. })), "{refused:?}");
    assert_eq!(fs::read_dir(&taken).unwrap().count(), 1);
    let copy = directory.path().join("copy");
    db.backup(&copy).unwrap();
    let t = db.open_table("t").unwrap();
    db.transact("after", |tx| tx.put(&t, b"k", b"changed")).unwrap();
    db.close().unwrap();
    assert!(has_its_row(&copy));
}

#[test]
fn a_log_capacity_that_cannot_work_says_what_is_fixed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let large = || Options::new().cache_size(4 << 20).log_capacity(256 << 20);
    large().open(&path).unwrap().close().unwrap();
    let refused = large().log_capacity(8 << 20).open(&path).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "bad option log_capacity: 8 MiB is less than two of the log's files, which are of 16 MiB \
         each (a database keeps the size that it was created with): at least 32 MiB"
    );
    // What it asks for works, and so does more than before.
    for bytes in [32 << 20, 512 << 20] {
        let db = large().log_capacity(bytes).open(&path).unwrap();
        db.table("t").unwrap();
        db.close().unwrap();
    }
    let refused = Options::in_memory().cache_size(4 << 20).log_capacity(1).open("").unwrap_err();
    assert!(refused.to_string().ends_with("at least 128 KiB"), "{refused}");
}

#[test]
fn a_backup_into_the_database_itself_is_refused_and_leaves_nothing() {
    let directory = closed_database();
    let path = |name: &str| directory.path().join(name);
    let db = small().open(path("db")).unwrap();
    std::os::unix::fs::symlink(path("db"), path("link")).unwrap();
    std::os::unix::fs::symlink(path("db/log"), path("inner")).unwrap();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(path("db")).unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        names
    };
    let before = names();
    for name in
        ["db", "db/copy", "db/a/b", "db/log", "db/../db/x", "link", "link/copy", "inner/copy"]
    {
        let refused = db.backup(path(name));
        assert!(matches!(refused, Err(Error::BackupIntoItself { .. })), "{name}: {refused:?}");
    }
    // The parent directory is not empty: it contains the database.
    let refused = db.backup(directory.path());
    let Err(Error::Io { source, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(names(), before);
    db.backup(path("dbcopy")).unwrap();
    db.close().unwrap();
    assert!(has_its_row(&path("db")) && has_its_row(&path("dbcopy")));
}
