//! The upkeep queue: leaves that wait for a visit, and tables that wait for a walk; whether
//! deferred deallocations are pending.
//!
//! Invariants
//! - UPKEEP-QUEUE-1. *Nothing is forgotten.* A leaf that was pushed stays here, or is in the hands
//!   of a thread that visits it, until a visit has finished it. If the leaves would take more than
//!   [`BYTES_MAX`], a mark on the table of the new leaf takes the place of all queued leaves of
//!   that table: a walk over all of its leaves.
//! - UPKEEP-QUEUE-2. *Bounded.* The memory of the leaves is limited (UPKEEP-QUEUE-1), and a table
//!   is marked once. A leaf stands here once under its low fence, by which every leaf with a ghost
//!   is reported. (A report of a sparse leaf, or of an adoption, may name another key of the leaf.)
//! - UPKEEP-QUEUE-3. *Leaves first.* A walk has its turn when no leaf is due, and after
//!   [`VISITS_IN_TURN`] visits at the latest. Deallocations come before both, since they are never
//!   many and retain log, but not twice in succession while other work is due.
//! - UPKEEP-QUEUE-4. *Gated.* [`UpkeepQueue::next`] gives out no work before
//!   [`UpkeepQueue::start`]: while recovery undoes losers, which hold no locks, their ghosts look
//!   free.
//!
//! Latch order: the mutex is held for a few instructions, and nothing is latched under it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::TreeId;
use clearway_sync::{Condvar, Mutex};

/// A leaf: its tree and its low fence (or another key in its range when it was reported).
pub(crate) type LeafKey = (TreeId, Vec<u8>);

/// Memory for leaves: 40,000 with keys of 16 bytes, 3,700 with the longest.
const BYTES_MAX: usize = 4 << 20;
/// The bytes that a leaf takes beside its key: two tree nodes' entries, the allocation of the key.
const LEAF_BYTES: usize = 104;
/// From the first report of a leaf to its first visit. Deletions all over a table report leaves
/// that have one ghost each: by then such a leaf has several, for the same visit.
const DELAY: Duration = Duration::from_secs(1);
/// The same for a leaf that is reported again before that visit: many of its records are ghosts.
/// The locks on them are free by then in most cases.
const DELAY_AGAIN: Duration = Duration::from_millis(100);
/// From the first visit to the second; then twice as long each time.
const BACKOFF: Duration = Duration::from_millis(200);
/// The longest delay is 2⁵ times the first: 6.4 s. With 40,000 leaves that is 6,000 visits a
/// second of some microseconds.
const BACKOFF_DOUBLINGS: u32 = 5;
/// Between two stretches of a walk, so that it leaves the disk and the processor to others.
const WALK_PAUSE: Duration = Duration::from_millis(2);
/// See UPKEEP-QUEUE-3.
const VISITS_IN_TURN: u32 = 64;

/// A transaction's report of a leaf.
pub(crate) struct Report {
    pub(crate) leaf: LeafKey,
    /// True if the shorter delay applies: the transaction has reported the leaf more than once, or
    /// is one of upkeep.
    pub(crate) again: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct UpkeepQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

/// The next work of upkeep.
#[derive(Debug)]
pub(crate) enum UpkeepWork {
    /// Visit a leaf, with the number of its visits so far.
    Visit(Arc<LeafKey>, u32),
    /// Go on with the walk over a table from a key on.
    Walk(TreeId, Vec<u8>),
    /// Free what a committed transaction has deferred.
    Deallocate,
}

/// The end of a stretch of a walk.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Stretch {
    /// The walk goes on from this key.
    To(Vec<u8>),
    /// The table's end.
    End,
    /// It failed, and is tried again from this key.
    Failed(Vec<u8>),
}

