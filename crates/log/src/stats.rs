//! Counters of a log.

/// The counters of a log since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogStats {
    /// Records in the groups that were taken for writing, the log's own records included.
    pub records: u64,
    /// Flushes begun, each of one group: the records that were inserted since the group before.
    pub flushes: u64,
    /// Bytes of these groups, trailers included.
    pub flushed_bytes: u64,
    /// Bytes of trailers, the records that end the groups and pad them to whole sectors.
    pub trailer_bytes: u64,
    /// Number of times that a thread began to wait for durability, or that a poll registered a
    /// waker for it.
    pub waits: u64,
    /// Number of times that an insert had to wait for room in the ring, the log buffer.
    pub ring_waits: u64,
    /// Wakers, of threads and of tasks, that are registered for durability now.
    pub waiting: u64,
    /// Log space in bytes that was reserved beyond the capacity, for rollbacks and for checkpoints,
    /// when the log was full.
    pub beyond_bytes: u64,
    /// Segments, the files of the log, that are in use now.
    pub segments: u64,
    /// Segments made as new files.
    pub segments_created: u64,
    /// Segments made from old ones.
    pub segments_recycled: u64,
}
