//! The log as its users see it.
//!
//! Invariants:
//! - O1. A record that is inserted while the log is closed stands before the closing seal and is
//!   made durable by the closer, or it is refused: the cursor is closed in one step (R5), and what
//!   it has handed out until then lies before the end that the closer then flushes. After the
//!   closing seal nothing is inserted and nothing is written. A record that slips in while the log
//!   is poisoned is not made durable, and its waiter is told.
//! - O2. An LSN is reported as durable only if it is at most the ring's durable LSN; a failure
//!   that happened later does not change that.
//! - O3. The threads hold the parts and not the log, so that dropping the log ends them.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use clearway_base::{
    Epoch, Error, Lsn, LsnSpan, Result, SECTOR_SIZE, Salt,
    zoo::{self, Bug},
};
use clearway_disk::Disk;
use clearway_sync::{
    Broken, Mutex, ThreadWaker,
    atomic::{AtomicBool, AtomicU64, Ordering},
    broken, stop_if_broken,
    thread::{self, JoinHandle},
};

use crate::{
    claims::{AnnouncedCheckpoint, Claims, SpaceWaker},
    completion::CompletionQueue,
    flush::{Flusher, Parts},
    health::Health,
    identity::Lineage,
    insertion::{Insertion, strategy},
    options::LogOptions,
    reader::LogReader,
    record::{Draft, Record, SEAL_BYTES_MAX, Stamp},
    ring::Ring,
    segments::Segments,
    stats::LogStats,
};

/// A running log: records go in, LSNs come out, and become durable.
pub struct Log {
    ring: Arc<Ring>,
    insertion: Arc<dyn Insertion>,
    flusher: Arc<Flusher>,
    claims: Arc<Claims>,
    segments: Arc<Segments>,
    health: Arc<Health>,
    completion: Arc<CompletionQueue>,
    disk: Arc<dyn Disk>,
    lineage: Arc<Lineage>,
    stamp: Stamp,
    record_len_max: usize,
    flush_trigger_bytes: u64,
    waits: AtomicU64,
    ring_waits: AtomicU64,
    is_closing: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Where and as what a log is started.
#[derive(Clone, Debug)]
pub struct LogStart {
    /// The end of the log so far, which a [`LogReader`] found; 0 for a new log.
    pub tail: Lsn,
    /// Greater than every epoch before it, and durably recorded as used, with its salt.
    pub epoch: Epoch,
    /// The oldest LSN that is still needed; segments wholly before it are reused.
    pub keep_from: Lsn,
    /// Whose log it is, with all epochs that are still needed and the one that begins.
    pub lineage: Lineage,
}

/// Has a broken invariant stop this log, and refuses it if one is broken already.
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
    /// Where the epoch of a log that ended at `tail` begins: at the next sector boundary.
    pub fn begin_behind(tail: Lsn) -> Lsn {
        Lsn(tail.0.next_multiple_of(SECTOR_SIZE as u64))
    }
}

impl Log {
    /// Starts a log that belongs to no database, as tests and experiments do: as
    /// [`start_as`](Log::start_as), with salts that follow from the epochs' numbers.
    pub fn start(
        disk: Arc<dyn Disk>,
        options: LogOptions,
        tail: Lsn,
        epoch: Epoch,
        keep_from: Lsn,
    ) -> Result<Arc<Log>> {
        let lineage = Lineage::of_no_database();
        Log::start_as(disk, options, LogStart { tail, epoch, keep_from, lineage })
    }

