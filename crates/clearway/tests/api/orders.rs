//! Simple keys in simple orders, as programs write them: no row is lost, no insertion is refused,
//! and other tables are not affected.

use std::sync::{Arc, Barrier};

use clearway::{Database, Options, Table, Transaction};
use clearway_base::TABLE_NAME_LEN_MAX;
use clearway_disk::MemoryDisk;
use clearway_sync::{
    atomic::{AtomicU64, Ordering},
    thread,
};

fn open(disk: &MemoryDisk) -> Database {
    let options = Options::new().cache_size(32 << 20).log_capacity(64 << 20);
    options.on_disk(Arc::new(disk.clone())).open("test").unwrap()
}

/// A database with a table `t`, and another one with a row that must stay.
fn with_tables() -> (MemoryDisk, Database, Table) {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let other = db.table("other").unwrap();
    db.transact("other", |tx| tx.put(&other, b"row", b"kept")).unwrap();
    let table = db.table("t").unwrap();
    (disk, db, table)
}

/// Opens the contents of `disk` as a kill would leave them, and checks that they are sound and
/// contain the other table's row.
fn killed(disk: &MemoryDisk) -> Database {
    let db = open(&disk.fork());
    check_other(&db);
    db
}

fn check_other(db: &Database) {
    db.verify().unwrap();
    let other = db.table("other").unwrap();
    let row = db.transact("check", |tx| tx.get(&other, b"row")).unwrap();
    assert_eq!(row.as_deref(), Some(&b"kept"[..]));
}

fn falling(n: u64) -> [u8; 8] {
    (u64::MAX - n).to_be_bytes()
}

/// Returns the number of keys in table `t`: of the first `count` falling keys, each read by itself,
/// and of all keys in a scan.
fn rows_of(db: &Database, count: u64) -> (u64, u64) {
    let table = db.table("t").unwrap();
    db.transact("check", |tx| {
        let mut single = 0;
        for n in 0..count {
            single += u64::from(tx.get(&table, falling(n))?.is_some());
        }
        let mut scanned = 0;
        for row in tx.scan(&table, ..) {
            row?;
            scanned += 1;
        }
        Ok((single, scanned))
    })
    .unwrap()
}

#[test]
fn rows_inserted_newest_first_are_all_there() {
    let (disk, db, table) = with_tables();
    for n in 0..20_000 {
        drop(db.submit("put", |tx| tx.put(&table, falling(n), [7; 100])).unwrap());
    }
    db.sync().unwrap();
    assert_eq!(rows_of(&db, 20_000), (20_000, 20_000));
    assert_eq!(rows_of(&killed(&disk), 20_000), (20_000, 20_000));
    db.close().unwrap();
    let again = open(&disk);
    check_other(&again);
    assert_eq!(rows_of(&again, 20_000), (20_000, 20_000));
}

#[test]
fn large_rollback_of_rows_inserted_newest_first_stops_nothing() {
    let (disk, db, table) = with_tables();
    let insert = |tx: &mut Transaction| {
        (0..450).try_for_each(|n| tx.put(&table, falling(n), [7; 1000]).map(drop))
    };
    let refused = db.transact("refused", |tx| {
        insert(tx)?;
        tx.abort::<()>("taken back")
    });
    assert!(refused.is_err());
    check_other(&db);
    let mut open_one = db.begin();
    insert(&mut open_one).unwrap();
    // Make it durable, so that recovery must undo it.
    let other = db.table("other").unwrap();
    db.transact("flush", |tx| tx.put(&other, b"more", b"")).unwrap();
    assert_eq!(rows_of(&killed(&disk), 450), (0, 0));
    drop(open_one);
    assert_eq!(rows_of(&db, 450), (0, 0));
    check_other(&db);
}

#[test]
fn rollback_into_room_that_others_have_taken_stops_nothing() {
    let (disk, db, table) = with_tables();
    let long = |letter: u8| vec![letter; 1024];
    db.transact("load", |tx| {
        tx.put(&table, b"A", [7; 1000])?;
        tx.put(&table, b"a", [7; 200])?;
        (b'b'..=b'f').try_for_each(|letter| tx.put(&table, long(letter), [7; 200]).map(drop))
    })
    .unwrap();
    let mut first = db.begin();
    first.put(&table, b"A", b"").unwrap();
    db.transact("takes the room", |tx| tx.put(&table, long(b'g'), [7; 200])).unwrap();
    let row = |db: &Database, key: &[u8]| {
        let table = db.table("t").unwrap();
        db.transact("check", |tx| tx.get(&table, key)).unwrap().map(|row| row.len())
    };
    let recovered = killed(&disk);
    assert_eq!((row(&recovered, b"A"), row(&recovered, &long(b'g'))), (Some(1000), Some(200)));
    first.rollback().unwrap();
    assert_eq!((row(&db, b"A"), row(&db, &long(b'g'))), (Some(1000), Some(200)));
    check_other(&db);
}

/// Number of tables: enough for a catalogue of 80 leaves.
const TABLES: u32 = 2_300;

#[test]
fn tables_created_in_descending_order_of_their_names_stay() {
    let (disk, db, _) = with_tables();
    let name = |n: u32| format!("{:04}{}", 9999 - n, "x".repeat(TABLE_NAME_LEN_MAX - 4));
    for n in 0..TABLES {
        db.create_table(&name(n)).unwrap();
    }
    db.close().unwrap();
    let again = open(&disk);
    check_other(&again);
    assert_eq!(again.tables().len(), TABLES as usize + 2);
    for n in 0..100 {
        again.drop_table(&name(n)).unwrap();
    }
    check_other(&again);
}

#[test]
fn sixteen_threads_that_write_downwards_lose_nothing_and_chain_little() {
    const THREADS: u64 = 16;
    let (disk, db, table) = with_tables();
    let start = Barrier::new(THREADS as usize);
    let running = AtomicU64::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, table, start, running) = (&db, &table, &start, &running);
            scope.spawn(move || {
                start.wait();
                for n in 0..1_000 {
                    // Half of them share one sequence, the others have one each.
                    let key = if thread < 8 { n * 8 + thread } else { (thread << 32) + n };
                    let put = |tx: &mut Transaction| tx.put(table, falling(key), [7; 150]);
                    drop(db.submit("put", put).unwrap());
                }
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while running.load(Ordering::SeqCst) > 0 {
            for table in db.verify().unwrap().tables {
                table.report.check_busy().unwrap();
            }
        }
    });
    db.sync().unwrap();
    check_other(&db);
    assert_eq!(rows_of(&db, 8_000), (8_000, 16_000));
    assert_eq!(rows_of(&killed(&disk), 8_000), (8_000, 16_000));
}
