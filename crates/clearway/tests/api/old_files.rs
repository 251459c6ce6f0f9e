//! Databases of earlier versions can be opened, are read correctly and become sound.
//!
//! `data/long_chains.rle` is a database of format version 1. The version before upkeep's walks
//! wrote it and closed it cleanly. Its table `descending` got 1,200 rows, one in each transaction,
//! with keys that fall from `u64::MAX` and values of 1,000 times the byte `n % 251`. That version
//! did not adopt the foster child of a node into which every insertion goes, so nearly all of the
//! table's leaves are in one foster chain. It could no longer read 810 of the rows: "a foster chain
//! without end". The table `other` has 300 rows, with ascending keys and values of 100 times 9.
//!
//! The file holds the directory's files one after the other, each as
//!
//! ```text
//!   length of the name u8 │ name │ length u32 │ pieces until the length is reached
//!   piece:  n u16, n > 0: n bytes follow │ 0 u16: a run, length u32, byte      little endian
//! ```

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use clearway::{Database, Options, Result};

/// Approximate number of leaves in the chain: 1,200 rows, seven of which fill a leaf.
const CHAINED: u64 = 190;
const ROWS: u64 = 1_200;

/// Takes bytes from the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, len: usize) -> Vec<u8> {
        let (front, rest) = self.0.split_at(len);
        self.0 = rest;
        front.to_vec()
    }

    fn number(&mut self, len: usize) -> usize {
        self.take(len).iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn file(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            match self.number(2) {
                0 => {
                    let run = self.number(4);
                    let byte = self.number(1) as u8;
                    bytes.resize(bytes.len() + run, byte);
                }
                literal => bytes.extend(self.take(literal)),
            }
        }
        bytes
    }
}

/// Unpacks an old database.
fn unpack(packed: &[u8], dir: &Path) {
    let mut packed = Reader(packed);
    while !packed.0.is_empty() {
        let len = packed.number(1);
        let path = dir.join(String::from_utf8(packed.take(len)).unwrap());
        let len = packed.number(4);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, packed.file(len)).unwrap();
    }
}

fn open(dir: &Path, background: bool) -> Database {
    let mut options = Options::new().log_capacity(1 << 20).cache_size(16 << 20);
    options = options.background(background);
    options.open(dir).unwrap()
}

fn check_rows(db: &Database) {
    let (table, other) = (db.table("descending").unwrap(), db.table("other").unwrap());
    db.transact("read", |tx| {
        for n in 0..ROWS {
            let value = tx.get(&table, (u64::MAX - n).to_be_bytes())?;
            assert_eq!(value.as_deref(), Some(&[(n % 251) as u8; 1000][..]), "row {n}");
        }
        for n in 0..300u64 {
            assert!(tx.get(&other, n.to_be_bytes())?.is_some_and(|value| value[..] == [9; 100]));
        }
        let mut rows = 0;
        for row in tx.scan(&table, ..) {
            row?;
            rows += 1;
        }
        assert_eq!(rows, ROWS);
        Ok(())
    })
    .unwrap();
}

/// Waits until upkeep is idle, and checks that the trees are then as sound as any.
fn check_sound(db: &Database) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(20);
    let pending = || {
        let stats = db.stats().engine;
        (stats.upkeep_leaves, stats.upkeep_walks)
    };
    while pending() != (0, 0) {
        assert!(Instant::now() < end, "upkeep does not end: {:?}", pending());
        std::thread::sleep(Duration::from_millis(1));
    }
    for table in db.verify()?.tables {
        table.report.check_idle().unwrap_or_else(|flaw| panic!("{:?}: {flaw}", table.name));
    }
    check_rows(db);
    Ok(())
}

#[test]
fn long_chains_are_read_and_shortened() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [as_is, dir] = ["as it is", "walked"].map(|name| place.path().join(name));
    for dir in [&as_is, &dir] {
        unpack(include_bytes!("../data/long_chains.rle"), dir);
    }

    // Before upkeep: no row is missing, and nothing looks damaged.
    let db = open(&as_is, false);
    let report = db.verify().unwrap();
    let chain = report.tables.iter().map(|table| table.report.chain_max()).max();
    assert!(chain > Some(CHAINED / 2), "{chain:?}: the file shows nothing");
    check_rows(&db);
    drop(db);

    let db = open(&dir, true);
    assert!(db.stats().engine.upkeep_walks > 0, "the opening has the tables walked");
    check_rows(&db);
    check_sound(&db).unwrap();
    db.close().unwrap();
    let db = open(&dir, true);
    assert_eq!(db.stats().engine.upkeep_walks, 0, "once is enough");
    check_sound(&db).unwrap();
}
