//! A directory of files as one string of bytes: databases of older formats, kept as test files.
//!
//! ```text
//! "CLWPACK1"  for each file: name's length u16, name, file's length u64,
//!             pieces: zeros before it u32, its length u32, its bytes; the last one is 0, 0
//! ```
//!
//! Little endian. Only zeros are left out; a small database consists mostly of zeros.

use clearway_base::{Error, Result};

use crate::{Disk, OpenMode};

const MAGIC: &[u8] = b"CLWPACK1";
/// Shorter runs of zeros are stored as they are: leaving them out would cost 8 bytes for another
/// piece and save little.
const GAP_MIN: usize = 16;

/// Packs the files of the database directory and of its folder `log`.
///
/// # Errors
/// Errors of the disk.
pub fn pack(disk: &dyn Disk) -> Result<Vec<u8>> {
    let mut packed = MAGIC.to_vec();
    for (dir, prefix) in [("", ""), ("log", "log/")] {
        for name in disk.list(dir)? {
            let name = format!("{prefix}{name}");
            let file = disk.open(&name, OpenMode::Existing)?;
            let mut bytes = vec![0; file.len()? as usize];
            file.read_at(&mut bytes, 0)?;
            packed.extend((name.len() as u16).to_le_bytes());
            packed.extend(name.as_bytes());
            packed.extend((bytes.len() as u64).to_le_bytes());
            pack_pieces(&bytes, &mut packed);
        }
    }
    Ok(packed)
}

fn pack_pieces(bytes: &[u8], packed: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(zeros) = bytes[at..].iter().position(|&byte| byte != 0) {
        let piece = &bytes[at + zeros..];
        let is_gap = |window: &[u8]| window.iter().all(|&byte| byte == 0);
        let len = piece.windows(GAP_MIN).position(is_gap).unwrap_or(piece.len());
        for number in [zeros, len] {
            packed.extend((number as u32).to_le_bytes());
        }
        packed.extend(&piece[..len]);
        at += zeros + len;
    }
    packed.extend([0; 8]);
}

/// Creates the packed files on an empty disk, and makes them durable.
///
/// # Errors
/// [`Error::Corrupt`] for bytes that [`pack`] did not produce; errors of the disk.
pub fn unpack(disk: &dyn Disk, packed: &[u8]) -> Result<()> {
    let damaged = || Error::corrupt("packed directory", "it ends early, or never was one");
    let mut rest = packed.strip_prefix(MAGIC).ok_or_else(damaged)?;
    let mut take = |len: usize| {
        let (taken, after) = rest.split_at_checked(len)?;
        rest = after;
        Some((taken, after.is_empty()))
    };
    disk.create_dir("log")?;
    let mut is_last = packed.len() == MAGIC.len();
    while !is_last {
        let name_len = take(2).ok_or_else(damaged)?.0;
        let name_len = usize::from(u16::from_le_bytes(name_len.try_into().expect("2 bytes")));
        let name = std::str::from_utf8(take(name_len).ok_or_else(damaged)?.0);
        let file = disk.open(name.map_err(|_| damaged())?, OpenMode::CreateNew)?;
        let len = take(8).ok_or_else(damaged)?.0;
        file.allocate(0, u64::from_le_bytes(len.try_into().expect("8 bytes")))?;
        let mut at = 0;
        loop {
            let (numbers, ends) = take(8).ok_or_else(damaged)?;
            let number = |from: usize| {
                u32::from_le_bytes(numbers[from..from + 4].try_into().expect("4 bytes"))
            };
            let (zeros, len) = (u64::from(number(0)), number(4) as usize);
            if len == 0 {
                is_last = ends;
                break;
            }
            at += zeros;
            file.write_at(take(len).ok_or_else(damaged)?.0, at)?;
            at += len as u64;
        }
        file.sync_all()?;
    }
    disk.sync_dir("log")?;
    disk.sync_dir("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDisk;

    #[test]
    fn unpacking_restores_the_packed_directory() {
        let disk = MemoryDisk::new();
        disk.create_dir("log").unwrap();
        for (name, at) in [("data", 5000), ("log/1", 0), ("log/2", 17)] {
            let file = disk.open(name, OpenMode::Create).unwrap();
            file.set_len(20_000).unwrap();
            file.write_at(b"some bytes\0\0\0 and more", at).unwrap();
            file.write_at(&[1], 19_990).unwrap();
        }
        disk.open("empty", OpenMode::Create).unwrap();
        let packed = pack(&disk).unwrap();
        assert!(packed.len() < 400, "{} bytes", packed.len());
        let copy = MemoryDisk::new();
        unpack(&copy, &packed).unwrap();
        assert_eq!(pack(&copy).unwrap(), packed);
        assert_eq!(copy.used_bytes(), disk.used_bytes());
        // A packed directory that ends anywhere but between two files is refused.
        let is_whole = |len: &usize| unpack(&MemoryDisk::new(), &packed[..*len]).is_ok();
        assert_eq!((0..packed.len()).filter(is_whole).count(), 4);
    }
}
