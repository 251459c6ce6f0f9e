//! Tests of the simulated disk: its guarantees, each fault, and that everything follows from the
//! seed.

use std::{collections::BTreeSet, io};

use clearway_base::SECTOR_SIZE;
use clearway_disk::{Disk, File, OpenMode};

use super::*;
use crate::Random;
use crate::disk::Lasting;

mod crashes;
mod faults;
mod names;
mod promises;
mod replay;

const BOTH_MODES: [MetadataMode; 2] = [MetadataMode::PosixMinimal, MetadataMode::Ext4Ordered];

fn disk_in(metadata: MetadataMode, seed: u64) -> SimDisk {
    SimDisk::new(seed, SimOptions { metadata, ..SimOptions::default() })
}

/// A disk with one durable, empty file "f" on it.
fn with_file(metadata: MetadataMode, seed: u64) -> (SimDisk, Arc<dyn File>) {
    let disk = disk_in(metadata, seed);
    let file = disk.open("f", OpenMode::CreateNew).unwrap();
    disk.sync_dir("").unwrap();
    (disk, file)
}

fn posix(seed: u64) -> (SimDisk, Arc<dyn File>) {
    with_file(MetadataMode::PosixMinimal, seed)
}

fn contents(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name, OpenMode::Existing).unwrap();
    let mut bytes = vec![0xEE; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn crashed(disk: &SimDisk, image: CrashImage) -> Vec<u8> {
    contents(&disk.crash(image), "f")
}

/// `count` sectors full of `byte`.
fn sectors_of(byte: u8, count: usize) -> Vec<u8> {
    vec![byte; count * SECTOR_SIZE]
}

fn io_kind<T>(result: Result<T>) -> io::ErrorKind {
    match result {
        Err(Error::Io { source, .. }) => source.kind(),
        Err(error) => panic!("unexpected error {error:?}"),
        Ok(_) => panic!("unexpected success"),
    }
}

fn is_full<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::DiskFull { .. }))
}