#[derive(Default)]
struct QueueState {
    leaves: BTreeMap<Arc<LeafKey>, Waiting>,
    by_due: BTreeSet<(Instant, Arc<LeafKey>)>,
    /// Memory that `leaves` take, about.
    bytes: usize,
    walks: BTreeMap<TreeId, Walk>,
    /// Visits under way. Walks stay in `walks`.
    visiting: usize,
    /// Visits made so far, those of walks included.
    visits: u64,
    /// Visits since the last stretch of a walk (UPKEEP-QUEUE-3).
    visits_in_turn: u32,
    /// Deferred deallocations may be pending.
    has_deallocations: bool,
    /// The work that was given out last was a deallocation (UPKEEP-QUEUE-3).
    has_deallocated: bool,
    started: bool,
    stopping: bool,
    /// `Some` while the background thread sleeps, with the time until which it does, if any.
    asleep: Option<Option<Instant>>,
}

struct Waiting {
    due: Instant,
    visits: u32,
}

/// A table that is walked.
struct Walk {
    position: Vec<u8>,
    due: Instant,
    /// A thread is on it.
    under_way: bool,
    /// The table was marked again after the walk began: at the end of the table it starts over.
    again: bool,
    /// Walks that had to start over, and stretches that failed.
    delays: u32,
}

impl UpkeepQueue {
    /// From here on work is given out (UPKEEP-QUEUE-4).
    pub(crate) fn start(&self) {
        self.state.lock().started = true;
        self.changed.notify_all();
    }

    /// Ends the background thread.
    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Whether the background thread is to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Takes in leaves.
    pub(crate) fn push(&self, reports: impl IntoIterator<Item = Report>) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let mut earliest = now + DELAY;
        for report in reports {
            let delay = if report.again { DELAY_AGAIN } else { DELAY };
            earliest = earliest.min(state.push(Arc::new(report.leaf), now, delay, 0));
        }
        self.wake(state.asleep, earliest);
    }

    /// Marks a whole table.
    pub(crate) fn mark(&self, tree: TreeId) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.mark(tree, now);
        self.wake(state.asleep, now);
    }

    /// Deferred deallocations are pending.
    pub(crate) fn note_deallocation(&self) {
        let mut state = self.state.lock();
        state.has_deallocations = true;
        self.wake(state.asleep, Instant::now());
    }

    /// Wakes the background thread if it would sleep longer than until `due`.
    fn wake(&self, asleep: Option<Option<Instant>>, due: Instant) {
        if asleep.is_some_and(|until| until.is_none_or(|until| until > due)) {
            self.changed.notify_one();
        }
    }

    /// The next work, waiting for it; `None` when the engine closes.
    pub(crate) fn next(&self) -> Option<UpkeepWork> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            let now = Instant::now();
            if state.started
                && let Some(work) = state.take_due(now)
            {
                return Some(work);
            }
            let until = if state.started { state.next_due() } else { None };
            state.asleep = Some(until);
            match until {
                Some(until) => drop(self.changed.wait_until(&mut state, until)),
                None => self.changed.wait(&mut state),
            }
            state.asleep = None;
        }
    }

    /// All leaves that wait, due or not, with their visits so far.
    pub(crate) fn take_leaves(&self) -> Vec<(Arc<LeafKey>, u32)> {
        let mut state = self.state.lock();
        state.by_due.clear();
        state.bytes = 0;
        let leaves = std::mem::take(&mut state.leaves);
        state.visiting += leaves.len();
        leaves.into_iter().map(|(leaf, waiting)| (leaf, waiting.visits)).collect()
    }

    /// The first table after `after` that waits for a walk, due or not, and from where on.
    pub(crate) fn take_walk(&self, after: Option<TreeId>) -> Option<(TreeId, Vec<u8>)> {
        let mut state = self.state.lock();
        let mut waiting = state.walks.iter_mut().filter(|(_, walk)| !walk.under_way);
        let (tree, walk) = waiting.find(|(tree, _)| after.is_none_or(|after| **tree > after))?;
        walk.under_way = true;
        Some((*tree, std::mem::take(&mut walk.position)))
    }

    /// A visit that was given out has finished its leaf, or has to be repeated.
    pub(crate) fn visited(&self, leaf: Arc<LeafKey>, visits: u32, repeat: bool) {
        let mut state = self.state.lock();
        state.visiting -= 1;
        state.visits += 1;
        if repeat {
            state.push(leaf, Instant::now(), backoff(visits), visits);
        }
    }

    /// A walk has visited a leaf. If it has to be visited again, `again` is its key.
    pub(crate) fn visited_in_passing(&self, again: Option<LeafKey>) {
        let mut state = self.state.lock();
        state.visits += 1;
        if let Some(leaf) = again {
            state.push(Arc::new(leaf), Instant::now(), backoff(1), 1);
        }
    }

    /// Visits made so far.
    pub(crate) fn visits(&self) -> u64 {
        self.state.lock().visits
    }

    /// A stretch of a walk that was given out has come so far. Whether the walk is over.
    pub(crate) fn walked(&self, tree: TreeId, stretch: Stretch) -> bool {
        let now = Instant::now();
        let mut state = self.state.lock();
        let Some(walk) = state.walks.get_mut(&tree) else { return true };
        walk.under_way = false;
        match stretch {
            Stretch::To(position) => {
                (walk.position, walk.due) = (position, now + WALK_PAUSE);
            }
            Stretch::Failed(position) => {
                walk.delays += 1;
                (walk.position, walk.due) = (position, now + backoff(walk.delays));
            }
            Stretch::End if walk.again => {
                walk.again = false;
                walk.delays += 1;
                (walk.position, walk.due) = (Vec::new(), now + backoff(walk.delays));
                return true;
            }
            Stretch::End => {
                state.walks.remove(&tree);
                return true;
            }
        }
        false
    }

    /// Returns true if a leaf, by its low fence, waits for a visit, or for a walk that has not
    /// passed it.
    pub(crate) fn covers(&self, leaf: &LeafKey) -> bool {
        let state = self.state.lock();
        let is_ahead = |walk: &Walk| walk.again || walk.position <= leaf.1;
        state.leaves.contains_key(leaf) || state.walks.get(&leaf.0).is_some_and(is_ahead)
    }

    /// Leaves that wait for a visit or are visited, and tables that are to be walked.
    pub(crate) fn pending(&self) -> (u64, u64) {
        let state = self.state.lock();
        ((state.leaves.len() + state.visiting) as u64, state.walks.len() as u64)
    }
}

