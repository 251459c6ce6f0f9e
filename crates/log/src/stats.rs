//! Figures of a log.

/// What a log has done since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Records inserted, the log's own included.
    pub records: u64,
    /// Groups written.
    pub flushes: u64,
    /// Bytes written, seals included.
    pub flushed_bytes: u64,
    /// Bytes of seals: what group commit costs in space.
    pub seal_bytes: u64,
    /// Callers that had to wait for durability (and did not write for themselves).
    pub waits: u64,
    /// Inserts that had to wait for room in the ring.
    pub ring_waits: u64,
    /// Wakers in the completion queue now.
    pub waiting: u64,
    /// Bytes claimed beyond the capacity, for rollbacks and for checkpoints, when the log was full.
    pub beyond_bytes: u64,
    /// Live segment files.
    pub segments: u64,
    /// Segments made as new files.
    pub segments_created: u64,
    /// Segments made from old ones.
    pub segments_recycled: u64,
}
