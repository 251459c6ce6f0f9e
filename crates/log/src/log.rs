//! The public interface of the log.
//!
//! Invariants:
//! - LOG-1. A record that is inserted while the log is being closed either precedes the closing
//!   trailer and is made durable by the closing thread, or is refused: the insertion is closed in
//!   one step (RING-5), and all regions that it has handed out until then lie before the end that
//!   the closing thread flushes. After the closing trailer nothing is inserted or written. A record
//!   that was not durable when the log was poisoned is never *reported* as durable, and its waiter
//!   gets the error: it may be on the disk, and the next opening decides.
//! - LOG-2. An LSN is reported as durable only if it is at most the ring's durable LSN; a failure
//!   that happened later does not change that.
//! - LOG-3. The threads hold references to the parts, not to the log, so that dropping the log ends
//!   them.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use clearway_base::{Epoch, Error, Lsn, LsnSpan, Result, SECTOR_SIZE, Salt};
use clearway_disk::Disk;
use clearway_sync::{
    Broken, Counter, Mutex, ThreadWaker,
    atomic::{AtomicBool, Ordering},
    broken, step, stop_if_broken,
    thread::{self, JoinHandle},
};

use crate::{
    completion::CompletionQueue,
    flush::{Flusher, Parts},
    health::Health,
    identity::Lineage,
    insertion::Insertion,
    log_space::{RunningCheckpoint, SpaceAccount, SpaceOutlook, SpaceWaker},
    options::LogOptions,
    reader::LogReader,
    record::{Draft, Record, Stamp, TRAILER_BYTES_MAX},
    ring::Ring,
    segments::Segments,
    stats::LogStats,
};

/// A running log, into which records are inserted and which makes them durable.
pub struct Log {
    ring: Arc<Ring>,
    insertion: Arc<dyn Insertion>,
    flusher: Arc<Flusher>,
    space: Arc<SpaceAccount>,
    segments: Arc<Segments>,
    health: Arc<Health>,
    completion: Arc<CompletionQueue>,
    disk: Arc<dyn Disk>,
    lineage: Arc<Lineage>,
    stamp: Stamp,
    record_len_max: usize,
    flush_trigger_bytes: u64,
    waits: Counter,
    ring_waits: Counter,
    is_closing: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The position and identity with which a log is started.
#[derive(Clone, Debug)]
pub struct LogStart {
    /// The end of the log so far, as found by a [`LogReader`]; 0 for a new log.
    pub tail: Lsn,
    /// The new epoch: greater than every epoch before it, and durably recorded as used, with its
    /// salt.
    pub epoch: Epoch,
    /// The oldest LSN that is still needed. Segments wholly before it are reused.
    pub retention_lsn: Lsn,
    /// The log's identity, with all epochs that are still needed and the one that begins.
    pub lineage: Lineage,
}

/// Registers the log to be stopped by a broken invariant. Returns an error if one is broken
/// already.
fn refuse_if_broken(flusher: &Arc<Flusher>) -> Result<()> {
    let stop = Arc::downgrade(flusher);
    stop_if_broken(stop);
    match broken() {
        None => Ok(()),
        Some(Broken { what, place }) => {
            Err(Error::Poisoned { cause: Arc::new(Error::broken_invariant(what, place)) })
        }
    }
}

impl LogStart {
    /// Returns the start of the epoch that follows a log that ends at `tail`: the next sector
    /// boundary.
    pub fn begin_behind(tail: Lsn) -> Lsn {
        Lsn(tail.0.next_multiple_of(SECTOR_SIZE as u64))
    }
}

impl Log {
    /// Starts a log that belongs to no database, as tests and experiments do: like
    /// [`start_as`](Log::start_as), with salts derived from the epochs' numbers.
    pub fn start(
        disk: Arc<dyn Disk>,
        options: LogOptions,
        tail: Lsn,
        epoch: Epoch,
        retention_lsn: Lsn,
    ) -> Result<Arc<Log>> {
        let lineage = Lineage::of_no_database();
        Log::start_as(disk, options, LogStart { tail, epoch, retention_lsn, lineage })
    }