impl QueueState {
    /// Takes in a leaf that has had `visits` visits. Returns the time at which its next visit, or
    /// the walk in its place, is due. If it already waits for its first visit, that is made sooner.
    fn push(&mut self, leaf: Arc<LeafKey>, now: Instant, delay: Duration, visits: u32) -> Instant {
        if let Some(waiting) = self.leaves.get_mut(&leaf) {
            let soon = now + DELAY_AGAIN;
            if waiting.visits == 0 && waiting.due > soon {
                self.by_due.remove(&(waiting.due, leaf.clone()));
                waiting.due = soon;
                self.by_due.insert((soon, leaf));
            }
            return waiting.due;
        }
        let (due, bytes) = (now + delay, LEAF_BYTES + leaf.1.len());
        if self.bytes + bytes > BYTES_MAX {
            self.replace_leaves(leaf.0, due);
        } else {
            self.bytes += bytes;
            self.by_due.insert((due, leaf.clone()));
            self.leaves.insert(leaf, Waiting { due, visits });
        }
        due
    }

    /// Marks a table.
    fn mark(&mut self, tree: TreeId, due: Instant) {
        let fresh = Walk { position: Vec::new(), due, under_way: false, again: false, delays: 0 };
        let walk = self.walks.entry(tree).or_insert(fresh);
        walk.again |= walk.under_way || !walk.position.is_empty();
    }

    /// Marks a table, and forgets its leaves: the walk takes their place (UPKEEP-QUEUE-1).
    fn replace_leaves(&mut self, tree: TreeId, due: Instant) {
        let mut leaves = self.leaves.split_off(&(tree, Vec::new()));
        let next = TreeId(tree.0.saturating_add(1));
        let mut others = leaves.split_off(&(next, Vec::new()));
        self.leaves.append(&mut others);
        for (leaf, waiting) in leaves {
            self.bytes -= LEAF_BYTES + leaf.1.len();
            self.by_due.remove(&(waiting.due, leaf));
        }
        self.mark(tree, due);
    }

