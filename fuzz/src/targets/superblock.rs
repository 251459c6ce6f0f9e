//! Opening a database with an arbitrary superblock whose checksums are valid.
//!
//! Must hold: a typed error or a database that verifies; no file is lost.

use std::sync::Arc;

use clearway_base::{PAGE_SIZE, SECTOR_SIZE, crc32c};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_txn::{Creation, Engine};

use super::image::{self, base_image};
use crate::target::Target;

/// The offset of the version; see `docs/page-format.md`.
const VERSION_AT: usize = 8;
const FLAGS_AT: usize = 68;
const LOG_EMPTY: u8 = 4;

pub(crate) fn target() -> Target {
    Target { name: "superblock", examples, take, must_fail: false }
}

fn examples() -> Vec<Vec<u8>> {
    let data = base_image().open("data", OpenMode::Existing).unwrap();
    let mut bytes = vec![0; 2 * PAGE_SIZE];
    data.read_at(&mut bytes, 0).unwrap();
    // The sectors of both copies, one after the other; and the state that a conversion leaves.
    let copies = [&bytes[..SECTOR_SIZE], &bytes[PAGE_SIZE..PAGE_SIZE + SECTOR_SIZE]].concat();
    let mut converted = copies.clone();
    converted[FLAGS_AT] |= LOG_EMPTY;
    let mut old = copies.clone();
    for copy in old.chunks_exact_mut(SECTOR_SIZE) {
        copy[VERSION_AT] = 1;
    }
    vec![copies, converted, old]
}

fn take(input: &[u8]) -> Result<(), String> {
    let disk = base_image();
    let data = disk.open("data", OpenMode::Existing).map_err(|error| error.to_string())?;
    let mut sectors = input.to_vec();
    sectors.resize(2 * SECTOR_SIZE, 0);
    for (copy, sector) in sectors.chunks_exact_mut(SECTOR_SIZE).enumerate() {
        let checksum = crc32c(&sector[..SECTOR_SIZE - 4]);
        sector[SECTOR_SIZE - 4..].copy_from_slice(&checksum.to_le_bytes());
        data.write_at(sector, (copy * PAGE_SIZE) as u64).map_err(|error| error.to_string())?;
    }
    let before = names(&disk);
    let mut options = image::options();
    options.create = Creation::Never;
    match Engine::open(Arc::new(disk.clone()), options) {
        Ok(engine) => image::look_at(&engine),
        // A refused database is left unchanged; an opening that got as far as the log may have
        // changed it.
        Err(_) if names(&disk).len() < before.len() => {
            Err(format!("a refused opening removed files: {before:?} became {:?}", names(&disk)))
        }
        Err(_) => Ok(()),
    }
}

fn names(disk: &MemoryDisk) -> Vec<String> {
    ["", "log"].iter().flat_map(|dir| disk.list(dir).unwrap_or_default()).collect()
}