    /// Starts a log.
    ///
    /// It continues at the next sector boundary after the tail: sectors that contain records are
    /// never rewritten. The bytes that the files hold from there on are of a lower epoch: they are
    /// overwritten, and never read again as log. The record that begins the epoch is durable when
    /// this returns.
    ///
    /// # Errors
    ///
    /// [`Error::BadOption`]; [`Error::Corrupt`] and [`Error::ForeignLog`] for the files on the
    /// disk; errors of the disk.
    pub fn start_as(
        disk: Arc<dyn Disk>,
        options: LogOptions,
        LogStart { tail, epoch, retention_lsn, lineage }: LogStart,
    ) -> Result<Arc<Log>> {
        options.validate()?;
        let start = LogStart::begin_behind(tail);
        let retention_lsn = retention_lsn.min(start);
        let stamp = Stamp::of(&lineage, epoch)?;
        let lineage = Arc::new(lineage);
        let health = Arc::new(Health::default());
        let segments =
            Segments::open(disk.clone(), &options, (lineage.clone(), epoch), retention_lsn, start)?;
        let segments = Arc::new(segments);
        let before = lineage.predecessor(epoch).map(|mark| mark.encode());
        let body: [&[u8]; 1] = [before.as_ref().map_or(&[], |mark| mark)];
        let first = Draft::epoch_start(stamp, tail, &body);
        let end = Lsn(start.0 + first.span_bytes());
        let lsns = (end, retention_lsn);
        let space = SpaceAccount::new(segments.clone(), health.clone(), &options, lsns)?;
        let space = Arc::new(space);
        let ring = Arc::new(Ring::new(options.ring_bytes, start)?);
        let insertion = options.parts.insertion(ring.clone());
        let policy = options.parts.flush_policy();
        // Under another policy, inserts request nothing by themselves.
        let own_trigger_bytes = || options.flush_trigger_bytes();
        let flush_trigger_bytes = policy.as_ref().map_or_else(own_trigger_bytes, |_| u64::MAX);
        let completion = Arc::new(CompletionQueue::default());
        let parts = Parts {
            ring: ring.clone(),
            insertion: insertion.clone(),
            segments: segments.clone(),
            space: space.clone(),
            health: health.clone(),
            completion: completion.clone(),
        };
        let flusher = Arc::new(Flusher::new(parts, policy, &options, stamp, start));
        refuse_if_broken(&flusher)?;
        let log = Log {
            ring,
            insertion,
            flusher,
            space,
            segments,
            health,
            completion,
            disk,
            lineage,
            stamp,
            record_len_max: options.record_len_max(),
            flush_trigger_bytes,
            waits: Counter::default(),
            ring_waits: Counter::default(),
            is_closing: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
        };
        let flusher = Arc::downgrade(&log.flusher);
        log.space.set_stop(move |cause| {
            if let Some(flusher) = flusher.upgrade() {
                flusher.poison(cause);
            }
        });
        log.begin_epoch(&first)?;
        if options.background {
            log.spawn_threads(options.flushes_in_flight)?;
        }
        Ok(Arc::new(log))
    }

    /// Inserts the epoch's first record and makes it durable.
    fn begin_epoch(&self, first: &Draft<'_>) -> Result<()> {
        let span = self.insertion.insert(first).expect("an empty ring has room");
        debug_assert!(span.end == self.end());
        self.flusher.write_first();
        match self.health.cause() {
            None => Ok(()),
            Some(cause) => Err((*cause).clone()),
        }
    }

    fn spawn_threads(&self, daemons: usize) -> Result<()> {
        let mut threads = self.threads.lock();
        let mut spawn = |name: String, run: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name(name).spawn(run);
            let thread = thread.map_err(|e| Error::io("start a thread for", "log", e))?;
            threads.push(thread);
            Ok::<(), Error>(())
        };
        for number in 0..daemons {
            let flusher = self.flusher.clone();
            let run = move || flusher.run_daemon();
            spawn(format!("clearway-flush-{number}"), Box::new(run))?;
        }
        let (space, flusher) = (self.space.clone(), self.flusher.clone());
        let run = move || flusher.watched(|| space.run_preparer());
        spawn("clearway-segments".to_string(), Box::new(run))
    }