    fn take_due(&mut self, now: Instant) -> Option<UpkeepWork> {
        if !self.has_deallocations {
            self.has_deallocated = false;
            return self.take_due_in_trees(now);
        }
        if std::mem::take(&mut self.has_deallocated)
            && let Some(work) = self.take_due_in_trees(now)
        {
            return Some(work);
        }
        self.has_deallocations = false;
        self.has_deallocated = true;
        Some(UpkeepWork::Deallocate)
    }

    /// A visit or a walk.
    fn take_due_in_trees(&mut self, now: Instant) -> Option<UpkeepWork> {
        if self.visits_in_turn >= VISITS_IN_TURN
            && let Some(work) = self.take_due_walk(now)
        {
            return Some(work);
        }
        self.take_due_leaf(now).or_else(|| self.take_due_walk(now))
    }

    fn take_due_leaf(&mut self, now: Instant) -> Option<UpkeepWork> {
        let leaf = match self.by_due.first() {
            Some((due, _)) if *due <= now => self.by_due.pop_first()?.1,
            _ => return None,
        };
        let visits = self.leaves.remove(&leaf).map_or(0, |waiting| waiting.visits);
        self.bytes -= LEAF_BYTES + leaf.1.len();
        self.visiting += 1;
        self.visits_in_turn += 1;
        Some(UpkeepWork::Visit(leaf, visits))
    }

    fn take_due_walk(&mut self, now: Instant) -> Option<UpkeepWork> {
        let mut due = self.walks.iter_mut().filter(|(_, walk)| !walk.under_way && walk.due <= now);
        let (tree, walk) = due.next()?;
        walk.under_way = true;
        self.visits_in_turn = 0;
        Some(UpkeepWork::Walk(*tree, std::mem::take(&mut walk.position)))
    }

    fn next_due(&self) -> Option<Instant> {
        let walks = self.walks.values().filter(|walk| !walk.under_way).map(|walk| walk.due);
        walks.chain(self.by_due.first().map(|(due, _)| *due)).min()
    }
}