    /// Starts a log.
    ///
    /// It goes on at the next sector boundary behind the tail: sectors with records in them are
    /// never written again. What stands there and further on belongs to a lower epoch and is never
    /// read again. The record that begins the epoch is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::BadOption`]; [`Error::Corrupt`] and [`Error::ForeignLog`] for what is on the disk;
    /// what the disk says.
    pub fn start_as(
        disk: Arc<dyn Disk>,
        options: LogOptions,
        LogStart { tail, epoch, keep_from, lineage }: LogStart,
    ) -> Result<Arc<Log>> {
        options.validate()?;
        let start = LogStart::begin_behind(tail);
        let keep_from = keep_from.min(start);
        let stamp = Stamp::of(&lineage, epoch)?;
        let lineage = Arc::new(lineage);
        let health = Arc::new(Health::default());
        let segments =
            Segments::open(disk.clone(), &options, (lineage.clone(), epoch), keep_from, start)?;
        let segments = Arc::new(segments);
        let before = lineage.predecessor(epoch).map(|mark| mark.encode());
        let body: [&[u8]; 1] = [before.as_ref().map_or(&[], |mark| mark)];
        let first = Draft::epoch_start(stamp, tail, &body);
        let claimed = Lsn(start.0 + first.span_bytes());
        let claims = Claims::new(segments.clone(), health.clone(), &options, claimed, keep_from)?;
        let claims = Arc::new(claims);
        let (ring, cursor) = Ring::new(options.ring_bytes, start)?;
        let ring = Arc::new(ring);
        let insertion = strategy(options.strategy, options.consolidation, ring.clone(), cursor);
        let completion = Arc::new(CompletionQueue::default());
        let parts = Parts {
            ring: ring.clone(),
            insertion: insertion.clone(),
            segments: segments.clone(),
            claims: claims.clone(),
            health: health.clone(),
            completion: completion.clone(),
        };
        let flusher = Arc::new(Flusher::new(parts, &options, stamp, start));
        refuse_if_broken(&flusher)?;
        let log = Log {
            ring,
            insertion,
            flusher,
            claims,
            segments,
            health,
            completion,
            disk,
            lineage,
            stamp,
            record_len_max: options.record_len_max(),
            flush_trigger_bytes: options.flush_trigger_bytes(),
            waits: AtomicU64::new(0),
            ring_waits: AtomicU64::new(0),
            is_closing: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
        };
        let flusher = Arc::downgrade(&log.flusher);
        log.claims.set_stop(move |cause| {
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
        let (claims, flusher) = (self.claims.clone(), self.flusher.clone());
        let run = move || flusher.watched(|| claims.run_preparer());
        spawn("clearway-segments".to_string(), Box::new(run))
    }

    /// Inserts a record and returns where it stands. It is durable when the *end* is.
    ///
    /// The bytes must have been [claimed](Log::claim). If a flush will be asked for because of this
    /// record, use [`insert_with_seal`](Log::insert_with_seal). May wait for room in the buffer,
    /// for which the flusher needs nothing that a caller could hold.
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

    /// As [`insert`](Log::insert), for a record that will be waited for, such as a commit record:
    /// its claim included [`SEAL_BYTES_MAX`](crate::SEAL_BYTES_MAX), which are spent with it. They
    /// pay for the seal of its group. (A flush that nobody paid for is possible; it takes from a
    /// small headroom, and claims are refused until that is full again.)
    ///
    /// # Errors
    ///
    /// As [`insert`](Log::insert); nothing is spent then.
    #[inline]
    pub fn insert_with_seal(&self, record: &Record<'_>) -> Result<LsnSpan> {
        let mut draft = Draft::new(record, self.stamp, self.record_len_max)?;
        draft.pays_seal = true;
        self.insert_draft(&draft)
    }

    #[inline]
    fn insert_draft(&self, draft: &Draft<'_>) -> Result<LsnSpan> {
        self.health.check()?;
        let span = match self.insertion.insert(draft) {
            Some(span) => span,
            None => self.insert_when_there_is_room(draft)?,
        };
        // Not if its seal would be taken from what others need more.
        if (span.start.0 ^ span.end.0) >= self.flush_trigger_bytes && !self.claims.is_tight() {
            // As if somebody waited: so large a group has nothing to linger for.
            self.flusher.await_soon(span.end);
        }
        Ok(span)
    }

    #[cold]
    fn insert_when_there_is_room(&self, draft: &Draft<'_>) -> Result<LsnSpan> {
        loop {
            // Also what a closed cursor's refusal means: the log was closed before (O1).
            self.health.check()?;
            // Relaxed: a plain counter.
            self.ring_waits.fetch_add(1, Ordering::Relaxed);
            let room_at = self.ring.durable_for_room(self.end(), draft.span_bytes());
            // If that fails, the log has failed, and the next round says so.
            let _ = self.force(room_at);
            if let Some(span) = self.insertion.insert(draft) {
                return Ok(span);
            }
        }
    }

    /// No record inserted from now on starts before this LSN.
    #[inline]
    pub fn end(&self) -> Lsn {
        self.insertion.end()
    }

    /// Every record that ends here or before is durable.
    #[inline]
    pub fn durable(&self) -> Lsn {
        self.ring.durable()
    }

    /// The epoch of this opening.
    pub fn epoch(&self) -> Epoch {
        self.stamp.epoch
    }

    /// Epoch and salt of the label of the segment that holds `lsn`, for a superblock that names
    /// `lsn` as the oldest that is needed (ID-4). `None` if the segment is not there, or has none.
    pub fn label_at(&self, lsn: Lsn) -> Option<(Epoch, Salt)> {
        self.segments.label_at(lsn)
    }

    /// Asks for durability up to `lsn` and returns at once. As nobody waits for it, the writing may
    /// begin somewhat later: see [`LogOptions::linger`].
    #[inline]
    pub fn request_flush(&self, lsn: Lsn) {
        if self.ring.durable() < lsn {
            self.flusher.request(lsn.min(self.end()));
        }
    }

    /// What is known about `lsn`: durable, unknown because of a failure, or nothing yet (O2).
    fn outcome(&self, lsn: Lsn) -> Option<Result<()>> {
        // The failure is looked at first: after it the durable LSN does not move.
        let cause = self.health.cause();
        if self.ring.durable() >= lsn {
            return Some(Ok(()));
        }
        if cause.is_some() && zoo::has(Bug::FailureAcknowledged) {
            return Some(Ok(()));
        }
        cause.map(|cause| Err(Error::OutcomeUnknown { cause }))
    }

    /// Waits until everything before `lsn` is durable. If the device is free, this thread writes by
    /// itself, and with its own all records inserted so far.
    ///
    /// # Errors
    ///
    /// [`Error::OutcomeUnknown`] if the log failed first, [`Error::Corrupt`] for an LSN that the
    /// log has not reached.
    #[inline]
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        if self.ring.durable() >= lsn { Ok(()) } else { self.wait_slowly(lsn) }
    }

    /// [`wait_durable`](Log::wait_durable) for whoever must not wait until a group is complete: the
    /// limits of [`GroupPolicy::Fixed`](crate::GroupPolicy::Fixed) do not count.
    ///
    /// # Errors
    ///
    /// As [`wait_durable`](Log::wait_durable).
    pub fn force(&self, lsn: Lsn) -> Result<()> {
        if self.ring.durable() >= lsn {
            return Ok(());
        }
        self.check_reached(lsn)?;
        self.flusher.press(lsn);
        self.wait_durable(lsn)
    }

    fn wait_slowly(&self, lsn: Lsn) -> Result<()> {
        self.check_reached(lsn)?;
        self.flusher.lead(lsn);
        if let Some(outcome) = self.outcome(lsn) {
            return outcome;
        }
        // Relaxed: a plain counter.
        self.waits.fetch_add(1, Ordering::Relaxed);
        let waker = ThreadWaker::current();
        loop {
            if self.completion.register(lsn, &waker, || self.outcome(lsn).is_some()) {
                if zoo::has(Bug::ImpatientAck) {
                    thread::park_timeout(std::time::Duration::from_millis(20));
                    return Ok(());
                }
                thread::park();
            }
            if let Some(outcome) = self.outcome(lsn) {
                return outcome;
            }
        }
    }

    /// An LSN beyond the end would never become durable: it comes from damaged data.
    fn check_reached(&self, lsn: Lsn) -> Result<()> {
        let end = self.end();
        if lsn <= end {
            return Ok(());
        }
        Err(Error::corrupt("log position", format!("{lsn} is beyond the end of the log, {end}")))
    }

    /// The asynchronous form of [`wait_durable`](Log::wait_durable); requests the flush too.
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
                // Relaxed: a plain counter.
                self.waits.fetch_add(1, Ordering::Relaxed);
                self.flusher.await_soon(lsn);
                return Poll::Pending;
            }
            if let Some(outcome) = self.outcome(lsn) {
                return Poll::Ready(outcome);
            }
        }
    }

    /// Stops the log because something else failed whose loss it must not acknowledge.
    pub fn poison(&self, cause: Error) {
        self.flusher.poison(cause);
    }

    /// `Ok` while records can be inserted.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`] after a failure, [`Error::Closed`] after [`close`](Log::close).
    #[inline]
    pub fn health(&self) -> Result<()> {
        self.health.check()
    }

    /// Promises room for `bytes` bytes: of records, as [`record_bytes`](crate::record_bytes) counts
    /// them, and [`SEAL_BYTES_MAX`](crate::SEAL_BYTES_MAX) for each of them that will be inserted
    /// with its seal. Take no latch before. If there is no room it asks for a checkpoint and waits:
    /// 100 ms, or as long as a checkpoint is [announced](Log::announce_checkpoint) that will give
    /// back a segment, but not longer than 10 s. Without background threads it does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::LogFull`] if there is no room after that, [`Error::DiskFull`] if the disk has none
    /// for another segment; nothing is claimed then.
    #[inline]
    pub fn claim(&self, bytes: u64) -> Result<()> {
        self.claims.claim(bytes)
    }

    /// As [`claim`](Log::claim), but waits only while `can_help` says that a checkpoint may make
    /// room: it is asked before each wait, which ends whenever a checkpoint begins or ends.
    ///
    /// # Errors
    ///
    /// Those of `claim`.
    #[inline]
    pub fn claim_if(&self, bytes: u64, can_help: &dyn Fn() -> bool) -> Result<()> {
        self.claims.claim_if(bytes, can_help)
    }

    /// Says that a checkpoint has begun, and whether it will [give back](Log::truncate) a segment:
    /// claims that find no room wait for its end, which is when the result is dropped.
    pub fn announce_checkpoint(&self, gives_back: bool) -> AnnouncedCheckpoint<'_> {
        self.claims.announce_checkpoint(gives_back)
    }

    /// As [`claim`](Log::claim), but fails at once where that would wait for a truncation: for
    /// those who bring it.
    pub fn try_claim(&self, bytes: u64) -> Result<()> {
        self.claims.try_claim(bytes)
    }

    /// As [`claim`](Log::claim), but goes beyond the capacity rather than wait or fail: for a
    /// rollback, whose locks others wait for and which cannot be refused, and for a checkpoint that
    /// makes room.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] if the disk has no room either; nothing is claimed then.
    pub fn claim_beyond(&self, bytes: u64) -> Result<()> {
        self.claims.claim_beyond(bytes)
    }

    /// As [`claim`](Log::claim), for what can be left out: room that nobody will miss soon, or
    /// none. Waits for nothing, touches no file and may be called under latches.
    pub fn claim_spare(&self, bytes: u64) -> bool {
        self.claims.claim_spare(bytes)
    }

    /// Gives back claimed bytes that were not inserted.
    #[inline]
    pub fn unclaim(&self, bytes: u64) {
        self.claims.unclaim(bytes);
    }

    /// Nothing before `keep_from` will be read again: gives back whole segments before it.
    pub fn truncate(&self, keep_from: Lsn) -> Result<()> {
        self.claims.truncate(keep_from.min(self.durable()))
    }

    /// Where the oldest segment begins: what is kept, and what could not be given back.
    pub fn oldest_segment(&self) -> Lsn {
        self.segments.start()
    }

    /// The oldest LSN that is kept.
    pub fn keep_from(&self) -> Lsn {
        self.claims.keep_from()
    }

    /// Bytes from the oldest needed record to the end of all claims.
    pub fn used_bytes(&self) -> u64 {
        self.claims.used_bytes()
    }

    /// Bytes that are claimed and neither inserted nor given back, those for the next seal apart.
    /// Exact while nobody inserts.
    pub fn claimed_bytes(&self) -> u64 {
        let used = self.end().0 + self.insertion.seals_paid() * SEAL_BYTES_MAX;
        self.claims.claimed().0.saturating_sub(used)
    }

    /// What the live segments may occupy.
    pub fn capacity_bytes(&self) -> u64 {
        self.claims.capacity_bytes()
    }

    /// From now on (`true`) claims add segments beyond the capacity instead of failing, or not any
    /// more (`false`): for recovery, which cannot wait for room, since nobody else will make it.
    pub fn lift_capacity(&self, is_lifted: bool) {
        self.claims.lift_capacity(is_lifted);
    }

    /// Sets what is called when the log is more than half full or a claim has to wait. It is called
    /// on a claimer's thread too, so it only leaves a note for whoever takes checkpoints.
    pub fn set_space_waker(&self, waker: Box<dyn Fn() + Send + Sync>) {
        let waker: SpaceWaker = waker;
        self.claims.set_space_waker(waker);
    }

    /// A reader of this log's durable records, for random access. It sees what was durable when
    /// each read was made.
    pub fn reader(&self, from: Lsn) -> Result<LogReader> {
        LogReader::open_as(
            self.disk.clone(),
            self.segments.segment_bytes(),
            self.lineage.clone(),
            from,
        )
    }

    /// Figures since the start.
    pub fn stats(&self) -> LogStats {
        let flushes = self.flusher.figures();
        let segments = self.segments.counts();
        LogStats {
            records: self.insertion.records(),
            flushes: flushes.flushes,
            flushed_bytes: flushes.bytes,
            seal_bytes: flushes.seal_bytes,
            // Relaxed: plain counters.
            waits: self.waits.load(Ordering::Relaxed),
            ring_waits: self.ring_waits.load(Ordering::Relaxed),
            waiting: self.completion.len() as u64,
            beyond_bytes: self.claims.beyond_bytes(),
            segments: segments.live,
            segments_created: segments.created,
            segments_recycled: segments.recycled,
        }
    }

    /// Makes everything durable, says in the log that it was closed in order, ends the threads.
    /// A second call does nothing.
    ///
    /// # Errors
    ///
    /// The failure that kept the log from becoming durable.
    pub fn close(&self) -> Result<()> {
        if !self.is_closing.swap(true, Ordering::SeqCst) {
            // In this order: whoever is refused by the cursor finds the log closed, then or when it
            // tries again (O1).
            self.health.close();
            self.insertion.close();
            let end = self.end();
            if zoo::has(Bug::LeftAtClosing) {
                self.end_threads();
            } else if self.force(end).is_ok() {
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
        self.claims.stop_preparer();
        self.claims.tell_waiters();
        let threads = std::mem::take(&mut *self.threads.lock());
        let own = thread::current().id();
        // A waker may have dropped the last handle of the log on one of its own threads, which
        // then ends by itself: it holds the parts and not the log (O3).
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != own) {
            // A thread that panicked has poisoned the log; there is nobody to tell here.
            let _ = thread.join();
        }
    }
}

impl Drop for Log {
    /// Ends the threads. What was not durable may be lost, as in a crash: use [`Log::close`].
    fn drop(&mut self) {
        self.end_threads();
    }
}
