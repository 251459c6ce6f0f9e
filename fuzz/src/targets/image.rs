//! Opening, verifying, scanning and writing a database with damage in its pages, double-write area
//! or log, with page checksums recomputed so that the damage passes the checksum test.
//!
//! An input is a list of injected damages of eight bytes each: the place and the new contents. Must
//! hold: no panic, no endless loop; errors are typed.

use std::{
    ops::Bound,
    sync::{Arc, OnceLock},
};

use clearway_base::{Lsn, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_log::LogOptions;
use clearway_testkit::disk::seal_page;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Table};

use crate::target::Target;

pub(crate) fn target() -> Target {
    Target { name: "image", examples, take, must_fail: false }
}

pub(crate) fn options() -> EngineOptions {
    let mut options = EngineOptions { node_bytes: 512, ..EngineOptions::simulation() };
    options.log = LogOptions {
        ring_bytes: 64 << 10,
        segment_bytes: 64 << 10,
        capacity_bytes: 1 << 20,
        background: false,
        ..LogOptions::default()
    };
    options.pool.cache_bytes = 2 << 20;
    options.pool.max_bytes = 64 << 20;
    options
}

/// A database as a kill leaves it: two tables, several levels, ghosts, overflow values, a
/// checkpoint in the middle, a transaction that has not ended.
pub(crate) fn base_image() -> MemoryDisk {
    base().0.fork()
}

/// The bodies of the records in the log of [`base_image`].
pub(crate) fn base_log() -> Vec<Vec<u8>> {
    base().1.clone()
}

fn base() -> &'static (MemoryDisk, Vec<Vec<u8>>) {
    static BASE: OnceLock<(MemoryDisk, Vec<Vec<u8>>)> = OnceLock::new();
    BASE.get_or_init(make_base)
}

fn make_base() -> (MemoryDisk, Vec<Vec<u8>>) {
    let disk = MemoryDisk::new();
    let engine = Engine::open(Arc::new(disk.clone()), options()).unwrap();
    let (small, large) = (engine.create_table("t").unwrap(), engine.create_table("u").unwrap());
    let fill = |from: u32, to: u32| {
        let mut txn = engine.begin();
        for key in from..to {
            txn.put(&small, &key.to_be_bytes(), &[key as u8; 20]).unwrap();
        }
        for key in from..from + 3 {
            txn.put(&large, &key.to_be_bytes(), &vec![7; 9_000]).unwrap();
        }
        txn.commit().unwrap()
    };
    fill(0, 60);
    engine.checkpoint().unwrap();
    let last = fill(60, 90);
    let mut txn = engine.begin();
    (10..20u32).for_each(|key| txn.delete(&small, &key.to_be_bytes()).unwrap());
    let deleted = txn.commit().unwrap();
    let mut open = engine.begin();
    (70..75u32).for_each(|key| open.delete(&small, &key.to_be_bytes()).unwrap());
    engine.log().wait_durable(engine.log().end().max(last.ack).max(deleted.ack)).unwrap();
    let (image, bodies) = (disk.fork(), bodies(&engine));
    drop(open);
    (image, bodies)
}

fn bodies(engine: &Engine) -> Vec<Vec<u8>> {
    let mut reader = engine.log().reader(Lsn::ZERO).unwrap();
    let mut bodies = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        if !record.body.is_empty() && bodies.len() < 200 {
            bodies.push(record.body.to_vec());
        }
    }
    bodies
}

fn examples() -> Vec<Vec<u8>> {
    // Damage in many places.
    (0..32u64)
        .map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().repeat(1 + n as usize % 3))
        .collect()
}

/// Files that are damaged.
const FILES: [&str; 4] = ["data", "data", "log/0000000000000000", "doublewrite"];

fn take(input: &[u8]) -> Result<(), String> {
    let disk = base_image();
    for corruption in input.chunks_exact(8).take(24) {
        let number = |at: usize| u16::from_le_bytes([corruption[at], corruption[at + 1]]) as usize;
        let name = FILES[corruption[0] as usize % FILES.len()];
        let file = disk.open(name, OpenMode::Existing).map_err(|error| error.to_string())?;
        let len = file.len().map_err(|error| error.to_string())? as usize;
        let pages = (len / PAGE_SIZE).max(1);
        // The image uses only the first forty pages; the first two belong to the superblock.
        let page = match name {
            "data" => 2 + number(2) % (pages.saturating_sub(2)).clamp(1, 40),
            _ => number(2) % pages.min(8),
        };
        let mut bytes = vec![0; PAGE_SIZE];
        let at = (page * PAGE_SIZE) as u64;
        file.read_at(&mut bytes, at).map_err(|error| error.to_string())?;
        // Half of the damage hits the head of a page, which holds most of its structure.
        let place = if corruption[1] & 1 == 0 { number(4) % 200 } else { number(4) % PAGE_SIZE };
        match corruption[1] >> 1 & 3 {
            // A page LSN: before, at or beyond the end of the log.
            0 if corruption[1] & 0x30 == 0x30 => {
                let lsn = [number(6) as u64, u64::MAX, 0][number(4) % 3];
                bytes[8..16].copy_from_slice(&lsn.to_le_bytes());
            }
            0 => bytes[place] ^= 1 << (corruption[6] & 7),
            1 => bytes[place] = corruption[7],
            2 => bytes[place..].iter_mut().take(4).for_each(|byte| *byte = corruption[7]),
            _ => bytes[place..].iter_mut().take(2).for_each(|byte| *byte = 0),
        }
        if name == "data" && corruption[1] & 8 == 0 {
            seal_page(page as u32, &mut bytes);
        }
        file.write_at(&bytes, at).map_err(|error| error.to_string())?;
    }
    match Engine::open(Arc::new(disk), options()) {
        Ok(engine) => look_at(&engine),
        Err(_) => Ok(()),
    }
}

/// Uses an open database in every way. Errors are allowed; returns a description of what must not
/// happen.
pub(crate) fn look_at(engine: &Arc<Engine>) -> Result<(), String> {
    let _ = engine.verify();
    for name in engine.tables() {
        let Ok(table) = engine.open_table(&name) else { continue };
        read(engine, &table)?;
        write(engine, &table);
    }
    let _ = engine.maintain();
    let _ = engine.checkpoint();
    let _ = engine.verify();
    for name in engine.tables() {
        let _ = engine.drop_table(&name);
    }
    let _ = engine.verify();
    Ok(())
}

fn read(engine: &Arc<Engine>, table: &Table) -> Result<(), String> {
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut txn = engine.begin();
        let ends = (Bound::Unbounded, Bound::Unbounded);
        let Ok(mut cursor) = txn.cursor(table, ends.0, ends.1, direction, ReadIntent::Read) else {
            continue;
        };
        let mut entries = 0;
        while let Ok(Some(_)) = cursor.next(&mut txn) {
            entries += 1;
            if entries > 100_000 {
                return Err("a scan without end".into());
            }
        }
    }
    let mut txn = engine.begin();
    for key in 0..95u32 {
        let _ = txn.get(table, &key.to_be_bytes());
    }
    Ok(())
}

fn write(engine: &Arc<Engine>, table: &Table) {
    let mut txn = engine.begin();
    for key in (0..120u32).step_by(3) {
        let _ = txn.put(table, &key.to_be_bytes(), &[1; 30]);
        let _ = txn.delete(table, &(key + 1).to_be_bytes());
    }
    let _ = txn.put(table, b"large", &vec![3; 20_000]);
    let _ = txn.rollback();
}