/// The delay after `visits` visits.
fn backoff(visits: u32) -> Duration {
    BACKOFF * (1 << visits.saturating_sub(1).min(BACKOFF_DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TreeId = TreeId(7);
    const OTHER: TreeId = TreeId(8);

    fn report(tree: TreeId, key: &[u8]) -> Report {
        Report { leaf: (tree, key.to_vec()), again: false }
    }

    fn far() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    #[test]
    fn a_leaf_waits_once_and_comes_back_until_a_visit_has_finished_it() {
        let queue = UpkeepQueue::default();
        queue.push((0..100).map(|_| report(ONE, b"leaf")));
        assert_eq!(queue.pending(), (1, 0));
        assert!(queue.state.lock().take_due(Instant::now()).is_none(), "not before its delay");
        let mut last = 0;
        for _ in 0..1_000 {
            let work = queue.state.lock().take_due(far());
            let Some(UpkeepWork::Visit(leaf, visits)) = work else {
                panic!("forgotten after {last} visits");
            };
            assert_eq!((visits, queue.pending()), (last, (1, 0)));
            last = visits + 1;
            queue.visited(leaf, last, true);
        }
        let work = queue.state.lock().take_due(far());
        let Some(UpkeepWork::Visit(leaf, _)) = work else { panic!("forgotten") };
        queue.visited(leaf, last + 1, false);
        assert_eq!(queue.pending(), (0, 0));
    }

    #[test]
    fn a_leaf_that_is_reported_again_is_visited_sooner() {
        let queue = UpkeepQueue::default();
        let begun = Instant::now();
        queue.push([report(ONE, b"leaf")]);
        let first = queue.state.lock().next_due().unwrap();
        assert!(first >= begun + DELAY);
        queue.push([report(ONE, b"leaf")]);
        let due = queue.state.lock().next_due().unwrap();
        assert!(due < first && due >= begun + DELAY_AGAIN);
        assert_eq!((queue.pending(), queue.state.lock().by_due.len()), ((1, 0), 1));
        queue.push([Report { again: true, ..report(OTHER, b"leaf") }]);
        assert!(queue.state.lock().by_due.iter().all(|(due, _)| *due < first));
    }

    #[test]
    fn delays_grow_to_a_bound() {
        assert_eq!(backoff(1), BACKOFF);
        assert_eq!(backoff(4), BACKOFF * 8);
        assert_eq!(backoff(u32::MAX), Duration::from_millis(6_400));
    }

    #[test]
    fn leaves_without_room_become_a_mark_on_their_table() {
        let queue = UpkeepQueue::default();
        queue.push([report(OTHER, b"leaf")]);
        let key = |n: u32| [&n.to_be_bytes()[..], &[0; 1000]].concat();
        queue.push((0..10_000).map(|n| report(ONE, &key(n))));
        let (leaves, walks) = queue.pending();
        // The table's leaves went with the mark; later ones found room again.
        assert!(leaves < 4_000 && walks == 1, "{leaves} leaves, {walks} walks");
        assert!(queue.state.lock().bytes <= BYTES_MAX);
        let others = queue.take_leaves();
        assert!(others.iter().any(|(leaf, _)| leaf.0 == OTHER), "the other table's leaf is kept");
        others.into_iter().for_each(|(leaf, _)| queue.visited(leaf, 1, false));
        assert_eq!((queue.pending(), queue.state.lock().bytes), ((0, 1), 0));
    }

    #[test]
    fn a_table_marked_while_it_is_walked_is_walked_again() {
        let queue = UpkeepQueue::default();
        queue.mark(ONE);
        let (tree, position) = queue.take_walk(None).unwrap();
        assert_eq!((tree, position), (ONE, Vec::new()));
        assert!(queue.take_walk(None).is_none(), "one thread at a time");
        assert!(!queue.walked(ONE, Stretch::To(b"m".to_vec())));
        queue.mark(ONE);
        let (_, position) = queue.take_walk(None).unwrap();
        assert_eq!(position, b"m");
        assert!(queue.walked(ONE, Stretch::End));
        assert_eq!(queue.pending(), (0, 1), "what was marked may lie before the position");
        let (_, position) = queue.take_walk(None).unwrap();
        assert_eq!(position, b"");
        assert!(!queue.walked(ONE, Stretch::Failed(b"k".to_vec())));
        assert_eq!(queue.take_walk(None), Some((ONE, b"k".to_vec())), "a failure loses no place");
        assert!(queue.walked(ONE, Stretch::End));
        assert_eq!(queue.pending(), (0, 0));
    }

    #[test]
    fn deallocations_and_visits_take_turns() {
        let queue = UpkeepQueue::default();
        queue.push([report(ONE, b"leaf"), report(OTHER, b"leaf")]);
        let mut order = Vec::new();
        for _ in 0..6 {
            queue.note_deallocation();
            queue.note_deallocation();
            let work = queue.state.lock().take_due(far());
            order.push(matches!(work, Some(UpkeepWork::Deallocate)));
        }
        assert_eq!(order, [true, false, true, false, true, true], "while other work is due");
        assert!(queue.state.lock().take_due(far()).is_none());
    }

    #[test]
    fn a_walk_has_its_turn_among_leaves_that_never_end() {
        let queue = UpkeepQueue::default();
        queue.mark(ONE);
        queue.push([report(OTHER, b"leaf")]);
        for _ in 0..=VISITS_IN_TURN {
            let work = queue.state.lock().take_due(far());
            match work {
                Some(UpkeepWork::Walk(ONE, _)) => return,
                Some(UpkeepWork::Visit(leaf, visits)) => queue.visited(leaf, visits + 1, true),
                other => panic!("{other:?}"),
            }
        }
        panic!("the walk starves");
    }
}