    /// Inserts a record and returns its position. The record is durable when its *end* is.
    ///
    /// The bytes must have been [reserved](Log::reserve_space). If a flush will be requested
    /// because of this record, use [`insert_with_trailer`](Log::insert_with_trailer). May wait for
    /// room in the buffer; the flusher that makes room needs no resource that a caller could hold.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`], [`Error::Closed`], and [`Error::ValueTooLarge`] for a record longer
    /// than [`RECORD_LEN_MAX`](clearway_base::RECORD_LEN_MAX) or half the ring.
    #[inline]
    pub fn insert(&self, record: &Record<'_>) -> Result<LsnSpan> {
        let draft = Draft::new(record, self.stamp, self.record_len_max)?;
        self.insert_draft(&draft)
    }

    /// Like [`insert`](Log::insert), for a record whose durability will be awaited, such as a
    /// commit record. The caller's reservation included [`TRAILER_BYTES_MAX`] bytes, which are
    /// spent with the record and pay for the trailer of its group. (A group can also be flushed if
    /// none of its records has reserved space for a trailer. If the log has no free space then, the
    /// trailer takes its space from a small reserve, and reservations are refused until that is
    /// full again.)
    ///
    /// # Errors
    ///
    /// As for [`insert`](Log::insert); nothing is spent then.
    #[inline]
    pub fn insert_with_trailer(&self, record: &Record<'_>) -> Result<LsnSpan> {
        let mut draft = Draft::new(record, self.stamp, self.record_len_max)?;
        draft.pays_trailer = true;
        self.insert_draft(&draft)
    }

    #[inline]
    fn insert_draft(&self, draft: &Draft<'_>) -> Result<LsnSpan> {
        self.health.check()?;
        let span = match self.insertion.insert(draft) {
            Some(span) => span,
            None => self.insert_when_there_is_room(draft)?,
        };
        // Do not flush if the trailer would take space from the reserve, which others need more.
        if (span.start.0 ^ span.end.0) >= self.flush_trigger_bytes && !self.space.is_tight() {
            // Request it like a waiting thread: a group this large gains nothing from a delay.
            self.flusher.await_soon(span.end);
        }
        Ok(span)
    }

    #[cold]
    fn insert_when_there_is_room(&self, draft: &Draft<'_>) -> Result<LsnSpan> {
        loop {
            // This also reports a refusal by a closed insertion: `close` sets the log's state to
            // closed before it closes the insertion (LOG-1).
            self.health.check()?;
            self.ring_waits.add(1);
            // This is the only wait in a step of a tree operation that is not for a latch or a
            // mutex. The caller may hold page latches: the flush that makes the room waits for no
            // page latch, lock or log space.
            let _exception = step::Except::begin();
            let room_at = self.ring.durable_for_room(self.end(), draft.span_bytes());
            // If this fails, the log has failed: the next iteration reports it, unless there is
            // room by now.
            let _ = self.force(room_at);
            if let Some(span) = self.insertion.insert(draft) {
                return Ok(span);
            }
        }
    }

    /// Returns the end of the log: every record inserted from now on starts at or after this LSN.
    #[inline]
    pub fn end(&self) -> Lsn {
        self.insertion.end()
    }

    /// Returns the durable LSN: every record that ends at or before it is durable.
    #[inline]
    pub fn durable(&self) -> Lsn {
        self.ring.durable()
    }

    /// Returns the epoch of this opening.
    pub fn epoch(&self) -> Epoch {
        self.stamp.epoch
    }

    /// Returns epoch and salt of the label of the segment that holds `lsn`, for a superblock that
    /// names `lsn` as the retention LSN (ID-4); `None` if the segment does not exist or has no
    /// label.
    pub fn label_at(&self, lsn: Lsn) -> Option<(Epoch, Salt)> {
        self.segments.label_at(lsn)
    }

