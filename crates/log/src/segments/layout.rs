//! Names of the log's files.

use clearway_base::Result;
use clearway_disk::Disk;

/// The directory of the log's files.
pub(crate) const LOG_DIR: &str = "log";

/// Returns the name of the segment whose first LSN is `first_lsn`.
pub(crate) fn segment_name(first_lsn: u64) -> String {
    format!("{LOG_DIR}/{first_lsn:016x}")
}

/// Returns the name of a reserved segment, a file that has no segment's name yet.
pub(super) fn reserved_segment_name(number: u64) -> String {
    format!("{LOG_DIR}/spare-{number}")
}

/// Returns true if a file of this name in the log's directory was made by a log.
pub fn is_log_file(name: &str) -> bool {
    name.starts_with("spare-") || index_of_name(name, 1).is_some()
}

/// Returns the number of the segment with this file name (directory not included); `None` if it is
/// not a segment's name.
pub(crate) fn index_of_name(name: &str, segment_bytes: u64) -> Option<u64> {
    let is_hex =
        name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let first = is_hex.then(|| u64::from_str_radix(name, 16).ok()).flatten()?;
    (first % segment_bytes == 0).then_some(first / segment_bytes)
}

/// Returns the numbers of all segments on `disk`, ascending.
pub(crate) fn list_segments(disk: &dyn Disk, segment_bytes: u64) -> Result<Vec<u64>> {
    let names = disk.list(LOG_DIR)?;
    let mut found: Vec<u64> =
        names.iter().filter_map(|name| index_of_name(name, segment_bytes)).collect();
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_segment() {
        let name = segment_name(5 * 65536);
        assert_eq!(name, "log/0000000000050000");
        assert_eq!(index_of_name(name.strip_prefix("log/").unwrap(), 65536), Some(5));
    }

    #[test]
    fn foreign_names_are_no_segments() {
        for name in ["spare-1", "0000000000050001", "000000000005000", "000000000005000G", ""] {
            assert_eq!(index_of_name(name, 65536), None, "{name}");
        }
    }
}
