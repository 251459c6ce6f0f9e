//! Counters of a log.

/// The counters of a log since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Records in the groups that were filled and taken for writing, the log's own included.
    pub records: u64,
    /// Groups whose write was begun.
    pub flushes: u64,
    /// Bytes of these groups, trailers included.
    pub flushed_bytes: u64,
    /// Bytes of trailers, the space overhead of group commit.
    pub trailer_bytes: u64,
    /// Number of times that a thread began to wait for durability, or that a poll registered a
    /// waker for it.
    pub waits: u64,
    /// Inserts that had to wait for space in the ring.
    pub ring_waits: u64,
    /// Wakers in the completion queue now.
    pub waiting: u64,
    /// Bytes reserved beyond the capacity, for rollbacks and for checkpoints, when the log was
    /// full.
    pub beyond_bytes: u64,
    /// Files of segments that are in use.
    pub segments: u64,
    /// Segments made as new files.
    pub segments_created: u64,
    /// Segments made from old ones.
    pub segments_recycled: u64,
}