    /// Requests durability up to `lsn` and returns at once. Since no thread waits for it, the write
    /// may begin somewhat later: see [`LogOptions::group_commit_delay`].
    #[inline]
    pub fn request_flush(&self, lsn: Lsn) {
        if self.ring.durable() < lsn {
            self.flusher.request(lsn.min(self.end()));
        }
    }

    /// Returns the outcome for `lsn`: durable, unknown because of a failure, or `None` while
    /// pending (LOG-2).
    fn outcome(&self, lsn: Lsn) -> Option<Result<()>> {
        // Check the failure first: after it the durable LSN does not move.
        let cause = self.health.cause();
        if self.ring.durable() >= lsn {
            return Some(Ok(()));
        }
        cause.map(|cause| Err(Error::OutcomeUnknown { cause }))
    }

    /// Waits until everything before `lsn` is durable. If this thread finds that a group can start,
    /// it writes all records inserted so far itself. A group can start if the device is idle, or if
    /// enough records have gathered for a flush that overlaps with those in flight. (Under a
    /// [`FlushPolicy`](crate::parts::FlushPolicy) of another crate, it leaves that to a daemon.)
    ///
    /// # Errors
    ///
    /// [`Error::OutcomeUnknown`] if the log failed first, [`Error::Corrupt`] for an LSN that the
    /// log has not reached.
    #[inline]
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        if self.ring.durable() >= lsn { Ok(()) } else { self.wait_slowly(lsn) }
    }

    /// Like [`wait_durable`](Log::wait_durable), but a [`FlushPolicy`](crate::parts::FlushPolicy)
    /// of another crate lets no more records gather first: the group starts as soon as the device
    /// can take it.
    ///
    /// # Errors
    ///
    /// As for [`wait_durable`](Log::wait_durable).
    pub fn force(&self, lsn: Lsn) -> Result<()> {
        if self.ring.durable() >= lsn {
            return Ok(());
        }
        self.check_reached(lsn)?;
        self.flusher.force(lsn);
        self.wait_durable(lsn)
    }

    fn wait_slowly(&self, lsn: Lsn) -> Result<()> {
        self.check_reached(lsn)?;
        self.flusher.request_and_flush(lsn);
        if let Some(outcome) = self.outcome(lsn) {
            return outcome;
        }
        self.waits.add(1);
        let waker = ThreadWaker::current();
        loop {
            if self.completion.register(lsn, &waker, || self.outcome(lsn).is_some()) {
                thread::park();
            }
            if let Some(outcome) = self.outcome(lsn) {
                return outcome;
            }
        }
    }

    /// Refuses an LSN beyond the end, which might never become durable: it comes from damaged data.
    fn check_reached(&self, lsn: Lsn) -> Result<()> {
        let end = self.end();
        if lsn <= end {
            return Ok(());
        }
        Err(Error::corrupt("log position", format!("{lsn} is beyond the end of the log, {end}")))
    }

    /// The asynchronous form of [`wait_durable`](Log::wait_durable); also requests the flush.
    pub fn poll_durable(&self, lsn: Lsn, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(outcome) = self.outcome(lsn) {
            return Poll::Ready(outcome);
        }
        if let Err(error) = self.check_reached(lsn) {
            return Poll::Ready(Err(error));
        }
        self.poll_registered(lsn, cx.waker())
    }

    fn poll_registered(&self, lsn: Lsn, waker: &Waker) -> Poll<Result<()>> {
        loop {
            if self.completion.register(lsn, waker, || self.outcome(lsn).is_some()) {
                self.waits.add(1);
                self.flusher.await_soon(lsn);
                return Poll::Pending;
            }
            if let Some(outcome) = self.outcome(lsn) {
                return Poll::Ready(outcome);
            }
        }
    }

    /// Stops the log because of a failure elsewhere: the durable LSN does not move any more.
    pub fn poison(&self, cause: Error) {
        self.flusher.poison(cause);
    }

    /// Checks that records can be inserted.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`] after a failure, [`Error::Closed`] after [`close`](Log::close).
    #[inline]
    pub fn health(&self) -> Result<()> {
        self.health.check()
    }

    /// Reserves `bytes` bytes of log space: for records, as [`record_bytes`](crate::record_bytes)
    /// counts them, plus [`TRAILER_BYTES_MAX`] for each record that will be inserted with
    /// [`insert_with_trailer`](Log::insert_with_trailer). The caller must hold no latch.
    ///
    /// If there is no room, the call requests a checkpoint and waits: as long as a checkpoint is
    /// [running](Log::report_checkpoint) that will free a segment, and otherwise for 100 ms.
    /// Without background threads it does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::LogFull`] if there is no room after that, [`Error::DiskFull`] if the disk has none
    /// for another segment, and the other errors of the disk; [`Error::Poisoned`] and
    /// [`Error::Closed`] if the prepared segments have no room (a reservation for which they have
    /// room succeeds even then). Nothing is reserved after an error.
    #[inline]
    pub fn reserve_space(&self, bytes: u64) -> Result<()> {
        self.space.reserve_space(bytes)
    }

    /// Like [`reserve_space`](Log::reserve_space), but the length of the wait depends on `outlook`,
    /// which is called before each wait and again whenever a checkpoint begins or ends, and at
    /// least every 100 ms. While it returns [`WillFree`](SpaceOutlook::WillFree) the call waits
    /// without a time limit for the checkpoint that it has requested; if that checkpoint fails, it
    /// waits for 100 ms more. When it returns [`CannotFree`](SpaceOutlook::CannotFree) the call
    /// fails at once.
    ///
    /// # Errors
    ///
    /// Those of `reserve_space`.
    #[inline]
    pub fn reserve_space_if(&self, bytes: u64, outlook: &dyn Fn() -> SpaceOutlook) -> Result<()> {
        self.space.reserve_space_if(bytes, outlook)
    }

    /// Records that a checkpoint has begun, and whether it will [free](Log::truncate) a segment:
    /// threads that find no log space wait for its end. The checkpoint ends when the result is
    /// dropped.
    pub fn report_checkpoint(&self, frees_segment: bool) -> RunningCheckpoint<'_> {
        self.space.report_checkpoint(frees_segment)
    }

    /// Like [`reserve_space`](Log::reserve_space), but fails at once where that would wait for a
    /// truncation: for the threads that truncate.
    ///
    /// # Errors
    ///
    /// Those of `reserve_space`; [`Error::Poisoned`] and [`Error::Closed`] also if there is room.
    pub fn try_reserve_space(&self, bytes: u64) -> Result<()> {
        self.space.try_reserve_space(bytes)
    }

    /// Like [`reserve_space`](Log::reserve_space), but only takes space in segments that are
    /// prepared: never waits, touches no file, and may be called under latches. Returns false, and
    /// reserves nothing, if there is not enough.
    #[inline]
    pub fn reserve_prepared_space(&self, bytes: u64) -> bool {
        self.space.take_free(bytes)
    }

    /// Like [`reserve_space`](Log::reserve_space), but exceeds the capacity instead of waiting or
    /// failing: for a rollback, which cannot be refused and for whose locks others wait, for the
    /// deallocations of a committed transaction, which retains log until they are done, and for a
    /// checkpoint that makes room.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] if the disk has no room either, and the other errors of the disk;
    /// [`Error::Poisoned`], [`Error::Closed`]. Nothing is reserved after an error.
    pub fn reserve_beyond_capacity(&self, bytes: u64) -> Result<()> {
        self.space.reserve_beyond_capacity(bytes)
    }

    /// Like [`reserve_space`](Log::reserve_space), for optional records: reserves space only if
    /// there is plenty. Never waits, touches no file, and may be called under latches.
    pub fn reserve_optional_space(&self, bytes: u64) -> bool {
        self.space.reserve_optional_space(bytes)
    }

    /// Releases reserved bytes that were not inserted.
    #[inline]
    pub fn release_space(&self, bytes: u64) {
        self.space.release_space(bytes);
    }

    /// Truncates the log: frees the segments wholly before `retention_lsn`, which will not be read
    /// again.
    pub fn truncate(&self, retention_lsn: Lsn) -> Result<()> {
        self.space.truncate(retention_lsn.min(self.durable()))
    }

    /// Returns the start of the oldest segment, which is needed or could not be freed.
    pub fn oldest_segment(&self) -> Lsn {
        self.segments.start()
    }

    /// Returns the retention LSN, the oldest LSN that is kept.
    pub fn retention_lsn(&self) -> Lsn {
        self.space.retention_lsn()
    }

    /// Returns the bytes from the oldest needed record to the end of all reservations.
    pub fn used_bytes(&self) -> u64 {
        self.space.used_bytes()
    }

    /// Returns the bytes that are reserved and neither inserted nor released, without those for the
    /// next trailer. Exact while no thread inserts.
    pub fn reserved_bytes(&self) -> u64 {
        let used = self.end().0 + self.insertion.trailers_paid() * TRAILER_BYTES_MAX;
        self.space.reserved_end().0.saturating_sub(used)
    }

    /// Returns the bytes that the segments in use may occupy.
    pub fn capacity_bytes(&self) -> u64 {
        self.space.capacity_bytes()
    }

    /// Sets whether reservations add segments beyond the capacity instead of failing: for recovery,
    /// which cannot wait for room, since no other thread will make it.
    pub fn lift_capacity(&self, is_lifted: bool) {
        self.space.lift_capacity(is_lifted);
    }

    /// Sets the callback for when the log is more than half full or a thread has to wait for log
    /// space. It may be called on a thread that reserves space, so it should only notify the thread
    /// that takes checkpoints.
    pub fn set_space_waker(&self, waker: Box<dyn Fn() + Send + Sync>) {
        let waker: SpaceWaker = waker;
        self.space.set_space_waker(waker);
    }

    /// Returns a reader of this log's durable records, for random access. Each read sees what was
    /// durable at its time.
    pub fn reader(&self, from: Lsn) -> Result<LogReader> {
        LogReader::open_as(
            self.disk.clone(),
            self.segments.segment_bytes(),
            self.lineage.clone(),
            from,
        )
    }

    /// Returns counters since the start.
    pub fn stats(&self) -> LogStats {
        let flushes = self.flusher.figures();
        let segments = self.segments.counts();
        LogStats {
            records: self.insertion.records(),
            flushes: flushes.flushes,
            flushed_bytes: flushes.bytes,
            trailer_bytes: flushes.trailer_bytes,
            waits: self.waits.get(),
            ring_waits: self.ring_waits.get(),
            waiting: self.completion.len() as u64,
            beyond_bytes: self.space.beyond_bytes(),
            segments: segments.in_use,
            segments_created: segments.created,
            segments_recycled: segments.recycled,
        }
    }

    /// Makes everything durable, records in the log that it was closed cleanly, and ends the
    /// threads. A second call has no effect.
    ///
    /// # Errors
    ///
    /// The failure that prevented the log from becoming durable.
    pub fn close(&self) -> Result<()> {
        if !self.is_closing.swap(true, Ordering::SeqCst) {
            // First set the log's state to closed: a thread that the insertion then refuses finds
            // the log closed and returns that error. If it does not see that at once, since the
            // insertion's word is read Relaxed, it repeats its attempt until it does (LOG-1).
            self.health.close();
            self.insertion.close();
            let end = self.end();
            if self.force(end).is_ok() {
                self.flusher.write_closing();
            }
            self.end_threads();
        }
        match self.health.cause() {
            None => Ok(()),
            Some(cause) => Err(Error::Poisoned { cause }),
        }
    }

    fn end_threads(&self) {
        self.flusher.stop();
        self.space.stop_preparer();
        self.space.wake_waiters();
        let threads = std::mem::take(&mut *self.threads.lock());
        let own = thread::current().id();
        // A waker may have dropped the last handle of the log on one of the log's own threads,
        // which then ends on its own: it holds the parts, not the log (LOG-3).
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != own) {
            // A thread that panicked has poisoned the log; there is no caller to report it to here.
            let _ = thread.join();
        }
    }
}

impl Drop for Log {
    /// Ends the threads. Records that are not durable may be lost, as in a crash: use
    /// [`Log::close`].
    fn drop(&mut self) {
        self.end_threads();
    }
}
